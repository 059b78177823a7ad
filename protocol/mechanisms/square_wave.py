"""The square wave on a grid: for the whole distribution of a number.

On the unit interval the band reaches b to both sides of the number, where

    b = (epsilon E - E + 1) / (2E (E - 1 - epsilon))

maximises what a report tells about a uniform number (mutual information). On k points it has
c = 2 floor(b k) + 1 cells, the middle one for the symbol itself; b falls from 1/2 to 0 as epsilon
grows, so c is at most k. The distribution is recovered by the analysis; the mean too, from the
same reports, but see ``piecewise``.

References
----------
Li, Wang, Lopuhaä-Zwakenberg, Li, Škorić. Estimating numerical distributions under local
differential privacy. SIGMOD 2020.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from ..exact import Enclosure, exp
from .band import Band

_LEAST = Decimal("1e-20")
"""Below, the digits of E cancel; no threshold of 64 bits tells such an epsilon from 0 anyway."""


class SquareWave(Band):
    """The band mechanism whose reports tell most about a number that may be anywhere."""

    name: ClassVar[str] = "square-wave"

    @classmethod
    def choose_width(cls, k: int, epsilon: Decimal) -> int:
        """Return c = 2 floor(b k) + 1."""
        return 2 * math.floor(half_width(max(epsilon, _LEAST)).low * k) + 1


def half_width(epsilon: Decimal) -> Enclosure:
    """Enclose b, for an epsilon of 1e-20 at least."""
    e, x = exp(epsilon), Enclosure(Fraction(epsilon), Fraction(epsilon))
    return (e * x - e + 1) / (e * (e - 1 - x) * 2)
