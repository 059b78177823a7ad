"""Whether the clock can be believed, given what it showed before.

A clock that was set back would answer a past period again; one that was set far ahead would close
every period that waits. Either is held: nothing is recorded, sent or thrown away until the clock
has gone on from there for a day of its own, as that of a device does that was off for long.

What must never change: of a moment, the store keeps the day only, except while the clock is odd.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from .pacing import day_of, plausible

AHEAD = timedelta(days=366)
"""A clock farther ahead of the last day seen is odd."""

BEHIND = timedelta(minutes=10)
"""A clock this much behind the day seen is not: clocks are corrected, and answers stored late."""

TRUSTED_AFTER = timedelta(hours=24)
"""How long an odd clock must go on before it is believed."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a store knows of time.

    Attributes
    ----------
    latest : datetime or None
        The last day seen; None if none was.
    odd : datetime or None
        Since when the clock has shown another time than it could; None if it does not.
    """

    latest: datetime | None
    odd: datetime | None = None


def judge(seen: Seen, now: datetime) -> tuple[bool, Seen]:
    """Return whether to believe ``now``, and what is known afterwards."""
    if not plausible(now):
        return False, seen
    latest, odd = seen.latest, seen.odd
    if latest is None or latest - BEHIND <= now <= latest + AHEAD:
        return True, Seen(max(day_of(now), latest or day_of(now)))
    if odd is None or not odd <= now <= odd + AHEAD:
        return False, Seen(latest, now)
    if now < odd + TRUSTED_AFTER:
        return False, seen
    return True, Seen(day_of(now))
