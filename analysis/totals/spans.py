"""How many periods a stretch of days can touch: so many reports a question can take from it.

A device answers once in every day, ISO week or calendar month, and a stretch of days may begin
anywhere in one. All counts are exact, for the proleptic Gregorian calendar, in UTC.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from itertools import accumulate

from deniable.protocol.periods import PeriodKind

_CYCLE_MONTHS = 4800
_CYCLE_DAYS = 146097  # of 400 years, after which the calendar repeats itself
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def touched(kind: PeriodKind, days: int) -> int:
    """Return the largest number of periods that ``days`` consecutive days can touch.

    Days: D. Weeks: ``floor((D + 5)/7) + 1``, when the first day is a Sunday. Months: m + 2 for
    the largest m such that m consecutive months have at most D - 2 days. ``once``: 1.

    Parameters
    ----------
    kind : "day", "week", "month" or "once"
    days : int
        At least 1.

    Examples
    --------
    >>> [touched(kind, 365) for kind in ("day", "week", "month", "once")]
    [365, 53, 13, 1]
    """
    if kind == "day":
        return days
    if kind == "week":
        return (days + 5) // 7 + 1
    if kind == "month":
        return _months(days)
    return 1


def _months(days: int) -> int:
    if days == 1:
        return 1
    cycles, rest = divmod(days - 2, _CYCLE_DAYS)
    return cycles * _CYCLE_MONTHS + bisect_right(range(_CYCLE_MONTHS), rest, key=_shortest) + 1


def _shortest(months: int) -> int:
    """Return the least days that so many consecutive months, at most a cycle, can have."""
    starts = _starts()
    return min(starts[first + months] - starts[first] for first in range(_CYCLE_MONTHS))


@cache
def _starts() -> tuple[int, ...]:
    """Return the days before each month of two cycles."""
    return (0, *accumulate(_length(month) for month in range(2 * _CYCLE_MONTHS)))


def _length(month: int) -> int:
    """Return the days of a month, counted from January of a year that 400 divides."""
    year, index = divmod(month, 12)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if index == 1 and leap else _LENGTHS[index]
