"""One open SQLite file, shared by threads, survived by forks, never half written.

What must never change: a transaction is durable when it returns, and a forked child touches its
parent's connection in no way, not even to close it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deniable.protocol.errors import StoreError

from .faults import BusyStore, fault
from .schema import connect

_ABANDONED: list[object] = []
"""Connections of a parent process; dropping the last reference would close them."""


class Database:
    """A store's file. One transaction at a time, whichever thread asks for it."""

    def __init__(self, path: Path, *, look: bool = False) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._db: sqlite3.Connection | None = connect(path, look=look)
        self._inherited = False

    def close(self) -> None:
        """Close the file; using it afterwards is a store error."""
        with self.lock:
            db, self._db = self._db, None
            self._inherited = False
            if db is not None:
                db.close()

    def hurry(self) -> None:
        """From now on, wait for other processes hardly at all."""
        self.rows("PRAGMA busy_timeout = 100")

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def after_fork(self) -> None:
        """In the child: forget the parent's lock and connection."""
        self.lock = threading.RLock()
        if self._db is not None:
            _ABANDONED.append(self._db)
            self._db = None
            self._inherited = True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do everything inside durably or not at all, with nobody else writing meanwhile.

        Raises
        ------
        StoreError
            Its subclass says whether the store is unreadable or only busy.
        """
        with self.lock:
            db = self._connection()
            interrupted = db.in_transaction
            if interrupted:
                raise BusyStore("the store is in use by what this call interrupted; try again")
            try:
                db.execute("BEGIN IMMEDIATE")
                try:
                    yield
                    db.execute("COMMIT")
                except BaseException:
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                    raise
            except sqlite3.Error as exc:
                raise fault(exc) from exc

    def rows(self, sql: str, *values: object) -> list[Any]:
        """Run a query."""
        with self.lock:
            try:
                return self._connection().execute(sql, values).fetchall()
            except sqlite3.Error as exc:
                raise fault(exc) from exc

    def write(self, sql: str, *values: object) -> int:
        """Run a statement inside a transaction; return how many rows it touched."""
        return self._connection().execute(sql, values).rowcount

    def _connection(self) -> sqlite3.Connection:
        if self._db is None and self._inherited:
            self._db = connect(self.path)
            self._inherited = False
        if self._db is None:
            raise StoreError("the store is closed")
        return self._db
