"""Which tallies a question to the data is about, and what to say when there are none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from deniable.protocol.errors import DocumentError, ParameterError, SourceError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.periods import ONCE, parse_period
from deniable.protocol.tally import Tally

_SHOWN = 8

Key = TypeVar("Key")


@dataclass(frozen=True)
class Selection:
    """What an analyst asks for; everything left out means the newest.

    Attributes
    ----------
    version : int or None
        Of the question; the newest that has a released tally.
    segment : str or None
        One segment; all released segments, added up.
    period : str or None
        One period; the latest released.
    last : int or None
        So many of the latest released periods.
    every : bool
        All released periods.
    """

    version: int | None = None
    segment: str | None = None
    period: str | None = None
    last: int | None = None
    every: bool = False

    def __post_init__(self) -> None:
        if sum((self.period is not None, self.last is not None, self.every)) > 1:
            raise ParameterError("ask for one period, for the last of them or for all of them")
        if self.last is not None and self.last < 1:
            raise ParameterError(f"last must be at least 1: {self.last}")
        if self.period is not None:
            parse_period(self.period)

    @property
    def listed(self) -> bool:
        """Whether several periods are asked for."""
        return self.every or (self.last or 1) > 1


def which_survey(states: Sequence[PeriodState], question: str, survey: str | None) -> str:
    """Return the survey that asks ``question``.

    Raises
    ------
    SourceError
        If none does, or several do and ``survey`` does not say which.
    """
    asking = sorted({state.survey for state in states if state.question == question})
    if survey is None and len(asking) > 1:
        raise SourceError(f"{question} is asked in {_some(asking)}; say which with --survey-id")
    if not asking:
        names = sorted({state.question for state in states})
        where = "" if survey is None else f" in survey {survey}"
        there = f"; there are reports of {_some(names)}" if names else ""
        raise SourceError(f"nobody has reported {question}{where} yet{there}")
    return asking[0]


def select(
    tallies: Sequence[Tally], selection: Selection, states: Sequence[PeriodState]
) -> list[list[Tally]]:
    """Return the tallies of each period asked for, oldest first.

    Those of one period are of different segments or batches, and so of different devices.

    Parameters
    ----------
    tallies : sequence of Tally
        All that are released of one question.
    selection : Selection
    states : sequence of PeriodState
        Of the same question, to say what became of what is missing.

    Raises
    ------
    SourceError
        If nothing that was asked for is released.
    DocumentError
        If two tallies claim the same devices, or one version has two definitions.
    """
    if not tallies:
        if any(state.state == "released" for state in states):
            raise SourceError(
                f"{states[0].question} is sealed, and no tally is released; `deniable unseal` it, "
                "and give the file of tallies instead"
            )
        raise SourceError(_nothing(states, "nothing is released yet"))
    if selection.segment is not None:
        segments = {tally.segment for tally in tallies}
        tallies = [tally for tally in tallies if tally.segment == selection.segment]
        _require(tallies, "segment", selection.segment, sorted(filter(None, segments)), states)
    versions = sorted({tally.question.version for tally in tallies})
    version = versions[-1] if selection.version is None else selection.version
    tallies = [tally for tally in tallies if tally.question.version == version]
    _require(tallies, "version", version, versions, states)
    return _by_period(tallies, selection, [s for s in states if s.version == version])


def absent(tallies: Sequence[Tally], states: Sequence[PeriodState]) -> tuple[str, ...]:
    """Name what else there was in the period of ``tallies``, and why it is not in them."""
    first = tallies[0]
    others = [
        _named(state, period=False)
        for state in states
        if (state.version, state.period) == (first.question.version, first.period)
        and state.state != "released"
    ]
    return (f"Not in it: {_some(others)}.",) if others else ()


def _by_period(
    tallies: Sequence[Tally], selection: Selection, states: Sequence[PeriodState]
) -> list[list[Tally]]:
    periods: dict[str, list[Tally]] = {}
    for tally in sorted(tallies, key=lambda tally: parse_period(tally.period).start):
        periods.setdefault(tally.period, []).append(tally)
    if selection.period is not None and selection.period not in periods:
        missing = [state for state in states if state.period == selection.period]
        problem = f"{selection.period} is not released"
        if missing:
            raise SourceError(_nothing(missing, problem))
        raise SourceError(f"{problem}, but {_some(periods, latest=True)}")
    last = len(periods) if selection.every else selection.last or 1
    names = list(periods)[-last:] if selection.period is None else [selection.period]
    for name in names:
        _check_disjoint(periods[name])
    return [periods[name] for name in names]


def _check_disjoint(tallies: Sequence[Tally]) -> None:
    if len({(tally.segment, tally.batch) for tally in tallies}) < len(tallies):
        raise DocumentError(f"{tallies[0].period} holds two tallies of the same devices")
    if len({tally.question.hash for tally in tallies}) > 1:
        raise DocumentError(f"{tallies[0].period} holds tallies of different definitions")


def _require(
    found: Sequence[Tally],
    what: str,
    asked: Key,
    there: Sequence[Key],
    states: Sequence[PeriodState],
) -> None:
    if found:
        return
    missing = [state for state in states if getattr(state, what) == asked]
    if missing:
        raise SourceError(_nothing(missing, f"nothing is released of {what} {asked}"))
    raise SourceError(f"there is no {what} {asked}; there are {_some(there) or 'none'}")


def _nothing(states: Sequence[PeriodState], problem: str) -> str:
    """Say in one line what is pending, until when, and what was destroyed."""
    parts = [f"{states[0].question}: {problem}" if states else problem]
    pending = [state for state in states if state.state == "pending"]
    destroyed = [state for state in states if state.state == "destroyed"]
    if pending:
        parts.append(f"pending {_some(map(_named, pending))}")
        end = min(parse_period(state.period).end for state in pending)
        if end == ONCE.end:
            parts.append("a once question is released in weekly batches")
        else:
            parts.append(f"the earliest closes when its grace after {end:%Y-%m-%d} has passed")
    if destroyed:
        parts.append(f"destroyed {_some(map(_named, destroyed))}")
    return "; ".join(parts)


def _named(state: PeriodState, period: bool = True) -> str:
    name = [state.period] if period else []
    if state.segment is not None:
        name.append(f"segment {state.segment}")
    if state.batch is not None:
        name.append(f"batch {state.batch}")
    if not period:
        name.append(state.state)
    return f"{' '.join(name)} ({state.crowd} devices)"


def _some(names: Iterable[object], *, latest: bool = False) -> str:
    """List a few names; of many the first, or the last."""
    listed = [str(name) for name in names]
    if len(listed) <= _SHOWN:
        return ", ".join(listed)
    if latest:
        return ", ".join(["…", *listed[-_SHOWN:]])
    return ", ".join([*listed[:_SHOWN], "…"])
