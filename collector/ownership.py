"""Whose keys a place holds: it bears the identity of the one store that may use it.

Two stores count in periods of the same names, and each destroys the keys of periods that it has
closed: those of the other too. What must never change: the mark's name, and that a place which
bears another store's is refused.
"""

from __future__ import annotations

from deniable.protocol.errors import StoreError

from .keystore.base import KeyStore
from .keystore.checks import KEY_BYTES

PREFIX = "collector.store."
"""Three parts where a scope's name has two or four."""


def owners(places: KeyStore) -> set[str]:
    """Return the identities of the stores that a place belongs to: one, or none yet."""
    return {name.removeprefix(PREFIX) for name in places.names() if name.startswith(PREFIX)}


def refuse_foreign(places: KeyStore, identity: str) -> None:
    """Refuse a place that belongs to another store.

    Raises
    ------
    StoreError
    """
    if owners(places) - {identity}:
        raise StoreError(
            "keys: this place belongs to another store; give one of its own with --keys"
        )


def claim(places: KeyStore, identity: str) -> None:
    """Mark a place as a store's; of two that do so at a time, one or both are refused.

    Raises
    ------
    StoreError
        If it belongs to another.
    """
    if identity in owners(places):
        return
    places.put_if_absent(PREFIX + identity, bytes(KEY_BYTES))
    try:
        refuse_foreign(places, identity)
    except StoreError:
        places.delete(PREFIX + identity)
        raise
