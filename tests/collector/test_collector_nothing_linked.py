"""Nothing a collector writes tells who sent what, from where, or when."""

from __future__ import annotations

import base64
import contextlib
import gzip
import http.client
import json
import os
import random
import signal
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from collector_kit import (
    InProcess,
    Server,
    cli,
    exchange,
    make_survey,
    new_device,
    period_keys,
    request_body,
    save,
    today,
)
from scipy.stats import kendalltau

from deniable.collector.scope_key import ScopeKey
from deniable.collector.store.base import Scope
from deniable.protocol.report import parse_device

SURVEY = make_survey(
    {
        "yes": {"min_crowd": 1000},
        "bits": {
            "min_crowd": 1000,
            "type": "choice",
            "choices": [f"choice {n}" for n in range(200)],
            "mechanism": "oue",
        },
    },
    segments=["a"],
)
ADDRESS = "127.0.0.91"
"""Where the clients of these tests send from; any 127.x.y.z may."""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A collector all of whose files, temporary ones included, are under one folder."""
    folder = tmp_path / "written"
    (folder / "tmp").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    started = Server([save(SURVEY, tmp_path / "survey.json")], folder / "collector.db")
    started.start()
    yield started
    if started.process is not None:
        started.stop(signal.SIGKILL)


def send_from(address: str, server: Server, device: str, count: int = 1) -> list[int]:
    """Send a device's reports, once packed and then plain, in a body as large as it may be."""
    body = request_body(SURVEY, device, segment="a")
    body["reports"] += [{"filler": device * 40}] * 60
    plain = json.dumps(body).encode()
    connection = http.client.HTTPConnection(
        "127.0.0.1", server.port, timeout=30, source_address=(address, 0)
    )
    with closing(connection):
        packed = exchange(
            connection,
            "POST",
            "/v1/reports",
            gzip.compress(plain),
            {"Content-Encoding": "gzip", "User-Agent": device, "X-Forwarded-For": address},
        )
        return [packed.status, exchange(connection, "POST", "/v1/reports", plain).status]


def forms(device: str) -> list[bytes]:
    """The ways in which a pseudonym could have been written."""
    raw = parse_device(device)
    return [
        raw,
        device.encode(),
        base64.b64encode(raw).rstrip(b"="),
        base64.b32encode(raw).rstrip(b"="),
        raw.hex().encode(),
        raw.hex().upper().encode(),
        raw[::-1],
        repr(raw)[2:-1].encode(),
    ]


