"""Threads that use one store: each in its turn, none for long, and a close before all others."""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from client_kit import question, rows, survey

from deniable.client import database
from deniable.client.database import Database
from deniable.client.faults import BusyStore
from deniable.client.turns import Turns, _Ticket
from deniable.protocol.errors import StoreError

DISK = 0.03


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every transaction take as long as it does on a busy disk."""
    patiently = Database._patiently

    def slowly(self: Database, act: Callable[[], Any]) -> Any:
        done = patiently(self, act)
        db = self._db
        if isinstance(done, sqlite3.Cursor) and db is not None and not db.in_transaction:
            time.sleep(DISK)
        return done

    monkeypatch.setattr(Database, "_patiently", slowly)


def wait_until(so: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not so():
        assert time.monotonic() < until
        time.sleep(0)


def wait_until_taken(lock: Any) -> None:
    """Until another thread has its turn."""

    def taken() -> bool:
        free = lock.acquire(blocking=False)
        if free:
            lock.release()
        return not free

    wait_until(taken)


def wait_for_line(turns: Turns, length: int = 1) -> None:
    """Until so many threads stand in line."""
    wait_until(lambda: len(turns._line) >= length)


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when a thread has met a file that another process holds."""
    met, wait = threading.Event(), Database._may_wait

    def may_wait(self: Database, begun: float) -> bool:
        met.set()
        return wait(self, begun)

    monkeypatch.setattr(Database, "_may_wait", may_wait)
    return met


def test_who_comes_again_is_behind_who_waits() -> None:
    turns, order = Turns(), []

    def once() -> None:
        with turns.take(20):
            order.append("other")

    other = threading.Thread(target=once)
    with turns.take(20):
        order.append("first")
        other.start()
        wait_for_line(turns)
    with turns.take(20):
        order.append("again")
    other.join(20)
    assert order == ["first", "other", "again"]


def test_who_waits_has_its_turn_in_the_order_of_coming() -> None:
    turns, order = Turns(), []

    def once(number: int) -> None:
        with turns.take(20):
            order.append(number)

    threads = [threading.Thread(target=once, args=(number,)) for number in range(8)]
    with turns.take(20):
        for number, thread in enumerate(threads):
            thread.start()
            wait_for_line(turns, number + 1)
    for thread in threads:
        thread.join(20)
    assert order == list(range(8))
    assert not turns._line


def test_who_is_gone_keeps_nobody_in_line() -> None:
    """As if the handler of a signal had raised in the last line of a wait, and been forgotten."""
    turns, got = Turns(), []

    def take() -> None:
        with turns.take(20):
            got.append(True)

    turns._line.append(weakref.ref(_Ticket()))
    other = threading.Thread(target=take)
    other.start()
    other.join(20)
    assert got


def test_a_handler_in_line_is_not_behind_what_it_interrupted() -> None:
    turns = Turns()
    below = _Ticket()
    turns._line.append(weakref.ref(below))
    with turns.take(0):
        pass
    assert list(turns._line) == [weakref.ref(below)]


def test_a_standstill_is_shorter_than_a_slow_line() -> None:
    """Each turn that begins is new patience; none that begins is none."""
    turns, over = Turns(), threading.Event()
    with turns.take(0):
        before = turns._begun

    def stay() -> None:
        with turns.take(0):
            over.wait(20)

    other = threading.Thread(target=stay)
    other.start()
    wait_until(lambda: turns._begun != before)
    turns._begun += 0.3  # as if the turn had begun only then
    started = time.monotonic()
    with pytest.raises(BusyStore), turns.take(20, standstill=0.01):
        pass
    assert 0.25 < time.monotonic() - started < 10
    over.set()
    other.join(20)


def test_a_turn_inside_of_a_turn_does_not_wait() -> None:
    """Not even while another thread is first in line, which waits for this one."""
    turns, over = Turns(), threading.Event()

    def stay() -> None:
        with turns.take(20):
            over.wait(20)

    other = threading.Thread(target=stay)
    with turns.take(0):
        other.start()
        wait_for_line(turns)
        with turns.take(0), turns.take(0):
            pass
    wait_until_taken(turns.lock)
    with pytest.raises(BusyStore, match="other threads"), turns.take(0.01):
        pass
    over.set()
    other.join(20)


def test_who_raises_in_its_turn_gives_it_back() -> None:
    turns, got = Turns(), []
    with pytest.raises(KeyboardInterrupt), turns.take(0):
        raise KeyboardInterrupt

    def take() -> None:
        with turns.take(0):
            got.append(True)

    other = threading.Thread(target=take)
    other.start()
    other.join(20)
    assert got


def test_only_some_threads_have_turns_at_the_end() -> None:
    turns = Turns()
    turns.only(None)
    for _ in range(2):
        with pytest.raises(StoreError, match="closed"), turns.take(0):
            pass
    turns.only(threading.get_ident())
    with turns.take(0):
        pass


