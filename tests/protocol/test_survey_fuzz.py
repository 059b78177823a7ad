"""Whatever a TOML or JSON parser may hand over, the readers refuse it in words or read it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import given
from hypothesis import strategies as st
from survey_documents import make_survey, spoiled, survey_tables, values
from type_tables import TABLES

from deniable.protocol.errors import DocumentError, ParameterError, SurveyError
from deniable.protocol.problems import Problem
from deniable.protocol.question import Question
from deniable.protocol.question_fields import parse_question
from deniable.protocol.survey import (
    Survey,
    compile_survey,
    parse_compiled,
    parse_survey,
)
from deniable.protocol.tally import Tally, parse_tally

T = TypeVar("T")


def read(parse: Callable[[], T]) -> T | None:
    """What is read, or None where it is refused with something to show for it."""
    problems: tuple[Problem, ...] = ()
    try:
        return parse()
    except SurveyError as refusal:
        problems = refusal.problems
    assert problems
    assert all(p.key.isprintable() and p.problem and p.fix for p in problems)
    return None


def survives(parse: Callable[[Any], Survey], document: object) -> None:
    survey = read(lambda: parse(document))
    if survey is not None:
        text = compile_survey(survey)
        assert parse_compiled(json.loads(text)) == survey
        assert compile_survey(parse_compiled(json.loads(text))) == text


@given(values | spoiled(survey_tables()))
def test_no_tables_crash_the_reader(document: object) -> None:
    survives(parse_survey, document)


NEWER = {name: table() for name, table in TABLES.items()}
NEWER_TABLES = survey_tables(NEWER, max_epsilon=16, linkable=True)
NEWER_SURVEY = make_survey(NEWER, max_epsilon=16, linkable=True)


@given(spoiled(NEWER_TABLES))
def test_no_tables_of_sets_texts_pairs_and_horizons_crash_the_reader(document: object) -> None:
    survives(parse_survey, document)


@given(spoiled(json.loads(compile_survey(NEWER_SURVEY))))
def test_no_compiled_sets_texts_pairs_and_horizons_crash_the_reader(document: object) -> None:
    survives(parse_compiled, document)


@given(st.sampled_from([*NEWER_SURVEY.questions.values()]), values | st.sets(st.text(max_size=9)))
def test_no_value_crashes_a_question(question: Question, value: object) -> None:
    told = ""
    try:
        assert question.encode(value) >= 0
    except ParameterError as refusal:
        told = str(refusal)
    assert told.startswith(f"{question.id}: ") or not told


@given(values | spoiled(json.loads(compile_survey(make_survey()))))
def test_no_compiled_survey_crashes_the_reader(document: object) -> None:
    survives(parse_compiled, document)


@given(
    st.text(max_size=9) | st.just("acme-editor"),
    values | spoiled(make_survey().questions["dark_mode"].document()),
)
def test_no_question_crashes_the_reader(survey: str, document: object) -> None:
    question = read(lambda: parse_question(survey, document))
    if question is not None:
        assert parse_question(survey, question.document()) == question


TALLY = Tally(make_survey().questions["dark_mode"], "2026-11-30", None, 3, (1, 2)).document()


@given(values | spoiled(TALLY))
def test_no_tally_crashes_the_reader(document: object) -> None:
    try:
        tally = parse_tally(document)
    except DocumentError:
        return
    assert parse_tally(tally.document()) == tally
