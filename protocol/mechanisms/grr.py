"""Generalised randomized response (k-RR), and L-GRR, its two-round form.

Permanent: the true symbol with probability p1 = E/(E+k-1), any other with q1 = (1-p1)/(k-1).
For k = 2 this is Warner's randomized response (1965). The second round is the same with
e^eps_2 = (e^eps_1 (e^eps_inf + k-2) - (k-1)) / (e^eps_inf - e^eps_1), the exact solution of
p_s/q_s = e^eps_1; the published L-GRR drops k-2 of the paths and wastes most of the accuracy.

References
----------
Warner. Randomized response: a survey technique for eliminating evasive answer bias. 1965.
Kairouz, Bonawitz, Ramage. Discrete distribution estimation under local privacy. ICML 2016.
Arcolezi et al. Improving the utility of locally differentially private protocols for
longitudinal and multidimensional frequency estimates. 2022 (the form corrected here).
"""

from __future__ import annotations

import math
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
class GRR(FrequencyOracle):
    """Keep the symbol with probability ``keep`` / 2^64, else a uniform other one; twice if asked.

    Attributes
    ----------
    keep : int
        Threshold of p1, rounded down.
    keep_again : int or None
        Threshold of p2, rounded down; None without a second round.
    """

    name: ClassVar[str] = "grr"
    two_rounds: ClassVar[bool] = True

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    keep: int
    keep_again: int | None

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> GRR:
        """Compute the thresholds of p1 and p2."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        return cls(k, epsilon, epsilon_first, *keep_thresholds(k, epsilon, epsilon_first))

    @property
    def shape(self) -> Shape:
        """One of k symbols."""
        return Shape("symbol", self.k)

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``keep`` and, with a second round, ``keep_again``."""
        named = {"keep": self.keep}
        if self.keep_again is not None:
            named["keep_again"] = self.keep_again
        return named

    @cached_property
    def first(self) -> tuple[Fraction, Fraction]:
        """(p1, q1)."""
        return keep_or_move(self.keep, self.k)

    @cached_property
    def second(self) -> tuple[Fraction, Fraction] | None:
        """(p2, q2)."""
        return None if self.keep_again is None else keep_or_move(self.keep_again, self.k)

    @cached_property
    def p(self) -> Fraction:
        """p1, or p1 p2 + (k-1) q1 q2."""
        (p1, q1), second = self.first, self.second
        if second is None:
            return p1
        p2, q2 = second
        return p1 * p2 + (self.k - 1) * q1 * q2

    @cached_property
    def q(self) -> Fraction:
        """q1, or p1 q2 + q1 p2 + (k-2) q1 q2."""
        return (1 - self.p) / (self.k - 1)

    @property
    def chains(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """One: the remembered symbol is the value's or it is not."""
        return (self.first,)

    @property
    def flips(self) -> int:
        """One remembered symbol against another."""
        return 1

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """The one symbol, or the other; any third says nothing about the two."""
        return self.first

    @property
    def joint(self) -> tuple[Fraction, Fraction]:
        """A symbol supports one value only."""
        return Fraction(0), Fraction(0)

    @property
    def fingerprint_bits(self) -> float:
        """log2 k: a uniform value gives a uniform symbol."""
        return math.log2(self.k)

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Keep the symbol or move to a uniform other."""
        return Response(perturb(int(memo), self.keep, self.k, keyed))

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Perturb the remembered symbol once more, for this report only."""
        if self.keep_again is None:
            return permanent
        return Response(perturb(permanent.out, self.keep_again, self.k, fresh))

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """Two probabilities: the value's symbol, and every other."""
        value = int(memo)
        hit, miss = self.first if rounds == 1 else (self.p, self.q)
        return {Response(y): hit if y == value else miss for y in range(self.k)}

    def supports(self, value: int, response: Response) -> bool:
        """A symbol supports itself."""
        return response.out == value


def keep_thresholds(
    k: int, epsilon: Decimal, epsilon_first: Decimal | None
) -> tuple[int, int | None]:
    """Return the thresholds of p1 and p2, rounded down; the second is None without a second."""
    e = exp(epsilon)
    keep = floor_threshold(e / (e + (k - 1)))
    if epsilon_first is None:
        return keep, None
    one = exp(epsilon_first)
    e2 = (one * (e + (k - 2)) - (k - 1)) / (e - one)
    return keep, floor_threshold(e2 / (e2 + (k - 1)))


def keep_or_move(threshold: int, k: int) -> tuple[Fraction, Fraction]:
    """Return the probabilities of a symbol and of each other one."""
    p = Fraction(threshold, SCALE)
    return p, (1 - p) / (k - 1)


def perturb(symbol: int, threshold: int, k: int, draws: Draws) -> int:
    """Keep a symbol, or move to a uniform other."""
    if draws.chance(threshold):
        return symbol
    other = draws.below(k - 1)
    return other + (other >= symbol)
