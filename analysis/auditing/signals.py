"""Steps that no signal may cut in two: what was started is known before anybody asks to end it.

A handler that raises can do so between any two steps, also between the start of a process and the
note that it was started. Here signals wait until such steps are done.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals by which a program is asked to end."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let signals that end a program wait for the end of the block.

    Does nothing outside the main thread, where no handler runs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    found = {number: signal.getsignal(number) for number in ENDING}
    before = {n: old for n, old in found.items() if old not in (None, signal.SIG_IGN)}
    for number in before:
        signal.signal(number, lambda came, frame: waiting.append(came))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in waiting:
            signal.raise_signal(number)
