"""Whether reports can be made durable now, check by check, each within a bounded time.

What must never change: a check that does not end is a failure, and holds up nobody; what is told
names the check and no place, for anyone may ask.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from deniable.protocol.errors import DeniableError, StoreError

from .problems import where

LOG = logging.getLogger("deniable.collector")

PATIENCE = 1.5
"""Seconds that all checks together may take."""

_FRESH_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that has to be as it should.

    Attributes
    ----------
    fault : str
        What is told if it is not.
    work : callable
        Raises StoreError, with what is logged, if it is not.
    """

    fault: str
    work: Callable[[], object]


class _Run:
    """One run of a check, on a thread of its own."""

    def __init__(self, check: Check) -> None:
        self.reason: str | None = "it takes too long"
        self._work = check.work
        self.thread = threading.Thread(target=self._run, name="collector-check", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._work()
        except DeniableError as exc:
            self.reason = str(exc)
        except Exception as exc:
            self.reason = where(exc)
        else:
            self.reason = None


class Readiness:
    """The checks of one collector; run at most once a second, whoever asks.

    Parameters
    ----------
    checks : dict
        By name.
    """

    def __init__(self, checks: Mapping[str, Check]) -> None:
        self._checks = checks
        self._lock = threading.Lock()
        self._fresh_until = 0.0
        self._runs: dict[str, _Run] = {}
        self._told: dict[str, bool] = dict.fromkeys(checks, True)

    def outcomes(self) -> dict[str, bool]:
        """Return, by name, whether each check passed."""
        with self._lock:
            if time.monotonic() >= self._fresh_until:
                self._look()
                self._fresh_until = time.monotonic() + _FRESH_SECONDS
            return dict(self._told)

    def look(self) -> None:
        """Run the checks now, so that what fails is logged; the next who asks has them run anew."""
        with self._lock:
            self._look()

    def _look(self) -> None:
        for name, reason in self._ask().items():
            self._tell(name, reason)

    def faults(self) -> list[str]:
        """Return what each failing check tells; nothing if the collector is ready."""
        outcomes = self.outcomes()
        return [
            f"{name}: {check.fault}" for name, check in self._checks.items() if not outcomes[name]
        ]

    def _ask(self) -> dict[str, str | None]:
        """Run every check that is not running still, and return why it failed, or None."""
        for name, check in self._checks.items():
            if name not in self._runs:
                self._runs[name] = _Run(check)
        give_up = time.monotonic() + PATIENCE
        reasons = {}
        for name, run in list(self._runs.items()):
            run.thread.join(max(0.0, give_up - time.monotonic()))
            reasons[name] = run.reason
            if not run.thread.is_alive():
                del self._runs[name]
        return reasons

    def _tell(self, name: str, reason: str | None) -> None:
        """Log that a check fails, and that it passes again: once each."""
        if self._told[name] == (reason is None):
            return
        self._told[name] = reason is None
        if reason is None:
            LOG.warning("%s: in order again", name, extra={"event": "check"})
        else:
            LOG.error("not ready: %s: %s", name, reason, extra={"event": "check"})


def require(holds: bool, text: str) -> None:
    """Fail a check.

    Raises
    ------
    StoreError
        Unless it holds.
    """
    if not holds:
        raise StoreError(text)
