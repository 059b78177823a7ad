"""A client whose collector, network and surroundings mean harm."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, cast

import pytest
import requests
from client_kit import (
    DAY,
    Clock,
    Collector,
    accept,
    collector,
    question,
    reply,
    rows,
    settle,
    survey,
)

from deniable.client import outbox
from deniable.client.uploader import BETWEEN

TWO = survey({"segments": ["x", "y"]}, a=question(), b=question())


@pytest.fixture
def client(start: Any, heard: Collector) -> Any:
    """A client with two reports of one period in its queue, and no thread to send them."""
    client = start(TWO, heard.url, consent="on")
    client._engine._uploader.stop(5)
    client.record("a", True)
    client.record("b", True)
    return client


def answers(status: int, body: bytes = b"", **headers: str) -> Callable[..., None]:
    return lambda handler, count: reply(handler, status, body, **headers)


def settles(document: object) -> Callable[..., None]:
    return lambda handler, count: settle(handler, document)


# What leaves the machine


def test_headers_are_the_same_on_all_devices(client: Any, heard: Collector) -> None:
    client.flush(force=True)
    headers = heard.requests[0].headers
    length = headers.pop("Content-Length")
    assert headers == {
        "Host": heard.url.removeprefix("http://"),
        "User-Agent": "deniable/1",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "Content-Encoding": "gzip",
    }
    assert int(length) > 0


def test_gzip_tells_neither_time_nor_system(start: Any) -> None:
    bodies: list[bytes] = []

    def keep(handler: BaseHTTPRequestHandler, count: int) -> None:
        accept(handler, count)

    with collector(keep) as heard:
        original = gzip.decompress

        def note(body: bytes) -> bytes:
            bodies.append(body)
            return original(body)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("client_kit.gzip.decompress", note)
            client = start(survey(), heard.url, consent="on")
            client.record("dark", True)
            client.flush(force=True)
    assert bodies[0][4:8] == bytes(4)
    assert bodies[0][9] == 255


def test_netrc_and_proxies_are_ignored(
    client: Any, heard: Collector, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login someone password secret\n", encoding="utf-8")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    body = gzip.compress(json.dumps({"reports": []}).encode())
    requests.post(heard.url, data=body, timeout=5)
    assert "Authorization" in heard.requests[0].headers, "the trap does not work"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(requests.ConnectionError):
        requests.post(heard.url, data=body, timeout=5)
    assert client.flush(force=True).sent == 2
    assert "Authorization" not in heard.requests[1].headers


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(client: Any, heard: Collector, status: int) -> None:
    with collector() as elsewhere:
        heard.answer = answers(status, Location=f"{elsewhere.url}/v1/reports")
        assert (client.flush(force=True).sent, client.flush().kept) == (0, 2)
        assert elsewhere.requests == []
    assert len(heard.requests) == 1


def test_cookies_are_neither_kept_nor_sent(start: Any, heard: Collector, clock: Clock) -> None:
    """Two segments of one period: two requests of one pseudonym, over one connection."""

    def bake(handler: BaseHTTPRequestHandler, count: int) -> None:
        body = json.dumps({"accepted": count, "duplicate": 0, "rejected": []}).encode()
        reply(handler, 200, body, Set_Cookie="track=1; Path=/; Max-Age=999999")

    heard.answer = bake
    for segment, name in (("x", "a"), ("y", "b")):
        with start(TWO, heard.url, consent="on", segment=segment) as client:
            client.record(name, True)
    client = start(TWO, heard.url, consent="on")
    assert client.flush(force=True).sent == 2
    clock.advance(DAY)
    client.record("a", True)
    assert client.flush(force=True).sent == 1
    assert [request.document.get("segment") for request in heard.requests] == ["x", "y", None]
    assert heard.requests[0].port == heard.requests[1].port != heard.requests[2].port
    assert all("Cookie" not in request.headers for request in heard.requests)


# What a reply can do

KEPT: list[Callable[..., None]] = [
    *(answers(status) for status in (304, 408, 425, 429, 500, 502, 503, 599)),
    answers(200, b""),
    answers(204),
    answers(200, b"<html>Please log in</html>", Content_Type="text/html"),
    answers(200, b'{"accepted": 2, "duplicate": 0, "rejected": ['),
    answers(200, b"[" * 50_000),
    answers(200, b'{"accepted": 2, "duplicate": 0, "rejected": []}' + b" " * 100_000),
    answers(200, gzip.compress(b'{"accepted": 2, "duplicate": 0, "rejected": []}'),
            Content_Encoding="gzip"),
    *(settles(document) for document in (
        None, 2, [], "accepted", {},
        {"accepted": 2},
        {"accepted": 2, "duplicate": 0},
        {"accepted": 2, "duplicate": 0, "rejected": None},
        {"accepted": 1, "duplicate": 0, "rejected": []},
        {"accepted": 3, "duplicate": -1, "rejected": []},
        {"accepted": 2.0, "duplicate": 0, "rejected": []},
        {"accepted": True, "duplicate": True, "rejected": []},
        {"accepted": "2", "duplicate": 0, "rejected": []},
        {"accepted": 1, "duplicate": 0, "rejected": [None]},
        {"accepted": 1, "duplicate": 0, "rejected": [{"index": 2, "code": "expired"}]},
        {"accepted": 1, "duplicate": 0, "rejected": [{"index": -1, "code": "expired"}]},
        {"accepted": 1, "duplicate": 0, "rejected": [{"index": True, "code": "expired"}]},
        {"accepted": 1, "duplicate": 0, "rejected": [{"index": 0, "code": 7}]},
        {"accepted": 1, "duplicate": 0, "rejected": [{"index": 0}]},
        {"accepted": 0, "duplicate": 0, "rejected": [{"index": 0, "code": "expired"}] * 2},
        {"accepted": 1, "duplicate": 0, "rejected": [{"index": 0, "code": "expired"}] * 1000},
    )),
]  # fmt: skip


@pytest.mark.parametrize("answer", KEPT)
def test_a_reply_that_accounts_for_nothing_changes_nothing(
    client: Any, heard: Collector, answer: Callable[..., None]
) -> None:
    heard.answer = answer
    flushed = client.flush(force=True)
    assert (flushed.sent, flushed.kept, flushed.dropped) == (0, 2, 0)
    heard.answer = accept
    assert client.flush(force=True).sent == 2
    assert client.status().dropped == {}


def test_a_connection_that_breaks_changes_nothing(client: Any, heard: Collector) -> None:
    def slam(handler: BaseHTTPRequestHandler, count: int) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        handler.close_connection = True

    heard.answer = slam
    assert client.flush(force=True).kept == 2
    heard.answer = lambda handler, count: setattr(handler, "close_connection", True)
    assert client.flush(force=True).kept == 2


def test_an_endless_reply_is_not_read(client: Any, heard: Collector) -> None:
    ended = threading.Event()

    def flood(handler: BaseHTTPRequestHandler, count: int) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.close_connection = True
        try:
            while True:
                handler.wfile.write(b"x" * 65536)
        except OSError:
            ended.set()

    heard.answer = flood
    assert client.flush(force=True).kept == 2
    assert ended.wait(20)


@pytest.mark.parametrize("drip", [b"", b"x"])
def test_a_slow_reply_is_given_up(
    client: Any, heard: Collector, monkeypatch: pytest.MonkeyPatch, drip: bytes
) -> None:
    monkeypatch.setattr(outbox, "DEADLINE", 0.2)
    over = threading.Event()

    def dawdle(handler: BaseHTTPRequestHandler, count: int) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not over.wait(0.05):
            handler.wfile.write(drip)
        handler.close_connection = True

    heard.answer = dawdle
    started = time.monotonic()
    assert client.flush(force=True).kept == 2
    assert client.flush(force=True).kept == 2
    assert time.monotonic() - started < 5
    assert len(heard.requests) == 1, "a second request while the first one hangs"
    over.set()


@pytest.mark.parametrize(
    ("status", "reason"), [(400, "http_400"), (404, "http_404"), (413, "http_413"),
                           (415, "http_415"), (422, "http_422"), (451, "http_451")]
)  # fmt: skip
def test_a_refused_request_is_dropped_and_counted(
    client: Any, heard: Collector, status: int, reason: str
) -> None:
    heard.answer = answers(status, b"{}")
    flushed = client.flush(force=True)
    assert (flushed.sent, flushed.kept, flushed.dropped) == (0, 0, 2)
    assert client.status().dropped == {reason: 2}


@pytest.mark.parametrize("status", [401, 403])
def test_an_unwelcome_client_pauses_until_it_starts_again(
    start: Any, client: Any, heard: Collector, clock: Clock, status: int
) -> None:
    heard.answer = answers(status)
    clock.advance(2 * DAY)
    assert client.flush().kept == 2
    assert client.flush().kept == 2
    assert client._engine._outbox.send_one().sent == 0
    client._engine._uploader.resume()
    client.record("a", True)
    client._engine._uploader.stop(5)
    assert len(heard.requests) == 1
    assert "401 or 403" in client.status().reason
    client.close()
    heard.answer = accept
    clock.advance(timedelta(hours=1))
    again = start(TWO, heard.url, consent="on")
    heard.wait_for(2)
    assert again.status().reason == ""


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (answers(503), "HTTP 503"),
        (answers(302, Location="http://127.0.0.1:9"), "HTTP 302"),
        (answers(404), "HTTP 404"),
        (answers(200, b"<html>Please log in</html>"), "garbled reply"),
        (lambda handler, count: setattr(handler, "close_connection", True), "no connection"),
        (
            lambda handler, count: handler.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: "
                                                       b"chunked\r\n\r\nx\r\n"),
            "broken reply",
        ),
    ],
)  # fmt: skip
def test_a_failed_exchange_is_told_until_one_succeeds(
    client: Any, heard: Collector, clock: Clock, answer: Callable[..., None], words: str
) -> None:
    heard.answer = answer
    client.flush(force=True)
    status = client.status()
    assert status.state == "on"
    assert status.reason == f"the last exchange with the collector failed ({words})"
    heard.answer = accept
    clock.advance(DAY)
    client.record("a", True)
    assert client.flush(force=True).sent > 0
    assert client.status().reason == ""


def test_a_collector_that_is_not_there_is_told(start: Any, client: Any) -> None:
    lost = start(TWO, "http://127.0.0.1:9", consent="on")
    assert lost.flush(force=True).kept == 2
    assert lost.status().reason == "the last exchange with the collector failed (no connection)"
    secure = start(TWO, client._engine._transport._url.replace("http:", "https:"), consent="on")
    assert secure.flush(force=True).kept == 2
    assert (
        secure.status().reason
        == "the last exchange with the collector failed (no secure connection)"
    )


def test_a_collector_that_does_not_answer_is_told(
    client: Any, heard: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "DEADLINE", 0.2)
    over = threading.Event()
    heard.answer = lambda handler, count: (over.wait(20), None)[1]
    for _ in range(2):
        assert client.flush(force=True).kept == 2
        assert client.status().reason == "the last exchange with the collector failed (timed out)"
    over.set()


def test_rejected_reports_are_dropped_and_their_neighbours_counted(
    client: Any, heard: Collector
) -> None:
    heard.answer = settles(
        {"accepted": 0, "duplicate": 1, "rejected": [{"index": 1, "code": "wrong_hash"}]}
    )
    flushed = client.flush(force=True)
    assert (flushed.sent, flushed.kept, flushed.dropped) == (1, 0, 1)
    assert client.status().dropped == {"wrong_hash": 1}


def test_an_invented_code_is_counted_under_no_name_of_its_own(
    client: Any, heard: Collector
) -> None:
    heard.answer = settles({
        "accepted": 1, "duplicate": 0, "rejected": [{"index": 0, "code": "x" * 1000}],
    })  # fmt: skip
    client.flush(force=True)
    assert client.status().dropped == {"rejected": 1}


def test_a_report_too_early_is_kept(client: Any, heard: Collector) -> None:
    heard.answer = settles(
        {"accepted": 1, "duplicate": 0, "rejected": [{"index": 0, "code": "period_future"}]}
    )
    flushed = client.flush(force=True)
    assert (flushed.sent, flushed.kept, flushed.dropped) == (1, 1, 0)
    heard.answer = accept
    client.flush(force=True)
    assert [request.questions for request in heard.requests] == [["a", "b"], ["a"]]


# Retry-After

YEAR = 365 * 24 * 3600
NOW = datetime(2026, 12, 2, tzinfo=UTC)
CLOSES = datetime(2026, 12, 4, tzinfo=UTC)
"""Of the two reports of 30 November, due at NOW."""


def hold(client: Any, heard: Collector, clock: Clock, after: str, status: int = 503) -> datetime:
    """Make the collector ask for patience; return when the client tries again."""
    clock.now = NOW
    heard.answer = answers(status, Retry_After=after)
    assert client.flush().kept == 2
    heard.answer = accept
    _, resume = client._engine._store.uploads()
    return cast("datetime", resume)


def spread(client: Any, heard: Collector, clock: Clock, after: str, status: int) -> list[float]:
    """The seconds after which 20 clients that were told the same try again."""
    drawn = []
    for _ in range(20):
        client._engine._store.note_uploads(0, None)
        drawn.append((hold(client, heard, clock, after, status) - NOW).total_seconds())
    return drawn


HOUR = ["3600", "Wed, 02 Dec 2026 01:00:00 GMT", "Wed, 02 Dec 2026 02:00:00 +0100"]
ENDLESS = [str(YEAR), "9" * 4000, "Thu, 02 Dec 2027 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT"]
NO_BOUND = [
    *("", "0", "soon", "-5", "1e9", "0x10", "\N{ARABIC-INDIC DIGIT THREE}", "Wed, 99 Foo 2026"),
    *("x" * 10_000, "Tue, 01 Dec 2020 00:00:00 GMT", "Wed, 02 Dec 2026 00:00:00 +9999"),
]


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("after", "least", "most"),
    [
        *((after, 3600, 3600 + 360) for after in HOUR),
        *((after, 172_800, 172_800 + 3600) for after in ENDLESS),
        *((after, 0, 10 + 30) for after in NO_BOUND),
        ("172000", 172_000, 172_000 + 400),
    ],
)
def test_a_held_client_comes_back_neither_early_nor_with_all_others(
    client: Any, heard: Collector, clock: Clock, status: int, after: str, least: int, most: int
) -> None:
    """20 draws over 30 s and more in whole seconds are all equal with odds below 31^-19.

    A year ends with the grace, after which there is nothing to wait for; just before that, the
    draw leaves time to try again; what is garbled or past leaves the client's own pause.
    """
    drawn = spread(client, heard, clock, after.encode().decode("latin-1"), status)
    assert all(least <= seconds <= most for seconds in drawn)
    assert len(set(drawn)) > 1


def test_a_client_comes_back_no_second_early(
    client: Any, heard: Collector, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store keeps whole seconds; the clock does not. The least that can be drawn is nothing."""
    monkeypatch.setattr("deniable.client.pacing.uniform", lambda length: timedelta(0))
    clock.now = NOW + timedelta(microseconds=400_000)
    heard.answer = answers(503, Retry_After="3600")
    client.flush()
    _, resume = client._engine._store.uploads()
    assert resume == NOW + timedelta(seconds=3601)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("after", HOUR[:2])
