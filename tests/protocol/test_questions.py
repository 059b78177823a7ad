"""Questions: the privacy hash covers what reveals and nothing else; answers become symbols."""

from __future__ import annotations

import hashlib
import json
import traceback
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from survey_documents import ABSENT, boolean_table, choice_table, make_question, make_survey

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import build
from deniable.protocol.periods import ONCE, parse_period
from deniable.protocol.question import Question, canonical_json, mechanism_document

DARK = make_survey().questions["dark_mode"]
HEALTH = make_survey().questions["health"]

# Written by hand from the definition: keys sorted, no spaces, UTF-8, numbers as text.
DARK_TEXT = (
    '{"ask":"Is the dark theme on?","choices":[],"default":false,"epsilon":"2",'
    '"epsilon_first":"1","mechanism":{"derivation":"deniable/1","k":2,"name":"grr",'
    '"options":{},"shape":{"kind":"symbol","rows":1,"weight":null,"width":2},"thresholds":'
    '{"keep":"16247838278329192790","keep_again":"14819894059366668260"}},"period":"day",'
    '"question":"dark_mode","range":null,"survey":"acme-editor","type":"boolean","version":"1"}'
)
HEALTH_TEXT = (
    '{"ask":"How do you rate your health?","choices":["poor","fair","good","tr\u00e8s bon"],'
    '"default":null,"epsilon":"3","epsilon_first":null,"mechanism":{"derivation":"deniable/1",'
    '"k":4,"name":"grr","options":{},"shape":{"kind":"symbol","rows":1,"weight":null,"width":4},'
    '"thresholds":'
    '{"keep":"16049562132251495404"}},"period":"once","question":"health","range":null,'
    '"survey":"acme-editor","type":"choice","version":"2"}'
)


@pytest.mark.parametrize(
    ("question", "text", "pinned"),
    [
        (DARK, DARK_TEXT, "9625a3d27875e6aa776357ee82be10d6524d310f546068f93207300e1ccf5d0a"),
        (HEALTH, HEALTH_TEXT, "0ab25790c661bd7ba45200d859d9e38e01b13a2ada39b7fd218ac09ad61a1d2b"),
    ],
    ids=["boolean", "choice"],
)
def test_the_hash_is_frozen(question: Question, text: str, pinned: str) -> None:
    assert hashlib.sha256(text.encode("utf-8")).hexdigest() == question.hash
    assert question.hash == pinned
    assert question.wire_hash == pinned[:32]


def test_canonical_json_is_one_text() -> None:
    document = {"b": [1, None, True], "a": {"\u00e9": "\u2028", "B": 'say "x"'}}
    assert (
        canonical_json(document) == '{"a":{"B":"say \\"x\\"","\u00e9":"\u2028"},"b":[1,null,true]}'
    )


COVERED: list[dict[str, object]] = [
    {"version": 2},
    {"ask": "Is the dark theme off?"},
    {"ask": "is the dark theme on?"},
    {"type": "choice", "choices": ["no", "yes"], "default": "no"},
    {"epsilon": Decimal("2.000000000000000001")},
    {"epsilon_first": ABSENT},
    {"epsilon_first": Decimal("1.000000000000000001")},
    {"mechanism": "sue"},
    {"mechanism": "oue"},
    {"period": "week"},
    {"default": True},
    {"default": ABSENT},
]


@pytest.mark.parametrize("changes", COVERED, ids=str)
def test_the_hash_changes_with_what_reveals(changes: dict[str, object]) -> None:
    before, after = make_question(boolean_table()), make_question(boolean_table(**changes))
    assert before.hash != after.hash
    assert before.wire_hash != after.wire_hash


def test_each_of_these_has_a_hash_of_its_own() -> None:
    hashes = [make_question(boolean_table(**changes)).hash for changes in COVERED]
    assert len(set(hashes)) == len(hashes)


def test_the_hash_changes_with_the_choices_and_their_order() -> None:
    tables = [
        choice_table(choices=choices)
        for choices in (["a", "b", "c"], ["b", "a", "c"], ["a", "b"], ["a", "b", "d"], ["ab", "c"])
    ]
    assert len({make_question(table).hash for table in tables}) == 5


def test_the_hash_changes_with_the_names() -> None:
    hashes = {
        replace(DARK, survey=survey, id=name).hash
        for survey, name in (("a", "b"), ("b", "a"), ("a", "a"), ("ab", ""), ("", "ab"))
    }
    assert len(hashes) == 5


def test_the_hash_changes_with_each_threshold() -> None:
    grr = build("grr", 2, Decimal(2), Decimal(1))
    oue = build("oue", 2, Decimal(2), Decimal(1))
    for mechanism in (grr, oue):
        plain = replace(DARK, mechanism=mechanism).hash
        for name, threshold in mechanism.thresholds.items():
            edited = replace(mechanism, **{name: threshold - 1})  # type: ignore[type-var]
            assert replace(DARK, mechanism=edited).hash != plain


@pytest.mark.parametrize(
    "changes",
    [
        {"min_crowd": 5},
        {"grace": 60},
        {"owner": "somebody else"},
        {"expires": date(2031, 1, 1)},
        {"min_crowd": ABSENT, "grace": ABSENT, "owner": ABSENT},
        {"mechanism": "auto"},
        {"mechanism": "grr"},
    ],
    ids=str,
)
def test_the_hash_does_not_change_with_what_reveals_nothing(changes: dict[str, object]) -> None:
    assert make_question(boolean_table(**changes)).hash == make_question(boolean_table()).hash


