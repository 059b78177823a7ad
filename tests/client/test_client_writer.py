"""`record(wait=False)`: no thread of the app waits for the disk, and no answer is lost by that."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from client_kit import (
    DAY,
    NOON,
    Clock,
    Collector,
    choice,
    held,
    question,
    responses,
    rows,
    survey,
)

from deniable.client import database, writer
from deniable.client.store import Store
from deniable.protocol.errors import ParameterError

SIDES = [f"side {number}" for number in range(256)]
WIDE = survey({"linkable": True}, bits=choice(*SIDES, mechanism="oue"), dark=question())


def test_it_is_stored_soon_and_for_good(start: Any, store: Path) -> None:
    with start(WIDE) as client:
        client.record("bits", SIDES[7], wait=False)
        assert client.status().queued == 1
    assert len(responses(store, "bits")) == 1


def test_close_stores_what_waits(start: Any, store: Path) -> None:
    names = [f"q{number}" for number in range(50)]
    asked = survey({"linkable": True}, **{name: question(epsilon=1) for name in names})
    with start(asked) as client:
        for name in names:
            client.record(name, True, wait=False)
    assert rows(store, "SELECT count(*) FROM queue") == [(50,)]


def test_a_held_store_keeps_nobody_waiting(start: Any, store: Path) -> None:
    """Two seconds would be the patience of a thread that does wait."""
    client = start(WIDE)
    with held(store):
        started = time.monotonic()
        for side in SIDES:
            client.record("bits", side, wait=False)
        assert time.monotonic() - started < 1
    assert client.status().queued == 1


def test_the_first_of_several_that_wait_is_the_answer(start: Any, store: Path) -> None:
    """It is stored as the answer of its own period, whenever that is."""
    client = start(WIDE)
    with client._engine._writer._changed:  # its thread can take none before there are two
        for side in (SIDES[3], SIDES[4]):
            client.record("bits", side, wait=False)
    client.status()
    client.record("bits", SIDES[5])
    (response,) = responses(store, "bits")
    assert client.preview("bits", SIDES[3]).request["reports"][0]["response"] == response


def test_the_first_is_the_answer_while_the_disk_is_slow(start: Any, store: Path) -> None:
    """A later one that waits for the disk does not pass it by."""
    client = start(WIDE)
    ours, inside, go_on = client._engine._writer, threading.Event(), threading.Event()
    write = ours._write
    ours._write = lambda answers: (inside.set(), go_on.wait(20), write(answers))
    client.record("bits", SIDES[3], wait=False)
    assert inside.wait(20)
    later = threading.Thread(target=client.record, args=("bits", SIDES[5]))
    later.start()
    later.join(0.05)  # as long as the first takes, or at once where it does not wait
    go_on.set()
    later.join(20)
    client.status()
    (response,) = responses(store, "bits")
    assert client.preview("bits", SIDES[3]).request["reports"][0]["response"] == response


def test_a_wrong_answer_raises_at_once_if_strict(start: Any) -> None:
    with pytest.raises(ParameterError, match="dark: the value must be"):
        start().record("dark", "yes", wait=False)


def test_the_thread_ends_when_nothing_comes(
    start: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "IDLE_SECONDS", 0.01)
    client = start(survey(dark=question(grace=9)))
    for _ in range(2):
        client.record("dark", True, wait=False)
        thread = client._engine._writer._thread
        if thread is not None:
            thread.join(20)
        assert client._engine._writer._thread is None
        clock.advance(DAY)
    assert client.status().queued == 2


def test_without_a_thread_it_is_stored_at_the_next_chance(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: object) -> None:
        raise RuntimeError("can't start new thread")

    client = start(WIDE)
    monkeypatch.setattr("threading.Thread.start", refuse)
    client.record("bits", SIDES[7], wait=False)
    assert responses(store, "bits") == []
    assert client.status().queued == 1
    client.record("dark", True, wait=False)
    client.close()
    assert len(responses(store, "dark")) == 1


def test_what_waits_when_the_answer_is_no_is_forgotten(start: Any, store: Path) -> None:
    client = start(WIDE, consent="on")
    with client._engine._db.lock:
        client.record("bits", SIDES[7], wait=False)
        assert client.opt_out()
    assert client.status().state == "off"
    assert rows(store, "SELECT * FROM ledger") == []
    assert client.status().queued == 0


def test_what_waits_when_the_answer_is_yes_is_of_before_it(
    start: Any, store: Path, heard: Collector
) -> None:
    """The disk was slow: the answer is randomized after the yes, and was given before."""
    client = start(WIDE, heard.url)
    with client._engine._db.lock:
        client.record("bits", SIDES[7], wait=False)
        assert client.opt_in()
    assert client.status().state == "on"
    assert client.status().queued == 0
    assert client.flush(force=True).sent == 0
    client.record("bits", SIDES[8], wait=False)
    assert client.flush(force=True).sent == 1
    assert client.status().epsilon_spent == 2
    assert rows(store, "SELECT answers FROM ledger") == [(1,)]


def test_a_yes_elsewhere_does_not_bring_in_what_waits_here(start: Any, heard: Collector) -> None:
    client, other = start(WIDE, heard.url), start(WIDE, heard.url)
    with client._engine._db.lock:
        client.record("bits", SIDES[7], wait=False)
        assert other.opt_in()
    assert client.status().queued == 0
    assert client.status().dropped == {"before_consent": 1}
    client.record("bits", SIDES[7], wait=False)
    assert client.status().queued == 1


def test_a_store_that_is_held_too_long_is_counted(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.1)
    client = start(WIDE)
    with held(store):
        client.record("bits", SIDES[7], wait=False)
        changed = client._engine._writer._changed
        with changed:
            assert changed.wait_for(lambda: client._engine._refused.sums()["busy"], 20)
    assert client.status().dropped == {"busy": 1}
    client.record("bits", SIDES[7], wait=False)
    assert client.status().queued == 1


def test_a_store_that_fails_in_the_thread_silences(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "IDLE_SECONDS", 0.01)
    client = start(WIDE)
    with store.open("r+b") as file:
        file.write(b"\xff" * store.stat().st_size)
    client.record("bits", SIDES[7], wait=False)
    thread = client._engine and client._engine._writer._thread
    if thread is not None:
        thread.join(20)
    assert client.status().state == "silent"
    assert "acme.db.unreadable" in client.status().reason
    client.record("bits", SIDES[7], wait=False)
    client.close()


def test_ten_threads_that_do_not_wait(start: Any, quick_store: Path, clock: Clock) -> None:
    names = [f"q{number}" for number in range(50)]
    asked = survey({"linkable": True}, **{name: question(epsilon=1) for name in names})
    client = start(asked, store=quick_store)

    def answer() -> None:
        for name in names:
            client.record(name, True, wait=False)

    threads = [threading.Thread(target=answer) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    status = client.status()
    assert (status.queued, status.dropped) == (50, {})
    assert rows(quick_store, "SELECT DISTINCT answers FROM ledger") == [(1,)]


def answers_to(*names: str) -> list[Any]:
    period = SimpleNamespace(key="2026-11-30")
    return [SimpleNamespace(question=SimpleNamespace(id=name), period=period) for name in names]


def test_it_has_not_drained_while_it_writes() -> None:
    writing, go_on = threading.Event(), threading.Event()
    ours = writer.Writer(lambda answers: (writing.set(), go_on.wait(20), None)[2])
    ours.put(*answers_to("a"))
    assert writing.wait(20)
    assert not ours.drain(0.01)
    go_on.set()
    assert ours.drain(20)


def test_it_stores_by_name_and_not_in_the_order_of_answers() -> None:
    stored: list[Any] = []
    ours = writer.Writer(stored.extend)
    with ours._changed:  # its thread can take none before there are three
        for answer in answers_to("b", "c", "a"):
            ours.put(answer)
    assert ours.drain(20)
    assert [answer.question.id for answer in stored] == ["a", "b", "c"]


def test_an_answer_that_waits_behind_another_belongs_to_before_the_yes(
    start: Any, store: Path
) -> None:
    """Another process's yes comes between the call and the disk."""
    client = start(WIDE)
    ours, inside, waits, go_on = client._engine._writer, *(threading.Event() for _ in range(3))
    write, drain = ours._write, ours.drain
    ours._write = lambda answers: (inside.set(), go_on.wait(20), write(answers))
    ours.drain = lambda seconds: (waits.set(), drain(seconds))
    client.record("bits", SIDES[3], wait=False)
    assert inside.wait(20)
    later = threading.Thread(target=client.record, args=("dark", True))
    later.start()
    assert waits.wait(20)
    with database.Database(store) as other:
        Store(other).decide("on", NOON)
    go_on.set()
    later.join(20)
    assert rows(store, "SELECT * FROM queue") == []
    assert client.status().dropped == {"before_consent": 2}


def test_no_memory_amid_its_work_ends_only_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[Any] = []
    ours, take, failed = writer.Writer(stored.extend), writer.Writer._take, threading.Event()

    def fail_once(self: writer.Writer) -> Any:
        if not failed.is_set():
            failed.set()
            raise MemoryError
        return take(self)

    monkeypatch.setattr(writer.Writer, "_take", fail_once)
    with ours._changed:
        ours.put(*answers_to("a"))
        thread = ours._thread
    assert thread is not None
    thread.join(20)
    assert failed.is_set()
    assert ours._thread is None
    ours.put(*answers_to("b"))
    assert ours.drain(20)
    assert [answer.question.id for answer in stored] == ["a", "b"]


def test_a_handler_that_raises_amid_the_start_of_the_thread_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored: list[Any] = []
    ours, begin = writer.Writer(stored.extend), threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        begin(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ours.put(*answers_to("a"))
    assert ours.drain(20)
    ours.put(*answers_to("b"))
    assert ours.drain(20)
    assert [answer.question.id for answer in stored] == ["a", "b"]
