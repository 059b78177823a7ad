"""Bounds as they are written for people: rounded to the side on which they stay true.

An upper bound is rounded up and a lower one down, to a few significant digits. What is within
one part in 10^12 of a shorter number is written as that number, so that 730 which floating point
made 730.0000000000001 stays 730.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

_DUST = Decimal("1e-12")
_WORK = Context(prec=60)
_PLAIN = (Decimal("0.0001"), Decimal("1e15"))
_LARGEST_FACTOR = 30.0


def at_most(value: float, digits: int = 6) -> str:
    """Write an upper bound.

    Parameters
    ----------
    value : float
        Finite, at least 0.
    digits : int
        Significant ones.

    Examples
    --------
    >>> at_most(1.6416635493096783), at_most(730.0000000000001)
    ('1.64167', '730')
    """
    exact = Decimal(value)
    return _written(_WORK.multiply(exact, 1 - _DUST), digits, ROUND_CEILING)


def at_least(value: float, digits: int = 6) -> str:
    """Write a lower bound; finite, at least 0."""
    exact = Decimal(value)
    return _written(_WORK.multiply(exact, 1 + _DUST), digits, ROUND_FLOOR)


def percent_at_most(share: float) -> str:
    """Write an upper bound on a probability: ``73.11 %``."""
    return f"{at_most(100 * share, 4)} %"


def percent_at_least(share: float) -> str:
    """Write a lower bound on a probability."""
    return f"{at_least(100 * share, 4)} %"


def power_at_most(exponent: float) -> str:
    """Write an upper bound ``e^exponent``: as a number, or as a power if it is long.

    Examples
    --------
    >>> power_at_most(2.0), power_at_most(730.0)
    ('7.39', 'e^730')
    """
    if exponent > _LARGEST_FACTOR:
        return f"e^{at_most(exponent)}"
    return at_most(math.exp(exponent), 3 if exponent < math.log(1000) else 6)


def counted(number: int, what: str) -> str:
    """Write how many of something there are.

    >>> counted(1, "device"), counted(2_000, "device")
    ('1 device', '2,000 devices')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _written(number: Decimal, digits: int, rounding: str) -> str:
    short = Context(prec=digits, rounding=rounding).plus(number).normalize(_WORK)
    low, high = _PLAIN
    return f"{short:,f}" if short == 0 or low <= short < high else f"{short:e}"
