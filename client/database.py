"""One open SQLite file, shared by threads, survived by forks, never half written.

What must never change: a transaction is durable when it returns, and a forked child touches its
parent's connection in no way, not even to close it.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from deniable.protocol.errors import StoreError

from .faults import BusyStore, fault
from .schema import PATIENCE, connect, in_memory

T = TypeVar("T")

_HURRY = 0.1
_PAUSE = 0.005

_ABANDONED: list[object] = []
"""Connections of a parent process; dropping the last reference would close them."""


class Database:
    """A store's file, or one in memory. One transaction at a time, whichever thread asks for it.

    Parameters
    ----------
    path : Path or None
        Of an existing store; None for one in memory, whose ceiling is then that of the app.
    look : bool
        Only read it.
    """

    def __init__(self, path: Path | None, *, look: bool = False) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._patience = PATIENCE
        self._db: sqlite3.Connection | None = (
            connect(path, look=look, patience=PATIENCE) if path else in_memory()
        )
        self._inherited = False
        self._process = os.getpid()

    def close(self) -> None:
        """Close the file; using it afterwards is a store error."""
        with self.lock:
            db, self._db = self._db, None
            self._inherited = False
            if db is not None:
                db.close()

    def hurry(self) -> None:
        """From now on, wait for other processes hardly at all."""
        self._patience = _HURRY

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def after_fork(self) -> None:
        """In the child: forget the parent's lock and connection."""
        self._process = os.getpid()
        self.lock = threading.RLock()
        if self._db is not None and self.path is not None:
            _ABANDONED.append(self._db)
            if self._db.in_transaction:
                _keep_for_ever(self._db)
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
                try:
                    self._patiently(lambda: db.execute("BEGIN IMMEDIATE"))
                    yield
                    self._writing()
                    self._patiently(lambda: db.execute("COMMIT"))
                except BaseException:
                    if self._mine() is db and db.in_transaction:
                        db.execute("ROLLBACK")
                    raise
            except sqlite3.Error as exc:
                raise fault(exc) from exc

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let every query inside see the same moment; whoever writes meanwhile waits."""
        with self.lock:
            db = self._connection()
            db.execute("BEGIN")
            try:
                yield
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def rows(self, sql: str, *values: object) -> list[Any]:
        """Run a query."""
        with self.lock:
            db = self._connection()
            try:
                return self._patiently(lambda: db.execute(sql, values).fetchall())
            except sqlite3.Error as exc:
                raise fault(exc) from exc

    def write(self, sql: str, *values: object) -> int:
        """Run a statement inside a transaction; return how many rows it touched."""
        return self._writing().execute(sql, values).rowcount

    def _patiently(self, act: Callable[[], T]) -> T:
        """Try again while another process holds the file, for as long as there is patience."""
        begun = time.monotonic()
        while True:
            try:
                return act()
            except sqlite3.OperationalError as exc:
                busy = getattr(exc, "sqlite_errorname", "").startswith("SQLITE_BUSY")
                if not busy or time.monotonic() - begun >= self._patience:
                    raise
                time.sleep(_PAUSE)

    def _writing(self) -> sqlite3.Connection:
        """Return the connection inside a transaction; a child that was forked there has none."""
        db = self._mine()
        if db is None or not db.in_transaction:
            raise BusyStore("the transaction is that of a parent process; try again")
        return db

    def _mine(self) -> sqlite3.Connection | None:
        """Return the connection if this process opened it."""
        return self._db if os.getpid() == self._process else None

    def _connection(self) -> sqlite3.Connection:
        if os.getpid() != self._process:
            self.after_fork()
        if self._db is None and self._inherited and self.path is not None:
            self._db = connect(self.path, patience=self._patience)
            self._inherited = False
        if self._db is None:
            raise StoreError("the store is closed")
        return self._db


def _keep_for_ever(db: sqlite3.Connection) -> None:
    """Let not even the end of the interpreter close a connection.

    That would roll back what the parent is about to commit. Only a fork inside a transaction, as
    by the handler of a signal that came there, needs this; elsewhere a thread of the parent that
    was in one keeps its connection by a frame that is never unwound here.
    """
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))
