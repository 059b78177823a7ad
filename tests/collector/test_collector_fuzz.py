"""Everything that a stranger's bytes pass through, fuzzed.

Whatever is sent, what comes out is a request that was understood, a problem of a documented
status, or a rejection of a documented code; and no message holds a piece of what was sent.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from collector_kit import make_survey, request_body
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deniable.collector.catalogue import Catalogue
from deniable.collector.openapi import describe
from deniable.collector.problems import HTTPProblem
from deniable.collector.rules import Rules
from deniable.collector.store.base import KnownSurvey, Registered
from deniable.collector.wire import Report, check_content_type, inflate, parse_envelope
from deniable.protocol.derivation import next_response, permanent_response
from deniable.protocol.errors import DocumentError, ParameterError, ReportError, SurveyError
from deniable.protocol.limits import MAX_COMPRESSED, MAX_INFLATED
from deniable.protocol.mechanisms import MECHANISMS
from deniable.protocol.periods import KINDS, midnight, parse_period, period_at
from deniable.protocol.question import Question
from deniable.protocol.question_fields import parse_question
from deniable.protocol.report import CODES, parse_device
from deniable.protocol.response import Response
from deniable.protocol.survey import compile_survey
from deniable.protocol.tally import Tally, parse_tally

PIECE = 12
"""Bytes in a row that no message shares with what was sent."""

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
STATUSES = {int(status) for status in describe()["paths"]["/v1/reports"]["post"]["responses"]}
CHOICES: dict[str, Any] = {"choices": list("abcdefg")}
NUMBER: dict[str, Any] = {"type": "number", "range": {"low": 0, "high": 9, "steps": 9}}
HORIZON = {"start": "2026-11-30", "periods": 5}
OF_KINDS: dict[str, dict[str, Any]] = {
    "choice": CHOICES | {"type": "choice"},
    "number": NUMBER,
    "set": CHOICES | {"type": "set", "max_items": 3},
    "text": {"type": "text", "text": {"alphabet": "ab", "max_length": 3, "fold": True}},
    "trajectory": {"horizon": HORIZON | {"changes": 2}},
    "counter": NUMBER | {"horizon": HORIZON},
}
SMALL = {"cms": {"rows": 2, "width": 16}, "hcms": {"rows": 2, "width": 16}, "pem": {"rows": 4}}
ASKED = {
    name: OF_KINDS[mechanism.asks] | {"mechanism": {"name": name, **SMALL.get(name, {})}}
    for name, mechanism in MECHANISMS.items()
}
PARTS = {"x": ["a", "b"], "y": ["a", "b", "c"]}
SURVEY = make_survey(
    {f"by-{name}": fields for name, fields in ASKED.items()}
    | {"joint": {"type": "joint", "parts": PARTS, "default": ["a", "c"]}}
)
QUESTIONS = list(SURVEY.questions.values())
FUZZ = settings(
    max_examples=200,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)

TEXTS = st.text(max_size=40) | st.sampled_from(["", "\ud800", "\x00", "once", "2026-11-30", "true"])
NUMBERS = (
    st.integers()
    | st.floats()
    | st.sampled_from([0, -1, 2**63, 2**64, 10**4000, -(10**400), 1e308, Decimal("1E+999999")])
)
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where every value of a document stands."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@st.composite
def mutants(draw: st.DrawFn, document: Any) -> Any:
    """The document with a few values replaced, removed, exchanged or added."""
    spoilt = deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        *path, key = draw(st.sampled_from(list(places(spoilt)) or [("x",)]))
        holder = spoilt
        for step in path:
            holder = holder[step]
        match draw(st.sampled_from(["replace", "remove", "nudge", "retype", "add", "repeat"])):
            case "remove" if isinstance(holder, dict):
                holder.pop(key, None)
            case "nudge" if isinstance(holder, dict | list) and type(holder[key]) is int:
                holder[key] += draw(st.sampled_from([-1, 1, 2**32]))
            case "retype" if isinstance(holder, dict | list) and type(holder[key]) is int:
                holder[key] = draw(st.sampled_from([float, str, bool]))(holder[key])
            case "add" if isinstance(holder, dict):
                holder[draw(TEXTS)] = draw(JSON)
            case "repeat" if isinstance(holder, list):
                holder.append(deepcopy(holder[key]))
            case _:
                holder[key] = draw(JSON)
    return spoilt


@st.composite
def cut(draw: st.DrawFn, data: bytes) -> bytes:
    """The bytes with a few stretches removed, repeated, moved or overwritten."""
    for _ in range(draw(st.integers(1, 4))):
        start, end = sorted(draw(st.tuples(*[st.integers(0, len(data))] * 2)))
        middle = draw(
            st.sampled_from([b"", data[start:end] * 2, b"\xff", b"\\ud800", b'"', b"[" * 99])
        )
        data = data[:start] + (middle or draw(st.binary(max_size=6))) + data[end:]
    return data


def without_echo(message: str, sent: bytes) -> None:
    """No message holds a piece of what was sent."""
    text = message.encode()
    for at in range(len(text) - PIECE + 1):
        assert text[at : at + PIECE] not in sent, message


def outcome(function: Callable[[], Any], sent: bytes) -> Any:
    """The result, or None for a problem, which has a documented status and repeats nothing."""
    try:
        return function()
    except HTTPProblem as exc:
        problem = exc
    assert problem.status in STATUSES
    without_echo(problem.detail, sent)
    return None


def good_request() -> bytes:
    return json.dumps(request_body(SURVEY, "A" * 21 + "Q", period="2026-11-30")).encode()


GOOD = good_request()
DEEP = b'{"a":' * 100_000
HUGE = b'{"survey":"s","period":"once","device":"AAAAAAAAAAAAAAAAAAAAAQ","reports":[' + b"9" * 5000


@FUZZ
@given(st.text(max_size=60) | st.sampled_from(["application/json;", "application/json\x00"]))
def test_content_types(content_type: str) -> None:
    outcome(lambda: check_content_type(content_type), b"")


@FUZZ
@given(
    st.binary(max_size=200)
    | cut(gzip.compress(GOOD))
    | st.binary(max_size=99).map(lambda data: gzip.compress(data) * 2),
    st.sampled_from(["gzip", " GZIP ", "", "identity", "br"]) | st.text(max_size=20),
)
@example(gzip.compress(bytes(MAX_INFLATED)), "gzip")
@example(gzip.compress(bytes(MAX_INFLATED + 1)), "gzip")
@example(gzip.compress(bytes(60 * 1024**2))[:MAX_COMPRESSED], "gzip")
@example(gzip.compress(GOOD)[:-9], "gzip")
@example(gzip.compress(GOOD) * 2, "gzip")
@example(zlib.compress(GOOD), "gzip")
def test_encodings(body: bytes, encoding: str) -> None:
    inflated = outcome(lambda: inflate(body, encoding), body)
    if inflated is not None:
        assert len(inflated) <= MAX_INFLATED
        zipped = encoding.strip().lower() == "gzip"
        assert inflated == (gzip.decompress(body) if zipped else body)


@FUZZ
@given(
    st.binary(max_size=300)
    | cut(GOOD)
    | mutants(json.loads(GOOD)).map(lambda document: json.dumps(document, default=str).encode())
)
@example(DEEP)
@example(b"[" * MAX_INFLATED)
@example(GOOD[:-2] + b"," + DEEP + b"1" + b"}" * 100_000 + b"]}")
@example(GOOD.replace(b'"response": ', b'"response": ' + b"[" * 99_999))
@example(GOOD.replace(b'"response": ', b'"response": ' + b"[" * 9_999 + b"]" * 9_999 + b', "x": '))
@example(HUGE + b"]}")
@example(GOOD.replace(b'"once"', b'"\\ud800"').replace(b"2026-11-30", b"\\udfff"))
@example(GOOD.decode().encode("utf-16"))
@example(b"\xef\xbb\xbf" + GOOD)
def test_requests(body: bytes) -> None:
    envelope = outcome(lambda: parse_envelope(body), body)
    if envelope is not None:
        assert len(envelope.device) == 16
        judge(envelope.reports, envelope.segment, body)


def rules() -> Rules:
    known = KnownSurvey(SURVEY.id, compile_survey(SURVEY), ("a",))
    registered = [Registered(bit, bit, question) for bit, question in enumerate(QUESTIONS)]
    return Rules(Catalogue([known], registered), SURVEY.id, parse_period("2026-11-30"))


RULES = rules()


def judge(reports: list[Report | None], segment: str | None, sent: bytes) -> int:
    """How many reports may count; the others have a documented code that repeats nothing."""
    entries, rejections = RULES.judge(reports, segment, NOW, NOW.replace(year=2020))
    assert sorted([e[0] for e in entries] + [r.index for r in rejections]) == [*range(len(reports))]
    for rejection in rejections:
        assert rejection.code in CODES
        without_echo(rejection.detail, sent)
    return len(entries)


def given_by_a_device(question: Question) -> Response:
    """A response to the first answer, of the first device that reports in the first period."""
    for number in range(1000):
        secret = number.to_bytes(32)
        if question.horizon is None:
            response = permanent_response(secret, question, 0)
        else:
            response, _ = next_response(secret, question, None, 0, 1)
        if response is not None:
            return response
    raise AssertionError("no device reports")


def honest(question: Question) -> Any:
    return question.mechanism.shape.pack(given_by_a_device(question))


@st.composite
def wires(draw: st.DrawFn, question: Question) -> Any:
    """What may stand where a response should: it, a near miss, or anything."""
    shape = question.mechanism.shape
    length = (shape.size * 8 + 5) // 6
    text = st.text("AQgw-_Zz9=\n", min_size=length - 1, max_size=length + 1)
    out = st.integers(-1, shape.width) | st.sampled_from([True, 0.0, "0"]) | text | JSON
    out |= st.binary(min_size=shape.size, max_size=shape.size).map(base64url)
    row = st.integers(-1, shape.rows) | st.booleans()
    return draw(out | st.tuples(row, out).map(list) | mutants([honest(question)]).map(first))


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def first(items: list[Any]) -> Any:
    return items[0] if items else None


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_responses(question: Question) -> None:
    """A response that is taken has exactly the form that was sent."""
    shape = question.mechanism.shape

    @settings(FUZZ, max_examples=50)
    @given(wires(question))
    def fuzz(wire: Any) -> None:
        sent = json.dumps(wire, default=str).encode()
        with suppress(ReportError):
            response = shape.unpack(wire)
            assert 0 <= response.row < shape.rows
            assert 0 <= response.out < (shape.width if shape.kind == "symbol" else 1 << shape.width)
            packed = shape.pack(response)
            assert (packed, type(packed)) == (wire, type(wire))
        judge([report(question, wire)], None, sent)

    fuzz()
    assert judge([report(question, honest(question))], None, b"") == 1


def report(question: Question, wire: Any) -> Report:
    return Report(question.id, question.version, question.wire_hash, wire)


def test_refused_responses_have_a_documented_code() -> None:
    for question in QUESTIONS:
        for wire in (None, -1, "", [], {}, [0], [0, 0, 0], "=" * 9, 1.0, True):
            with pytest.raises(ReportError) as caught:
                question.mechanism.shape.unpack(wire)
            assert caught.value.code in CODES


def tally_document(question: Question) -> dict[str, Any]:
    """A released tally of three reports."""
    shape = question.mechanism.shape
    cells = [0] * shape.cells
    for _ in range(3):
        shape.fold(cells, given_by_a_device(question))
    return Tally(question, "2026-11-30", "a", 3, tuple(cells)).document()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_tallies(question: Question) -> None:
    document = tally_document(question)
    assert parse_tally(document).n == 3
    for n in (3.0, True, "3", None, Decimal(3)):
        with pytest.raises(DocumentError):
            parse_tally(document | {"n": n})

    @settings(FUZZ, max_examples=25)
    @given(mutants(document) | JSON)
    def fuzz(spoilt: Any) -> None:
        with suppress(DocumentError):
            tally = parse_tally(spoilt)
            assert tally.document().keys() == document.keys()
            assert {type(count) for count in (tally.n, *tally.cells)} == {int}

    fuzz()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_questions(question: Question) -> None:
    document = question.document()
    assert parse_question(SURVEY.id, document) == question

    @settings(FUZZ, max_examples=25)
    @given(mutants(document) | JSON)
    def fuzz(spoilt: Any) -> None:
        with suppress(SurveyError):
            assert parse_question(SURVEY.id, spoilt).hash == spoilt["hash"]

    fuzz()


REQUEST = describe()["components"]["schemas"]["Request"]["properties"]


@FUZZ
@given(
    st.from_regex(REQUEST["device"]["pattern"], fullmatch=True)
    | st.binary(min_size=15, max_size=17).map(base64url)
    | st.text("AQgw-_=", max_size=23)
)
def test_the_pattern_of_a_device_is_what_is_taken(text: str) -> None:
    matches = re.fullmatch(REQUEST["device"]["pattern"].strip("^$"), text) is not None
    assert matches == taken(parse_device, text)


def test_the_pattern_of_a_period_leaves_out_none_that_is_taken() -> None:
    pattern = re.compile(REQUEST["period"]["pattern"].strip("^$"))
    days = [
        date(year, 1, 10) + timedelta(days=n) for year in (2000, 2026, 2999) for n in range(350)
    ]
    periods = {period_at(kind, midnight(day)).key for day in days for kind in KINDS}
    assert len(periods) > 1000
    assert not [period for period in periods if not pattern.fullmatch(period)]
    assert pattern.fullmatch(period_at("day", midnight(date(2026, 1, 1))).key)
    for none in ("2026-13", "2026-00", "2026-W54", "2026-W00", "2026-11-32", "1999-12-31"):
        assert not pattern.fullmatch(none)


def taken(parse: Callable[[str], object], text: str) -> bool:
    with suppress(ParameterError):
        parse(text)
        return True
    return False
