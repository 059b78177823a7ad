"""The tables of a device's store, and how a new store comes into being.

A store appears under its name whole or not at all: it is made beside its place, complete with
its secret, and then linked there. So an incomplete one was damaged, and is never taken for a
new one, which would draw a second secret.

What must never change within a ``user_version``: the tables. No column holds a true value.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from deniable.protocol.derivation import SECRET_BYTES
from deniable.protocol.errors import StoreError

from .faults import UnreadableStore, fault
from .recognition import MARK, recognize

VERSION = 1

# device    one row. secret: NULL once erased. consent: what the person decided, 'on' or 'off',
#           or NULL; mode: what the app asked for, which holds while consent is NULL. ceiling:
#           the least max_epsilon this store ever saw.
# ledger    what was spent, for ever. erased: its secret is gone, so it is never answered again.
# seen      since when a question with a default is known (seconds since 1970).
# answered  the journal, and why there is one report per question and period.
# queue     reports that wait: response in its wire form, alone: travels by itself, not_before
#           and closes in seconds since 1970. Rows are erased when they are acknowledged.
# counters  what became of reports and refused answers.
_TABLES = """
CREATE TABLE device (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    secret BLOB, consent TEXT CHECK (consent IN ('on', 'off')), consent_on TEXT,
    mode TEXT NOT NULL CHECK (mode IN ('on', 'ask')), ceiling TEXT NOT NULL
);
CREATE TABLE ledger (
    survey TEXT, question TEXT, version INTEGER, hash TEXT NOT NULL, epsilon TEXT NOT NULL,
    erased INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (survey, question, version)
) WITHOUT ROWID;
CREATE TABLE seen (
    survey TEXT, question TEXT, version INTEGER, since INTEGER NOT NULL,
    PRIMARY KEY (survey, question, version)
) WITHOUT ROWID;
CREATE TABLE answered (
    survey TEXT, question TEXT, version INTEGER, period TEXT,
    PRIMARY KEY (survey, question, version, period)
) WITHOUT ROWID;
CREATE TABLE queue (
    survey TEXT, period TEXT, question TEXT, version INTEGER, alone INTEGER NOT NULL,
    segment TEXT, response TEXT NOT NULL, not_before INTEGER NOT NULL, closes INTEGER NOT NULL,
    PRIMARY KEY (survey, period, question, version)
) WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
"""
# For which key the answers to a question are sealed; made with the first of them.
SEALED = """CREATE TABLE IF NOT EXISTS sealed (
    survey TEXT, question TEXT, version INTEGER, key TEXT NOT NULL,
    PRIMARY KEY (survey, question, version)
) WITHOUT ROWID"""
_NAMES = {"answered", "counters", "device", "ledger", "queue", "seen"}

_PRAGMAS = ("journal_mode = TRUNCATE", "secure_delete = ON", "synchronous = FULL")
_BUSY_SECONDS = 2.0


def connect(path: Path, *, look: bool = False) -> sqlite3.Connection:
    """Open an existing store so that what is deleted from it is gone.

    Parameters
    ----------
    look : bool
        Only read it: neither the file nor its rights are changed, nor is it repaired.

    Raises
    ------
    StoreError
        Its subclass says whether the file is no store, a damaged one or only busy.
    """
    recognize(path)
    try:
        db = _open(path, "ro" if look else "rw")
        try:
            if not look:
                _keep_private(path)
            _check(db)
            for pragma in () if look else _PRAGMAS:
                db.execute(f"PRAGMA {pragma}").fetchone()
        except BaseException:
            db.close()
            raise
    except sqlite3.Error as exc:
        raise fault(exc) from exc
    return db


def create(path: Path, mode: str, ceiling: str) -> None:
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
            _fill(draft, mode, ceiling)
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
        timeout=_BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def _keep_private(path: Path) -> None:
    """Take from others whatever rights a copy of the store has given them."""
    with suppress(OSError):
        mode = path.stat().st_mode
        if mode & 0o077:
            path.chmod(mode & 0o700)


def _fill(draft: Path, mode: str, ceiling: str) -> None:
    with closing(_open(draft)) as db:
        db.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            f"BEGIN; PRAGMA application_id = {MARK}; PRAGMA user_version = {VERSION}; {_TABLES}"
        )
        db.execute(
            "INSERT INTO device (one, secret, mode, ceiling) VALUES (1, ?, ?, ?)",
            (os.urandom(SECRET_BYTES), mode, ceiling),
        )
        db.execute("COMMIT")
    _sync(draft)


def _publish(draft: Path, path: Path) -> None:
    """Give the draft its name, durably; whoever came first keeps it."""
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        if not path.exists():
            draft.rename(path)
    if os.name != "nt":
        _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check(db: sqlite3.Connection) -> None:
    """Refuse a store that is not whole, or of another format."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StoreError("the store was written by a newer deniable; upgrade the app")
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if version != VERSION or not names >= _NAMES:
        raise UnreadableStore("the store has not the tables of a store")
    row = db.execute("SELECT secret, consent FROM device").fetchone()
    if row is None:
        raise UnreadableStore("the store has lost its device row")
    secret, consent = row
    erased = secret is None and consent == "off"
    if not erased and not (isinstance(secret, bytes) and len(secret) == SECRET_BYTES):
        raise UnreadableStore("the store has lost its secret")
