"""Clients made before a fork: gunicorn --preload, os.fork, multiprocessing, and forks in secret."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from client_kit import Collector, choice, rows, run, survey, survey_file

from deniable.client import database, forks
from deniable.client.database import Database
from deniable.client.transport import _Exchange
from deniable.client.writer import Writer

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

SIDES = [f"side {number}" for number in range(64)]
MANY = survey({"linkable": True}, **{f"q{n}": choice(*SIDES, epsilon=1) for n in range(40)})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return survey_file(tmp_path / "survey.json", MANY)


def assert_each_once(heard: Collector, store: Path, *names: str) -> None:
    """The collector was sent every report of the period once, under one pseudonym."""
    counted = Counter((period, name) for period, name, _ in heard.reports)
    assert counted == {("2026-11-30", name): 1 for name in names}
    assert len({request.document["device"] for request in heard.requests}) == 1
    assert rows(store, "SELECT DISTINCT state FROM answered") == [("sent",)]
    assert rows(store, "SELECT * FROM queue") == []
    assert rows(store, "PRAGMA integrity_check") == [("ok",)]


# gunicorn --preload

APP = """
import json, multiprocessing, os
from datetime import UTC, datetime
from deniable.client import Client

noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
client = Client(*json.loads(os.environ["CLIENT"]), consent="on", strict=True, _clock=lambda: noon)
client.record("q0", "side 0")
client.record("q1", "side 1", wait=False)
both = multiprocessing.Barrier(2, timeout=30)

def app(environ, start_response):
    both.wait()  # so that each worker has one of two requests
    mine = environ["PATH_INFO"].strip("/")
    for name in ("q0", "q1", "q2", "q3"):
        client.record(name, f"side {mine}", wait=name == "q2")
    client.record(f"q{mine}0", "side 1")
    client.record(f"q{mine}1", "side 1", wait=False)
    sent = client.flush(force=True).sent
    client.record(f"q{mine}2", "side 1", wait=False)  # waits when the worker is told to end
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps([os.getpid(), client.status().reason]).encode()]
"""
SETTINGS = """
preload_app, workers, worker_class = True, 2, "sync"

def pre_fork(server, worker):
    server.app.wsgi().__globals__["client"].record(f"q{3 + worker.age}", "side 1", wait=False)

def on_exit(server):
    client = server.app.wsgi().__globals__["client"]
    while client.flush(force=True).kept:
        pass
"""


def ask(address: Path, path: str) -> list[object]:
    """What a worker says to a request over a Unix socket."""
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(60)
        connection.connect(str(address))
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: app\r\nConnection: close\r\n\r\n".encode()
        )
        response = http.client.HTTPResponse(connection)
        response.begin()
        answer: list[object] = json.loads(response.read())
        return answer


def test_workers_of_a_preloaded_app_report_once(
    path: Path, quick_store: Path, heard: Collector
) -> None:
    """The master records before each fork, both workers the same questions and their own."""
    folder = quick_store.parent
    (folder / "app.py").write_text(APP, encoding="utf-8")
    (folder / "settings.py").write_text(SETTINGS, encoding="utf-8")
    address = folder / "app.sock"
    command = [sys.executable, "-P", "-m", "gunicorn", "--chdir", str(folder), "--preload"]
    command += ["-c", str(folder / "settings.py"), "-b", f"unix:{address}", "app:app"]
    client = json.dumps([str(path), heard.url, str(quick_store)])
    said: list[list[object]] = []
    with subprocess.Popen(
        command, env={**os.environ, "CLIENT": client}, stderr=subprocess.PIPE, text=True
    ) as master:
        assert master.stderr is not None
        log = []
        for line in master.stderr:
            log.append(line)
            if sum("Booting worker" in each for each in log) == 2:
                break
        threads = [
            threading.Thread(target=lambda n=n: said.append(ask(address, f"/{n}"))) for n in (1, 2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        master.send_signal(signal.SIGTERM)
        log += list(master.stderr)
    assert master.returncode == 0, log
    assert len({pid for pid, _ in said}) == 2, log
    assert [reason for _, reason in said] == ["", ""]
    own = [f"q{worker}{n}" for worker in (1, 2) for n in range(3)]
    assert_each_once(heard, quick_store, *(f"q{n}" for n in range(6)), *own)


# Forks of the app's own

PREPARED = """
import contextlib, ctypes, multiprocessing, os, sys, threading, warnings
from datetime import UTC, datetime
from deniable.client import Client
warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, the very test
noon = datetime(2026, 11, 30, 12, tzinfo=UTC)

