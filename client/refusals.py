"""Answers that went nowhere, counted by whatever thread or handler of a signal refused them.

What must never change: counting waits for nobody, for a handler may interrupt the very thread that
it would wait for; and no count is lost.
"""

from __future__ import annotations

import threading
from collections import Counter, deque

_MOST = 100
"""How many wait to be added up."""


class Refusals:
    """Counts by reason, until they are stored."""

    def __init__(self) -> None:
        self._news: deque[tuple[str, int]] = deque()
        self._sums: Counter[str] = Counter()
        self._adding = threading.Lock()

    def add(self, reason: str, count: int = 1) -> None:
        """Count answers."""
        self._news.append((reason, count))
        if len(self._news) > _MOST:
            self.sums()

    def sums(self) -> Counter[str]:
        """Return all that was counted; what another thread is adding up may be missing."""
        if self._adding.acquire(blocking=False):
            try:
                self._add_up()
            finally:
                self._adding.release()
        return Counter(self._sums)

    def take(self) -> Counter[str]:
        """Return what was counted and count anew; nothing while another thread is adding up."""
        if not self._adding.acquire(blocking=False):
            return Counter()
        try:
            self._add_up()
            taken, self._sums = self._sums, Counter()
        finally:
            self._adding.release()
        return taken

    def _add_up(self) -> None:
        while self._news:
            reason, count = self._news.popleft()
            self._sums[reason] += count
