"""Sets, texts, pairs and horizons: both forms of a survey, hashes, editions, and answers."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from survey_documents import Document, make_question, make_survey, survey_tables, told
from type_tables import (
    TABLES,
    changing_table,
    joint_table,
    rising_table,
    set_table,
    text_table,
)

from deniable.protocol.diff import diff_surveys
from deniable.protocol.errors import ParameterError
from deniable.protocol.question_fields import parse_question
from deniable.protocol.survey import compile_survey, load_survey, parse_compiled, parse_survey

TOML = """
[survey]
format = 1
id = "acme-editor"
max_epsilon = 10
linkable = true

[questions.set]
version = 1
ask = "Is the dark theme on?"
type = "set"
choices = ["search", "export", "print", "de\u0301ja\u0300 vu"]
max_items = 2
epsilon = 2.0
period = "day"
default = ["print"]
owner = "ux@acme.example"
expires = 2027-06-30

[questions.text]
version = 1
ask = "Is the dark theme on?"
type = "text"
text = { alphabet = "abcdefghijklmnopqrstuvwxyz", max_length = 8, fold = true }
mechanism = "pem"
epsilon = 2.00
period = "day"
default = "  HOME "
owner = "ux@acme.example"
expires = 2027-06-30

[questions.joint]
version = 1
ask = "Is the dark theme on?"
type = "joint"
parts = { theme = ["dark", "light"], plan = ["free", "pro", "team"] }
epsilon = 2
period = "day"
default = { plan = "pro", theme = "dark" }
owner = "ux@acme.example"
expires = 2027-06-30

[questions.changing]
version = 1
ask = "Is the dark theme on?"
type = "boolean"
horizon = { start = 2026-11-30, periods = 8, changes = 2 }
epsilon = 2.0
period = "day"
owner = "ux@acme.example"
expires = 2027-06-30