def start(consent="on"):
    return Client(*sys.argv[1:4], consent=consent, strict=True, _clock=lambda: noon)

def send(client):
    "Send everything, whoever else is sending."
    while client.flush(force=True).kept:
        pass

def wait(children):
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
"""

RAW = (
    PREPARED
    + """
told = sys.argv[4]
sys.setswitchinterval(60)  # else a thread could ask for its turn in between fork and being told
fork = os.fork if told == "before and after" else ctypes.PyDLL(None).fork
client = start()
client.record("q0", "side 0")
children = []
lock = client._engine._db.lock
if told == "never":  # no process of several threads survives such a fork
    client._engine._uploader.stop(60)
with contextlib.suppress(ValueError):
    client.record("q39", "no side")  # is counted by the parent alone
for number in range(1, 6):
    client.record(f"q{number + 10}", "side 1", wait=told == "never")
    if told == "after":  # nor such a one while a thread is inside SQLite
        lock.acquire()
    child = fork()
    if told == "after":
        lock.release() if child else ctypes.pythonapi.PyOS_AfterFork_Child()
    if child == 0:
        client.record("q0", f"side {number}", wait=False)
        client.record(f"q{number}", "side 1", wait=number % 2)
        send(client)
        client.record(f"q{number + 20}", "side 1", wait=False)
        client.close()
        os._exit(client.status().dropped != {})
    children.append(child)
codes = wait(children)
send(client)
print(codes, client.status().queued, client.status().dropped)
"""
)


@pytest.mark.parametrize("told", ["before and after", "after", "never"])
def test_children_report_once_and_not_what_the_parent_has(
    path: Path, quick_store: Path, heard: Collector, told: str
) -> None:
    """Python is told of its own forks, after it of those of uWSGI, never of those of others."""
    assert run(RAW, path, heard.url, quick_store, told) == "[0, 0, 0, 0, 0] 0 {'wrong_value': 1}\n"
    names = [f"q{n}" for n in (0, *range(1, 6), *range(11, 16), *range(21, 26))]
    assert_each_once(heard, quick_store, *names)


AMID = (
    PREPARED
    + """
import signal
from pathlib import Path
moment, told, end = sys.argv[4:]
sys.setswitchinterval(60)
fork = os.fork if told == "told" else ctypes.PyDLL(None).fork
client = start("ask")
client.record("q0", "side 0")
db, parent = client._engine._db, os.getpid()
journal = Path(f"{sys.argv[3]}-journal")
committed, commit = os.pipe()
children = []

def split(*_):
    "Fork where the journal holds what a commit replaces, and see that the child leaves it there."
    before = journal.stat().st_size
    child = fork()
    if child == 0 and end == "exits":
        sys.exit(0)
    if child == 0 and end == "goes on later":
        os.close(commit)
        os.read(committed, 1)
    if child and end == "goes on later":
        children.append(child)
    elif child:
        codes = wait([child])
        print(codes, before > 0, before == journal.stat().st_size, flush=True)

def change(meanwhile):
    with db.transaction():
        db.write("UPDATE ledger SET answers = 7")
        meanwhile()
        if told == "told":
            db.write("UPDATE ledger SET answers = answers + 1")

if moment == "a handler":  # of a signal that comes in the middle of a transaction
    signal.signal(signal.SIGUSR1, split)
    with contextlib.suppress(Exception):
        change(lambda: signal.raise_signal(signal.SIGUSR1))
else:  # a thread is in the middle of one
    begun, over = threading.Event(), threading.Event()
    pause = lambda: (begun.set(), over.wait())
    writer = threading.Thread(target=change, args=(pause,), daemon=True)
    writer.start()
    begun.wait()
    split()
    over.set()
    if os.getpid() == parent:
        writer.join()
