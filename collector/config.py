"""What a collector is set up with: one frozen value, checked at construction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from deniable.protocol.errors import ParameterError
from deniable.protocol.survey import Survey

STOP_TIMEOUT = 30.0
"""Seconds that requests under way have to end, unless told otherwise."""

MAX_SECONDS = 86_400.0
"""The longest time that anything is given to wait: a day."""


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
        _check_surveys(self.surveys)
        if _rate_amount(self.flood_limit) < 1:
            text = "flood_limit must be like '60 per minute', at least 1"
            raise ParameterError(f"{text}: {self.flood_limit}")
        for name in ("release_every", "commit_timeout"):
            check_seconds(name, getattr(self, name))
        if self.max_advance <= timedelta(0):
            raise ParameterError(f"max_advance must be positive: {self.max_advance}")
        for name in ("queue_bound", "max_group", "commit_timeout", "max_devices_per_period"):
            if getattr(self, name) <= 0:
                raise ParameterError(f"{name} must be positive: {getattr(self, name)}")
        if self.min_free_bytes < 0:
            raise ParameterError(f"min_free_bytes must not be negative: {self.min_free_bytes}")


def check_seconds(name: str, seconds: float) -> None:
    """Refuse a time that no thread can wait for.

    Raises
    ------
    ParameterError
    """
    if not 0 <= seconds <= MAX_SECONDS:  # NaN is in no range
        raise ParameterError(f"{name} must be in 0..{MAX_SECONDS:.0f} seconds: {seconds}")


def _rate_amount(rate: str) -> int:
    """Return how many requests a rate lets through; 0 if it is none."""
    import limits  # slow to load, and every command reads the defaults above

    try:
        parsed = limits.parse(rate)
    except ValueError:
        return 0
    return parsed.amount if parsed.get_expiry() > 0 else 0


def _check_surveys(surveys: object) -> None:
    """Refuse what was not loaded, and what is there twice."""
    fix = "give Config(surveys=(load_survey('survey.toml'),)), of deniable.protocol.survey"
    if not isinstance(surveys, tuple | list):
        raise ParameterError(f"surveys must be a tuple; {fix}")
    names = []
    for survey in surveys:
        if not isinstance(survey, Survey):
            raise ParameterError(f"surveys holds a {type(survey).__name__}, no survey; {fix}")
        if survey.id in names:
            raise ParameterError(f"survey {survey.id} is given twice; keep its newest edition")
        names.append(survey.id)
