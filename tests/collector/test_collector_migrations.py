"""Stores that older versions wrote, brought forward: what they counted counts on, nothing leaks.

``schemas/schemaN.sql`` is a store as the last version with that schema left it, and
``schemas/schemaN.json`` tells what goes with it: the survey, the keys in hexadecimal, the requests
that count in open periods, and the cells of every tally that waits.
"""

from __future__ import annotations

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
from collector_kit import Clock, InProcess, new_device, request_body

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


def test_a_tally_in_the_clear_whose_key_is_lost_goes(old: Old, start: Start, clock: Clock) -> None:
    (old.path.with_name("collector.db-keys") / "test.2026-11-30.key").unlink()
    collector = start(old.survey)
    lost = [place for place in old.pending if place[1] == "2026-11-30"]
    with collector.collector.store.read() as reader:
        crowds = [state.crowd for state in reader.states() if state.state == "destroyed"]
    assert crowds.count("key lost") == len(lost)


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
