"""Threads that use one store: each in its turn, none for long, and a close before all others."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from client_kit import question, rows, survey

from deniable.client import database
from deniable.client.database import Database
from deniable.client.faults import BusyStore
from deniable.client.turns import Turns
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


def wait_until_taken(lock: Any) -> None:
    """Until another thread holds it: the turn itself, or the first place in line for it."""
    until = time.monotonic() + 20
    while lock.acquire(blocking=False):
        lock.release()
        assert time.monotonic() < until
        time.sleep(0)


def test_who_comes_again_is_behind_who_waits() -> None:
    turns, order = Turns(), []

    def once() -> None:
        with turns.take(20):
            order.append("other")

    other = threading.Thread(target=once)
    with turns.take(20):
        order.append("first")
        other.start()
        wait_until_taken(turns._line)
    with turns.take(20):
        order.append("again")
    other.join(20)
    assert order == ["first", "other", "again"]


def test_a_turn_inside_of_a_turn_does_not_wait() -> None:
    """Not even while another thread is first in line, which waits for this one."""
    turns, over = Turns(), threading.Event()

    def stay() -> None:
        with turns.take(20):
            over.wait(20)

    other = threading.Thread(target=stay)
    with turns.take(0):
        other.start()
        wait_until_taken(turns._line)
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
    wait_until_taken(engine._db._turns._line)
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


def test_a_no_has_one_patience_however_many_wait(start: Any, monkeypatch: Any, store: Path) -> None:
    """Another process holds the file, a thread waits for that, and the no for both."""
    monkeypatch.setattr("deniable.client.database.PATIENCE", 1.0)
    client = start(survey(a=question(), b=question()))
    client.record("a", True)
    other = sqlite3.connect(store, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    thread = threading.Thread(target=client.record, args=("b", True))
    thread.start()
    wait_until_taken(client._engine._db.lock)
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
