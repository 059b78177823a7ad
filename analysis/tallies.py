"""What all estimates from tallies have in common: which may be added up, and their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from deniable.protocol.errors import ParameterError
from deniable.protocol.limits import MAX_DEVICES
from deniable.protocol.tally import Tally


class Provenance(TypedDict):
    """The fields of a result that name its tallies."""

    question: str
    version: int
    period: str
    segment: str | None
    segments: tuple[str | None, ...]
    batches: tuple[str, ...]


def check_same(tallies: Sequence[Tally]) -> None:
    """Refuse tallies that do not add up.

    Raises
    ------
    ParameterError
        If there is none, they are of different questions or periods, or two are of the same
        devices.
    """
    if not tallies:
        raise ParameterError("tallies must hold at least one")
    kinds = {(t.question.survey, t.question.id, t.question.hash, t.period) for t in tallies}
    if len(kinds) > 1:
        raise ParameterError("tallies must be of one question, version and period")
    if len({(tally.segment, tally.batch) for tally in tallies}) < len(tallies):
        raise ParameterError("tallies must be of different segments or batches")
    if sum(tally.n for tally in tallies) > MAX_DEVICES:
        raise ParameterError(f"tallies must count at most {MAX_DEVICES} devices together")


def devices_in(tallies: Sequence[Tally]) -> int:
    """Return how many devices tallies that belong together count.

    Raises
    ------
    ParameterError
        If there is none.
    """
    n = sum(tally.n for tally in tallies)
    if n == 0:
        first = tallies[0]
        raise ParameterError(f"{first.question.id}: the tallies of {first.period} count no device")
    return n


def provenance(tallies: Sequence[Tally]) -> Provenance:
    """Name the question, the period and the parts of tallies that belong together."""
    question = tallies[0].question
    named = sorted({tally.segment for tally in tallies}, key=lambda name: (name is None, name))
    return Provenance(
        question=question.id,
        version=question.version,
        period=tallies[0].period,
        segment=named[0] if len(named) == 1 else None,
        segments=tuple(named) if len(named) > 1 else (),
        batches=tuple(sorted({tally.batch for tally in tallies if tally.batch})),
    )
