"""Where requests go in an app's tests: nowhere, and they are kept.

What must never change: a body is the one that would have travelled, and every report of it counts.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

from ..replies import Reply


class Shelf:
    """A carrier that keeps bodies, and answers for a collector that counts every report."""

    def __init__(self) -> None:
        self._bodies: list[bytes] = []
        self._closed = False
        self._abandoned = 0

    def requests(self) -> list[dict[str, Any]]:
        """Return the requests that were posted, oldest first, read anew each time."""
        return [json.loads(gzip.decompress(body)) for body in self._bodies]

    def connection(self) -> Any:
        """Return something to be closed."""
        return _Nothing()

    def ticket(self) -> int:
        """Return what a post needs."""
        return self._abandoned

    def post(
        self,
        connection: Any,
        body: bytes,
        ticket: int,
        seconds: float,
        leave: Callable[[], bool] | None = None,
    ) -> Reply:
        """Keep a body, unless it was given up or has no leave."""
        barred = self._closed or ticket != self._abandoned
        if barred or (leave is not None and not leave()):
            return Reply()
        self._bodies.append(body)
        count = len(self.requests()[-1]["reports"])
        settled = {"accepted": count, "duplicate": 0, "rejected": []}
        return Reply(200, json.dumps(settled).encode())

    def close(self) -> None:
        """Take no more."""
        self._closed = True

    def abandon(self) -> None:
        """Make tickets void."""
        self._abandoned += 1

    def after_fork(self) -> None:
        """In the child: nothing is under way."""


class _Nothing:
    def close(self) -> None:
        """Do nothing."""
