"""What tells an SQLite file that is a backup from one that counts: SQLite's application id.

What must never change: the number, and that no store of a collector bears it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from deniable.protocol.errors import StoreError

_BACKUP = 0x64656E62
"""``denb`` in the file's header."""


def mark_backup(connection: sqlite3.Connection) -> None:
    """Write that a file is a backup."""
    connection.execute(f"PRAGMA application_id = {_BACKUP}")


def is_backup(connection: sqlite3.Connection) -> bool:
    """Return whether a file is a backup."""
    return bool(connection.execute("PRAGMA application_id").fetchone()[0] == _BACKUP)


def refuse_backup(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse to use a backup as a store.

    Raises
    ------
    StoreError
    """
    if is_backup(connection):
        raise StoreError(
            f"{path}: is a backup; make a store of it with"
            f" deniable-collector restore {path} --store NEW"
        )
