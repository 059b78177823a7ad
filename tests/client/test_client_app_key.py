"""The key of an app: sent with every request, and found nowhere else."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from client_kit import Collector, reply

from deniable.client import Client
from deniable.protocol.errors import ParameterError

KEY = "Xq3-_0123456789abcdefghijklmnopqrstuvwxyzAB"


def test_it_is_one_more_header(start: Any, heard: Collector) -> None:
    client = start(url=heard.url, consent="on", app_key=KEY)
    client.record("dark", True)
    assert client.flush(force=True).sent == 1
    headers = heard.requests[0].headers
    assert headers.pop("Deniable-App-Key") == KEY
    headers.pop("Content-Length")
    assert headers == {
        "Host": heard.url.removeprefix("http://"),
        "User-Agent": "deniable/1",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "Content-Encoding": "gzip",
    }


def test_it_is_in_no_file_and_no_log(
    start: Any, heard: Collector, store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        client = start(url=heard.url, consent="on", app_key=KEY)
        client.record("dark", True)
        client.flush(force=True)
        assert KEY not in repr(client.status())
        files = [path for path in store.parent.rglob("*") if path.is_file()]
        assert store in files
        assert all(KEY.encode() not in path.read_bytes() for path in files)
        client.close()
    assert KEY not in caplog.text


@pytest.mark.parametrize("status", [401, 403])
def test_a_retired_key_pauses_and_keeps_what_waits(
    status: int, start: Any, heard: Collector
) -> None:
    heard.answer = lambda handler, count: reply(handler, status)
    client = start(url=heard.url, consent="on", app_key=KEY)
    client.record("dark", True)
    assert client.flush(force=True).kept == 1
    assert client.status().queued == 1
    assert "wants no reports" in client.status().reason


BAD = [
    "",
    "short",
    "x" * 15,
    "x" * 129,
    f"{KEY}\r\nX-Other: 1",
    f"{KEY} ",
    "é" * 20,
    7,
    KEY.encode(),
]


@pytest.mark.parametrize("key", BAD)
def test_what_is_no_key_is_refused(key: Any, store: Path, start: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        start(app_key=key)
    assert str(caught.value).startswith("app_key must be 16..128 letters, digits, '-' and '_'")
    assert not store.exists()
    with Client(start()._engine._survey, "http://127.0.0.1:9", store, app_key=key) as silent:
        status = silent.status()
    assert status.state == "silent"
    assert status.reason.startswith("app_key must be")
    if len(str(key)) > 15:
        assert str(key) not in status.reason
