"""Periods: every moment is in one, each has one text, and they follow without a gap."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.protocol.errors import ParameterError
from deniable.protocol.periods import KINDS, ONCE, Period, midnight, parse_period, period_at

MOMENT = datetime(2026, 11, 30, 12, tzinfo=UTC)
CALENDAR = ("day", "week", "month")

zones = st.builds(timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23)))
NAIVE = MOMENT.replace(tzinfo=None)
moments = st.datetimes(
    NAIVE.replace(year=2000, month=1, day=5), NAIVE.replace(year=2999, day=15), timezones=zones
)
kinds = st.sampled_from(KINDS)


@given(kinds, moments)
def test_a_moment_lies_in_its_period(kind: str, moment: datetime) -> None:
    period = period_at(kind, moment)
    assert period.kind == kind
    assert period.start <= moment < period.end
    assert period_at(kind, period.start) == period
    assert str(period) == period.key
    if kind != "once":
        assert period_at(kind, period.end - timedelta(microseconds=1)) == period


@given(kinds, moments)
def test_texts_round_trip(kind: str, moment: datetime) -> None:
    period = period_at(kind, moment)
    assert parse_period(period.key) == period


@given(st.sampled_from(CALENDAR), moments)
def test_the_next_period_begins_where_one_ends(kind: str, moment: datetime) -> None:
    period = period_at(kind, moment)
    following = period.next()
    assert following.kind == period.kind
    assert following.start == period.end
    assert following.key > period.key, "texts sort by time"


@given(moments)
def test_periods_begin_at_midnight_utc(moment: datetime) -> None:
    day, week, month = (period_at(kind, moment) for kind in CALENDAR)
    for period in (day, week, month):
        assert period.start.tzinfo is UTC
        assert period.start.time() == period.end.time() == datetime.min.time()
    assert day.end - day.start == timedelta(days=1)
    assert week.end - week.start == timedelta(days=7)
    assert week.start.weekday() == 0
    assert month.start.day == month.end.day == 1
    assert timedelta(days=28) <= month.end - month.start <= timedelta(days=31)


@pytest.mark.parametrize(
    ("day", "week"),
    [
        (date(2020, 12, 31), "2020-W53"),
        (date(2021, 1, 3), "2020-W53"),
        (date(2021, 1, 4), "2021-W01"),
        (date(2024, 12, 29), "2024-W52"),
        (date(2024, 12, 30), "2025-W01"),
        (date(2026, 11, 30), "2026-W49"),
        (date(2027, 1, 3), "2026-W53"),
        (date(2000, 1, 3), "2000-W01"),
        (date(2999, 12, 29), "2999-W52"),
    ],
)
def test_weeks_belong_to_iso_years(day: date, week: str) -> None:
    assert period_at("week", midnight(day)).key == week
    assert parse_period(week) == period_at("week", midnight(day))


@pytest.mark.parametrize(
    ("kind", "moment", "key"),
    [
        ("day", datetime(2026, 11, 30, 23, 59, tzinfo=timezone(timedelta(hours=-1))), "2026-12-01"),
        ("day", datetime(2026, 12, 1, 0, 30, tzinfo=timezone(timedelta(hours=1))), "2026-11-30"),
        ("month", datetime(2026, 12, 31, 22, tzinfo=timezone(timedelta(hours=-3))), "2027-01"),
        ("month", datetime(2028, 2, 29, tzinfo=UTC), "2028-02"),
        ("week", datetime(2021, 1, 4, 0, 30, tzinfo=timezone(timedelta(hours=1))), "2020-W53"),
    ],
)
def test_clocks_are_read_in_utc(kind: str, moment: datetime, key: str) -> None:
    assert period_at(kind, moment).key == key


def test_days_follow_through_a_leap_year() -> None:
    days = [parse_period("2028-02-28")]
    for _ in range(3):
        days.append(days[-1].next())
    assert [day.key for day in days] == ["2028-02-28", "2028-02-29", "2028-03-01", "2028-03-02"]
    assert all(one.end == other.start for one, other in pairwise(days))


def test_once_is_all_of_time() -> None:
    assert parse_period("once") is ONCE
    assert period_at("once", MOMENT) is ONCE
    assert ONCE.next() is ONCE


@pytest.mark.parametrize(
    "text",
    [
        "", "Once", "once ", "once\n", "2026", "2026-1", "2026-11-31", "2026-02-29", "2026-13",
        "2026-00", "2026-11-00", "2026-1-01", "2026-W00", "2026-W54", "2021-W53", "2026-w49",
        "2026W49", "2026-W49-1", "20261130", "2026-11-30T00:00", "2026-11-30\n", "+2026-11",
        "\uff12026-11", "1999-12-31", "1999-12", "1999-W52", "3000-01-01", "0000-01-01", "0001-W01",
        "9999-W52", "9999-W53", "9999-12", "9999-12-31", "\u00b2026-11-30", "2026-11-3 ",
    ],
)  # fmt: skip
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="must be like 2026-11-30, 2026-W49, 2026-11 or once"):
        parse_period(text)


@given(st.text("0123456789W-once", max_size=11) | st.text(max_size=11))
def test_a_text_is_refused_or_the_one_name_of_its_period(text: str) -> None:
    try:
        period = parse_period(text)
    except ParameterError:
        return
    assert period.key == text


class Nowhere(tzinfo):
    """A time zone that does not know its offset; Python takes such a moment for local time."""

    def utcoffset(self, when: datetime | None) -> None:
        return None

    dst = tzname = utcoffset


@pytest.mark.parametrize(
    ("kind", "moment", "message"),
    [
        ("year", MOMENT, "period must be one of day, week, month, once: year"),
        ("day", NAIVE, "must have a time zone"),
        ("once", NAIVE, "must have a time zone"),
        ("day", NAIVE.replace(tzinfo=Nowhere()), "must have a time zone"),
        ("day", datetime(1999, 12, 31, tzinfo=UTC), r"year must be in 2000\.\.2999: 1999"),
        ("day", datetime(3000, 1, 1, tzinfo=UTC), r"year must be in 2000\.\.2999: 3000"),
        ("week", datetime(2000, 1, 2, tzinfo=UTC), r"year must be in 2000\.\.2999: 1999"),
        ("week", datetime(2999, 12, 31, tzinfo=UTC), r"year must be in 2000\.\.2999: 3000"),
        ("day", datetime.min.replace(tzinfo=timezone(timedelta(hours=2))), "year must be in"),
        ("day", datetime.max.replace(tzinfo=timezone(timedelta(hours=-2))), "year must be in"),
        ("day", datetime(2999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-2))), "2999: 3000"),
    ],
)  # fmt: skip
def test_moments_without_a_period_are_refused(kind: str, moment: datetime, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        period_at(kind, moment)


def test_a_period_is_frozen() -> None:
    period: Period = period_at("day", MOMENT)
    with pytest.raises(AttributeError):
        period.key = "2026-12-01"  # type: ignore[misc]
