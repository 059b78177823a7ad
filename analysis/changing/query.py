"""Questions to the data about a question with a horizon: its tallies are read all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from deniable.protocol.errors import ParameterError, SourceError
from deniable.protocol.tally import Tally

from ..inputs import Number
from ..number_results import NumberEstimates
from ..results import Estimates, EstimateSeries
from ..selection import Selection
from .estimation import estimate_changing, mean_of_periods
from .history import history_of

Noted = tuple[Sequence[Tally], tuple[str, ...]]
"""The tallies of one period, and what is to be said of it."""


def whole(selection: Selection, chosen: Sequence[Sequence[Tally]]) -> Selection:
    """Return the selection of all periods of the version that was chosen."""
    return Selection(chosen[0][0].question.version, selection.segment, every=True)


def of_horizon(
    released: Sequence[Sequence[Tally]],
    asked: Sequence[Noted],
    listed: bool,
    confidence: Number,
    post_process: str,
    pool: str | None,
) -> EstimateSeries:
    """Estimate the periods that are asked for from all released ones.

    Parameters
    ----------
    released : sequence of sequence of Tally
        All periods of one version.
    asked : sequence of (tallies, notes)
        Those to estimate.
    listed : bool
        Whether several were asked for; those that cannot be estimated are then left out.
    confidence, post_process, pool
        As for :func:`deniable.analysis.estimate`.

    Raises
    ------
    SourceError
        If none can be estimated.
    """
    notes = {tallies[0].period: said for tallies, said in asked}
    names, left_out = _estimable(released, list(notes)) if listed else (list(notes), [])
    more = tuple(_remarks(released, left_out))
    if pool is not None:
        if post_process != "none":
            raise ParameterError("pool takes raw frequencies; leave out post_process")
        every = tuple(dict.fromkeys(note for name in names for note in notes[name]))
        made = mean_of_periods(released, names, confidence=confidence, notes=(*more, *every))
        return _series((made,), listed=False)
    found = estimate_changing(
        released, names, confidence=confidence, post_process=post_process, notes=notes
    )
    told = tuple(replace(one, notes=(*one.notes, *more)) for one in found)
    return _series(told, listed)


def _series(made: tuple[Estimates | NumberEstimates, ...], listed: bool) -> EstimateSeries:
    """Return results of one question, which are all of one kind."""
    return EstimateSeries(cast("tuple[Estimates, ...] | tuple[NumberEstimates, ...]", made), listed)


def _estimable(
    released: Sequence[Sequence[Tally]], names: list[str]
) -> tuple[list[str], list[str]]:
    """Split periods into those that can be estimated and the others."""
    history = history_of(released)
    kept = []
    problem: SourceError | None = None
    for name in names:
        try:
            history.index(name)
        except SourceError as exc:
            problem = exc
        else:
            kept.append(name)
    if not kept and problem is not None:
        raise problem
    return kept, [name for name in names if name not in kept]


def _remarks(released: Sequence[Sequence[Tally]], left_out: Sequence[str]) -> list[str]:
    segments = {frozenset(tally.segment for tally in own) for own in released}
    found = []
    if left_out:
        found.append(
            f"Left out, for they cannot be estimated: {', '.join(left_out)}; periods before them "
            "are not released, and what is released tells only of changes since them."
        )
    if len(segments) > 1:
        found.append(
            "Not every period has the same segments: what differs between them is taken to be the "
            "same as in the others. Ask for one segment to be sure."
        )
    return found
