"""What a device has given away after T reports: five answers, for there is no single one.

What an epsilon bounds depends on what is to be protected. Each row of the result protects
something else, and each column is another way to draw the noise; a number without its row and
column means nothing, so none is printed alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import SupportsIndex

from deniable.protocol.mechanisms import NO_OPTIONS, Mechanism, Options, build

from . import inputs
from .composition import Bound, compose
from .inputs import Number
from .longitudinal import changed_day, trajectory, unchanging
from .planning import resolve
from .totals import Row, TotalEpsilon


def total_epsilon(
    *,
    epsilon: Number,
    days: SupportsIndex,
    epsilon_first: Number | None = None,
    values: SupportsIndex = 2,
    mechanism: str = "auto",
    options: Options = NO_OPTIONS,
    changes: SupportsIndex | None = None,
    delta: Number | None = None,
) -> TotalEpsilon:
    """Return what T reports of one device reveal, for each thing one may want to protect.

    With r = p2/q2 of the second round, and (a, b) the chains in which the permanent responses of
    two values differ (``Mechanism.chains``):

    one report
        memoized epsilon; second round epsilon_first; fresh epsilon.
    a value that never changes
        epsilon; ``sum over (a, b) of ln((a r^T + 1-a) / (b r^T + 1-b))``, which tends to
        epsilon; fresh composition of T reports, ``T epsilon`` without a delta.
    the values, change times public
        ``d epsilon`` for at most d different answers, with a second round the whole trajectory's
        bound if that is less; fresh as before. Where answers share what is remembered of them
        (``Mechanism.merges``), the times are those at which that changes.
    one changed day, the rest known
        memoized none: a report unlike the day before proves a change; second round
        ``flips ln r``, flips being the bits in which two permanent responses can differ.
    the whole trajectory, change times secret
        memoized none; second round ``T flips ln r``.

    Parameters
    ----------
    epsilon, epsilon_first : Decimal, int, float or str
        Of the permanent response; of one report, if there is a second round.
    days : int
        T, reports of one device, at most a million.
    values : int
        Domain size k.
    mechanism : str
        Any of a survey's; ``auto`` is what a survey would choose for a choice.
    options : mapping of str to int
        Of the mechanism, such as ``{"g": 4}``; what is left out, it chooses.
    changes : int, optional
        How often the answer changes at most; otherwise as often as it likes.
    delta : Decimal, float or str, optional
        In (0, 1): the fresh column may then be the least of several (epsilon, delta) bounds.

    Returns
    -------
    TotalEpsilon

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    References
    ----------
    Erlingsson, Pihur, Korolova. RAPPOR: randomized aggregatable privacy-preserving ordinal
    response. CCS 2014.
    Arcolezi et al. Improving the utility of locally differentially private protocols for
    longitudinal and multidimensional frequency estimates. 2022.

    Examples
    --------
    >>> table = total_epsilon(epsilon=2, days=365)
    >>> [(row.memoized, row.fresh.epsilon) for row in table.rows]
    [(2.0, 2.0), (2.0, 730.0), (4.0, 730.0), (None, 2.0), (None, 730.0)]
    """
    first = None if epsilon_first is None else inputs.epsilon("epsilon_first", epsilon_first)
    k = inputs.integer("values", values, 2, inputs.MAX_VALUES)
    built = resolve(mechanism, k, inputs.epsilon("epsilon", epsilon), first, options)
    reports = inputs.integer("days", days, 1, inputs.MAX_DAYS)
    most = None if changes is None else inputs.integer("changes", changes, 0, inputs.MAX_DAYS)
    fail = None if delta is None else float(inputs.between("delta", delta, "1e-100", "1"))
    table = _Table(built, reports, most, fail)
    return TotalEpsilon(
        epsilon=built.epsilon,
        epsilon_first=built.epsilon_first,
        days=reports,
        values=k,
        mechanism=built.described(),
        changes=most,
        delta=fail,
        rows=tuple(table.rows()),
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Computes the rows of one mechanism."""

    mechanism: Mechanism
    reports: int
    changes: int | None
    delta: float | None

    @property
    def answers(self) -> int:
        """At most so many different answers can be given."""
        limits = [self.reports]
        if self.mechanism.classes is not None:
            limits.append(self.mechanism.classes)
        if self.changes is not None:
            limits.append(self.changes + 1)
        return min(limits)

    def rows(self) -> Iterator[Row]:
        alone = self._composed(1, None)
        all_days = self._composed(self.reports, self.delta)
        yield self._one_report(alone)
        yield self._same_answer(all_days)
        yield self._public_changes(all_days)
        yield self._one_day(alone)
        yield self._whole(all_days)

    def _composed(self, reports: int, delta: float | None) -> Bound:
        m = self.mechanism
        return compose(build(m.name, m.k, m.epsilon, None, m.chosen), reports, delta)

    @property
    def _epsilon(self) -> float:
        return float(self.mechanism.epsilon)

    @property
    def _same(self) -> float | None:
        """What all reports of one answer reveal with a second round, if there is one."""
        if self.mechanism.epsilon_first is None:
            return None
        return unchanging(self.mechanism, self.reports)

    def _one_report(self, fresh: Bound) -> Row:
        first = self.mechanism.epsilon_first
        second = None if first is None else float(first)
        unit = "epsilon of one report by itself, whichever it is"
        return Row("one report", self._epsilon, second, fresh, unit)

    def _same_answer(self, fresh: Bound) -> Row:
        unit = f"epsilon of all {self._days} about one answer; {self._how(fresh)}"
        return Row("a value that never changes", self._epsilon, self._same, fresh, unit)

    def _public_changes(self, fresh: Bound) -> Row:
        d = self.answers
        total = d * self._epsilon
        unit = (
            f"epsilon of all {self._days} about {_answers(d)}, where everybody may know when "
            f"{self._remembered} changes and when an old one returns; memoized {d} x epsilon; "
        )
        second = self._same
        if second is not None and d > 1:
            bounds = (Bound(total, f"{d} x epsilon"), trajectory(self.mechanism, self.reports))
            least = min(bounds, key=lambda bound: bound.epsilon)
            second = least.epsilon
            unit += f"second round {least.name}; "
        unit += self._how(fresh)
        return Row("the values, change times public", total, second, fresh, unit)

    @property
    def _remembered(self) -> str:
        """What changes when the permanent response does."""
        if self.mechanism.merges:
            return "what is remembered of the answer (a bucket, a rounded bit, a filter)"
        return "the answer"

    def _one_day(self, fresh: Bound) -> Row:
        unit = (
            "epsilon between two histories that differ in the answer of one day, all other "
            "days known; memoized has no bound, since a report unlike the others proves a change"
        )
        if self.reports == 1:
            unit = "epsilon of the one day there is"
            return self._only("one changed day, the rest known", fresh, unit)
        second = None
        if self.mechanism.second is not None:
            bound = changed_day(self.mechanism)
            second = bound.epsilon
            unit += f"; second round {bound.name}"
        return Row("one changed day, the rest known", None, second, fresh, unit)

    def _whole(self, fresh: Bound) -> Row:
        d = self.answers
        unit = (
            f"epsilon between any two histories of {self._days} with {_answers(d)} each; "
            f"{self._how(fresh)}"
        )
        if d == 1:
            return self._only("the whole trajectory, change times secret", fresh, unit)
        second = None
        unit += "; memoized has no bound"
        if self.mechanism.second is not None:
            bound = trajectory(self.mechanism, self.reports)
            second = bound.epsilon
            unit += f"; second round {bound.name}, growing with every report"
        return Row("the whole trajectory, change times secret", None, second, fresh, unit)

    def _only(self, protects: str, fresh: Bound, unit: str) -> Row:
        """A row about one answer only: there is nothing that could change."""
        return Row(protects, self._epsilon, self._same, fresh, unit)

    @property
    def _days(self) -> str:
        return "1 report" if self.reports == 1 else f"{self.reports:,} reports"

    def _how(self, fresh: Bound) -> str:
        failing = "" if self.delta is None else f", except with probability delta = {self.delta:g}"
        return f"fresh by {fresh.name}{failing}"


def _answers(d: int) -> str:
    return "one answer" if d == 1 else f"at most {d} different answers"
