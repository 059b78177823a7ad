"""Sets, texts, pairs and horizons in a survey: every mistake by its key, and one line for one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

import pytest
from survey_documents import ABSENT, Document, boolean_table, choice_table, survey_tables, told
from type_tables import (
    changing_table,
    joint_table,
    rising_table,
    set_table,
    text_table,
)

from deniable.protocol.survey import parse_survey

Mistake = tuple[dict[str, object], str, str, str]

FORM = {"alphabet": "abc", "max_length": 4, "fold": True}
HORIZON = {"start": date(2026, 11, 30), "periods": 8, "changes": 2}
NO_ROUND = "no mechanism for such a question has a second round"


def form(**changes: object) -> dict[str, object]:
    return {"text": {k: v for k, v in {**FORM, **changes}.items() if v is not ABSENT}}


def horizon(**changes: object) -> dict[str, object]:
    return {"horizon": {k: v for k, v in {**HORIZON, **changes}.items() if v is not ABSENT}}


def parts(**named: object) -> dict[str, object]:
    return {"parts": named}


SETS: list[Mistake] = [
    ({"max_items": ABSENT}, "max_items", "missing", "add it"),
    ({"max_items": 0}, "max_items", "whole number in 1..4", "correct it"),
    ({"max_items": 5}, "max_items", "whole number in 1..4", "correct it"),
    ({"max_items": "2"}, "max_items", "whole number in 1..4", "correct it"),
    ({"max_items": Decimal("2.0")}, "max_items", "whole number in 1..4", "correct it"),
    ({"max_items": True}, "max_items", "whole number in 1..4", "correct it"),
    ({"choices": ABSENT}, "choices", "missing", "add it, like"),
    ({"choices": ["a"]}, "choices", "2..4096 entries: 1", "correct it"),
    ({"choices": "ab"}, "choices", "must be a list of texts", 'like ["a", "b"]'),
    ({"choices": ["a", "a", "b"]}, "choices", "same entry twice", "remove one"),
    ({"choices": ["print", ""]}, "choices[1]", "is empty", "1..200 characters"),
    ({"choices": [str(n) for n in range(4097)]}, "choices", "entries: 4097", "correct it"),
    ({"default": ["scan"]}, "default", "is no answer", "a list of some of the choices"),
    ({"default": "print"}, "default", "is no answer", "a list of some of the choices"),
    ({"default": True}, "default", "is no answer", "a list of some of the choices"),
    ({"default": [1]}, "default", "is no answer", "a list of some of the choices"),
    ({"default": {"print": 1}}, "default", "is no answer", "a list of some of the choices"),
    ({"default": ["search", "export", "print"]}, "default", "more than max_items", "remove some"),
    ({"period": "once", "grace": ABSENT}, "default", "once question has no end", "remove it"),
    ({"text": FORM}, "text", "a set question has none", "remove it"),
    ({"parts": {}}, "parts", "a set question has none", "remove it"),
    ({"range": {"low": 0, "high": 1}}, "range", "a set question has none", "remove it"),
    (horizon(), "horizon", "a set question has none", "remove it"),
    ({"mechanism": "grr"}, "mechanism", "unknown", "use one of auto, privset"),
    ({"mechanism": {"name": "privset", "items": 3}}, "mechanism.items", "unknown key", "name"),
    ({"epsilon_first": 1}, "epsilon_first", NO_ROUND, "remove it"),
    ({"sealed": True}, "sealed", "no mechanism for such a question has that", "remove it"),
    ({"sealed": True, "epsilon_first": 1}, "epsilon_first", NO_ROUND, "remove it"),
    ({"type": "sets"}, "type", "unknown", "use one of boolean, choice, number, set, text, joint"),
]

LETTERS = "must be text of 1..500 letters"
NONE_HAS = "has a letter that no normalised text has"

TEXTS: list[Mistake] = [
    ({"text": ABSENT}, "text", "missing", "write it like text = {"),
    ({"text": "abc"}, "text", "must be a table", "write it like text = {"),
    (form(colour=1), "text.colour", "unknown key", "use one of alphabet, fold, max_length"),
    (form(alphabet=ABSENT), "text.alphabet", LETTERS, "correct it"),
    (form(alphabet=""), "text.alphabet", LETTERS, "correct it"),
    (form(alphabet=5), "text.alphabet", LETTERS, "correct it"),
    (form(alphabet=["a", "b"]), "text.alphabet", LETTERS, "correct it"),
    (form(alphabet="".join(map(chr, range(0x4E00, 0x4FF5)))), "text.alphabet", LETTERS, "correct"),
    (form(alphabet="aa"), "text.alphabet", "same letter twice", "remove one"),
    (form(alphabet="a\u0301"), "text.alphabet", "is not composed", "one character in NFC"),
    (form(alphabet="a\ud800"), "text.alphabet", "cannot be printed", "remove it"),
    (form(alphabet="a\x00"), "text.alphabet", "cannot be printed", "remove it"),
    (form(alphabet="a\u200f"), "text.alphabet", "cannot be printed", "remove it"),
    (form(alphabet="abC"), "text.alphabet", NONE_HAS, "or set fold = false"),
    (form(alphabet="ß"), "text.alphabet", NONE_HAS, "or set fold = false"),
    (form(alphabet="ﬁ"), "text.alphabet", NONE_HAS, "or set fold = false"),
    (form(max_length=0), "text.max_length", "whole number in 1..64", "correct it"),
    (form(max_length=65), "text.max_length", "whole number in 1..64", "correct it"),
    (form(max_length="8"), "text.max_length", "whole number in 1..64", "correct it"),
    (form(max_length=ABSENT), "text.max_length", "missing", "add it"),
    (form(fold="yes"), "text.fold", "must be true or false", "without quotes"),
    ({"default": "Hörsaal"}, "default", "does not fit the form", "write one that fits"),
    ({"default": "x" * 9}, "default", "does not fit the form", "write one that fits"),
    ({"default": ""}, "default", "does not fit the form", "write one that fits"),
    ({"default": 5}, "default", "is no answer", "write a text"),
    ({"default": ["a"]}, "default", "is no answer", "write a text"),
    ({"choices": ["a", "b"]}, "choices", "a text question has none", "remove it"),
    ({"max_items": 2}, "max_items", "a text question has none", "remove it"),
    (horizon(), "horizon", "a text question has none", "remove it"),
    ({"mechanism": "grr"}, "mechanism", "unknown", "use one of auto, cms, hcms, pem"),
    ({"mechanism": {"name": "pem", "length": 3}}, "mechanism.length", "unknown key", "use one of"),
]

TWO = "must be a table of two"
LIKE = "write it like parts = {"

PAIRS: list[Mistake] = [
    ({"parts": ABSENT}, "parts", "missing", LIKE),
    ({"parts": []}, "parts", TWO, LIKE),
    ({"parts": "theme"}, "parts", TWO, LIKE),
    (parts(), "parts", TWO, LIKE),
    (parts(a=["x", "y"]), "parts", TWO, LIKE),
    (parts(a=["x", "y"], b=["x", "y"], c=["x", "y"]), "parts", TWO, LIKE),
    (parts(a=["x", "y"], B=["x", "y"]), "parts.B", "its name must be like", "use a-z"),
    (parts(a=["x"], b=["x", "y"]), "parts.a", "2..2048 entries: 1", "correct it"),
    (parts(a=["x", "x"], b=["x", "y"]), "parts.a", "same entry twice", "remove one"),
    (parts(a="xy", b=["x", "y"]), "parts.a", "must be a list of texts", 'like ["a", "b"]'),
    (parts(a=5, b=["x", "y"]), "parts.a", "must be a list of texts", 'like ["a", "b"]'),
    (parts(a=["x", ""], b=["x", "y"]), "parts.a[1]", "is empty", "1..100 characters"),
    (parts(a=["x" * 101, "y"], b=["x", "y"]), "parts.a[0]", "longer than 100", "1..100"),
    (parts(a=["x", "x / y"], b=["y / z", "z"]), "parts", "look the same", 'leave out " / "'),
    (
        parts(a=[str(n) for n in range(65)], b=[str(n) for n in range(64)]),
        "parts",
        "more than 4096 pairs: 4160",
        "leave out some",
    ),
    ({"default": "dark / pro"}, "default", "is no answer", "one choice of each part"),
    ({"default": ["pro", "dark"]}, "default", "is no answer", "one choice of each part"),
    ({"default": ["dark"]}, "default", "is no answer", "one choice of each part"),
    ({"default": {"theme": "dark"}}, "default", "is no answer", "one choice of each part"),
    ({"default": True}, "default", "is no answer", "one choice of each part"),
    ({"choices": ["a", "b"]}, "choices", "a joint question has none", "remove it"),
    ({"max_items": 1}, "max_items", "a joint question has none", "remove it"),
    (horizon(), "horizon", "a joint question has none", "remove it"),
    ({"mechanism": "privset"}, "mechanism", "unknown", "use one of auto, grr"),
    (
        {"mechanism": {"name": "dbitflip", "bits": 7}},
        "mechanism",
        "at most the 6 values",
        "correct",
    ),
    ({"mechanism": {"name": "dbitflip", "bits": 5}, "parts": ABSENT}, "parts", "missing", LIKE),
]

GOES_ON = "a question with a horizon goes on with the answer before"

CHANGING: list[Mistake] = [
    ({"horizon": 5}, "horizon", "must be a table", "write it like horizon = {"),
    (horizon(changes=8), "horizon.changes", "must be less than periods (8)", "lower it"),
    (horizon(changes=9), "horizon.changes", "must be less than periods (8)", "lower it"),
    (horizon(changes=0), "horizon.changes", "whole number in 1..32", "correct it"),
    (horizon(changes=33, periods=99), "horizon.changes", "whole number in 1..32", "correct it"),
    (horizon(changes="2"), "horizon.changes", "whole number in 1..32", "correct it"),
    (horizon(changes=ABSENT), "horizon.changes", "missing", "add it"),
    (horizon(periods=1), "horizon.periods", "whole number in 2..1024", "correct it"),
    (horizon(periods=1025), "horizon.periods", "whole number in 2..1024", "correct it"),
    (horizon(periods="x"), "horizon.periods", "whole number in 2..1024", "correct it"),
    (horizon(periods=ABSENT), "horizon.periods", "missing", "add it"),
    (horizon(start="soon"), "horizon.start", "must be a date", "write it like"),
    (horizon(start=datetime(2026, 1, 1)), "horizon.start", "must be a date", "like"),  # noqa: DTZ001
    (horizon(start=date(2999, 1, 1)), "horizon.start", "must be a date", "write it like"),
    (horizon(start=ABSENT), "horizon.start", "missing", "add it"),
    (horizon(start=date(2028, 1, 1)), "horizon.start", "after the question expires", "earlier"),
    (horizon(colour=1), "horizon.colour", "unknown key", "use one of changes, periods, start"),
    ({"default": False}, "default", GOES_ON, "remove it"),
    ({"period": "once", "grace": ABSENT}, "horizon", "has one period", "another period"),
    ({"mechanism": "grr"}, "mechanism", "unknown", "use one of auto, trajectory"),
    ({"mechanism": "counter"}, "mechanism", "unknown", "use one of auto, trajectory"),
    (
        {"mechanism": {"name": "trajectory", "changes": 3}},
        "mechanism.changes",
        "unknown key",
        "use one of name",
    ),
    ({"epsilon_first": 1}, "epsilon_first", NO_ROUND, "remove it"),
    ({"sealed": True}, "sealed", "no mechanism for such a question has that", "remove it"),
]

RISING: list[Mistake] = [
    (horizon(), "horizon.changes", "a number only rises", "remove it"),
    (horizon(periods=1, changes=ABSENT), "horizon.periods", "number in 2..1024", "correct it"),
    ({"range": ABSENT}, "range", "missing", "write it like range"),
    ({"default": 0}, "default", GOES_ON, "remove it"),
    ({"mechanism": "1bitmean"}, "mechanism", "unknown", "use one of auto, counter"),
    ({"mechanism": "trajectory"}, "mechanism", "unknown", "use one of auto, counter"),
    ({"epsilon_first": 1}, "epsilon_first", NO_ROUND, "remove it"),
]

OTHERS: list[tuple[Callable[..., Document], Mistake]] = [
    (choice_table, (horizon(), "horizon", "a choice question has none", "remove it")),
    (choice_table, ({"max_items": 2}, "max_items", "a choice question has none", "remove it")),
    (boolean_table, ({"text": FORM}, "text", "a boolean question has none", "remove it")),
    (boolean_table, ({"parts": {}}, "parts", "a boolean question has none", "remove it")),
    (
        choice_table,
        (
            {"choices": ["a"], "period": "day", "default": "a", "mechanism": "oue"},
            "choices",
            "2..4096 entries: 1",
            "correct it",
        ),
    ),
]

MISTAKES = [
    *((set_table, mistake) for mistake in SETS),
    *((text_table, mistake) for mistake in TEXTS),
    *((joint_table, mistake) for mistake in PAIRS),
    *((changing_table, mistake) for mistake in CHANGING),
    *((rising_table, mistake) for mistake in RISING),
    *OTHERS,
]


@pytest.mark.parametrize(
    ("table", "mistake"),
    MISTAKES,
    ids=[f"{table.__name__}-{mistake[1]}-{n}" for n, (table, mistake) in enumerate(MISTAKES)],
)
def test_one_mistake_is_one_line(table: Callable[..., Document], mistake: Mistake) -> None:
    changes, key, problem, fix = mistake
    tables = survey_tables({"asked": table(**changes)}, max_epsilon=16, linkable=True)
    [found] = told(lambda: parse_survey(tables))
    assert found[0] == f"questions.asked.{key}"
    assert problem in found[1]
    assert fix in found[2]


def test_several_mistakes_are_told_at_once() -> None:
    table = joint_table(parts={"a": ["x"], "B": ["x", "x"]}, version=0, epsilon_first=9)
    found = told(lambda: parse_survey(survey_tables({"asked": table}, max_epsilon=16)))
    assert [key.removeprefix("questions.asked.") for key, _, _ in found] == [
        "parts.B",
        "parts.a",
        "parts.B",
        "version",
        "epsilon_first",
    ]


def test_a_horizon_may_begin_in_the_last_period() -> None:
    """2027-06-30 is a Wednesday; its week is asked, and so is a horizon from the Friday on."""
    late = horizon(start=date(2027, 7, 2))
    tables = survey_tables({"asked": changing_table(**late, period="week")}, max_epsilon=16)
    assert parse_survey(tables).questions["asked"].horizon is not None
    tables = survey_tables({"asked": changing_table(**late)}, max_epsilon=16)
    [found] = told(lambda: parse_survey(tables))
    assert found[0] == "questions.asked.horizon.start"
