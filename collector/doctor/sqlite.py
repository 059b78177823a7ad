"""The SQLite file: its settings, its soundness, its schema, and who is using it.

Everything is read without a lock that a running collector would have to wait for long.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sqlite_utils import Database

from deniable.protocol.errors import StoreError

from ..store.backup_mark import refuse_backup
from ..store.migrations import MIGRATIONS
from ..store.sqlite import PRAGMAS
from ..store.sqlite_errors import NOT_A_STORE, wrapped
from .findings import Case, Findings, fault, ok, warning

_CHECK_SECONDS = 1.0
_STEPS = 10_000


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a store to read it, and nothing else.

    Raises
    ------
    StoreError
    """
    if not path.is_file():
        raise StoreError(f"{path}: there is no such store; check --store")
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, isolation_level=None)) as connection:
            refuse_backup(path, connection)
            yield connection
    except sqlite3.Error as exc:
        raise wrapped(path, exc) from exc


def store(case: Case) -> Findings:
    """The file is an SQLite store that this user reads and writes."""
    path = case.path
    if path is None:
        return
    with opened(path) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    barred = [place for place in (path, path.absolute().parent) if not _may_write(place)]
    if barred:
        fix = "run doctor as the user that serve runs as; if you do, make that user the owner"
        yield fault("store", f"{barred[0]}: this user may not write to it", fix)
    else:
        yield ok("store", f"{path}: can be read and written by this user")


def _may_write(place: Path) -> bool:
    return os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def users(case: Case) -> Findings:
    """Tell whether a process counts into the file; the lock is looked up, not tried."""
    if case.path is None:
        return
    pid = holder(case.path.with_name(f"{case.path.name}.lock"))
    journal = case.path.with_name(f"{case.path.name}-journal")
    if pid is None and journal.is_file() and journal.stat().st_size:
        detail = f"{journal}: a commit was interrupted"
        yield warning("in use", detail, "keep it with the store; the next serve undoes that commit")
    else:
        yield ok("in use", f"by process {pid}" if pid else "no process is seen to count")


def holder(lock: Path) -> int | None:
    """Return the process that holds a lock file, from /proc/locks, as far as can be seen."""
    try:
        file = lock.stat()
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    name = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    for line in lines:
        fields = line.split()
        if "FLOCK" in fields and name in fields:
            return int(fields[fields.index(name) - 1])
    return None


def pragmas(case: Case) -> Findings:
    """SQLite does what the collector sets it to, and the file is not left in another mode."""
    if case.path is None:
        return
    with opened(case.path) as connection:
        if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            detail = "journal_mode is WAL, which keeps every deleted row until a checkpoint"
            fix = "stop what else opens the file, and start serve, which sets it back"
            yield fault("pragmas", detail, fix)
            return
        refused = []
        for name, value, expected in PRAGMAS:
            row = connection.execute(f"PRAGMA {name} = {value}").fetchone()
            if expected is not None and (row is None or row[0] != expected):
                refused.append(f"{name} = {value}")
    if refused:
        detail = f"this SQLite refuses {', '.join(refused)}"
        yield fault("pragmas", detail, "use a Python with an SQLite of 3.35 or newer")
    else:
        settings = ", ".join(f"{name} {value}" for name, value, _ in PRAGMAS)
        yield ok("pragmas", f"serve sets {settings} (SQLite {sqlite3.sqlite_version})")


def integrity(case: Case) -> Findings:
    """The file is sound; a check that takes long is given up, for it would hold up commits."""
    if case.path is None:
        return
    with opened(case.path) as connection:
        give_up = time.monotonic() + _CHECK_SECONDS
        connection.set_progress_handler(lambda: time.monotonic() > give_up, _STEPS)
        try:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        except sqlite3.OperationalError as exc:
            if exc.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            fix = (
                f"check all of it while serve is stopped: sqlite3 {case.path} 'PRAGMA quick_check'"
            )
            yield warning("integrity", "the file is large; it was checked for a second only", fix)
            return
    if found == "ok":
        yield ok("integrity", "the file is sound")
    else:
        fix = "stop serve and keep the file; restore the last backup into a new store"
        yield fault("integrity", f"{case.path}: is damaged", fix)


def schema(case: Case) -> Findings:
    """The schema is that of this version."""
    if case.path is None:
        return
    known = [step.name for step in MIGRATIONS.pending(Database(memory=True))]
    with opened(case.path) as connection:
        database = Database(connection, recursive_triggers=False, execute_plugins=False)
        applied = [step.name for step in MIGRATIONS.applied(database)]
        tables = database.table_names()
    if not applied and tables:
        yield fault("schema", f"{case.path}: is another program's database", NOT_A_STORE)
    elif set(applied) - set(known):
        yield fault("schema", "was written by a newer deniable", "upgrade this one")
    elif len(applied) < len(known):
        detail = f"is at step {len(applied)} of {len(known)}"
        yield warning("schema", detail, "back up; the next start of serve brings it up to date")
    else:
        yield ok("schema", f"is at step {len(applied)}, the newest")
