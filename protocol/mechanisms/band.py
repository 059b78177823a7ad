"""Band mechanisms: a number on a grid is reported from a band of outputs around it, or not.

The outputs are the cells 0..w-1 with w = k-1+c. Symbol i has the band of c cells i..i+c-1; a
report is uniform on the band with probability P, and uniform on the other k-1 cells otherwise.
With a = P/c and b = (1-P)/(k-1) for each cell, a/b <= E is the whole loss, and so
P = cE/(cE + k-1). Members of the family differ in c only.

What must never change: the order of the cells, and that of the cells outside a band. Both are
part of what a device draws from given bytes.

References
----------
Wang, Xiao, Yang et al. Collecting and analyzing multidimensional data with local differential
privacy. ICDE 2019 (piecewise).
Li, Wang, Lopuhaä-Zwakenberg, Li, Škorić. Estimating numerical distributions under local
differential privacy. SIGMOD 2020 (square wave, on a grid).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

from ..draws import Draws
from ..exact import SCALE, exp, floor_threshold
from ..response import Response, Shape
from .base import NO_OPTIONS, Law, Options, Rounds, require_epsilons, require_k
from .scale import Scale


@dataclass(frozen=True)
class Band(Scale):
    """A report from the band of the symbol with probability ``inside`` / 2^64.

    Attributes
    ----------
    inside : int
        Threshold of P = cE/(cE + k-1), rounded down.
    width_of_band : int
        c, at least 1.
    """

    decoder: ClassVar[str] = "band"
    two_rounds: ClassVar[bool] = False

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    inside: int
    width_of_band: int

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> Self:
        """Choose c and compute the threshold of P."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        return cls.of_width(k, epsilon, cls.choose_width(k, epsilon))

    @classmethod
    def of_width(cls, k: int, epsilon: Decimal, width: int) -> Self:
        """Return the mechanism with bands of ``width`` cells."""
        weight = exp(epsilon) * width
        return cls(k, epsilon, None, floor_threshold(weight / (weight + (k - 1))), width)

    @classmethod
    @abstractmethod
    def choose_width(cls, k: int, epsilon: Decimal) -> int:
        """Return c."""

    @property
    def shape(self) -> Shape:
        """One of k-1+c cells."""
        return Shape("symbol", self.k - 1 + self.width_of_band)

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``inside``."""
        return {"inside": self.inside}

    @cached_property
    def a(self) -> Fraction:
        """P(a report is a given cell of its symbol's band)."""
        return Fraction(self.inside, SCALE * self.width_of_band)

    @cached_property
    def b(self) -> Fraction:
        """P(a report is a given cell outside it)."""
        return Fraction(SCALE - self.inside, SCALE * (self.k - 1))

    @cached_property
    def slope(self) -> Fraction:
        """By how much the mean report rises with the symbol: (a-b) c."""
        return (self.a - self.b) * self.width_of_band

    @property
    def tells(self) -> bool:
        """Whether a > b."""
        return self.a > self.b

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """A cell of one band alone; two bands have at most min(c, k-1) such cells each."""
        apart = min(self.width_of_band, self.k - 1)
        return apart * self.a, apart * self.b

    @property
    def fingerprint_bits(self) -> float:
        """log2 of the number of cells."""
        return math.log2(self.shape.width)

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Draw a cell of the band, or one of the others."""
        first, width = int(memo), self.width_of_band
        if keyed.chance(self.inside):
            return Response(first + keyed.below(width))
        other = keyed.below(self.k - 1)
        return Response(other + width if other >= first else other)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """Two probabilities: of the cells in the band, and of the others."""
        first = int(memo)
        band = range(first, first + self.width_of_band)
        return {Response(y): self.a if y in band else self.b for y in range(self.shape.width)}

    def score(self, out: int) -> Fraction:
        """``1/2 + (out - (w-1)/2) / (g (k-1))`` with g the slope; the middle is its own image."""
        return Fraction(1, 2) + (out - Fraction(self.shape.width - 1, 2)) / self._reach

    def score_variance(self, at: Fraction) -> Fraction:
        """``V + (1-g)/g (at - 1/2)^2``: exact on the grid, and the same parabola between.

        V is the variance in the middle, ``(b w(w^2-1) + g(c^2-1)) / (12 g^2 (k-1)^2)``: second
        moments of w and of c cells about their centres. Its bend is above -1, so populations at
        the ends of the range vary most, see :meth:`exact_variance`.
        """
        bend = (1 - self.slope) / self.slope
        return self._middle + bend * (at - Fraction(1, 2)) ** 2

    @cached_property
    def _reach(self) -> Fraction:
        return self.slope * (self.k - 1)

    @cached_property
    def _middle(self) -> Fraction:
        w, c = self.shape.width, self.width_of_band
        squares = self.b * w * (w**2 - 1) + self.slope * (c**2 - 1)
        return squares / (12 * self._reach**2)
