"""Several processes on one store; forks, kills and exits."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from client_kit import (
    DAY,
    Clock,
    Collector,
    accept,
    choice,
    held,
    python,
    question,
    rows,
    run,
    survey,
    survey_file,
)

from deniable.client import database, transport

SIDES = [f"side {number}" for number in range(64)]
MANY = survey({"linkable": True}, **{f"q{n}": choice(*SIDES, epsilon=1) for n in range(40)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return survey_file(tmp_path / "survey.json", MANY)


RECORD = """
import sys
from deniable.client import Client
path, url, store, first, last = sys.argv[1:]
client = Client(path, url, store, consent="on", strict=True)
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(first), int(last)):
    client.record(f"q{number}", f"side {number}")
print(client.status().queued >= 0, client.status().dropped, flush=True)
client.close()
"""


def test_two_processes_record_on_one_store(path: Path, store: Path, start: Any) -> None:
    """Both make it anew, and both answer everything: one secret, one answer each."""
    processes = [python(RECORD, path, "http://127.0.0.1:9", store, 0, 40) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outputs = [process.communicate("\n", timeout=60) for process in processes]
    assert [(out.strip(), error) for out, error in outputs] == [("True {}", "")] * 2
    assert len(rows(store, "SELECT * FROM answered")) == 40
    assert len(rows(store, "SELECT * FROM ledger")) == 40
    assert not list(store.parent.glob("*.new-*"))


def test_another_process_that_is_sending_is_not_disturbed(
    path: Path, store: Path, heard: Collector, start: Any
) -> None:
    released = threading.Event()

    def wait(handler: BaseHTTPRequestHandler, count: int) -> None:
        released.wait(20)
        accept(handler, count)

    heard.answer = wait
    program = """
import sys
from deniable.client import Client
with Client(*sys.argv[1:], consent="on", strict=True) as client:
    client.record("q1", "side 1")
    print(client.flush(force=True).sent)
"""
    with python(program, path, heard.url, store) as process:
        heard.wait_for(1)
        client = start(MANY, heard.url, consent="on")
        client.record("q2", "side 2")
        started = time.monotonic()
        assert client.flush(force=True).sent == 0
        assert client.flush(force=True).kept == 2
        assert time.monotonic() - started < 2
        assert len(heard.requests) == 1
        released.set()
        out, error = process.communicate(timeout=30)
    assert (out, error) == ("1\n", "")
    assert client.flush(force=True).sent == 1


def test_a_killed_uploader_leaves_no_lock(
    path: Path, store: Path, heard: Collector, start: Any
) -> None:
    over = threading.Event()
    heard.answer = lambda handler, count: (over.wait(20), None)[1]
    program = """
import sys
from deniable.client import Client
client = Client(*sys.argv[1:], consent="on", strict=True)
client.record("q1", "side 1")
client.flush(force=True)
"""
    with python(program, path, heard.url, store) as process:
        heard.wait_for(1)
        process.kill()
    over.set()
    heard.answer = accept
    assert start(MANY, heard.url, consent="on").flush(force=True).sent == 1


def test_a_process_killed_while_it_records_leaves_a_whole_store(
    path: Path, store: Path, start: Any
) -> None:
    """Each answer is in ledger, journal and queue, or in none of them; the secret is the same."""
    program = """
import sys
from datetime import UTC, datetime, timedelta
from deniable.client import Client
now = datetime(2026, 11, 30, tzinfo=UTC)
client = Client(*sys.argv[1:], strict=True, _clock=lambda: now)
print(client._engine._store.device().secret.hex(), flush=True)
while True:
    for number in range(40):
        client.record(f"q{number}", f"side {number}")
        print(flush=True)
    now += timedelta(days=1)
