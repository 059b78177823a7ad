"""1BitMean: the mean of a number from one bit of each device, in one round or two.

The number, at the place x of [0, 1], is rounded to an end of its range: to the upper one if it
lies above the device's own rounding point, which is uniform, drawn once and never sent. So the
bit is 1 with probability x over devices, and is then perturbed like a yes/no (Warner). Scaled to
[-1, 1] this is the mechanism of Duchi, Jordan and Wainwright for one dimension. What is
remembered is the bit: a device has two permanent responses, and a number that moves about on one
side of the rounding point shows no change at all.

References
----------
Ding, Kulkarni, Yekhanin. Collecting telemetry data privately. NeurIPS 2017 (alpha-point rounding).
Duchi, Jordan, Wainwright. Minimax optimal procedures for locally private estimation. JASA 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from ..draws import Draws
from ..response import Response, Shape
from .base import NO_OPTIONS, Law, Options, Rounds, require_epsilons, require_k
from .grr import keep_thresholds, perturb
from .scale import Scale
from .symmetric import KeptBits


@dataclass(frozen=True)
class OneBitMean(KeptBits, Scale):
    """Keep the rounded bit with probability ``keep`` / 2^64; twice if asked.

    Attributes
    ----------
    keep : int
        Threshold of p1 = E/(E+1), rounded down.
    keep_again : int or None
        Threshold of p2, rounded down; None without a second round.
    """

    name: ClassVar[str] = "1bitmean"
    decoder: ClassVar[str] = "mean"

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
    ) -> OneBitMean:
        """Compute the thresholds of p1 and p2."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        return cls(k, epsilon, epsilon_first, *keep_thresholds(2, epsilon, epsilon_first))

    @property
    def shape(self) -> Shape:
        """A bit."""
        return Shape("symbol", 2)

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
        """The bit, for two numbers on either side of every rounding point."""
        return self.first

    @property
    def classes(self) -> int:
        """Two rounded bits."""
        return 2

    @property
    def merges(self) -> bool:
        """Numbers on one side of the rounding point, if there are more than two."""
        return self.k > 2

    @property
    def fingerprint_bits(self) -> float:
        """A bit; the rounding point shows in nothing else."""
        return 1.0

    def assign(self, keyed: Draws) -> int:
        """Draw the rounding point: symbols above it are rounded up."""
        return keyed.below(self.k - 1)

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the rounded bit."""
        return b"1" if symbol > setup else b"0"

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Keep the bit or turn it over."""
        return Response(perturb(int(memo), self.keep, 2, keyed))

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Perturb the remembered bit once more, for this report only."""
        if self.keep_again is None:
            return permanent
        return Response(perturb(permanent.out, self.keep_again, 2, fresh))

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """The bit, and the other one."""
        kept = self.first[0] if rounds == 1 else self.p
        bit = int(memo)
        return {Response(bit): kept, Response(1 - bit): 1 - kept}

    def score(self, out: int) -> Fraction:
        """``(bit - q) / (p - q)``."""
        return (out - self.q) / (self.p - self.q)

    def score_variance(self, at: Fraction) -> Fraction:
        """``g(1-g) / (p-q)^2`` with g = q + at (p-q): rounding and noise."""
        gap = self.p - self.q
        g = self.q + at * gap
        return g * (1 - g) / gap**2
