"""Where tallies wait and released ones stay: one interface, one module for each database."""

from __future__ import annotations

from pathlib import Path

from deniable.protocol.errors import MissingExtraError, StoreError

from .base import Store
from .sqlite import SQLiteStore

__all__ = ["Store", "open_store"]


def open_store(location: str, *, create: bool = True) -> Store:
    """Open a store by its path or URL.

    Parameters
    ----------
    location : str
        A path, ``sqlite:///PATH``, or ``postgresql://USER@HOST/DATABASE``.
    create : bool
        Whether to make a store that is not there.

    Raises
    ------
    StoreError
        If there is none, it cannot be used, or its kind is unknown.
    MissingExtraError
        If its driver is not installed.
    """
    scheme, separator, rest = location.partition("://")
    if not separator:
        return SQLiteStore.open(Path(location), create=create)
    if scheme == "sqlite" and rest.startswith("/"):
        return SQLiteStore.open(Path(rest[1:]), create=create)
    if scheme in ("postgresql", "postgres"):
        return _open_postgres(location, create=create)
    raise StoreError(
        f"store: unknown kind {scheme}://; give the path of an SQLite file, or postgresql://…"
    )


def _open_postgres(url: str, *, create: bool) -> Store:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        text = "psycopg is not installed; pip install 'deniable[postgres]'"
        raise MissingExtraError(text) from None
    from .postgres import PostgresStore

    return PostgresStore.open(url, create=create)
