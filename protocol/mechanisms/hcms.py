"""Hadamard count mean sketch: one bit of the transformed bucket vector, kept or turned over.

A device has a hash row (:mod:`.rows`) and a column of the Hadamard matrix of order ``width``, both
public, drawn from its secret alone and for ever. The matrix has a sign where the row of the text's
bucket meets the column; the device sends that sign, as a bit, with ``p = E/(E+1)``, in one round or
two. A report supports every text whose bucket has the sign it says: the true one with p, another
one with ``p/width + (1 - 1/width)/2``, for two rows of the matrix agree in half of its columns.

What is remembered is the sign, so a device has two permanent responses over a lifetime. Domain size
k here is the width. What must never change: the rows, the sizes chosen where the author asks for
none, and that of two setups' numbers the column is the lower part.

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
from ..errors import ParameterError
from ..response import Response, Shape
from .base import NO_OPTIONS, Law, Options, Rounds, require_epsilons
from .rows import bucket
from .sketch import Sketch, require_cells
from .symmetric import KeptBits, keep_thresholds, perturb

_ROWS, _WIDTH = 128, 128
"""Collisions depend on rows times width alone, and fill a tally. With as many rows as buckets a
text shares one of its own with any other on average, so that its error by collisions is a sum of
many and not one rare mishap.
"""


@dataclass(frozen=True)
class HCMS(KeptBits, Sketch):
    """One sign for one column, kept or turned over; twice if asked.

    Attributes
    ----------
    rows, width : int
        Hash rows, and buckets of each: a power of two.
    keep : int
        Threshold of p1, rounded down.
    keep_again : int or None
        Threshold of p2, rounded down; None without a second round.
    """

    name: ClassVar[str] = "hcms"
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
    ) -> HCMS:
        """Compute the thresholds of p1 and p2; ``k`` is not looked at."""
        require_epsilons(epsilon, epsilon_first)
        rows, width = options.get("rows", _ROWS), options.get("width", _WIDTH)
        if width & (width - 1):
            raise ParameterError(f"width must be a power of two: {width}")
        require_cells(2 * rows * width, "2 x rows x width")
        return cls(width, epsilon, epsilon_first, rows, *keep_thresholds(1, epsilon, epsilon_first))

    @property
    def width(self) -> int:
        """Buckets of a row, and columns of the matrix."""
        return self.k

    @property
    def shape(self) -> Shape:
        """A bit, in a row for each hash row and column."""
        return Shape("symbol", 2, self.rows * self.width)

    @cached_property
    def q(self) -> Fraction:
        """``p/width + (1 - 1/width)/2``."""
        return self.p / self.width + (1 - Fraction(1, self.width)) / 2

    @property
    def chains(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """One: the remembered bit."""
        return (self.first,)

    @property
    def flips(self) -> int:
        """One bit against the other."""
        return 1

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        """The bit, for two texts whose signs differ in the device's column."""
        return self.first

    @property
    def classes(self) -> int:
        """Two signs."""
        return 2

    @property
    def fingerprint_bits(self) -> float:
        """The hash row, the column, and a bit."""
        return math.log2(self.rows * self.width) + 1

    def sign(self, setup: int, symbol: int) -> int:
        """Return 1 where the matrix has +1 for a text's number, and 0 where it has -1."""
        row, column = divmod(setup, self.width)
        return 1 - (bucket(self.name, row, symbol, self.width) & column).bit_count() % 2

    def assign(self, keyed: Draws) -> int:
        """Draw the hash row and the column."""
        return keyed.below(self.rows * self.width)

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the sign."""
        return str(self.sign(setup, symbol)).encode()

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Keep the sign or turn it over."""
        return Response(perturb(int(memo), 1, self.keep, keyed), setup)

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Perturb the remembered bit once more, for this report only."""
        if self.keep_again is None:
            return permanent
        return Response(perturb(permanent.out, 1, self.keep_again, fresh), permanent.row)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """The sign, and the other one."""
        kept = self.first[0] if rounds == 1 else self.p
        bit = int(memo)
        return {Response(bit, setup): kept, Response(1 - bit, setup): 1 - kept}

    def supports(self, value: int, response: Response) -> bool:
        """A sign supports every text that has it in this column."""
        return response.out == self.sign(response.row, value)
