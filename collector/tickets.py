"""A place in the writer's queue, and how the outcome reaches whoever waits for it.

What must never change: a call that was left with a ticket is made once, by whoever comes first of
the commit and the end of patience.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from deniable.protocol.errors import DeniableError, StoreError

from .shuffler import Submission
from .store.base import Transaction


class Ticket:
    """A request or another piece of work that waits for its commit.

    Parameters
    ----------
    submission : Submission or None
    job : callable or None
        What is run in a transaction of its own, if there is no submission.
    patience : float
        Seconds after which no one waits any more; it may be committed all the same.
    """

    __slots__ = ("_calls", "_done", "_ends", "_error", "job", "result", "submission")

    def __init__(
        self,
        submission: Submission | None,
        job: Callable[[Transaction], object] | None,
        patience: float,
    ) -> None:
        self.submission = submission
        self.job = job
        self.result: object = None
        self._error: DeniableError | None = None
        self._ends = time.monotonic() + patience
        self._calls: list[Callable[[], None]] = []
        self._done = threading.Lock()
        self._done.acquire()

    def settle(self, error: DeniableError | None) -> None:
        """Tell that it is durable, or what was in the way."""
        self._error = error
        self._done.release()
        self._call()

    def when_settled(self, call: Callable[[], None]) -> None:
        """Have a call made when :meth:`wait` need not wait any more."""
        self._calls.append(call)
        if not self._done.locked():
            self._call()

    def check_patience(self) -> None:
        """Make the calls if patience has ended."""
        if time.monotonic() >= self._ends:
            self._call()

    def wait(self) -> None:
        """Return when it is durable; asked once.

        Raises
        ------
        DeniableError
            What was in the way, or a StoreError if patience ended.
        """
        if not self._done.acquire(timeout=max(0.0, self._ends - time.monotonic())):
            raise StoreError("the commit takes too long")
        if self._error is not None:
            raise self._error

    def _call(self) -> None:
        while self._calls:
            try:
                call = self._calls.pop()
            except IndexError:
                return
            call()
