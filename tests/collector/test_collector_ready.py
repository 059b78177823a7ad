"""``/readyz``: which check fails, in bounded time, and that it passes again by itself."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from collector_kit import InProcess, Reply, make_survey, new_device, request_body
from key_places import until

from deniable.collector import readiness
from deniable.collector.readiness import Check, Readiness, require

SURVEY = make_survey({"yes": {}})
SECRET = "hunter2"

Start = Callable[..., InProcess]


@pytest.fixture(autouse=True)
def always_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_FRESH_SECONDS", 0.0)


def ask(collector: InProcess) -> Reply:
    started = time.monotonic()
    reply = collector.ask("GET", "/readyz")
    assert time.monotonic() - started < 2
    return reply


def check_unready(collector: InProcess, *names: str) -> None:
    reply = ask(collector)
    assert reply.status == 503
    assert reply.headers["content-type"] == "application/problem+json"
    assert int(reply.headers["retry-after"]) > 0
    faults = reply.json["detail"].split("; ")
    assert [fault.partition(":")[0] for fault in faults] == list(names)
    assert SECRET not in reply.body.decode()
    assert "/" not in reply.json["detail"], "a path"


def test_ready(start: Start) -> None:
    collector = start(SURVEY)
    collector.post(request_body(SURVEY, new_device(), period="2026-11-30"))
    reply = ask(collector)
    assert (reply.status, reply.body) == (200, b"ok\n")


def test_a_store_that_cannot_be_written(start: Start) -> None:
    """A transaction that does not end holds the writer up; nobody waits for it."""
    collector = start(SURVEY)
    inside, leave = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        inside.set()
        leave.wait(30)

    thread = threading.Thread(target=collector.collector.writer.run, args=(hold,))
    thread.start()
    try:
        assert inside.wait(10)
        check_unready(collector, "store")
        check_unready(collector, "store")
    finally:
        leave.set()
        thread.join()
    until(lambda: ask(collector).status == 200)


def test_a_disk_that_is_almost_full(start: Start) -> None:
    check_unready(start(SURVEY, min_free_bytes=2**62), "disk")


def test_no_survey(start: Start) -> None:
    check_unready(start(), "survey")


def test_a_key_that_is_missing(start: Start, tmp_path: Path) -> None:
    collector = start(SURVEY)
    collector.post(request_body(SURVEY, new_device(), period="2026-11-30"))
    place = tmp_path / "collector.db-keys" / "test.2026-11-30.key"
    key = place.read_bytes()
    place.unlink()
    check_unready(collector, "keys")
    place.write_bytes(key)
    assert ask(collector).status == 200


def test_a_flood_storage_that_is_down(start: Start) -> None:
    url = f"redis://deniable:{SECRET}@127.0.0.1:1"
    check_unready(start(SURVEY, flood_storage=url), "flood")


def test_it_is_logged_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    fine = [False]
    checks = Readiness({"store": Check("no", lambda: require(fine[0], "of a reason"))})
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            assert checks.faults() == ["store: no"]
        fine[0] = True
        assert [checks.faults() for _ in range(2)] == [[], []]
    assert caplog.messages == ["not ready: store: of a reason", "store: in order again"]


def test_a_check_that_hangs_is_not_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "PATIENCE", 0.05)
    begun, leave = [], threading.Event()

    def hang() -> None:
        begun.append(1)
        leave.wait(30)

    checks = Readiness({"keys": Check("no", hang), "disk": Check("no", lambda: None)})
    assert [checks.outcomes() for _ in range(3)] == [{"keys": False, "disk": True}] * 3
    assert len(begun) == 1
    leave.set()
    until(lambda: checks.outcomes()["keys"])


def test_what_a_check_did_not_foresee_is_a_failure() -> None:
    checks = Readiness({"keys": Check("no", lambda: {}["x"])})  # type: ignore[index]
    assert checks.faults() == ["keys: no"]


def test_it_is_checked_once_a_second_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_FRESH_SECONDS", 60.0)
    begun: list[int] = []
    checks = Readiness({"disk": Check("no", lambda: begun.append(1))})
    for _ in range(5):
        assert checks.faults() == []
    assert len(begun) == 1
