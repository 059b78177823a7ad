"""The description of the HTTP surface, held against a running collector by schemathesis.

Every operation is asked with and without a token, with valid and spoilt input; whatever status or
shape the description does not promise is a failure, and so is a promised one that was not seen.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from collector_kit import (
    Clock,
    InProcess,
    Server,
    make_survey,
    new_device,
    request_body,
    serving,
    today,
)
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import positive_data_acceptance

from deniable.collector.app import close_app, create_app
from deniable.collector.config import Config
from deniable.collector.documents import State
from deniable.collector.openapi import describe, description_text
from deniable.collector.operations import OPERATIONS
from deniable.collector.store.base import BatchPart, Settled
from deniable.collector.tokens import SCOPES, create_token
from deniable.protocol.limits import MAX_COMPRESSED, MAX_REPORTS
from deniable.protocol.period_state import PeriodState
from deniable.protocol.report import CODES
from deniable.protocol.survey import parse_survey

_PAST = datetime.now(UTC) - timedelta(days=15)

SURVEY = make_survey(
    {
        "yes": {},
        "bits": {"type": "choice", "choices": list("abcde"), "mechanism": "oue"},
        "range": {"type": "number", "range": {"low": 0, "high": 10}, "default": "5"},
        "some": {"type": "set", "choices": list("abcde"), "max_items": 2, "default": ["a", "b"]},
        "words": {"type": "text", "text": {"alphabet": "ab", "max_length": 9}, "default": "a"},
        "two": {
            "type": "joint",
            "parts": {"x": ["a", "b"], "y": ["c", "d"]},
            "default": ["a", "c"],
        },
        "changes": {"horizon": {"start": today(_PAST), "periods": 30, "changes": 2}},
        "rises": {
            "type": "number",
            "range": {"low": 0, "high": 10},
            "horizon": {"start": today(_PAST), "periods": 30},
        },
        "once": {"period": "once"},
    },
    segments=["a"],
)
NAMES = {"survey": "test", "question": "yes", "id": 1}
EXAMPLES = 15
CASES = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)


EXPECTED = {
    "postReports": {200, 400, 404, 413, 415, 422},
    "getSurvey": {200, 404},
    "getTallies": {200, 401, 403, 404},
    "getBatches": {200, 401, 403, 404},
    "getBatch": {200, 401, 403, 404},
    "getPeriods": {200, 401, 403, 404},
    "getMetrics": {200, 401, 403},
    "getLiveness": {200},
    "getReadiness": {200},
    "getDescription": {200},
}
"""What each operation must have been seen to answer."""

DOCUMENTED = {200, 405} | {int(status) for status in describe()["components"]["responses"]}
"""405 is of no operation: it is what a path says to a method that it has not."""


@dataclass(frozen=True)
class Subject:
    """A running collector that has something of everything to tell."""

    server: Server
    bearers: list[dict[str, str]]
    schema: Any

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"


def batch_document() -> dict[str, Any]:
    """A released batch of two sealed reports, as its question's analyst gets it."""
    return {
        "format": 1,
        "survey": "test",
        "period": "2026-11-30",
        "batch": None,
        "segment": None,
        "n": 2,
        "part": 0,
        "parts": 1,
        "reports": [["key", "AAAA"], ["key", "BBBB"]],
        "question": SURVEY.questions["yes"].document(),
    }


def fill(store: Path) -> list[dict[str, str]]:
    """Release a tally and a batch, leave another tally pending, and return a token of each kind."""
    clock = Clock(datetime.now(UTC) - timedelta(days=9))
    app = create_app(Config(str(store), (SURVEY,), release_every=0, clock=clock))
    try:
        collector = InProcess(app, clock)
        past = today(clock.moment)
        for _ in range(2):
            reply = collector.post(request_body(SURVEY, new_device(), period=past, segment="a"))
            assert reply.json["accepted"] == 8, reply.body
        collector.release(days=5)
        collector.post(request_body(SURVEY, new_device(), period=today(clock.moment)))
        entry = collector.collector.catalogue.questions["test"]["yes"][1]
        place = Settled(entry.id, "2026-11-30", None, None)
        with collector.collector.store.transaction() as tx:
            tx.put_batch(BatchPart(place, 2, 0, 1, json.dumps(batch_document())))
        tokens = [create_token(collector.collector.store, scope, [scope]) for scope in SCOPES]
        return [{}, *({"Authorization": f"Bearer {token}"} for token in tokens)]
    finally:
        close_app(app)


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    folder = tmp_path_factory.mktemp("openapi")
    bearers = fill(folder / "collector.db")
    with serving(SURVEY, folder, "--flood-limit", "100000 per minute") as server:
        document = close(server.ask("GET", "/openapi.json").json)
        config = schemathesis.Config.from_dict({"base-url": f"http://127.0.0.1:{server.port}"})
        schema = schemathesis.openapi.from_dict(document, config=config)
        yield Subject(server, bearers, schema)


