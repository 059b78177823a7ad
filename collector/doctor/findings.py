"""What a check finds, and what it is told to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from ..config import Config, utc_now
from ..places import scheme_of, sqlite_path
from ..store.sqlite import real_path

Status = Literal["ok", "warning", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found, in one line, and how that is put right, in another."""

    check: str
    status: Status
    detail: str
    fix: str = ""

    def record(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {
            "check": self.check,
            "status": self.status,
            "detail": self.detail,
            "fix": self.fix or None,
        }


@dataclass(frozen=True)
class Case:
    """A collector as it is set up, to be examined.

    Attributes
    ----------
    store : str
        Path or URL.
    keys : str or None
        Where the period keys are; None: beside an SQLite file.
    flood_storage, url : str or None
        What is not given is not examined.
    surveys : tuple of str
        Paths of survey files.
    now : datetime
    min_free_bytes : int
        Disk space below which the collector takes nothing in.
    """

    store: str
    keys: str | None = None
    flood_storage: str | None = None
    surveys: tuple[str, ...] = ()
    url: str | None = None
    now: datetime = field(default_factory=utc_now)
    min_free_bytes: int = Config.min_free_bytes

    @property
    def path(self) -> Path | None:
        """The SQLite file, unless the store is another kind."""
        path = sqlite_path(self.store)
        return None if path is None else real_path(path)

    @property
    def keys_location(self) -> str | None:
        """Where the keys are, None if the store names no place and none was given."""
        if self.keys is None and self.path is not None:
            return str(self.path.with_name(f"{self.path.name}-keys"))
        return self.keys

    @property
    def keys_directory(self) -> Path | None:
        """The directory of the keys, unless they are on a server."""
        location = self.keys_location
        return Path(location) if location and not scheme_of(location) else None


Findings = Iterator[Finding]
Check = Callable[[Case], Findings]


def ok(check: str, detail: str, fix: str = "") -> Finding:
    """Return that all is well."""
    return Finding(check, "ok", detail, fix)


def warning(check: str, detail: str, fix: str) -> Finding:
    """Return what may become a fault, or cannot be judged from here."""
    return Finding(check, "warning", detail, fix)


def fault(check: str, detail: str, fix: str) -> Finding:
    """Return what breaks a promise of the collector, or will."""
    return Finding(check, "fault", detail, fix)
