"""How a store is told from any other file, before anything is done to it.

A store bears a mark in its first page, which a damaged one mostly keeps. A file without it is
not opened for writing, renamed or replaced; neither is it ever taken for a new store.

What must never change: the mark; and that looking writes nothing, locks nothing and creates
nothing beside the file. It goes through SQLite because any other handle on the file would, when
it is closed, drop the locks that this process holds on it.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from .faults import NoStore, fault

MARK = 0x64656E69
"""SQLite's application_id: "deni"."""


def recognize(path: Path) -> None:
    """Return if the file is a store, whole or damaged.

    Raises
    ------
    NoStore
        If it is none, or so little is left of it that nobody can tell.
    StoreError
        If it cannot be read.
    """
    if os.path.isdir(path):  # noqa: PTH112 - which fails for no path
        raise NoStore(f"{path.name or path} is a folder; name a file in it")
    if _mark(path) == MARK:
        return
    size = None
    with suppress(OSError):
        size = path.stat().st_size
    if size == 0:
        problem = "is empty; delete it to start with a new secret"
    else:
        problem = "is no store of deniable; choose another path"
    raise NoStore(f"{path.name} {problem}, or put back a copy of it if it was one")


def _mark(path: Path) -> int | None:
    """Return the application_id in the file's header, None if it has no such header."""
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as db:
            db.execute("PRAGMA writable_schema = ON")  # lets the header of a torn file be read
            ((mark,),) = db.execute("PRAGMA application_id")
            return int(mark)
    except sqlite3.Error as exc:
        if exc.sqlite_errorname in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
            return None
        raise fault(exc) from exc
