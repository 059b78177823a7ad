"""The SQLite store: one file, one writer, nothing left at rest.

``journal_mode=TRUNCATE`` with ``secure_delete=ON`` leaves no copy of a deleted row behind: a
write-ahead log would keep every row until a checkpoint. ``synchronous=FULL`` makes each commit
survive a power cut. These settings are the store's promise and never change.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path

from sqlite_utils import Database

from deniable.protocol.errors import StoreError

from .backup_mark import refuse_backup
from .base import OLDER_IN_USE, Reader, Transaction
from .migrations import MIGRATIONS
from .sqlite_errors import not_created, wrapped
from .sqlite_reading import Reading
from .sqlite_writing import Writing

_BUSY_SECONDS = 30.0
_ASK_SECONDS = 0.001
PRAGMAS = (
    ("journal_mode", "TRUNCATE", "truncate"),
    ("secure_delete", "ON", 1),
    ("synchronous", "FULL", None),
    ("temp_store", "MEMORY", None),
    ("foreign_keys", "ON", None),
)


class SQLiteStore:
    """One SQLite file; see :class:`~deniable.collector.store.base.Store`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        self._lock = threading.Lock()
        self._host = False

    @classmethod
    def open(cls, path: Path, *, create: bool) -> SQLiteStore:
        """Open the file, bring its schema up to date, and set it up to leave nothing behind."""
        path = real_path(path)
        if not path.exists():
            if not create:
                raise StoreError(f"{path}: there is no such store; check --store")
            _create_private(path)
        try:
            connection = _connect(path)
        except sqlite3.Error as exc:
            raise wrapped(path, exc) from exc
        try:
            refuse_backup(path, connection)
            _bring_forward(path, connection)
        except BaseException as exc:
            connection.close()
            if isinstance(exc, sqlite3.Error):
                raise wrapped(path, exc) from exc
            raise
        return cls(path, connection)

    @property
    def location(self) -> str:
        """The file's path."""
        return str(self._path)

    @property
    def keys(self) -> str:
        """A directory beside the file."""
        return str(self._path.with_name(f"{self._path.name}-keys"))

    def is_at(self, location: str) -> bool:
        """Return False: keys are never in an SQLite file."""
        return False

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Run one transaction on the writing connection."""
        with self._lock:
            try:
                self._begin()
                yield Writing(self._connection)
                self._connection.execute("COMMIT")
            except BaseException as exc:
                with suppress(sqlite3.Error):
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                if isinstance(exc, sqlite3.Error):
                    raise wrapped(self._path, exc) from exc
                raise

    def _begin(self) -> None:
        """Take the write lock; a guest of a running collector asks for it every millisecond.

        SQLite's own waiting soon looks ten times a second only, and so misses the moments
        between the commits of a busy collector, which asks again at once.
        """
        if self._host:
            self._connection.execute("BEGIN IMMEDIATE")
            return
        give_up = time.monotonic() + _BUSY_SECONDS
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            while True:
                try:
                    self._connection.execute("BEGIN IMMEDIATE")
                    break
                except sqlite3.OperationalError as exc:
                    busy = exc.sqlite_errorcode == sqlite3.SQLITE_BUSY
                    if not busy or time.monotonic() > give_up:
                        raise
                time.sleep(_ASK_SECONDS)
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000:.0f}")

    @contextmanager
    def read(self) -> Iterator[Reader]:
        """Read on a connection of its own, for a reader that lingers holds up every commit."""
        try:
            connection = sqlite3.connect(
                f"{self._path.absolute().as_uri()}?mode=ro",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
            )
            try:
                connection.execute("BEGIN")
                yield Reading(connection)
            finally:
                connection.close()
        except sqlite3.Error as exc:
            raise wrapped(self._path, exc) from exc

    def counting(self) -> AbstractContextManager[Transaction]:
        """Run one transaction; there is only one at a time."""
        return self.transaction()

    def attend(self) -> AbstractContextManager[None]:
        """Be the one process that counts."""
        return self.alone()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock a file beside the store; the lock goes with the process that holds it."""
        text = (
            "is in use by a running collector; stop it first"
            " (several processes need --store postgresql://…)"
        )
        with _locked(self._path, text):
            self._host = True
            try:
                yield
            finally:
                self._host = False

    def free_bytes(self) -> int:
        """Return the free space of the file's disk."""
        try:
            return shutil.disk_usage(self._path.parent).free
        except OSError as exc:
            raise StoreError(f"{self._path}: its disk cannot be read ({exc.strerror})") from exc

    def close(self) -> None:
        """Close the writing connection, after a transaction that is under way."""
        with self._lock:
            self._connection.close()


def real_path(path: Path) -> Path:
    """Return the file that a link leads to, beside which its lock and its keys are."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _create_private(path: Path) -> None:
    """Make an empty file that only its owner reads; SQLite's journal takes on its mode."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as exc:
        raise not_created(path, exc) from exc


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        for name, value, expected in PRAGMAS:
            row = connection.execute(f"PRAGMA {name} = {value}").fetchone()
            if expected is not None and (row is None or row[0] != expected):
                raise StoreError(f"{path}: SQLite refuses {name} = {value}; is the file in use?")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _locked(path: Path, refusal: str) -> Iterator[None]:
    """Hold the file beside a store that a process locks which counts into it."""
    beside = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as exc:
        raise not_created(beside, exc) from exc
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise StoreError(f"{path}: {refusal}") from exc
        yield
    finally:
        os.close(descriptor)


def _bring_forward(path: Path, connection: sqlite3.Connection) -> None:
    """Migrate; an older store only while nobody counts into it, who would go on in the old way."""
    database = Database(connection, recursive_triggers=False, execute_plugins=False)
    older = MIGRATIONS.applied(database) and MIGRATIONS.pending(database)
    with _locked(path, OLDER_IN_USE) if older else nullcontext():
        migrate(path, connection)


def migrate(path: Path, connection: sqlite3.Connection) -> None:
    """Apply what is missing, in one transaction that keeps other processes out."""
    database = Database(connection, recursive_triggers=False, execute_plugins=False)
    applied = {step.name for step in MIGRATIONS.applied(database)}
    if not applied and database.table_names():
        raise StoreError(f"{path}: is another program's database; choose another path")
    if not MIGRATIONS.pending(database):
        with closing(Database(memory=True)) as empty:
            known = len(MIGRATIONS.pending(empty))
        if len(applied) > known:
            raise StoreError(f"{path}: was written by a newer deniable; upgrade this one")
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        MIGRATIONS.apply(database)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
