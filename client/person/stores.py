"""Which stores are meant, and how they are opened, to look at or to decide about.

What must never change: looking changes nothing, not even a store's rights; and what is wrong with
one store keeps nobody from the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deniable.protocol.errors import DeniableError, StoreError

from ..aside import silence, stores_aside
from ..database import Database
from ..faults import NoStore, UnreadableStore
from ..places import default_folder
from ..store import Store

DAMAGED = "the store is damaged; its app sets it aside and says what can be done"


class SetAside(StoreError):
    """The store was unreadable and was renamed."""


def every_store() -> list[Path]:
    """Return every store in the default folder, those set aside included."""
    folder = default_folder()
    present = set(folder.glob("*.db"))
    present |= {path.with_suffix("") for path in folder.glob("*.db.unreadable")}
    return sorted(present)


def opened(path: Path, *, look: bool = False) -> Database:
    """Open a store.

    Raises
    ------
    StoreError
        If there is none, or it cannot be used.
    """
    try:
        if not path.exists():
            if aside := stores_aside(path):
                raise SetAside(silence(aside))
            raise StoreError("there is no such store; check the path")
        if not path.is_file():
            raise StoreError("is no file; name the store itself")
        return Database(path, look=look)
    except OSError as exc:
        raise StoreError(f"cannot be read: {exc.strerror}") from exc


def look(path: Path, tell: Callable[[Store, Database], dict[str, Any]]) -> dict[str, Any]:
    """Return what a store tells, all of the same moment, or why it tells nothing.

    The state is then "silent" if its app has fallen silent too, and "unknown" if nobody can tell.
    """
    try:
        with opened(path, look=True) as database, database.snapshot():
            told = {"store": str(path), **tell(Store(database), database)}
            json.dumps(told)
            return told
    except (NoStore, UnreadableStore, SetAside) as exc:
        return _nothing(path, "silent", str(exc))
    except DeniableError as exc:
        return _nothing(path, "unknown", str(exc))
    except Exception:  # a store's file can hold anything
        return _nothing(path, "silent", DAMAGED)


def _nothing(path: Path, state: str, reason: str) -> dict[str, Any]:
    return {"store": str(path), "state": state, "reason": reason}
