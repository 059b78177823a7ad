"""A yes/no that changes, with one epsilon for its whole trajectory.

A device answers x_1, .., x_T, each 0 or 1, that change at most c times. At its level
(:mod:`.dyadic`) the first report is about x, yes or no, and each later one about the change since
the report before: up, down or none. So at most b = min(c + 1, reports) of its reports say
something; the others are fair coins. What is said goes through noise that is drawn once for all b:
a vector of b bits, 1 for "turned over", the i-th for the i-th report that says something.

Vectors with at most ``turned`` ones are E times as likely as all others:
``P(few) = E A / (E A + 2^b - A)``, A = C(b, 0) + .. + C(b, turned). Whatever the trajectory, the
probability of all reports of a device together is a mean of such weights over the bits that were
not used, divided by the same power of two, so that no two trajectories' differ by more than E: for
the whole trajectory, however often and whenever it changes up to c times. Changes beyond c are not
reported.

A report that says something says the truth with ``p = (1 + gap)/2``, gap the mean of 1 - 2 ones/b
over vectors. ``turned`` is the one of largest gap: 0 for few changes or a large epsilon, else near
b/2, where the gap is about sqrt(2/(pi b)) (E-1)/(E+1), and shrinks with the root of c alone.

What must never change: the order of draws, ``turned``, and the memo keys.

References
----------
Ohrimenko, Wirth, Wu. Randomize the future. PODS 2022 (bits drawn in advance; their randomizer on
an annulus is replaced by the half-cube of Duchi, Jordan, Wainwright 2013, which tells more).
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
from ..exact import SCALE, Enclosure, exp, floor_threshold
from ..horizon import MAX_CHANGES, MAX_PERIODS
from ..response import Response
from .base import NO_OPTIONS, Asks, Law, Options, Rounds, require_epsilons
from .dyadic import START, Dyadic, Memory
from .network import Network

_HALF = SCALE // 2


@dataclass(frozen=True, slots=True)
class Future:
    """The law of the b bits that are drawn in advance.

    Attributes
    ----------
    bits : int
        b.
    turned : int
        Vectors with at most so many ones are the likelier ones.
    few : int
        Threshold of P(such a vector), rounded down.
    """

    bits: int
    turned: int
    few: int

    @property
    def counts(self) -> tuple[int, int]:
        """How many vectors there are of either kind: A, and 2^b - A."""
        low = sum(math.comb(self.bits, ones) for ones in range(self.turned + 1))
        return low, (1 << self.bits) - low

    def mass(self, ones: int) -> Fraction:
        """Return the probability of a vector with so many ones."""
        low, high = self.counts
        few = Fraction(self.few, SCALE)
        return few / low if ones <= self.turned else (1 - few) / high

    @property
    def gap(self) -> Fraction:
        """Mean of 1 - 2 ones/b."""
        total = sum(
            (
                math.comb(self.bits, ones) * self.mass(ones) * (self.bits - 2 * ones)
                for ones in range(self.bits + 1)
            ),
            start=Fraction(0),
        )
        return total / self.bits

    def draw(self, keyed: Draws) -> int:
        """Draw which kind; how many ones, as there are vectors; and which (Floyd's algorithm)."""
        few = keyed.chance(self.few)
        every = range(self.turned + 1) if few else range(self.turned + 1, self.bits + 1)
        drawn = keyed.below(self.counts[0 if few else 1])
        for ones in every:
            ways = math.comb(self.bits, ones)
            if drawn < ways:
                break
            drawn -= ways
        mask = 0
        for last in range(self.bits - ones, self.bits):
            at = keyed.below(last + 1)
            mask |= 1 << (last if mask >> at & 1 else at)
        return mask


@dataclass(frozen=True)
class Trajectory(Dyadic):
    """The answer, then its changes, at one level, with noise drawn in advance.

    Attributes
    ----------
    changes : int
        c.
    futures : tuple of Future
        Of each level.
    """

    name: ClassVar[str] = "trajectory"
    asks: ClassVar[Asks] = "trajectory"
    options: ClassVar[Mapping[str, range]] = MappingProxyType(
        {"periods": range(2, MAX_PERIODS + 1), "changes": range(1, MAX_CHANGES + 1)}
    )
    given: ClassVar[frozenset[str]] = frozenset({"periods", "changes"})

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    periods: int
    changes: int
    futures: tuple[Future, ...]

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> Trajectory:
        """Compute the threshold of each level."""
        if k != 2:
            raise ParameterError(f"trajectory serves yes/no questions only: k is {k}")
        require_epsilons(epsilon, epsilon_first)
        periods, changes = options["periods"], options["changes"]
        if changes >= periods:
            raise ParameterError(
                f"changes must be less than the {periods} periods there are: {changes}"
            )
        e = exp(epsilon)
        levels = range(periods.bit_length())
        futures = tuple(_future(min(changes + 1, periods >> level), e) for level in levels)
        return cls(k, epsilon, None, periods, changes, futures)

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``few_0``, ``few_1``, ..: of each level."""
        return {f"few_{level}": future.few for level, future in enumerate(self.futures)}

    def gap(self, level: int) -> Fraction:
        """Return how much more often a report that says something is right than wrong."""
        return self.futures[level].gap

    def level(self, setup: int) -> int:
        """Return the setup itself."""
        return setup

    def bit(self, setup: int, symbol: int) -> int:
        """Return the symbol itself."""
        return symbol

    def assign(self, keyed: Draws) -> int:
        """Draw the level."""
        return keyed.below(self.levels)

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the memo key of the first report."""
        return _said(0, 1 if symbol else -1)

    def key(self, setup: int, memory: Memory, t: int) -> tuple[bytes, int]:
        """Return which report that says something this is, and what; or that it says nothing."""
        base = START if memory.base is None else memory.base
        sign = 2 * memory.latest - 1 if base == START else memory.latest - base
        if sign == 0 or memory.used >= self.futures[setup].bits:
            return b"%d" % t, 0
        return _said(memory.used, sign), 1

    def stream(self, memo: bytes) -> bytes:
        """All reports that say something share the bits drawn in advance."""
        return b"" if b" " in memo else memo

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Toss a fair coin, or say what there is to say, turned over as was drawn in advance."""
        if b" " not in memo:
            return Response(int(keyed.chance(_HALF)), setup)
        place, sign = memo.split()
        turned = self.futures[setup].draw(keyed) >> int(place) & 1
        return Response(turned ^ (sign == b"+"), setup)

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """The truth with (1 + gap)/2; or a fair coin. Of one report by itself."""
        up = Fraction(1, 2)
        if b" " in memo:
            up += self.gap(setup) / 2 * (1 if memo.endswith(b"+") else -1)
        return {Response(1, setup): up, Response(0, setup): 1 - up}

    def exact_variance(self, at: Fraction, *, sampled: bool) -> Fraction:
        """Return n times the variance of the frequency of the newest period, where it is largest.

        Of answers that do not change, ``L (R - S (1/4 - f(1-f)))`` for L levels, the resistance R
        of the period and the squares S of its first reports' weights, see :mod:`.network`;
        sampled users as they are, a fixed population ``f(1-f)`` less.
        """
        bend = float(at * (1 - at))
        most = max(
            self.network.resistance(t) - self.network.squares(t) * (0.25 - bend)
            for t in range(1, self.periods + 1)
        )
        return Fraction(self.levels * most - (0 if sampled else bend))

    @cached_property
    def network(self) -> Network:
        """What least squares makes of the periods, from their variances for one level."""
        later = tuple(float(1 / future.gap**2) for future in self.futures)
        return Network(tuple(wire / 4 for wire in later), later)

    def worst(self, *, sampled: bool) -> Fraction:
        """Return one half, or any."""
        return Fraction(1, 2)

    @cached_property
    def tells(self) -> bool:
        """Whether every level's gap is positive."""
        return all(future.gap > 0 for future in self.futures)

    @cached_property
    def leverage(self) -> Fraction:
        """What one device of the worst level can move, of the newest period, where it is most.

        A report moves ``1/gap``, the first of a level half of that.
        """
        moves = tuple(float(1 / future.gap) for future in self.futures)
        first = tuple(move / 2 for move in moves)
        every = range(1, self.periods + 1)
        return Fraction(self.levels * max(self.network.reach(t, first, moves) for t in every))


def _said(place: int, sign: int) -> bytes:
    return b"%d %s" % (place, b"+" if sign > 0 else b"-")


def _future(bits: int, e: Enclosure) -> Future:
    """Return the law of largest gap; of several, that with fewer ones."""
    made = []
    low = 0
    for turned in range((bits + 1) // 2):
        low += math.comb(bits, turned)
        few = e * low / (e * low + ((1 << bits) - low))
        made.append(Future(bits, turned, floor_threshold(few)))
    return max(made, key=lambda one: one.gap)
