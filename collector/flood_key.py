"""The key under which floods are counted: a new one each day, shared by who counts together.

Pseudonyms change with the period, and the names they are counted under change with this key.
What must never change: the key's name is no scope's, so that nobody takes it for a period key.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime

from deniable.protocol.errors import StoreError

from .keystore.base import KeyStore
from .keystore.checks import KEY_BYTES

PREFIX = "collector.flood."
"""Three parts where a scope's name has two or four."""

_LOCK_SECONDS = 0.5


class ProcessKey:
    """A key that lives as long as this process and that no other knows."""

    def __init__(self) -> None:
        self._key = os.urandom(KEY_BYTES)

    def __call__(self) -> bytes:
        """Return it."""
        return self._key


class DailyKey:
    """A key of the day, in UTC, that every process with the same key store counts under.

    Parameters
    ----------
    places : KeyStore
    clock : callable
        Returns the present in UTC.
    """

    def __init__(self, places: KeyStore, clock: Callable[[], datetime]) -> None:
        self._places = places
        self._clock = clock
        self._lock = threading.Lock()
        self._held: tuple[date, bytes] | None = None

    def __call__(self) -> bytes:
        """Return today's key; the first to ask for it destroys those of earlier days.

        Raises
        ------
        StoreError
            If the key store cannot be reached, or others are waiting for it.
        """
        today = self._clock().date()
        held = self._held
        if held is None or held[0] != today:
            held = self._held = self._obtain(today)
        return held[1]

    def _obtain(self, today: date) -> tuple[date, bytes]:
        if not self._lock.acquire(timeout=_LOCK_SECONDS):
            raise StoreError(f"{self._places.location}: does not answer")
        try:
            held = self._held
            if held is not None and held[0] == today:
                return held
            name = f"{PREFIX}{today.isoformat()}"
            key = self._places.put_if_absent(name, os.urandom(KEY_BYTES))
            with suppress(StoreError):  # whoever comes tomorrow sees to it
                for old in self._places.names():
                    if old.startswith(PREFIX) and old < name:
                        self._places.delete(old)
            return today, key
        finally:
            self._lock.release()
