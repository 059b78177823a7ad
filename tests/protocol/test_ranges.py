"""Ranges: each number has one place on the grid, whatever type it comes in."""

from __future__ import annotations

import decimal
import math
import time
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.protocol.errors import ParameterError
from deniable.protocol.ranges import Range

TENTHS = Range(Decimal(0), Decimal(1), 10)
WIDE = Range(Decimal(-100), Decimal(100), 200)


class Level(IntEnum):
    HIGH = 3


def place(value: object, within: Range = WIDE) -> int:
    return within.nearest("visits", value)


@pytest.mark.parametrize(
    ("value", "point"),
    [
        (-100, 0),
        (100, 200),
        (0, 100),
        (-0.0, 100),
        (Decimal("-0"), 100),
        (0.5, 101),
        (-0.5, 100),
        (-1.5, 99),
        (math.nextafter(0.5, 0), 100),
        (math.nextafter(-0.5, -1), 99),
        (5e-324, 100),
        (-5e-324, 100),
        (Decimal("0.5"), 101),
        (Decimal("0.4" + "9" * 300), 100),
        (Fraction(1, 2), 101),
        (Fraction(10**40 - 1, 2 * 10**40), 100),
        (Decimal("1e-999999"), 100),
        (Decimal("-1e-999999"), 100),
        (Decimal("-0.5"), 100),
        (Level.HIGH, 103),
        (np.int8(-3), 97),
        (np.uint64(3), 103),
        (np.float16(0.5), 101),
        (np.float32(-0.5), 100),
        (np.float64(2.5), 103),
        (np.longdouble(0.5) - np.finfo(np.longdouble).epsneg, 100),
    ],
)
def test_a_number_goes_to_the_nearest_point_and_halves_up(value: object, point: int) -> None:
    assert place(value) == point


@pytest.mark.parametrize(
    ("value", "point"),
    [
        (-101, 0),
        (101, 200),
        (-(16**5000), 0),
        (16**5000, 200),
        (1e308, 200),
        (-1e308, 0),
        (Decimal("1e999999"), 200),
        (Decimal("-1e999999"), 0),
        (Decimal("1e999999999999999999"), 200),
        (Fraction(10**400, 3), 200),
        (np.int64(-(2**63)), 0),
        (np.uint64(2**64 - 1), 200),
        (np.finfo(np.longdouble).max, 200),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_number_outside_is_clipped(value: object, point: int) -> None:
    assert place(value) == point


@pytest.mark.parametrize(
    "value",
    [
        Decimal("0e999999999999999999"),
        Decimal("-0e-999999999999999999"),
        Decimal("1e-999999999999999999"),
    ],
)
def test_an_exponent_costs_no_time(value: Decimal) -> None:
    """As fractions, these would have as many digits as their exponents say."""
    begun = time.perf_counter()
    assert place(value) == 100
    assert time.perf_counter() - begun < 1


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("-Infinity"),
        np.float32("nan"),
        np.float64("-inf"),
        np.longdouble("nan"),
        np.longdouble("inf"),
        True,
        False,
        np.True_,
        None,
        "3",
        b"3",
        "",
        3 + 0j,
        np.complex64(3),
        [3],
        np.array(3.0),
        np.timedelta64(3, "D"),
        np.datetime64("2026-11-30"),
        object(),
        float,
    ],
)
def test_what_is_no_finite_number_is_refused_in_one_sentence(value: object) -> None:
    with pytest.raises(ParameterError) as refusal:
        place(value)
    assert str(refusal.value) == "visits: the value must be a number, and finite"
    assert refusal.value.__context__ is None


def test_floats_are_what_they_are() -> None:
    """0.15 lies below 3/20 as a float, and 0.35 below 7/20; their decimals are halves, and rise."""
    assert [place(0.15, TENTHS), place(Decimal("0.15"), TENTHS)] == [1, 2]
    assert [place(0.35, TENTHS), place(Decimal("0.35"), TENTHS)] == [3, 4]
    assert [place(0.25, TENTHS), place(Decimal("0.25"), TENTHS)] == [3, 3]
    assert place(np.float32(0.15), TENTHS) == 2
    assert Fraction(float(np.float32(0.15))) > Fraction(15, 100)


def test_wide_ranges_keep_the_last_digit() -> None:
    whole = Range(Decimal(0), Decimal(10**15), 1)
    assert [place(kind(5 * 10**14 - n), whole) for n in (0, 1) for kind in (int, np.int64)] == [
        1, 1, 0, 0,
    ]  # fmt: skip
    assert place(Decimal(5 * 10**14) - Decimal("1e-9"), whole) == 0


def test_every_point_is_its_own_nearest() -> None:
    thirds = Range(Decimal("-0.1"), Decimal("0.7"), 3)
    for within in (TENTHS, WIDE, thirds):
        for i in range(within.steps + 1):
            number = within.at(Fraction(i, within.steps))
            assert place(number, within) == i
    assert [thirds.at(Fraction(0)), thirds.at(Fraction(1))] == [Fraction(-1, 10), Fraction(7, 10)]
    assert thirds.width == Fraction(8, 10)


numbers = (
    st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(-130, 130)
    | st.fractions(-130, 130)
    | st.decimals(-130, 130)
)
ranges = st.builds(
    lambda low, width, steps: Range(low, low + width, steps),
    st.decimals(-50, 50, places=6),
    st.decimals(Decimal("0.000001"), 100, places=6),
    st.integers(1, 4095),
)


@given(numbers, ranges)
def test_no_other_point_is_nearer(value: int | float | Decimal | Fraction, within: Range) -> None:
    number, low, high = Fraction(value), Fraction(within.low), Fraction(within.high)
    clipped = min(max(number, low), high)
    point = place(value, within)
    step = (high - low) / within.steps
    assert 0 <= point <= within.steps
    away = clipped - (low + point * step)
    assert -step / 2 <= away < step / 2 or (point == within.steps and away == 0)
    assert place(number, within) == point


@pytest.mark.parametrize("value", ["3.14159265358979", "1e400", "-7.777777777777777777", "1e-500"])
def test_the_host_applications_decimal_context_decides_nothing(value: str) -> None:
    within = Range(Decimal("-1.000000000000000001"), Decimal("7.123456789012345678"), 4095)
    document, expected = within.document(), place(Decimal(value), within)
    hostile = decimal.Context(prec=1, rounding=decimal.ROUND_UP, Emin=-1, Emax=1)
    for signal in hostile.traps:
        hostile.traps[signal] = True
    with decimal.localcontext(hostile):
        assert place(Decimal(value), within) == expected
        assert within.document() == document
        with pytest.raises(ParameterError, match="must be a number, and finite"):
            place(Decimal("sNaN"), within)


def test_the_document_has_one_form() -> None:
    one = Range(Decimal("-0.0"), Decimal("1E+2"), 4)
    assert one.document() == {"low": "0", "high": "100", "steps": 4}
    assert one == Range(Decimal(0), Decimal(100), 4)


def test_small_decimals_are_not_nothing() -> None:
    small = Range(Decimal(0), Decimal("0.001"), 2)
    assert [small.nearest("x", Decimal(v)) for v in ("0.0001", "0.0005", "0.0009")] == [0, 1, 2]


def test_a_decimal_of_very_many_digits_is_refused() -> None:
    """Its exact fraction would take longer than an app can wait."""
    grid = Range(Decimal(0), Decimal(1), 10)
    assert grid.nearest("x", Decimal("0." + "7" * 1000)) == 8
    with pytest.raises(ParameterError, match="must be a number, and finite"):
        grid.nearest("x", Decimal("0." + "7" * 1001))
