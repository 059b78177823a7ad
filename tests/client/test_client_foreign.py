"""Files that are no stores: recognised, told, and left exactly as they are."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from client_kit import python, rows, survey

from deniable.client.device import main
from deniable.protocol.errors import StoreError


def other_program(path: Path, *statements: str) -> None:
    """A healthy database of another program."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in ("CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('a')"):
            db.execute(statement)
        for statement in statements:
            db.execute(statement)


def damaged_database(path: Path) -> None:
    other_program(path)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + bytes(255 - byte for byte in content[4096:]))


FOREIGN = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_bytes(b"a person's notes\n" * 500),
    "line": lambda path: path.write_bytes(b"[survey]\n"),
    "zeros": lambda path: path.write_bytes(bytes(8192)),
    "16 bytes": lambda path: path.write_bytes(b"SQLite format 3\0"),
    "database": other_program,
    "versioned": lambda path: other_program(path, "PRAGMA user_version = 1"),
    "newer": lambda path: other_program(path, "PRAGMA user_version = 7"),
    "marked": lambda path: other_program(path, "PRAGMA application_id = 252006673"),
    "wal": lambda path: other_program(path, "PRAGMA journal_mode = WAL"),
    "damaged": damaged_database,
}


@pytest.fixture(params=FOREIGN.values(), ids=FOREIGN)
def foreign(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    path = folder / "notes.txt"
    request.param(path)
    path.chmod(0o644)
    return path


def look(path: Path) -> list[tuple[str, bytes, int, int]]:
    """Everything a write would change: names, bytes, rights and times of a folder's files."""
    return [
        (file.name, file.read_bytes(), file.stat().st_mode, file.stat().st_mtime_ns)
        for file in sorted(path.parent.iterdir())
    ]


def test_a_client_leaves_it_alone_and_says_so(start: Any, foreign: Path) -> None:
    before = look(foreign)
    for _ in range(2):
        with start(store=foreign, strict=False, consent="on") as client:
            client.record("dark", True)
            client.opt_in()
            client.flush(force=True)
            status = client.status()
            assert (status.state, status.queued) == ("silent", 0)
            assert "notes.txt is " in status.reason
            assert "another path" in status.reason or "is empty" in status.reason
    assert look(foreign) == before


def test_a_strict_client_raises(start: Any, foreign: Path) -> None:
    before = look(foreign)
    with pytest.raises(StoreError, match=r"notes\.txt is "):
        start(store=foreign)
    assert look(foreign) == before


@pytest.mark.parametrize("command", ["show", "on", "off", "erase"])
def test_no_command_changes_it(
    foreign: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = look(foreign)
    yes = ["--yes"] if command == "erase" else []
    assert main([command, *yes, "--store", str(foreign)]) == 1
    captured = capsys.readouterr()
    assert "notes.txt is " in captured.out + captured.err
    assert look(foreign) == before


def test_a_database_that_another_program_was_writing_is_left_alone(
    start: Any, tmp_path: Path
) -> None:
    """With a hot journal, which whoever opens the database as usual rolls back."""
    path = tmp_path / "home" / "notes.db"
    path.parent.mkdir()
    other_program(path)
    cut_off(path, "INSERT INTO notes SELECT zeroblob(5000) FROM generate")
    before = look(path)
    assert [name for name, *_ in before] == ["notes.db", "notes.db-journal"]
    assert start(store=path, strict=False).status().state == "silent"
    assert main(["show", "--store", str(path)]) == 1
    assert look(path) == before


@pytest.mark.parametrize("damage", [100, 4096])
def test_what_bears_the_mark_of_a_store_was_one(start: Any, store: Path, damage: int) -> None:
    start().close()
    content = store.read_bytes()
    store.write_bytes(content[:damage] + bytes(255 - byte for byte in content[damage:]))
    assert "acme.db.unreadable" in start(consent="on").status().reason
    assert not store.exists()


def test_show_changes_nothing_in_a_store(
    start: Any, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with start() as client:
        client.record("dark", True)
    store.chmod(0o644)
    before = look(store)
    assert main(["show", "--store", str(store)]) == 0
    assert "1 waiting" in capsys.readouterr().out
    assert look(store) == before


def test_show_does_not_repair_a_store(
    start: Any, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process that was killed in the middle of a transaction left a hot journal."""
    with start() as client:
        client.record("dark", True)
    cut_off(store, "INSERT INTO counters SELECT hex(randomblob(2000)), 1 FROM generate")
    before = look(store)
    assert main(["show", "--store", str(store)]) == 1
    assert "repaired when its app next starts" in capsys.readouterr().out
    assert look(store) == before
    with start() as client:
        assert client.status().queued == 1
        assert client.status().dropped == {}
    assert main(["show", "--store", str(store)]) == 0


CUT_OFF = """
import os, sqlite3, sys
path, statement = sys.argv[1:]
db = sqlite3.connect(path, isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
numbers = "WITH RECURSIVE generate(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM generate LIMIT 99) "
db.execute(numbers + statement)
os._exit(0)
"""


def cut_off(path: Path, statement: str) -> None:
    """Let a process die in the middle of a transaction that had begun to reach the disk."""
    with python(CUT_OFF, path, statement) as process:
        assert process.communicate(timeout=30) == ("", "")
    journal = path.with_name(f"{path.name}-journal")
    assert journal.read_bytes()[:1] != b"\0"


@pytest.mark.skipif(sys.platform == "win32", reason="SQLite's locks are of another kind there")
def test_a_second_client_drops_no_lock_of_the_first(start: Any, store: Path) -> None:
    """Opening and closing the file by other means than SQLite would, in the same process."""
    client = start()
    with client._engine._db.transaction():
        start(survey({"id": "other"})).status()
        program = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)
try:
    db.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as exc:
    print(exc)
"""
        with python(program, store) as process:
            assert process.communicate(timeout=30) == ("database is locked\n", "")
    assert rows(store, "PRAGMA integrity_check") == [("ok",)]
