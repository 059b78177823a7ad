"""Optimised local hashing, and LOLOHA, its two-round form: randomized response on a hash bucket.

A device hashes its symbol to one of g buckets by a public row of its own, and perturbs the bucket
as :mod:`.grr` does, in one round or two. A report (row, y) supports every symbol in bucket y.

Rows are linear maps over GF(g): a symbol is written in m base-g digits, m the least with
g^m >= k, and row a puts v into bucket <a, v>. Scaling a relabels the buckets and no more, so one
row for each direction is enough: R = (g^m - 1)/(g - 1) of them, and any two symbols collide in
exactly (g^{m-1} - 1)/(g - 1) of them. So

``coll = (g^{m-1} - 1) / (g^m - 1)``,  a little less than 1/g,
``p = p_s``,  ``q = p_s coll + q_s (1 - coll) = (g^{m-1} - p_s) / (g^m - 1)``,

where p_s and q_s are those of GRR over g symbols, and q is q_s itself if one row is enough. What
is remembered is the bucket, so a device has at most g permanent responses, whatever it answers.

The g of least variance depends on all of that: it is found by trying each prime power. What must
never change: this choice (:mod:`.hash_ranges`), the numbering of rows and digits, and the field
(:mod:`.galois`).

References
----------
Wang, Blocki, Li, Jha. Locally differentially private protocols for frequency estimation.
USENIX Security 2017.
Arcolezi, Pinzón, Palamidessi, Gambs. Frequency estimation of evolving data under local
differential privacy. EDBT 2023 (LOLOHA; here with the exact second round of :mod:`.grr`).
Carter, Wegman. Universal classes of hash functions. 1979.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

from ..draws import Draws
from ..limits import MAX_K
from ..response import Response, Shape
from .base import NO_OPTIONS, Law, Options, Rounds, require_epsilons, require_k
from .galois import field
from .grr import GRR
from .hash_ranges import digit_count, hash_ranges, require_hash_range, row_count
from .oracle import FrequencyOracle


@dataclass(frozen=True)
class OLH(FrequencyOracle):
    """Hash the symbol by the device's row, then perturb its bucket.

    Attributes
    ----------
    buckets : GRR
        Over g buckets, with both thresholds.
    """

    name: ClassVar[str] = "olh"
    decoder: ClassVar[str] = "hash"
    two_rounds: ClassVar[bool] = True
    options: ClassVar[Mapping[str, range]] = MappingProxyType({"g": range(2, MAX_K + 1)})

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    buckets: GRR

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> OLH:
        """Compute the thresholds of p1 and p2 over g buckets.

        Without the option, g is the prime power of least variance, at a frequency of 1/k in a
        fixed population, among those whose tallies are small enough; the least of several.
        """
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        if "g" in options:
            require_hash_range(options["g"], k)
        ranges = [options["g"]] if "g" in options else hash_ranges(k)
        every = [GRR.resolve(g, epsilon, epsilon_first) for g in ranges]
        made = [cls(k, epsilon, epsilon_first, buckets) for buckets in every]
        return min((olh for olh in made if olh.tells), key=cls._noise, default=made[0])

    @classmethod
    def settings(cls, k: int) -> Iterable[Options]:
        """Return every g: fewer rows may do."""
        return ({"g": g} for g in hash_ranges(k))

    def _noise(self) -> Fraction:
        return self.exact_variance(Fraction(1, self.k), sampled=False)

    @property
    def g(self) -> int:
        """How many buckets a row has."""
        return self.buckets.k

    @cached_property
    def digits(self) -> int:
        """m, how many base-g digits a symbol has."""
        return digit_count(self.k, self.g)

    @cached_property
    def rows(self) -> int:
        """R, how many rows there are."""
        return row_count(self.digits, self.g)

    @property
    def shape(self) -> Shape:
        """One of g buckets, in a row."""
        return Shape("symbol", self.g, self.rows)

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``keep`` and, with a second round, ``keep_again``."""
        return self.buckets.thresholds

    @property
    def first(self) -> tuple[Fraction, Fraction]:
        """(p1, q1) of a bucket."""
        return self.buckets.first

    @property
    def second(self) -> tuple[Fraction, Fraction] | None:
        """(p2, q2) of a bucket."""
        return self.buckets.second

    @cached_property
    def collisions(self) -> Fraction:
        """P(a row puts two given symbols into one bucket)."""
        return Fraction(self.rows // self.g, self.rows)

    @property
    def p(self) -> Fraction:
        """p_s: the true value is always in its bucket."""
        return self.buckets.p

    @cached_property
    def q(self) -> Fraction:
        """``p_s coll + q_s (1 - coll)``."""
        return self.buckets.p * self.collisions + self.buckets.q * (1 - self.collisions)

    @property
    def joint(self) -> tuple[Fraction, Fraction] | None:
        """Never two at once in a single row; else it depends on the values."""
        return self.buckets.joint if self.rows == 1 else None

    @property
    def chains(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """One: the remembered bucket is the value's or it is not."""
        return self.buckets.chains

    @property
    def flips(self) -> int:
        """One remembered bucket against another."""
        return 1

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """Those of the bucket, in a row where two values do not collide."""
        return self.first

    @property
    def classes(self) -> int:
        """g buckets, or fewer symbols."""
        return min(self.g, self.k)

    @property
    def merges(self) -> bool:
        """Several symbols in a bucket, unless one row is enough."""
        return self.rows > 1

    @property
    def fingerprint_bits(self) -> float:
        """log2(R g): the row, and a bucket."""
        return math.log2(self.rows * self.g)

    def assign(self, keyed: Draws) -> int:
        """Draw the row."""
        return keyed.below(self.rows)

    def bucket(self, row: int, symbol: int) -> int:
        """Return <a, symbol>, where a is the row-th number whose leading base-g digit is 1.

        Both are vectors of their digits; row 0 is the last digit of the symbol.
        """
        lead = 1
        while row >= lead:
            row -= lead
            lead *= self.g
        return field(self.g).dot(self._vector(lead + row), self._vector(symbol))

    def _vector(self, number: int) -> list[int]:
        """Return the m base-g digits of a number, the last one first."""
        digits = []
        for _ in range(self.digits):
            number, digit = divmod(number, self.g)
            digits.append(digit)
        return digits

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the bucket, all that is ever remembered of a symbol."""
        return str(self.bucket(setup, symbol)).encode()

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Keep the bucket or move to a uniform other."""
        return Response(self.buckets.permanent(0, memo, keyed).out, setup)

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Perturb the remembered bucket once more, for this report only."""
        return Response(self.buckets.instant(permanent, fresh).out, permanent.row)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """Two probabilities: the value's bucket, and every other."""
        law = self.buckets.law(0, memo, rounds)
        return {Response(bucket.out, setup): mass for bucket, mass in law.items()}

    def supports(self, value: int, response: Response) -> bool:
        """A bucket supports every symbol in it."""
        return self.bucket(response.row, value) == response.out
