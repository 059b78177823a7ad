"""What an operator meets: a failure is a 503 with its reason in the log, and heals without hands.

Under all of them nothing that was answered with 200 is lost or counted twice.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from collector_kit import (
    PROGRAM,
    Server,
    make_survey,
    new_device,
    request_body,
    run_cli,
    save,
    today,
)
from flask import Flask
from key_places import until
from load_kit import (
    SURVEY,
    Devices,
    check_released,
    close_all,
    documents,
    python,
    replicas,
    stop_all,
)
from servers import Postgres, Valkey

from deniable.collector.app import close_app, collector_of, create_app
from deniable.collector.config import Config
from deniable.collector.store.base import Scope

OUTAGE = float(os.environ.get("DENIABLE_TEST_OUTAGE", "3"))
"""Seconds that PostgreSQL is away; 30 is the same path."""

QUICK = ("--release-every", "0.2")

both_stores = pytest.mark.parametrize("location", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store may be."""
    if request.param == "sqlite":
        return str(tmp_path / "0.db")
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.fresh_database()


@contextmanager
def loaded(
    folder: Path,
    location: str,
    *options: str,
    program: tuple[str, ...] = PROGRAM,
    day: str | None = None,
) -> Iterator[tuple[Server, Devices]]:
    """A collector under load that began well; at the end what it answered is what it counted."""
    places = () if "--keys" in options else ("--keys", str(folder / "keys"))
    options = (*places, *options)
    keys = options[options.index("--keys") + 1]
    with replicas(SURVEY, folder, 1, location, *options, program=program) as (server,):
        devices = Devices(SURVEY, [server], 1, [day or today()])
        with devices.sending(3):
            devices.wait_for(10)
            yield server, devices
            devices.wait_for(20)
        stop_all([server])
    check_discreet(server, devices)
    close_all(location, keys)
    check_released(location, devices)


def days_before(day: str, count: int) -> str:
    return (date.fromisoformat(day) - timedelta(days=count)).isoformat()


def check_discreet(server: Server, devices: Devices) -> None:
    """The log tells an outage once, and of no report."""
    complaints = server.complaints()
    assert len(complaints) <= 24, complaints
    text = server.log.read_text()
    assert "Traceback" not in text
    for bodies in devices.answered.values():
        assert not any(body["device"] in text for body in bodies)


def told(server: Server, reason: str) -> bool:
    return any(reason in line for line in server.complaints())


def limit_files(server: Server, size: int) -> None:
    """Let a process write no further into a file than so many bytes."""
    hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size, hard))


def test_no_file_may_grow(tmp_path: Path) -> None:
    """What a quota does: writes fail, the log's excepted, which is short."""
    with loaded(tmp_path, str(tmp_path / "0.db"), *QUICK) as (server, devices):
        limit_files(server, 8192)
        devices.wait_for_refusals(20)
        until(lambda: server.ask("GET", "/readyz").status == 503)
        assert server.ask("GET", "/livez").status == 200
        limit_files(server, resource.RLIM_INFINITY)
        devices.wait_for(20)
        until(lambda: server.ask("GET", "/readyz").status == 200)
    assert told(server, "error: outage: commit failed: ")
    assert told(server, "warning: outage: commit: in order again")
    assert set(devices.refusals) == {"the reports cannot be stored now"}


UNBOUNDED = """
from functools import partial
import deniable.collector.commands.serve as serve
serve.Config = partial(serve.Config, min_free_bytes=0)
from deniable.collector.cli import main
main()
"""
MEBIBYTE = 1024 * 1024


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 80 MiB, which only root can make."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=80m", "none", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize(
    ("program", "left", "reason"),
    [
        (PROGRAM, 32 * MEBIBYTE, "taking in reports failed: the disk is almost full"),
        (python(UNBOUNDED), 0, "database or disk is full"),
    ],
    ids=["headroom", "no room"],
)
def test_a_disk_that_fills_up(
    small_disk: Path, tmp_path: Path, program: tuple[str, ...], left: int, reason: str
) -> None:
    store, ballast = str(small_disk / "0.db"), small_disk / "ballast"
    with loaded(tmp_path, store, *QUICK, program=program) as (server, devices):
        with ballast.open("wb", buffering=0) as file, suppress(OSError):
            while (free := shutil.disk_usage(small_disk).free - left) > 0:
                file.write(bytes(min(free, MEBIBYTE)))
        devices.wait_for_refusals(20)
        ballast.unlink()
    assert told(server, reason)
    assert set(devices.refusals) == {"the reports cannot be stored now"}


WITHOUT_POWER = f"""
import ctypes, os, sys
if os.geteuid() == 0 and ctypes.CDLL(None).prctl(24, 1, 0, 0, 0):
    sys.exit("root cannot give up writing what it likes")
os.execv({PROGRAM[0]!r}, [*{PROGRAM!r}, *sys.argv[1:]])
"""
"""What runs the collector as a user who heeds the mode of a file."""


