"""Where period keys are kept: one interface, one module for each kind of place."""

from __future__ import annotations

from deniable.protocol.errors import MissingExtraError, ParameterError

from ..places import POSTGRESQL, redis_url, scheme_of
from .base import KeyStore
from .directory import DirectoryKeys

__all__ = ["KeyStore", "open_keystore"]


def open_keystore(location: str) -> KeyStore:
    """Open a key store.

    Parameters
    ----------
    location : str
        The path of a directory, made if it is not there; or ``redis://``, ``rediss://``,
        ``valkey://`` or ``valkeys://HOST``; or ``postgresql://HOST/DATABASE``, a database other
        than the store's. A server is asked first when a key is.

    Raises
    ------
    StoreError
        If a directory cannot be made, or others can write to it.
    ParameterError
        If the URL cannot be read or its kind is unknown.
    MissingExtraError
        If the client of that server is not installed.
    """
    scheme = scheme_of(location)
    if not scheme and location:
        return DirectoryKeys(location)
    url = redis_url(location)
    if url is not None:
        return _open_valkey(location, url)
    if scheme in POSTGRESQL:
        return _open_postgres(location)
    text = "give a directory, redis://HOST, valkey://HOST or postgresql://HOST/DATABASE"
    raise ParameterError(f"keys: {f'unknown kind {scheme}://' if scheme else 'empty'}; {text}")


def _open_valkey(location: str, url: str) -> KeyStore:
    try:
        from .valkey import ValkeyKeys
    except ImportError as exc:
        text = "redis is not installed; pip install 'deniable[redis]'"
        raise MissingExtraError(text) from exc
    return ValkeyKeys(location, url)


def _open_postgres(location: str) -> KeyStore:
    try:
        from .postgres import PostgresKeys
    except ImportError as exc:
        text = "psycopg is not installed; pip install 'deniable[postgres]'"
        raise MissingExtraError(text) from exc
    return PostgresKeys(location)
