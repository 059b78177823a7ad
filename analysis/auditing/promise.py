"""Whether an exact ratio of probabilities is within what a survey declares.

What must never change: a ratio is compared with rationals that enclose e^epsilon, never with a
float. Logarithms are for people only, and are rounded up.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from deniable.protocol.exact import exp

_CONTEXT = Context(prec=60)
_UP = Context(prec=60, rounding=ROUND_CEILING)


def within(ratio: Fraction, epsilon: Decimal) -> bool | None:
    """Return whether ``ratio <= e^epsilon``; None if 60 digits do not tell.

    >>> within(Fraction(7, 1), Decimal(2)), within(Fraction(8, 1), Decimal(2))
    (True, False)
    """
    bound = exp(epsilon)
    if ratio <= bound.low:
        return True
    return False if ratio > bound.high else None


def epsilon_of(ratio: Fraction) -> float:
    """Return ``ln(ratio)`` rounded up, to be shown.

    Parameters
    ----------
    ratio : Fraction
        At least 1.
    """
    if ratio <= 1:
        return 0.0
    quotient = _UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    logarithm = _UP.next_plus(_CONTEXT.ln(quotient))
    nearest = float(logarithm)
    return (
        nearest if Fraction(nearest) >= Fraction(logarithm) else math.nextafter(nearest, math.inf)
    )
