"""Estimates of simulated tallies of questions with a horizon, to be set beside the truth."""

from __future__ import annotations

from collections.abc import Iterable

from deniable.protocol.periods import parse_period
from deniable.protocol.tally import Tally

from ..estimators import Level, Raw
from .history import history_of
from .words import horizon_of

Key = tuple[str, str]
"""A question and a period."""


def rehearsed(tallies: Iterable[Tally], level: Level) -> dict[Key, Raw]:
    """Return the estimate of every period that can be estimated, as a share or a place.

    Parameters
    ----------
    tallies : iterable of Tally
        Of any questions, one of each question and period; those without a horizon are left out.
    level : Level
    """
    named: dict[str, list[list[Tally]]] = {}
    for tally in tallies:
        if tally.question.horizon is not None:
            named.setdefault(tally.question.id, []).append([tally])
    found = {}
    for question, periods in named.items():
        history = history_of(periods)
        horizon = horizon_of(history.question)
        levels = history.levels
        for (own,) in periods:
            t = horizon.index(parse_period(own.period))
            if t in levels.places:
                share = float(levels.estimates[levels.places[t]])
                error = float(levels.standard_errors[levels.places[t]])
                half = level.z * error
                found[question, own.period] = Raw(share, error, share - half, share + half)
    return found
