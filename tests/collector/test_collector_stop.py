"""Stopping, and servers of several processes: nothing is lost, nothing counts twice."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from collector_kit import FAR, Server, cli, exchange, make_survey, new_device, request_body, serving
from key_places import until
from servers import shared_postgres

from deniable.protocol.survey import compile_survey

SURVEY = make_survey({"yes": {"grace": 30}})
PATIENCE = 20


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(SURVEY, tmp_path, "--stop-timeout", str(PATIENCE)) as started:
        yield started


class Slow:
    """A request of which the last byte is held back."""

    def __init__(self, server: Server) -> None:
        body = json.dumps(request_body(SURVEY, new_device())).encode()
        self._last = body[-1:]
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        head = "POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        self._socket.sendall(head.encode() + body[:-1])
        assert server.ask("GET", "/livez").status == 200  # by now it was read

    def finish(self) -> http.client.HTTPResponse:
        self._socket.sendall(self._last)
        reply = http.client.HTTPResponse(self._socket)
        reply.begin()
        reply.read()
        return reply

    def close(self) -> None:
        self._socket.close()


def running(server: Server) -> bool:
    assert server.process is not None
    return server.process.poll() is None


def refuses(server: Server) -> bool:
    try:
        socket.create_connection(("127.0.0.1", server.port), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


def ended(server: Server) -> int:
    assert server.process is not None
    return server.process.wait(10)


def counted(server: Server) -> int:
    """How many devices there are in the end."""
    store = ["--store", str(server.store)]
    cli("release", *store, "--as-of", FAR, "--yes")
    return sum(int(one["crowd"]) for one in json.loads(cli("status", *store, "--format", "json")))


def test_a_request_under_way_is_finished(server: Server) -> None:
    """No new connection, no idle one; the begun request is answered however often it is told."""
    idle = server.connect()
    assert exchange(idle, "GET", "/livez").status == 200
    with closing(Slow(server)) as slow:
        os.kill(server.pid, signal.SIGTERM)
        until(lambda: refuses(server))
        assert idle.sock.recv(1) == b"", "closed, not reset"
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            os.kill(server.pid, number)
        assert running(server)
        reply = slow.finish()
        assert reply.status == 200
        assert reply.getheader("Connection") == "close"
    idle.close()
    assert ended(server) == 0
    assert server.complaints() == []
    assert counted(server) == 1


def test_a_request_that_does_not_end_is_cut_off_in_time(tmp_path: Path) -> None:
    with (
        serving(SURVEY, tmp_path, "--stop-timeout", "0.3") as server,
        closing(Slow(server)),
    ):
        os.kill(server.pid, signal.SIGTERM)
        assert ended(server) == 0
        (line,) = server.complaints()
    assert "stop: 1 requests did not end within 0.3 seconds and were cut off" in line
    assert counted(server) == 0


def test_restarts_under_load_lose_nothing_and_count_nothing_twice(server: Server) -> None:
    """Clients send again whatever was not answered, as devices do."""
    sent, bound, threads = [0] * 6, 15, []
    outcomes: list[int] = []
    begun, up = threading.Event(), threading.Event()
    up.set()
    server.options += ["--flood-limit", "10000 per minute"]

    def send(who: int) -> None:
        for _ in range(bound):
            body = request_body(SURVEY, new_device())
            while True:
                with suppress(OSError, http.client.HTTPException), closing(server.connect()) as c:
                    reply = exchange(c, "POST", "/v1/reports", body)
                    if reply.status == 200:
                        outcomes.append(reply.json["accepted"] + reply.json["duplicate"])
                        break
                    assert reply.status == 503
                assert up.wait(60)
            sent[who] += 1
            if sum(sent) > 30:
                begun.set()

    for who in range(len(sent)):
        threads.append(threading.Thread(target=send, args=(who,)))
        threads[-1].start()
    assert begun.wait(30)
    up.clear()
    assert server.stop() == 0
    server.start()
    up.set()
    for thread in threads:
        thread.join(60)
    assert server.stop() == 0
    assert server.complaints() == []
    assert outcomes == [1] * (bound * len(sent))
    assert counted(server) == bound * len(sent)


WSGI = """
from deniable.collector.app import create_app
from deniable.collector.config import Config
from deniable.collector.logs import install_logging
from deniable.protocol.survey import load_survey

install_logging()
app = create_app(Config({store!r}, (load_survey("survey.json"),), keys="keys"))
"""


@contextmanager
def gunicorn(folder: Path, store: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """Gunicorn on a socket in a folder, which is its log's too."""
    (folder / "survey.json").write_text(compile_survey(SURVEY), encoding="utf-8")
    (folder / "door.py").write_text(WSGI.format(store=store))
    pytest.importorskip("gunicorn")
    place = ["--pythonpath", str(folder), "--bind", f"unix:{folder}/http", "--no-control-socket"]
    workers = ["--worker-class", "gthread", "--threads", "4", "--keep-alive", "0"]
    command = [sys.executable, "-P", "-m", "gunicorn", *place, *workers, *options, "door:app"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stderr=log, stdout=log, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


class Door(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=30)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def ask(folder: Path, method: str, path: str, body: object = None) -> Any:
    with closing(Door(folder / "http")) as connection:
        return exchange(connection, method, path, body)


def answers(folder: Path) -> bool:
    with suppress(OSError, http.client.HTTPException):
        ask(folder, "GET", "/livez")
        return True
    return False


def log_of(folder: Path) -> str:
    return (folder / "log").read_text()


def test_several_workers_on_sqlite_are_refused(tmp_path: Path) -> None:
    with gunicorn(tmp_path, "collector.db", "--workers", "2") as process:
        assert process.wait(30) != 0
    refused = "deniable.protocol.errors.StoreError: collector.db: is in use by a running collector"
    (line,) = {line for line in log_of(tmp_path).splitlines() if line.startswith(refused)}
    assert "several processes need --store postgresql://" in line


def test_several_workers_on_postgresql(tmp_path: Path) -> None:
    url = shared_postgres().fresh_database()
    with gunicorn(tmp_path, url, "--workers", "2"):
        until(lambda: log_of(tmp_path).count("Booting worker") == 2 and answers(tmp_path))
        body = request_body(SURVEY, new_device())
        replies = [ask(tmp_path, "POST", "/v1/reports", body) for _ in range(8)]
        assert [reply.status for reply in replies] == [200] * 8
        assert sum(reply.json["accepted"] for reply in replies) == 1


def test_preloaded_workers_answer_503_and_say_why(tmp_path: Path) -> None:
    with gunicorn(tmp_path, "collector.db", "--workers", "2", "--preload"):
        until(lambda: answers(tmp_path))
        body = request_body(SURVEY, new_device())
        asked: list[tuple[str, str, object]] = [("POST", "/v1/reports", body)]
        asked += [("GET", path, None) for path in ("/readyz", "/v1/survey/test")]
        for method, path, sent in asked:
            reply = ask(tmp_path, method, path, sent)
            assert (reply.status, reply.headers["content-type"]) == (
                503, "application/problem+json"
            )  # fmt: skip
    assert "make the application in each worker (gunicorn without --preload)" in log_of(tmp_path)
