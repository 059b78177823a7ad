"""Periods: the days, weeks and months in which a device answers a question once. All in UTC.

What must never change: the text of a period (``2026-11-30``, ``2026-W49``, ``2026-11``,
``once``), which devices sign, collectors count by and tallies keep.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, cast, get_args

from .errors import ParameterError

PeriodKind = Literal["day", "week", "month", "once"]
KINDS: tuple[str, ...] = get_args(PeriodKind)

_FORMS = {
    "day": re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})"),
    "week": re.compile(r"([0-9]{4})-W([0-9]{2})"),
    "month": re.compile(r"([0-9]{4})-([0-9]{2})"),
}
_FIRST_YEAR, _LAST_YEAR = 2000, 2999


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time [start, end) with a name; ``once`` is all of time."""

    kind: PeriodKind
    key: str
    start: datetime
    end: datetime

    def __str__(self) -> str:
        return self.key

    def next(self) -> Period:
        """Return the period that begins when this one ends."""
        return period_at(self.kind, self.end)


ONCE = Period("once", "once", datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


def midnight(day: date) -> datetime:
    """Return the first moment of ``day`` in UTC."""
    return datetime.combine(day, time(), UTC)


def period_at(kind: str, moment: datetime) -> Period:
    """Return the period of ``kind`` that contains ``moment``.

    Raises
    ------
    ParameterError
        If ``kind`` is unknown, ``moment`` has no time zone, or its year is absurd.

    Examples
    --------
    >>> moment = datetime(2026, 11, 30, 12, tzinfo=UTC)
    >>> [period_at(kind, moment).key for kind in KINDS]
    ['2026-11-30', '2026-W49', '2026-11', 'once']
    """
    if moment.utcoffset() is None:
        raise ParameterError("moment must have a time zone; use datetime.now(UTC)")
    if kind == "once":
        return ONCE
    _require_year(moment.year)
    day = moment.astimezone(UTC).date()
    _require_year(day.year)
    if kind == "day":
        return _period(kind, day.isoformat(), day, day + timedelta(days=1))
    if kind == "week":
        year, week, weekday = day.isocalendar()
        _require_year(year)
        monday = day - timedelta(days=weekday - 1)
        return _period(kind, f"{year}-W{week:02}", monday, monday + timedelta(days=7))
    if kind == "month":
        first = day.replace(day=1)
        following = (first + timedelta(days=31)).replace(day=1)
        return _period(kind, f"{first:%Y-%m}", first, following)
    raise ParameterError(f"period must be one of {', '.join(KINDS)}: {kind}")


def parse_period(text: str) -> Period:
    """Return the period a text names; only the canonical text of a period names it.

    Raises
    ------
    ParameterError
        If the text names no period.
    """
    if text == "once":
        return ONCE
    for kind, form in _FORMS.items():
        match = form.fullmatch(text)
        if match is None:
            continue
        numbers = [int(group) for group in match.groups()]
        try:
            if kind == "week":
                day = date.fromisocalendar(numbers[0], numbers[1], 1)
            else:
                day = date(*numbers, *[1] * (3 - len(numbers)))
            return period_at(kind, midnight(day))
        except (ValueError, OverflowError):
            break
    raise ParameterError("period must be like 2026-11-30, 2026-W49, 2026-11 or once")


def _require_year(year: int) -> None:
    """Refuse what no clock means; of a week, its ISO year, which its text shows."""
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ParameterError(f"year must be in {_FIRST_YEAR}..{_LAST_YEAR}: {year}")


def _period(kind: str, key: str, start: date, end: date) -> Period:
    return Period(cast("PeriodKind", kind), key, midnight(start), midnight(end))
