"""What went wrong with PostgreSQL, told without what the server says of its rows.

What must never change: a message of the server or the driver, which may hold a row's key, a
parameter or a password, goes no further than this module.
"""

from __future__ import annotations

from psycopg import Error, OperationalError
from psycopg.errors import ConnectionTimeout

from deniable.protocol.errors import StoreError

from .base import ConflictError

_AGAIN = frozenset({"40001", "40P01"})
_OWNER = "connect as the role that owns the schema deniable"
_STATES = {
    "0A000": "the server lacks a feature; is it PostgreSQL?",
    "25006": "the server takes no writes; is it a standby? Give the URL of the one that does",
    "25P03": "a transaction was idle for too long",
    "42501": f"the role may not do this; {_OWNER}, or may create it",
    "42P01": f"the role may not use the schema deniable, or it is not whole; {_OWNER}",
    "53100": "the server's disk is full; make room there",
    "53200": "the server is out of memory; give it more",
    "53300": "the server takes no more connections; raise its max_connections",
    "55P03": "another process holds it for too long; try again",
    "57014": "a statement lasted too long",
    "57P01": "the server ended the connection; is it shutting down?",
    "57P02": "the server crashed",
    "57P03": "the server is starting or stopping",
}
_NO_HOST = "the host's name is not known; check the URL"
_NO_SERVER = "the server is not running there; start it, or check the URL"
_CONNECTING = {
    "authentication failed": "the server refuses the user or the password; check the URL, and the"
    " file that PGPASSFILE names",
    "no password supplied": "the server wants a password; put it into the file that PGPASSFILE"
    " names",
    "no pg_hba.conf entry": "the server's pg_hba.conf does not admit this host and user; add them",
    "Connection refused": _NO_SERVER,
    "No such file or directory": _NO_SERVER,
    "could not translate host name": _NO_HOST,
    "Name or service not known": _NO_HOST,
    "name resolution": _NO_HOST,
    "too many clients": _STATES["53300"],
    "remaining connection slots": _STATES["53300"],
    "starting up": _STATES["57P03"],
    "shutting down": _STATES["57P03"],
    "recovery mode": _STATES["57P03"],
    "timeout expired": "the server does not answer; check the URL and the network",
    "certificate": "the server's certificate is not trusted; name its root in sslrootcert",
    "SSL": "the connection cannot be encrypted as asked; check sslmode",
}
"""Parts of what libpq says of a connection that fails, for it gives no code."""


def wrapped(location: str, exc: Error) -> StoreError:
    """Return the error to raise in a driver's error's place."""
    code = exc.sqlstate
    if code in _AGAIN:
        return ConflictError(f"{location}: another process was in the way")
    if code is not None:
        text = _STATES.get(code, f"PostgreSQL answers {type(exc).__name__} ({code})")
    elif isinstance(exc, ConnectionTimeout):
        text = _CONNECTING["timeout expired"]
    elif isinstance(exc, OperationalError):
        text = "the connection to the server is lost"
    else:
        text = f"the driver fails with {type(exc).__name__}"
    return StoreError(f"{location}: {text}")


def refused(location: str, exc: Error) -> StoreError:
    """Return the error to raise where no connection can be made."""
    said = str(exc)
    if 'database "' in said and "does not exist" in said:
        return StoreError(f"{location}: the server has no such database; create it")
    if 'role "' in said and "does not exist" in said:
        return StoreError(f"{location}: {_CONNECTING['authentication failed']}")
    for part, text in _CONNECTING.items():
        if part in said:
            return StoreError(f"{location}: {text}")
    return wrapped(location, exc)
