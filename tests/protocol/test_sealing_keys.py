"""``sealed`` and ``[[survey.sealing_keys]]``: what is read, refused, and told of a change."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from survey_documents import ABSENT, boolean_table, choice_table, survey_tables, told

from deniable.protocol.diff import diff_surveys
from deniable.protocol.sealing import SealingKey, encode_base64url
from deniable.protocol.survey import (
    Survey,
    compile_survey,
    load_survey,
    parse_compiled,
    parse_survey,
)

SEALED = {"dark_mode": boolean_table(sealed=True)}


def table(name: str = "k1", state: object = "active", fill: int = 7, **changes: object) -> Any:
    public = encode_base64url(bytes([fill] * 32))
    found = {"id": name, "suite": "x25519", "public": public, "state": state, **changes}
    return {key: value for key, value in found.items() if value is not ABSENT}


def survey(*keys: Any, questions: Any = SEALED) -> Survey:
    return parse_survey(survey_tables(questions, sealing_keys=list(keys)))


def test_keys_are_read_from_both_forms(tmp_path: Path) -> None:
    hybrid = encode_base64url(bytes([9] * 1216))
    written = survey(
        table(), table("k2", "pending", suite="mlkem768-x25519", public=hybrid),
        table("k0", "expired", 3), table("k00", "expired", 4),
    )  # fmt: skip
    assert written.sealing_keys[:2] == (
        SealingKey("k1", "x25519", bytes([7] * 32), "active"),
        SealingKey("k2", "mlkem768-x25519", bytes([9] * 1216), "pending"),
    )
    assert written.active_key == written.sealing_keys[0]
    assert [key.live for key in written.sealing_keys] == [True, True, False, False]
    path = tmp_path / "survey.json"
    path.write_text(compile_survey(written), "utf-8")
    assert load_survey(path) == written


def test_a_survey_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    lines = [f'{name} = "{value}"' for name, value in table().items()]
    path.write_text(
        '[survey]\nformat = 1\nid = "acme"\nmax_epsilon = 2\n\n[[survey.sealing_keys]]\n'
        + "\n".join(lines) +
        '\n\n[questions.well]\nversion = 1\nask = "Well?"\ntype = "boolean"\nepsilon = 2\n'
        'epsilon_first = 1\nperiod = "day"\nexpires = 2027-06-30\nsealed = true\n', "utf-8",
    )  # fmt: skip
    read = load_survey(path)
    assert [key.id for key in read.sealing_keys] == ["k1"]
    assert read.questions["well"].sealed


def test_a_survey_compiled_before_there_were_keys_is_read() -> None:
    document = json.loads(compile_survey(parse_survey(survey_tables())), parse_float=Decimal)
    assert document.pop("sealing_keys") == []
    for question in document["questions"]:
        assert question.pop("sealed") is False
    assert parse_compiled(document) == parse_survey(survey_tables())


def test_keys_without_a_sealed_question_are_fine() -> None:
    assert survey(table(state="pending"), questions=None).active_key is None


KEY = "survey.sealing_keys"


@pytest.mark.parametrize(
    ("keys", "where", "problem"),
    [
        ([], KEY, "none is active, and dark_mode must be sealed"),
        ([table(state="pending")], KEY, "none is active, and dark_mode must be sealed"),
        ([table(), table("k2", fill=8)], KEY, "k1, k2 are all active"),
        (
            [table(), table("k2", "pending", 8), table("k3", "pending", 9)],
            KEY,
            "k2, k3 are all pending",
        ),
        ([table(), table("k1", "expired", 8)], KEY, "k1 is there twice"),
        ([table(), table("k2", "expired")], KEY, "two keys are the same"),
        ([table("K 1")], f"{KEY}[0].id", "must be like k2027"),
        ([table(id=ABSENT)], f"{KEY}[0].id", "missing"),
        ([table(suite="rsa")], f"{KEY}[0].suite", "unknown"),
        ([table(suite=ABSENT)], f"{KEY}[0].suite", "missing"),
        ([table(state="retired")], f"{KEY}[0].state", "unknown"),
        ([table(state=ABSENT)], f"{KEY}[0].state", "missing"),
        ([table(public=ABSENT)], f"{KEY}[0].public", "missing"),
        ([table(public=3)], f"{KEY}[0].public", "must be text"),
        ([table(public="AAAA")], f"{KEY}[0].public", "must be the 32 bytes"),
        ([table(public="A" * 43 + "=")], f"{KEY}[0].public", "must be the 32 bytes"),
        ([table(public="A" * 42 + "B")], f"{KEY}[0].public", "must be the 32 bytes"),
        ([table(suite="mlkem768-x25519")], f"{KEY}[0].public", "must be the 1216 bytes"),
        ([table(private="x")], f"{KEY}[0].private", "unknown key"),
        ([table(), 3], f"{KEY}[1]", "must be a table"),
        ("k1", KEY, "must be at most 64 tables"),
        ({}, KEY, "must be at most 64 tables"),
        ([table()] * 65, KEY, "must be at most 64 tables"),
    ],
)
def test_every_mistake_is_named(keys: Any, where: str, problem: str) -> None:
    found = told(lambda: parse_survey(survey_tables(SEALED, sealing_keys=keys)))
    assert any(key == where and text.startswith(problem) for key, text, _ in found), found


def test_a_compiled_survey_names_its_keys_by_their_place() -> None:
    document = survey(table()).document()
    document["sealing_keys"][0]["state"] = "x"
    assert [key for key, _, _ in told(lambda: parse_compiled(document))] == [
        "sealing_keys[0].state"
    ]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"epsilon_first": ABSENT}, "questions.dark_mode.sealed"),
        ({"sealed": "yes"}, "questions.dark_mode.sealed"),
        ({"sealed": 1}, "questions.dark_mode.sealed"),
    ],
)
def test_a_sealed_question_needs_a_second_round(changes: dict[str, Any], key: str) -> None:
    questions = {"dark_mode": boolean_table(**{"sealed": True, **changes})}
    found = told(lambda: survey(table(), questions=questions))
    assert [where for where, _, _ in found] == [key]


def changes(old: Survey, new: Survey) -> list[tuple[str, str, bool]]:
    return [(one.question, one.change, one.refused) for one in diff_surveys(old, new)]


def test_sealing_is_a_new_version() -> None:
    plain, sealed = boolean_table(), boolean_table(sealed=True)
    newer = boolean_table(sealed=True, version=2)
    before = survey(table(), questions={"a": plain})
    assert changes(before, survey(table(), questions={"a": sealed})) == [
        ("a", "changed under version 1 (answers are sealed now); raise the version", True)
    ]
    assert changes(before, survey(table(), questions={"a": newer})) == [
        ("a", "version 1 became 2", False),
        ("a", "answers are sealed now", False),
    ]
    back = boolean_table(version=3)
    told_back = changes(
        survey(table(), questions={"a": newer}), survey(table(), questions={"a": back})
    )
    assert told_back[1] == ("a", "answers are no longer sealed", False)


def test_a_rotation_is_told_step_by_step() -> None:
    one = survey(table())
    two = survey(table(), table("k2", "pending", 8))
    three = survey(table(state="expired"), table("k2", "active", 8))
    four = survey(table("k2", "active", 8))
    assert changes(one, two) == [("", "sealing key k2: added, pending", False)]
    assert changes(two, three) == [
        ("", "sealing key k1: active became expired: reports sealed for it are refused from now on",
         False),
        ("", "sealing key k2: pending became active", False),
    ]  # fmt: skip
    assert changes(three, four) == [("", "sealing key k1: removed", False)]
    assert changes(one, four)[1] == (
        "", "sealing key k1: removed: reports sealed for it are refused from now on", False,
    )  # fmt: skip
    assert changes(one, survey(table(fill=9))) == [
        ("", "sealing key k1: became another key; give that one another id", False)
    ]


def test_keys_are_no_part_of_the_hash() -> None:
    hashes = {
        survey(table(fill=fill), questions=questions).questions["dark_mode"].hash
        for fill in (1, 2)
        for questions in (SEALED, {**SEALED, "health": choice_table()})
    }
    assert len(hashes) == 1
