"""Surveys: every mistake is told with its key and its fix, all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

import pytest
from survey_documents import (
    ABSENT,
    Document,
    boolean_table,
    choice_table,
    make_survey,
    survey_tables,
    told,
)

from deniable.protocol import mechanism_fields, mechanisms
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import NO_OPTIONS, Options
from deniable.protocol.mechanisms.grr import GRR
from deniable.protocol.survey import parse_survey

LONG = "x" * 501

HEAD_MISTAKES: list[tuple[dict[str, object], str, str, str]] = [
    ({"colour": "red"}, "survey.colour", "unknown key", "use one of batch, format, id,"),
    ({"format": ABSENT}, "survey.format", "missing", "add it"),
    ({"format": 2}, "survey.format", "unknown format", "write format = 1, or upgrade"),
    ({"format": "1"}, "survey.format", "whole number", "correct it"),
    ({"format": True}, "survey.format", "whole number", "correct it"),
    ({"id": ABSENT}, "survey.id", "missing", "add it"),
    ({"id": 7}, "survey.id", "must be text", "quotes"),
    ({"id": ""}, "survey.id", "is empty", "1..500 characters"),
    ({"id": "Acme"}, "survey.id", "must be like acme-editor", "a-z, 0-9, - and _"),
    ({"id": "a" * 65}, "survey.id", "must be like acme-editor", "64 at most"),
    ({"id": "acme\n"}, "survey.id", "cannot be printed", "one line"),
    ({"max_epsilon": ABSENT}, "survey.max_epsilon", "missing", "add it"),
    ({"max_epsilon": 0}, "survey.max_epsilon", "number in 0.01..10000", "correct it"),
    ({"max_epsilon": 10001}, "survey.max_epsilon", "number in 0.01..10000", "correct it"),
    ({"max_epsilon": Decimal("4.9")}, "survey.max_epsilon", "epsilons together (5)", "raise it"),
    ({"segments": "beta"}, "survey.segments", "must be a list of texts", 'like ["a", "b"]'),
    ({"segments": [1]}, "survey.segments", "must be a list of texts", 'like ["a", "b"]'),
    ({"segments": ["a", "a"]}, "survey.segments", "same entry twice", "remove one"),
    ({"segments": ["\u00e9", "e\u0301"]}, "survey.segments", "same entry twice", "remove one"),
    ({"segments": [str(n) for n in range(65)]}, "survey.segments", "0..64 entries: 65", "correct"),
    ({"segments": ["a", " "]}, "survey.segments[1]", "is empty", "1..64 characters"),
    ({"segments": ["x" * 65]}, "survey.segments[0]", "longer than 64 characters", "1..64"),
    ({"segments": ["a\u202eb"]}, "survey.segments[0]", "cannot be printed", "1..64 characters"),
    ({"batch": "day"}, "survey.batch", "unknown", "use one of survey, question"),
    ({"batch": 1}, "survey.batch", "unknown", "use one of survey, question"),
    ({"linkable": "yes"}, "survey.linkable", "must be true or false", "without quotes"),
    ({"linkable": 1}, "survey.linkable", "must be true or false", "without quotes"),
]


@pytest.mark.parametrize(
    ("changes", "key", "problem", "fix"),
    HEAD_MISTAKES,
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_mistakes_in_the_head(changes: dict[str, object], key: str, problem: str, fix: str) -> None:
    [found] = told(lambda: parse_survey(survey_tables(**changes)))
    assert found[0] == key
    assert problem in found[1]
    assert fix in found[2]


NUMBER = "must be a number in 0.01..16"
DATE = "must be a date"

QUESTION_MISTAKES: list[tuple[dict[str, object], str, str, str]] = [
    ({"colour": 1}, "colour", "unknown key", "use one of ask, choices,"),
    ({"hash": "0" * 64}, "hash", "unknown key", "use one of"),
    ({"version": ABSENT}, "version", "missing", "add it"),
    ({"version": 0}, "version", "whole number in 1..1000000", "correct it"),
    ({"version": 10**6 + 1}, "version", "whole number in 1..1000000", "correct it"),
    ({"version": Decimal("1.0")}, "version", "whole number", "correct it"),
    ({"version": True}, "version", "whole number", "correct it"),
    ({"version": 16**5000}, "version", "whole number", "correct it"),
    ({"ask": ABSENT}, "ask", "missing", "add it"),
    ({"ask": 1}, "ask", "must be text", "quotes"),
    ({"ask": "  "}, "ask", "is empty", "1..500 characters"),
    ({"ask": LONG}, "ask", "longer than 500 characters", "1..500 characters"),
    ({"ask": "\u0958" * 251}, "ask", "longer than 500 characters", "1..500 characters"),
    ({"ask": "two\nlines"}, "ask", "cannot be printed", "one line"),
    ({"ask": "\ud800"}, "ask", "cannot be printed", "one line"),
    ({"type": ABSENT}, "type", "missing", "add it"),
    ({"type": "figure"}, "type", "unknown", "use one of boolean, choice, number"),
    ({"type": ["boolean"]}, "type", "unknown", "use one of boolean, choice"),
    ({"choices": ["a", "b"]}, "choices", "a boolean question has none", "remove it"),
    ({"mechanism": "nonesuch"}, "mechanism", "unknown", "use one of auto, grr, sue, oue"),
    ({"mechanism": {"name": "x"}}, "mechanism.name", "unknown", "use one of grr, sue, oue"),
    ({"mechanism": {"name": "grr", "g": 2}}, "mechanism.g", "unknown key", "use one of name"),
    ({"mechanism": "1bitmean"}, "mechanism", "unknown", "use one of auto, grr, sue, oue"),
    ({"epsilon": ABSENT, "epsilon_first": ABSENT}, "epsilon", "missing", "add it"),
    ({"epsilon": Decimal("0.0099")}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": Decimal("16.1")}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": Decimal("NaN"), "epsilon_first": ABSENT}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": Decimal("Infinity")}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": Decimal("-2")}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": Decimal("-0")}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": Decimal("1E+999999999")}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": Decimal("1E-999999999")}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": 16**5000}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": 2.0}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": True}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": "2e0"}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": "\u0662"}, "epsilon", NUMBER, "correct it"),
    ({"epsilon": Decimal("2." + "0" * 18 + "1")}, "epsilon", "more than 18 decimal", "round it"),
    ({"epsilon": Decimal("2." + "0" * 99 + "1")}, "epsilon", "more than 18 decimal", "round it"),
    ({"epsilon_first": Decimal("0." + "9" * 40)}, "epsilon_first", "more than 18", "round it"),
    ({"epsilon_first": 2}, "epsilon_first", "must be less than epsilon (2)", "lower it"),
    ({"epsilon_first": 3}, "epsilon_first", "must be less than epsilon (2)", "lower it"),
    ({"epsilon_first": Decimal("0.001")}, "epsilon_first", NUMBER, "correct it"),
    ({"period": ABSENT}, "period", "missing", "add it"),
    ({"period": "year"}, "period", "unknown", "use one of day, week, month, once"),
    ({"grace": 0}, "grace", "whole number in 1..60", "correct it"),
    ({"grace": 61}, "grace", "whole number in 1..60", "correct it"),
    ({"period": "once", "default": ABSENT}, "grace", "closes when it expires", "remove it"),
    ({"min_crowd": 0}, "min_crowd", "whole number in 1..", "correct it"),
    ({"min_crowd": "many"}, "min_crowd", "whole number in 1..", "correct it"),
    ({"default": "false"}, "default", "is no answer", "write true or false"),
    ({"default": 0}, "default", "is no answer", "write true or false"),
    ({"period": "once", "grace": ABSENT}, "default", "once question has no end", "remove it"),
    ({"owner": ""}, "owner", "is empty", "1..500 characters"),
    ({"expires": ABSENT}, "expires", "missing", "add it"),
    ({"expires": "soon"}, "expires", DATE, "like 2027-06-30"),
    ({"expires": 2027}, "expires", DATE, "like 2027-06-30"),
    ({"expires": datetime(2027, 6, 30, 1)}, "expires", DATE, "like 2027-06-30"),  # noqa: DTZ001
    ({"expires": date(1999, 12, 31)}, "expires", DATE, "like 2027-06-30"),
    ({"expires": date(2999, 1, 1)}, "expires", DATE, "like 2027-06-30"),
]

CHOICE_MISTAKES: list[tuple[dict[str, object], str, str, str]] = [
    ({"choices": ABSENT}, "choices", "missing", "add it, like"),
    ({"choices": []}, "choices", "2..4096 entries: 0", "correct it"),
    ({"choices": ["a"]}, "choices", "2..4096 entries: 1", "correct it"),
    ({"choices": [str(n) for n in range(4097)]}, "choices", "2..4096 entries: 4097", "correct it"),
    ({"choices": "ab"}, "choices", "must be a list of texts", 'like ["a", "b"]'),
    ({"choices": ["a", 1]}, "choices", "must be a list of texts", 'like ["a", "b"]'),
    ({"choices": ["a", "b", "a"]}, "choices", "same entry twice", "remove one"),
    ({"choices": ["\u00e9", "e\u0301"]}, "choices", "same entry twice", "remove one"),
    ({"choices": ["a", ""]}, "choices[1]", "is empty", "1..200 characters"),
    ({"choices": ["x" * 201, "b"]}, "choices[0]", "longer than 200", "1..200 characters"),
    ({"choices": ["a", "\ud800"]}, "choices[1]", "cannot be printed", "1..200 characters"),
    ({"default": "a"}, "default", "once question has no end", "remove it"),
    ({"period": "day", "default": "best"}, "default", "is no answer", "one of the choices"),
    ({"period": "day", "default": True}, "default", "is no answer", "one of the choices"),
    ({"grace": 3}, "grace", "closes when it expires", "remove it"),
]


@pytest.mark.parametrize(
    ("table", "changes", "key", "problem", "fix"),
    [
        *((boolean_table, *mistake) for mistake in QUESTION_MISTAKES),
        *((choice_table, *mistake) for mistake in CHOICE_MISTAKES),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_mistakes_in_a_question(
    table: Callable[..., Document], changes: dict[str, object], key: str, problem: str, fix: str
) -> None:
    tables = survey_tables({"asked": table(**changes)}, max_epsilon=16)
    [found] = told(lambda: parse_survey(tables))
    assert found[0] == f"questions.asked.{key}"
    assert problem in found[1]
    assert fix in found[2]


WHOLE_MISTAKES: list[tuple[object, str, str, str]] = [
    (None, "document", "must be a table", "correct it"),
    ([], "document", "must be a table", "correct it"),
    ({}, "survey", "must be a table", "write it as [survey]"),
    ({**survey_tables(), "more": 1}, "more", "unknown key", "use one of questions, survey"),
    ({**survey_tables(), "survey": 1}, "survey", "must be a table", "write it as [survey]"),
    ({**survey_tables(), "questions": []}, "questions", "missing", "[questions.NAME]"),
    (survey_tables({}), "questions", "must be 1..200", "add or remove some"),
    (survey_tables({"a": 1}), "questions.a", "must be a table", "write it as [questions.a]"),
    (survey_tables({"Dark": boolean_table()}), "questions.Dark", "its name", "use a-z"),
    (survey_tables({"": boolean_table()}), "questions.", "its name must be like", "use a-z"),
    (survey_tables({"\x1b[2J": boolean_table()}), r"questions.\x1b[2J", "its name", "use a-z"),
    (survey_tables({"x" * 900: boolean_table()}), "questions." + "x" * 190, "its name", "use a-z"),
    (
        survey_tables({f"q{n}": boolean_table() for n in range(201)}, max_epsilon=999),
        "questions",
        "must be 1..200",
        "add or remove some",
    ),
]


@pytest.mark.parametrize(("document", "key", "problem", "fix"), WHOLE_MISTAKES, ids=lambda _: "")
def test_mistakes_in_the_whole(document: object, key: str, problem: str, fix: str) -> None:
    found = told(lambda: parse_survey(document))
    assert any(key == k and problem in p and fix in f for k, p, f in found), found


def test_every_mistake_is_told_at_once() -> None:
    table = boolean_table(version=0, ask=ABSENT, epsilon="x", epsilon_first=ABSENT, expires=1)
    found = told(lambda: parse_survey(survey_tables({"a": table, "b": 1}, format=3, id="?")))
    assert [key for key, _, _ in found][:6] == [
        "survey.format",
        "survey.id",
        "questions.a.version",
        "questions.a.ask",
        "questions.a.epsilon",
        "questions.a.expires",
    ]
    assert ("questions.b", "must be a table", "write it as [questions.b]") in found


def test_the_ceiling_may_be_met_exactly() -> None:
    assert make_survey(max_epsilon=5).max_epsilon == 5


def test_defaults() -> None:
    table = boolean_table(
        grace=ABSENT, min_crowd=ABSENT, default=ABSENT, owner=ABSENT, epsilon_first=ABSENT
    )
    survey = make_survey({"a": table}, segments=ABSENT)
    question = survey.questions["a"]
    assert (survey.segments, survey.batch, survey.linkable) == ((), "survey", False)
    assert (question.grace, question.min_crowd, question.owner) == (3, 1000, "nobody")
    assert (question.default, question.epsilon_first) == (None, None)


def yes_no(count: int, **changes: object) -> dict[str, object]:
    return {f"q{n}": boolean_table(**changes) for n in range(count)}


def test_ten_yes_no_answers_may_travel_together_and_eleven_may_not() -> None:
    assert make_survey(yes_no(10), max_epsilon=99).fingerprint_bits() == {"day": 10}
    [(key, problem, fix)] = told(lambda: make_survey(yes_no(11), max_epsilon=99))
    assert key == "survey.linkable"
    assert problem.startswith("the day answers of one request carry up to 11.0 bits, more than 10")
    assert fix == 'write batch = "question", or linkable = true to accept it'
    assert make_survey(yes_no(11), max_epsilon=99, linkable=True).linkable
    apart = make_survey(yes_no(11), max_epsilon=99, batch="question")
    assert apart.fingerprint_bits() == {"day": 1}


def test_requests_of_different_periods_are_told_apart() -> None:
    tables = {**yes_no(10), "weekly": boolean_table(period="week")}
    assert make_survey(tables, max_epsilon=99).fingerprint_bits() == {"day": 10, "week": 1}


def test_once_questions_travel_alone() -> None:
    tables = yes_no(20, period="once", default=ABSENT, grace=ABSENT)
    assert make_survey(tables, max_epsilon=99).fingerprint_bits() == {"once": 1}


def test_a_mechanism_may_refuse_its_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    class Picky(GRR):
        @classmethod
        def resolve(
            cls,
            k: int,
            epsilon: Decimal,
            epsilon_first: Decimal | None,
            options: Options = NO_OPTIONS,
        ) -> GRR:
            raise ParameterError("k must be a power of two: 4")

    monkeypatch.setitem(mechanisms.MECHANISMS, "picky", Picky)
    tables = survey_tables({"a": choice_table(mechanism="picky")})
    assert told(lambda: parse_survey(tables)) == [
        ("questions.a.mechanism", "k must be a power of two: 4", "correct it")
    ]


def test_a_response_may_not_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism_fields, "MAX_RESPONSE_BYTES", 511)
    table = choice_table(choices=[str(n) for n in range(4096)], mechanism="oue")
    tables = survey_tables({"a": table}, linkable=True)
    assert told(lambda: parse_survey(tables)) == [
        ("questions.a.mechanism", "responses exceed 511 bytes", "lower k")
    ]


def test_a_tally_may_not_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism_fields, "MAX_CELLS", 3)
    tables = survey_tables({"a": choice_table(mechanism="grr")})
    assert told(lambda: parse_survey(tables)) == [
        ("questions.a.mechanism", "tallies exceed 3 counts", "lower k or its options")
    ]


def test_trailing_zeros_cost_nothing() -> None:
    """A million of them would make fractions of a million digits."""
    table = boolean_table(epsilon=Decimal("2.5" + "0" * 10**6))
    assert make_survey({"a": table}).questions["a"].epsilon.as_tuple().exponent == -1