def test_a_file_that_became_read_only(tmp_path: Path) -> None:
    store = tmp_path / "0.db"
    files = [store, tmp_path / "0.db-journal"]
    program = python(WITHOUT_POWER)
    with loaded(tmp_path, str(store), *QUICK, program=program) as (server, devices):
        for file in files:
            file.chmod(0o400)
        devices.wait_for_refusals(20)
        for file in files:
            file.chmod(0o600)
    assert told(server, f"commit failed: {store}: ")
    store.chmod(0o400)
    started = subprocess.run(
        [*program, "serve", "--store", str(store), "--survey", str(server.surveys[0])],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (started.returncode, started.stderr.count("\n")) == (1, 1), started.stderr
    assert str(store) in started.stderr


def overwrite(store: Path) -> bytes:
    """Write noise over a store between two commits; return what was there."""
    with store.open("r+b") as file, closing(sqlite3.connect(store)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        content = file.read()
        file.seek(0)
        file.write(os.urandom(len(content)))
        file.flush()
        return content


def put_back(store: Path, content: bytes) -> None:
    """Restore a store, its first page last, for without that nothing can be done with it."""
    with store.open("r+b") as file:
        os.pwrite(file.fileno(), content[4096:], 4096)
        os.pwrite(file.fileno(), content[:4096], 0)


def test_a_file_that_was_overwritten(tmp_path: Path) -> None:
    """While it runs, and while it does not; with the file put back it counts on."""
    store = tmp_path / "0.db"
    with loaded(tmp_path, str(store), *QUICK) as (server, devices):
        content = overwrite(store)
        devices.wait_for_refusals(20)
        put_back(store, content)
        devices.wait_for(20)
        server.stop()
        content = overwrite(store)
        refused = run_cli("serve", "--store", str(store), "--survey", str(server.surveys[0]))
        assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused.stderr
        assert "file is not a database" in refused.stderr
        put_back(store, content)
        server.start()
    assert told(server, "file is not a database")


@both_stores
def test_a_key_that_vanishes_is_put_back(location: str, tmp_path: Path) -> None:
    with loaded(tmp_path, location, *QUICK) as (server, devices):
        day = devices.periods[0]
        key = tmp_path / "keys" / f"test.{day}.key"
        content = key.read_bytes()
        key.unlink()
        until(key.exists)
        assert key.read_bytes() == content
        devices.wait_for(20)
        server.stop(signal.SIGKILL)
        server.start()
    assert told(server, f"the key of test.{day} had vanished and was put back from memory")
    assert not devices.refusals


@both_stores
def test_a_key_that_was_lost_while_nobody_had_it(location: str, tmp_path: Path) -> None:
    """Its period waits, another one counts, and with the key put back it counts on."""
    with loaded(tmp_path, location, *QUICK) as (server, devices):
        day = devices.periods[0]
        yesterday = days_before(day, 1)
        key, away = tmp_path / "keys" / f"test.{day}.key", tmp_path / "away"
        server.stop()
        key.rename(away)
        server.start()
        devices.wait_for_refusals(20)
        other = request_body(SURVEY, new_device(), period=yesterday)
        assert server.post(other).json["accepted"] == 2
        devices.answered[yesterday] = [other]
        until(lambda: server.ask("GET", "/readyz").status == 503)
        away.rename(key)
    assert told(server, f"looking up the key of test.{day} failed: {key.parent}: ")
    assert set(devices.refusals) == {"the period's key is missing; nothing counts in it"}


@both_stores
def test_valkey_goes_and_loses_every_key(location: str, tmp_path: Path, valkey: Valkey) -> None:
    """It counts floods and holds keys, in memory only; a collector has them still."""
    keys, flood = valkey.fresh_database(), valkey.fresh_database()
    options = ["--keys", keys, "--flood-storage", flood, *QUICK]
    with loaded(tmp_path, location, *options) as (server, devices):
        day = devices.periods[0]
        valkey.kill()
        devices.wait_for_refusals(20)
        assert server.ask("GET", "/livez").status == 200
        until(lambda: told(server, f"release failed: {keys}: cannot be used"))
        valkey.start()
        devices.wait_for(20)
        with closing(redis.Redis.from_url(keys)) as client:
            until(lambda: bool(client.exists(f"deniable:key:test.{day}")))
        until(lambda: told(server, f"the key of test.{day} had vanished and was put back"))
        server.stop(signal.SIGKILL)
        server.start()
    assert told(server, f"{flood}: floods cannot be counted, so reports are answered 503 ")
    assert told(server, f"{flood}: floods are counted again")
    assert set(devices.refusals) == {"the flood limit cannot be checked"}


@pytest.mark.parametrize("end", ["crash", "stop"])
def test_postgresql_is_away(end: str, tmp_path: Path, postgres: Postgres) -> None:
    with loaded(tmp_path, postgres.fresh_database(), *QUICK) as (server, devices):
        if end == "crash":
            postgres.kill()
        else:
            postgres.stop()
        back = time.monotonic() + OUTAGE
        devices.wait_for_refusals(20)
        until(lambda: server.ask("GET", "/readyz").status == 503)
        assert server.ask("GET", "/livez").status == 200
        until(lambda: time.monotonic() > back, OUTAGE + 1)
        postgres.start()
        devices.wait_for(20)
        until(lambda: server.ask("GET", "/readyz").status == 200)
    assert told(server, "commit failed: ")
    assert told(server, "the server is not running there")
    assert told(server, "commit: in order again")


SHIFTED = """
import os
from datetime import timedelta
from functools import partial
from pathlib import Path
import deniable.collector.commands.serve as serve
from deniable.collector.config import utc_now
shift = Path(os.environ["CLOCK_SHIFT"])
serve.Config = partial(
    serve.Config, clock=lambda: utc_now() + timedelta(hours=float(shift.read_text()))
)
from deniable.collector.cli import main
main()
"""


@both_stores
def test_a_clock_that_is_set_back_a_day(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reports of a day that is now to come are kept by their devices; what was closed stays so."""
    shift = tmp_path / "shift"
    monkeypatch.setenv("CLOCK_SHIFT", str(shift))

    def set_clock(hours: float) -> None:
        draft = tmp_path / "draft"
        draft.write_text(str(hours))
        draft.rename(shift)

    now = datetime.now(UTC)
    noon = 12 - (now.hour + now.minute / 60)
    set_clock(noon)
    with loaded(tmp_path, location, *QUICK, program=python(SHIFTED), day=today(now)) as (
        server,
        devices,
    ):
        (day,) = devices.periods
        yesterday, long_ago = days_before(day, 1), days_before(day, 31)
        pass_on = request_body(SURVEY, new_device(), period=day)
        devices.pause()
        set_clock(noon - 24)
        until(lambda: told(server, "the clock failed: it is behind what was closed before"))
        assert codes(server.post(pass_on).json) == {"period_future"}
        assert codes(server.post(pass_on | {"period": long_ago}).json) == {"period_closed"}
        assert server.post(pass_on | {"period": yesterday}).json["accepted"] == 2
        devices.answered[yesterday] = [pass_on]
        set_clock(noon)
        until(lambda: told(server, "the clock: in order again"))
        assert server.post(pass_on).json["accepted"] == 2
        devices.answered[day].append(pass_on)
        devices.resume()
    assert not devices.refusals


def codes(outcome: dict[str, Any]) -> set[str]:
    assert not outcome["accepted"]
    return {rejection["code"] for rejection in outcome["rejected"]}


@both_stores
def test_a_survey_that_is_broken_when_it_is_read_again(location: str, tmp_path: Path) -> None:
    """The old one goes on without a pause; the next reload of a whole file is taken."""
    more = make_survey({"more": {"grace": 30}})
    with loaded(tmp_path, location) as (server, devices):
        (path,) = server.surveys
        path.write_text('{"survey": ')
        os.kill(server.pid, signal.SIGHUP)
        until(lambda: told(server, "nothing was reloaded, the surveys of before go on: "))
        devices.wait_for(20)
        save(more, path)
        os.kill(server.pid, signal.SIGHUP)
        until(lambda: server.post(request_body(more, new_device())).json["accepted"] == 1)
    assert len(server.complaints()) == 1
    assert str(path) in server.complaints()[0]
    assert not devices.refusals


def test_a_key_lost_before_its_first_row(
    tmp_path: Path, postgres: Postgres, valkey: Valkey
) -> None:
    """Two replicas make one each: the first to count decides, and the other takes that."""
    places = valkey.fresh_database()
    config = Config(
        postgres.fresh_database(), (SURVEY,), keys=places, release_every=0, flood_limit="9 per day"
    )
    with running(config) as first, running(config) as second:
        day = today()
        scope = Scope("test", day, "", 0)
        collector_of(first).keys.of(scope)
        with closing(redis.Redis.from_url(places)) as client:
            client.flushdb()
        bodies = [request_body(SURVEY, new_device(), period=day) for _ in range(2)]
        assert post(second, bodies[0]).get_json()["accepted"] == 2
        assert post(first, bodies[1]).status_code == 503
        assert post(first, bodies[1]).get_json()["accepted"] == 2
        assert [post(first, body).get_json()["duplicate"] for body in bodies] == [2, 2]
        collector_of(first).keys.restore()
    close_all(config.store, places)
    assert [json.loads(text)["n"] for text in documents(config.store, SURVEY)] == [2, 2]


@contextmanager
def running(config: Config) -> Iterator[Flask]:
    app = create_app(config)
    try:
        yield app
    finally:
        close_app(app)


def post(app: Flask, body: dict[str, Any]) -> Any:
    return app.test_client().post("/v1/reports", json=body)
