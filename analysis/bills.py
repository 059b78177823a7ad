"""What ``deniable survey`` says about a survey: its bill, its mistakes, its next edition.

What must never change within a major version: the field names of ``document()`` and
``records()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from deniable.protocol.diff import Change
from deniable.protocol.exact import canonical
from deniable.protocol.limits import MAX_FINGERPRINT_BITS
from deniable.protocol.problems import Problem

from .alternatives import Alternative, alternatives_section
from .bill_words import counted_values, of_what
from .changing.comparison import ChangingComparison, changing_section
from .reading import beyond
from .render import Record, Section

_REFUSED = "REFUSED: devices and collectors that know the old edition will not take it."

CROWDS = (10**4, 10**5, 10**6, 10**7)
"""Devices for which standard errors are printed."""


@dataclass(frozen=True, slots=True)
class QuestionCost:
    """What one question costs a device and tells its analyst.

    Attributes
    ----------
    question, version, period, type, mechanism
    values : int
        Domain size: of a set its items, of a joint question the pairs, of a text the buckets.
    chosen : bool or None
        Whether ``auto`` chose the mechanism; None if the file does not tell.
    epsilon, epsilon_first : float
        As the unit says; of one report, None without a second round.
    epsilon_unit : str
        What ``epsilon`` is of: all reports about one unchanging answer, or a whole trajectory.
    lifetime_changing : float or None
        Of all reports about answers that change, if it is public when what is remembered of the
        answer changes; None is unbounded.
    change_reveals : float or None
        Epsilon between two histories that differ on one day, the rest known; None is unbounded,
        as it always is without a second round.
    fingerprint_bits : float
        At most so many bits of the permanent response tell devices apart.
    standard_errors : tuple of float
        Of a frequency (an item's, a named text's) at the worst f, or of a mean in the worst
        population and in the question's own units, for each of :data:`CROWDS` sampled devices; of
        a changing answer in the worst period.
    standard_error_of : "frequency" or "mean"
    min_crowd : int
    sealed : bool
        Whether devices encrypt each response for the analyst.
    remark : str
        What no number says of sets, texts and answers that change; empty of the others.
    """

    question: str
    version: int
    period: str
    type: str
    mechanism: str
    values: int
    chosen: bool | None
    epsilon: float
    epsilon_first: float | None
    epsilon_unit: str
    lifetime_changing: float | None
    change_reveals: float | None
    fingerprint_bits: float
    standard_errors: tuple[float, ...]
    standard_error_of: str
    min_crowd: int
    sealed: bool
    remark: str

    def record(self) -> Record:
        """Return one flat row."""
        record = {name: getattr(self, name) for name in self.__slots__}
        errors = record.pop("standard_errors")
        for crowd, error in zip(CROWDS, errors, strict=True):
            record[f"standard_error_{crowd}"] = error
        return record


@dataclass(frozen=True)
class SurveyCheck:
    """A valid survey's bill.

    Attributes
    ----------
    survey : str
    questions : tuple of QuestionCost
    total_epsilon, max_epsilon : Decimal
        What a device spends that answers everything, and the ceiling it obeys.
    fingerprint : dict of str to float
        By kind of period: bits by which one request may tell devices apart.
    alternatives : tuple of Alternative
        For each question every mechanism that could answer it.
    warnings : tuple of str
    sealing_key : str or None
        The id of the key that sealed answers are encrypted for.
    changing : tuple of ChangingComparison
        For each yes/no or number question: a horizon beside memoization with a second round.
    """

    survey: str
    questions: tuple[QuestionCost, ...]
    total_epsilon: Decimal
    max_epsilon: Decimal
    fingerprint: dict[str, float]
    alternatives: tuple[Alternative, ...]
    warnings: tuple[str, ...]
    sealing_key: str | None
    changing: tuple[ChangingComparison, ...] = ()

    columns: ClassVar[tuple[str, ...]] = (
        "question", "version", "period", "type", "mechanism", "values", "chosen", "epsilon",
        "epsilon_first", "epsilon_unit", "lifetime_changing", "change_reveals",
        "fingerprint_bits", "min_crowd", "sealed", "remark", "standard_error_of",
        *(f"standard_error_{crowd}" for crowd in CROWDS),
    )  # fmt: skip

    def records(self) -> list[Record]:
        """Return one flat row for each question."""
        return [question.record() for question in self.questions]

    def document(self) -> dict[str, Any]:
        """Return the bill as JSON."""
        return {
            "survey": self.survey,
            "valid": True,
            "questions": self.records(),
            "total_epsilon": float(self.total_epsilon),
            "max_epsilon": float(self.max_epsilon),
            "fingerprint": [
                {"period": period, "bits": bits, "limit": MAX_FINGERPRINT_BITS}
                for period, bits in self.fingerprint.items()
            ],
            "alternatives": [alternative.record() for alternative in self.alternatives],
            "changing": [comparison.record() for comparison in self.changing],
            "warnings": list(self.warnings),
            "sealing_key": self.sealing_key,
        }

    def sections(self) -> tuple[Section, ...]:
        """Return costs, errors and totals for people."""
        changing = (changing_section(self.changing),) if self.changing else ()
        return (self._costs(), alternatives_section(self.alternatives), *changing, self._errors())

    def _costs(self) -> Section:
        columns = (
            "question", "mechanism", "values", "epsilon", "one report", "answers that change",
            "a change reveals", "bits",
        )  # fmt: skip
        rows = [
            (
                f"{q.question} {q.version}",
                q.mechanism + (" (auto)" if q.chosen else ""),
                counted_values(q),
                f"{q.epsilon:g}",
                f"{q.epsilon if q.epsilon_first is None else q.epsilon_first:g}",
                _bound(q.lifetime_changing),
                _bound(q.change_reveals),
                f"{q.fingerprint_bits:.1f}",
            )
            for q in self.questions
        ]
        return Section(f"{self.survey}: valid", columns, rows, tuple(self._legend()))

    def _legend(self) -> Iterator[str]:
        yield "epsilon: of one device, all its reports about an answer that never changes."
        yield from (f"{q.question}: {q.remark}." for q in self.questions if q.remark)
        yield "one report: epsilon of one report by itself."
        yield (
            "answers that change: epsilon of all reports, if it is public when what is remembered "
            "of the answer changes (the answer; its bucket, filter, sign or rounded bit)."
        )
        yield "a change reveals: epsilon between histories that differ on one day, the rest known."
        if sealed := [q.question for q in self.questions if q.sealed]:
            yield (
                f"Sealed: {', '.join(sealed)}. Each response is encrypted for the analyst's key "
                f"{self.sealing_key}; the collector cannot read it."
            )
        yield "bits: by how much the permanent response may tell one device from another."
        yield (
            f"A device that answers everything spends {canonical(self.total_epsilon)} of at most "
            f"{canonical(self.max_epsilon)}."
        )
        for period, bits in self.fingerprint.items():
            yield (
                f"One {period} request may tell devices apart by {bits:.1f} bits "
                f"(limit {MAX_FINGERPRINT_BITS:g})."
            )

    def _errors(self) -> Section:
        columns = ("question", "of", *(f"{crowd:,}" for crowd in CROWDS), "min_crowd")
        rows = [
            (
                q.question,
                of_what(q),
                *(f"{error:.2g}" for error in q.standard_errors),
                f"{q.min_crowd:,}",
            )
            for q in self.questions
        ]
        title = "Standard error by devices (worst case, sampled devices)"
        if any(q.standard_error_of == "mean" for q in self.questions):
            title += "; of a mean in the question's units"
        return Section(title, columns, rows, tuple(f"Warning: {w}." for w in self.warnings))


@dataclass(frozen=True)
class SurveyProblems:
    """Why a survey is not valid."""

    problems: tuple[Problem, ...]

    columns: ClassVar[tuple[str, ...]] = ("key", "problem", "fix")

    def records(self) -> list[Record]:
        """Return one flat row for each mistake."""
        return [{"key": p.key, "problem": p.problem, "fix": p.fix} for p in self.problems]

    def document(self) -> dict[str, Any]:
        """Return the mistakes as JSON."""
        return {"valid": False, "problems": self.records()}

    def sections(self) -> tuple[Section, ...]:
        """Return the mistakes for people."""
        rows = [tuple(record.values()) for record in self.records()]
        return (Section("The survey is not valid", self.columns, rows),)


@dataclass(frozen=True)
class SurveyDiff:
    """What a new edition of a survey changes.

    Attributes
    ----------
    changes : tuple of Change
    """

    changes: tuple[Change, ...]

    columns: ClassVar[tuple[str, ...]] = ("question", "change", "new_epsilon", "refused")

    @property
    def refused(self) -> bool:
        """Whether devices and collectors that know the old edition will refuse a part of it."""
        return any(change.refused for change in self.changes)

    def records(self) -> list[Record]:
        """Return one flat row for each change."""
        return [change.record() for change in self.changes]

    def document(self) -> dict[str, Any]:
        """Return the changes as JSON."""
        return {"refused": self.refused, "changes": self.records()}

    def sections(self) -> tuple[Section, ...]:
        """Return the changes for people."""
        rows = [
            (
                change.question or "(survey)",
                change.change,
                f"{change.new_epsilon:f}",
                "REFUSED" if change.refused else "",
            )
            for change in self.changes
        ]
        notes = (
            "new epsilon: spent on top by a device that answered the old edition.",
            *((_REFUSED,) if self.refused else ()),
            *(
                f"{change.question or 'all questions together'}: {beyond(change.new_epsilon)}."
                for change in self.changes
                if beyond(change.new_epsilon)
            ),
        )
        if not rows:
            return (Section("Nothing changes for anyone.", (), ()),)
        columns = ("question", "change", "new epsilon", "")
        return (Section("What the new edition changes", columns, rows, notes),)


def _bound(value: float | None) -> str:
    return "no bound" if value is None else f"{value:.4g}"
