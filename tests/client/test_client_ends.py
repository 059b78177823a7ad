"""The end of a client: closed, dropped, amid a signal, or by the end of its process."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from client_kit import Collector, choice, python, question, rows, run, survey, survey_file

from deniable.client import Client, endings
from deniable.client.replies import Reply
from deniable.client.transport import Transport
from deniable.protocol.errors import StoreError

ASKED = survey(
    {"linkable": True}, a=question(), b=question(), c=question(), export=choice("pdf", "odt")
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return survey_file(tmp_path / "survey.json", ASKED)


def waiting(store: Path) -> list[str]:
    """The questions whose reports wait."""
    sql = "SELECT question FROM queue JOIN ledger USING (number) ORDER BY question"
    return [name for (name,) in rows(store, sql)]


def threads_of(engine: Any) -> list[threading.Thread]:
    """Those that it has started and that have not ended."""
    return [each._thread for each in (engine._writer, engine._uploader) if each._thread is not None]


# The end of the process

LATER = """
import atexit, sys
def bye():
    {act}
atexit.register(bye)  # so it runs after whatever the client registers
from deniable.client import Client
client = Client(*sys.argv[1:], consent="on", strict=True)
client.record("a", True)
"""


def test_an_answer_at_the_end_of_the_process_is_stored(path: Path, store: Path) -> None:
    act = 'client.record("b", True); client.record("c", True, wait=False)'
    act += "; print(client.flush(force=True).kept, client.status().state); client.record_many({})"
    assert run(LATER.format(act=act), path, "http://127.0.0.1:9", store) == "3 on\n"
    assert waiting(store) == ["a", "b", "c"]


def test_a_client_may_be_made_at_the_end_of_the_process(path: Path, store: Path) -> None:
    act = """with Client(*sys.argv[1:], strict=True) as late:
        late.record("b", True, wait=False)
        print(threading.active_count())"""
    program = "import threading\n" + LATER.format(act=act)
    assert run(program, path, "http://127.0.0.1:9", store) == "1\n"
    assert waiting(store) == ["a", "b"]


@pytest.mark.parametrize("consent", ["on", "ask"])
def test_an_answer_of_a_finalizer_keeps_no_process(path: Path, store: Path, consent: str) -> None:
    """A thread that is started when the interpreter has begun to end never runs."""
    program = """
import sys
from deniable.client import Client
client = Client(*sys.argv[1:4], consent=sys.argv[4])
class Document:
    def __del__(self, record=client.record):
        record("export", "pdf", wait=False)
        record("a", True)
document = Document()
"""
    process = python(program, path, "http://127.0.0.1:9", store, consent)
    try:
        assert process.communicate(timeout=20) == ("", "")
    finally:
        process.kill()
        process.wait()
    assert waiting(store) == ["a", "export"]


def test_a_thread_that_answers_until_the_end_keeps_no_process(path: Path, store: Path) -> None:
    """The interpreter stops a daemon wherever it is, its turn at the store included."""
    program = """
import sys, threading
from deniable.client import Client
client = Client(*sys.argv[1:], consent="on")
def answer():
    while True:
        client.record("a", True)
        client.status()
for _ in range(4):
    threading.Thread(target=answer, daemon=True).start()
class Document:
    def __del__(self, record=client.record):
        record("b", True)
document = Document()
client.status()
"""
    process = python(program, path, "http://127.0.0.1:9", store)
    try:
        assert process.communicate(timeout=20)[0] == ""
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "a" in waiting(store)


# close(), opt_out()


@pytest.mark.parametrize("end", ["close", "opt_out"])
def test_no_thread_outlives_a_close_or_a_no(start: Any, store: Path, end: str) -> None:
    client = start(ASKED, consent="on")
    client.record("a", True)
    client.record("b", True, wait=False)
    threads = threads_of(client._engine)
    assert len(threads) == 2
    getattr(client, end)()
    assert [thread for thread in threads if thread.is_alive()] == []
    assert waiting(store) == ([] if end == "opt_out" else ["a", "b"])


def test_after_a_no_and_a_yes_there_are_threads_again(start: Any, store: Path) -> None:
    client = start(ASKED, consent="on")
    client.record("a", True, wait=False)
    client.opt_out()
    client.opt_in()
    client.record("b", True, wait=False)
    client.status()
    assert len(threads_of(client._engine)) == 2
    assert waiting(store) == ["b"]


def test_a_call_that_comes_too_late_starts_nothing(start: Any, store: Path) -> None:
    """Of a thread that had hold of the engine when another closed it."""
    client = start(ASKED, consent="on", strict=False)
    engine = client._engine
    client.close()
    for call in (
        lambda: engine.record("a", True, wait=False),
        lambda: engine.record_many({"a": True}),
        lambda: engine.flush(force=True, timeout=None),
        engine.opt_out,
        engine.opt_in,
        engine.status,
        engine.close,
    ):
        with pytest.raises(StoreError, match="the store is closed"):
            call()
        engine._uploader.wake()
        assert threads_of(engine) == []
    assert waiting(store) == []


# Clients that nobody closes

DROPPED = """
import gc, os, sys, threading, time
from deniable.client import Client

def files():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

before = files()
for _ in range(20):
    client = Client(*sys.argv[1:], consent="on")
    client.record("a", True)
    client.record("b", True, wait=False)
    client._engine.refuse("ceiling")
