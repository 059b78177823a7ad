"""The two sets of tallies that a difference is taken between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deniable.protocol.errors import ParameterError, SourceError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.periods import parse_period
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

from .selection import Selection, absent, select

States = Sequence[PeriodState]


@dataclass(frozen=True, slots=True)
class Side:
    """Tallies of one question and period, whose counts add up.

    Attributes
    ----------
    name : str
        What tells it from the other side.
    tallies : tuple of Tally
    segment : str or None
        If only one was asked for.
    notes : tuple of str
    """

    name: str
    tallies: tuple[Tally, ...]
    segment: str | None
    notes: tuple[str, ...]

    @property
    def question(self) -> Question:
        """What was asked."""
        return self.tallies[0].question

    @property
    def period(self) -> str:
        """When."""
        return self.tallies[0].period

    def noting(self, notes: tuple[str, ...]) -> Side:
        """Return the same with further remarks."""
        return replace(self, notes=(*notes, *self.notes))

    @property
    def n(self) -> int:
        """Devices that reported."""
        return sum(tally.n for tally in self.tallies)


def of_periods(
    tallies: Sequence[Tally],
    states: States,
    names: tuple[str, str],
    version: int | None,
    segment: str | None,
) -> tuple[Side, Side]:
    """Return the tallies of two periods, of the newest version that both have.

    Raises
    ------
    ParameterError
        If it is one period, or they have no version in common.
    SourceError
        If one is not released.
    """
    for name in names:
        parse_period(name)
    if names[0] == names[1]:
        raise ParameterError("periods must be two different ones")
    versions = [
        {
            tally.question.version
            for tally in tallies
            if tally.period == name and segment in (None, tally.segment)
        }
        for name in names
    ]
    if version is None and any(versions):
        common = versions[0] & versions[1] if all(versions) else versions[0] | versions[1]
        if not common:
            raise ParameterError(
                f"{names[0]} is of version {max(versions[0])} and {names[1]} of version "
                f"{max(versions[1])}; a changed question is another question, so there is no "
                "difference to take"
            )
        version = max(common)
    made = [_side(tallies, states, Selection(version, segment, name), name) for name in names]
    return made[0], made[1]


def of_segments(
    tallies: Sequence[Tally],
    states: States,
    names: tuple[str, str],
    version: int | None,
    period: str | None,
) -> tuple[Side, Side]:
    """Return the tallies of two segments in one period, the latest that both have.

    Raises
    ------
    ParameterError
        If it is one segment.
    SourceError
        If one is not released, or they have no period in common.
    """
    if names[0] == names[1]:
        raise ParameterError("segments must be two different ones")
    released = [
        {
            (tally.question.version, tally.period)
            for tally in tallies
            if tally.segment == name
            and version in (None, tally.question.version)
            and period in (None, tally.period)
        }
        for name in names
    ]
    common = released[0] & released[1]
    if common:
        version, period = max(common, key=lambda one: (one[0], parse_period(one[1]).start))
    made = [_side(tallies, states, Selection(version, name, period), name) for name in names]
    if not common:
        raise SourceError(
            f"segments {names[0]} and {names[1]} have no released period of one version in common"
        )
    return made[0], made[1]


def of_one(
    tallies: Sequence[Tally],
    states: States,
    version: int | None,
    period: str | None,
    segment: str | None,
) -> Side:
    """Return the tallies of one period, the latest unless it is named."""
    return _side(tallies, states, Selection(version, segment, period), "")


def _side(tallies: Sequence[Tally], states: States, selection: Selection, name: str) -> Side:
    (chosen,) = select(tallies, selection, states)
    relevant = [state for state in states if selection.segment in (None, state.segment)]
    notes = tuple(f"{name}: {note}" if name else note for note in absent(chosen, relevant))
    return Side(name, tuple(chosen), selection.segment, notes)
