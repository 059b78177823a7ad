"""What a device has given away to a whole survey after so many days, question by question.

The draws of different questions never share bits, so whatever their answers have to do with each
other, the epsilons of two questions add up; where one has no bound, the sum has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from os import PathLike
from typing import SupportsIndex

from deniable.protocol.exact import total
from deniable.protocol.question import Question
from deniable.protocol.survey import load_survey

from .. import inputs
from ..accountants.compositions import Composition
from ..accountants.parts import Part
from ..domains import over
from ..inputs import Number
from .accounting import assumptions, delta_warnings, number_of
from .five_rows import Assumed, FiveRows
from .fresh import composed, winner
from .longitudinal import Bound
from .results import (
    CHANGED_DAY,
    ONE_REPORT,
    PUBLIC_CHANGES,
    TRAJECTORY,
    UNCHANGING,
    Row,
    TotalEpsilon,
)
from .spans import touched
from .survey_results import QuestionTotal, SurveyTotalEpsilon


def survey_total_epsilon(
    path: str | PathLike[str],
    *,
    days: SupportsIndex,
    changes: SupportsIndex | None = None,
    delta: Number | None = None,
    devices_per_person: SupportsIndex = 1,
    devices: SupportsIndex | None = None,
) -> SurveyTotalEpsilon:
    """Return what all reports of D consecutive days reveal, for each question and together.

    D days take one report of each question from every period that they touch, at most D days,
    ``floor((D + 5)/7) + 1`` ISO weeks, so many calendar months, and one report of a ``once``
    question. Each question's five rows are those of :func:`deniable.analysis.total_epsilon`. The
    survey's are sums of its questions' (none where one has none), and for fresh noise the least
    composition of all reports of all questions. In the survey's second-round column a question
    without a second round counts with its permanent response alone.

    Parameters
    ----------
    path : str or path
        Of a survey, TOML as written or JSON as compiled.
    days : int
        D, at most a million.
    changes : int, optional
        How often each answer changes at most; otherwise as often as it likes.
    delta : Decimal, float or str, optional
        In (0, 1), of each composition by itself.
    devices_per_person : int
        M, of one person who gives the same answers on each, 1..1000; M D is at most a million.
    devices : int, optional
        All that report; a delta that is not below 1/devices is warned of.

    Returns
    -------
    SurveyTotalEpsilon

    Raises
    ------
    SurveyError
        With every mistake found in the survey.
    ParameterError
        If a parameter is out of range.
    """
    survey = load_survey(inputs.path("survey", path))
    span = inputs.integer("days", days, 1, inputs.MAX_DAYS)
    assumed = assumptions(changes, delta, devices_per_person, span)
    crowd = number_of(devices)
    warnings = tuple(delta_warnings(assumed.delta, crowd))
    tables = {
        name: FiveRows(question.mechanism, _reports(question, span), assumed)
        for name, question in survey.questions.items()
    }
    questions = tuple(
        _question(question, tables[name], crowd, warnings)
        for name, question in survey.questions.items()
    )
    together = _composed((table.part(table.reports) for table in tables.values()), assumed)
    alone = _composed((table.part(1) for table in tables.values()), assumed)
    return SurveyTotalEpsilon(
        survey=survey.id,
        days=span,
        changes=assumed.changes,
        delta=assumed.delta,
        devices_per_person=assumed.devices,
        devices=crowd,
        questions=questions,
        rows=tuple(_rows(questions, assumed, winner(alone), winner(together))),
        compositions=together,
        sum_epsilon=total(question.epsilon for question in survey.questions.values()),
        max_epsilon=survey.max_epsilon,
        warnings=warnings,
    )


def _reports(question: Question, days: int) -> int:
    """Return how many reports a device sends at most: one in each period, within the horizon."""
    horizon = question.horizon
    most = touched(question.period, days)
    return most if horizon is None else min(most, horizon.periods)


def _composed(parts: Iterable[Part], assumed: Assumed) -> tuple[Composition, ...]:
    every = tuple(parts)
    return composed(every, assumed.delta_for(sum(part.reports for part in every)))


def _question(
    question: Question, table: FiveRows, devices: int | None, warnings: tuple[str, ...]
) -> QuestionTotal:
    assumed, mechanism = table.assumed, table.mechanism
    return QuestionTotal(
        question=question.id,
        version=question.version,
        period=question.period,
        total=TotalEpsilon(
            epsilon=mechanism.epsilon,
            epsilon_first=mechanism.epsilon_first,
            days=table.reports,
            values=mechanism.k,
            mechanism=mechanism.described(),
            domain=over(mechanism),
            covered=table.covered,
            changes=assumed.changes,
            delta=assumed.delta,
            devices_per_person=assumed.devices,
            devices=devices,
            rows=table.rows(),
            compositions=table.compositions,
            warnings=warnings,
        ),
    )


_UNITS = {
    ONE_REPORT: "epsilon of one report to each question{each}, whatever the answers",
    UNCHANGING: "epsilon of all reports to all questions{each}, each question's about one answer",
    PUBLIC_CHANGES: "epsilon of all reports to all questions{each}, where everybody may know when "
    "what is remembered of an answer changes and when an old one returns",
    CHANGED_DAY: "epsilon{between} between two histories that differ in one answer to each "
    "question, all others known",
    TRAJECTORY: "epsilon{between} between any two histories of the answers to all questions",
}


def _rows(
    questions: Sequence[QuestionTotal], assumed: Assumed, alone: Bound, together: Bound
) -> Iterator[Row]:
    for index, (protects, unit) in enumerate(_UNITS.items()):
        rows = [question.total.rows[index] for question in questions]
        fresh = alone if protects in (ONE_REPORT, CHANGED_DAY) else together
        text = unit.format(each=assumed.each, between=assumed.between)
        yield Row(
            protects,
            _sum(row.memoized for row in rows),
            _sum(_as_asked(row, question) for row, question in zip(rows, questions, strict=True)),
            fresh,
            f"{text}; memoized summed over the questions; fresh by {fresh.name}"
            f"{assumed.failing(fresh)}",
        )


def _as_asked(row: Row, question: QuestionTotal) -> float | None:
    """Return the epsilon with a second round where the question has one."""
    return row.memoized if question.total.epsilon_first is None else row.second_round


def _sum(epsilons: Iterable[float | None]) -> float | None:
    every = list(epsilons)
    known = [epsilon for epsilon in every if epsilon is not None]
    if len(known) < len(every):
        return None
    return float(sum(Decimal(repr(epsilon)) for epsilon in known))
