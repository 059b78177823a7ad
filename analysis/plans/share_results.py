"""A total epsilon shared out over questions and reports, as it is handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from deniable.protocol.exact import canonical
from deniable.protocol.limits import EPSILON_MAX, EPSILON_MIN

from ..figures import at_most, counted
from ..reading import Reading
from ..render import Record, Section
from ..results import FIRST_UNIT
from .fresh import FreshShare
from .proposals import Proposal, meaning

TOTAL_UNIT = "of one person, from all reports of all their devices about all questions"
REPORT_UNIT = "of one person, from one report whose noise is drawn anew"


_SHORT = {
    "memoized": "one device, all its reports about one answer",
    "second round": "one device, one report",
    "fresh": "one person, one report",
}


@dataclass(frozen=True)
class EpsilonShares:
    """What each question and each report may have of a total epsilon.

    Attributes
    ----------
    proposal : Proposal
        What a question may have if its answer is memoized.
    total_epsilon : Decimal
        Of one person.
    spent : Decimal
        What the memoized epsilons come to, at most the total.
    days, questions, devices_per_person : int
    changes : int or None
        How often an answer changes at most; None if it never does.
    answers : int
        Different answers to one question that were counted.
    delta : float or None
        Probability with which the fresh shares' total may be exceeded.
    fresh : tuple of FreshShare
        What a report may have if its noise is drawn anew, by each composition theorem.
    reading : Reading
        What the total lets an attacker do at best.
    """

    proposal: Proposal
    total_epsilon: Decimal
    spent: Decimal
    days: int
    questions: int
    devices_per_person: int
    changes: int | None
    answers: int
    delta: float | None
    fresh: tuple[FreshShare, ...]
    reading: Reading

    columns: ClassVar[tuple[str, ...]] = ("noise", "method", "epsilon", "unit", "delta", "winner")

    @property
    def epsilon(self) -> Decimal:
        """Of one device, from all its reports about one unchanging answer."""
        return self.proposal.epsilon

    @property
    def epsilon_first(self) -> Decimal | None:
        """Of one report, if there is a second round."""
        return self.proposal.epsilon_first

    @property
    def memoized_unit(self) -> str:
        """What the memoized epsilon is of."""
        unit = "of one device, from all its reports about one unchanging answer"
        if self.answers == 1:
            return f"{unit}, of one question"
        return f"{unit}, of at most {self.answers} to one question whose change times are public"

    def records(self) -> list[Record]:
        """Return a flat row for each way to draw the noise; None is no answer."""
        rows = [("memoized", "basic", self.epsilon, self.memoized_unit, 0.0, True)]
        if self.epsilon_first is not None:
            rows.append(("second round", "half", self.epsilon_first, FIRST_UNIT, 0.0, True))
        records: list[Record] = [dict(zip(self.columns, row, strict=True)) for row in rows]
        records += [
            {
                "noise": "fresh",
                "method": share.method,
                "epsilon": share.epsilon,
                "unit": REPORT_UNIT,
                "delta": share.delta,
                "winner": share.winner,
            }
            for share in self.fresh
        ]
        return [record | {"epsilon": _float(record["epsilon"])} for record in records]

    def document(self) -> dict[str, Any]:
        """Return the shares as JSON."""
        return {
            "unknown": "epsilon_per_question",
            "total_epsilon": float(self.total_epsilon),
            "total_epsilon_unit": TOTAL_UNIT,
            "total_reading": self.reading.document(),
            "spent": float(self.spent),
            "days": self.days,
            "questions": self.questions,
            "devices_per_person": self.devices_per_person,
            "changes": self.changes,
            "answers": self.answers,
            "delta": self.delta,
            **self.proposal.document(),
            "shares": self.records(),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the shares for people."""
        rows = [
            (
                record["noise"],
                record["method"] + (" *" if best and record["winner"] else ""),
                "none" if record["epsilon"] is None else at_most(record["epsilon"], 4),
                _SHORT[record["noise"]],
            )
            for record, best in ((each, each["noise"] == "fresh") for each in self.records())
        ]
        title = (
            f"epsilon {canonical(self.epsilon)} of one device and question, for at most "
            f"{canonical(self.total_epsilon)} of one person"
        )
        columns = ("noise", "by", "epsilon", "of what")
        return (Section(title, columns, rows, tuple(self._notes())),)

    def _notes(self) -> Iterator[str]:
        each = f" x {self.answers} answers" if self.answers > 1 else ""
        yield (
            f"Memoized: {canonical(self.epsilon)} x {counted(self.questions, 'question')} x "
            f"{counted(self.devices_per_person, 'device')}{each} = {canonical(self.spent)} "
            f"{TOTAL_UNIT}, at most {canonical(self.total_epsilon)}; over any number of days."
        )
        if self.epsilon == EPSILON_MAX and self.spent < self.total_epsilon:
            yield f"More would be allowed, but {EPSILON_MAX} is the most that devices accept."
        if self.changes is None:
            yield "It is assumed that no answer ever changes; with --changes it may."
        if self.epsilon_first is not None:
            yield (
                "Second round: epsilon of one report is half of the permanent one; less hides "
                "one report better, and costs accuracy."
            )
        reports = self.days * self.questions * self.devices_per_person
        span = counted(self.days, "day")
        yield f"Fresh: {counted(reports, 'report')} of one person in {span}; * is the largest."
        if self.delta is not None:
            yield (
                f"By basic the total never exceeds {canonical(self.total_epsilon)}, by the others "
                f"except with probability delta = {self.delta:g}."
            )
        least = [s.epsilon for s in self.fresh if s.epsilon is not None]
        if least and max(least) < EPSILON_MIN:
            yield f"No device accepts so little for a report: {EPSILON_MIN} is the least."
        for share in self.fresh:
            if share.why:
                yield f"Fresh by {share.method}: none, {share.why}."
        yield f"Of the total: {meaning(self.reading)}"
        yield from self.proposal.notes()


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
