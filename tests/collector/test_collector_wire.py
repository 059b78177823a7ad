"""Hostile requests: each gets the right problem, stores nothing, and keeps memory bounded."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from collector_kit import (
    InProcess,
    Reply,
    Server,
    exchange,
    make_survey,
    new_device,
    request_body,
    serving,
    today,
)
from hypothesis import given
from hypothesis import strategies as st
from sealed_kit import key, public

from deniable.collector.problems import HTTPProblem
from deniable.collector.wire import inflate, parse_envelope
from deniable.protocol.limits import MAX_COMPRESSED, MAX_INFLATED, MAX_REPORTS
from deniable.protocol.report import CODES

SURVEY = make_survey(
    {
        "yes": {},
        "also": {},
        "bits": {"type": "choice", "choices": list("abcde"), "mechanism": "oue"},
    },
    segments=["a"],
)
Start = Callable[..., InProcess]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(SURVEY, tmp_path_factory.mktemp("wire")) as started:
        yield started


def body(**changes: Any) -> dict[str, Any]:
    """A good request with a new device, then spoilt."""
    return request_body(SURVEY, new_device()) | changes


def accepted(server: Server) -> int:
    """How many reports the pending tallies hold; read from the file, for no door tells it."""
    with closing(sqlite3.connect(server.store)) as connection:
        return int(connection.execute("SELECT coalesce(sum(n), 0) FROM pending").fetchone()[0])


def check_problem(reply: Reply, status: int, sent: bytes = b"") -> dict[str, Any]:
    """An RFC 9457 document that repeats nothing of the request."""
    assert reply.status == status, reply.body
    assert reply.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = reply.json
    assert set(document) == {"type", "title", "status", "detail"}
    assert document["status"] == status
    assert b"SENTINEL" not in reply.body
    return document


BAD_REPORTS: dict[str, tuple[Any, str]] = {
    "null": (None, "bad_response"),
    "a number": (7, "bad_response"),
    "a list": ([], "bad_response"),
    "an empty object": ({}, "bad_response"),
    "an unknown field": ({"SENTINEL": 1}, "bad_response"),
    "question of another type": ({"question": 1}, "bad_response"),
    "version as text": ({"version": "1"}, "bad_response"),
    "version as a float": ({"version": 1.0}, "bad_response"),
    "version true": ({"version": True}, "bad_response"),
    "a huge version": ({"version": "HUGE"}, "bad_response"),
    "hash null": ({"hash": None}, "bad_response"),
    "response null": ({"response": None}, "bad_response"),
    "response text": ({"response": "SENTINEL"}, "bad_response"),
    "response negative": ({"response": -1}, "bad_response"),
    "response too large": ({"response": 2}, "bad_response"),
    "response huge": ({"response": "HUGE"}, "bad_response"),
    "response float": ({"response": 1.0}, "bad_response"),
    "response bool": ({"response": True}, "bad_response"),
    "response nested": ({"response": [[[[[[1]]]]]]}, "bad_response"),
    "unknown question": ({"question": "SENTINEL"}, "unknown_question"),
    "wrong version": ({"version": 2}, "wrong_version"),
    "wrong hash": ({"hash": "0" * 32}, "wrong_hash"),
    "short hash": ({"hash": ""}, "wrong_hash"),
}


@pytest.mark.parametrize("name", BAD_REPORTS)
def test_one_bad_report_among_good_ones(server: Server, name: str) -> None:
    changes, code = BAD_REPORTS[name]
    request = body()
    good = request["reports"][1]
    request["reports"][1] = good | changes if changes and isinstance(changes, dict) else changes
    reply = server.post(json.dumps(request).replace('"HUGE"', "9" * 5000).encode())
    assert reply.status == 200, reply.body
    assert (reply.json["accepted"], reply.json["duplicate"]) == (2, 0)
    (rejection,) = reply.json["rejected"]
    assert (rejection["index"], rejection["code"]) == (1, code)
    assert b"SENTINEL" not in reply.body


@pytest.mark.parametrize("response", ["/w", "Hx", "-A", "HA==", "H", "A", "AAA", "IA", "Hw\n"])
def test_bits_have_one_form(server: Server, response: str) -> None:
    """Five bits in one byte: 'Hw' is all of them; spare bits, padding and others are refused."""
    request = body()
    request["reports"][2]["response"] = response
    reply = server.post(request).json
    assert (reply["accepted"], [one["code"] for one in reply["rejected"]]) == (2, ["bad_response"])


ENVELOPES: dict[str, tuple[int, Any]] = {
    "empty": (400, b""),
    "no JSON": (400, b"SENTINEL"),
    "NaN": (400, b'{"survey": NaN}'),
    "NaN in a report": (400, b'{"survey": "test", "reports": [{"response": NaN}]}'),
    "Infinity": (400, b'{"reports": [Infinity]}'),
    "cut off": (400, json.dumps(body()).encode()[:-2]),
    "trailing": (400, json.dumps(body()).encode() + b"x"),
    "two documents": (400, json.dumps(body()).encode() * 2),
    "not UTF-8": (400, json.dumps(body()).encode().replace(b"test", b"te\xff")),
    "UTF-16": (400, json.dumps(body()).encode("utf-16")),
    "half a surrogate": (400, json.dumps(body(segment="\ud800")).encode()),
    "deep nesting": (400, b"[" * 60000),
    "deep nesting in a report": (400, b'{"reports": [' + b'{"a":' * 12000),
    "a list": (422, b"[]"),
    "a number": (422, b"7"),
    "an unknown field": (422, body(SENTINEL=1)),
    "survey null": (422, body(survey=None)),
    "segment a number": (422, body(segment=7)),
    "period a number": (422, body(period=7)),
    "period nonsense": (422, body(period="SENTINEL")),
    "period not canonical": (422, body(period="2026-W1")),
    "period impossible": (422, body(period="2026-02-30")),
    "reports an object": (422, body(reports={})),
    "reports missing": (422, {k: v for k, v in body().items() if k != "reports"}),
    "device missing": (422, {k: v for k, v in body().items() if k != "device"}),
    "device a number": (422, body(device=7)),
    "device short": (422, body(device="SENTINEL")),
    "device not canonical": (422, body(device="A" * 21 + "B")),
    "device foreign": (422, body(device="ä" * 22)),
    "too many reports": (422, body(reports=[{}] * (MAX_REPORTS + 1))),
    "unknown survey": (404, body(survey="SENTINEL")),
    "survey in capitals": (404, body(survey="TEST")),
}


@pytest.mark.parametrize("name", ENVELOPES)
def test_a_bad_envelope_stores_nothing(server: Server, name: str) -> None:
    status, request = ENVELOPES[name]
    before = accepted(server)
    check_problem(server.post(request), status)
    assert accepted(server) == before


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("survey", {"survey": 1}),
        ("period", {"period": []}),
        ("segment", {"segment": {}}),
        ("device", {"device": None}),
        ("reports", {"reports": "x"}),
        ("period", {"period": "soon"}),
        ("device", {"device": "x"}),
    ],
)
def test_the_detail_names_the_field(server: Server, field: str, changes: dict[str, Any]) -> None:
    assert check_problem(server.post(body(**changes)), 422)["detail"].startswith(f"{field} must")


def test_a_null_segment_is_none(server: Server) -> None:
    assert server.post(body(segment=None)).json["accepted"] == 3


def test_a_request_may_be_empty_or_full(server: Server) -> None:
    assert server.post(body(reports=[])).json == {"accepted": 0, "duplicate": 0, "rejected": []}
    request = body()
    request["reports"] += [request["reports"][0]] * (MAX_REPORTS - 3)
    reply = server.post(request).json
    assert (reply["accepted"], reply["duplicate"], reply["rejected"]) == (3, MAX_REPORTS - 3, [])


@pytest.mark.parametrize(
    ("status", "content_type"),
    [
        (200, "application/json"),
        (200, "Application/JSON; charset=utf-8"),
        (415, "text/plain"),
        (415, "application/jsonp"),
        (415, "application/x-www-form-urlencoded"),
        (415, ""),
    ],
)
def test_content_types(server: Server, status: int, content_type: str) -> None:
    assert server.post(body(), **{"Content-Type": content_type}).status == status


def test_gzip(server: Server) -> None:
    packed = gzip.compress(json.dumps(body()).encode())
    for encoding in ("gzip", "GZIP"):
        assert server.post(packed, **{"Content-Encoding": encoding}).status == 200


BROKEN_GZIP = {
    "no gzip": json.dumps(body()).encode(),
    "cut off": gzip.compress(json.dumps(body()).encode())[:-1],
    "trailing": gzip.compress(json.dumps(body()).encode()) + b"x",
    "two members": gzip.compress(json.dumps(body()).encode()) * 2,
    "wrong check": gzip.compress(json.dumps(body()).encode())[:-8] + bytes(8),
    "zlib": zlib.compress(json.dumps(body()).encode()),
    "empty": b"",
}


@pytest.mark.parametrize("name", BROKEN_GZIP)
def test_broken_gzip(server: Server, name: str) -> None:
    check_problem(server.post(BROKEN_GZIP[name], **{"Content-Encoding": "gzip"}), 400)


@pytest.mark.parametrize("encoding", ["deflate", "br", "zstd", "gzip, gzip", "x-gzip"])
def test_other_encodings(server: Server, encoding: str) -> None:
    check_problem(server.post(body(), **{"Content-Encoding": encoding}), 415)


def padded(size: int) -> bytes:
    return json.dumps(body()).encode().ljust(size)


def test_the_bounds_are_exact(server: Server) -> None:
    assert server.post(padded(MAX_COMPRESSED)).status == 200
    check_problem(server.post(padded(MAX_COMPRESSED + 1)), 413)
    zipped = {"Content-Encoding": "gzip"}
    assert server.post(gzip.compress(padded(MAX_INFLATED)), **zipped).status == 200
    check_problem(server.post(gzip.compress(padded(MAX_INFLATED + 1)), **zipped), 413)


def memory(server: Server) -> int:
    """The most resident memory the process ever had, in bytes."""
    for line in Path(f"/proc/{server.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def bomb(size: int) -> Iterator[bytes]:
    """A gzip member of so many zeros, in pieces; one megabyte is packed and repeated."""
    megabyte = bytes(1024 * 1024)
    stream = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    packed = stream.compress(megabyte) + stream.flush(zlib.Z_FULL_FLUSH)
    check = 0
    yield b"\x1f\x8b\x08" + bytes(7)
    for _ in range(size // len(megabyte)):
        check = zlib.crc32(megabyte, check)
        yield packed
    yield stream.flush() + check.to_bytes(4, "little") + (size % 2**32).to_bytes(4, "little")


def test_the_bomb_is_a_true_gzip_file() -> None:
    assert gzip.decompress(b"".join(bomb(3 * 1024**2))) == bytes(3 * 1024**2)


def send_pieces(server: Server, pieces: Iterator[bytes], *headers: str) -> Reply:
    """Send a body piece by piece, until the server has heard enough."""
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=30)) as connection:
        head = ["POST /v1/reports HTTP/1.1", "Host: test", "Content-Type: application/json"]
        connection.sendall("\r\n".join([*head, *headers, "", ""]).encode())
        try:
            for piece in pieces:
                connection.sendall(piece)
        except OSError:
            pass
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        lowered = {name.lower(): value for name, value in reply.getheaders()}
        return Reply(reply.status, lowered, reply.read())


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to read memory from")
def test_a_gigabyte_of_gzip(server: Server) -> None:
    """Declared, chunked, and as much of it as the bound lets through."""
    pieces = [piece for piece in bomb(1024**3) if piece]
    length = sum(map(len, pieces))
    assert 1_000_000 < length < 1_100_000
    before, stored = memory(server), accepted(server)
    zipped = "Content-Encoding: gzip"
    check_problem(send_pieces(server, iter(pieces), zipped, f"Content-Length: {length}"), 413)
    chunks = (b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    check_problem(send_pieces(server, chunks, zipped, "Transfer-Encoding: chunked"), 413)
    small = b"".join(bomb(60 * 1024**2))
    assert len(small) < MAX_COMPRESSED
    for _ in range(20):
        check_problem(server.post(small, **{"Content-Encoding": "gzip"}), 413)
    assert memory(server) - before < 16 * 1024**2
    assert accepted(server) == stored


def test_a_refusal_reaches_a_client_that_is_still_sending(server: Server) -> None:
    """Seven megabytes are read and thrown away after the refusal, not answered by a reset."""
    for _ in range(5):
        with closing(server.connect()) as connection:
            check_problem(exchange(connection, "POST", "/v1/reports", bytes(7 * 1024**2)), 413)


@pytest.mark.parametrize(
    ("status", "request_text"),
    [
        (400, "POST /v1/reports HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        (400, "POST /v1/reports HTTP/1.1\r\nContent-Length: SENTINEL\r\n\r\n"),
        (400, "POST /v1/reports HTTP/1.1\r\nSENTINEL\r\n\r\n"),
        (501, "POST /v1/reports HTTP/1.1\r\nTransfer-Encoding: SENTINEL\r\n\r\n"),
        (431, "GET /livez HTTP/1.1\r\nX: " + "SENTINEL" * 3000 + "\r\n\r\n"),
    ],
)
def test_bad_http(server: Server, status: int, request_text: str) -> None:
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=30)) as connection:
        connection.sendall(request_text.encode())
        reply = http.client.HTTPResponse(connection)
        reply.begin()
        lowered = {name.lower(): value for name, value in reply.getheaders()}
        check_problem(Reply(reply.status, lowered, reply.read()), status)


def test_unknown_routes_and_methods(server: Server) -> None:
    check_problem(server.ask("GET", "/SENTINEL"), 404)
    check_problem(server.ask("GET", "/v1/reports/"), 404)
    reply = server.ask("GET", "/v1/reports")
    check_problem(reply, 405)
    assert set(reply.headers["allow"].split(", ")) == {"OPTIONS", "POST"}
    check_problem(server.ask("DELETE", "/v1/survey/test"), 405)


def test_a_failure_says_nothing(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    """An exception whose message holds a value, in the middle of a request."""
    collector = start(SURVEY)

    def fail(*_: object) -> None:
        raise RuntimeError("SENTINEL")

    collector.collector.writer.submit = fail  # type: ignore[method-assign]
    reply = collector.post(request_body(SURVEY, new_device(), period="2026-11-30"))
    check_problem(reply, 500)
    assert len(caplog.records) == 1
    message = caplog.records[0].getMessage()
    assert message.startswith("RuntimeError at ")
    assert "SENTINEL" not in caplog.text


def test_every_code_is_reached_over_http(start: Start) -> None:
    survey = make_survey(
        {
            "yes": {},
            "weekly": {"period": "week"},
            "old": {"expires": "2026-11-20", "grace": 60},
            "closed": {"grace": 1, "expires": "2026-11-29"},
            "secret": {"sealed": True, "epsilon_first": 1},
        },
        segments=["a"],
        sealing_keys=[public(key("now")).document()],
    )
    collector = start(survey)

    def send(name: str, period: str, segment: str = "a", **changes: Any) -> str:
        request = request_body(survey, new_device(), period=period, segment=segment)
        request["reports"] = [r | changes for r in request["reports"] if r["question"] == name]
        (rejection,) = collector.post(request).json["rejected"]
        assert rejection["detail"]
        return str(rejection["code"])

    assert {
        send("yes", "2026-11-30", question="none"),
        send("yes", "2026-11-30", version=2),
        send("yes", "2026-11-30", hash="0" * 32),
        send("weekly", "2026-11-30"),
        send("old", "2026-11-25"),
        send("yes", "2026-12-01"),
        send("closed", "2026-11-20"),
        send("yes", "2026-11-30", "b"),
        send("yes", "2026-11-30", response=9),
        send("secret", "2026-11-30", response=["before", "AAAA"]),
    } == set(CODES)


def status_of(function: Callable[[], object]) -> int:
    """200, or the status of the problem it raises; anything else it raises is a failure."""
    try:
        function()
    except HTTPProblem as problem:
        return problem.status
    return 200


@given(st.binary(max_size=200))
def test_no_bytes_break_the_gate(data: bytes) -> None:
    assert status_of(lambda: inflate(data, "gzip")) in (200, 400, 413)
    assert status_of(lambda: parse_envelope(data)) in (200, 400, 422)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(["survey", "period", "device", "segment", "extra"]), JSON),
    st.lists(JSON, max_size=5) | JSON,
)
def test_no_json_breaks_the_gate(changes: dict[str, Any], reports: Any) -> None:
    good = {"survey": "test", "period": today(), "device": "A" * 22, "reports": reports}
    status = status_of(lambda: parse_envelope(json.dumps(good | changes).encode()))
    assert status in (200, 400, 422)
    assert status != 200 or (isinstance(reports, list) and "extra" not in changes)
