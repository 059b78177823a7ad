"""Hadamard response in its high-privacy form: one symbol of K, decoded by a fast transform.

Rows and columns of the K x K Sylvester-Hadamard matrix are counted from 0, and its entry at (r, y)
is +1 if ``r & y`` has an even number of bits set, else -1. Symbol x has row x+1, for row 0 is
constant, so K is the least power of two above k. The output is uniform in the half of 0..K-1
where the row is +1 with probability p = E/(E+1), else uniform in the other half. Different rows
agree in exactly half of their places, so any other symbol is supported with q = 1/2, exactly.

``n Var = ((E+1)/(E-1))^2 - f``: never the least, but a report has log2 K bits however small
epsilon is. What must never change: which row a symbol has, and the order of the draws.

References
----------
Acharya, Sun, Zhang. Hadamard response: estimating distributions privately, efficiently, and
with little communication. AISTATS 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from ..draws import Draws
from ..exact import SCALE, exp, floor_threshold
from ..response import Response, Shape
from .base import NO_OPTIONS, Law, Options, Rounds, require_epsilons, require_k
from .oracle import FrequencyOracle


@dataclass(frozen=True)
class HadamardResponse(FrequencyOracle):
    """A column of the Hadamard matrix, more often one where the symbol's row is +1.

    A report's supports of two values are independent, except of two whose rows add up to the true
    one's, ``(v+1) ^ (w+1) == x+1``: both are supported with p/2 then and with 1/4 otherwise, so
    there is no one ``joint``.

    Attributes
    ----------
    plus : int
        Threshold of p, rounded down.
    """

    name: ClassVar[str] = "hr"
    decoder: ClassVar[str] = "hadamard"
    two_rounds: ClassVar[bool] = False

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    plus: int

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> HadamardResponse:
        """Compute the threshold of p."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        e = exp(epsilon)
        return cls(k, epsilon, None, floor_threshold(e / (e + 1)))

    @property
    def columns(self) -> int:
        """K, the least power of two above k."""
        return 1 << self.k.bit_length()

    @property
    def shape(self) -> Shape:
        """One of K columns."""
        return Shape("symbol", self.columns)

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``plus``."""
        return {"plus": self.plus}

    @cached_property
    def p(self) -> Fraction:
        """P(the column has +1 in the true symbol's row)."""
        return Fraction(self.plus, SCALE)

    @property
    def q(self) -> Fraction:
        """1/2: rows are orthogonal."""
        return Fraction(1, 2)

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """Half of the columns of either sign have the other sign in another value's row."""
        return self.p / 2, (1 - self.p) / 2

    @property
    def fingerprint_bits(self) -> float:
        """log2 K."""
        return float(self.columns.bit_length() - 1)

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Draw a sign, then any column; if it has the other sign, its neighbour along the row.

        Turning over a bit of the column that is set in the row turns its sign, and maps either
        half one to one to the other.
        """
        row = int(memo) + 1
        plus = keyed.chance(self.plus)
        column = keyed.below(self.columns)
        if _is_plus(row, column) != plus:
            column ^= row & -row
        return Response(column)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """Two probabilities, K/2 columns each."""
        row, half = int(memo) + 1, self.columns // 2
        hit, miss = self.p / half, (1 - self.p) / half
        return {Response(y): hit if _is_plus(row, y) else miss for y in range(self.columns)}

    def supports(self, value: int, response: Response) -> bool:
        """A column supports the symbols in whose rows it has +1."""
        return _is_plus(value + 1, response.out)


def _is_plus(row: int, column: int) -> bool:
    """Whether the matrix has +1 there."""
    return (row & column).bit_count() % 2 == 0
