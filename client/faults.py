"""What can be wrong with a store, and what SQLite calls it.

::

    StoreError            of no use in this run: a full disk, no permission, a newer format
    ├── NoStore           not a store, as far as anyone can tell; it is left as it is
    ├── UnreadableStore   a store that was damaged; it is set aside
    ├── ClonedStore       a copy of another machine's store; it is left as it is
    └── BusyStore         another process is writing; the next attempt may succeed
"""

from __future__ import annotations

from deniable.protocol.errors import StoreError

TYPE_CHECKING = False  # of `typing`, which is not loaded before the first client
if TYPE_CHECKING:
    import sqlite3


class NoStore(StoreError):
    """The file does not bear a store's mark: it is another program's, or empty."""


class UnreadableStore(StoreError):
    """The file is a store and is damaged."""


class ClonedStore(StoreError):
    """The store was made on another machine."""


class BusyStore(StoreError):
    """Another process has been writing to the store for too long."""


PASSING = (BusyStore, MemoryError, RecursionError)
"""What the next attempt may not meet, and so ends none: the last two are no fault of the store."""

_BUSY = {"SQLITE_BUSY", "SQLITE_LOCKED"}
_UNREADABLE = {"SQLITE_CORRUPT", "SQLITE_NOTADB"}
_WORDS = {
    "SQLITE_FULL": "the disk is full; free some space",
    "SQLITE_READONLY_ROLLBACK": "a write was cut off; it is repaired when its app next starts",
    "SQLITE_READONLY": "the store cannot be written; check its permissions",
    "SQLITE_CANTOPEN": "the store cannot be opened; check its path and permissions",
    "SQLITE_IOERR": "the disk reports an error or is full",
}


def fault(error: sqlite3.Error) -> StoreError:
    """Return the store error that an SQLite error means; no SQL and no value is repeated."""
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    primary = "_".join(name.split("_")[:2])  # SQLITE_IOERR of SQLITE_IOERR_WRITE
    if primary in _BUSY:
        return BusyStore("another process is writing to the store; try again")
    if primary in _UNREADABLE:
        return UnreadableStore("the store is damaged")
    return StoreError(_WORDS.get(name) or _WORDS.get(primary) or f"the store failed ({name})")
