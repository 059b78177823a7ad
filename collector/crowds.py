"""What the crowd of each released tally adds to the noise, by a closed form.

The analysis has bounds that are several times tighter; this one needs no numerical library.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any

from deniable.protocol.amplification import VALID, amplified
from deniable.protocol.period_state import PeriodState
from deniable.protocol.tally import Tally, parse_tally

from .store.base import Reader

COLUMN = "shuffled_epsilon"

_SHOWN = Context(prec=5, rounding=ROUND_CEILING)


def explain(delta: float) -> str:
    """Say what the column is of, what it rests on, and where to get better."""
    return (
        f"{COLUMN}: of one device, from its one report in that tally, to those who see the tally "
        f"alone, except with probability {delta:g}; by Feldman, McMillan, Talwar 2020, null or - "
        f"where that is not proven ({VALID}). It assumes that this collector is honest and does "
        "not collude with the network, and that every device of the crowd is. Memoized noise is "
        "the same in every period: over several only the question's epsilon holds. The probability "
        "should be well below 1/n. Tighter bounds: deniable shuffle-epsilon."
    )


def with_epsilons(
    reader: Reader, states: Iterable[PeriodState], delta: float
) -> Iterator[dict[str, Any]]:
    """Yield the record of each state with the epsilon of its crowd, None where there is none."""
    known: dict[tuple[str, str], dict[tuple[Any, ...], Tally]] = {}
    for state in states:
        which = state.survey, state.question
        if which not in known:
            texts = reader.tallies(*which)
            loaded = [parse_tally(json.loads(text, parse_float=Decimal)) for text in texts]
            known[which] = {
                (tally.question.version, tally.period, tally.batch, tally.segment): tally
                for tally in loaded
            }
        tally = known[which].get((state.version, state.period, state.batch, state.segment))
        yield {**state.record(), COLUMN: None if tally is None else crowd_epsilon(tally, delta)}


def crowd_epsilon(tally: Tally, delta: float) -> float | None:
    """Return the epsilon of a released tally, or None where nothing is proven."""
    mechanism = tally.question.mechanism
    local = mechanism.epsilon if mechanism.epsilon_first is None else mechanism.epsilon_first
    found = amplified(local, tally.n, delta)
    return None if found is None else min(found, float(local))


def shown(epsilon: float | None) -> str | None:
    """Write an epsilon for people, rounded up."""
    return None if epsilon is None else f"{_SHOWN.plus(Decimal(epsilon)):f}"
