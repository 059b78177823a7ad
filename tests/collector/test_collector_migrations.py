"""Stores that older versions wrote, brought forward: what they counted counts on, nothing leaks.

``schemas/schemaN.sql`` is a store as the last version with that schema left it, and
``schemas/schemaN.json`` tells what goes with it: the survey, the keys in hexadecimal, the requests
that count in open periods, and the cells of every tally that waits.
"""

from __future__ import annotations

import fcntl
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, cast

import pytest
from collector_kit import FAR, InProcess, new_device, request_body, run_cli

from deniable.collector.release import close_periods
from deniable.collector.store.base import Scope
from deniable.collector.store.migrations import MIGRATIONS
from deniable.protocol.survey import Survey, parse_compiled
from deniable.protocol.tally import parse_tally

SCHEMAS = Path(__file__).with_name("schemas")
ALL = sorted(path.stem for path in SCHEMAS.glob("*.sql"))
Start = Callable[..., InProcess]


class Old:
    """An old store, laid out in a folder."""

    def __init__(self, name: str, folder: Path) -> None:
        text = (SCHEMAS / f"{name}.json").read_text(encoding="utf-8")
        self.facts: Any = json.loads(text, parse_float=Decimal)
        self.survey: Survey = parse_compiled(self.facts["survey"])
        self.sql = (SCHEMAS / f"{name}.sql").read_text(encoding="utf-8")
        self.path = folder / "collector.db"
        with closing(sqlite3.connect(self.path)) as db:
            db.executescript(self.sql)
        keys = folder / "collector.db-keys"
        keys.mkdir(mode=0o700)
        for scope, key in self.facts["keys"].items():
            (keys / f"{scope}.key").write_bytes(bytes.fromhex(key))

    @property
    def pending(self) -> dict[tuple[str, str, str | None], tuple[int, list[int]]]:
        """By question, period and segment: n and cells."""
        found = {}
        for place, (n, cells) in self.facts["pending"].items():
            question, period, segment = place.split(" ")
            raw = bytes.fromhex(cells)
            numbers = [int.from_bytes(raw[at : at + 8], "little") for at in range(0, len(raw), 8)]
            found[question, period, segment or None] = (n, numbers)
        return found


@pytest.fixture(params=ALL)
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Old:
    return Old(request.param, tmp_path)


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        return list(db.iterdump())


def tables(path: Path) -> list[str]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        return [name for (name,) in db.execute("SELECT name FROM sqlite_schema ORDER BY name")]


def test_every_schema_but_the_newest_has_a_store_here() -> None:
    names = [step.name for step in MIGRATIONS._migrations]
    assert [f"schema{number}" for number in range(1, len(names))] == ALL


def test_an_old_store_counts_on(old: Old, start: Start) -> None:
    """Who had counted is known, and what they added is in what is released."""
    collector = start(old.survey)
    for body in old.facts["counted"]:
        assert collector.post(body).json["duplicate"] == len(body["reports"])
    expected = old.pending
    for (question, period, segment), (_, cells) in expected.items():
        body = request_body(
            old.survey, new_device(), period=period, segment=segment, questions=[question]
        )
        assert collector.post(body).json["accepted"] == 1
        known = old.survey.questions[question]
        known.mechanism.shape.fold(cells, known.unpack(body["reports"][0]["response"]))
    collector.release(days=8)
    for (question, period, segment), (n, cells) in expected.items():
        tallies = [parse_tally(d) for d in collector.documents(old.survey.id, question)]
        (tally,) = [
            tally
            for tally in tallies
            if (tally.period, tally.segment) == (period, segment)
            and tally.batch in (None, "2026-W49")
        ]
        assert (tally.n, list(tally.cells)) == (n + 1, cells)


def test_what_an_old_store_released_is_what_it_was(old: Old, start: Start) -> None:
    collector = start(old.survey)
    released = [d for name in old.survey.questions for d in collector.documents("test", name)]
    key = lambda d: (d["question"]["id"], d["period"], d["segment"] or "")  # noqa: E731
    assert sorted(released, key=key) == sorted(old.facts["released"], key=key)
    assert len([parse_tally(document) for document in released]) == len(released) > 0
    token = {"Authorization": f"Bearer {old.facts['token']}"}
    for door in ("/v1/periods", "/metrics"):
        assert collector.ask("GET", door, headers=token).status == 200