def close(document: dict[str, Any]) -> dict[str, Any]:
    """Forbid every field that the description does not name; clients are told to expect them."""
    for schema in document["components"]["schemas"].values():
        schema["additionalProperties"] = False
    return document


def known_names(operation: Any) -> dict[str, Any]:
    """The path parameters of an operation, so that they name something."""
    return {name: value for name, value in NAMES.items() if f"{{{name}}}" in operation.path}


def boundaries(operation: Any) -> Iterator[Any]:
    """Every edge that schemathesis derives from the description, foreign methods included."""
    yield from operation.schema.iter_coverage_cases(
        operation,
        generation_modes=list(GenerationMode),
        generation_config=operation.schema.config.generation_for(operation=operation),
    )


def fuzz(operation: Any, ask: Callable[[Any], object]) -> None:
    """Ask with generated input, valid and spoilt, about anything and about what is known."""
    known = known_names(operation)
    takes_input = any(operation.iter_parameters()) or operation.body
    for mode in GenerationMode if takes_input else [GenerationMode.POSITIVE]:
        for names in ({}, known) if known and mode.is_positive else ({},):

            @settings(CASES, max_examples=EXAMPLES if operation.body else EXAMPLES // 2)
            @given(operation.as_strategy(generation_mode=mode, path_parameters=names or None))
            def ask_each(case: Any) -> None:
                ask(case)

            ask_each()


@pytest.mark.parametrize("name", EXPECTED)
def test_nothing_happens_that_the_description_does_not_promise(subject: Subject, name: str) -> None:
    """And every success that it promises does happen."""
    operation = subject.schema.find_operation_by_id(name)
    guarded = 401 in EXPECTED[name]
    seen: Counter[int] = Counter()

    def ask(case: Any) -> None:
        for headers in subject.bearers if guarded else subject.bearers[:1]:
            reply = case.call_and_validate(
                headers=headers, excluded_checks=[positive_data_acceptance], timeout=10
            )
            seen[reply.status_code] += 1

    for case in boundaries(operation):
        ask(case)
    fuzz(operation, ask)
    for case in WRITTEN.get(name, no_more)(operation):
        ask(case)
    assert seen.keys() >= EXPECTED[name]


def written_requests(operation: Any) -> Iterator[Any]:
    """Requests that no generator hits upon: they count, in part or not, or nearly could."""
    good = request_body(SURVEY, new_device(), segment="a")
    spoilt = [None, {}, good["reports"][0] | {"version": 2}, good["reports"][1] | {"response": -1}]
    zipped = {"Content-Encoding": "gzip"}
    odd = {"Content-Encoding": "br"}

    def case(body: object, **headers: str) -> Any:
        return operation.Case(body=body, headers=headers, media_type="application/json")

    yield case(good)
    yield case(good | {"reports": good["reports"] + spoilt, "device": new_device()})
    yield case(good | {"segment": "b"})
    yield case(good | {"survey": "none"})
    yield case(good | {"period": "2026-02-30"})
    yield case(good | {"reports": good["reports"][:1] * (MAX_REPORTS + 1)})
    yield case({"survey": "x" * MAX_COMPRESSED})
    yield case(good, **zipped)
    yield case(good, **odd)


def odd_ids(operation: Any) -> Iterator[Any]:
    for odd in ("9" * 30, "0", "01", "-1", "+1", "1.0", "1_0", "\u00b2", "\u0661", " 1", "1\0"):
        yield operation.Case(path_parameters=NAMES | {"id": odd})


def no_more(operation: Any) -> Iterator[Any]:
    yield from ()


WRITTEN = {"postReports": written_requests, "getBatch": odd_ids}


def test_refusals_that_a_client_waits_upon(
    subject: Subject, start: Callable[..., InProcess]
) -> None:
    """They are rare, so they are brought about here; both name how long."""
    collector = start(SURVEY, flood_limit="1 per minute")
    case = subject.schema.find_operation_by_id("postReports").Case(
        body=request_body(SURVEY, new_device(), period="2026-11-30"),
        media_type="application/json",
    )

    def ask() -> int:
        reply = collector.app.test_client().post("/v1/reports", json=case.body)
        case.validate_response(reply, excluded_checks=[not_a_server_error])
        return reply.status_code

    assert ask() == 200
    assert ask() == 429
    case.body["device"] = new_device()
    collector.collector.writer.close()
    assert ask() == 503


METHODS = ["GET", "POST", "HEAD", "OPTIONS", "TRACE", "PUT", "get", "X", "CONNECT"]
PATHS = [operation.path[1:].format(**NAMES) for operation in OPERATIONS]
PARTS = [
    "v1", "reports", "survey", "tallies", "batches", "periods", "metrics", "test", "yes", "livez",
    "openapi.json", "1", "0", "-1", "%2F", "%00", "%", "%ff", "..", ".", ";", "/[", "\\", "%0d%0a",
    "*", "%E2%82%AC", "\xff", "\x00",
]  # fmt: skip
QUERIES = ["", "survey=test", "survey=%00", "survey", "survey=a&survey=test", "%ff=%ff", "\xff"]
VERSIONS = [" HTTP/1.0", "", " HTTP/9.9", " HTTP/1.1 "]
HEADERS = """
    Authorization: Bearer \xff\xfe
    Authorization: Bearer \x00
    Authorization:
    Authorization: Basic Og==
    Authorization: Bearer a, Bearer b
    Host: a
    Host:
    Content-Type: application/json
    Content-Type: text/plain
    Content-Type: \xff
    Content-Encoding: gzip
    Content-Encoding: \xe9
    Content-Length: 2
    Content-Length: 2
    Content-Length: 3
    Content-Length: -1
    Content-Length: +2
    Content-Length: 2, 2
    Content-Length: \xb2
    Transfer-Encoding: chunked
    Transfer-Encoding: gzip
    Transfer-Encoding: chunked, chunked
    Expect: 100-continue
    Expect: tea
    Connection: upgrade
    Accept: image/png
    Deniable-App-Key: \xff
    A b: c
    : x
    X
"""
WAITING = {
    "Content-Length: 2",
    "Content-Length: 3",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: chunked, chunked",
}
"""After these a collector may wait for a body that never comes."""

BODIES = ["", "{}", "2\r\n{}\r\n0\r\n\r\n", "zz\r\n{}\r\n", "f" * 20, "-2\r\n{}", "\x1f\x8b\x08"]
Request = tuple[str, str, str, str, list[str], str]


def request(method: str, path: str, *headers: str, body: str = "") -> Request:
    """A request of which one thing is odd."""
    return method, path, "", " HTTP/1.1", [*headers], body


REQUESTS = st.tuples(
    st.sampled_from(METHODS),
    st.sampled_from(PATHS)
    | st.lists(st.sampled_from([*PARTS, "9" * 30, "a" * 3000]), max_size=5).map("/".join),
    st.just("") | st.sampled_from([*QUERIES, "a=1&" * 3000]).map("?{}".format),
    st.just(" HTTP/1.1") | st.sampled_from(VERSIONS),
    st.lists(
        st.sampled_from(
            [
                *map(str.strip, HEADERS.strip().split("\n")),
                "Content-Length: " + "9" * 5000,
                "X: " + "a" * 20000,
            ]
        ),
        max_size=4,
    ),
    st.sampled_from(BODIES),
)


@settings(CASES, max_examples=400)
@given(REQUESTS)
@example(request("GET", "livez", "Expect: 100-continue"))
@example(request("GET", "metrics", "Authorization: Bearer \xff"))
@example(request("TRACE", "livez"))
@example(request("GET", "livez/"))
@example(request("POST", "v1/reports", "Content-Length: 2", body="{}"))
@example(request("GET", "livez", "Content-Length: " + "9" * 5000))
@example(request("GET", "livez", "X: " + "a" * 20000))
@example(request("GET", "livez", "Transfer-Encoding: gzip"))
def hostile(subject: Subject, seen: Counter[int], sent: Request) -> None:
    method, path, query, version, headers, body = sent
    lines = [f"{method} /{path}{query}{version}", *headers, "Connection: close", "", body]
    reply = exchange_raw(subject.server, "\r\n".join(lines).encode("latin-1"), method)
    if reply is None:
        assert WAITING.intersection(headers), sent
        return
    status, content_type, content = reply
    seen[status] += 1
    assert status in DOCUMENTED, (status, sent)
    if status >= 400 and method != "HEAD":
        assert content_type == "application/problem+json", sent
        document = json.loads(content)
        assert set(document) == {"type", "title", "status", "detail"}
        assert document["status"] == status


def exchange_raw(server: Server, request: bytes, method: str) -> tuple[int, str, bytes] | None:
    """The reply to these bytes; None if there is none, for the body that was announced is not."""
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        reply = http.client.HTTPResponse(connection, method=method)
        try:
            reply.begin()
        except http.client.RemoteDisconnected:
            return None
        return reply.status, reply.getheader("Content-Type", ""), reply.read()


def test_hostile_bytes_meet_documented_statuses(subject: Subject) -> None:
    seen: Counter[int] = Counter()
    hostile(subject, seen)
    assert seen.keys() >= {200, 400, 401, 404, 405, 415, 431, 501}
    assert subject.server.ask("GET", "/livez").status == 200


def test_the_description_is_served_as_it_is_generated(subject: Subject) -> None:
    reply = subject.server.ask("GET", "/openapi.json")
    assert reply.headers["content-type"] == "application/json"
    assert reply.body == description_text()
    assert reply.json == describe()


def test_the_description_covers_every_route(start: Callable[..., InProcess]) -> None:
    routes = {
        (rule.rule.replace("<", "{").replace(">", "}"), method.lower())
        for rule in start(SURVEY).app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert {(operation.path, operation.method) for operation in OPERATIONS} == routes
    assert {operation.id for operation in OPERATIONS} == set(EXPECTED)


def references(node: Any) -> Iterator[str]:
    """Every reference in a document."""
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_the_description_refers_to_all_that_it_holds_and_to_nothing_else() -> None:
    components = describe()["components"]
    del components["securitySchemes"]
    held = {f"#/components/{kind}/{name}" for kind, names in components.items() for name in names}
    assert set(references(describe())) == held


def test_the_description_says_what_the_code_knows() -> None:
    schemas = describe()["components"]["schemas"]
    assert schemas["Rejection"]["properties"]["code"]["enum"] == list(CODES)
    assert schemas["Request"]["properties"]["reports"]["maxItems"] == MAX_REPORTS
    assert schemas["Request"]["additionalProperties"] is False
    assert schemas["Report"]["additionalProperties"] is False
    assert State.__struct_fields__ == tuple(PeriodState.__dataclass_fields__)


PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8")


def test_the_page_names_every_endpoint_code_and_status() -> None:
    for operation in OPERATIONS:
        assert f"`{operation.method.upper()} {operation.path}` | {operation.scope}" in PAGE
    rows = {line.split("`")[1] for line in PAGE.splitlines() if re.match(r"\| `[a-z_]+` \| ", line)}
    assert rows >= set(CODES)
    told = {
        int(number) for number in re.findall(r"\b[2-5][0-9]{2}\b", PAGE.split("## Statuses")[1])
    }
    assert told >= DOCUMENTED


def test_the_worked_example_works(start: Callable[..., InProcess]) -> None:
    blocks = re.findall(r"```(toml|json)\n(.*?)```", PAGE, re.DOTALL)
    (_, survey), *documents = blocks
    request, outcome, problem = (json.loads(text) for _, text in documents)
    collector = start(parse_survey(tomllib.loads(survey, parse_float=Decimal)))
    assert collector.post(request).json == outcome
    assert collector.post(request).json["duplicate"] == 1
    assert collector.post(request | {"device": "me"}).json == problem