if os.getpid() != parent:
    client.record("q1", "side 1")
    sys.exit(not client.status().reason.startswith("the process was forked amid a write"))
with db.transaction():
    db.write("UPDATE ledger SET answers = answers + 1")
os.close(commit)
if children:
    print(wait(children), True, True)
client.close()
"""
)


@pytest.mark.parametrize(
    ("moment", "told"), [("a handler", "told"), ("a handler", "untold"), ("a thread", "untold")]
)
@pytest.mark.parametrize("end", ["exits", "goes on", "goes on later"])
def test_a_child_of_a_fork_amid_a_transaction_does_not_touch_it(
    path: Path, quick_store: Path, moment: str, told: str, end: str
) -> None:
    """Neither at the end of the block nor at that of its interpreter: it would undo it, or redo."""
    out = run(AMID, path, "http://127.0.0.1:9", quick_store, moment, told, end)
    assert out == "[0] True True\n"
    assert rows(quick_store, "SELECT answers FROM ledger") == [(9 if told == "told" else 8,)]
    assert rows(quick_store, "PRAGMA integrity_check") == [("ok",)]


BUSY = (
    PREPARED
    + """
from datetime import timedelta
client = start("ask")
over = threading.Event()

def answer(wait):
    "Give every answer in turn, over and over, and never the same in one period."
    global noon
    while not over.is_set():
        for number in range(40):
            client.record(f"q{number}", f"side {number}", wait=wait)
        if wait:
            noon += timedelta(days=1)

threads = [threading.Thread(target=answer, args=(wait,)) for wait in (True, False, False)]
for thread in threads:
    thread.start()
codes = set()
for number in range(30):
    child = os.fork()
    if child == 0:
        client.record("q1", "side 1", wait=False)
        state = client.status().state
        client.close()
        os._exit(state != "local")
    codes.update(wait([child]))
over.set()
for thread in threads:
    thread.join()
print(codes, client.status().state)
"""
)


def test_a_fork_amid_threads_and_with_answers_waiting(path: Path, quick_store: Path) -> None:
    """A child inherits no lock of a thread that it has not, and no answer that waits."""
    assert run(BUSY, path, "http://127.0.0.1:9", quick_store) == "{0} local\n"
    assert rows(quick_store, "PRAGMA integrity_check") == [("ok",)]
    assert rows(quick_store, "SELECT count(*) FROM ledger") == [(40,)]
    wait = ["SELECT number, period FROM queue ORDER BY 1, 2"]
    wait += ["SELECT number, period FROM answered WHERE state IS NULL ORDER BY 1, 2"]
    assert rows(quick_store, wait[0]) == rows(quick_store, wait[1]) != []


PROCESSES = (
    PREPARED
    + """
def work(number, client=None):
    client = client or start()
    client.record("q0", f"side {number}", wait=False)
    client.record(f"q{number}", "side 1")
    client.record(f"q{number + 10}", "side 1", wait=False)  # stored as the process ends

