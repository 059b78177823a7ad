"""Number questions: read, refused, compiled, hashed and tallied."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from survey_documents import ABSENT, Document, boolean_table, choice_table, make_survey, told

from deniable.protocol.errors import DocumentError, ParameterError
from deniable.protocol.mechanisms import build, named
from deniable.protocol.question import Question
from deniable.protocol.ranges import Range
from deniable.protocol.survey import compile_survey, load_survey, parse_compiled, parse_survey
from deniable.protocol.tally import Tally, parse_tally


def number_table(**changes: object) -> Document:
    """A valid number question, with changes."""
    table = {
        "version": 1,
        "ask": "How often was the app opened?",
        "type": "number",
        "range": {"low": 0, "high": 100, "steps": 50},
        "epsilon": 2,
        "period": "day",
        "default": 0,
        "expires": date(2027, 6, 30),
    }
    return {key: value for key, value in {**table, **changes}.items() if value is not ABSENT}


def make_number(**changes: object) -> Question:
    survey = make_survey({"visits": number_table(**changes)}, linkable=True, max_epsilon=16)
    return survey.questions["visits"]


def span(low: object = 0, high: object = 100, steps: object = 50, **more: object) -> Document:
    table = {"low": low, "high": high, "steps": steps, **more}
    return {key: value for key, value in table.items() if value is not ABSENT}


def test_a_number_question_has_a_grid_for_a_domain() -> None:
    question = make_number()
    assert question.range == Range(Decimal(0), Decimal(100), 50)
    assert [question.mechanism.k, question.mechanism.asks] == [51, "number"]
    assert [question.choices, question.values] == [(), ()]
    assert [question.encode(value) for value in (0, 1, 2.99, Decimal("3"), 1e9)] == [0, 1, 1, 2, 50]
    assert question.default == Decimal(0)


@pytest.mark.parametrize("name", named("number"))
def test_every_mechanism_for_numbers_is_asked_by_name(name: str) -> None:
    for mechanism in (name, {"name": name}):
        question = make_number(mechanism=mechanism)
        assert question.mechanism == build(name, 51, Decimal(2))


MISTAKES: list[tuple[dict[str, object], str, str, str]] = [
    ({"range": ABSENT}, "range", "missing", "range = { low = 0, high = 100 }"),
    ({"range": None}, "range", "missing", "range = { low = 0, high = 100 }"),
    ({"range": [0, 100]}, "range", "must be a table", "range = { low = 0, high = 100 }"),
    ({"range": "0..100"}, "range", "must be a table", "range = { low = 0, high = 100 }"),
    ({"range": span(low=ABSENT)}, "range.low", "missing", "add it"),
    ({"range": span(high=ABSENT)}, "range.high", "missing", "add it"),
    ({"range": span(step=1)}, "range.step", "unknown key", "use one of high, low, steps"),
    ({"range": span(100, 0)}, "range.high", "must be more than low (100)", "turn them round"),
    ({"range": span(5, 5)}, "range.high", "must be more than low (5)", "raise it"),
    ({"range": span(low=True)}, "range.low", "must be a number within", "correct it"),
    ({"range": span(low="a")}, "range.low", "must be a number within", "correct it"),
    ({"range": span(low="1e3")}, "range.low", "must be a number within", "correct it"),
    ({"range": span(high=1.5)}, "range.high", "must be a number within", "correct it"),
    ({"range": span(high=Decimal("NaN"))}, "range.high", "must be a number within", "correct it"),
    ({"range": span(high=Decimal("Infinity"))}, "range.high", "must be a number", "correct it"),
    ({"range": span(high=Decimal("1e16"))}, "range.high", "must be a number", "correct it"),
    ({"range": span(high=16**5000)}, "range.high", "must be a number within", "correct it"),
    ({"range": span(low=-(16**5000))}, "range.low", "must be a number within", "correct it"),
    ({"range": span(low=Decimal("1e-19"))}, "range.low", "more than 18 decimal", "round it"),
    ({"range": span(low=Decimal("1e-999999999"))}, "range.low", "more than 18", "round it"),
    ({"range": span(steps=0)}, "range.steps", "whole number in 1..4095", "correct it"),
    ({"range": span(steps=4096)}, "range.steps", "whole number in 1..4095", "correct it"),
    ({"range": span(steps="x")}, "range.steps", "whole number in 1..4095", "correct it"),
    ({"range": span(steps=True)}, "range.steps", "whole number in 1..4095", "correct it"),
    ({"range": span(steps=Decimal(7))}, "range.steps", "whole number in 1..4095", "correct it"),
    ({"choices": ["a", "b"]}, "choices", "a number question has none", "remove it"),
    ({"mechanism": "grr"}, "mechanism", "unknown", "use one of auto, 1bitmean, piecewise,"),
    ({"mechanism": 7}, "mechanism", "unknown", "use one of auto, 1bitmean"),
    ({"mechanism": {}}, "mechanism.name", "unknown", "use one of 1bitmean, piecewise,"),
    ({"mechanism": {"name": "grr"}}, "mechanism.name", "unknown", "use one of 1bitmean"),
    ({"mechanism": {"name": ["1bitmean"]}}, "mechanism.name", "unknown", "use one of 1bitmean"),
    ({"mechanism": {"name": "piecewise", "g": 3}}, "mechanism.g", "unknown key", "one of name"),
    (
        {"mechanism": {"name": "piecewise", "\x1b[2J": 16**5000}},
        "mechanism.\\x1b[2J",
        "unknown key",
        "use one of name",
    ),
    ({"mechanism": "piecewise", "epsilon_first": 1}, "mechanism", "no second round", "correct it"),
    ({"default": 101}, "default", "is outside the range", "write a number inside it"),
    ({"default": Decimal("-0.1")}, "default", "is outside the range", "write a number inside it"),
    ({"default": True}, "default", "must be a number within", "correct it"),
    ({"default": "often"}, "default", "must be a number within", "correct it"),
    ({"default": Decimal("NaN")}, "default", "must be a number within", "correct it"),
    ({"default": 16**5000}, "default", "must be a number within", "correct it"),
    ({"default": Decimal("1e-19")}, "default", "more than 18 decimal places", "round it"),
    ({"period": "once"}, "default", "a once question has no end", "remove it"),
]


def mistake(changes: dict[str, object], number: dict[str, Any] | None = None) -> list[str]:
    tables = {"visits": number_table(**changes) if number is None else {**number, **changes}}
    document = {"survey": {"format": 1, "id": "acme-editor", "max_epsilon": 8}, "questions": tables}
    [found] = told(lambda: parse_survey(document))
    return list(found)


@pytest.mark.parametrize(("changes", "key", "problem", "fix"), MISTAKES, ids=lambda _: "")
def test_mistakes_in_a_number_question(
    changes: dict[str, object], key: str, problem: str, fix: str
) -> None:
    """One mistake is told once, where it is; nothing else is found wrong on its account."""
    found = mistake(changes)
    assert found[0] == f"questions.visits.{key}"
    assert problem in found[1]
    assert fix in found[2]


@pytest.mark.parametrize("kind", [boolean_table, choice_table])
def test_the_others_have_no_range(kind: Callable[..., Document]) -> None:
    found = mistake({"range": span()}, kind())
    assert found[:2] == ["questions.visits.range", f"a {kind()['type']} question has none"]
    for mechanism in ("1bitmean", "piecewise", "square-wave"):
        found = mistake({"mechanism": mechanism}, kind(epsilon_first=ABSENT))
        assert found[:2] == ["questions.visits.mechanism", "unknown"]
        assert found[2].startswith("use one of auto, grr, sue, oue")
        found = mistake({"mechanism": {"name": mechanism}}, kind())
        assert found[:2] == ["questions.visits.mechanism.name", "unknown"]


def test_a_mistaken_range_is_told_beside_the_others() -> None:
    """A default is not called outside of a range that cannot be read."""
    table = number_table(range=span(9, 3, 0), epsilon=0, default=50)
    document = {"survey": {"format": 1, "id": "a", "max_epsilon": 8}, "questions": {"v": table}}
    assert {found[0] for found in told(lambda: parse_survey(document))} == {
        "questions.v.range.high",
        "questions.v.range.steps",
        "questions.v.epsilon",
    }


def test_options_of_a_mechanism_are_read_from_its_table() -> None:
    """Of every mechanism that has some: what is in its bounds is taken, what is not is told."""
    seen = 0
    for name in named("choice"):
        whole = build(name, 4, Decimal(2))
        for option, allowed in whole.options.items():
            seen += 1
            other = whole.chosen[option] + (1 if whole.chosen[option] + 1 in (2, 3) else -1)
            table = choice_table(mechanism={"name": name, option: other})
            question = make_survey({"visits": table}, linkable=True).questions["visits"]
            assert question.mechanism == build(name, 4, Decimal(3), None, {option: other})
            assert question.mechanism.chosen[option] == other
            for wrong in (allowed.start - 1, allowed.stop, "2", True, Decimal(2), 16**5000):
                found = mistake({"mechanism": {"name": name, option: wrong}}, choice_table())
                bounds = f"must be a whole number in {allowed.start}..{allowed.stop - 1}"
                assert found == [f"questions.visits.mechanism.{option}", bounds, "correct it"]
    assert seen > 0


@pytest.mark.parametrize(
    ("ends", "document"),
    [
        ((0, 100), ("0", "100")),
        ((Decimal("0.0"), Decimal("1e2")), ("0", "100")),
        (("-0.50", "100.000"), ("-0.5", "100")),
        ((Decimal("-1e15"), Decimal("1E+15")), ("-1000000000000000", "1000000000000000")),
        ((Decimal("-0"), Decimal("1e-18")), ("0", "0.000000000000000001")),
        ((Decimal("0e-999999999"), Decimal(1)), ("0", "1")),
        ((Decimal("0e999999999"), Decimal(1)), ("0", "1")),
    ],
)
def test_ends_are_the_decimals_that_were_written(
    ends: tuple[object, object], document: tuple[str, str]
) -> None:
    question = make_number(range=span(*ends), default=ABSENT)
    assert question.document()["range"] == dict(zip(("low", "high"), document, strict=True)) | {
        "steps": 50
    }
    assert question.encode(Decimal(-(10**15))) == 0
    assert question.encode(Decimal(10**15)) == 50


def test_trailing_zeros_cost_no_time() -> None:
    """A fraction of a million digits takes half a minute to reduce."""
    begun = time.perf_counter()
    question = make_number(range=span(Decimal("1." + "0" * 10**6), 2), default=ABSENT)
    assert question.encode(Decimal("1.5")) == 25
    assert time.perf_counter() - begun < 5


def test_the_hash_covers_the_range_and_the_default() -> None:
    one = make_number()
    assert make_number(range=span("0", Decimal("1e2"))).hash == one.hash
    assert make_number(default=Decimal("0.0")).hash == one.hash
    others = [
        make_number(range=span(high=101)),
        make_number(range=span(low=Decimal("-0.1"))),
        make_number(range=span(steps=51)),
        make_number(default=1),
        make_number(default=ABSENT),
        make_number(mechanism="1bitmean"),
        make_number(mechanism="piecewise"),
        make_number(mechanism="square-wave"),
    ]
    assert len({each.hash for each in others} | {one.hash}) >= len(others)
    assert all(each.hash != one.hash for each in others[:5])


TOML = """
[survey]
format = 1
id = "acme-editor"
max_epsilon = 8.0
linkable = true