def test_the_hash_does_not_depend_on_the_rest_of_the_survey() -> None:
    other = make_survey(max_epsilon=16, segments=[], linkable=True, batch="question")
    assert other.questions["dark_mode"].hash == DARK.hash


def test_one_number_has_one_hash_however_it_is_written() -> None:
    forms = (2, Decimal("2"), Decimal("2.0"), Decimal("2.00"), Decimal("0.2E+1"), "2", "2.000")
    questions = [make_question(boolean_table(epsilon=form)) for form in forms]
    assert {question.hash for question in questions} == {make_question(boolean_table()).hash}
    assert len({canonical_json(question.document()) for question in questions}) == 1


def test_one_text_has_one_hash_however_it_is_composed() -> None:
    texts = ("Caf\u00e9?", "Cafe\u0301?")
    assert len({make_question(boolean_table(ask=text)).hash for text in texts}) == 1
    table = choice_table(period="day", choices=["\u00e9", "b"], default="e\u0301")
    other = choice_table(period="day", choices=["e\u0301", "b"], default="\u00e9")
    assert make_question(table) == make_question(other)
    assert make_question(table).default == "\u00e9"


def test_a_threshold_is_written_so_that_no_reader_rounds_it() -> None:
    written = mechanism_document(DARK.mechanism)["thresholds"]["keep"]
    assert isinstance(written, str)
    assert int(float(written)) != int(written), "a double would have"


# Answers.


def test_symbols_follow_the_order_of_the_values() -> None:
    assert DARK.values == (False, True)
    assert [DARK.encode(value) for value in DARK.values] == [0, 1]
    assert HEALTH.values == HEALTH.choices
    assert [HEALTH.encode(value) for value in HEALTH.values] == [0, 1, 2, 3]
    assert HEALTH.encode(unicodedata.normalize("NFD", "tr\u00e8s bon")) == 3
    assert make_question(choice_table(choices=["e\u0301", "b"])).encode("\u00e9") == 0


@pytest.mark.parametrize(
    "value", [0, 1, 1.0, "true", "True", "", None, [], {}, b"1", ["a"]], ids=repr
)
def test_what_is_no_boolean_is_refused(value: object) -> None:
    with pytest.raises(ParameterError, match=r"^dark_mode: the value must be True or False$"):
        DARK.encode(value)


@pytest.mark.parametrize("value", [0, True, None, ["poor"], b"poor", "Poor", "poor ", ""], ids=repr)
def test_what_is_no_choice_is_refused(value: object) -> None:
    message = "^health: the value must be one of its choices: poor, fair, good, tr\u00e8s bon$"
    with pytest.raises(ParameterError, match=message):
        HEALTH.encode(value)


@given(st.text(min_size=1, max_size=30).map(lambda text: f"<{text}>") | st.integers(10**9))
def test_no_refusal_contains_the_value(value: str | int) -> None:
    for question in (DARK, HEALTH):
        with pytest.raises(ParameterError) as refusal:
            question.encode(value)
        told = "".join(traceback.format_exception_only(refusal.value))
        assert str(value) not in told
        assert repr(value) not in told
        assert refusal.value.__cause__ is None
        assert refusal.value.__context__ is None


def test_a_refusal_names_a_few_choices_only() -> None:
    many = make_question(choice_table(choices=[f"c{n}" for n in range(100)]))
    with pytest.raises(ParameterError, match=r": c0, c1, c2, c3, c4, c5, c6, c7, …$"):
        many.encode("c100")


# Time.


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "key", "asked", "closes"),
    [
        ("day", "2027-06-30", True, at("2027-07-04")),
        ("day", "2027-07-01", False, at("2027-07-05")),
        ("week", "2027-W26", True, at("2027-07-08")),
        ("week", "2027-W27", False, at("2027-07-15")),
        ("month", "2027-06", True, at("2027-07-04")),
        ("month", "2027-07", False, at("2027-08-04")),
    ],
)
def test_a_period_closes_when_its_grace_has_passed(
    kind: str, key: str, asked: bool, closes: datetime
) -> None:
    question = make_question(boolean_table(period=kind))
    period = parse_period(key)
    assert question.asks_in(period) is asked
    assert question.closes(period) == closes == period.end + timedelta(days=3)


def test_a_once_question_closes_when_it_expires() -> None:
    assert HEALTH.grace == 0
    assert HEALTH.asks_in(ONCE)
    assert HEALTH.closes(ONCE) == at("2027-07-01")


# The document.


def test_the_document_is_the_whole_definition() -> None:
    document: Mapping[str, Any] = HEALTH.document()
    assert document["hash"] == HEALTH.hash
    assert [HEALTH.epsilon, HEALTH.epsilon_first] == [3, None]
    assert [DARK.epsilon, DARK.epsilon_first] == [2, 1]
    assert list(document) == [
        "id", "version", "hash", "ask", "type", "choices", "range", "mechanism", "epsilon",
        "epsilon_first", "period", "grace", "min_crowd", "default", "owner", "expires",
        "sealed",
    ]  # fmt: skip
    assert json.loads(json.dumps(document)) == document
