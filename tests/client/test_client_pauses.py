"""When the collector is tried again: what a failure, a refusal and a good round put off."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from client_kit import DAY, NOON, Clock, Collector, accept, question, reply, settle, survey

from deniable.client import uploader
from deniable.client.uploader import BETWEEN

MIDNIGHT = NOON.replace(hour=0) + DAY


def sending(start: Any, heard: Collector, **questions: Any) -> Any:
    """A client with an answer to every question and without a thread of its own."""
    asked = survey({"linkable": True}, **(questions or {"dark": question()}))
    client = start(asked, heard.url, consent="on")
    client.record_many(dict.fromkeys(asked.questions, True))
    client._engine._uploader.stop(5)
    return client


def test_each_failure_in_a_row_may_double_the_pause(
    start: Any, heard: Collector, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard.answer = lambda handler, count: reply(handler, 503)
    client = sending(start, heard)
    monkeypatch.setattr("deniable.client.pacing.uniform", lambda length: length)
    for failures, seconds in enumerate((10, 20, 40, 80), start=1):
        client.flush(force=True)
        paused = client._engine._store.uploads()
        assert paused == (failures, clock.now + timedelta(seconds=seconds))


def test_a_report_that_is_too_early_makes_a_pause(start: Any, heard: Collector) -> None:
    rejected = [{"index": 0, "code": "period_future", "detail": ""}]
    document = {"accepted": 0, "duplicate": 0, "rejected": rejected}
    heard.answer = lambda handler, count: settle(handler, document)
    client = sending(start, heard)
    client.flush(force=True)
    assert client._engine._store.uploads()[0] == 1


def test_a_wait_ends_with_the_longest_grace_of_what_was_refused(
    start: Any, heard: Collector, clock: Clock
) -> None:
    """Not with the shortest: nothing is sent before, while anything of it can still count."""
    heard.answer = lambda handler, count: reply(handler, 503, Retry_After="31536000")
    client = sending(start, heard, a=question(grace=2), b=question(grace=5))
    clock.advance(DAY)
    client.flush(force=True)
    _, resume = client._engine._store.uploads()
    assert resume >= MIDNIGHT + 5 * DAY


def test_an_unwelcome_client_is_silent_however_long_it_runs(
    start: Any, heard: Collector, clock: Clock
) -> None:
    """Not only for as long as the pause after a failure."""
    heard.answer = lambda handler, count: reply(handler, 401)
    client = sending(start, heard)
    client.flush(force=True)
    clock.advance(DAY + timedelta(hours=13))
    assert client.flush().kept == 1
    assert client._engine._outbox.send_one().sent == 0
    assert len(heard.requests) == 1


def test_an_unwelcome_client_that_is_welcome_again_goes_on(
    start: Any, heard: Collector, clock: Clock
) -> None:
    heard.answer = lambda handler, count: reply(handler, 401)
    client = sending(start, heard)
    client.flush(force=True)
    heard.answer = accept
    assert client.flush(force=True).sent == 1
    assert client.status().reason == ""
    clock.advance(DAY)
    client.record("dark", True)
    clock.advance(2 * DAY)
    assert client.flush(timeout=60).sent == 1


def test_requests_of_the_thread_do_not_leave_as_one(
    start: Any, heard: Collector, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    grace = {"grace": 60}
    client = sending(start, heard, day=question(**grace), week=question(period="week", **grace))
    monkeypatch.setattr(uploader, "uniform", lambda length: length)
    clock.advance(9 * DAY)
    assert client._engine._uploader._round() == clock.now + BETWEEN
    assert len(heard.requests) == 1


def test_a_thread_waits_for_no_moment_of_a_clock_that_was_ahead(start: Any) -> None:
    thread = start()._engine._uploader
    thread._resume = NOON + 200 * DAY
    assert thread._earliest(NOON) <= NOON + BETWEEN


def test_a_thread_that_sleeps_reads_the_clock_now_and_then(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have been set, or the device may have slept."""
    thread, slept = start()._engine._uploader, []
    monkeypatch.setattr(thread.bell, "wait", slept.append)
    thread._sleep(NOON + DAY)
    assert slept == [15 * 60]
