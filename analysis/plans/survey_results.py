"""A plan for every question of a survey, with the lines to paste, as it is handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

from deniable.protocol.limits import EPSILON_MAX
from deniable.protocol.problems import Problem

from ..domains import epsilon_unit
from ..estimators import FAKE_SHARE
from ..figures import at_most
from ..reading import beyond
from ..render import Record, Section
from ..results import EPSILON_UNIT, FIRST_UNIT
from . import proposals
from .proposals import Proposal

NEW_VERSION = (
    "A changed epsilon is a new version of the question, and a new version is a new spend: a "
    "device that answered an old one has spent that epsilon for ever, and answers the new one "
    "only as far as its max_epsilon goes, which may fall and never rise once a device has seen it"
)


@dataclass(frozen=True)
class QuestionPlan:
    """What is planned for one question.

    Attributes
    ----------
    question : str
    version : int
        The next one if its epsilon changes.
    epsilon_now : Decimal
        As the survey has it.
    proposal : Proposal
    devices : int or None
        For the margin.
    margin : Decimal or None
        Of a frequency, or of a mean as a share of its range.
    central_epsilon : float or None
        A certified bound on what the shuffled reports of one period reveal of one device.
    capped : bool
        Whether more epsilon would be allowed, but devices accept no more.
    why : str
        Why nothing could be planned; the question is then left as it is.
    """

    question: str
    version: int
    epsilon_now: Decimal
    proposal: Proposal
    devices: int | None = None
    margin: Decimal | None = None
    central_epsilon: float | None = None
    capped: bool = False
    why: str = ""

    def record(self) -> Record:
        """Return one flat row."""
        return {
            "question": self.question,
            "version": self.version,
            "epsilon_now": float(self.epsilon_now),
            **self.proposal.record(),
            "devices": self.devices,
            "margin": None if self.margin is None else float(self.margin),
            "central_epsilon": self.central_epsilon,
            "success_cap": self.proposal.reading.success_cap,
            "capped": self.capped,
            "why": self.why,
        }


@dataclass(frozen=True)
class SurveyPlan:
    """What is planned for a survey.

    Attributes
    ----------
    survey : str
    unknown : "epsilon_per_question", "margin", "epsilon" or "local_epsilon"
        What was computed.
    target : str
        What was asked for, with units and assumptions, in words.
    questions : tuple of QuestionPlan
    total_epsilon : Decimal
        Of one device that answers everything once planned, to unchanging answers.
    lines : tuple of str
        TOML to paste into the survey; none if nothing changes.
    problems : tuple of Problem
        What a check would find once they are pasted.
    notes : tuple of str
    """

    survey: str
    unknown: str
    target: str
    questions: tuple[QuestionPlan, ...]
    total_epsilon: Decimal
    lines: tuple[str, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]

    columns: ClassVar[tuple[str, ...]] = (
        "question", "version", "epsilon_now", *proposals.COLUMNS, "devices", "margin",
        "central_epsilon", "success_cap", "capped", "why",
    )  # fmt: skip

    def records(self) -> list[Record]:
        """Return one flat row for each question."""
        return [question.record() for question in self.questions]

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "survey": self.survey,
            "unknown": self.unknown,
            "target": self.target,
            "epsilon_unit": EPSILON_UNIT,
            "epsilon_first_unit": FIRST_UNIT,
            "questions": [
                {
                    **q.record(),
                    "epsilon_unit": epsilon_unit(q.proposal.mechanism),
                    "reading": q.proposal.reading.document(),
                }
                for q in self.questions
            ],
            "total_epsilon": float(self.total_epsilon),
            "total_epsilon_unit": "of one device, from all reports about all unchanging answers",
            "lines": list(self.lines),
            "problems": [{"key": p.key, "problem": p.problem, "fix": p.fix} for p in self.problems],
            "notes": list(self.notes),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the plan, then the lines to paste, for people."""
        table = Section(f"{self.survey}: {self.target}", *self._table(), tuple(self._legend()))
        if not self.lines:
            return (table,)
        lines = Section("Paste into the survey", (), (), self.lines)
        return (table, lines, Section("Then", (), (), tuple(self._remarks())))

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        shown = {
            "margin": any(q.margin is not None for q in self.questions),
            "central epsilon": any(q.central_epsilon is not None for q in self.questions),
        }
        columns: tuple[str, ...] = (
            "question",
            "mechanism",
            "epsilon now",
            "epsilon",
            "one report",
            "fakes",
        )
        columns += tuple(name for name, given in shown.items() if given)
        rows: list[tuple[str, ...]] = []
        for q in self.questions:
            first = q.proposal.epsilon_first
            row: tuple[str, ...] = (
                q.question,
                q.proposal.mechanism.described(),
                f"{q.epsilon_now:f}",
                f"{q.proposal.epsilon:f}",
                f"{q.proposal.epsilon if first is None else first:f}",
                at_most(q.proposal.fake_bias, 2),
            )
            if shown["margin"]:
                row += ("–" if q.margin is None else f"{q.margin:f}",)
            if shown["central epsilon"]:
                row += ("–" if q.central_epsilon is None else at_most(q.central_epsilon, 4),)
            rows.append(row)
        return columns, rows

    def _legend(self) -> Iterator[str]:
        yield f"epsilon: {EPSILON_UNIT}; one report: epsilon {FIRST_UNIT}."
        yield f"epsilon now: {EPSILON_UNIT}, as the survey stands."
        for q in self.questions:
            unit = epsilon_unit(q.proposal.mechanism)
            if unit != EPSILON_UNIT:
                yield f"{q.question}: both epsilons {unit}."
        yield (
            f"fakes: by how much {100 * FAKE_SHARE:g} % fake devices could move a frequency, or a "
            "mean as a share of its range."
        )
        for note in self.notes:
            yield f"{note}."
        for q in self.questions:
            if q.why:
                yield f"{q.question} stays as it is: {q.why}."
            if q.capped:
                yield (
                    f"{q.question}: more would be allowed, but {EPSILON_MAX} is the most that "
                    "devices accept."
                )
            if not q.proposal.reading.meaningful:
                yield f"{q.question}: {beyond(q.proposal.epsilon)}."

    def _remarks(self) -> Iterator[str]:
        if any(q.proposal.epsilon != q.epsilon_now for q in self.questions):
            yield f"{NEW_VERSION}."
        for problem in self.problems:
            yield f"With these lines a check would find: {problem}."
