"""What an operator can watch, in Prometheus' text form. No label tells a device from another."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from deniable.protocol.report import CODES


class Metrics:
    """The meters of one collector, in a registry of their own."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self.accepted = Counter("deniable_reports_accepted", "Reports counted.", registry=registry)
        self.duplicate = Counter(
            "deniable_reports_duplicate", "Reports that had counted before.", registry=registry
        )
        rejected = Counter(
            "deniable_reports_rejected", "Reports refused.", ["code"], registry=registry
        )
        self.rejected = {code: rejected.labels(code) for code in CODES}
        self._refused = Counter(
            "deniable_requests_refused",
            "Requests answered with a problem.",
            ["status"],
            registry=registry,
        )
        self.released = Counter("deniable_tallies_released", "Released.", registry=registry)
        self.destroyed = Counter(
            "deniable_tallies_destroyed", "Destroyed: the crowd was too small.", registry=registry
        )
        self.commit_seconds = Histogram(
            "deniable_commit_seconds",
            "Time of one transaction, from its begin to the disk.",
            buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5),
            registry=registry,
        )
        self._waiting = Gauge(
            "deniable_requests_waiting", "Requests that wait for a commit.", registry=registry
        )

    def refused(self, status: int) -> None:
        """Count a request that was answered with a problem."""
        self._refused.labels(str(status)).inc()

    def watch_queue(self, waiting: Callable[[], float]) -> None:
        """Read the queue's length whenever the meters are read."""
        self._waiting.set_function(waiting)

    def text(self) -> bytes:
        """Return all meters."""
        return generate_latest(self._registry)
