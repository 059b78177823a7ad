"""How the totals of a survey are laid out for people; only the layout, which may change."""

from __future__ import annotations

from ..figures import counted
from ..render import Section
from .sections import (
    NOISE_NOTES,
    compositions_section,
    delta_remarks,
    readings_section,
    rows_section,
    unit_notes,
)
from .survey_results import QuestionTotal, SurveyTotalEpsilon

_PERIODS = {
    "day": "one a day",
    "week": "one in each ISO week that the days can touch",
    "month": "one in each calendar month that the days can touch",
    "once": "for it is asked once",
}


def sections_of_survey(total: SurveyTotalEpsilon) -> tuple[Section, ...]:
    """Return a table for each question, then the survey's, its readings and its compositions."""
    notes = [f"{noise}: {_note(noise)}" for noise in total.noises]
    return (
        *(_question(question) for question in total.questions),
        rows_section(
            f"Epsilon of {_whose(total)} after {_days(total.days)}: {_every(len(total.questions))} "
            f"of {total.survey}",
            total.rows,
            total.noises,
            (*notes, "", *unit_notes(total.rows), "", total.ceiling),
        ),
        readings_section(total.rows, total.noises),
        compositions_section(
            f"Fresh noise, composed over the {_reports(total)} of {_every(len(total.questions))}"
            f"{_each(total.devices_per_person)} about values that never change",
            total.compositions,
            tuple(delta_remarks(total.compositions, total.delta, total.devices, total.warnings)),
        ),
    )


def _question(question: QuestionTotal) -> Section:
    total = question.total
    count = counted(total.days, "report")
    return rows_section(
        f"{question.question} (version {question.version}): epsilon of {count}, "
        f"{_PERIODS[question.period]}{_each(total.devices_per_person)}; {total.described}",
        total.rows,
        total.noises,
        unit_notes(total.rows),
    )


def _note(noise: str) -> str:
    if noise == "memoized_second_round":
        return (
            "as the survey asks: each report is the permanent response, randomized anew where "
            "the question has a second round."
        )
    return NOISE_NOTES[noise]


def _reports(total: SurveyTotalEpsilon) -> str:
    return counted(sum(question.total.days for question in total.questions), "report")


def _every(questions: int) -> str:
    return "the 1 question" if questions == 1 else f"all {questions:,} questions"


def _each(devices: int) -> str:
    return "" if devices == 1 else f" from each of one person's {devices:,} devices"


def _whose(total: SurveyTotalEpsilon) -> str:
    many = total.devices_per_person
    return "one device" if many == 1 else f"one person's {many:,} devices"


def _days(days: int) -> str:
    return "1 day" if days == 1 else f"{days:,} consecutive days"
