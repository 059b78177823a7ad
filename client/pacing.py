"""When things happen: the moment a report may leave, and the periods whose default is due.

What must never change: a departure never depends on when something was recorded, except for a
``once`` question, whose answer has no period end to wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from deniable.protocol.draws import FreshDraws
from deniable.protocol.periods import Period, midnight, period_at
from deniable.protocol.question import Question

Clock = Callable[[], datetime]
"""Tells the time, with its zone."""

SPREAD = timedelta(hours=24)
"""Reports of one period leave over this long, or over half the grace if that is shorter, so that
there is time for a second attempt."""


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def departure(period: Period, now: datetime, window: timedelta) -> datetime:
    """Draw the moment from which a report may leave, uniform over ``window``.

    The window opens when the period ends; for a ``once`` question, which has no end, now.
    """
    return (now if period.kind == "once" else period.end) + uniform(window)


def due_defaults(question: Question, since: datetime, now: datetime) -> Iterator[Period]:
    """Yield the periods that ended and still count, from the one in which ``since`` lies."""
    oldest = now - timedelta(days=question.grace)
    period = period_at(question.period, max(since, oldest))
    while period.end <= now:
        if question.asks_in(period) and question.closes(period) > now:
            yield period
        period = period.next()


def uniform(length: timedelta) -> timedelta:
    """Draw a duration uniform on [0, length], to the millisecond."""
    milliseconds = max(0, length // timedelta(milliseconds=1))
    return timedelta(milliseconds=FreshDraws().below(milliseconds + 1))


def backoff(failures: int) -> timedelta:
    """Draw the pause after so many failures in a row: exponential, with full jitter."""
    return uniform(min(timedelta(hours=1), timedelta(seconds=5) * 2 ** min(failures, 16)))


def later(not_before: datetime, now: datetime, closes: datetime) -> datetime:
    """Draw a moment no earlier than the one a collector asked for, of those a store can keep.

    Later by up to a tenth of the wait, an hour at most and half a minute at least, so that devices
    told the same do not all come back at once. What was refused counts until ``closes``: a wait
    that is longer ends then, and the draw leaves time for another attempt before it.
    """
    asked = max(now, min(not_before, closes)) + timedelta(microseconds=999_999)
    asked = asked.replace(microsecond=0)
    spread = max(timedelta(seconds=30), min((asked - now) / 10, timedelta(hours=1)))
    left = closes - asked
    return asked + uniform(min(spread, left / 2) if left > timedelta(0) else spread)


def to_seconds(moment: datetime) -> int:
    """Return a moment as the store keeps it: whole seconds since 1970."""
    return int(moment.timestamp())


def from_seconds(seconds: int) -> datetime:
    """Return the moment the store kept."""
    return datetime.fromtimestamp(seconds, UTC)


def day_of(moment: datetime) -> datetime:
    """Return the first moment of the day in UTC, which is all a store keeps of most times."""
    return midnight(moment.astimezone(UTC).date())


def plausible(now: datetime) -> bool:
    """Return whether a clock can be believed at all."""
    return 2020 <= now.year <= 2900