@pytest.mark.usefixtures("slow_disk")
def test_close_is_not_kept_by_sixteen_threads(start: Any) -> None:
    """In line with the others, for each of its looks into the store, it took seconds."""
    client = start(survey(a=question(), b=question()))
    engine, busy = client._engine, threading.Barrier(17)
    calls = [
        lambda: engine._store.note_uploads(0, None),
        lambda: engine._store.keep_responses(False),
        engine.status,
        lambda: engine.flush(force=False, timeout=10),
    ]

    def call(act: Callable[[], object]) -> None:
        busy.wait(20)
        with suppress(StoreError):  # the end of a long call; the app's next one would not begin
            while True:
                act()

    threads = [threading.Thread(target=call, args=(act,)) for act in calls * 4]
    for thread in threads:
        thread.start()
    busy.wait(20)
    wait_for_line(engine._db._turns)
    started = time.monotonic()
    client.close()
    took = time.monotonic() - started
    for thread in threads:
        thread.join(20)
    assert took < 1
    status = client.status()
    assert status.reason == "the client was closed"
    assert status.epsilon_ceiling == 100, "as it was when it was closed"


def test_flush_waits_for_threads_no_longer_than_it_may(start: Any) -> None:
    client = start(survey(), consent="on")
    took = []

    def flush() -> None:
        started = time.monotonic()
        assert client.flush(timeout=0.1).sent == 0
        took.append(time.monotonic() - started)

    thread = threading.Thread(target=flush)
    with client._engine._db.lock:
        thread.start()
        thread.join(20)
        assert not thread.is_alive()
    assert took[0] < 1.5, "a second more than it may take, for a busy machine"
    assert client.status().reason == ""


def test_close_waits_for_no_thread_that_hangs_in_the_store(start: Any, store: Path) -> None:
    """As on a disk that has gone; the answer that waits cannot be stored then."""
    client = start(survey(a=question(), b=question()))
    client.record("a", True)
    engine, inside, go_on = client._engine, threading.Event(), threading.Event()

    def hang() -> None:
        with suppress(StoreError), engine._db.transaction():
            inside.set()
            go_on.wait(20)

    thread = threading.Thread(target=hang)
    thread.start()
    assert inside.wait(20)
    client.record("b", True, wait=False)
    writer = engine._writer._thread
    started = time.monotonic()
    client.close()
    assert time.monotonic() - started < 2, "a second more than it may take"
    go_on.set()
    for each in (thread, writer):
        each.join(20)
        assert not each.is_alive()
    assert rows(store, "SELECT count(*) FROM queue") == [(1,)]


def test_several_threads_close_at_once(start: Any, store: Path) -> None:
    client = start(survey(a=question(), b=question()))
    client.record("a", True)
    client.record("b", True, wait=False)
    engine, together, outcomes = client._engine, threading.Barrier(4), []

    def close() -> None:
        together.wait(20)
        try:
            outcomes.append(engine.close().queued)
        except StoreError as exc:
            outcomes.append(str(exc))

    threads = [threading.Thread(target=close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(outcomes, key=str) == [2, *["the store is closed"] * 3]
    assert rows(store, "SELECT count(*) FROM queue") == [(2,)]


def test_a_no_has_one_patience_however_many_wait(
    start: Any, monkeypatch: Any, store: Path, busy: threading.Event
) -> None:
    """Another process holds the file, a thread waits for that, and the no for both."""
    monkeypatch.setattr("deniable.client.database.PATIENCE", 1.0)
    client = start(survey(a=question(), b=question()))
    client.record("a", True)
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    thread = threading.Thread(target=client.record, args=("b", True))
    thread.start()
    assert busy.wait(20)
    started = time.monotonic()
    assert client.opt_out() is False
    took = time.monotonic() - started
    other.close()
    thread.join(20)
    assert took < 1.9
    assert client.opt_out() is True


def test_a_call_waits_for_the_file_so_long_all_in_all(start: Any, store: Path) -> None:
    client = start()
    db = client._engine._db
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        with db.within(0.1):
            for _ in range(3):
                with pytest.raises(BusyStore), db.transaction():
                    pass
        assert time.monotonic() - started < database.PATIENCE


def test_a_held_store_costs_each_of_ten_threads_one_patience(
    start: Any, monkeypatch: Any, store: Path
) -> None:
    monkeypatch.setattr("deniable.client.database.PATIENCE", 0.2)
    client = start(survey(a=question(), b=question()), strict=False)
    client.record("a", True)
    took = []

    def record() -> None:
        for _ in range(3):
            started = time.monotonic()
            client.record("b", True)
            took.append(time.monotonic() - started)

    threads = [threading.Thread(target=record) for _ in range(10)]
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert max(took) < 1, "not ten times as long"
    assert client.status().dropped == {"busy": 30}


@pytest.mark.usefixtures("slow_disk")
def test_a_crowd_on_a_slow_disk_loses_nothing(start: Any, monkeypatch: Any) -> None:
    """All together take longer than the patience of each."""
    monkeypatch.setattr("deniable.client.database.PATIENCE", 10 * DISK)
    names = [f"q{number}" for number in range(20)]
    asked = survey({"linkable": True}, **{name: question(epsilon=1) for name in names})
    client = start(asked, strict=False)
    threads = [threading.Thread(target=client.record, args=(name, True)) for name in names]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert time.monotonic() - started > 10 * DISK
    status = client.status()
    assert (status.queued, status.dropped) == (20, {})


def test_a_fork_does_not_wait_for_who_waits_for_the_file(
    start: Any, store: Path, busy: threading.Event
) -> None:
    client = start(survey(a=question(), b=question()), strict=False)
    client.record("a", True)
    thread = threading.Thread(target=client.record, args=("b", True))
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        thread.start()
        assert busy.wait(20)
        started = time.monotonic()
        client._engine.before_fork()
        took = time.monotonic() - started
        client._engine.after_fork_in_parent()
    thread.join(20)
    assert took < 1, "half the patience of the thread that waits"
    assert client.status().queued == 2
