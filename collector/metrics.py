"""What an operator can watch, in Prometheus' text form.

What must never change: no label, and no set of labels, tells one device from another. A crowd is
told as a power of ten, per survey and not per question; the only other labels are codes, statuses,
days, and the names of checks.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from deniable.protocol.periods import Period
from deniable.protocol.report import CODES

_COMMIT = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)
_GROUP = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_DAYS = ("0", "1", "2", "3+")


@dataclass(frozen=True, slots=True)
class Standing:
    """What is read when the meters are.

    Attributes
    ----------
    crowds : dict
        By survey and bucket, such as ``100-999``: how many tallies wait with such a crowd.
    keys_missing : int or None
        Open scopes without their key; None if that cannot be known now.
    watermark_age : float
        Seconds since the moment up to which everything is closed.
    checks : dict
        By the names of ``/readyz``: whether it is as it should be.
    """

    crowds: Mapping[tuple[str, str], int]
    keys_missing: int | None
    watermark_age: float
    checks: Mapping[str, bool]


class Metrics:
    """The meters of one collector process, in a registry of their own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._reading = threading.Lock()
        ProcessCollector(registry=self._registry)
        self.accepted = self._counter("deniable_reports_accepted", "Reports counted.")
        self.duplicate = self._counter(
            "deniable_reports_duplicate", "Reports that had counted before."
        )
        self.rejected = self._by("deniable_reports_rejected", "Reports refused.", "code", CODES)
        self._lag = self._by(
            "deniable_reports_lag",
            "Reports counted, by the days since their period ended.",
            "days",
            _DAYS,
        )
        self._refused = Counter(
            "deniable_requests_refused",
            "Requests answered with a problem.",
            ["status"],
            registry=self._registry,
        )
        self.released = self._counter(
            "deniable_tallies_released", "Tallies that this process released."
        )
        self.destroyed = self._counter(
            "deniable_tallies_destroyed",
            "Tallies that this process destroyed: the crowd was too small.",
        )
        self.commit_seconds = self._histogram(
            "deniable_commit_seconds",
            "Time of one transaction that counts reports, from its begin to the disk.",
            _COMMIT,
        )
        self.group_size = self._histogram(
            "deniable_commit_requests", "Requests that one transaction counted.", _GROUP
        )
        self._queue = self._gauge("deniable_requests_waiting", "Requests that wait for a commit.")
        self._add_gauges()
        self._release_succeeded = time.monotonic()

    def _add_gauges(self) -> None:
        self.waiting_for_key = self._gauge(
            "deniable_scopes_waiting_for_key",
            "Periods past their closing whose tallies wait for a key, at the last release.",
        )
        self._keys_missing = self._gauge(
            "deniable_keys_missing",
            "Open periods whose key is missing; NaN if the key store cannot be reached.",
        )
        self._watermark_age = self._gauge(
            "deniable_watermark_age_seconds", "Time since what everything before is closed."
        )
        self._gauge(
            "deniable_release_success_age_seconds",
            "Time since this process's last release without an error, or its start.",
        ).set_function(lambda: time.monotonic() - self._release_succeeded)
        self._crowds = Gauge(
            "deniable_pending_tallies",
            "Tallies that wait for their release, by the power of ten of their crowd.",
            ["survey", "crowd"],
            registry=self._registry,
        )
        self._checks = Gauge(
            "deniable_check_ok", "What /readyz checks: 1 or 0.", ["check"], registry=self._registry
        )

    def refused(self, status: int) -> None:
        """Count a request that was answered with a problem."""
        self._refused.labels(str(status)).inc()

    def counted(self, period: Period, now: datetime, accepted: int, duplicate: int) -> None:
        """Count the reports of a request that count, and how late they came."""
        if duplicate:
            self.duplicate.inc(duplicate)
        if accepted:
            self.accepted.inc(accepted)
            days = (now - period.end).days + 1 if now >= period.end else 0
            self._lag[_DAYS[min(days, 3)]].inc(accepted)

    def release_succeeded(self) -> None:
        """Remember that a release had no error."""
        self._release_succeeded = time.monotonic()

    def watch_queue(self, waiting: Callable[[], float]) -> None:
        """Read the queue's length whenever the meters are read."""
        self._queue.set_function(waiting)

    def text(self, standing: Standing) -> bytes:
        """Return all meters."""
        missing = standing.keys_missing
        with self._reading:
            self._crowds.clear()
            for (survey, crowd), count in standing.crowds.items():
                self._crowds.labels(survey, crowd).set(count)
            self._keys_missing.set(math.nan if missing is None else missing)
            self._watermark_age.set(standing.watermark_age)
            for name, fine in standing.checks.items():
                self._checks.labels(name).set(fine)
            return generate_latest(self._registry)

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self._registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self._registry)

    def _histogram(self, name: str, text: str, buckets: Iterable[float]) -> Histogram:
        return Histogram(name, text, buckets=tuple(buckets), registry=self._registry)

    def _by(self, name: str, text: str, label: str, values: Iterable[str]) -> dict[str, Counter]:
        """Return a counter for each value of a label, all of which are told from the start."""
        counter = Counter(name, text, [label], registry=self._registry)
        return {value: counter.labels(value) for value in values}
