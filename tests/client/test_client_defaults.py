"""Silence says nothing: a question with a default is answered when its period has passed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, Clock, Collector, choice, question, responses, rows, survey

from deniable.protocol.derivation import permanent_response

SIDES = [f"side {number}" for number in range(64)]


def asked(**changes: Any) -> Any:
    details = {"mechanism": "oue", "default": SIDES[5], "grace": 3, **changes}
    return survey(
        {"linkable": True},
        bits=choice(*SIDES, **details),
        dark=question(period=details.get("period", "day")),
    )


def periods(store: Path, name: str = "bits") -> list[str]:
    found = rows(
        store,
        "SELECT period FROM queue JOIN ledger USING (number) WHERE question = ? ORDER BY period",
        name,
    )
    return [period for (period,) in found]


def test_a_default_is_decided_at_the_next_start(start: Any, clock: Clock, store: Path) -> None:
    start(asked()).close()
    assert periods(store) == []
    clock.advance(DAY)
    start(asked()).close()
    assert periods(store) == ["2026-11-30"]
    assert periods(store, "dark") == []


def test_a_default_is_an_answer_like_any_other(start: Any, clock: Clock, store: Path) -> None:
    start(asked()).close()
    clock.advance(DAY)
    with start(asked()) as client:
        client.record("bits", SIDES[5])
    default, recorded = responses(store, "bits")
    assert default == recorded
    ((secret,),) = rows(store, "SELECT secret FROM device")
    own = asked().questions["bits"]
    permanent = permanent_response(secret, own, 5)
    assert permanent is not None
    assert own.mechanism.shape.pack(permanent) == default


def test_a_recorded_answer_is_not_overruled(start: Any, clock: Clock, store: Path) -> None:
    with start(asked()) as client:
        client.record("bits", SIDES[9])
        before = responses(store, "bits")
        clock.advance(DAY)
        client.flush()
    start(asked()).close()
    assert responses(store, "bits") == before


@pytest.mark.parametrize("act", ["record", "flush"])
def test_a_process_that_lives_on_decides_it_too(
    start: Any, clock: Clock, store: Path, act: str
) -> None:
    client = start(asked())
    for _ in range(3):
        clock.advance(DAY)
        if act == "record":
            client.record("dark", True)
        else:
            client.flush()
    assert periods(store) == ["2026-11-30", "2026-12-01", "2026-12-02"]


def test_the_thread_decides_it_before_it_sends(start: Any, clock: Clock, heard: Collector) -> None:
    """Otherwise what was recorded would travel apart from what was not."""
    client = start(asked(period="week"), heard.url, consent="on")
    client.record("dark", True)
    clock.now = datetime(2026, 12, 8, 12, tzinfo=UTC)
    client._engine._uploader.wake()
    heard.wait_for(1)
    assert heard.requests[0].document["period"] == "2026-W49"
    assert heard.requests[0].questions == ["bits", "dark"]


def test_only_periods_within_grace_are_decided(start: Any, clock: Clock, store: Path) -> None:
    start(asked()).close()
    clock.advance(30 * DAY)
    start(asked()).close()
    assert periods(store) == ["2026-12-27", "2026-12-28", "2026-12-29"]


def test_only_periods_since_the_question_was_seen_are_decided(
    start: Any, clock: Clock, store: Path
) -> None:
    start(survey()).close()
    clock.advance(2 * DAY)
    start(asked()).close()
    clock.advance(DAY)
    start(asked()).close()
    assert periods(store) == ["2026-12-02"]


def test_a_new_version_is_seen_anew(start: Any, clock: Clock, store: Path) -> None:
    start(asked()).close()
    clock.advance(DAY)
    start(asked(version=2)).close()
    assert periods(store) == []
    clock.advance(DAY)
    start(asked(version=2)).close()
    assert periods(store) == ["2026-12-01"]


def test_a_default_is_decided_for_the_period_in_which_the_question_expired(
    start: Any, clock: Clock, store: Path
) -> None:
    """Those who answered by Wednesday are reported, so those who did not must be, too."""
    last = {"period": "week", "grace": 10, "expires": date(2026, 12, 2)}
    start(asked(**last)).close()
    clock.now = datetime(2026, 12, 8, tzinfo=UTC)
    start(asked(**last)).close()
    clock.now = datetime(2026, 12, 16, tzinfo=UTC)
    start(asked(**last)).close()
    assert [
        period
        for (period,) in rows(store, "SELECT period FROM answered JOIN ledger USING (number)")
    ] == ["2026-W49"]


def test_a_refused_default_costs_nothing(start: Any, clock: Clock, store: Path) -> None:
    with start(asked()) as client:
        client.record("bits", SIDES[5])
    changed = asked(ask="Something else?")
    clock.advance(DAY)
    start(changed).close()
    clock.advance(DAY)
    with start(changed) as client:
        assert client.status().epsilon_spent == 2
    assert periods(store) == ["2026-11-30"]


def test_no_default_for_the_days_on_which_the_answer_was_no(
    start: Any, clock: Clock, store: Path
) -> None:
    client = start(asked())
    client.opt_out()
    clock.advance(2 * DAY)
    client.record("dark", True)
    client.opt_in()
    client.record("dark", True)
    assert periods(store) == []
    clock.advance(DAY)
    client.record("dark", True)
    assert periods(store) == ["2026-12-02"]


def test_a_start_while_the_answer_is_no_decides_nothing(
    start: Any, clock: Clock, store: Path
) -> None:
    with start(asked()) as client:
        client.opt_out()
    clock.advance(DAY)
    start(asked()).close()
    assert periods(store) == []


def test_a_clock_that_was_set_back_decides_nothing_twice(
    start: Any, clock: Clock, store: Path
) -> None:
    start(asked()).close()
    for step in (DAY, -DAY, DAY, timedelta(hours=1)):
        clock.advance(step)
        start(asked()).close()
    assert periods(store) == ["2026-11-30"]


def test_silence_leaves_in_the_thread_as_an_answer_does(
    start: Any, heard: Collector, clock: Clock
) -> None:
    """Not only at the next call, which would tell that nobody answered."""
    client = start(survey(dark=question(default=False)), heard.url, consent="on")
    assert client._engine._uploader._thread.is_alive()
    clock.advance(2 * DAY)
    client._engine._uploader.wake()
    heard.wait_for(1)


@pytest.mark.parametrize("act", ["record", "record_many", "later"])
def test_midnight_between_an_answer_and_the_disk_makes_it_no_default(
    start: Any, clock: Clock, store: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    clock.now = datetime(2026, 11, 30, 23, 59, 59, tzinfo=UTC)
    client = start(asked(), consent="on")
    client._engine._uploader.stop(5)
    read = client._engine._read

    def before_midnight(name: str, value: object) -> Any:
        answer = read(name, value)
        clock.advance(timedelta(seconds=2))
        return answer

    monkeypatch.setattr(client._engine, "_read", before_midnight)
    with client._engine._db.lock:  # its thread can store nothing before midnight
        if act == "record_many":
            client.record_many({"bits": SIDES[9]})
        else:
            client.record("bits", SIDES[9], wait=act == "record")
    assert client.status().dropped == {}
    assert periods(store) == ["2026-11-30"]
    (response,) = responses(store, "bits")
    ((secret,),) = rows(store, "SELECT secret FROM device")
    own = asked().questions["bits"]
    permanent = permanent_response(secret, own, 9)
    assert permanent is not None
    assert own.mechanism.shape.pack(permanent) == response


def test_a_yes_under_a_clock_set_back_answers_no_day_before_it(
    start: Any, clock: Clock, store: Path
) -> None:
    client = start(asked(grace=5))
    clock.advance(-4 * DAY)
    client.opt_in()
    clock.advance(5 * DAY)
    client.flush()
    assert periods(store) == ["2026-11-30"]


def test_an_app_that_is_off_does_not_note_since_when_it_knows_a_question(
    start: Any, store: Path
) -> None:
    with start(asked(), consent="off") as client:
        client.flush()
    assert rows(store, "SELECT * FROM seen") == []
