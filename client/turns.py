"""One thread at a time, and none of them over and over while others wait.

Whoever comes stands in line, and only the first of the line waits for the one whose turn it is;
so the latter, when it comes again, is behind all others.

What must never change: a handler of a signal may interrupt any line here and ask for a turn of its
own, or raise; so the lock is reentrant, and what was taken is given back even then. Who left the
line in whatever way is held by no frame any more, and so keeps nobody waiting.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from deniable.protocol.errors import StoreError

from .faults import BusyStore

_LOOK = 0.05
"""Seconds after which one in line looks by itself whether it is the first."""


class _Ticket:
    """A place in line."""

    __slots__ = ("__weakref__", "called", "thread")

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.called = threading.Lock()
        self.called.acquire()

    def call(self) -> None:
        with suppress(RuntimeError):  # it has been called already
            self.called.release()


class Turns:
    """Turns at one thing.

    Attributes
    ----------
    lock : RLock
        Held by the thread whose turn it is.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._line: deque[weakref.ref[_Ticket]] = deque()
        self._begun = -math.inf
        self._last: frozenset[int | None] | None = None

    @property
    def mine(self) -> bool:
        """Whether it is the calling thread's turn."""
        owned: bool = self.lock._is_owned()  # type: ignore[attr-defined]  # as a Condition asks it
        return owned

    def only(self, *threads: int | None) -> None:
        """From now on, let no thread but these have one."""
        self._last = frozenset(threads)

    @contextmanager
    def take(self, seconds: float, *, standstill: float = math.inf) -> Iterator[None]:
        """Wait for a turn so long at most, and take it; inside of one, take another at once.

        Parameters
        ----------
        standstill : float
            And so long at most while nobody's turn begins.

        Raises
        ------
        BusyStore
            If the others take longer.
        StoreError
            If this thread gets none any more.
        """
        lock = self.lock
        if self.mine:
            with lock:
                yield
            return
        try:
            if not self._wait(seconds, standstill):
                raise BusyStore("other threads are using the store; try again")
            self._begun = time.monotonic()
            if self._last is not None and threading.get_ident() not in self._last:
                raise StoreError("the store is closed")
            yield
        finally:
            with suppress(RuntimeError):  # it was not taken
                lock.release()

    def _wait(self, seconds: float, standstill: float) -> bool:
        came = time.monotonic()

        def left() -> float:
            still = max(came, self._begun) + standstill
            return min(came + seconds, still) - time.monotonic()

        ticket = _Ticket()
        place = weakref.ref(ticket)
        if self._interrupted():
            return self.lock.acquire(timeout=_timeout(left()))
        self._line.append(place)
        try:
            while self._first() is not ticket:
                if (patience := left()) <= 0:
                    return False
                ticket.called.acquire(timeout=min(patience, _LOOK))
            return self.lock.acquire(timeout=_timeout(left()))
        finally:
            self._leave(place)

    def _interrupted(self) -> bool:
        """Whether this thread stands in line already, below the handler of a signal."""
        me = threading.get_ident()
        return any((ticket := place()) and ticket.thread == me for place in list(self._line))

    def _first(self) -> _Ticket | None:
        """The first in line; of those before it nobody is there any more."""
        for place in list(self._line):
            ticket = place()
            if ticket is not None:
                return ticket
            self._drop(place)
        return None

    def _leave(self, place: weakref.ref[_Ticket]) -> None:
        self._drop(place)
        first = self._first()
        if first is not None:
            first.call()

    def _drop(self, place: weakref.ref[_Ticket]) -> None:
        with suppress(ValueError):  # another thread did
            self._line.remove(place)


def _timeout(seconds: float) -> float:
    return min(max(seconds, 0.0), threading.TIMEOUT_MAX)
