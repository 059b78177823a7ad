"""One thread at a time asks what may not answer, and not every other one waits for it.

What must never change: a place that answers again is asked again by the next who comes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from deniable.protocol.errors import StoreError

_PATIENCE = 0.5
"""Seconds that anyone waits for another's answer; none once it is known that there is none."""


class Turns:
    """Whose turn it is to ask a place.

    Parameters
    ----------
    what : str
        The place, in messages.
    lock : threading.Lock, optional
        What is held during a turn.
    """

    def __init__(self, what: str, lock: threading.Lock | None = None) -> None:
        self._silence = f"{what}: does not answer"
        self._lock = lock or threading.Lock()
        self._fault = ""

    @contextmanager
    def turn(self, *answers: type[StoreError]) -> Iterator[None]:
        """Ask in turn; ``answers`` are the errors that a place which answers may give.

        Raises
        ------
        StoreError
            If whoever's turn it is gets no answer.
        """
        if not self._lock.acquire(timeout=0 if self._fault else _PATIENCE):
            self._fault = self._fault or self._silence
            raise StoreError(self._fault)
        try:
            yield
            self._fault = ""
        except StoreError as exc:
            self._fault = "" if isinstance(exc, answers) else str(exc)
            raise
        finally:
            self._lock.release()
