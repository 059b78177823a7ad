"""A reply that is lost on its way from the real collector: what was counted counts once."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import pytest
from collector_kit import FAR, Server, cli, make_survey, serving

from deniable.client import Client
from deniable.protocol.derivation import permanent_response
from deniable.protocol.survey import Survey

DEVICES = 10
KINDS = {
    "dark": {"period": "month"},
    "plan": {"period": "month", "type": "choice", "choices": ["free", "team", "own"]},
    "once": {"period": "once"},
}


def whole(stream: IO[bytes]) -> bytes:
    """Read one message of HTTP."""
    lines = [stream.readline()]
    while lines[-1] not in (b"\r\n", b""):
        lines.append(stream.readline())
    (length,) = (int(line[15:]) for line in lines if line.lower().startswith(b"content-length:"))
    return b"".join(lines) + stream.read(length)


def pass_on(asking: socket.socket, port: int, *, cut: bool) -> None:
    """Carry one request to the collector, and the reply back unless it is to be lost."""
    with (
        asking,
        asking.makefile("rb") as asked,
        socket.create_connection(("127.0.0.1", port), timeout=20) as collector,
        collector.makefile("rb") as answered,
    ):
        collector.sendall(whole(asked))
        reply = whole(answered)
        assert reply.startswith(b"HTTP/1.1 200 ")
        asking.sendall(reply[: len(reply) // 2] if cut else reply)


@contextmanager
def losing(port: int) -> Iterator[str]:
    """A way to the collector on which every other reply is cut in the middle."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        over = threading.Event()

        def relay() -> None:
            cut = True
            while True:
                asking, _ = server.accept()
                if over.is_set():
                    asking.close()
                    return
                pass_on(asking, port, cut=cut)
                cut = not cut

        thread = threading.Thread(target=relay, daemon=True)
        thread.start()
        own = server.getsockname()[1]
        yield f"http://127.0.0.1:{own}"
        over.set()
        socket.create_connection(("127.0.0.1", own), timeout=20).close()
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def lost(tmp_path_factory: pytest.TempPathFactory) -> tuple[Server, Survey, Path]:
    """Devices whose every reply was lost once, and the collector that released their tallies."""
    folder, devices = tmp_path_factory.mktemp("collector"), tmp_path_factory.mktemp("devices")
    survey = make_survey(KINDS, name="lost")
    with serving(survey, folder) as server, losing(server.port) as url:
        for number in range(DEVICES):
            with Client(
                survey, url, devices / f"{number}.db", consent="on", strict=True, _environ={}
            ) as client:
                client._engine._uploader.stop(5)
                client.record_many({"dark": True, "plan": "team", "once": False})
                sent = [client.flush(force=True).sent for _ in range(3)]
                assert sent in ([0, 1, 2], [0, 2, 1]), "each parcel was sent twice"
                assert client.status().sent == 3
                assert client.status().dropped == {}
        server.stop()
    cli("release", "--store", str(server.store), "--as-of", FAR, "--yes")
    return server, survey, devices


@pytest.mark.parametrize("name", KINDS)
def test_what_a_lost_reply_acknowledged_counts_once(
    lost: tuple[Server, Survey, Path], name: str
) -> None:
    server, survey, devices = lost
    question = survey.questions[name]
    cells = [0] * question.mechanism.shape.cells
    for number in range(DEVICES):
        with closing(sqlite3.connect(devices / f"{number}.db")) as db:
            ((secret,),) = db.execute("SELECT secret FROM device")
        symbol = question.encode({"dark": True, "plan": "team", "once": False}[name])
        response = permanent_response(secret, question, symbol)
        assert response is not None
        question.mechanism.shape.fold(cells, response)
    with closing(sqlite3.connect(server.store)) as db:
        sql = "SELECT n, document FROM released_tallies WHERE question = ?"
        ((n, document),) = db.execute(sql, (name,))
    assert (n, json.loads(document)["cells"]) == (DEVICES, cells)
