"""An audit as it is handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..reading import read
from ..render import Record, Section
from .findings import Finding
from .longitudinal import Longitudinal
from .promise import epsilon_of
from .tables import sections
from .trials import Measured
from .verdicts import Promise, Verdict


@dataclass(frozen=True, slots=True)
class QuestionAudit:
    """What was found out about one question.

    Attributes
    ----------
    question, mechanism : str
    promise : Promise
        Declared and exact.
    measured : Measured
        By trials.
    ceiling : float
    longitudinal : Longitudinal or None
        None if even a small relative of the mechanism cannot be enumerated.
    verdict : Verdict
    """

    question: str
    mechanism: str
    promise: Promise
    measured: Measured
    ceiling: float
    longitudinal: Longitudinal | None
    verdict: Verdict

    def record(self) -> Record:
        """Return the flat row."""
        return {
            "question": self.question,
            "declared": float(self.promise.report),
            "exact": _epsilon(self.promise.exact_report),
            "lower_bound": self.measured.lower_bound,
            "null_control": self.measured.null_control,
            "positive_control": self.measured.positive_control,
            "ceiling": self.ceiling,
            "could_have_seen": self.measured.visible,
            "declared_permanent": float(self.promise.permanent),
            "exact_permanent": _epsilon(self.promise.exact_permanent),
            "exact_by": self.promise.by,
            "violation": self.verdict.violation,
            "verdict": self.verdict.text,
        }

    def document(self) -> dict[str, Any]:
        """Return everything as JSON."""
        measured = self.measured
        return {
            **self.record(),
            "epsilon_verdict": read(float(self.promise.permanent)).verdict,
            "mechanism": self.mechanism,
            "event": measured.event,
            "hits": measured.hits,
            "misses": measured.misses,
            "tests": measured.tests,
            "longitudinal": None if self.longitudinal is None else self.longitudinal.document(),
        }


@dataclass(frozen=True)
class Audit:
    """Whether an installed client keeps what its survey promises.

    Attributes
    ----------
    survey : str
    deniable, python, client : str
        Versions that were audited, and the folder they were loaded from.
    trials : int
        On each side of each comparison; half of them choose, half test.
    confidence : float
        With which all lower bounds and null controls hold at once.
    seed : int
        That chose the answers to compare.
    questions : tuple of QuestionAudit
    checks : tuple of Finding
        Of what a device remembers, and of what links its requests.
    """

    survey: str
    deniable: str
    python: str
    client: str
    trials: int
    confidence: float
    seed: int
    questions: tuple[QuestionAudit, ...]
    checks: tuple[Finding, ...]

    @property
    def violation(self) -> bool:
        """Whether a promise was shown to be broken."""
        failed = any(check.kept is False for check in self.checks)
        return failed or any(each.verdict.violation for each in self.questions)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the flat rows."""
        return tuple(self.questions[0].record())

    def records(self) -> list[Record]:
        """Return one flat row for each question."""
        return [each.record() for each in self.questions]

    def document(self) -> dict[str, Any]:
        """Return the audit as JSON."""
        return {
            "survey": self.survey,
            "violation": self.violation,
            "deniable": self.deniable,
            "python": self.python,
            "client": self.client,
            "trials": self.trials,
            "confidence": self.confidence,
            "seed": self.seed,
            "questions": [each.document() for each in self.questions],
            "checks": [_finding(check) for check in self.checks],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the audit for people, the verdicts last."""
        return tuple(sections(self))


def _epsilon(ratio: Fraction | None) -> float | None:
    return None if ratio is None else epsilon_of(ratio)


def _finding(check: Finding) -> Record:
    return {
        "check": check.check,
        "question": check.question,
        "kept": check.kept,
        "detail": check.line,
    }