[questions.visits]
version = 1
ask = "How often was the app opened?"
type = "number"
range = { low = -0.5, high = 99.50, steps = 1000 }
mechanism = { name = "square-wave" }
epsilon = 2.0
period = "week"
default = 12.50
expires = 2027-06-30

[questions.load]
version = 1
ask = "What was the load?"
type = "number"
range = { low = 0, high = 1, steps = 10 }
mechanism = "1bitmean"
epsilon = 2.0
epsilon_first = 1.0
period = "week"
expires = 2027-06-30
"""


def test_toml_and_compiled_json_are_one_survey(tmp_path: Path) -> None:
    written, compiled = tmp_path / "survey.toml", tmp_path / "survey.json"
    written.write_text(TOML, encoding="utf-8")
    survey = load_survey(written)
    compiled.write_text(compile_survey(survey), encoding="utf-8")
    again = load_survey(compiled)
    assert again == survey
    assert compile_survey(again) == compile_survey(survey)
    for name, question in survey.questions.items():
        assert again.questions[name].hash == question.hash
    visits = again.questions["visits"]
    assert [visits.default, visits.mechanism.name] == [Decimal("12.5"), "square-wave"]
    assert visits.document()["range"] == {"low": "-0.5", "high": "99.5", "steps": 1000}


def test_steps_may_be_left_out() -> None:
    question = make_number(range=span(steps=ABSENT), mechanism="1bitmean")
    assert question.range is not None
    assert question.mechanism.k == question.range.steps + 1
    assert question.document()["range"]["steps"] == question.range.steps


def compiled(**changes: object) -> dict[str, Any]:
    survey = make_survey({"visits": number_table(**changes)}, linkable=True)
    document: dict[str, Any] = json.loads(compile_survey(survey))
    return document


def edited(path: str, value: object) -> dict[str, Any]:
    document = compiled(mechanism="piecewise")
    table: Any = document["questions"][0]
    *parents, last = path.split(".")
    for key in parents:
        table = table[key]
    table[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("range.low", "-1", "hash: does not match the question"),
        ("range.high", "99", "hash: does not match the question"),
        ("range.steps", 49, "mechanism: does not match the epsilons"),
        ("range.steps", 51, "mechanism: does not match the epsilons"),
        ("range.steps", "50", "range.steps: must be a whole number"),
        ("range", None, "range: missing"),
        ("range.more", 1, "range.more: unknown key"),
        ("default", "1", "hash: does not match the question"),
        ("default", "101", "default: is outside the range"),
        ("mechanism.name", "square-wave", "mechanism: does not match the epsilons"),
        ("mechanism.name", "grr", "mechanism: names none that is known here"),
        ("mechanism.shape.width", 100, "mechanism: does not match the epsilons"),
        ("mechanism.thresholds.inside", "18446744073709551615", "mechanism: does not match"),
        ("mechanism.options", {"g": 2}, "mechanism.options.g: unknown key"),
        ("mechanism.options", [], "mechanism.options: must be a table"),
        ("mechanism.more", 1, "mechanism.more: unknown key"),
        ("mechanism", "piecewise", "mechanism: names none that is known here"),
        ("choices", ["a"], "choices: a number question has none"),
    ],
)
def test_an_edited_question_is_refused(path: str, value: object, problem: str) -> None:
    document = edited(path, value)
    parse_compiled(compiled(mechanism="piecewise"))
    lines = [f"{key}: {what}" for key, what, _ in told(lambda: parse_compiled(document))]
    assert any(line.startswith(f"questions.visits.{problem}") for line in lines), lines


@pytest.mark.parametrize("name", named("number"))
def test_tallies_of_numbers_round_trip(name: str) -> None:
    question = make_number(mechanism=name, range=span("-0.25", "1.75", 3), default=1)
    cells = tuple(range(question.mechanism.shape.cells))
    tally = Tally(question, "2026-11-30", None, sum(cells), cells)
    document = json.loads(json.dumps(tally.document()))
    assert parse_tally(document) == tally
    assert parse_tally(document).question.range == Range(Decimal("-0.25"), Decimal("1.75"), 3)
    with pytest.raises(DocumentError, match="cells must be a list"):
        parse_tally({**document, "cells": [*cells, 1], "n": sum(cells) + 1})
    document["question"]["range"]["high"] = "2"
    with pytest.raises(DocumentError, match="does not match the question"):
        parse_tally(document)


def test_no_message_holds_the_number() -> None:
    question = make_number()
    for value in ("48151", float("nan"), None, [48151], 48151j):
        with pytest.raises(ParameterError, match=r"^visits: the value must be a number") as refusal:
            question.encode(value)
        assert "48151" not in str(refusal.value)
