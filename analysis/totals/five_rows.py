"""The five rows of ``total-epsilon`` for one mechanism.

Each row protects something else; see :func:`deniable.analysis.total_epsilon` for the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from deniable.protocol.mechanisms import Mechanism
from deniable.protocol.mechanisms.dyadic import Dyadic

from ..accountants.compositions import Composition
from ..accountants.parts import Part
from ..changing.totals import rows_of_horizon
from ..changing.words import whole
from .fresh import composed, one_round, winner
from .longitudinal import Bound, changed_day, trajectory, unchanging
from .results import CHANGED_DAY, ONE_REPORT, PUBLIC_CHANGES, TRAJECTORY, UNCHANGING, Row


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is assumed of one person.

    Attributes
    ----------
    changes : int or None
        How often the answer changes at most.
    delta : float or None
        Probability with which a composition may fail.
    devices : int
        Of the person, all with the same answers and each with a secret of its own.
    """

    changes: int | None
    delta: float | None
    devices: int

    def delta_for(self, reports: int) -> float | None:
        """Return the delta with which ``reports`` are composed: a single one needs none."""
        return None if reports == 1 else self.delta

    @property
    def each(self) -> str:
        """From which devices reports are, if an epsilon is of several together."""
        if self.devices == 1:
            return ""
        return f" from each of one person's {self.devices:,} devices"

    @property
    def between(self) -> str:
        """Of whose reports an epsilon between two histories is, if of several devices."""
        return f" of all reports{self.each}" if self.each else ""

    def failing(self, bound: Bound) -> str:
        """With which probability a bound may fail, if it may."""
        return f", except with probability delta = {bound.delta:g}" if bound.delta else ""