[questions.rising]
version = 1
ask = "Is the dark theme on?"
type = "number"
range = { low = 0, high = 12.50, steps = 5 }
horizon = { start = 2026-11-30, periods = 8 }
epsilon = 2.0
period = "day"
owner = "ux@acme.example"
expires = 2027-06-30
"""

TABLED = make_survey(
    {name: table() for name, table in TABLES.items()},
    max_epsilon=10,
    linkable=True,
    segments=[],
)


def test_both_forms_give_the_same_survey(tmp_path: Path) -> None:
    (tmp_path / "survey.toml").write_text(TOML, "utf-8")
    written = load_survey(tmp_path / "survey.toml")
    assert written == TABLED
    (tmp_path / "survey.json").write_text(compile_survey(written), "utf-8")
    compiled = load_survey(tmp_path / "survey.json")
    assert compiled == written
    assert compile_survey(compiled) == compile_survey(written)
    for name, question in written.questions.items():
        assert compiled.questions[name].hash == question.hash
        assert parse_question("acme-editor", question.document()) == question


def test_defaults_are_as_they_will_be_answered() -> None:
    asked = TABLED.questions
    assert asked["set"].default == ("print",)
    assert asked["text"].default == "home"
    assert asked["joint"].default == ("dark", "pro")
    for name in ("set", "text", "joint"):
        question = asked[name]
        assert question.encode(question.default) == question.encode(question.document()["default"])


CHANGES: list[tuple[str, Document]] = [
    ("set", {"max_items": 3}),
    ("set", {"default": ["search"]}),
    ("set", {"default": []}),
    ("set", {"choices": ["search", "print", "export", "déjà vu"]}),
    ("text", {"text": {"alphabet": "abcdefghijklmnopqrstuvwxyz", "max_length": 9, "fold": True}}),
    ("text", {"text": {"alphabet": "abcdefghijklmnopqrstuvwxyz", "max_length": 8}}),
    ("text", {"text": {"alphabet": "zyxwvutsrqponmlkjihgfedcba", "max_length": 8, "fold": True}}),
    ("text", {"default": "house"}),
    ("text", {"mechanism": "cms"}),
    ("joint", {"parts": {"theme": ["dark", "light"], "paid": ["free", "pro", "team"]}}),
    ("joint", {"parts": {"plan": ["free", "pro", "team"], "theme": ["dark", "light"]}}),
    ("joint", {"parts": {"theme": ["light", "dark"], "plan": ["free", "pro", "team"]}}),
    ("joint", {"default": ["light", "pro"]}),
    ("changing", {"horizon": {"start": date(2026, 11, 30), "periods": 8, "changes": 3}}),
    ("changing", {"horizon": {"start": date(2026, 11, 30), "periods": 9, "changes": 2}}),
    ("changing", {"horizon": {"start": date(2026, 12, 1), "periods": 8, "changes": 2}}),
    ("rising", {"horizon": {"start": date(2026, 11, 30), "periods": 9}}),
    ("rising", {"horizon": {"start": date(2026, 11, 29), "periods": 8}}),
]


@pytest.mark.parametrize(("name", "changes"), CHANGES, ids=str)
def test_every_field_changes_the_hash(name: str, changes: Document) -> None:
    usual = make_question(TABLES[name]())
    if name in ("text", "joint") and "default" not in changes:
        changes = {"default": usual.document()["default"], **changes}
        if name == "joint":
            changes["default"] = {"theme": "dark", "plan": "pro"}
            if "paid" in changes["parts"]:
                changes["default"] = ["dark", "pro"]
    changed = make_question(TABLES[name](**changes))
    assert changed.hash != usual.hash
    assert changed.privacy_document() != usual.privacy_document()


def edited(name: str, **changes: object) -> Document:
    document: Document = json.loads(compile_survey(TABLED))
    for question in document["questions"]:
        if question["id"] == name:
            question.update(changes)
    return document


WELL: list[dict[str, object]] = [
    {"name": "theme", "choices": ["dark", "light"]},
    {"name": "plan", "choices": ["free", "pro", "team"]},
]

TAMPERED: list[tuple[str, dict[str, object], str]] = [
    ("set", {"max_items": 3}, "mechanism"),
    ("set", {"default": ["search"]}, "hash"),
    ("text", {"text": {"alphabet": "ab", "max_length": 8, "fold": True}, "default": None}, "mech"),
    ("joint", {"choices": ["a", "b"]}, "choices"),
    ("joint", {"choices": []}, "choices"),
    ("joint", {"parts": {"theme": ["dark", "light"]}}, "parts"),
    ("joint", {"parts": [{"name": "a"}, 5]}, "parts"),
    ("joint", {"parts": [{"name": [], "choices": ["a", "b"]}, *WELL[1:]]}, "parts"),
    ("joint", {"parts": [{"name": {}, "choices": ["a", "b"]}, *WELL[1:]]}, "parts"),
    ("joint", {"parts": [{**WELL[0], "more": 1}, *WELL[1:]]}, "parts"),
    ("joint", {"parts": [*WELL, WELL[0]]}, "parts"),
    ("changing", {"horizon": {"start": "2026-11-30", "periods": 8, "changes": 3}}, "mechanism"),
    ("changing", {"horizon": {"start": "2026-12-01", "periods": 8, "changes": 2}}, "hash"),
    ("changing", {"horizon": None}, "mechanism"),
    ("rising", {"horizon": {"start": "2026-11-30", "periods": 9, "changes": None}}, "mechanism"),
]


@pytest.mark.parametrize(("name", "changes", "key"), TAMPERED, ids=str)
def test_a_compiled_question_must_be_what_its_fields_resolve_to(
    name: str, changes: dict[str, object], key: str
) -> None:
    [found] = told(lambda: parse_compiled(edited(name, **changes)))
    assert found[0].startswith(f"questions.{name}.{key}")


# Editions


def difference(name: str, **changes: object) -> list[tuple[str, Decimal, bool]]:
    old = make_survey({"asked": TABLES[name]()}, max_epsilon=16, linkable=True)
    new = make_survey({"asked": TABLES[name](**changes)}, max_epsilon=16, linkable=True)
    return [(one.change, one.new_epsilon, one.refused) for one in diff_surveys(old, new)]


LONGER = {"start": date(2026, 11, 30), "periods": 30, "changes": 2}
SHORTER = {"alphabet": "home", "max_length": 4}
WIDER = {"theme": ["dark", "light"], "plan": ["free", "pro", "team", "school"]}

EDITIONS: list[tuple[str, Document, str]] = [
    ("set", {"max_items": 3}, "max_items: 2 became 3"),
    ("text", {"text": SHORTER}, "text: 8 of 26 letters, folded became 4 of 4 letters"),
    (
        "joint",
        {"parts": WIDER},
        "parts: theme of 2 choices and plan of 3 choices became theme of 2 choices and plan of "
        "4 choices",
    ),
    (
        "joint",
        {"parts": {"theme": ["dark", "bright"], "plan": ["free", "pro", "team"]}},
        "parts changed",
    ),
]


@pytest.mark.parametrize(("name", "changes", "what"), EDITIONS, ids=str)
def test_an_edition_says_what_changed_and_what_it_costs(
    name: str, changes: Document, what: str
) -> None:
    text = f"changed under version 1 ({what}); raise the version"
    assert difference(name, **changes) == [(text, Decimal(0), True)]
    assert difference(name, **changes, version=2) == [
        ("version 1 became 2", Decimal(2), False),
        (what, Decimal(0), False),
    ]


def test_a_longer_horizon_is_a_new_spend_for_all_of_it() -> None:
    assert difference("changing", horizon=LONGER, version=2) == [
        ("version 1 became 2", Decimal(2), False),
        (
            "horizon: 8 periods from 2026-11-30, 2 changes at most became 30 periods from "
            "2026-11-30, 2 changes at most",
            Decimal(0),
            False,
        ),
        ("epsilon is of all periods of the horizon together", Decimal(0), False),
    ]
    [(text, _, refused)] = difference("rising", horizon={**LONGER, "changes": None})
    assert text.startswith("changed under version 1 (horizon: 8 periods from 2026-11-30 became 30")
    assert refused


# Answers


SECRET = "sesame-\ud800"


class Explosive:
    """Raises a value at whoever looks into it."""

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError(SECRET)


def endless() -> Iterator[str]:
    while True:
        yield "print"


SET, JOINT = make_question(set_table()), make_question(joint_table())


@pytest.mark.parametrize(
    "value",
    [
        ["search", "print"],
        ("print", "search"),
        {"search", "print"},
        frozenset({"print", "search"}),
        dict.fromkeys(["search", "print"]).keys(),
        (name for name in ["search", "print", "search"]),
        np.array(["search", "print"]),
        ["search"] * 5000 + ["print"],
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_set_may_come_as_any_collection(value: object) -> None:
    assert SET.encode(value) == 0b101


def test_a_set_is_compared_composed_and_may_be_empty_or_too_large() -> None:
    assert SET.encode(["de\u0301ja\u0300 vu"]) == 0b1000
    assert SET.encode([]) == 0
    assert SET.encode(SET.choices) == 0b1111


@pytest.mark.parametrize(
    "value",
    [
        "print",
        b"print",
        None,
        True,
        7,
        {"print": 1},
        [SECRET],
        ["print", SECRET],
        ["print", None],
        ["print", ["search"]],
        np.array([1, 2]),
        np.array("print"),
        endless(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_set_is_refused_without_being_shown(value: object) -> None:
    with pytest.raises(ParameterError) as refusal:
        SET.encode(value)
    assert SECRET not in str(refusal.value)
    assert str(refusal.value).startswith("asked: ")


@pytest.mark.parametrize(
    "value",
    [
        ["light", "pro"],
        ("light", "pro"),
        {"theme": "light", "plan": "pro"},
        {"plan": "pro", "theme": "light"},
    ],
    ids=str,
)
def test_a_pair_may_come_in_order_or_by_name(value: object) -> None:
    assert JOINT.encode(value) == 4
    assert JOINT.choices[4] == "light / pro"


@pytest.mark.parametrize(
    "value",
    [
        "light / pro",
        "light",
        b"lp",
        None,
        True,
        {"light", "pro"},
        ["light"],
        ["light", "pro", "free"],
        ["pro", "light"],
        ["light", SECRET],
        [SECRET, "pro"],
        ["light", 5],
        {"theme": "light"},
        {"theme": "light", "plan": "pro", SECRET: 1},
        {"theme": "light", SECRET: "pro"},
        {"theme": SECRET, "plan": "pro"},
        endless(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_pair_is_refused_without_being_shown(value: object) -> None:
    with pytest.raises(ParameterError) as refusal:
        JOINT.encode(value)
    assert SECRET not in str(refusal.value)
    assert str(refusal.value).startswith("asked: ")


@pytest.mark.parametrize(
    "question", [SET, JOINT, make_question(text_table())], ids=lambda q: q.type
)
def test_an_object_that_raises_keeps_its_error(question: Any) -> None:
    """The client, not this, keeps such errors from the app and from the log."""
    with pytest.raises((RuntimeError, ParameterError)) as refusal:
        question.encode(Explosive())
    if isinstance(refusal.value, ParameterError):
        assert SECRET not in str(refusal.value)


def test_numbers_and_booleans_of_a_horizon_are_encoded_as_others() -> None:
    assert make_question(changing_table()).encode(True) == 1
    assert make_question(rising_table()).encode(99) == 5


def test_the_documents_are_what_toml_gives() -> None:
    """So that the tables of these tests are those an author could write."""
    document = tomllib.loads(TOML, parse_float=Decimal)
    tables = survey_tables(
        {name: table() for name, table in TABLES.items()}, max_epsilon=10, linkable=True
    )
    assert parse_survey(document).questions == parse_survey(tables).questions
