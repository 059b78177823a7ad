"""How an app comes by its store: the one at its path, or a new one where there never was one."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path

from deniable.protocol.errors import StoreError
from deniable.protocol.exact import canonical

from .aside import silence, stores_aside
from .database import Database
from .schema import create


def open_store(path: Path, mode: str, max_epsilon: Decimal, now: datetime) -> Database:
    """Open the store, or make one.

    Raises
    ------
    StoreError
        If it cannot be used or made; its subclass says whether the file is no store, a damaged
        one or only busy.
    """
    try:
        if not path.exists():
            if aside := stores_aside(path):
                raise StoreError(silence(aside))
            create(path, mode, canonical(max_epsilon), now)
        return Database(path)
    except OSError as exc:
        raise StoreError(f"the store cannot be opened: {exc.strerror}; check its path") from exc
