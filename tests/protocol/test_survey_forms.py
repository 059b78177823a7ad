"""Surveys: the two forms agree, and neither a file nor a compiled survey is trusted."""

from __future__ import annotations

import decimal
import json
from pathlib import Path
from typing import Any

import pytest
from survey_documents import ABSENT, Document, make_survey, told

from deniable.protocol.question_fields import parse_question
from deniable.protocol.survey import compile_survey, load_survey, parse_compiled

TOML = """
[survey]
format = 1
id = "acme-editor"
max_epsilon = 8.00
segments = ["stable", "beta"]

[questions.dark_mode]
version = 1
ask = "Is the dark theme on?"
type = "boolean"
epsilon = 2.0
epsilon_first = 1.0
period = "day"
grace = 3
min_crowd = 1000
default = false
owner = "ux@acme.example"
expires = 2027-06-30

[questions.health]
version = 2
ask = "How do you rate your health?"
type = "choice"
choices = ["poor", "fair", "good", "tre\u0300s bon"]
epsilon = 3
period = "once"
expires = 2027-06-30
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_both_forms_give_the_same_survey(tmp_path: Path) -> None:
    written = load_survey(write(tmp_path / "survey.toml", TOML))
    assert written == make_survey()
    compiled = load_survey(write(tmp_path / "survey.json", compile_survey(written)))
    assert compiled == written
    assert list(compiled.questions) == ["dark_mode", "health"]
    for name, question in written.questions.items():
        assert compiled.questions[name].hash == question.hash
        assert parse_question("acme-editor", question.document()) == question
    assert compile_survey(compiled) == compile_survey(written)


def test_texts_are_composed(tmp_path: Path) -> None:
    survey = load_survey(write(tmp_path / "survey.toml", TOML))
    assert survey.questions["health"].choices[3] == "tr\u00e8s bon"


def test_a_compiled_survey_is_plain_json() -> None:
    document = json.loads(compile_survey(make_survey()))
    assert document["max_epsilon"] == "8"
    dark = document["questions"][0]
    assert dark["id"] == "dark_mode"
    assert dark["expires"] == "2027-06-30"
    assert (dark["epsilon"], dark["epsilon_first"]) == ("2", "1")
    assert dark["mechanism"] == {
        "name": "grr",
        "k": 2,
        "derivation": "deniable/1",
        "options": {},
        "shape": {"kind": "symbol", "width": 2, "rows": 1, "weight": None},
        "thresholds": {"keep": "16247838278329192790", "keep_again": "14819894059366668260"},
    }


def compiled_with(**changes: object) -> Document:
    document: Document = json.loads(compile_survey(make_survey()))
    head = {key: value for key, value in changes.items() if key in document}
    document.update(head)
    dark = document["questions"][0]
    dark.update({key: value for key, value in changes.items() if key not in head})
    for key in [key for key, value in dark.items() if value is ABSENT]:
        del dark[key]
    return document


def mechanism_with(**changes: object) -> Document:
    mechanism: Document = compiled_with()["questions"][0]["mechanism"]
    return {**mechanism, **changes}


AGAIN = "compile the survey again"
KEEP_MORE = {"keep": "16247838278329192791", "keep_again": "14819894059366668260"}

TAMPERING: list[tuple[dict[str, Any], str, str]] = [
    ({"hash": "0" * 64}, "hash", "does not match the question"),
    ({"hash": ABSENT}, "hash", "does not match the question"),
    ({"hash": None}, "hash", "does not match the question"),
    ({"ask": "Is it?"}, "hash", "does not match the question"),
    ({"version": 2}, "hash", "does not match the question"),
    ({"period": "week"}, "hash", "does not match the question"),
    ({"default": True}, "hash", "does not match the question"),
    ({"epsilon": "3"}, "mechanism", "does not match the epsilons"),
    ({"epsilon_first": None}, "mechanism", "does not match the epsilons"),
    ({"mechanism": ABSENT}, "mechanism", "names none that is known"),
    ({"mechanism": "grr"}, "mechanism", "names none that is known"),
    ({"mechanism": mechanism_with(name="nonesuch")}, "mechanism", "names none that is known"),
    ({"mechanism": mechanism_with(name="auto")}, "mechanism", "names none that is known"),
    ({"mechanism": mechanism_with(name=16**5000)}, "mechanism", "names none that is known"),
    ({"mechanism": mechanism_with(name="oue")}, "mechanism", "does not match the epsilons"),
    ({"mechanism": mechanism_with(k=3)}, "mechanism", "does not match the epsilons"),
    ({"mechanism": mechanism_with(derivation="mine")}, "mechanism", "does not match the"),
    ({"mechanism": mechanism_with(thresholds=KEEP_MORE)}, "mechanism", "does not match the"),
    ({"mechanism": mechanism_with(more=1)}, "mechanism.more", "unknown key"),
]


@pytest.mark.parametrize(
    ("changes", "key", "problem"),
    TAMPERING,
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_a_compiled_survey_must_be_what_its_fields_resolve_to(
    changes: dict[str, Any], key: str, problem: str
) -> None:
    [found] = told(lambda: parse_compiled(compiled_with(**changes)))
    assert found[0] == f"questions.dark_mode.{key}"
    assert problem in found[1]
    [alone] = told(lambda: parse_question("acme-editor", compiled_with(**changes)["questions"][0]))
    assert alone[0] == f"question.{key}"


def test_what_reveals_nothing_may_differ_in_a_compiled_survey() -> None:
    changed = compiled_with(min_crowd=5, grace=9, owner="me", expires="2030-01-01")
    survey = parse_compiled(changed)
    assert survey.questions["dark_mode"].hash == make_survey().questions["dark_mode"].hash


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ([], "document"),
        ({**compiled_with(), "questions": {}}, "questions"),
        ({**compiled_with(), "questions": [1]}, "questions."),
        ({**compiled_with(), "questions": [{}]}, "questions."),
        (compiled_with(id="\ud800"), "id"),
        ({**compiled_with(), "questions": compiled_with()["questions"] * 2}, "questions.health.id"),
    ],
    ids=lambda _: "",
)
def test_mistakes_in_a_compiled_survey(document: object, key: str) -> None:
    assert key in [found[0] for found in told(lambda: parse_compiled(document))]


def test_a_question_needs_a_survey_that_can_be_named() -> None:
    document = make_survey().questions["health"].document()
    for survey in ("", "Acme", "\ud800"):
        assert told(lambda s=survey: parse_question(s, document))[0][0] == "question.survey"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("survey.toml", b"[survey", "is not valid TOML: "),
        ("survey.toml", b"a = 1e99999999999999999999", "is not valid TOML: "),
        ("survey.toml", b"a = " + b"[" * 5000, "is not valid TOML: "),
        ("survey.toml", b"a = " + b"9" * 5000, "is not valid TOML: "),
        ("survey.toml", b"a = '\xff'", "is not UTF-8"),
        ("survey.json", b"[survey]", "is not valid JSON: "),
        ("survey.json", b"[" * 100000, "is not valid JSON: "),
        ("survey.json", b'{"max_epsilon": 1e99999999999999999999}', "is not valid JSON: "),
        ("survey.json", b"9" * 5000, "is not valid JSON: "),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    [found] = told(lambda: load_survey(path))
    assert found[0] == str(path)
    assert found[1].startswith(problem)


def test_a_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    found = told(lambda: load_survey(path))
    assert found == [(str(path), "cannot be read (No such file or directory)", "check the path")]


def test_the_host_applications_decimal_context_decides_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "survey.toml", TOML.replace("2.0", "2.000000000000000001"))
    expected = load_survey(path)
    hostile = decimal.Context(prec=3, rounding=decimal.ROUND_UP, Emin=-3, Emax=3)
    hostile.traps[decimal.Inexact] = hostile.traps[decimal.Rounded] = True
    with decimal.localcontext(hostile):
        found = load_survey(path)
        assert compile_survey(found) == compile_survey(expected)
    assert found == expected
