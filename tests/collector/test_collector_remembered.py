"""An older copy of the database, put back while a key of it lives: nothing leaves a second time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from collector_kit import InProcess, make_survey, new_device, period_keys, request_body

from deniable.collector.keystore import open_keystore
from deniable.collector.keystore.checks import KEY_BYTES
from deniable.collector.release import close_periods, destroy_keys
from deniable.collector.remembered import PREFIX, Remembered, remembered
from deniable.collector.store.base import Scope
from deniable.protocol.survey import Survey

DAY = "2026-11-30"
MIXED = make_survey({"quick": {"grace": 1}, "slow": {"grace": 30}})
ONCE = make_survey({"ever": {"period": "once", "min_crowd": 3}})
Start = Callable[..., InProcess]
REASON = "the database is older than its keys: "


def names(collector: InProcess) -> set[str]:
    found = collector.collector.keys.places.names()
    return {name.removeprefix(PREFIX) for name in found if name.startswith(PREFIX)}


def send(collector: InProcess, survey: Survey, count: int, period: str) -> None:
    for _ in range(count):
        body = request_body(survey, new_device(), period=period)
        assert collector.post(body).json["accepted"] > 0


def copied(collector: InProcess, folder: Path) -> Path:
    return Path(shutil.copy(folder / "collector.db", folder / "snapshot.db"))


def put_back(collector: InProcess, snapshot: Path) -> None:
    collector.collector.close()
    shutil.copy(snapshot, collector.collector.config.store)


def test_a_quick_question_is_not_released_again(
    start: Start, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    collector = start(MIXED)
    send(collector, MIXED, 6, DAY)
    snapshot = copied(collector, tmp_path)
    send(collector, MIXED, 3, DAY)
    assert collector.release(days=3).released == 1
    assert names(collector) == {f"test.{DAY}.quick.1"}
    put_back(collector, snapshot)
    collector = start(MIXED)
    caplog.clear()
    scope = Scope("test", DAY)
    closing = collector.release()
    assert (closing.released, closing.destroyed, closing.waiting) == (0, 0, {scope})
    (line,) = [text for text in caplog.messages if text.startswith(REASON)]
    assert scope.name in line
    collector.clock.advance(days=10)
    assert collector.release().released == 0
    assert collector.release(days=14).released == 0  # nor what was not released before
    assert collector.release(days=10).released == 0
    with collector.collector.store.transaction() as tx:
        done = close_periods(tx, collector.collector.keys, collector.clock(), give_up=True)
    assert (done.released, done.destroyed, done.waiting) == (0, 2, set())
    destroy_keys(collector.collector.store, collector.collector.keys)
    assert (names(collector), period_keys(collector.collector.store.keys)) == (set(), [])
    assert set(collector.states().values()) == {"destroyed"}


def test_no_batch_is_released_again(start: Start, tmp_path: Path) -> None:
    collector = start(ONCE)
    send(collector, ONCE, 4, "once")
    snapshot = copied(collector, tmp_path)
    assert collector.release(days=7).released == 1
    assert names(collector) == {"test.once.ever.1.2026-W49"}
    send(collector, ONCE, 4, "once")
    assert collector.release(days=7).released == 1
    put_back(collector, snapshot)
    collector = start(ONCE, max_advance=timedelta(days=99))
    for _ in range(3):
        send(collector, ONCE, 4, "once")
        assert collector.release(days=7).released == 0
    with collector.collector.store.transaction() as tx:
        close_periods(tx, collector.collector.keys, collector.clock(), give_up=True)
        assert tx.open_scopes() == []
        assert tx.all_pending() == {}


def test_giving_up_takes_what_is_not_due_along(start: Start, tmp_path: Path) -> None:
    """Else a batch of next week would hold the devices of this week's."""
    collector = start(ONCE)
    send(collector, ONCE, 4, "once")
    snapshot = copied(collector, tmp_path)
    collector.release(days=7)
    put_back(collector, snapshot)
    collector = start(ONCE)
    collector.release()
    with collector.collector.store.transaction() as tx:  # the same week: no batch is due
        done = close_periods(tx, collector.collector.keys, collector.clock(), give_up=True)
    assert (done.released, done.destroyed) == (0, 1)
    assert collector.post(request_body(ONCE, new_device(), period="once")).json["accepted"] == 0


def test_a_copy_from_before_the_period_is_known(start: Start, tmp_path: Path) -> None:
    collector = start(MIXED)
    snapshot = copied(collector, tmp_path)
    send(collector, MIXED, 2, DAY)
    collector.release(days=3)
    put_back(collector, snapshot)
    collector.clock.advance(days=-3)
    collector = start(MIXED)
    send(collector, MIXED, 2, DAY)
    assert collector.release(days=3).released == 0


def test_what_a_crash_left_out_is_remembered_at_the_next_pass(start: Start) -> None:
    collector = start(MIXED)
    send(collector, MIXED, 2, DAY)
    collector.clock.advance(days=3)
    with collector.collector.store.transaction() as tx:
        close_periods(tx, collector.collector.keys, collector.clock())
    assert names(collector) == set()  # the process ended here
    collector.collector.close()
    collector = start(MIXED)
    assert names(collector) == {f"test.{DAY}.quick.1"}
    assert collector.release().waiting == set()
    assert collector.release(days=14).released == 0
    assert collector.release(days=14).released == 1
    assert names(collector) == set()


def test_what_was_destroyed_is_remembered_too(start: Start) -> None:
    survey = make_survey({"quick": {"grace": 1, "min_crowd": 5}, "slow": {"grace": 10}})
    collector = start(survey)
    collector.post(request_body(survey, new_device(), period=DAY))
    assert collector.release(days=3).destroyed == 1
    assert names(collector) == {f"test.{DAY}.quick.1"}


def test_names_are_those_of_what_left_whatever_it_is_called(tmp_path: Path) -> None:
    longest = "a" * 64
    all_of_it = {
        Remembered("test", "2026-W49", "q", 3, ""),
        Remembered("collector", "once", "left", 1, "2026-W49"),
        Remembered(longest, "once", longest, 10**6, "2026-W49"),
    }
    with closing(open_keystore(str(tmp_path / "keys"))) as places:
        for one in all_of_it:
            places.put_if_absent(one.name, bytes(KEY_BYTES))
        places.put_if_absent("collector.once.left.1", os.urandom(KEY_BYTES))
        places.put_if_absent("collector.flood.2026-11-30", os.urandom(KEY_BYTES))
        assert remembered(places) == all_of_it
    assert {one.scope for one in all_of_it} == {
        Scope("test", "2026-W49"),
        Scope("collector", "once", "left", 1),
        Scope(longest, "once", longest, 10**6),
    }
