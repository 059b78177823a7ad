"""Exact enumeration: e^x between two rationals.

Shares nothing with the package's own arithmetic, so a proof does not rest on what it proves.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

WORDS = 1 << 64


@cache
def exp_between(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return low <= e^x <= high, 1e-80 apart in proportion, for x >= 0.

    From the n-th term on, n >= 2x, each term of the exponential series is at most half the one
    before, so all the rest together is at most the last term added.
    """
    term = total = Fraction(1)
    n = 0
    while n < 2 * exponent or term * 10**80 > total:
        n += 1
        term = term * exponent / n
        total += term
    return total, total + term