def everything(folder: Path) -> dict[str, bytes]:
    """The content of every file."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def search(server: Server, devices: list[str]) -> None:
    files = everything(server.store.parent)
    assert any(name.endswith("collector.db") for name in files)
    addresses = [ADDRESS.encode(), socket.inet_aton(ADDRESS), socket.inet_aton(ADDRESS)[::-1]]
    for name, content in files.items():
        for needle in addresses:
            assert needle not in content, name
        for device in devices:
            for needle in forms(device):
                assert needle not in content, name


def test_the_search_finds_what_it_looks_for(tmp_path: Path) -> None:
    device = new_device()
    for number, needle in enumerate(forms(device)):
        (tmp_path / str(number)).write_bytes(b"\0" + needle + b"\0")
    found = everything(tmp_path).values()
    assert all(any(needle in content for content in found) for needle in forms(device))


def test_no_file_holds_a_pseudonym_or_an_address(server: Server) -> None:
    devices = [new_device() for _ in range(40)]
    for device in devices[:20]:
        assert send_from(ADDRESS, server, device) == [200, 200]
    search(server, devices)
    assert list((server.store.parent / "tmp").iterdir()) == []
    assert "deleted" not in "".join(open_files(server))
    server.stop()
    search(server, devices)
    server.start()
    for device in devices[20:]:
        send_from(ADDRESS, server, device)
    cli("release", "--store", str(server.store))
    search(server, devices)
    server.stop()
    cli("release", "--store", str(server.store), "--as-of", "2090-01-01", "--yes")
    search(server, devices)
    assert server.complaints() == []


def open_files(server: Server) -> list[str]:
    """What the process has open, to see a body spooled to a file that has no name any more."""
    links = Path(f"/proc/{server.pid}/fd")
    return [str(link.readlink()) for link in links.iterdir()] if links.exists() else []


def test_no_file_holds_a_pseudonym_after_a_kill(server: Server) -> None:
    """Killed in mid-transaction, so that a journal with the last pages is left."""
    devices = [new_device() for _ in range(600)]
    halfway = threading.Event()

    def send(some: list[str]) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            for number, device in enumerate(some):
                send_from(ADDRESS, server, device)
                if number == 10:
                    halfway.set()

    threads = [threading.Thread(target=send, args=(devices[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    assert halfway.wait(30)
    server.stop(signal.SIGKILL)
    for thread in threads:
        thread.join()
    search(server, devices)


def rows(store: Path) -> dict[str, int]:
    with closing(sqlite3.connect(store)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: connection.execute(f"SELECT count(*) FROM [{name}]").fetchone()[0]
            for (name,) in names
        }


def test_only_the_ledger_grows_with_devices(server: Server) -> None:
    def send(count: int) -> dict[str, int]:
        for _ in range(count):
            assert server.post(request_body(SURVEY, new_device())).json["accepted"] == 2
        return rows(server.store)

    first, second = send(20), send(30)
    assert second.pop("ledger") - first.pop("ledger") == 30
    assert first == second


@pytest.mark.parametrize(("senders", "n"), [(1, 60), (1, 200), (8, 200)])
def test_the_ledger_tells_no_order_of_arrival(
    start: Callable[..., InProcess], senders: int, n: int
) -> None:
    """Kendall's tau between arrival and rows, by their order and by their bytes in the file.

    Without a link its variance is 2(2n+5)/(9n(n-1)); 6.2 standard deviations have odds < 1e-9.
    """
    collector = start(SURVEY)
    devices = [new_device() for _ in range(n)]
    arrived: list[str] = []

    def send(some: list[str]) -> None:
        for device in some:
            body = request_body(SURVEY, device, period="2026-11-30")
            assert collector.post(body).json["accepted"] == 2
            arrived.append(device)

    threads = [threading.Thread(target=send, args=(devices[s::senders],)) for s in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys, scope = collector.collector.keys, Scope("test", "2026-11-30")
    tags = [keys.of(scope).tag(parse_device(device)) for device in arrived]
    path = Path(collector.collector.config.store)
    with closing(sqlite3.connect(path)) as connection:
        rows = [tag for (tag,) in connection.execute("SELECT tag FROM ledger")]
    assert sorted(rows) == sorted(tags)
    content = path.read_bytes()
    limit = 6.2 * (2 * (2 * n + 5) / (9 * n * (n - 1))) ** 0.5
    assert limit < 0.6
    for places in ([rows.index(tag) for tag in tags], [content.index(tag) for tag in tags]):
        assert abs(kendalltau(range(n), places).statistic) < limit


def test_below_min_crowd_no_door_tells_a_tally(server: Server) -> None:
    """Fifteen devices all answer alike; every door says 10-99 and no more."""
    store = ["--store", str(server.store)]
    token = cli("token", "create", "ann", *store).strip()
    for _ in range(15):
        server.post(request_body(SURVEY, new_device(), rng=random.Random(5)))
    bearer = {"Authorization": f"Bearer {token}"}
    for question in SURVEY.questions:
        reply = server.ask("GET", f"/v1/tallies/test/{question}", headers=bearer)
        assert (reply.status, reply.json) == (200, {"tallies": []})
    periods = server.ask("GET", "/v1/periods", headers=bearer).json["periods"]
    assert [(p["state"], p["crowd"]) for p in periods] == [("pending", "10-99")] * 2
    assert json.loads(cli("status", "--format", "json", *store)) == periods
    with closing(sqlite3.connect(f"{server.store.as_uri()}?mode=ro", uri=True)) as connection:
        assert connection.execute("SELECT * FROM released_tallies").fetchall() == []
        states = connection.execute("SELECT state, crowd FROM period_states").fetchall()
    assert states == [("pending", "10-99")] * 2
    server.stop()
    cli("release", "--as-of", "2090-01-01", "--yes", *store)
    states = json.loads(cli("status", "--format", "json", *store))
    assert [(s["state"], s["crowd"]) for s in states] == [("destroyed", "fewer than 1000")] * 2
    with closing(sqlite3.connect(server.store)) as connection:
        assert connection.execute("SELECT * FROM pending").fetchall() == []
        assert connection.execute("SELECT * FROM released").fetchall() == []


def test_a_backup_holds_no_key(server: Server, tmp_path: Path) -> None:
    devices = [new_device() for _ in range(5)]
    for device in devices:
        server.post(request_body(SURVEY, device))
    (key,) = [key.read_bytes() for key in period_keys(server.store.with_name("collector.db-keys"))]
    backup = tmp_path / "backup.db"
    with (
        closing(sqlite3.connect(server.store)) as source,
        closing(sqlite3.connect(backup)) as target,
    ):
        source.backup(target)
    content = backup.read_bytes()
    assert key not in content
    assert key.hex().encode() not in content
    other = ScopeKey(Scope("test", today()), os.urandom(32))
    tags = {other.tag(parse_device(device)) for device in devices}
    with closing(sqlite3.connect(backup)) as connection:
        stored = {tag for (tag,) in connection.execute("SELECT tag FROM ledger")}
    assert len(stored) == 5
    assert not stored & tags