del client
gc.collect()
until = time.monotonic() + 20
for thread in threading.enumerate():
    if thread.name.startswith("deniable"):
        thread.join(max(until - time.monotonic(), 0))
gc.collect()
print(threading.active_count(), files() - before)
"""


def test_the_threads_and_files_of_dropped_clients_are_given_back(path: Path, store: Path) -> None:
    """As in a notebook whose cell is run again and again; and what they know is stored."""
    assert run(DROPPED, path, "http://127.0.0.1:9", store) == "1 0\n"
    assert waiting(store) == ["a", "b"]
    assert rows(store, "SELECT n FROM counters WHERE name = 'ceiling'") == [(20,)]


def test_a_thread_that_fails_when_nobody_has_the_client_raises_nothing(store: Path) -> None:
    """It would be printed in the app; whether the store is open still or was closed."""
    client = Client(ASKED, "http://127.0.0.1:9", store)
    engine = client._engine
    assert engine is not None
    del client
    for _ in range(2):
        engine._fail(StoreError("the disk is full"))
        with pytest.raises(StoreError, match="closed"):
            engine.status()


# Signals

SIGNALLED = """
import signal, sys
from datetime import UTC, datetime
from deniable.client import Client
client = Client(*sys.argv[1:], consent="on", strict=True)

def handle(number, frame):
    print(client.flush(force=True).sent)
    client.record("b", True, wait=False)
    client.record("c", True)
    print(client.status().queued)
    client.close()

signal.signal(signal.SIGUSR1, handle)
client.record("a", True)
print(client.flush(force=True).sent, client.status().reason)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no such signal here")
def test_a_signal_amid_an_exchange_may_use_and_close_the_client(
    path: Path, store: Path, heard: Collector
) -> None:
    """It has interrupted the only thread that could go on; it waits for nothing of that."""
    import signal

    over = threading.Event()
    heard.answer = lambda handler, count: (over.wait(20), None)[1]
    with python(SIGNALLED, path, heard.url, store) as process:
        heard.wait_for(1)
        process.send_signal(signal.SIGUSR1)
        out, error = process.communicate(timeout=20)
    over.set()
    assert (out, error) == ("0\n3\n0 the client was closed\n", "")
    assert waiting(store) == ["a", "b", "c"]


FORKED = """
import os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, the very test
from deniable.client import Client
codes = set()
for _ in range(20):
    client = Client(*sys.argv[1:], consent="on")
    client.record("a", True, wait=False)
    closing = threading.Thread(target=client.close)
    closing.start()
    child = os.fork()
    if child == 0:
        client.record("b", True)
        client.close()
        sys.exit(client.status().state != "silent")
    closing.join()
    codes.add(os.waitpid(child, 0)[1])
print(codes, client.status().reason)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_a_thread_closes(path: Path, store: Path) -> None:
    """Whichever is first, neither waits for the other for ever, and the store is whole."""
    out = run(FORKED, path, "http://127.0.0.1:9", store)
    assert out == "{0} the client was closed\n"
    assert "a" in waiting(store)
    assert rows(store, "PRAGMA integrity_check") == [("ok",)]


# What could go wrong on the way


def test_a_client_that_cannot_end_keeps_no_other_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what the process does afterwards."""
    ended = []

    class Broken:
        def settle(self) -> None:
            ended.append(self)
            raise ValueError

    two = [Broken(), Broken()]
    monkeypatch.setattr(endings, "_living", two)
    monkeypatch.setattr(endings, "_over", False)
    endings._settle_all()
    assert ended == two


def test_after_the_end_nothing_is_posted(heard: Collector) -> None:
    """Not even by a thread that comes for its ticket only then."""
    transport = Transport(heard.url)
    transport.close()
    with transport.connection() as connection:
        assert transport.post(connection, b"", transport.ticket(), 1) == Reply()
    assert heard.requests == []


def test_a_handler_amid_the_start_of_the_uploader_starts_no_second(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(ASKED, consent="on")
    uploader, begin, begun = client._engine._uploader, threading.Thread.start, []

    def interrupted(thread: threading.Thread) -> None:
        begun.append(thread)
        if len(begun) == 1:
            uploader.wake()
            uploader.join(0)  # as a close in the handler does
        begin(thread)

    monkeypatch.setattr("threading.Thread.start", interrupted)
    uploader.wake()
    assert len(begun) == 1
    client.close()
    begun[0].join(20)
    assert not begun[0].is_alive()


def test_an_uploader_whose_start_was_cut_off_leaves_the_place_to_another(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(ASKED, consent="on")
    uploader, begin, begun = client._engine._uploader, threading.Thread.start, []

    def interrupted(thread: threading.Thread) -> None:
        begun.append(thread)
        begin(thread)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("threading.Thread.start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            uploader.wake()
    begun[0].join(20)
    assert not begun[0].is_alive()
    uploader.wake()
    second = uploader._thread
    client.close()
    second.join(20)
    assert not second.is_alive()


def test_many_clients_are_one_end_of_a_child(start: Any) -> None:
    from multiprocessing import util

    start(ASKED).close()
    before = len(util._finalizer_registry)
    for _ in range(5):
        start(ASKED).close()
    assert len(util._finalizer_registry) == before
