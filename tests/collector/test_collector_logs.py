"""The log: one line for each event, of this package's own words, and nothing of a request."""

from __future__ import annotations

import io
import json
import logging
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from collector_kit import Clock, Server, make_survey, new_device, request_body, serving

from deniable.collector.logs import DiscreetHandler, install_logging

SURVEY = make_survey({"yes": {}})
SECRET = "hunter2"
LOG = logging.getLogger("deniable.collector")


def lines(server: Server) -> list[dict[str, Any]]:
    return [json.loads(line) for line in server.log.read_text().splitlines()]


def test_a_life_in_json(tmp_path: Path) -> None:
    """Start, floods that cannot be counted, stop; no password, device, address or body."""
    url = f"redis://deniable:{SECRET}@127.0.0.1:1/0"
    device = new_device()
    with serving(SURVEY, tmp_path, "--log-format", "json", "--flood-storage", url) as server:
        body = request_body(SURVEY, device)
        assert server.post(body).status == 503
        assert server.post({**body, "survey": "elsewhere"}).status == 404
        assert server.post(b"{").status == 400
        assert server.stop() == 0
        start, check, flood, stop = lines(server)
    assert {"level": "info", "event": "start", "store": str(server.store)}.items() <= start.items()
    assert start["flood"] == "redis://deniable@127.0.0.1:1/0"
    assert start["keys"] == f"{server.store}-keys"
    assert (check["level"], check["event"]) == ("error", "check")
    assert check["message"] == "not ready: flood: requests cannot be counted"
    assert (flood["level"], flood["event"]) == ("error", "flood")
    assert (stop["level"], stop["event"]) == ("info", "stop")
    for line in (start, check, flood, stop):
        assert datetime.fromisoformat(line["time"]).utcoffset() is not None
    text = server.log.read_text()
    for word in (SECRET, device, body["reports"][0]["hash"], "elsewhere"):
        assert word not in text
    assert "127.0.0.1:1" in text
    assert str(server.port) not in text


@pytest.fixture(params=["text", "json"])
def form(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def log(form: str) -> Iterator[io.StringIO]:
    """What the handler writes of everything that is logged meanwhile."""
    stream = io.StringIO()
    handler = DiscreetHandler(form, stream)
    root = logging.getLogger()
    level = LOG.level
    root.addHandler(handler)
    LOG.setLevel(logging.INFO)
    yield stream
    LOG.setLevel(level)
    root.removeHandler(handler)


def test_a_line_is_one_line(log: io.StringIO, form: str) -> None:
    LOG.warning("first\nsecond\r\nthird", extra={"event": "test", "survey": "acme"})
    (line,) = log.getvalue().splitlines()
    if form == "json":
        document = json.loads(line)
        assert set(document) == {"time", "level", "event", "message", "survey"}
        assert document["message"] == "first / second / third"
        assert document["survey"] == "acme"
    else:
        assert line.endswith(" deniable-collector: warning: test: first / second / third")


def test_an_event_without_a_name_is_that_of_its_module(log: io.StringIO) -> None:
    LOG.error("something")
    assert "test_collector_logs" in log.getvalue()


def test_of_libraries_only_the_place_of_an_exception_is_kept(log: io.StringIO) -> None:
    """Neither a message nor a field that a library, or a caller, adds."""
    other = logging.getLogger("waitress")
    other.error("from %s", SECRET)
    assert log.getvalue() == ""
    try:
        raise ValueError(SECRET)
    except ValueError:
        other.exception("serving %s", SECRET)
    assert SECRET not in log.getvalue()
    assert "ValueError at " in log.getvalue()
    assert len(log.getvalue().splitlines()) == 1
    LOG.error("kept", extra={"device": SECRET, "address": SECRET})
    assert SECRET not in log.getvalue()


def test_a_log_that_nobody_reads_stops_nothing(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as stream:
        handler = DiscreetHandler("text", stream)
    handler.emit(logging.LogRecord("deniable.x", logging.ERROR, "x.py", 1, "text", None, None))


def test_a_thread_that_dies_says_where_and_not_with_what(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    root = logging.getLogger()
    before, level, own = root.handlers[:], root.level, logging.getLogger("deniable").level
    try:
        install_logging("json")

        def work() -> None:
            raise ValueError(SECRET)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        root.handlers[:] = before
        root.setLevel(level)
        logging.getLogger("deniable").setLevel(own)
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["message"].startswith("ValueError at ")
    assert SECRET not in line


def test_a_release_says_how_much(
    start: Any, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    collector = start(SURVEY)
    collector.post(request_body(SURVEY, new_device(), period="2026-11-30"))
    with caplog.at_level(logging.INFO, "deniable.collector"):
        collector.release()
        assert caplog.messages == []
        collector.release(days=9)
    assert caplog.messages == ["released 1, destroyed 0"]
