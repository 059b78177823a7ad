"""Numbers that can be trusted: rational enclosures of e^x, and 64-bit thresholds.

A probability that decides what leaves a device is an integer threshold over 2^64, and nothing
else: device, estimator, variance and proof all read the same integer. What must never change:
the direction of rounding. ``floor_threshold`` never exceeds the real number it stands for and
``ceil_threshold`` never falls short of it, so a realised epsilon never exceeds the declared one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from functools import reduce

SCALE = 1 << 64
"""A threshold t means the probability t / SCALE."""

# Complete, and used for every operation here: the thread's own context belongs to the host
# application, whose precision must not decide a threshold or a hash.
_CONTEXT = Context(
    prec=60,
    rounding=ROUND_HALF_EVEN,
    Emin=-999999,
    Emax=999999,
    capitals=1,
    clamp=0,
    flags=[],
    traps=[InvalidOperation, DivisionByZero, Overflow],
)

_DOWN, _UP = _CONTEXT.copy(), _CONTEXT.copy()
_DOWN.rounding, _UP.rounding = ROUND_FLOOR, ROUND_CEILING


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A real number known to lie in [low, high]; arithmetic keeps it inside."""

    low: Fraction
    high: Fraction

    def __add__(self, other: Enclosure | int) -> Enclosure:
        right = _enclosed(other)
        return Enclosure(self.low + right.low, self.high + right.high)

    def __sub__(self, other: Enclosure | int) -> Enclosure:
        right = _enclosed(other)
        return Enclosure(self.low - right.high, self.high - right.low)

    def __mul__(self, other: Enclosure | int) -> Enclosure:
        right = _enclosed(other)
        corners = [a * b for a in (self.low, self.high) for b in (right.low, right.high)]
        return Enclosure(min(corners), max(corners))

    def __truediv__(self, other: Enclosure | int) -> Enclosure:
        right = _enclosed(other)
        if right.low <= 0 <= right.high:
            raise ZeroDivisionError("the divisor's enclosure contains zero")
        return self * Enclosure(1 / right.high, 1 / right.low)

    def __rtruediv__(self, other: int) -> Enclosure:
        return _enclosed(other) / self


def _enclosed(value: Enclosure | int) -> Enclosure:
    if isinstance(value, Enclosure):
        return value
    return Enclosure(Fraction(value), Fraction(value))


def exp(exponent: Decimal) -> Enclosure:
    """Enclose e^exponent between two rationals one unit in the 60th digit apart.

    ``decimal`` rounds ``exp`` correctly, so the neighbours of its result enclose the truth.

    Parameters
    ----------
    exponent : Decimal
        Exact; not rounded before use, so it may have at most 60 digits.
    """
    rounded = _CONTEXT.exp(exponent)
    return Enclosure(Fraction(_CONTEXT.next_minus(rounded)), Fraction(_CONTEXT.next_plus(rounded)))


def exp_quotient(number: Decimal, divisor: int) -> Enclosure:
    """Enclose e^(number / divisor), whose exponent need not have finitely many digits.

    The quotient is rounded down and up to 60 digits, and ``exp`` of both encloses the truth.

    Parameters
    ----------
    number : Decimal
        Exact.
    divisor : int
        Positive.
    """
    down, up = (context.divide(number, Decimal(divisor)) for context in (_DOWN, _UP))
    return Enclosure(exp(down).low, exp(up).high)


def floor_threshold(probability: Enclosure | Fraction) -> int:
    """Return the largest t with t / 2^64 certainly at most ``probability``."""
    low = probability.low if isinstance(probability, Enclosure) else probability
    return math.floor(low * SCALE)


def ceil_threshold(probability: Enclosure | Fraction) -> int:
    """Return the least t with t / 2^64 certainly at least ``probability``."""
    high = probability.high if isinstance(probability, Enclosure) else probability
    return math.ceil(high * SCALE)


def total(numbers: Iterable[Decimal]) -> Decimal:
    """Return the sum, exact up to 60 digits."""
    return reduce(_CONTEXT.add, numbers, Decimal(0))


def fits(number: Decimal, places: int) -> bool:
    """Return whether ``number`` needs at most ``places`` decimal places.

    Its digits before the point and ``places`` must be at most 60 together.
    """
    return number == _CONTEXT.quantize(number, Decimal((0, (1,), -places)))


def canonical(number: Decimal) -> str:
    """Write a decimal of at most 60 digits in its one form: no exponent, no trailing zeros.

    >>> canonical(Decimal("2.0")), canonical(Decimal("1E+1")), canonical(Decimal("0.50"))
    ('2', '10', '0.5')
    """
    return format(number.normalize(_CONTEXT), "f") if number else "0"
