"""Time: the watermark only rises, so a clock that was wrong once is felt for long."""

from __future__ import annotations

from datetime import timedelta

from ..config import Config
from ..store.base import BEGINNING
from .contents import Contents
from .findings import Case, Findings, fault, ok, warning

_SLACK = timedelta(minutes=5)


def clock(case: Case, contents: Contents) -> Findings:
    """This machine's clock is not behind what was closed, nor far ahead of it."""
    closed = f"everything is closed up to {contents.watermark:%Y-%m-%d %H:%M} UTC"
    ahead = case.now - contents.watermark
    if contents.watermark == BEGINNING:
        yield ok("clock", "nothing was closed yet")
    elif ahead < -_SLACK:
        yield fault(
            "clock",
            f"{closed}, and the clock says {case.now:%Y-%m-%d %H:%M}",
            "set the clock right; if it was ahead before, reports of the time between are refused"
            " until it has passed",
        )
    elif ahead > Config.max_advance:
        yield warning(
            "clock",
            f"{closed}, {ahead.days} days ago",
            "if the clock is right, run deniable-collector release: serve does not close so much"
            " by itself",
        )
    else:
        yield ok(
            "clock",
            f"{closed}; whether the clock is kept by NTP is not seen from here",
            "timedatectl, or chronyc tracking, tells",
        )