def test_nothing_that_waited_in_the_clear_stays(old: Old, start: Start) -> None:
    plain = [bytes.fromhex(cells) for _, cells in old.facts["pending"].values()]
    wide = [cells for cells in plain if len(cells) >= 64]
    assert wide
    assert all(cells in old.path.read_bytes() for cells in plain)
    start(old.survey).collector.close()
    left = old.path.read_bytes() + old.path.with_name("collector.db-journal").read_bytes()
    assert not [cells for cells in plain if cells in left]
    assert not [at for cells in wide for at in range(0, len(cells) - 24, 8)
                if any(cells[at : at + 24]) and cells[at : at + 24] in left]  # fmt: skip
    with closing(sqlite3.connect(old.path)) as db:
        assert db.execute("SELECT count(*) FROM pending_plain").fetchone() == (0,)
        assert db.execute("SELECT count(*) FROM pending").fetchone() == (len(plain),)


def in_the_clear(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("SELECT count(*) FROM pending_plain").fetchone()[0])


def again_in_the_clear(old: Old, rows: list[tuple[Any, ...]]) -> None:
    with closing(sqlite3.connect(old.path)) as db, db:
        db.executemany("INSERT INTO pending_plain VALUES (?, ?, ?, ?, ?)", rows)


def plain_rows(old: Old) -> list[tuple[Any, ...]]:
    """The rows of an old store's tallies of a day."""
    with closing(sqlite3.connect(old.path)) as db:
        return db.execute("SELECT * FROM pending WHERE period = '2026-11-30'").fetchall()


def released_cells(collector: InProcess, old: Old) -> dict[Any, Any]:
    tallies = [
        parse_tally(document)
        for question in old.survey.questions
        for document in collector.documents("test", question)
    ]
    places = [(tally.question.id, tally.period, tally.segment) for tally in tallies]
    return {
        place: (tally.n, list(tally.cells))
        for place, tally in zip(places, tallies, strict=True)
        if place in old.pending and place[1] == "2026-11-30"
    }


def of_the_day(old: Old, times: int = 1) -> dict[Any, Any]:
    return {
        place: (times * n, [times * cell for cell in cells])
        for place, (n, cells) in old.pending.items()
        if place[1] == "2026-11-30"
    }


def states_of_the_day(collector: InProcess) -> list[str]:
    with collector.collector.store.read() as reader:
        states = [s for s in reader.states() if s.period == "2026-11-30" and s.question != "small"]
    return [state.crowd if state.crowd == "key lost" else state.state for state in states]