@dataclass(frozen=True)
class FiveRows:
    """Computes the rows of one mechanism for T reports from each device of a person."""

    mechanism: Mechanism
    reports: int
    assumed: Assumed

    def rows(self) -> tuple[Row, ...]:
        """Return the rows in their order."""
        return tuple(self._rows())

    @cached_property
    def compositions(self) -> tuple[Composition, ...]:
        """All reports composed, each drawn with fresh noise."""
        part = self.part(self.reports)
        return composed([part], self.assumed.delta_for(part.reports))

    def part(self, reports: int) -> Part:
        """So many reports from every device of the person, with fresh noise."""
        return Part(one_round(self.mechanism), reports * self.assumed.devices)

    @property
    def covered(self) -> str:
        """What the mechanism's epsilon is of, in words."""
        if isinstance(self.mechanism, Dyadic):
            return f"all reports together, about the {whole(self.mechanism)}"
        return "all reports about one unchanging answer"

    @cached_property
    def answers(self) -> int:
        """At most so many different answers can be given."""
        limits = [self.reports]
        if self.mechanism.classes is not None:
            limits.append(self.mechanism.classes)
        if self.assumed.changes is not None:
            limits.append(self.assumed.changes + 1)
        return min(limits)

    def _rows(self) -> Iterator[Row]:
        alone = self._alone()
        every = winner(self.compositions)
        if isinstance(self.mechanism, Dyadic):
            yield from rows_of_horizon(self.mechanism, self.assumed.devices, alone, every)
            return
        yield self._one_report(alone)
        yield self._same_answer(every)
        yield self._public_changes(every)
        yield self._one_day(alone)
        yield self._whole(every)

    def _alone(self) -> Bound:
        part = self.part(1)
        return winner(composed([part], self.assumed.delta_for(part.reports)))

    def _permanent(self, answers: int = 1) -> float:
        return float(self.mechanism.epsilon * answers * self.assumed.devices)

    def _devices(self, epsilon: float) -> float:
        return epsilon * self.assumed.devices

    @property
    def _same(self) -> float | None:
        """What all reports of one answer reveal with a second round, if there is one."""
        if self.mechanism.epsilon_first is None:
            return None
        return self._devices(unchanging(self.mechanism, self.reports))

    @property
    def _trajectory(self) -> Bound:
        bound = trajectory(self.mechanism, self.reports, self.answers)
        return Bound(self._devices(bound.epsilon), bound.name)

    def _one_report(self, fresh: Bound) -> Row:
        first = self.mechanism.epsilon_first
        second = None if first is None else float(first * self.assumed.devices)
        unit = "epsilon of one report by itself, whichever it is"
        if self.assumed.devices > 1:
            unit = f"epsilon of one report{self.assumed.each}; {self._how(fresh)}"
        return Row(ONE_REPORT, self._permanent(), second, fresh, unit)

    def _same_answer(self, fresh: Bound) -> Row:
        unit = f"epsilon of {self._days} about one answer; {self._how(fresh)}"
        return Row(UNCHANGING, self._permanent(), self._same, fresh, unit)

    def _public_changes(self, fresh: Bound) -> Row:
        d = self.answers
        total = self._permanent(d)
        unit = (
            f"epsilon of {self._days} about {_answers(d)}, where everybody may know when "
            f"{self._remembered} changes and when an old one returns; memoized "
            f"{self._times}{d} x epsilon; "
        )
        second = self._same
        if second is not None and d > 1:
            bounds = (Bound(total, f"{d} x epsilon"), self._trajectory)
            least = min(bounds, key=lambda bound: bound.epsilon)
            second = least.epsilon
            unit += f"second round {self._named(least)}; "
        unit += self._how(fresh)
        return Row(PUBLIC_CHANGES, total, second, fresh, unit)

    @property
    def _remembered(self) -> str:
        """What changes when the permanent response does."""
        if self.mechanism.merges:
            return "what is remembered of the answer (a bucket, a rounded bit, a filter)"
        return "the answer"

    def _one_day(self, fresh: Bound) -> Row:
        if self.reports == 1:
            unit = f"epsilon of the one report there is{self.assumed.each}"
            return self._only(CHANGED_DAY, fresh, unit)
        unit = (
            f"epsilon{self.assumed.between} between two histories that differ in the answer of "
            "one day, all other days known; memoized has no bound, since a report unlike the "
            "others proves a change"
        )
        second = None
        if self.mechanism.second is not None:
            bound = changed_day(self.mechanism)
            second = self._devices(bound.epsilon)
            unit += f"; second round {self._named(bound)}"
        if self.assumed.devices > 1:
            unit += f"; {self._how(fresh)}"
        return Row(CHANGED_DAY, None, second, fresh, unit)

    def _whole(self, fresh: Bound) -> Row:
        d = self.answers
        unit = (
            f"epsilon{self.assumed.between} between any two histories of {_periods(self.reports)} "
            f"with {_answers(d)} each; {self._how(fresh)}"
        )
        if d == 1:
            return self._only(TRAJECTORY, fresh, unit)
        second = None
        unit += "; memoized has no bound"
        if self.mechanism.second is not None:
            bound = self._trajectory
            second = bound.epsilon
            unit += f"; second round {self._named(bound)}, growing with every report"
        return Row(TRAJECTORY, None, second, fresh, unit)

    def _only(self, protects: str, fresh: Bound, unit: str) -> Row:
        """A row about one answer only: there is nothing that could change."""
        return Row(protects, self._permanent(), self._same, fresh, unit)

    @property
    def _days(self) -> str:
        reports = "the 1 report" if self.reports == 1 else f"all {self.reports:,} reports"
        return reports + self.assumed.each

    @property
    def _times(self) -> str:
        return "" if self.assumed.devices == 1 else f"{self.assumed.devices:,} x "

    def _named(self, bound: Bound) -> str:
        if self.assumed.devices == 1:
            return bound.name
        return f"{self._times}({bound.name})"

    def _how(self, fresh: Bound) -> str:
        return f"fresh by {fresh.name}{self.assumed.failing(fresh)}"


def _answers(d: int) -> str:
    return "one answer" if d == 1 else f"at most {d:,} different answers"


def _periods(reports: int) -> str:
    return "1 period" if reports == 1 else f"{reports:,} periods"
