"""One thread at a time, and none of them over and over while others wait.

Whoever comes stands in line, and only the first of the line waits for the one whose turn it is;
so the latter, when it comes again, is behind all others.

What must never change: a handler of a signal may interrupt any line here and ask for a turn of its
own, or raise; so both locks are reentrant, and what was taken is given back even then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from deniable.protocol.errors import StoreError

from .faults import BusyStore


class Turns:
    """Turns at one thing.

    Attributes
    ----------
    lock : RLock
        Held by the thread whose turn it is.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._line = threading.RLock()
        self._last: frozenset[int | None] | None = None

    def only(self, *threads: int | None) -> None:
        """From now on, let no thread but these have one."""
        self._last = frozenset(threads)

    @contextmanager
    def take(self, seconds: float) -> Iterator[None]:
        """Wait for a turn so long at most, and take it; inside of one, take another at once.

        Raises
        ------
        BusyStore
            If the others take longer.
        StoreError
            If this thread gets none any more.
        """
        lock = self.lock
        if lock._is_owned():  # type: ignore[attr-defined]  # as `threading.Condition` asks it
            with lock:
                yield
            return
        try:
            if not self._wait(seconds):
                raise BusyStore("other threads are using the store; try again")
            if self._last is not None and threading.get_ident() not in self._last:
                raise StoreError("the store is closed")
            yield
        finally:
            with suppress(RuntimeError):  # it was not taken
                lock.release()

    def _wait(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        try:
            return self._line.acquire(timeout=_timeout(seconds)) and self.lock.acquire(
                timeout=_timeout(until - time.monotonic())
            )
        finally:
            with suppress(RuntimeError):
                self._line.release()


def _timeout(seconds: float) -> float:
    return min(max(seconds, 0.0), threading.TIMEOUT_MAX)
