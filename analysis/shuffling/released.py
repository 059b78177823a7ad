"""What the crowd of a released tally adds: beside its estimates, if it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical
from deniable.protocol.tally import Tally

from .. import inputs
from ..deltas import delta_caveats
from ..figures import at_most
from ..inputs import Number
from ..number_results import NumberEstimates
from ..results import EPSILON_UNIT, Estimates
from .bounds import best_upper
from .crowd import ReleasedCrowd

_Estimates = TypeVar("_Estimates", Estimates, NumberEstimates)


def released(tallies: Sequence[Tally], delta: float) -> ReleasedCrowd:
    """Return the bound for tallies of one question and period, each of other devices.

    Every tally is released by itself, so a device hides in its own: the smallest decides.
    """
    crowd = min(tally.n for tally in tallies)
    upper, method = best_upper(tallies[0].question.mechanism, crowd, delta)
    return ReleasedCrowd(upper, delta, crowd, method)


def with_crowds(
    made: tuple[_Estimates, ...],
    chosen: Sequence[Sequence[Tally]],
    delta: Number | None,
    pool: str | None,
) -> tuple[_Estimates, ...]:
    """Add to each period's estimates what its crowd adds, if a delta is given.

    Raises
    ------
    ParameterError
        If the delta is out of range, or the periods are to be pooled.
    """
    if delta is None:
        return made
    if pool is not None:
        raise ParameterError("shuffle_delta is for one tally: leave out pool, or shuffle_delta")
    fail = float(inputs.between("shuffle_delta", delta, "1e-100", "1"))
    return tuple(_with(one, own, fail) for one, own in zip(made, chosen, strict=True))


def _with(made: _Estimates, own: Sequence[Tally], delta: float) -> _Estimates:
    crowd: ReleasedCrowd = released(own, delta)
    notes = (*made.notes, *_sentences(own, crowd))
    return replace(made, shuffled=crowd, notes=notes)


def _sentences(own: Sequence[Tally], one: ReleasedCrowd) -> Iterator[str]:
    which = "" if len(own) == 1 else f", the smallest of {len(own)} tallies"
    yield (
        f"Shuffled in a crowd of {one.crowd:,}{which}: epsilon at most {at_most(one.upper)} "
        f"{one.unit}, except with probability delta = {one.delta:g}, if the collector is "
        "honest and all devices are."
    )
    question = own[0].question
    if question.period != "once":
        yield (
            "Memoized noise is the same in every other period's tally: over several only epsilon "
            f"{canonical(question.epsilon)} {EPSILON_UNIT} holds."
        )
    for caveat in delta_caveats(one.delta, one.crowd):
        yield f"Warning: {caveat}."
