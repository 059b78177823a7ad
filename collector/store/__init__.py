"""Where tallies wait and released ones stay: one interface, one module for each database."""

from __future__ import annotations

from pathlib import Path

from deniable.protocol.errors import StoreError

from .base import Store
from .sqlite import SQLiteStore

__all__ = ["Store", "open_store"]


def open_store(location: str, *, create: bool = True) -> Store:
    """Open a store by its path or URL.

    Parameters
    ----------
    location : str
        A path, or ``sqlite:///PATH``.
    create : bool
        Whether to make a store that is not there.

    Raises
    ------
    StoreError
        If there is none, it cannot be used, or its kind is unknown.
    """
    scheme, separator, rest = location.partition("://")
    if not separator:
        return SQLiteStore.open(Path(location), create=create)
    if scheme == "sqlite" and rest.startswith("/"):
        return SQLiteStore.open(Path(rest[1:]), create=create)
    raise StoreError(f"store: unknown kind {scheme}://; give the path of an SQLite file")