if __name__ == "__main__":
    client = start()
    client.record("q20", "side 1", wait=False)
    context = multiprocessing.get_context(sys.argv[4])
    inherited = [client] if sys.argv[4] == "fork" else []
    children = [context.Process(target=work, args=(n, *inherited)) for n in range(1, 4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    send(client)
    print([child.exitcode for child in children], client.status().queued)
"""
)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_multiprocessing_store_what_waits(
    path: Path, quick_store: Path, heard: Collector, tmp_path: Path, method: str
) -> None:
    """They end without running what `atexit` keeps."""
    program = tmp_path / "program.py"
    program.write_text(PROCESSES, encoding="utf-8")
    command = [sys.executable, "-P", str(program), str(path), heard.url, str(quick_store), method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("[0, 0, 0] 0\n", "")
    assert_each_once(heard, quick_store, "q0", *(f"q{n}" for n in (1, 2, 3, 11, 12, 13, 20)))


# What a child inherits, told apart without a fork


def test_a_child_of_whom_nobody_was_told_opens_the_store_anew(start: Any, store: Path) -> None:
    """And keeps the parent's connection for ever, since closing it would drop the locks."""
    start(MANY).close()
    with Database(store) as db:
        parents = db._db
        assert parents is not None
        db._process = -1
        db.rows("SELECT one FROM device")
        assert db._db is not parents
        assert any(each is parents for each in database._ABANDONED)
        database._ABANDONED.remove(parents)
        parents.close()


def test_a_child_waits_for_no_exchange_of_its_parent(start: Any, heard: Collector) -> None:
    """The fork came while a request was under way; its thread does not exist in the child."""
    client = start(MANY, heard.url, consent="on")
    client._engine._uploader.stop(5)
    client.record("q0", SIDES[0])
    engine = client._engine
    with engine._transport.connection() as connection:
        engine._transport._exchange = _Exchange(connection, heard.url, b"")
        assert client.flush(force=True).sent == 0
        engine.after_fork_in_child()
        engine._store.note_uploads(0, None)
        assert client.flush(force=True).sent == 1


def test_what_waits_in_the_parent_is_not_the_childs_to_store(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored: list[Any] = []
    writer = Writer(stored.extend)
    answer = start(MANY)._engine._read("q0", SIDES[0])
    monkeypatch.setattr("threading.Thread.start", lambda thread: None)
    assert writer.put(answer)
    writer.after_fork()
    assert writer.drain(1)
    assert stored == []


class Interrupted:
    """A client whose hooks the handler of a signal interrupts, as often as told."""

    def __init__(self, client: Any, **times: int) -> None:
        self._client = client
        self._times = times

    def __getattr__(self, hook: str) -> Any:
        def call() -> None:
            early, late = f"{hook}_early", hook
            for moment in (early, late):
                if moment == late:
                    getattr(self._client, hook)()
                if self._times.get(moment, 0):
                    self._times[moment] -= 1
                    raise KeyboardInterrupt

        return call


@pytest.mark.parametrize(
    "times",
    [
        {"before_fork_early": 1},
        {"before_fork": 1},
        {"after_fork_in_parent_early": 1},
        {"after_fork_in_parent": 1},
        {"after_fork_in_parent_early": 2},
    ],
)
def test_a_handler_that_raises_amid_a_fork_leaves_no_lock(
    start: Any, monkeypatch: pytest.MonkeyPatch, times: dict[str, int]
) -> None:
    engine = start(MANY)._engine
    unlucky = Interrupted(engine, **times)
    monkeypatch.setattr(forks, "_living", [unlucky])
    raised = 0
    for _ in range(2):  # what the first could not give back, the second does
        for hook in (forks._before, forks._in_parent):
            try:
                hook()
            except KeyboardInterrupt:
                raised += 1
    assert raised == 1
    assert forks._resting == []
    free = []

    def look() -> None:
        for lock in (forks._one_fork, engine._db.lock):
            free.append(lock.acquire(blocking=False))
            if free[-1]:
                lock.release()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(20)
    assert free == [True, True]


def test_a_fork_amid_a_turn_of_its_own_leaves_that_turn(start: Any) -> None:
    db = start(MANY)._engine._db
    with db.transaction():
        db.rest()
        db.go_on()
        assert db.lock._is_owned()
    assert not db.lock._is_owned()


def test_a_signal_amid_a_fork_leaves_no_lock(path: Path, store: Path) -> None:
    """Its handler raises before the first line of the hook that gives back."""
    program = """
import ctypes, functools, os, signal, sys, threading
come = functools.partial(ctypes.CDLL(None)["raise"], signal.SIGUSR1)  # without a line of Python
os.register_at_fork(after_in_parent=come)
from deniable.client import Client, forks
client = Client(*sys.argv[1:], consent="ask", strict=True)
lines = []

def handle(number, frame):
    lines.append(frame.f_code.co_name)
    raise KeyboardInterrupt

def look():
    print(*[lock.acquire(timeout=0.1) for lock in (forks._one_fork, client._engine._db.lock)])

signal.signal(signal.SIGUSR1, handle)
sys.unraisablehook = lambda told: None
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
thread = threading.Thread(target=look)
thread.start()
thread.join()
print(*lines)
"""
    assert run(program, path, "http://127.0.0.1:9", store) == "True True\n_in_parent\n"
