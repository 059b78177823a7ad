"""The keys under which devices are known, and tallies encrypted, while a period is open.

A key is random and stands in a key store of its own, outside the database and its backups. It is
destroyed when everything it encrypts has left the shuffler: then no one can tell whose ledger row
was whose, and no old copy of the database can be opened. What left before is remembered beside it
(``remembered``), so that none is released again. What must never
change: a key is durable before the first row it names, and a missing one is never replaced while
rows remain.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable

from deniable.protocol.errors import StoreError

from .keystore import open_keystore
from .keystore.base import KeyStore
from .ownership import claim, owners, refuse_foreign
from .scope_key import KEY_BYTES, ScopeKey
from .store import Store
from .store.base import Reader, Scope, ScopeRow
from .turns import Turns

LOG = logging.getLogger("deniable.collector")

_NAME = re.compile(r"([a-z0-9_-]+)\.([0-9W-]+|once)(?:\.([a-z0-9_-]+)\.([0-9]+))?")


class MissingKeyError(StoreError):
    """A scope holds rows and its key is gone, or is another: nothing counts in it without doubt."""


class ClosedScopeError(StoreError):
    """A scope is closed; it gets no key again."""


class KeyRing:
    """The period keys of one store, in memory once they were needed.

    Parameters
    ----------
    places : KeyStore
    row : callable
        Returns a scope's row in the store, or None; asked once, before its key is read or made.
    """

    def __init__(self, places: KeyStore, row: Callable[[Scope], ScopeRow | None]) -> None:
        self.places = places
        self._row = row
        self._lock = threading.Lock()
        self._keys: dict[Scope, tuple[bytes, ScopeKey]] = {}
        self._turns = Turns(places.location, self._lock)

    def of(self, scope: Scope, reader: Reader | None = None) -> ScopeKey:
        """Return the key of a scope, made if the scope has no row yet.

        Parameters
        ----------
        scope : Scope
        reader : Reader, optional
            The transaction that is under way, if there is one: SQLite keeps every other reader
            out of a large one until it is committed.

        Raises
        ------
        MissingKeyError, ClosedScopeError
        StoreError
            If the key store or the database cannot be reached.
        """
        held = self._keys.get(scope) or self._obtain(scope, reader)
        return held[1]

    def missing(self, scope: Scope) -> bool:
        """Return whether a scope has rows and no key that fits them."""
        row = self._row(scope)
        if row is None or row.closed:
            return False
        try:
            self._fitting(scope, row)
        except MissingKeyError:
            return True
        return False

    def restore(self) -> None:
        """Put back the keys that are in memory and have vanished from their place."""
        with self._lock:
            held = dict(self._keys)
        names = self.places.names()
        for scope, (key, unfolded) in held.items():
            if scope.name in names:
                continue
            row = self._row(scope)
            if row is not None and not row.closed and unfolded.fits(row.check):
                self.places.put_if_absent(scope.name, key)
                LOG.error("the key of %s had vanished and was put back from memory", scope.name)

    def scopes(self) -> set[Scope]:
        """Return the scopes that have a key, in its place or in memory."""
        found = (_NAME.fullmatch(name) for name in self.places.names())
        kept = {
            Scope(match[1], match[2], match[3] or "", int(match[4] or 0))
            for match in found
            if match
        }
        with self._lock:
            return kept | set(self._keys)

    def forget(self, scope: Scope) -> None:
        """Drop a key from memory, so that it is read again when it is next needed."""
        with self._lock:
            self._keys.pop(scope, None)

    def destroy(self, scope: Scope) -> None:
        """Forget a key and destroy it; nothing happens if there is none."""
        with self._lock:
            self._keys.pop(scope, None)
            self.places.delete(scope.name)

    def close(self) -> None:
        """Let go of the key store."""
        self.places.close()

    def _obtain(self, scope: Scope, reader: Reader | None) -> tuple[bytes, ScopeKey]:
        with self._turns.turn(MissingKeyError, ClosedScopeError):
            return self._keys.get(scope) or self._look(scope, reader)

    def _look(self, scope: Scope, reader: Reader | None) -> tuple[bytes, ScopeKey]:
        row = self._row(scope) if reader is None else reader.scope(scope)
        if row is not None and row.closed:
            raise ClosedScopeError(f"{scope.name} is closed")
        key = self._make(scope) if row is None else self._fitting(scope, row)
        held = self._keys[scope] = key, ScopeKey(scope, key)
        return held

    def _make(self, scope: Scope) -> bytes:
        return self.places.put_if_absent(scope.name, os.urandom(KEY_BYTES))

    def _fitting(self, scope: Scope, row: ScopeRow) -> bytes:
        """Return the key that named a scope's rows."""
        key = self.places.get(scope.name)
        if key is None:
            text = "is missing"
        elif len(key) != KEY_BYTES or not ScopeKey(scope, key).fits(row.check):
            text = "is another than the one its rows were named by"
        else:
            return key
        raise MissingKeyError(
            f"{self.places.location}: the key of {scope.name} {text}; its reports are refused and"
            " its tallies wait until it is put back"
        )


def open_keys(store: Store, location: str | None = None, *, claiming: bool = True) -> KeyRing:
    """Return the keys of a store, in a place of their own.

    Parameters
    ----------
    store : Store
    location : str, optional
    claiming : bool
        Mark the place as the store's.

    Raises
    ------
    StoreError
        If the place cannot be used or is another store's, or the store names none and none was
        given.
    """

    def row(scope: Scope) -> ScopeRow | None:
        with store.read() as reader:
            return reader.scope(scope)

    location = location or store.keys
    if location is None:
        raise StoreError("keys: this store has no place for them; give one with --keys")
    if store.is_at(location):
        text = "keys: this is the store's own database; give another place with --keys"
        raise StoreError(text)
    ring = KeyRing(open_keystore(location), row)
    try:
        with store.read() as reader:
            identity = reader.identity()
        refuse_foreign(ring.places, identity)
        if claiming:
            claim(ring.places, identity)
    except BaseException:
        ring.close()
        raise
    return ring


def claim_if_known(store: Store, ring: KeyRing) -> bool:
    """Mark a place as the store's if it bears its mark or a key of it; return whether it does.

    For who may have forgotten which place it is.
    """
    with store.read() as reader:
        identity, scopes = reader.identity(), reader.open_scopes()
    known = identity in owners(ring.places) or not all(map(ring.missing, scopes))
    if known:
        claim(ring.places, identity)
    return known
