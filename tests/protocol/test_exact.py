"""Enclosures hold the truth, thresholds round to the safe side, decimals have one form."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import Any

import pytest
from enumeration import WORDS, exp_between
from hypothesis import assume, given
from hypothesis import strategies as st

from deniable.protocol.exact import (
    SCALE,
    Enclosure,
    canonical,
    ceil_threshold,
    exp,
    fits,
    floor_threshold,
    total,
)

HOSTILE = decimal.Context(prec=2, rounding=decimal.ROUND_UP, Emin=-1, Emax=1)
HOSTILE.traps[decimal.Inexact] = HOSTILE.traps[decimal.Rounded] = True

fractions = st.fractions(min_value=-50, max_value=50, max_denominator=1000)
epsilons = st.decimals(min_value="0.000001", max_value=44, places=18)


@st.composite
def enclosed(draw: st.DrawFn) -> tuple[Enclosure, Fraction]:
    """An enclosure, and some number that lies in it, its ends included."""
    low, truth, high = sorted(draw(st.tuples(fractions, fractions, fractions)))
    return Enclosure(low, high), draw(st.sampled_from((low, truth, high)))


@given(enclosed(), enclosed(), st.sampled_from((add, sub, mul, truediv)))
def test_arithmetic_keeps_the_truth_inside(
    left: tuple[Enclosure, Fraction],
    right: tuple[Enclosure, Fraction],
    operate: Callable[..., Any],
) -> None:
    (a, x), (b, y) = left, right
    assume(operate is not truediv or not b.low <= 0 <= b.high)
    result = operate(a, b)
    assert result.low <= operate(x, y) <= result.high
    assert {result.low, result.high} <= {
        operate(u, v) for u in (a.low, a.high) for v in (b.low, b.high)
    }, "no wider than its corners"


@given(enclosed(), st.integers(-9, 9))
def test_integers_take_part(left: tuple[Enclosure, Fraction], n: int) -> None:
    a, x = left
    for result, truth in (
        (a + n, x + n),
        (a - n, x - n),
        (a * n, x * n),
    ):
        assert result.low <= truth <= result.high
    if not a.low <= 0 <= a.high:
        assert (n / a).low <= n / x <= (n / a).high


def test_division_by_what_may_be_zero_is_refused() -> None:
    for divisor in (Enclosure(Fraction(-1), Fraction(1)), Enclosure(Fraction(0), Fraction(1)), 0):
        with pytest.raises(ZeroDivisionError, match="contains zero"):
            Enclosure(Fraction(1), Fraction(1)) / divisor


@given(epsilons)
def test_exp_encloses(exponent: Decimal) -> None:
    low, high = exp_between(Fraction(exponent))
    enclosure = exp(exponent)
    assert enclosure.low <= low
    assert high <= enclosure.high
    assert enclosure.high - enclosure.low <= enclosure.low * Fraction(2, 10**59)


@pytest.mark.parametrize("exponent", ["0", "0.01", "1e-55", "16", "44", "43." + "9" * 53])
def test_exp_encloses_at_the_ends(exponent: str) -> None:
    low, high = exp_between(Fraction(exponent))
    assert exp(Decimal(exponent)).low <= low <= high <= exp(Decimal(exponent)).high


@given(st.fractions(0, 1), st.fractions(0, Fraction(1, 2**60)))
def test_thresholds_round_to_their_side(probability: Fraction, width: Fraction) -> None:
    around = Enclosure(probability, probability + width)
    assert floor_threshold(around) == floor_threshold(probability)
    assert ceil_threshold(around) == ceil_threshold(probability + width)
    below, above = floor_threshold(probability), ceil_threshold(probability)
    assert Fraction(below, WORDS) <= probability < Fraction(below + 1, WORDS)
    assert Fraction(above - 1, WORDS) < probability <= Fraction(above, WORDS)


def test_a_threshold_is_a_64_bit_word() -> None:
    assert SCALE == WORDS == 2**64
    assert floor_threshold(Fraction(1, 3)) == 0x5555_5555_5555_5555
    assert ceil_threshold(Fraction(1, 3)) == 0x5555_5555_5555_5556
    assert floor_threshold(Fraction(3, 4)) == ceil_threshold(Fraction(3, 4)) == 3 << 62


def test_a_threshold_falls_on_the_side_of_its_epsilon() -> None:
    """ln 3 lies between two neighbouring decimals; e/(e+1) is 3/4 exactly at ln 3."""
    below, above = exp(Decimal("1.0986122886681096")), exp(Decimal("1.0986122886681097"))
    assert below.high < 3 < above.low
    assert floor_threshold(below / (below + 1)) < 3 << 62 <= floor_threshold(above / (above + 1))
    assert ceil_threshold(1 / (below + 1)) > 1 << 62 >= ceil_threshold(1 / (above + 1))


@given(st.decimals(min_value=0, max_value=10**4, places=25), st.integers(0, 30))
def test_canonical_is_one_text_of_one_number(number: Decimal, zeros: int) -> None:
    text = canonical(number)
    assert Decimal(text) == number
    assert "e" not in text.lower()
    assert "." not in text or text[-1] not in "0."
    with decimal.localcontext(decimal.Context(prec=99)):
        padded = number.quantize(Decimal(1).scaleb(-25 - zeros))
    assert padded.as_tuple() != number.as_tuple() or zeros == 0
    assert canonical(padded) == text


@given(epsilons, epsilons)
def test_nothing_depends_on_the_threads_decimal_context(one: Decimal, other: Decimal) -> None:
    expected = Fraction(one) + Fraction(other), canonical(one), exp(one)
    with decimal.localcontext(HOSTILE):
        found = Fraction(total((one, other))), canonical(one), exp(one)
        assert fits(one, 18)
        assert not fits(Decimal("0.001"), 2)
    assert found == expected


@given(st.integers(0, 99999), st.integers(0, 10**40), st.integers(0, 25))
def test_fits_counts_the_places_that_matter(whole: int, digits: int, places: int) -> None:
    text = f"{whole}.{digits:041}"
    needed = len(text.rstrip("0").partition(".")[2])
    assert fits(Decimal(text), places) == (needed <= places)


def test_fits_sees_a_digit_beyond_any_precision() -> None:
    assert not fits(Decimal("1." + "0" * 200 + "1"), 18)
    assert fits(Decimal("1." + "0" * 200), 18)
