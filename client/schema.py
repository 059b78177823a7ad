"""How a device's store is opened, and how a new one comes into being.

A store appears under its name whole or not at all: it is made beside its place, complete with
its secret, and then linked there. So an incomplete one was damaged, and is never taken for a
new one, which would draw a second secret.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

from deniable.protocol.derivation import SECRET_BYTES
from deniable.protocol.errors import StoreError
from deniable.protocol.exact import canonical
from deniable.protocol.limits import EPSILON_SUM

from . import tables
from .faults import BusyStore, UnreadableStore, fault
from .lock import StoreLock
from .migration import UPGRADED, migrate
from .pacing import day_of, plausible, to_seconds
from .recognition import MARK, recognize

_PRAGMAS = ("journal_mode = TRUNCATE", "secure_delete = ON", "synchronous = FULL")
PATIENCE = 2.0
"""Seconds for which a store that another process holds is waited for."""

_BUSY_SECONDS = 0.02
"""How long SQLite waits for it by itself, once it is open; a database tries again."""


def connect(path: Path, *, look: bool = False, patience: float = PATIENCE) -> sqlite3.Connection:
    """Open an existing store so that what is deleted from it is gone.

    Parameters
    ----------
    look : bool
        Only read it: neither the file nor its rights are changed, nor is it repaired.
    patience : float
        Seconds to wait for another process that is writing, or migrating the store.

    Raises
    ------
    StoreError
        Its subclass says whether the file is no store, a damaged one or only busy.
    """
    recognize(path)
    try:
        db = _open(path, "ro" if look else "rw")
        try:
            db.execute(f"PRAGMA busy_timeout = {patience * 1000:.0f}").fetchone()
            _check_version(db)
            if not look:
                _keep_private(path)
                for pragma in _PRAGMAS:
                    db.execute(f"PRAGMA {pragma}").fetchone()
                migrate(db)
            _check(db)
            db.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000:.0f}").fetchone()
        except BaseException:
            db.close()
            raise
    except sqlite3.Error as exc:
        raise fault(exc) from exc
    return db


def in_memory() -> sqlite3.Connection:
    """Make a new store in memory, with a fresh secret and no ceiling of its own."""
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _make(db, "ask", canonical(EPSILON_SUM), 0)
    return db


def create(path: Path, mode: str, ceiling: str, now: datetime) -> None:
    """Make a new store with a fresh secret, unless another process was faster.

    Raises
    ------
    StoreError
        If it cannot be made there.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.new-{os.urandom(8).hex()}")
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            _fill(draft, mode, ceiling, to_seconds(day_of(now)) if plausible(now) else 0)
            _publish(draft, path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as exc:
        raise StoreError(f"the store cannot be made: {exc.strerror}; check its path") from exc
    except sqlite3.Error as exc:
        raise fault(exc) from exc


def _open(path: Path, mode: str = "rw") -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )


def _keep_private(path: Path) -> None:
    """Take from others whatever rights a copy of the store has given them."""
    with suppress(OSError):
        mode = path.stat().st_mode
        if mode & 0o077:
            path.chmod(mode & 0o700)


def _fill(draft: Path, mode: str, ceiling: str, day: int) -> None:
    with closing(_open(draft)) as db:
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")
        _make(db, mode, ceiling, day)
    _sync(draft)


def _make(db: sqlite3.Connection, mode: str, ceiling: str, day: int) -> None:
    """Make the tables, and the one row with a secret."""
    db.executescript(
        f"PRAGMA page_size = {tables.PAGE_BYTES}; BEGIN; PRAGMA application_id = {MARK};"
        f"PRAGMA user_version = {tables.VERSION}; {tables.TABLES}"
    )
    sql = """INSERT INTO device (one, secret, mode, ceiling, born, latest)
        VALUES (1, ?, ?, ?, ?, ?)"""
    db.execute(sql, (os.urandom(SECRET_BYTES), mode, ceiling, day, day))
    db.execute("COMMIT")


def _publish(draft: Path, path: Path) -> None:
    """Give the draft its name, durably; whoever came first keeps it.

    The journal of a store that was deleted would be taken for the new one's.
    """
    lock = StoreLock(path)
    if not lock.acquire_within(PATIENCE):
        if lock.fault:
            raise StoreError(lock.fault)
        raise BusyStore("another process is making the store; try again")
    try:
        if not path.exists():
            path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
            try:
                os.link(draft, path)
            except FileExistsError:
                pass  # of an older version, which takes no lock
            except OSError:  # a file system without links
                draft.rename(path)
    finally:
        lock.release()
    if os.name != "nt":
        _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_version(db: sqlite3.Connection) -> int:
    """Refuse a store of a later format, before anything is done to it."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > tables.VERSION:
        raise StoreError("the store was written by a newer deniable; upgrade the app")
    return int(version)


def _check(db: sqlite3.Connection) -> None:
    """Refuse a store that is not whole, or of another format."""
    version = _check_version(db)
    if version in UPGRADED:
        raise StoreError("the store was written by an older deniable; start its app once")
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if version != tables.VERSION or not names >= tables.NAMES:
        raise UnreadableStore("the store has not the tables of a store")
    row = db.execute("SELECT secret, consent FROM device").fetchone()
    if row is None:
        raise UnreadableStore("the store has lost its device row")
    secret, consent = row
    erased = secret is None and consent == "off"
    if not erased and not (isinstance(secret, bytes) and len(secret) == SECRET_BYTES):
        raise UnreadableStore("the store has lost its secret")
