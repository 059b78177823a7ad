"""What a whole survey costs a person after so many days, as it is handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``. A flat row of the survey as a whole has no question.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from deniable.protocol.exact import canonical
from deniable.protocol.periods import PeriodKind

from ..accountants.compositions import Composition
from ..render import Record, Section
from .results import NOISE, Row, TotalEpsilon, composition_document, flat_columns

CEILING = (
    "sum of epsilon over every question version a device ever answered, each of all reports about "
    "one unchanging answer; the device refuses to answer beyond it"
)


@dataclass(frozen=True, slots=True)
class QuestionTotal:
    """One question's five rows.

    Attributes
    ----------
    question : str
    version : int
    period : "day", "week", "month" or "once"
    total : TotalEpsilon
        Its ``days`` are reports: periods of this kind that the days can touch.
    """

    question: str
    version: int
    period: PeriodKind
    total: TotalEpsilon


@dataclass(frozen=True)
class SurveyTotalEpsilon:
    """The five rows of every question, and of all of them together.

    Attributes
    ----------
    survey : str
    days : int
        Consecutive ones, starting anywhere.
    changes : int or None
        How often each answer changes at most, if that is assumed.
    delta : float or None
        Probability with which each composition of fresh noise may fail, by itself.
    devices_per_person : int
        How many devices, with the same answers, every epsilon covers together.
    devices : int or None
        How many there are in all, if that was told.
    questions : tuple of QuestionTotal
    rows : tuple of Row
        Of all questions together.
    compositions : tuple of Composition
        All reports to all questions, each drawn with fresh noise, by every method.
    sum_epsilon : Decimal
        Of this edition's questions, on one device.
    max_epsilon : Decimal
        The survey's ceiling for it.
    warnings : tuple of str
    """

    survey: str
    days: int
    changes: int | None
    delta: float | None
    devices_per_person: int
    devices: int | None
    questions: tuple[QuestionTotal, ...]
    rows: tuple[Row, ...]
    compositions: tuple[Composition, ...]
    sum_epsilon: Decimal
    max_epsilon: Decimal
    warnings: tuple[str, ...]

    @property
    def noises(self) -> tuple[str, ...]:
        """The columns that apply; the second round's only if a question has one."""
        firsts = [question.total.epsilon_first for question in self.questions]
        return NOISE if any(first is not None for first in firsts) else (NOISE[0], NOISE[2])

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the flat rows."""
        return ("question", "version", "period", "reports", *flat_columns(self.noises))

    def records(self) -> list[Record]:
        """Return five flat rows for every question, then five without one for all together."""
        rows = [
            {
                "question": question.question,
                "version": question.version,
                "period": question.period,
                "reports": question.total.days,
                **_padded(row.record(question.total.noises)),
            }
            for question in self.questions
            for row in question.total.rows
        ]
        nothing = dict.fromkeys(("question", "version", "period", "reports"))
        rows += [{**nothing, **_padded(row.record(self.noises))} for row in self.rows]
        return [{name: row[name] for name in self.columns} for row in rows]

    def document(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "survey": self.survey,
            "days": self.days,
            "changes": self.changes,
            "delta": self.delta,
            "devices_per_person": self.devices_per_person,
            "devices": self.devices,
            "questions": [_question_document(question) for question in self.questions],
            "rows": [row.document(self.noises) for row in self.rows],
            "compositions": [composition_document(one) for one in self.compositions],
            "sum_epsilon": float(self.sum_epsilon),
            "max_epsilon": float(self.max_epsilon),
            "max_epsilon_unit": CEILING,
            "warnings": list(self.warnings),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return a table for each question, then those of the survey."""
        from .survey_sections import sections_of_survey

        return sections_of_survey(self)

    @property
    def ceiling(self) -> str:
        """The sum beside the ceiling, with their units."""
        return (
            f"Epsilon of all reports of one device about unchanging answers: its memoized sum is "
            f"{canonical(self.sum_epsilon)}, the ceiling (max_epsilon) "
            f"{canonical(self.max_epsilon)}: {CEILING}."
        )


def _padded(record: Record) -> Record:
    """Add the columns that a question does not have."""
    absent = dict.fromkeys(name for noise in NOISE for name in (noise, f"{noise}_verdict"))
    return {**absent, **record}


def _question_document(question: QuestionTotal) -> dict[str, Any]:
    total = question.total
    return {
        "question": question.question,
        "version": question.version,
        "period": question.period,
        "reports": total.days,
        "epsilon": float(total.epsilon),
        "epsilon_first": None if total.epsilon_first is None else float(total.epsilon_first),
        "mechanism": total.mechanism,
        "values": total.values,
        "rows": [row.document(total.noises) for row in total.rows],
        "compositions": [composition_document(one) for one in total.compositions],
    }
