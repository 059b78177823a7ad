"""The horizon of a question whose answer may change: how many periods one epsilon covers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from .periods import Period, PeriodKind, midnight, period_at

MAX_PERIODS = 1024
MAX_CHANGES = 32


@dataclass(frozen=True)
class Horizon:
    """``periods`` periods from the one that contains ``start`` on.

    Attributes
    ----------
    start : date
        In UTC.
    periods : int
        T.
    changes : int or None
        Of a yes/no: how often a device's answer may change, the first answer not counted. None of
        a number, which only rises.
    """

    start: date
    periods: int
    changes: int | None

    def index(self, period: Period) -> int | None:
        """Return the number t of a period, 1..T; None of one that lies outside."""
        first = period_at(period.kind, midnight(self.start)).start
        if period.kind == "month":
            past = (period.start.year - first.year) * 12 + period.start.month - first.month
        else:
            past = (period.start - first).days // (7 if period.kind == "week" else 1)
        return past + 1 if 0 <= past < self.periods else None

    def last(self, kind: PeriodKind) -> Period:
        """Return the last period, T."""
        return self.period(kind, self.periods)

    def period(self, kind: PeriodKind, t: int) -> Period:
        """Return the period with the number t."""
        day, past = self.start, t - 1
        if kind == "month":
            years, month = divmod(day.month - 1 + past, 12)
            return period_at(kind, midnight(date(day.year + years, month + 1, 1)))
        return period_at(kind, midnight(day + timedelta(days=past * (7 if kind == "week" else 1))))

    def document(self) -> dict[str, Any]:
        """Return the horizon as JSON."""
        return {
            "start": self.start.isoformat(),
            "periods": self.periods,
            "changes": self.changes,
        }
