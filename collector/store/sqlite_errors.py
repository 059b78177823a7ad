"""What went wrong with an SQLite file, in SQLite's words, and how it is put right.

What must never change: ``PATH: problem; fix``, in one line.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from deniable.protocol.errors import StoreError

_PRIMARY = 0xFF
"""The bits of an error's code that tell its kind; the others tell which of that kind."""

NOT_A_STORE = "check --store"

_FIXES = {
    sqlite3.SQLITE_BUSY: "another process holds it; see who does: deniable-collector doctor",
    sqlite3.SQLITE_CORRUPT: "stop serve, keep the file, and restore the newest backup into a new"
    " store",
    sqlite3.SQLITE_FULL: "make room on the disk",
    sqlite3.SQLITE_IOERR: "look at the disk and in the system's log",
    sqlite3.SQLITE_NOTADB: NOT_A_STORE,
    sqlite3.SQLITE_READONLY_ROLLBACK: "a commit was interrupted; deniable-collector status undoes"
    " it",
    sqlite3.SQLITE_READONLY: "let the user that serve runs as write the file and its directory",
}


def wrapped(path: Path, exc: sqlite3.Error) -> StoreError:
    """Return the error to raise in a driver's error's place."""
    code: int = getattr(exc, "sqlite_errorcode", 0)
    if code & _PRIMARY == sqlite3.SQLITE_CANTOPEN:
        return _unopened(path, str(exc))
    fix = _FIXES.get(code) or _FIXES.get(code & _PRIMARY)
    return StoreError(f"{path}: {exc}; {fix}" if fix else f"{path}: {exc}")


def not_created(path: Path, exc: OSError) -> StoreError:
    """Return the error to raise where a new file cannot be made."""
    return _unopened(path, f"cannot be created ({exc.strerror})")


def _unopened(path: Path, problem: str) -> StoreError:
    folder = path.absolute().parent
    if path.is_dir():
        problem, fix = "is a directory", f"give the path of a file, such as {path}/collector.db"
    elif not folder.exists():
        fix = f"make the directory {folder}, or check --store"
    elif not folder.is_dir():
        fix = f"{folder} is no directory, check --store"
    else:
        fix = f"the file and {folder} must belong to the user that serve runs as"
    return StoreError(f"{path}: {problem}; {fix}")
