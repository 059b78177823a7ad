"""One open SQLite file, shared by threads, survived by forks, never half written.

What must never change: a transaction is durable when it returns, and a forked child touches its
parent's connection in no way, not even to close it.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from deniable.protocol.errors import StoreError

from .faults import BusyStore, fault
from .schema import PATIENCE, connect, in_memory
from .turns import Turns

T = TypeVar("T")

_HURRY = 0.1
"""Seconds for which a process that ends waits for another one, and twice that for a thread of
its own, which may have stopped for ever in the middle of something."""

_PAUSE = 0.005

_CUT = "the process was forked amid a write to the store, and cannot use it"

_INTERRUPTED = "the store is in use by what this call interrupted; try again"

_ABANDONED: list[object] = []
"""Connections of a parent process; dropping the last reference would close them."""


class _Limits(threading.local):
    """Until when a thread's call may wait: for the file, and for its turn at it."""

    file = math.inf
    turn = math.inf


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
        self._turns = Turns()
        self._limits = _Limits()
        self.patience = PATIENCE
        self._hurried = False
        self._db: sqlite3.Connection | None = (
            connect(path, look=look, patience=PATIENCE) if path else in_memory()
        )
        self._inherited = False
        self._rests = False
        self._why = "the store is closed"
        self._process = os.getpid()

    def close(self) -> None:
        """Close the file; using it afterwards is a store error.

        A thread that is still using it closes it when it lets go of it.
        """
        with suppress(BusyStore), self._turn():
            db, self._db = self._db, None
            if db is not None:
                db.close()
        self._db, self._inherited = None, False

    def only(self, *threads: int | None) -> None:
        """From now on, let the store be closed for all threads but these."""
        self._turns.only(*threads)

    def hurry(self) -> None:
        """From now on, wait for other processes hardly at all, nor for other threads.

        But for a call that says how long it may take.
        """
        self._hurried = True
        self.patience = _HURRY

    @property
    def lock(self) -> threading.RLock:
        """Held by the thread whose turn it is."""
        return self._turns.lock

    @property
    def mine(self) -> bool:
        """Whether it is this thread's turn, which its handler of a signal has interrupted."""
        return self._turns.mine

    @contextmanager
    def within(self, seconds: float, *, turn: bool = True) -> Iterator[None]:
        """Let the calling thread wait for other processes so long at most, all in all.

        Parameters
        ----------
        turn : bool
            And for the other threads of this process. Otherwise for as long as their turns go on.
        """
        limits, until = self._limits, time.monotonic() + seconds
        before = limits.file, limits.turn
        try:
            limits.file, limits.turn = until, until if turn else math.inf
            yield
        finally:
            limits.file, limits.turn = before

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def rest(self) -> None:
        """Before a fork: wait until no other thread is in a transaction, and let none begin one."""
        if not self.mine:
            self._rests = True
            self.lock.acquire()

    def go_on(self) -> None:
        """After a fork, in the parent; once more does no harm, nor does a rest that was cut off."""
        if self._rests:
            with suppress(RuntimeError):  # what the handler of a signal raised came before it
                self.lock.release()
            self._rests = False

    def after_fork(self) -> None:
        """In the child: forget the parent's lock and connection."""
        self._process = os.getpid()
        self._turns = Turns()
        self._limits = _Limits()
        self._rests = False
        if self._db is not None and self.path is not None:
            _ABANDONED.append(self._db)
            self._inherited = not self._db.in_transaction
            if self._db.in_transaction:
                _keep_for_ever(self._db)
                self._why = _CUT
            self._db = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do everything inside durably or not at all, with nobody else writing meanwhile.

        While another process holds the file, the turn is free: for other threads, and for a fork.

        Raises
        ------
        StoreError
            Its subclass says whether the store is unreadable or only busy.
        """
        begun = time.monotonic()
        while True:
            with self._turn():
                db = self._connection()
                interrupted = db.in_transaction
                if interrupted:
                    raise BusyStore(_INTERRUPTED)
                try:
                    held = _begin(db)
                    if held is None:
                        yield
                        self._connection()  # of which a child that was forked meanwhile has none
                        self._patiently(lambda: db.execute("COMMIT"))  # noqa: B023
                        return
                except BaseException as exc:
                    if os.getpid() == self._process and self._db is db and db.in_transaction:
                        db.execute("ROLLBACK")
                    if isinstance(exc, sqlite3.Error):
                        raise fault(exc) from exc
                    raise
            if not self._may_wait(begun):
                raise fault(held) from held

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let every query inside see the same moment; whoever writes meanwhile waits."""
        with self._turn():
            db = self._connection()
            db.execute("BEGIN")
            try:
                yield
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def rows(self, sql: str, *values: object) -> list[Any]:
        """Run a query."""
        try:
            return self._patiently(lambda: self._rows(sql, values))
        except sqlite3.Error as exc:
            raise fault(exc) from exc

    def _rows(self, sql: str, values: tuple[object, ...]) -> list[Any]:
        with self._turn():
            return self._connection().execute(sql, values).fetchall()

    def write(self, sql: str, *values: object) -> int:
        """Run a statement inside a transaction; return how many rows it touched."""
        return self._connection().execute(sql, values).rowcount

    def _patiently(self, act: Callable[[], T]) -> T:
        """Try again while another process holds the file, for as long as there is patience."""
        begun = time.monotonic()
        while True:
            try:
                return act()
            except sqlite3.OperationalError as exc:
                if not _is_busy(exc) or not self._may_wait(begun):
                    raise

    def _may_wait(self, begun: float) -> bool:
        """Wait a moment; return False if a call that began then has no patience left."""
        if time.monotonic() >= min(begun + self.patience, self._limits.file):
            return False
        time.sleep(_PAUSE)
        return True

    def _turn(self) -> AbstractContextManager[None]:
        """Wait for the turn of this thread, as long as its call may."""
        until = self._limits.turn
        if self._hurried and until == math.inf:
            return self._turns.take(2 * _HURRY)
        return self._turns.take(until - time.monotonic(), standstill=self.patience)

    def _connection(self) -> sqlite3.Connection:
        if os.getpid() != self._process:
            self.after_fork()
        if self._db is None and self._inherited and self.path is not None:
            self._db = connect(self.path, patience=self.patience)
            self._inherited = False
        if self._db is None:
            raise StoreError(self._why)
        return self._db


def _begin(db: sqlite3.Connection) -> sqlite3.Error | None:
    """Begin a transaction, or return what says that another process holds the file."""
    try:
        db.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as exc:
        if not _is_busy(exc):
            raise
        return exc
    return None


def _is_busy(exc: sqlite3.Error) -> bool:
    return getattr(exc, "sqlite_errorname", "").startswith("SQLITE_BUSY")


def _keep_for_ever(db: sqlite3.Connection) -> None:
    """Let not even the end of the interpreter close a connection.

    That would roll back what the parent is about to commit, if the fork came inside a transaction:
    by a C library that tells nobody, or the handler of a signal. SQLite keeps count of its locks
    by process, so that a connection of the child's own would wait for this one for ever.
    """
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))
