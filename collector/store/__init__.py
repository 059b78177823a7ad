"""Where tallies wait and released ones stay: one interface, one module for each database."""

from __future__ import annotations

from deniable.protocol.errors import MissingExtraError, StoreError

from ..places import DATABASE, POSTGRESQL, scheme_of, sqlite_path
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
    ParameterError
        If the location is neither a path nor a URL.
    MissingExtraError
        If its driver is not installed.
    """
    path = sqlite_path(location)
    if path is not None:
        return SQLiteStore.open(path, create=create)
    scheme = scheme_of(location)
    if scheme in POSTGRESQL:
        return _open_postgres(location, create=create)
    text = f"give the path of an SQLite file, or {DATABASE}"
    raise StoreError(f"store: unknown kind {scheme}://; {text}")


def _open_postgres(url: str, *, create: bool) -> Store:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        text = "psycopg is not installed; pip install 'deniable[postgres]'"
        raise MissingExtraError(text) from None
    from .postgres import PostgresStore

    return PostgresStore.open(url, create=create)
