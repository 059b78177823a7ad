"""What fails, told once: a line in the log when it begins or its reason changes, and when it ends.

A server that is away fails thousands of requests; an operator needs to hear of it once.
"""

from __future__ import annotations

import logging
import threading

LOG = logging.getLogger("deniable.collector")

_EVENT = {"event": "outage"}


class Outages:
    """The failures that go on now, by what fails."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self._lock = threading.Lock()

    def tell(self, what: str, reason: str | None) -> None:
        """Hear how something went: the reason it failed for, or None; may be told every time."""
        if self._reasons.get(what) == reason:
            return
        with self._lock:
            before = self._reasons.pop(what, None)
            if reason is not None:
                self._reasons[what] = reason
        if reason is None and before is not None:
            LOG.warning("%s: in order again", what, extra=_EVENT)
        elif reason is not None and reason != before:
            LOG.error("%s failed: %s", what, reason, extra=_EVENT)
