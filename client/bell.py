"""What a thread sleeps on, and what wakes it from anywhere.

What must never change: ringing waits for nothing, so that a finalizer or the handler of a signal
may do it, whatever the thread that it interrupts was doing.
"""

from __future__ import annotations

import threading
from contextlib import suppress


class Bell:
    """Rung once or many times before somebody listens, it has rung once."""

    def __init__(self) -> None:
        self._silence = threading.Lock()
        self._silence.acquire()

    def ring(self) -> None:
        """Wake whoever sleeps, or who sleeps next."""
        with suppress(RuntimeError):  # it has been rung already
            self._silence.release()

    @property
    def rung(self) -> bool:
        """Whether nobody has heard it yet."""
        return not self._silence.locked()

    def wait(self, seconds: float | None) -> None:
        """Sleep until it is rung, so long at most; None for as long as it takes."""
        self._silence.acquire(timeout=-1 if seconds is None else max(seconds, 0))
