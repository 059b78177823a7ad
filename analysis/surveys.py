"""What a survey costs and what it can tell, before it is shipped."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from deniable.protocol.diff import diff_surveys
from deniable.protocol.exact import total
from deniable.protocol.limits import MAX_FINGERPRINT_BITS
from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.periods import midnight, period_at
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey, load_survey

from . import inputs
from .alternatives import alternatives
from .bill_words import remark
from .bills import CROWDS, QuestionCost, SurveyCheck, SurveyDiff
from .bloom import require_told_apart
from .changing.comparison import changing_comparisons
from .domains import epsilon_unit
from .reading import beyond
from .totals.longitudinal import change_reveals

SMALL_CROWD = 100
COARSE_ERROR = 0.1


def check_survey(path: str | PathLike[str]) -> SurveyCheck:
    """Return what a survey costs a device and what it can tell an analyst.

    Standard errors are ``sqrt(V/n)`` for V = ``max over f of g(1-g)/(p-q)^2``, g = q + f(p-q); of
    a number's mean in its own units, V then being the largest over all populations.
    The lifetime of changing answers is ``classes * epsilon``, the changes of what is remembered of
    the answer being public; a change reveals
    ``flips ln(p2/q2)`` with a second round and has no bound without, but for answers that change
    under one epsilon, which covers it.

    Parameters
    ----------
    path : str or path
        Of a survey, TOML as written or JSON as compiled.

    Raises
    ------
    SurveyError
        With every mistake found.
    ParameterError
        If the Bloom filters of a question do not tell its values apart.
    """
    file = inputs.path("survey", path)
    survey = load_survey(file)
    for question in survey.questions.values():
        if isinstance(question.mechanism, Rappor):
            require_told_apart(question.id, question.mechanism)
    chosen = _chosen(file)
    costs = tuple(
        _cost(question, None if chosen is None else chosen[name])
        for name, question in survey.questions.items()
    )
    return SurveyCheck(
        survey=survey.id,
        questions=costs,
        total_epsilon=total(q.epsilon for q in survey.questions.values()),
        max_epsilon=survey.max_epsilon,
        fingerprint=survey.fingerprint_bits(),
        alternatives=tuple(
            alternative
            for question in survey.questions.values()
            for alternative in alternatives(question, linkable=survey.linkable)
        ),
        warnings=tuple(_warnings(survey)),
        sealing_key=None if survey.active_key is None else survey.active_key.id,
        changing=tuple(
            comparison
            for question in survey.questions.values()
            for comparison in changing_comparisons(question)
        ),
    )


def diff(old: str | PathLike[str], new: str | PathLike[str]) -> SurveyDiff:
    """Return what a new edition of a survey costs those who answered the old one.

    Parameters
    ----------
    old, new : str or path
        Of two surveys, TOML or compiled.

    Raises
    ------
    SurveyError
        With every mistake found in the first that is not valid.
    """
    return SurveyDiff(
        diff_surveys(load_survey(inputs.path("old", old)), load_survey(inputs.path("new", new)))
    )


def _cost(question: Question, chosen: bool | None) -> QuestionCost:
    mechanism = question.mechanism
    first, classes = question.epsilon_first, mechanism.classes
    return QuestionCost(
        question=question.id,
        version=question.version,
        period=question.period,
        type=question.type,
        mechanism=mechanism.described(),
        values=mechanism.k,
        chosen=chosen,
        epsilon=float(question.epsilon),
        epsilon_first=None if first is None else float(first),
        epsilon_unit=epsilon_unit(mechanism),
        lifetime_changing=None if classes is None else classes * float(question.epsilon),
        change_reveals=change_reveals(mechanism),
        fingerprint_bits=mechanism.fingerprint_bits,
        standard_errors=tuple(_error(question, crowd) * _unit(question) for crowd in CROWDS),
        standard_error_of="frequency" if question.range is None else "mean",
        min_crowd=question.min_crowd,
        sealed=question.sealed,
        remark=remark(question),
    )


def _error(question: Question, crowd: int) -> float:
    """Return the worst standard error of a frequency, or of a mean as a share of its range."""
    worst, _ = question.mechanism.worst_variance_iid()
    return math.sqrt(worst / crowd)


def _unit(question: Question) -> float:
    """Return what an error of 1 is: the width of the range of a number."""
    return 1.0 if question.range is None else float(question.range.width)


def _chosen(path: Path) -> dict[str, bool] | None:
    """Return for each question of a valid TOML survey whether its author left the choice."""
    if path.suffix == ".json":
        return None
    tables: dict[str, dict[str, object]] = tomllib.loads(path.read_text("utf-8"))["questions"]
    return {name: table.get("mechanism", "auto") == "auto" for name, table in tables.items()}


def _outlasting(question: Question) -> Iterator[str]:
    """Warn of a horizon that is longer than the question is asked."""
    if question.horizon is None:
        return
    asked = question.horizon.index(period_at(question.period, midnight(question.expires)))
    if asked is not None and asked < question.horizon.periods:
        yield (
            f"{question.id}: is asked in {asked:,} of the {question.horizon.periods:,} periods of "
            f"its horizon, for it expires on {question.expires}; the others only add noise"
        )


def _warnings(survey: Survey) -> Iterator[str]:
    today = datetime.now(UTC).date()
    for question in survey.questions.values():
        if question.expires < today:
            yield f"{question.id}: expired on {question.expires}, and is no longer asked"
        yield from _outlasting(question)
        excess = beyond(question.epsilon)
        if excess:
            yield f"{question.id}: {excess}"
        error = _error(question, question.min_crowd)
        if question.min_crowd < SMALL_CROWD or error > COARSE_ERROR:
            yield (
                f"{question.id}: a crowd of {question.min_crowd} (min_crowd) hides little and "
                f"leaves a standard error of {error * _unit(question):.2g}"
            )
    excess = beyond(total(q.epsilon for q in survey.questions.values()))
    if excess and len(survey.questions) > 1:
        yield f"all questions together: {excess}"
    for period, bits in survey.fingerprint_bits().items():
        if bits > MAX_FINGERPRINT_BITS:
            yield (
                f"one {period} request may tell devices apart by {bits:.1f} bits, more than "
                f"{MAX_FINGERPRINT_BITS:g}; the survey accepts it"
            )