"""
    secrets, answered = set(), 0
    for moment in (3, 17, 29, 41, 60, 75):
        with python(program, path, "http://127.0.0.1:9", store) as process:
            assert process.stdout is not None
            secrets.add(process.stdout.readline())
            for _ in range(moment):
                process.stdout.readline()
            process.send_signal(signal.SIGKILL)
        found = rows(
            store, "SELECT question, version, period FROM answered JOIN ledger USING (number)"
        )
        assert rows(store, "PRAGMA integrity_check") == [("ok",)]
        assert sorted(
            rows(store, "SELECT question, version, period FROM queue JOIN ledger USING (number)")
        ) == sorted(found)
        assert {row[:2] for row in found} == set(
            rows(store, "SELECT question, version FROM ledger")
        )
        assert len(found) >= max(answered, moment)
        answered = len(found)
    assert len(secrets) == 1
    assert start(MANY).status().state == "local"


FORK = """
import os, sys, threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, the very test
from deniable.client import Client
client = Client(*sys.argv[1:], consent="on", strict=True)
client.record("q0", "side 0")
children = []
for number in range(1, 6):
    child = os.fork()
    if child == 0:
        answer = threading.Thread(target=client.record, args=(f"q{number}", f"side {number}"))
        answer.start()
        answer.join()
        client.record("q0", "side 1")
        alive = client._engine._uploader._thread
        client.flush(force=True)
        sent = client.status().dropped == {} and alive is not None and alive.is_alive()
        client.close()
        os._exit(0 if sent else 1)
    children.append(child)
    client.record(f"q{number + 10}", f"side {number}")
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
client.flush(force=True)
print(codes, client.status().state, client.status().queued)
client.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_has_a_connection_and_a_thread_of_its_own(
    path: Path, store: Path, heard: Collector
) -> None:
    assert run(FORK, path, heard.url, store).strip() == "[0, 0, 0, 0, 0] on 0"
    names = Counter(name for _, name, _ in heard.reports)
    assert set(names) == {f"q{n}" for n in (*range(6), *range(11, 16))}
    assert max(names.values()) == 1
    assert rows(store, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_a_thread_records_cuts_nothing_in_half(
    path: Path, store: Path, tmp_path: Path
) -> None:
    """Children that exit would roll back, in the parent's file, a transaction they inherited."""
    program = """
import os, sys, threading, warnings
from datetime import UTC, datetime, timedelta
warnings.simplefilter("ignore", DeprecationWarning)
from deniable.client import Client
now = datetime(2026, 11, 30, tzinfo=UTC)
client = Client(*sys.argv[1:], strict=True, _clock=lambda: now)
def record():
    global now
    for day in range(8):
        for number in range(40):
            client.record(f"q{number}", f"side {number}")
        now += timedelta(days=1)
thread = threading.Thread(target=record)
thread.start()
bad = 0
while thread.is_alive():
    child = os.fork()
    if child == 0:
        while (status := client.status()).reason.startswith("another process"):
            pass
        os._exit(status.state != "local")
    bad += os.waitpid(child, 0)[1] != 0
thread.join()
print(bad, client.status().state)
client.close()
"""
    assert run(program, path, "http://127.0.0.1:9", store).strip() == "0 local"
    assert len(rows(store, "SELECT * FROM answered")) == 320
    assert rows(store, "PRAGMA integrity_check") == [("ok",)]


def hang(heard: Collector) -> threading.Event:
    over = threading.Event()
    heard.answer = lambda handler, count: (over.wait(20), None)[1]
    return over


def test_close_waits_for_no_network(start: Any, heard: Collector) -> None:
    over = hang(heard)
    client = start(MANY, heard.url, consent="on")
    client.record("q1", "side 1")
    flushing = threading.Thread(target=client.flush, kwargs={"force": True})
    flushing.start()
    heard.wait_for(1)
    started = time.monotonic()
    client.close()
    assert time.monotonic() - started < 1
    flushing.join(5)
    assert not flushing.is_alive()
    over.set()


def test_close_ends_a_request_that_is_just_starting(
    start: Any, heard: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a request reaches the collector before its sender runs on."""
    over = hang(heard)
    begin = transport._Exchange.start
    client = start(MANY, heard.url, consent="on")

    def close_as_it_starts(exchange: transport._Exchange) -> None:
        begin(exchange)
        heard.wait_for(1)
        client.close()

    monkeypatch.setattr(transport._Exchange, "start", close_as_it_starts)
    client.record("q1", "side 1")
    started = time.monotonic()
    client.flush(force=True)
    assert time.monotonic() - started < 5  # a request without a reply is given up after 10 s
    over.set()


@pytest.mark.parametrize("ending", ["client.close()", "pass", "raise SystemExit"])
def test_a_process_exits_while_the_network_hangs(
    path: Path, store: Path, heard: Collector, start: Any, clock: Clock, ending: str
) -> None:
    """Within a second of the end of its main program, which is when its last `atexit` runs.

    The second one is for what the interpreter and a busy machine do after that; a process that
    waited for the network would take ten.
    """
    over = hang(heard)
    program = f"""
import atexit, sys, time
atexit.register(lambda: print(time.monotonic() - ended, flush=True))  # the last to be run
from datetime import UTC, datetime, timedelta
from deniable.client import Client
now = datetime(2026, 11, 30, 12, tzinfo=UTC)
client = Client(*sys.argv[1:], consent="on", strict=True, _clock=lambda: now)
client.record("q1", "side 1")
now += timedelta(days=2)
client._engine._uploader.wake()
sys.stdin.readline()
for number in range(2, 20):
    client.record(f"q{{number}}", "side 2", wait=False)
ended = time.monotonic()
{ending}
"""
    with python(program, path, heard.url, store) as process:
        heard.wait_for(1)
        told = time.monotonic()
        out, error = process.communicate("\n", timeout=20)
        assert time.monotonic() - told < 2
    assert error == ""
    assert float(out) < 1
    over.set()
    heard.answer = accept
    assert len(rows(store, "SELECT * FROM queue")) == 19
    clock.advance(3 * DAY)
    client = start(MANY, heard.url, consent="on")
    client.flush(force=True)  # or its thread, if that is faster
    assert client.status().sent == 19


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.2)


@pytest.mark.usefixtures("impatient")
def test_a_store_held_by_another_process_blocks_nobody_for_long(start: Any, store: Path) -> None:
    client = start(survey(a=question(), b=question()))
    client.record("a", True)
    with held(store):
        started = time.monotonic()
        client.record("b", True)
        assert client.flush().sent == 0
        assert client.opt_in() is False
        assert client.status().state == "silent"
        assert time.monotonic() - started < 5
    status = client.status()
    assert status.state == "local"
    assert status.dropped == {"busy": 1}
    client.record("b", True)
    assert client.status().queued == 2


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("ending", ["status", "close"])
def test_a_no_holds_even_if_it_cannot_be_stored_at_once(
    start: Any, store: Path, heard: Collector, ending: str
) -> None:
    asked = survey(a=question(), b=question())
    client = start(asked, heard.url, consent="on")
    client.record("a", True)
    thread = client._engine._uploader._thread
    with held(store):
        assert client.opt_out() is False
        if thread is not None:
            thread.join(20)
        assert client._engine._uploader._thread is None
        client.record("b", True)
        assert client.flush(force=True).sent == 0
    getattr(client, ending)()
    assert rows(store, "SELECT consent FROM device") == [("off",)]
    assert rows(store, "SELECT question FROM queue JOIN ledger USING (number)") == []
    assert heard.requests == []
    assert client.opt_out() is True


@pytest.mark.usefixtures("impatient")
def test_a_yes_after_a_no_that_could_not_be_stored_brings_nothing_back(
    start: Any, store: Path, heard: Collector, clock: Clock
) -> None:
    """The no would have erased what waited."""
    client = start(survey(), heard.url, consent="on")
    client.record("dark", True)
    with held(store):
        assert client.opt_out() is False
    assert client.opt_in()
    assert client.status().queued == 0
    clock.advance(DAY)
    client.record("dark", True)
    client.flush(force=True)
    assert [period for period, _, _ in heard.reports] == ["2026-12-01"]


def test_an_end_does_not_wait_for_whoever_holds_the_store(start: Any, store: Path) -> None:
    """With something to store, a count, and with all the usual patience."""
    client = start(survey(), strict=False)
    client.record("nothing of that name", True)
    with held(store):
        began = time.monotonic()
        client.close()
        assert time.monotonic() - began < database.PATIENCE


@pytest.mark.usefixtures("impatient")
def test_a_store_that_was_held_at_the_start_is_told(start: Any, store: Path) -> None:
    """That client stays silent, for it never had a store; the next one is as any other."""
    start().close()
    with held(store):
        client = start(strict=False)
    for _ in range(2):
        status = client.status()
        assert status.state == "silent"
        assert status.reason == "another process is writing to the store; try again"
        client.record("dark", True)
        client.close()
    assert start().status().queued == 0
