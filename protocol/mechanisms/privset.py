"""PrivSet: several values at once, as a set of values that more often meets the true one.

The answer is a set of at most ``items`` = m of the k values. It is filled up to exactly m with
dummies, of which there are m: of a set of s values, the dummies s, s+1, .., m-1. So every padded
set has m of d = k + m symbols, whatever its size, and the response, a set of exactly w = ``weight``
symbols, meets it or not: all those that meet it are as likely as each other, and so are all that do
not, and the former E times as likely as the latter:

``P(meet) = E M / (E M + N)``, M = C(d, w) - C(d-m, w), N = C(d-m, w).

One epsilon thus holds for the whole set. A symbol of the padded set is in the response with
``p = P(meet) C(d-1, w-1) / M``, another with ``q = P(meet) (C(d-1, w-1) - C(d-m-1, w-1)) / M +
(1 - P(meet)) C(d-m-1, w-1) / N``. The dummy i is in the padded set of all who have at most i
values, so its frequency is P(size <= i). With m = 1 this is subset selection with one value more.

Of a set with more than m values, the device takes m, a uniform subset drawn from its secret; a
silent one would tell that it has more. Its memo key is the whole set: permanent responses are as
many as there are sets.

The best w is near d/(m(E+1)). With w = 1, best where m or epsilon is large, it is padding and
sampling: one of the m symbols is drawn and sent through GRR, whose epsilon the sampling lets grow
to ``log(m(E-1) + 1)``. Before OUE, OLH or subset selection sampling lets it grow by nothing, for
one report of theirs may speak for all m symbols at once. Their variance is then m^2 times that of
a single choice, and was more than this one's at every m > 1, k and epsilon tried: at epsilon 1
five times as much for m = 5 of 100 values, and 15 times for m = 8 of 20.

What must never change: the order of the draws, and which w is chosen where the author asks for
none.

References
----------
Wang, Huang, Nie, Wang, Xu, Yang. PrivSet: set-valued data analyses with local differential privacy.
INFOCOM 2018.
Wang, Li, Jha. Locally differentially private frequent itemset mining. S&P 2018 (padding and
sampling).
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
from ..exact import SCALE, exp
from ..limits import MAX_K
from ..response import Response, Shape
from .base import NO_OPTIONS, Asks, Law, Options, Rounds, require_epsilons, require_k
from .masks import single_bits, uniform_subset
from .oracle import FrequencyOracle
from .set_weight import best_weight, chance_to_meet

MAX_ITEMS = 64


@dataclass(frozen=True)
class PrivSet(FrequencyOracle):
    """A set of exactly ``weight`` of the k values and m dummies; symbols are bit masks of values.

    Attributes
    ----------
    items : int
        The most values m of an answer.
    weight : int
        Size w of the response.
    meet : int
        Threshold of P(meet), rounded down.
    """

    name: ClassVar[str] = "privset"
    asks: ClassVar[Asks] = "set"
    two_rounds: ClassVar[bool] = False
    options: ClassVar[Mapping[str, range]] = MappingProxyType(
        {"items": range(1, MAX_ITEMS + 1), "weight": range(1, MAX_K + 1)}
    )
    given: ClassVar[frozenset[str]] = frozenset({"items"})

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    items: int
    weight: int
    meet: int

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> PrivSet:
        """Choose the weight of least variance for a frequency of m/d, and compute P(meet)."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        items = options["items"]
        if items > k:
            raise ParameterError(f"items must be at most the {k} values there are: {items}")
        asked = options.get("weight")
        if asked is not None and asked > k:
            raise ParameterError(f"weight must be at most the {k} values there are: {asked}")
        e = exp(epsilon)
        best = best_weight(k, items, e.low)
        made = cls(k, epsilon, None, items, best, chance_to_meet(k, items, best, e))
        if asked is None or not made.tells:
            return made
        made = cls(k, epsilon, None, items, asked, chance_to_meet(k, items, asked, e))
        if not made.tells:
            raise ParameterError(
                f"weight must be smaller: so many of {k} values meet nearly every set: {asked}"
            )
        return made

    @property
    def symbols(self) -> int:
        """d, values and dummies."""
        return self.k + self.items

    @property
    def shape(self) -> Shape:
        """A bit for each value, then one for each dummy; ``weight`` of them are set."""
        return Shape("bits", self.symbols, weight=self.weight)

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``meet``."""
        return {"meet": self.meet}

    @cached_property
    def _counts(self) -> tuple[int, int]:
        """(M, N): responses that meet a padded set, and that do not."""
        none = math.comb(self.k, self.weight)
        return math.comb(self.symbols, self.weight) - none, none

    @cached_property
    def _alike(self) -> tuple[Fraction, Fraction]:
        """(P(a response that meets the padded set), P(one that does not)), of each alike."""
        meets, misses = self._counts
        meet = Fraction(self.meet, SCALE)
        return meet / meets, (1 - meet) / misses

    def _all_named(self, named: int, inside: bool) -> Fraction:
        """P(so many given symbols are all in the response), if one is in the padded set or none."""
        if named > self.weight:
            return Fraction(0)
        hit, miss = self._alike
        all_ = math.comb(self.symbols - named, self.weight - named)
        missed = 0 if inside else math.comb(self.k - named, self.weight - named)
        return (all_ - missed) * hit + missed * miss

    @cached_property
    def p(self) -> Fraction:
        """``P(meet) C(d-1, w-1) / M``."""
        return self._all_named(1, inside=True)

    @cached_property
    def q(self) -> Fraction:
        """``P(meet) (C(d-1, w-1) - C(k-1, w-1)) / M + (1 - P(meet)) C(k-1, w-1) / N``."""
        return self._all_named(1, inside=False)

    @cached_property
    def joint(self) -> tuple[Fraction, Fraction]:
        """P(two symbols are in the response), if the padded set has one or both, and if neither.

        As p and q, with C(d-2, w-2) and C(k-2, w-2).
        """
        return self._all_named(2, inside=True), self._all_named(2, inside=False)

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """``(P(meet)/M, (1 - P(meet))/N)``, each times N - C(k-m, w).

        So many responses meet one padded set and miss another that has no symbol in common with
        it, as the empty set and one of m values have none; of others it is fewer. A set of more
        than m values mixes such laws and tells less.
        """
        apart = self._counts[1] - math.comb(self.k - self.items, self.weight)
        hit, miss = self._alike
        return apart * hit, apart * miss

    @property
    def classes(self) -> None:
        """As many as there are sets."""
        return None

    @property
    def fingerprint_bits(self) -> float:
        """At most ``log2 C(d, w)``."""
        return math.log2(math.comb(self.symbols, self.weight))

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the whole set, also if it is too large."""
        return b"%x" % symbol

    def padded(self, mask: int) -> int:
        """Return a set of at most m values with its dummies."""
        size = mask.bit_count()
        dummies = (1 << self.items) - (1 << size)
        return mask | dummies << self.k

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Draw m of the values if there are more; whether to meet; in how many; in which."""
        mask = int(memo, 16)
        if mask.bit_count() > self.items:
            mask = uniform_subset(single_bits(mask), self.items, keyed)
        inside = self.padded(mask)
        outside = single_bits(inside ^ ((1 << self.symbols) - 1))
        if not keyed.chance(self.meet):
            return Response(uniform_subset(outside, self.weight, keyed))
        common = self._common(keyed)
        met = uniform_subset(single_bits(inside), common, keyed)
        return Response(met | uniform_subset(outside, self.weight - common, keyed))

    def _common(self, keyed: Draws) -> int:
        """Draw how many symbols a response has in common with a padded set that it meets."""
        drawn = keyed.below(self._counts[0])
        for common in range(1, self.items + 1):
            ways = math.comb(self.items, common) * math.comb(self.k, self.weight - common)
            if drawn < ways:
                return common
            drawn -= ways
        raise AssertionError("all ways were counted")

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """All C(d, w) sets: those that meet the padded set are alike, and those that do not."""
        mask = int(memo, 16)
        kept = [mask]
        if mask.bit_count() > self.items:
            kept = [sum(each) for each in combinations(single_bits(mask), self.items)]
        sets = [self.padded(each) for each in kept]
        hit, miss = self._alike
        law = {}
        for named in combinations([1 << at for at in range(self.symbols)], self.weight):
            out = sum(named)
            met = sum(bool(out & each) for each in sets)
            law[Response(out)] = (met * hit + (len(sets) - met) * miss) / len(sets)
        return law

    def supports(self, value: int, response: Response) -> bool:
        """A set supports its symbols: values 0..k-1, and dummies from k on."""
        return bool(response.out >> value & 1)