def test_nothing_at_all_is_sent_before(
    start: Any, client: Any, heard: Collector, clock: Clock, status: int, after: str
) -> None:
    """Neither the refused reports nor new ones, by no thread and no other process."""
    resume = hold(client, heard, clock, after, status)
    other = start(TWO, heard.url, consent="on")
    other._engine._uploader.stop(5)
    with client._engine._db.transaction():
        client._engine._db.write("UPDATE queue SET not_before = 0")
    client.record("a", True)
    for clock.now in (NOW, NOW + timedelta(minutes=59, seconds=59), resume - timedelta(seconds=1)):
        for each in (client, other):
            assert each.flush().sent == 0
            assert each._engine._outbox.send_one().sent == 0
            assert each._engine._uploader._round() > clock.now
    assert len(heard.requests) == 1
    clock.now = resume
    assert other.flush().sent == 2


def test_retry_after_survives_a_restart(
    start: Any, client: Any, heard: Collector, clock: Clock
) -> None:
    hold(client, heard, clock, "3600")
    client.close()
    assert start(TWO, heard.url, consent="on").flush().kept == 2
    assert len(heard.requests) == 1


@pytest.mark.parametrize("after", ENDLESS)
def test_a_retry_after_of_a_year_ends_with_the_grace(
    client: Any, heard: Collector, clock: Clock, after: str
) -> None:
    resume = hold(client, heard, clock, after)
    client.record("a", True)
    clock.now = CLOSES - timedelta(seconds=1)
    assert (client.flush().kept, client.status().dropped) == (3, {})
    clock.now = CLOSES
    client.flush()
    assert len(heard.requests) == 1
    clock.now = max(resume, CLOSES + timedelta(hours=24))
    client.flush()
    assert [r.document["period"] for r in heard.requests] == ["2026-11-30", "2026-12-02"]
    assert client.status().dropped == {"period_closed": 2}
    assert client.status().sent == 1


def test_the_thread_waits_between_attempts(client: Any, heard: Collector, clock: Clock) -> None:
    """What it does each time it is woken, without the thread: at most one attempt per pause."""
    heard.answer = answers(503)
    clock.now = datetime(2026, 12, 2, tzinfo=UTC)
    uploader = client._engine._uploader
    pauses = []
    for attempt in range(1, 13):
        until = uploader._round()
        assert len(heard.requests) == attempt
        pauses.append(until - clock.now)
        if until > clock.now:
            assert uploader._round() == until
            assert len(heard.requests) == attempt
        clock.now = until
    assert max(pauses) > timedelta(seconds=10), "12 pauses of up to 10, 20, … 3600 s"
    heard.answer = accept
    assert uploader._round() - clock.now <= BETWEEN
    assert client.status().sent == 2


def test_what_is_too_late_is_dropped_without_being_sent(
    client: Any, heard: Collector, clock: Clock
) -> None:
    clock.now = datetime(2026, 12, 4, tzinfo=UTC)
    flushed = client.flush(force=True)
    assert (flushed.sent, flushed.kept, flushed.dropped) == (0, 0, 2)
    assert heard.requests == []
    assert rows(client._path, "SELECT * FROM queue") == []
