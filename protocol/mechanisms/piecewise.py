"""The piecewise mechanism on a grid, with the band that serves the mean best.

With n = k-1 steps, the worst variance of a mean (at the ends of the range, as a function of the
band's c cells) is a constant more than

    (E^2 c^2 + 4nE c + nE(4n^2-2)/c + n^2(n^2-1)/c^2) / (12 n^2 (E-1)^2),

which is convex in c: the least is where it begins to rise. On fine grids c/n tends to the root of
E^2 x^4 + 2E x^3 = 2E x + 1. The published mechanism has x = 1/sqrt(E), a narrower band: its worst
variance is 3 % larger at epsilon 1, and 50 % larger at epsilon 4.

References
----------
Wang, Xiao, Yang et al. Collecting and analyzing multidimensional data with local differential
privacy. ICDE 2019.
"""

from __future__ import annotations

from bisect import bisect_left
from decimal import Decimal
from typing import ClassVar

from ..exact import exp
from .band import Band


class Piecewise(Band):
    """The band mechanism whose mean varies least where it varies most."""

    name: ClassVar[str] = "piecewise"

    @classmethod
    def choose_width(cls, k: int, epsilon: Decimal) -> int:
        """Return the c of least variance at the ends of the range; at most k-1."""
        e, n = exp(epsilon).low, k - 1

        def rises(c: int) -> bool:
            """Whether c+1 cells are no better: the difference, times (c(c+1))^2."""
            m = c * (c + 1)
            up = e * (e * (2 * c + 1) + 4 * n) * m**2
            return up >= n * (4 * n**2 - 2) * e * m + n**2 * (n**2 - 1) * (2 * c + 1)

        return 1 + bisect_left(range(1, n), True, key=rises)
