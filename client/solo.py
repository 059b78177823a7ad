"""Who has at most one thread of its own, started when there is something to do.

What must never change: the thread is known before it starts, for the handler of a signal may ask
for another in any line here; and one that could not be started is forgotten.
"""

from __future__ import annotations

import threading
from contextlib import suppress


class Solo:
    """What the writer and the uploader have in common: the keeping of one thread."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def join(self, seconds: float) -> None:
        """Wait for the thread so long at most."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            with suppress(RuntimeError):  # below this handler of a signal, it is being started
                thread.join(max(seconds, 0))

    def _start(self, name: str) -> None:
        """Start the thread, unless there is one; call this with the lock that guards it."""
        if self._thread is not None:
            return
        thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread = thread
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._thread = None
        except BaseException:  # of the handler of a signal
            self._thread = None
            raise

    def _run(self) -> None:
        """Do what the thread is for."""
        raise NotImplementedError

    def _is_mine(self) -> bool:
        """Whether the calling thread is still the one, whose start no handler cut off."""
        return self._thread is threading.current_thread()