def test_a_tally_in_the_clear_waits_for_its_key(
    old: Old, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as on a disk that is not mounted yet; it is told once."""
    key = old.path.with_name("collector.db-keys") / "test.2026-11-30.key"
    away = key.rename(old.path.with_name("away"))
    expected = of_the_day(old)
    start(old.survey).collector.close()
    collector = start(old.survey)
    caplog.clear()
    for _ in range(3):
        collector.release(days=8)
        assert states_of_the_day(collector) == ["pending"] * len(expected)
        assert in_the_clear(old.path) == len(expected)
    assert len([line for line in caplog.messages if "encrypting what waits of" in line]) == 0
    away.rename(key)
    collector.release(days=1)
    assert released_cells(collector, old) == expected
    assert in_the_clear(old.path) == 0
    (line,) = [line for line in caplog.messages if "encrypting what waits of" in line]
    assert line == "encrypting what waits of test.2026-11-30: in order again"
    assert not key.exists()


def test_a_tally_in_the_clear_whose_key_is_lost_may_be_given_up(old: Old, start: Start) -> None:
    (old.path.with_name("collector.db-keys") / "test.2026-11-30.key").unlink()
    collector = start(old.survey)
    collector.release(days=8)
    now = collector.clock()
    keys = collector.collector.keys
    done = collector.collector.writer.run(lambda tx: close_periods(tx, keys, now, give_up=True))
    expected = of_the_day(old)
    assert done.destroyed == len(expected)
    assert states_of_the_day(collector) == ["key lost"] * len(expected)
    assert in_the_clear(old.path) == 0
    assert not any(scope.period == "2026-11-30" for scope in open_scopes(collector))


def open_scopes(collector: InProcess) -> list[Scope]:
    with collector.collector.store.read() as reader:
        return reader.open_scopes()


def test_what_was_counted_in_the_clear_since_is_added(old: Old, start: Start) -> None:
    rows = plain_rows(old)
    start(old.survey).collector.close()
    again_in_the_clear(old, rows)
    collector = start(old.survey)
    assert in_the_clear(old.path) == 0
    collector.release(days=8)
    assert released_cells(collector, old) == of_the_day(old, times=2)


def test_a_tally_in_the_clear_of_a_closed_period_stops_nothing(old: Old, start: Start) -> None:
    rows = plain_rows(old)
    collector = start(old.survey)
    collector.release(days=8)
    collector.collector.close()
    again_in_the_clear(old, rows)
    collector = start(old.survey)
    collector.release(days=1)
    assert in_the_clear(old.path) == len(rows)
    assert released_cells(collector, old) == of_the_day(old)
    now, keys = collector.clock(), collector.collector.keys
    collector.collector.writer.run(lambda tx: close_periods(tx, keys, now, give_up=True))
    assert in_the_clear(old.path) == 0


def test_a_release_before_the_first_start_loses_nothing(old: Old, start: Start) -> None:
    done = run_cli("release", "--store", str(old.path), "--as-of", FAR, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    collector = start(old.survey)
    assert released_cells(collector, old) == of_the_day(old)
    assert in_the_clear(old.path) == 0


def test_a_release_before_the_first_start_without_a_key_says_so(old: Old, start: Start) -> None:
    key = old.path.with_name("collector.db-keys") / "test.2026-11-30.key"
    away = key.rename(old.path.with_name("away"))
    done = run_cli("release", "--store", str(old.path), "--as-of", FAR, "--yes")
    assert "waiting for 1 key" in done.stdout
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("Warning: ")]
    assert "test.2026-11-30 waits in the clear" in line
    away.rename(key)
    collector = start(old.survey)
    collector.release()
    assert released_cells(collector, old) == of_the_day(old)


def test_no_command_changes_a_store_under_an_older_collector(old: Old) -> None:
    """An older one would write on as it did; each of its commits is acknowledged."""
    before = dump(old.path)
    backup = old.path.with_name("backup.db")
    location = str(old.path)
    with old.path.with_name("collector.db.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in (["backup", str(backup)], ["status"], ["token", "list"], ["release"]):
            done = run_cli(*command, "--store", location)
            assert (done.returncode, done.stderr.count("\n")) == (1, 1)
            assert "stop the running collector first" in done.stderr
        assert dump(old.path) == before
        assert not backup.exists()
    assert run_cli("status", "--store", location).returncode == 0
    assert "sealed" in tables(old.path)


MIGRATOR = """
import sys
from deniable.collector.store import migrations, open_store, sqlite

after = int(sys.argv[2])
connect = sqlite._connect

def pause():
    print("here", flush=True)
    sys.stdin.read()

def slowly(path):
    connection = connect(path)
    connection.execute("PRAGMA cache_size = 1")  # what is written goes to the file at once
    connection.create_function("pause", 0, pause)
    return connection

sqlite._connect = slowly
steps = migrations._ENCRYPTED
migrations._ENCRYPTED = (*steps[:after], "SELECT pause()", *steps[after:])
open_store(sys.argv[1])
"""


@pytest.mark.parametrize("after", [4, 7, 10])
def test_a_migration_that_is_killed_leaves_the_old_store(
    tmp_path: Path, start: Start, after: int
) -> None:
    old = Old("schema1", tmp_path)
    before = dump(old.path)
    content = old.path.read_bytes()
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", MIGRATOR, str(old.path), str(after)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert cast("IO[str]", process.stdout).readline() == "here\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert old.path.with_name("collector.db-journal").stat().st_size > 0
    assert old.path.read_bytes() != content
    assert dump(old.path) == before  # sqlite rolls back what it finds half done
    assert old.path.read_bytes() == content
    collector = start(old.survey)
    assert "sealed" in tables(old.path)
    body = old.facts["counted"][0]
    assert collector.post(body).json["duplicate"] == len(body["reports"])
