"""The first start under a wrong clock, which is not to close for good what is to come."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from collector_kit import Clock, InProcess, make_survey, new_device, request_body

Start = Callable[..., InProcess]
SURVEY = make_survey({"yes": {}})
RIGHT = datetime(2026, 11, 30, 12, tzinfo=UTC)
WRONG = datetime(2031, 1, 1, tzinfo=UTC)


def watermark(collector: InProcess) -> datetime:
    with collector.collector.store.read() as reader:
        return reader.watermark()


def post(collector: InProcess) -> str:
    reply = collector.post(request_body(SURVEY, new_device(), period="2026-11-30")).json
    return "accepted" if reply["accepted"] else reply["rejected"][0]["code"]


def start_at(start: Start, clock: Clock, moment: datetime) -> InProcess:
    clock.moment = moment
    return start(SURVEY)


def test_a_clock_that_was_ahead_at_the_first_start(
    start: Start, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    start_at(start, clock, WRONG).collector.close()
    collector = start_at(start, clock, RIGHT)
    assert watermark(collector) == RIGHT
    assert post(collector) == "accepted"
    assert [line for line in caplog.messages if "the clock is believed" in line]
    caplog.clear()
    collector.collector.close()
    start(SURVEY)
    assert not caplog.messages


def test_a_clock_that_is_a_little_behind_changes_nothing(start: Start, clock: Clock) -> None:
    start_at(start, clock, RIGHT).collector.close()
    assert watermark(start_at(start, clock, RIGHT.replace(hour=1))) == RIGHT


@pytest.mark.parametrize("released", [False, True])
def test_what_was_counted_is_not_opened_again(start: Start, clock: Clock, released: bool) -> None:
    collector = start_at(start, clock, RIGHT)
    assert post(collector) == "accepted"
    if released:
        assert collector.release(days=8).released == 1
    collector.collector.close()
    collector = start_at(start, clock, WRONG)
    with collector.collector.store.transaction() as tx:
        tx.raise_watermark(WRONG)
    collector.collector.close()
    collector = start_at(start, clock, RIGHT)
    assert watermark(collector) == WRONG
    assert post(collector) == "period_closed"
