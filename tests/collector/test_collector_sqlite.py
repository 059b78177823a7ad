"""What the SQLite store promises beyond the others: private files, and nothing left in them."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from collector_kit import make_survey
from sqlite_utils import Database

from deniable.collector.store import open_store
from deniable.collector.store.base import Device, Pending, PendingKey, Scope, Token
from deniable.protocol.errors import StoreError


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "collector.db"


def test_files_are_private(path: Path) -> None:
    before = os.umask(0)
    try:
        with closing(open_store(str(path))) as store, store.alone(), store.transaction() as tx:
            tx.put_token("ann", Token(b"1" * 32, ("analyst",)))
            files = list(path.parent.iterdir())
            assert {file.name for file in files} == {
                "collector.db",
                "collector.db-journal",
                "collector.db.lock",
            }
            assert [mode(file) for file in files] == [0o600] * 3
    finally:
        os.umask(before)


def test_deleted_rows_leave_no_bytes(path: Path) -> None:
    tags = [os.urandom(16) for _ in range(500)]
    cells = os.urandom(3000)
    key = PendingKey(1, "2026-11-30", None)
    with closing(open_store(str(path))) as store:
        with store.transaction() as tx:
            tx.put_question(make_survey({"yes": {}}).questions["yes"])
            scope = Scope("test", "2026-11-30")
            row = tx.add_scope(scope, b"")
            tx.put_ledger({Device(row.id, tag): 1 for tag in tags}, {row.id: len(tags)})
            tx.put_pending({key: Pending(1, cells)})
        everything = path.read_bytes()
        assert all(tag in everything for tag in tags)
        assert cells[-500:] in everything
        with store.transaction() as tx:
            tx.close_scope(scope)
            assert tx.sweep(400) == 400
            assert tx.sweep(400) == 100
            assert tx.sweep(400) == 0
            tx.drop_pending(key)
        for file in path.parent.iterdir():
            everything = file.read_bytes()
            assert not [tag for tag in tags if tag[:8] in everything]
            assert cells[-500:-480] not in everything


def test_the_journal_is_empty_between_transactions(path: Path) -> None:
    with closing(open_store(str(path))) as store:
        with store.transaction() as tx:
            tx.put_token("ann", Token(b"1" * 32, ("analyst",)))
        assert path.with_name("collector.db-journal").read_bytes() == b""
        assert not path.with_name("collector.db-wal").exists()


def test_a_probe_reaches_the_file(path: Path) -> None:
    with closing(open_store(str(path))) as store:
        contents = []
        for _ in range(4):
            with store.transaction() as tx:
                tx.probe()
            contents.append(path.read_bytes())
    assert all(one != other for one, other in pairwise(contents))


def test_the_connection_is_set_up_for_durability(path: Path) -> None:
    with closing(open_store(str(path))) as store:
        connection = store._connection  # type: ignore[attr-defined]
        pragmas = ("journal_mode", "secure_delete", "synchronous", "temp_store")
        values = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    assert values == ["truncate", 1, 2, 2]


def test_no_table_numbers_its_rows_by_arrival(path: Path) -> None:
    """Every table that a report changes is without rowid: in the order of its key alone."""
    open_store(str(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        for table in ("ledger", "pending", "sealed", "released", "destroyed"):
            with pytest.raises(sqlite3.OperationalError, match="no such column"):
                connection.execute(f"SELECT rowid FROM {table}")


def test_analysts_read_two_views(path: Path) -> None:
    open_store(str(path)).close()
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        columns = {
            view: [row[1] for row in connection.execute(f"PRAGMA table_info({view})")]
            for view in ("released_tallies", "period_states")
        }
    common = ["survey", "question", "version", "period", "batch", "segment"]
    assert columns == {
        "released_tallies": [*common, "n", "document"],
        "period_states": [*common, "state", "crowd"],
    }


def test_another_programs_database_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StoreError, match="another program's"):
        open_store(str(path))
    path.write_bytes(b"not a database at all, but long enough to be looked at" * 30)
    with pytest.raises(StoreError, match="not a database"):
        open_store(str(path))


def test_a_newer_schema_is_refused(path: Path) -> None:
    open_store(str(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        Database(connection)["_sqlite_migrations"].insert(
            {"migration_set": "deniable-collector", "name": "m999_later", "applied_at": ""}
        )
    with pytest.raises(StoreError, match="newer deniable"):
        open_store(str(path))


def test_a_link_leads_to_the_same_lock_and_keys(path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    with closing(open_store(str(path))) as first, closing(open_store(str(link))) as second:
        assert first.keys == second.keys == f"{path}-keys"
        with first.attend(), pytest.raises(StoreError, match="running collector"):
            second.attend().__enter__()
        with second.alone(), pytest.raises(StoreError, match="running collector"):
            first.attend().__enter__()


def test_a_link_that_leads_nowhere(path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    with pytest.raises(StoreError, match="no such store"):
        open_store(str(link), create=False)
    open_store(str(link)).close()
    assert path.is_file()
    loop = path.with_name("loop.db")
    loop.symlink_to(loop)
    with pytest.raises(StoreError, match="cannot be created"):
        open_store(str(loop))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be created"):
        open_store(str(tmp_path / "missing" / "collector.db"))
