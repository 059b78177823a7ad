"""Where period keys are kept: apart from the counts, and never in a backup of them.

What must never change: a key that was put is there after a crash, the first one put under a name
stays, and a deleted one is gone from the place for good.
"""

from __future__ import annotations

from typing import Protocol


class KeyStore(Protocol):
    """A small durable mapping of names to keys, shared by every process of a collector.

    Every method raises :class:`~deniable.protocol.errors.StoreError` if the place cannot be
    reached; its message names the place without a password.
    """

    @property
    def location(self) -> str:
        """What it was opened by, without a password."""

    def get(self, name: str) -> bytes | None:
        """Return a key, or None if there is none of that name."""

    def put_if_absent(self, name: str, key: bytes) -> bytes:
        """Keep a key unless the name has one, and return the one it has, durably."""

    def delete(self, name: str) -> None:
        """Destroy a key; nothing happens if there is none."""

    def names(self) -> set[str]:
        """Return the name of every key."""

    def close(self) -> None:
        """Let go of the place."""
