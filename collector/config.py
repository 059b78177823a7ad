"""What a collector is set up with: one frozen value, checked at construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from deniable.protocol.errors import ParameterError
from deniable.protocol.survey import Survey

STOP_TIMEOUT = 30.0
"""Seconds that requests under way have to end, unless told otherwise."""


def utc_now() -> datetime:
    """Return the time of the machine's clock."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Config:
    """How one collector runs.

    Attributes
    ----------
    store : str
        Path of the SQLite file, created if it is not there, or ``postgresql://`` URL.
    surveys : tuple of Survey
        Loaded at the start. What was loaded before stays accepted until it expires.
    keys : str or None
        Where the period keys are: a directory, ``redis://`` or ``postgresql://`` URL; None: in a
        directory beside an SQLite file. Never inside a backup.
    flood_limit : str
        Requests one pseudonym may send, such as ``60 per minute``.
    flood_storage : str
        Where they are counted: ``memory://``, or a Redis or Valkey URL that replicas share.
    app_keys : str or None
        File of the keys that apps ship with; None: reports are taken without one.
    release_every : float
        Seconds between releases; 0: only ``deniable-collector release`` closes a period.
    max_advance : timedelta
        The furthest the timer moves the closing time at once. A clock that jumps further is not
        believed; ``deniable-collector release`` confirms it.
    queue_bound : int
        Requests that may wait for their commit; one more is answered 503.
    max_group : int
        Requests that one transaction counts at most.
    commit_timeout : float
        Seconds a request waits for its commit before it is answered 503.
    max_devices_per_period : int
        Devices one period holds; a further one is answered 503.
    min_free_bytes : int
        Disk space below which nothing more is taken in.
    clock : callable
        Returns the present in UTC.
    """

    store: str
    surveys: tuple[Survey, ...] = ()
    keys: str | None = None
    flood_limit: str = "60 per minute"
    flood_storage: str = "memory://"
    app_keys: str | None = None
    release_every: float = 60.0
    max_advance: timedelta = timedelta(days=14)
    queue_bound: int = 1024
    max_group: int = 512
    commit_timeout: float = 30.0
    max_devices_per_period: int = 10_000_000
    min_free_bytes: int = 64 * 1024 * 1024
    clock: Callable[[], datetime] = field(default=utc_now, compare=False)

    def __post_init__(self) -> None:
        """Check every field."""
        import limits  # slow to load, and every command reads the defaults above

        try:
            limits.parse(self.flood_limit)
        except ValueError:
            text = "flood_limit must be like '60 per minute'"
            raise ParameterError(f"{text}: {self.flood_limit}") from None
        if self.release_every < 0:
            raise ParameterError(f"release_every must not be negative: {self.release_every}")
        if self.max_advance <= timedelta(0):
            raise ParameterError(f"max_advance must be positive: {self.max_advance}")
        for name in ("queue_bound", "max_group", "commit_timeout", "max_devices_per_period"):
            if getattr(self, name) <= 0:
                raise ParameterError(f"{name} must be positive: {getattr(self, name)}")
        if self.min_free_bytes < 0:
            raise ParameterError(f"min_free_bytes must not be negative: {self.min_free_bytes}")
        names = [survey.id for survey in self.surveys]
        for name in names:
            if names.count(name) > 1:
                raise ParameterError(f"survey {name} is given twice; keep its newest edition")
