"""RAPPOR: Bloom filters in cohorts, perturbed bit by bit, in one round or two.

A device belongs to a cohort for ever, public and drawn from its secret alone. In it each symbol
has a Bloom filter, h of m bits; filters of two symbols differ in at most 2h of them. The
permanent response keeps each bit of the filter with probability p1 and turns it over with
q1 = 1 - p1, where ``eps_inf = 2h ln(p1/q1)``: p1 = r/(r+1), r = e^{eps_inf/2h}. A second round
keeps each permanent bit with p2, for this report only. So a bit of a report is set with

``p = p1 p2 + q1 q2`` if the filter has it, ``q = 1 - p`` if not, and ``eps_1 = 2h ln(p/q)``:
``p2 = (r s - 1) / ((r - 1)(s + 1))`` with s = e^{eps_1/2h}.

The paper's letters are others: its f is 2 q1, rounded up here; its q is p2, rounded down, and its
p is q2 = 1 - p2, rounded up; its q* and p* are p and q. What is remembered is the filter, so
symbols that share one share the response too, and nothing tells them apart in that cohort.

Least squares over all cohorts' bits recover the frequencies. The variance here is that of ideal
hashing, as if every report met filters drawn anew, and grows as the m C bits of C cohorts get few
for k symbols; the analysis states errors for the filters there are.

What must never change: the filters (:mod:`.bloom`), the sizes that are chosen where the author asks
for none (:mod:`.cohorts`), and the order in which bits are drawn.

References
----------
Erlingsson, Pihur, Korolova. RAPPOR: randomized aggregatable privacy-preserving ordinal
response. CCS 2014.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

from ..draws import Draws
from ..exact import SCALE
from ..response import Response, Shape
from .base import (
    NO_OPTIONS,
    Asks,
    Law,
    Options,
    Rounds,
    binary_entropy,
    require_epsilons,
    require_k,
)
from .bloom import bloom_filter
from .cohorts import MOST_BITS, MOST_COHORTS, sizes
from .popcounts import honest_popcounts
from .symmetric import KeptBits, keep_thresholds, kept, perturb, perturbed


@dataclass(frozen=True)
class Rappor(KeptBits):
    """The Bloom filter of a symbol in the device's cohort, each bit perturbed on its own.

    Attributes
    ----------
    bits : int
        Width m of a filter.
    hashes : int
        Bits h that a filter has set.
    cohorts : int
        Public variants C of the filters.
    keep : int
        Threshold of p1, rounded down.
    keep_again : int or None
        Threshold of p2, rounded down; None without a second round.
    """

    name: ClassVar[str] = "rappor"
    asks: ClassVar[Asks] = "choice"
    decoder: ClassVar[str] = "bloom"
    automatic: ClassVar[bool] = False
    options: ClassVar[Mapping[str, range]] = MappingProxyType(
        {
            "bits": range(2, MOST_BITS + 1),
            "hashes": range(1, 9),
            "cohorts": range(1, MOST_COHORTS + 1),
        }
    )

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    bits: int
    hashes: int
    cohorts: int
    keep: int
    keep_again: int | None

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> Rappor:
        """Choose the options left out, and compute the thresholds of p1 and p2.

        One hash has the least variance at any epsilon: the noise of h is 1/(4h sinh^2(eps/4h)),
        which grows with h.
        """
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        hashes = options.get("hashes", 1)
        keep, keep_again = keep_thresholds(2 * hashes, epsilon, epsilon_first)
        noise = _bit_noise(kept(keep, keep_again)) / hashes
        bits, cohorts = sizes(k, hashes, noise, options.get("bits"), options.get("cohorts"))
        return cls(k, epsilon, epsilon_first, bits, hashes, cohorts, keep, keep_again)

    @property
    def shape(self) -> Shape:
        """The bits of a filter, a row for each cohort."""
        return Shape("bits", self.bits, self.cohorts)

    @cached_property
    def popcounts(self) -> range:
        """h bits are the filter's."""
        return honest_popcounts(self.bits, [self.hashes], self.p, self.q)

    @property
    def mean_popcount(self) -> Fraction:
        """``h p + (m-h) q``."""
        return self.hashes * self.p + (self.bits - self.hashes) * self.q

    @property
    def chains(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The h bits of either filter, where the two have none in common."""
        return (self.first,) * (2 * self.hashes)

    @property
    def flips(self) -> int:
        """Two remembered vectors can differ in every bit."""
        return self.bits

    @property
    def losses(self) -> tuple[Fraction, Fraction] | None:
        """With one hash, both bits speak for the one symbol, or for the other; or they cancel."""
        p1, q1 = self.first
        return (p1**2, q1**2) if self.hashes == 1 else None

    @property
    def merges(self) -> bool:
        """Symbols with the same filter."""
        return True

    @property
    def fingerprint_bits(self) -> float:
        """The cohort; and m bits' entropies, or the symbol's and that of the noise in them.

        Bits are set with q1 + (p1-q1) h/m on average over bits and cohorts, and entropy is
        concave.
        """
        p1, q1 = map(float, self.first)
        shown = self.bits * binary_entropy(q1 + (p1 - q1) * self.hashes / self.bits)
        caused = math.log2(self.k) + self.bits * binary_entropy(q1)
        return math.log2(self.cohorts) + min(shown, caused)

    def assign(self, keyed: Draws) -> int:
        """Draw the cohort."""
        return keyed.below(self.cohorts)

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the Bloom filter, its lowest byte first."""
        mask = bloom_filter(setup, symbol, self.bits, self.hashes)
        return mask.to_bytes(self.shape.size, "little")

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Keep or turn over every bit of the filter, bit 0 first."""
        return Response(perturb(int.from_bytes(memo, "little"), self.bits, self.keep, keyed), setup)

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Keep or turn over every remembered bit, for this report only."""
        if self.keep_again is None:
            return permanent
        return Response(perturb(permanent.out, self.bits, self.keep_again, fresh), permanent.row)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """All 2^m products of independent bits: so many kept, the others turned over."""
        mask = int.from_bytes(memo, "little")
        p = self.first[0] if rounds == 1 else self.p
        return {Response(out, setup): mass for out, mass in perturbed(mask, self.bits, p).items()}

    def exact_variance(self, at: Fraction, *, sampled: bool) -> Fraction:
        """Return n times the variance of a frequency f under ideal hashing: approximate.

        ``(noise (1-2d+dk) / (h (1-d)(1-d+dk)) + (1-f) other + f own) / (1 - (k-1)/(C(m-1)))``,
        and ``f(1-f)`` more if sampled.

        noise = p q/(p-q)^2 is that of one bit, and d = h/m the share of bits set in a filter.
        Collisions with another's filter add other = ((1-a)^2 + (k-2) a^2) / (m-1) for each
        report of another symbol and own = (k-1) a^2 / (m-1) for one of its own, where
        a = d/(1-d+dk) is what the estimated sum of all frequencies takes off each; less where
        the others are few. The divisor is what least squares of k unknowns on C(m-1) free
        equations leave.
        """
        d = Fraction(self.hashes, self.bits)
        noise = _bit_noise(self.p) * (1 - 2 * d + d * self.k)
        noise /= self.hashes * (1 - d) * (1 - d + d * self.k)
        other, own = self._collisions
        room = 1 - Fraction(self.k - 1, self.cohorts * (self.bits - 1))
        variance = (noise + (1 - at) * other + at * own) / room
        return variance + at * (1 - at) if sampled else variance

    @property
    def _collisions(self) -> tuple[Fraction, Fraction]:
        d = Fraction(self.hashes, self.bits)
        a = d / (1 - d + d * self.k)
        other = ((1 - a) ** 2 + (self.k - 2) * a**2) / (self.bits - 1)
        return other, (self.k - 1) * a**2 / (self.bits - 1)

    def worst(self, *, sampled: bool) -> Fraction:
        """Return 0, or the top of the parabola: own collisions are fewer than the others'."""
        if not sampled:
            return Fraction(0)
        other, own = self._collisions
        room = 1 - Fraction(self.k - 1, self.cohorts * (self.bits - 1))
        return max((1 - (other - own) / room) / 2, Fraction(0))

    @property
    def leverage(self) -> Fraction:
        """``1 / (p-q)``: the h bits of a filter all set, and no other bit, of many symbols."""
        return 1 / (self.p - self.q)


def _bit_noise(p: Fraction) -> Fraction:
    """Return the variance of one debiased bit, ``p(1-p) / (2p-1)^2``; huge if it says nothing."""
    return p * (1 - p) / (2 * p - 1) ** 2 if 2 * p > 1 else Fraction(SCALE)
