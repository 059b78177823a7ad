"""What a device has given away after T reports: five answers, for there is no single one.

What an epsilon bounds depends on what is to be protected. Each row of the result protects
something else, and each column is another way to draw the noise; a number without its row and
column means nothing, so none is printed alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, SupportsIndex

from deniable.protocol.exact import canonical
from deniable.protocol.mechanisms import Mechanism, build

from . import inputs
from .composition import Bound, compose
from .inputs import Number
from .planning import resolve
from .render import Record, Section

COLUMNS = (
    "memoized: the answer is randomized once, and the same permanent response is sent every day.",
    "memoized_second_round: each report is the permanent response, randomized anew.",
    "fresh: each report is the answer, randomized anew with the whole epsilon.",
)


@dataclass(frozen=True, slots=True)
class Row:
    """What is protected, and the epsilon that protects it; None where there is no bound."""

    protects: str
    memoized: float | None
    second_round: float | None
    fresh: Bound
    unit: str


@dataclass(frozen=True)
class TotalEpsilon:
    """The five rows.

    Attributes
    ----------
    epsilon, epsilon_first : Decimal
    days : int
        T, one report on each.
    values : int
    mechanism : str
    changes : int or None
        How often the answer changes at most, if that is assumed.
    delta : float or None
        Probability with which the fresh column's compositions may fail.
    rows : tuple of Row
    """

    epsilon: Decimal
    epsilon_first: Decimal | None
    days: int
    values: int
    mechanism: str
    changes: int | None
    delta: float | None
    rows: tuple[Row, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the flat rows; the second round's only if there is one."""
        second = () if self.epsilon_first is None else ("memoized_second_round",)
        return ("protects", "memoized", *second, "fresh", "unit", "fresh_by")

    def records(self) -> list[Record]:
        """Return the five flat rows; None is no bound."""
        return [
            {
                name: value
                for name, value in (
                    ("protects", row.protects),
                    ("memoized", row.memoized),
                    ("memoized_second_round", row.second_round),
                    ("fresh", row.fresh.epsilon),
                    ("unit", row.unit),
                    ("fresh_by", row.fresh.name),
                )
                if name in self.columns
            }
            for row in self.rows
        ]

    def document(self) -> dict[str, Any]:
        """Return the table and its parameters as JSON."""
        return {
            "epsilon": float(self.epsilon),
            "epsilon_first": None if self.epsilon_first is None else float(self.epsilon_first),
            "days": self.days,
            "values": self.values,
            "mechanism": self.mechanism,
            "changes": self.changes,
            "delta": self.delta,
            "rows": self.records(),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the table for people, then what its columns and rows mean."""
        second = self.epsilon_first is not None
        names = self.columns[: 4 if second else 3]
        rows = [
            (row.protects, *(_shown(record[name]) for name in names[1:]))
            for row, record in zip(self.rows, self.records(), strict=True)
        ]
        first = "" if self.epsilon_first is None else f" ({canonical(self.epsilon_first)} a report)"
        title = (
            f"Epsilon of one device after {self.days:,} reports, one a day: "
            f"{self.mechanism} over {self.values} values, epsilon {canonical(self.epsilon)}{first}"
        )
        columns = [line for line in COLUMNS if second or "second_round" not in line]
        units = [f"{row.protects}: {row.unit}." for row in self.rows]
        return (Section(title, names, rows, (*columns, "", *units)),)


def total_epsilon(
    *,
    epsilon: Number,
    days: SupportsIndex,
    epsilon_first: Number | None = None,
    values: SupportsIndex = 2,
    mechanism: str = "auto",
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
        ``d epsilon`` for at most d different answers; fresh as before.
    one changed day, the rest known
        memoized none: a report unlike the day before proves a change; second round
        ``flips ln r``, flips being the bits in which two permanent responses can differ.
    the whole trajectory, change times secret
        memoized none; second round ``min(T L, (1 - 1/d) T L + m epsilon)`` with L = ``flips ln r``
        for trajectories of at most d >= 2 different answers each; m is d, or d - 1 if there are
        no others.

    Parameters
    ----------
    epsilon, epsilon_first : Decimal, int, float or str
        Of the permanent response; of one report, if there is a second round.
    days : int
        T, reports of one device, at most a million.
    values : int
        Domain size k.
    mechanism : str
        ``grr``, ``sue``, ``oue``; ``auto`` is what a survey would choose.
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

    Notes
    -----
    The last bound. Two trajectories that differ on D days have likelihoods within ``e^(D L)`` of
    each other: condition on the permanent responses of all values, then compare day by day. So
    ``T L`` bounds any two. Renaming the answers of one trajectory costs at most ``d epsilon``, for
    that many permanent responses are drawn for other values. Days fall into a d by d table by the
    two trajectories' answers, and its d cyclic renamings share them out: one of them makes the
    two agree on at least T/d days. That gives ``(1 - 1/d) T L + d epsilon``. If both draw from
    the same d answers, one of the renamings is none at all and costs nothing; with D days of
    difference the best other one agrees on D/(d-1) days, and the lesser of ``D L`` and
    ``(T - D/(d-1)) L + d epsilon`` is largest where they meet: ``(1 - 1/d) (T L + d epsilon)``.

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
    built = resolve(mechanism, k, inputs.epsilon("epsilon", epsilon), first)
    reports = inputs.integer("days", days, 1, inputs.MAX_DAYS)
    most = None if changes is None else inputs.integer("changes", changes, 0, inputs.MAX_DAYS)
    fail = None if delta is None else float(inputs.between("delta", delta, "1e-100", "1"))
    table = _Table(built, reports, most, fail)
    return TotalEpsilon(
        epsilon=built.epsilon,
        epsilon_first=built.epsilon_first,
        days=reports,
        values=k,
        mechanism=built.name,
        changes=most,
        delta=fail,
        rows=tuple(table.rows()),
    )


def unchanging(mechanism: Mechanism, reports: int) -> float:
    """Return the epsilon of T second-round reports about one answer.

    ``sum over (a, b) of ln((a r^T + 1-a) / (b r^T + 1-b))``; it is attained, and stays below the
    permanent epsilon.
    """
    weight = reports * _log_ratio(mechanism)
    total = sum(_log_mix(a, weight) - _log_mix(b, weight) for a, b in _chains(mechanism))
    return min(total, float(mechanism.epsilon))


def changed_day(mechanism: Mechanism) -> float:
    """Return ``flips ln(p2/q2)``: two histories that differ on one day, the rest known."""
    return mechanism.flips * _log_ratio(mechanism)


def trajectory(mechanism: Mechanism, reports: int, answers: int) -> float:
    """Return the bound for any two trajectories of at most ``answers`` >= 2 different answers.

    See the notes of :func:`total_epsilon` for the proof.
    """
    day_by_day = reports * changed_day(mechanism)
    renamed = answers - 1 if answers == mechanism.classes else answers
    return min(day_by_day, (1 - 1 / answers) * day_by_day + renamed * float(mechanism.epsilon))


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
        return compose(build(m.name, m.k, m.epsilon), reports, delta)

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
        second = self._same if d == 1 or self._same is None else total
        unit = (
            f"epsilon of all {self._days} about {_answers(d)}, where everybody may know when "
            f"the answer changes and when an old one returns; memoized {d} x epsilon; "
            f"{self._how(fresh)}"
        )
        return Row("the values, change times public", total, second, fresh, unit)

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
            second = changed_day(self.mechanism)
            unit += f"; second round {self.mechanism.flips} x ln(p2/q2)"
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
        if self.mechanism.second is not None:
            second = trajectory(self.mechanism, self.reports, d)
            unit += "; second round grows with every report"
        unit += "; memoized has no bound"
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


def _chains(mechanism: Mechanism) -> Sequence[tuple[float, float]]:
    return [(float(a), float(b)) for a, b in mechanism.chains]


def _log_ratio(mechanism: Mechanism) -> float:
    """Return ln(p2/q2) of the second round."""
    p2, q2 = mechanism.second or (1, 1)
    return math.log(p2 / q2)


def _log_mix(share: float, weight: float) -> float:
    """Return ``ln(share e^weight + 1 - share)`` for weight >= 0, without overflow."""
    return weight + math.log(share + (1 - share) * math.exp(-weight))


def _answers(d: int) -> str:
    return "one answer" if d == 1 else f"at most {d} different answers"


def _shown(value: float | None) -> str:
    return "no bound" if value is None else f"{value:,.6g}"
