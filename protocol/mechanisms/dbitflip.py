"""dBitFlipPM: a device is asked about d of the k values only, and remembers which of them it has.

A device's row r, public and drawn from its secret alone, is uniform on 0..k-1 and stays; its d
bits are about the values r, r+1, ..., r+d-1 modulo k, so a share c = d/k of the devices covers
each value. (With d = k there is one row.) The bit of the device's own value is set, if it is
among the d; each bit is then perturbed on its own, as :mod:`.symmetric` has it. Two values differ
in two bits at most, in one if d = 1: ``p1 = √E/(√E+1)``, or ``E/(E+1)``.

What is remembered is the place of the value among the d, or that it has none: at most
min(d+1, k) permanent responses over a lifetime, however the value changes.

``f = (C/m - q) / (p - q)`` over the m reports that cover a value, about n d/k; p and q are of a
bit that is asked about. What must never change: which values a row is about, and the memo keys.

References
----------
Ding, Kulkarni, Yekhanin. Collecting telemetry data privately. NeurIPS 2017 (subsets there are
uniform; windows cover each value as often, and their tallies have k(d+1) cells).
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
from ..errors import ParameterError
from ..limits import MAX_CELLS, MAX_K
from ..response import Response, Shape
from .base import (
    NO_OPTIONS,
    Law,
    Options,
    Rounds,
    binary_entropy,
    require_epsilons,
    require_k,
)
from .oracle import FrequencyOracle
from .popcounts import honest_popcounts
from .symmetric import KeptBits, keep_thresholds, perturb, perturbed


@dataclass(frozen=True)
class DBitFlip(KeptBits, FrequencyOracle):
    """d bits about d values next to each other, each kept or turned over; twice if asked.

    Attributes
    ----------
    bits : int
        Values d that a device is asked about.
    keep : int
        Threshold of p1, rounded down.
    keep_again : int or None
        Threshold of p2, rounded down; None without a second round.
    """

    name: ClassVar[str] = "dbitflip"
    decoder: ClassVar[str] = "window"
    options: ClassVar[Mapping[str, range]] = MappingProxyType({"bits": range(1, MAX_K + 1)})

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    bits: int
    keep: int
    keep_again: int | None

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> DBitFlip:
        """Compute the thresholds of p1 and p2; one bit unless the author asks for more."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        bits = options.get("bits", 1)
        if bits > k:
            raise ParameterError(f"bits must be at most the {k} values there are: {bits}")
        differ = min(bits, 2)
        made = cls(
            k, epsilon, epsilon_first, bits, *keep_thresholds(differ, epsilon, epsilon_first)
        )
        if made.shape.cells > MAX_CELLS:
            most = MAX_CELLS // k - 1
            raise ParameterError(
                f"bits must be at most {most}, or {k} for all, for k x (bits + 1) cells to fit "
                f"into a tally of {MAX_CELLS}: {bits}"
            )
        return made

    @property
    def shape(self) -> Shape:
        """d bits, a row for each value they begin at."""
        return Shape("bits", self.bits, 1 if self.bits == self.k else self.k)

    @cached_property
    def popcounts(self) -> range:
        """One bit is the value's own, or none if the device is not asked about it."""
        ones = [1] if self.bits == self.k else [0, 1]
        return honest_popcounts(self.bits, ones, self.p, self.q)

    @property
    def mean_popcount(self) -> Fraction:
        """``d q + (p-q) d/k``: so many devices are asked about their own value."""
        return self.bits * self.q + (self.p - self.q) * self.coverage

    @property
    def coverage(self) -> Fraction:
        """d/k."""
        return Fraction(self.bits, self.k)

    @property
    def joint(self) -> tuple[Fraction, Fraction] | None:
        """p q and q^2 if every device is asked about all values; else it depends on which."""
        return (self.p * self.q, self.q**2) if self.bits == self.k else None

    @property
    def chains(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The bit of the one value, and the absent bit of the other if it is asked about."""
        return (self.first,) * min(self.bits, 2)

    @property
    def flips(self) -> int:
        """Two remembered vectors can differ in every bit."""
        return self.bits

    @property
    def losses(self) -> tuple[Fraction, Fraction] | None:
        """One bit by itself, or two where all values have one; else odds of √E occur.

        They are those of the row that tells most: it stays, so no average over rows would hold
        for several reports.
        """
        p1, q1 = self.first
        if self.bits == 1:
            return p1, q1
        return (p1**2, q1**2) if self.bits == self.k else None

    @property
    def classes(self) -> int:
        """The d places and none; or k places."""
        return min(self.bits + 1, self.k)

    @property
    def merges(self) -> bool:
        """Values that the device is not asked about, if there are two of them."""
        return self.bits < self.k - 1

    @property
    def fingerprint_bits(self) -> float:
        """The row's entropy, and at most that of d bits, each set for one value in k."""
        p1, q1 = map(float, self.first)
        return math.log2(self.shape.rows) + self.bits * binary_entropy(q1 + (p1 - q1) / self.k)

    def assign(self, keyed: Draws) -> int:
        """Draw the row."""
        return keyed.below(self.shape.rows)

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the place of the value among the d, or d if it is none of them."""
        return str(min(self._place(symbol, setup), self.bits)).encode()

    def _place(self, value: int, row: int) -> int:
        """Return which bit of a row is about a value; ``bits`` or more if none is."""
        return (value - row) % self.k

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Keep or turn over every bit, the first value's first."""
        return Response(perturb(self._mask(memo), self.bits, self.keep, keyed), setup)

    def _mask(self, memo: bytes) -> int:
        """Return the bits before any noise."""
        place = int(memo)
        return 1 << place if place < self.bits else 0

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Keep or turn over every remembered bit, for this report only."""
        if self.keep_again is None:
            return permanent
        out = perturb(permanent.out, self.bits, self.keep_again, fresh)
        return Response(out, permanent.row)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """All 2^d products of independent bits."""
        p = self.first[0] if rounds == 1 else self.p
        law = perturbed(self._mask(memo), self.bits, p)
        return {Response(out, setup): mass for out, mass in law.items()}

    def covers(self, value: int, response: Response) -> bool:
        """A response says something about the d values of its row."""
        return self._place(value, response.row) < self.bits

    def supports(self, value: int, response: Response) -> bool:
        """A set bit supports the value it is about."""
        return bool(response.out >> self._place(value, response.row) & 1)
