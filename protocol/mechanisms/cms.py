"""Count mean sketch: the bucket of a text in the device's hash row, as perturbed bits.

A device belongs to one of ``rows`` hash rows for ever (:mod:`.rows`), public and drawn from its
secret alone. Its text has one of ``width`` buckets there; of the vector that has this bit set and
no other, each bit is kept or turned over on its own, as :mod:`.symmetric` has it. Two texts differ
in two bits at most, so ``p1 = √E/(√E+1)``. A report supports every text whose bucket has its bit
set: the true one with p, another one with ``p/width + q_s (1 - 1/width)``, q_s = 1 - p, on average
over all rows there could be.

What is remembered is the bucket. Domain size k here is the width. What must never change: the rows,
the sizes chosen where the author asks for none, and the order in which bits are drawn.

References
----------
Apple Differential Privacy Team. Learning with privacy at scale. 2017.
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
from ..response import Response, Shape
from .base import NO_OPTIONS, Law, Options, Rounds, binary_entropy, require_epsilons
from .popcounts import honest_popcounts
from .rows import bucket
from .sketch import Sketch, require_cells
from .symmetric import KeptBits, keep_thresholds, perturb, perturbed

_ROWS, _WIDTH = 254, 128
"""Collisions depend on rows times width alone, and fill a tally. Wider rows would cost bytes and
fingerprint and gain little: below 2 % of a standard error at epsilon 4. Narrower ones would lose
more; and with more rows than buckets each text shares some of them with any other, so that its
error by collisions is a sum of many and not one rare mishap.
"""


@dataclass(frozen=True)
class CMS(KeptBits, Sketch):
    """The bucket of a text as ``width`` bits, each kept or turned over; twice if asked.

    Attributes
    ----------
    rows, width : int
        Hash rows, and buckets of each.
    keep : int
        Threshold of p1, rounded down.
    keep_again : int or None
        Threshold of p2, rounded down; None without a second round.
    """

    name: ClassVar[str] = "cms"
    options: ClassVar[Mapping[str, range]] = MappingProxyType(
        {"rows": range(1, 4097), "width": range(2, 4097)}
    )

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    rows: int
    keep: int
    keep_again: int | None

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> CMS:
        """Compute the thresholds of p1 and p2; ``k`` is not looked at."""
        require_epsilons(epsilon, epsilon_first)
        rows, width = options.get("rows", _ROWS), options.get("width", _WIDTH)
        require_cells(rows * (width + 1), "rows x (width + 1)")
        return cls(width, epsilon, epsilon_first, rows, *keep_thresholds(2, epsilon, epsilon_first))

    @property
    def width(self) -> int:
        """Buckets of a row."""
        return self.k

    @property
    def shape(self) -> Shape:
        """A bit for each bucket, in a row."""
        return Shape("bits", self.width, self.rows)

    @cached_property
    def q(self) -> Fraction:
        """``p/width + (1-p)(1 - 1/width)``."""
        return self.p / self.width + (1 - self.p) * (1 - Fraction(1, self.width))

    @cached_property
    def popcounts(self) -> range:
        """One bit is the text's."""
        return honest_popcounts(self.width, [1], self.p, 1 - self.p)

    @property
    def mean_popcount(self) -> Fraction:
        """``p + (width-1)(1-p)``."""
        return self.p + (self.width - 1) * (1 - self.p)

    @property
    def chains(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The bit of the one bucket, and that of the other."""
        return (self.first,) * 2

    @property
    def flips(self) -> int:
        """Two remembered vectors can differ in every bit."""
        return self.width

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """Both bits speak for the one text, or for the other; or they cancel."""
        p1, q1 = self.first
        return p1**2, q1**2

    @property
    def fingerprint_bits(self) -> float:
        """The row; and the bits' entropies, or the bucket's and that of the noise in them."""
        p1, q1 = map(float, self.first)
        shown = self.width * binary_entropy(q1 + (p1 - q1) / self.width)
        caused = math.log2(self.width) + self.width * binary_entropy(q1)
        return math.log2(self.rows) + min(shown, caused)

    def bucket(self, row: int, symbol: int) -> int:
        """Return the bucket of a text's number in a row."""
        return bucket(self.name, row, symbol, self.width)

    def assign(self, keyed: Draws) -> int:
        """Draw the row."""
        return keyed.below(self.rows)

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the bucket."""
        return str(self.bucket(setup, symbol)).encode()

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Keep or turn over every bit, bit 0 first."""
        return Response(perturb(1 << int(memo), self.width, self.keep, keyed), setup)

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Keep or turn over every remembered bit, for this report only."""
        if self.keep_again is None:
            return permanent
        return Response(perturb(permanent.out, self.width, self.keep_again, fresh), permanent.row)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """All 2^width products of independent bits."""
        p = self.first[0] if rounds == 1 else self.p
        law = perturbed(1 << int(memo), self.width, p)
        return {Response(out, setup): mass for out, mass in law.items()}

    def supports(self, value: int, response: Response) -> bool:
        """A set bit supports every text of its bucket."""
        return bool(response.out >> self.bucket(response.row, value) & 1)
