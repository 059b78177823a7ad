"""Reading over HTTP: the token stays where it belongs, and every answer is bounded."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from survey_documents import make_survey
from tally_places import TOKEN, Server, serving, tally

from deniable.analysis import estimate, periods, remote
from deniable.protocol.errors import DocumentError, SourceError

DARK = make_survey().questions["dark_mode"]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        made.hold([tally(DARK, [700, 300])])
        yield made


def test_the_token_is_sent_and_nothing_else(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))
    assert estimate("dark_mode", server.url + "/", token=TOKEN)[0].n == 1000
    assert [path for path, _ in server.seen] == ["/v1/periods", "/v1/tallies/acme-editor/dark_mode"]
    for _, headers in server.seen:
        assert headers["Authorization"] == f"Bearer {TOKEN}"
        assert "Cookie" not in headers


def test_no_proxy_sees_plain_http(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    assert periods(server.url, token=TOKEN).states


def test_cookies_are_not_kept(server: Server) -> None:
    server.put("/v1/periods", {"periods": []}, Set_Cookie="seen=1")
    for _ in range(2):
        periods(server.url, token=TOKEN)
    assert all("Cookie" not in headers for _, headers in server.seen)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(status: int, server: Server) -> None:
    with serving() as elsewhere:
        elsewhere.hold([])
        server.put("/v1/periods", b"", status, Location=elsewhere.url + "/v1/periods")
        with pytest.raises(SourceError, match="it redirects elsewhere"):
            periods(server.url, token=TOKEN)
        assert elsewhere.seen == []


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://collector.example", "use https:// for collector.example"),
        ("http://127.0.0.1.evil.example/", "use https:// for 127.0.0.1.evil.example"),
        ("https://", "must be like https://"),
        ("https://user:pass@collector.example", "put the token in DENIABLE_TOKEN"),
        ("https://collector.example/?a=b", "must be like https://"),
        ("https://[::1", "malformed"),
        ("https://collector.example:99999", "malformed"),
        ("postgresql://somewhere/db", "postgresql:// cannot be read"),
    ],
)
def test_addresses_that_are_refused(url: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        periods(url, token=TOKEN)


@pytest.mark.parametrize("token", ["a b", "a\nHost: evil", "ключ", "x" * 513])
def test_tokens_that_are_none(token: str, server: Server) -> None:
    with pytest.raises(SourceError, match="DENIABLE_TOKEN is no token"):
        periods(server.url, token=token)
    assert server.seen == []


@pytest.mark.parametrize("token", [None, ""])
def test_no_token(token: str | None, server: Server) -> None:
    with pytest.raises(SourceError, match="needs a token; set DENIABLE_TOKEN"):
        periods(server.url, token=token)


def test_refusals_are_told_in_one_line(server: Server) -> None:
    with pytest.raises(SourceError, match="the token is not accepted"):
        periods(server.url, token="another")
    server.put("/v1/periods", {"title": "Busy", "detail": "too\nmany \x1b[2Jtellers"}, 503)
    with pytest.raises(SourceError, match=r"status 503, too many  \[2Jtellers$"):
        periods(server.url, token=TOKEN)
    server.put("/v1/periods", b"<html>gone", 502)
    with pytest.raises(SourceError, match=r"status 502$"):
        periods(server.url, token=TOKEN)
    with pytest.raises(SourceError, match="status 404, no such thing"):
        periods(server.url, token=TOKEN, survey="a/../b?")
    assert server.seen[-1][0] == "/v1/periods?survey=a%2F..%2Fb%3F"


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(SourceError, match="does not answer: no connection"):
        periods(f"http://127.0.0.1:{port}", token=TOKEN)


def test_an_answer_without_end_is_cut(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MAX_BYTES", 10**6)
    sent = []

    def pour(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(OSError):
            while len(sent) < 1000:
                handler.wfile.write(b" " * 100_000)
                sent.append(1)

    server.answers["/v1/periods"] = pour
    with pytest.raises(SourceError, match="longer than 1000000 bytes"):
        periods(server.url, token=TOKEN)
    assert len(sent) < 1000


def test_an_answer_that_never_comes_is_not_awaited(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_TIMEOUT", (0.2, 0.2))
    released = threading.Event()

    def sleep(handler: BaseHTTPRequestHandler) -> None:
        released.wait(30)

    server.answers["/v1/periods"] = sleep
    try:
        with pytest.raises(SourceError, match="it takes too long"):
            periods(server.url, token=TOKEN)
    finally:
        released.set()


def test_an_answer_that_trickles_has_a_deadline(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "_DEADLINE", 0.3)
    given_up = threading.Event()

    def trickle(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not given_up.wait(0.02):
                handler.wfile.write(b" ")

    server.answers["/v1/periods"] = trickle
    try:
        with pytest.raises(SourceError, match=r"takes longer than 0\.3 s"):
            periods(server.url, token=TOKEN)
    finally:
        given_up.set()


def test_an_answer_that_is_no_text(server: Server) -> None:
    server.put("/v1/periods", b"\xff")
    with pytest.raises(SourceError, match="its answer is not UTF-8"):
        periods(server.url, token=TOKEN)


def test_a_scheme_in_capitals(server: Server) -> None:
    assert periods(server.url.replace("http", "HTTP"), token=TOKEN).states


def test_a_bomb_is_not_unpacked(server: Server) -> None:
    bomb = gzip.compress(b" " * 10**7)
    server.put("/v1/periods", bomb, Content_Encoding="gzip")
    with pytest.raises(SourceError, match="compresses though it was asked not to"):
        periods(server.url, token=TOKEN)
    assert server.seen[-1][1]["Accept-Encoding"] == "identity"


def test_a_connection_that_breaks_off(server: Server) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        handler.wfile.write(b"{")

    server.answers["/v1/periods"] = cut
    with pytest.raises(SourceError, match="its answer breaks off"):
        periods(server.url, token=TOKEN)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", "1"),
        ("version", True),
        ("state", "secret"),
        ("period", "2026-13-01"),
        ("crowd", 100),
        ("segment", "\x1b[2J"),
        ("survey", None),
    ],
)
def test_states_that_cannot_be_trusted(name: str, value: object, server: Server) -> None:
    good = json.loads(server.answers["/v1/periods"][1])["periods"][0]  # type: ignore[index]
    server.put("/v1/periods", {"periods": [{**good, name: value}]})
    with pytest.raises(DocumentError, match=r"^period states: "):
        periods(server.url, token=TOKEN)
