"""Unary encodings: one independent coin for each symbol, in one round or two.

The permanent bit of the true symbol is set with probability p1, every other with q1. A second
round sets a bit again with p2 if it was set and with q2 = 1 - p2 if not, so one report's bits
are set with p_s = p1 p2 + (1-p1) q2 and q_s = q1 p2 + (1-q1) q2. Subclasses only choose p1, q1
and p2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from ..draws import Draws
from ..exact import SCALE
from ..response import Response, Shape
from .base import Law, Rounds, binary_entropy
from .oracle import FrequencyOracle
from .popcounts import honest_popcounts


@dataclass(frozen=True)
class Unary(FrequencyOracle):
    """k bits, each perturbed on its own.

    Attributes
    ----------
    true_bit, other_bit : int
        Thresholds of p1 and q1.
    bit_again : int or None
        Threshold of p2; q2's is 2^64 minus it. None without a second round.
    """

    two_rounds: ClassVar[bool] = True

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    true_bit: int
    other_bit: int
    bit_again: int | None

    @property
    def shape(self) -> Shape:
        """k bits."""
        return Shape("bits", self.k)

    @cached_property
    def popcounts(self) -> range:
        """One bit is the true symbol's."""
        return honest_popcounts(self.k, [1], self.p, self.q)

    @property
    def mean_popcount(self) -> Fraction:
        """``p + (k-1) q``."""
        return self.p + (self.k - 1) * self.q

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``true_bit``, ``other_bit`` and, with a second round, ``bit_again``."""
        named = {"true_bit": self.true_bit, "other_bit": self.other_bit}
        if self.bit_again is not None:
            named["bit_again"] = self.bit_again
        return named

    @cached_property
    def first(self) -> tuple[Fraction, Fraction]:
        """(p1, q1)."""
        return Fraction(self.true_bit, SCALE), Fraction(self.other_bit, SCALE)

    @cached_property
    def second(self) -> tuple[Fraction, Fraction] | None:
        """(p2, q2)."""
        if self.bit_again is None:
            return None
        p2 = Fraction(self.bit_again, SCALE)
        return p2, 1 - p2

    @cached_property
    def p(self) -> Fraction:
        """p1, or p_s."""
        return self._report(self.first[0])

    @cached_property
    def q(self) -> Fraction:
        """q1, or q_s."""
        return self._report(self.first[1])

    def _report(self, permanent: Fraction) -> Fraction:
        if self.second is None:
            return permanent
        p2, q2 = self.second
        return permanent * p2 + (1 - permanent) * q2

    @property
    def chains(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Two: the bit of the one value, and the absent bit of the other."""
        p1, q1 = self.first
        return ((p1, q1), (1 - q1, 1 - p1))

    @property
    def flips(self) -> int:
        """Two remembered vectors can differ in every bit."""
        return self.k

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """Both bits speak for the one value, or for the other; else they cancel."""
        p1, q1 = self.first
        return p1 * (1 - q1), q1 * (1 - p1)

    @property
    def joint(self) -> tuple[Fraction, Fraction]:
        """Bits are independent: p q, and q^2."""
        return self.p * self.q, self.q**2

    @property
    def fingerprint_bits(self) -> float:
        """k times the entropy of one permanent bit: joint entropy is at most the sum."""
        p1, q1 = self.first
        return self.k * binary_entropy(float(q1 + (p1 - q1) / self.k))

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Draw every bit, symbol 0 first."""
        value = int(memo)
        mask = 0
        for symbol in range(self.k):
            if keyed.chance(self.true_bit if symbol == value else self.other_bit):
                mask |= 1 << symbol
        return Response(mask)

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Draw every bit again from the remembered one, for this report only."""
        if self.bit_again is None:
            return permanent
        mask = 0
        for symbol in range(self.k):
            remembered = permanent.out >> symbol & 1
            if fresh.chance(self.bit_again if remembered else SCALE - self.bit_again):
                mask |= 1 << symbol
        return Response(mask)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """All 2^k products of independent bits."""
        value = int(memo)
        hit, miss = self.first if rounds == 1 else (self.p, self.q)
        law = {Response(0): Fraction(1)}
        for symbol in range(self.k):
            one = hit if symbol == value else miss
            law = {
                Response(response.out | bit << symbol): mass * (one if bit else 1 - one)
                for response, mass in law.items()
                for bit in (0, 1)
            }
        return law

    def supports(self, value: int, response: Response) -> bool:
        """A set bit supports its symbol."""
        return bool(response.out >> value & 1)
