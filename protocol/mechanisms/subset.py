"""Subset selection: the device names w of the k symbols, the true one more often than chance.

The true symbol is in the set with probability p = wE/(wE+k-w); the rest of it is uniform among
the other k-1 symbols, so any other symbol is in it with q = (w-p)/(k-1). With w = 1 this is GRR.
The variance is least near w = k/(E+1), and there no mechanism of one round has less; rounding w
the wrong way costs up to 15 %, so both neighbours are tried.

What must never change: the order of the draws, and which w is chosen where the author asks for
none, for it decides the threshold and the shape.

References
----------
Ye, Barg. Optimal schemes for discrete distribution estimation under locally differential
privacy. IEEE Transactions on Information Theory, 2018.
Wang et al. Mutual information optimally local private discrete distribution estimation. 2016.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import ClassVar

from ..draws import Draws
from ..errors import ParameterError
from ..exact import SCALE, Enclosure, exp, floor_threshold
from ..limits import MAX_K
from ..response import Response, Shape
from .base import NO_OPTIONS, Law, Options, Rounds, require_epsilons, require_k
from .oracle import FrequencyOracle


@dataclass(frozen=True)
class SubsetSelection(FrequencyOracle):
    """A set of exactly ``weight`` symbols.

    Attributes
    ----------
    weight : int
        Size w of the set.
    inside : int
        Threshold of p, rounded down.
    """

    name: ClassVar[str] = "ss"
    two_rounds: ClassVar[bool] = False
    options: ClassVar[Mapping[str, range]] = MappingProxyType({"weight": range(1, MAX_K)})

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    weight: int
    inside: int

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> SubsetSelection:
        """Choose the weight of least variance for a frequency of 1/k, and compute p."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        e = exp(epsilon)
        near = math.floor(k / (e.high + 1))
        asked = options.get("weight")
        weights = [w for w in (near, near + 1) if 1 <= w < k] if asked is None else [asked]
        if max(weights) >= k:
            raise ParameterError(f"weight must be less than the {k} values there are: {asked}")
        made = [cls(k, epsilon, None, w, _inside(k, w, e)) for w in weights]
        telling = [one for one in made if one.tells]
        if not telling:
            return made[0]
        return min(telling, key=lambda one: one.exact_variance(Fraction(1, k), sampled=False))

    @property
    def shape(self) -> Shape:
        """k bits of which ``weight`` are set."""
        return Shape("bits", self.k, weight=self.weight)

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``inside``."""
        return {"inside": self.inside}

    @cached_property
    def p(self) -> Fraction:
        """P(the true symbol is in the set)."""
        return Fraction(self.inside, SCALE)

    @cached_property
    def q(self) -> Fraction:
        """``(w-p) / (k-1)``: all symbols are in the set w times together."""
        return (self.weight - self.p) / (self.k - 1)

    @property
    def joint(self) -> tuple[Fraction, Fraction]:
        """``p (w-1)/(k-1)``, and ``(w-1)(w-2p) / ((k-1)(k-2))``."""
        w, k = self.weight, self.k
        one = self.p * Fraction(w - 1, k - 1)
        if k == 2:
            return one, Fraction(0)
        return one, (w - 1) * (w - 2 * self.p) / ((k - 1) * (k - 2))

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """The set has the one value and not the other; or the other; else it is as likely."""
        w, k = self.weight, self.k
        return self.p * Fraction(k - w, k - 1), (1 - self.p) * Fraction(w, k - 1)

    @property
    def fingerprint_bits(self) -> float:
        """``log2 C(k, w)``: a uniform value gives a uniform set."""
        return math.log2(math.comb(self.k, self.weight))

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Decide on the true symbol, then draw the others (Floyd's algorithm).

        Floyd: for j = n-m .. n-1 draw t uniform on 0..j and take it, or j if t is taken; every
        m of n numbers are as likely.
        """
        value, others = int(memo), self.k - 1
        true = keyed.chance(self.inside)
        taken: set[int] = set()
        for last in range(others - self.weight + true, others):
            drawn = keyed.below(last + 1)
            taken.add(last if drawn in taken else drawn)
        mask = int(true) << value
        for other in taken:
            mask |= 1 << other + (other >= value)
        return Response(mask)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """All C(k, w) sets: those with the true symbol are alike, and those without it."""
        value, w, k = int(memo), self.weight, self.k
        hit = self.p / math.comb(k - 1, w - 1)
        miss = (1 - self.p) / math.comb(k - 1, w)
        return {
            Response(sum(1 << symbol for symbol in named)): hit if value in named else miss
            for named in combinations(range(k), w)
        }

    def supports(self, value: int, response: Response) -> bool:
        """A set supports its symbols."""
        return bool(response.out >> value & 1)


def _inside(k: int, weight: int, e: Enclosure) -> int:
    """Return the threshold of ``wE / (wE + k - w)``, rounded down."""
    return floor_threshold(e * weight / (e * weight + (k - weight)))
