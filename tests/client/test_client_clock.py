"""A clock that shows a time that cannot be: nothing is recorded, sent or thrown away by it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, NOON, Clock, Collector, choice, question, rows, survey

from deniable.client.timekeeping import AHEAD, BEHIND, TRUSTED_AFTER, Seen, judge

HOUR = timedelta(hours=1)
MIDNIGHT = datetime(2026, 11, 30, tzinfo=UTC)
ODD = "the clock shows a time that cannot be"


# The judgement


@pytest.mark.parametrize(
    "now", [MIDNIGHT - BEHIND, MIDNIGHT, NOON, MIDNIGHT + DAY, MIDNIGHT + AHEAD]
)
@pytest.mark.parametrize("odd", [None, NOON - 99 * DAY, NOON + 9999 * DAY])
def test_a_clock_that_goes_on_is_believed(now: datetime, odd: datetime | None) -> None:
    believed, after = judge(Seen(MIDNIGHT, odd), now)
    assert believed
    assert after == Seen(max(MIDNIGHT, now.replace(hour=0)))


def test_the_first_clock_is_believed() -> None:
    assert judge(Seen(None), NOON) == (True, Seen(MIDNIGHT))


@pytest.mark.parametrize(
    "now", [datetime(1970, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
)
def test_an_absurd_clock_teaches_nothing(now: datetime) -> None:
    for seen in (Seen(None), Seen(MIDNIGHT), Seen(MIDNIGHT, NOON - DAY)):
        assert judge(seen, now) == (False, seen)


@pytest.mark.parametrize(
    "step", [-BEHIND - timedelta(seconds=1), -40 * DAY, AHEAD + HOUR, 3 * AHEAD]
)
def test_an_odd_clock_is_believed_after_a_day_of_its_own(step: timedelta) -> None:
    odd = MIDNIGHT + step
    believed, seen = judge(Seen(MIDNIGHT), odd)
    assert (believed, seen) == (False, Seen(MIDNIGHT, odd))
    for later in (timedelta(0), HOUR, TRUSTED_AFTER - timedelta(seconds=1)):
        if odd + later < MIDNIGHT - BEHIND or step > timedelta(0):
            assert judge(seen, odd + later) == (False, seen)
    assert judge(seen, odd + TRUSTED_AFTER)[0]


def test_an_odd_clock_that_jumps_again_begins_anew() -> None:
    _, seen = judge(Seen(MIDNIGHT), NOON - 40 * DAY)
    for jump in (NOON - 41 * DAY, NOON - 40 * DAY + AHEAD + 99 * DAY):
        believed, after = judge(seen, jump)
        assert (believed, after) == (False, Seen(MIDNIGHT, jump))


# A client


def asked() -> Any:
    return survey(
        dark=question(grace=30),
        left=choice("a", "b", default="a", grace=30),
        once=question(period="once"),
    )


def contents(store: Path) -> list[Any]:
    """All that a clock may not change."""
    tables = ("ledger", "answered", "queue", "seen")
    return [rows(store, f"SELECT * FROM {table} ORDER BY 1, 2, 3") for table in tables]


@pytest.mark.parametrize("step", [-2 * DAY, -40 * DAY, AHEAD + 2 * DAY, 3 * AHEAD])
def test_nothing_happens_while_the_clock_is_odd(
    start: Any, clock: Clock, store: Path, heard: Collector, step: timedelta
) -> None:
    """Reports whose grace is over by it, too, are kept; even a forced flush sends none."""
    client = start(asked(), heard.url, consent="on")
    client.record("dark", True)
    before = contents(store)
    clock.advance(step)
    for hours in (0, 12, 23):
        clock.now = NOON + step + hours * HOUR
        client.record("dark", True)
        client.record("dark", True, wait=False)
        client.record_many({"once": True})
        assert client.status().reason.startswith(ODD)
        client._engine._uploader.wake()
        assert client.flush(force=True).kept == 1
        with start(asked(), heard.url, consent="on") as another:
            assert another.status().reason.startswith(ODD)
        assert contents(store) == before
    assert client.status().dropped == {"clock": 9}
    assert heard.requests == []
    clock.now = NOON + HOUR
    assert client.status().reason == ""
    client.record("once", True)
    assert client.flush(force=True).sent == 2
    assert rows(store, "SELECT odd FROM device") == [(None,)]


def test_a_device_that_was_off_for_years_goes_on_after_a_day(
    start: Any, clock: Clock, store: Path, heard: Collector
) -> None:
    client = start(asked(), heard.url, consent="on")
    client.record("dark", True)
    clock.advance(AHEAD + 400 * DAY)
    client.flush()
    clock.advance(TRUSTED_AFTER)
    client.record("dark", True)
    client.flush()
    assert client.status().dropped == {"period_closed": 1}
    found = rows(store, "SELECT period FROM queue JOIN ledger USING (number) ORDER BY question")
    assert (clock.now.date().isoformat(),) in found
    assert ("2026-11-30",) not in found
    assert client.status().reason == ""


def test_a_device_that_was_off_for_a_year_goes_on_at_once(
    start: Any, clock: Clock, heard: Collector
) -> None:
    client = start(asked(), heard.url, consent="on")
    clock.advance(365 * DAY)
    client.record("dark", True)
    assert client.status().dropped == {}
    assert client.flush(force=True).sent > 0


def test_a_clock_that_was_ahead_and_is_right_again(
    start: Any, clock: Clock, store: Path, heard: Collector
) -> None:
    """It was believed, so the right one is odd for a day; then all is as it was."""
    client = start(asked(), heard.url, consent="on")
    clock.advance(200 * DAY)
    client.record("dark", True)
    client._engine._store.note_uploads(3, clock.now + DAY)
    clock.now = NOON + HOUR
    client.record("dark", True)
    assert client.status().dropped["clock"] == 1
    clock.advance(TRUSTED_AFTER)
    client.record("dark", True)
    periods = rows(store, "SELECT period FROM answered WHERE state IS NULL")
    assert ("2026-12-01",) in periods
    assert client._engine._store.uploads() == (0, None)


def test_a_store_made_by_a_clock_far_ahead_recovers(
    start: Any, clock: Clock, store: Path, heard: Collector
) -> None:
    """Neither its once answers nor its defaults wait until that time comes."""
    clock.now = NOON.replace(year=2100)
    start(asked(), heard.url, consent="on").close()
    clock.now = NOON
    client = start(asked(), heard.url, consent="on")
    clock.advance(TRUSTED_AFTER)
    client.record("once", True)
    clock.advance(3 * DAY)
    assert client.flush(timeout=60).sent > 0
    names = {name for _, name, _ in heard.reports}
    assert names == {"once", "left"}


def test_an_answer_stored_late_is_not_odd(start: Any, clock: Clock, store: Path) -> None:
    """Another thread, or process, may have seen the next day before it is stored."""
    client = start(survey(a=question(), b=question()))
    late = client._engine._recorder.read("a", True, MIDNIGHT + DAY - timedelta(seconds=1))
    clock.now = MIDNIGHT + DAY + timedelta(seconds=1)
    client.record("b", True)
    assert client._engine._recorder.record([late]) == ["queued"]
    sql = "SELECT question, period FROM answered JOIN ledger USING (number) ORDER BY question"
    assert rows(store, sql) == [
        ("a", "2026-11-30"),
        ("b", "2026-12-01"),
    ]


def test_a_store_keeps_the_day_and_no_time_of_it(start: Any, clock: Clock, store: Path) -> None:
    client = start(asked())
    for _ in range(3):
        client.record("dark", True)
        clock.advance(timedelta(hours=3))
    client.status()
    ((born, latest, odd),) = rows(store, "SELECT born, latest, odd FROM device")
    assert (born, latest, odd) == (*[MIDNIGHT.timestamp()] * 2, None)


# A store made today


@pytest.mark.parametrize("consent", ["on", "ask"])
def test_a_store_made_today_holds_every_report_until_tomorrow(
    start: Any, clock: Clock, heard: Collector, store: Path, consent: str
) -> None:
    """A device that lives for hours would draw its secret anew each time."""
    client = start(
        survey(once=question(period="once"), dark=question()), heard.url, consent=consent
    )
    client.opt_in()
    client.record("once", True)
    client.record("dark", True)
    ((first,),) = rows(store, "SELECT min(not_before) FROM queue")
    assert first >= (MIDNIGHT + DAY).timestamp()
    clock.now = MIDNIGHT + DAY - timedelta(seconds=1)
    assert (client.flush().sent, heard.requests) == (0, [])
    clock.now = MIDNIGHT + 2 * DAY + timedelta(seconds=1)
    assert client.flush(timeout=60).sent == 2


def test_an_older_store_lets_once_reports_go_the_same_day(
    start: Any, clock: Clock, store: Path
) -> None:
    """The moment is drawn over a day from now: 60 of 60 are beyond today with odds of 2^-60."""
    start().close()
    clock.advance(10 * DAY)
    names = [f"q{number}" for number in range(60)]
    more = survey(
        {"linkable": True}, **{name: question(period="once", epsilon=1) for name in names}
    )
    client = start(more, consent="on")
    client.record_many(dict.fromkeys(names, True))
    ((first,),) = rows(store, "SELECT min(not_before) FROM queue")
    assert clock.now.timestamp() <= first < (clock.now + DAY / 2).timestamp()


def test_a_preview_knows_that_nothing_leaves_on_the_day_of_its_store(
    start: Any, clock: Clock
) -> None:
    client = start(asked(), consent="on")
    preview = client.preview("once", True)
    assert (preview.earliest, preview.latest) == (MIDNIGHT + DAY, MIDNIGHT + 2 * DAY)
    clock.advance(3 * DAY)
    assert client.preview("once", True).earliest == clock.now


# Around midnight


def test_a_clock_is_corrected_by_ten_minutes_at_most() -> None:
    minutes, seen = timedelta(minutes=10), Seen(MIDNIGHT)
    assert judge(seen, MIDNIGHT - minutes) == (True, seen)
    assert not judge(seen, MIDNIGHT - minutes - timedelta(seconds=1))[0]


def test_a_clock_corrected_over_midnight_answers_the_day_before(
    start: Any, clock: Clock, store: Path
) -> None:
    """Though what is settled of the next day is remembered."""
    client = start(survey(), consent="on")
    for minute in (1, -1):
        clock.now = MIDNIGHT + DAY + timedelta(minutes=minute)
        client.record("dark", True)
    found = rows(store, "SELECT period FROM answered ORDER BY period")
    assert found == [("2026-11-30",), ("2026-12-01",)]


# What an odd clock put off


def test_a_clock_that_is_right_again_ends_a_pause_that_it_began(start: Any) -> None:
    """Without a thread, which may have ended the pause by sending."""
    store = start()._engine._store
    store.note_uploads(3, NOON + 201 * DAY)
    found = [store.believes(NOON + step) for step in (200 * DAY, 0 * DAY, DAY)]
    assert found == [True, False, True]
    assert store.uploads() == (0, None)


def test_a_clock_far_ahead_throws_away_nothing_that_waits_for_a_yes(
    start: Any, clock: Clock
) -> None:
    client = start(survey())
    client.record("dark", True)
    clock.advance(400 * DAY)
    flushed = client.flush()
    assert (flushed.kept, flushed.dropped) == (1, 0)
    clock.advance(DAY)
    assert client.flush().dropped == 1


def test_defaults_are_decided_again_after_a_clock_that_was_ahead(
    start: Any, clock: Clock, store: Path
) -> None:
    """By a process that lives through it."""
    client = start(asked())
    for moment in (NOON + 200 * DAY, NOON, NOON + DAY, NOON + 2 * DAY):
        clock.now = moment
        client.flush()
    assert ("2026-12-01",) in rows(store, "SELECT period FROM answered WHERE period < '2027'")
