"""A number that only rises, with one epsilon for all of its values.

A device draws a point of the range, uniform and once for all, and answers in each period whether
its number lies above: yes with a probability, over points, of the number's place in the range. The
yes/no of a number that only rises changes once at most, from no to yes. At its level
(:mod:`.dyadic`) each report is about one stretch of time: did it change there? At most one of a
device's reports has a yes, so two histories differ in two of them at most, and unary encoding has
``p = 1/2`` for that one and ``q = 1/(E+1)`` for every other: one epsilon for all periods. A number
that falls is taken to stay where it was.

The mean place in period t is the sum, over the stretches that 1..t is made of, of the shares of
devices that changed there. What must never change: the order of draws, and the memo keys.

References
----------
Wang, Blocki, Li, Jha. Locally differentially private protocols for frequency estimation.
USENIX Security 2017 (optimised unary encoding, here of the stretch).
Ding, Kulkarni, Yekhanin. Collecting telemetry data privately. NeurIPS 2017 (the rounding point).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

from ..draws import Draws
from ..exact import SCALE, ceil_threshold, exp
from ..horizon import MAX_PERIODS
from ..response import Response
from .base import NO_OPTIONS, Asks, Law, Options, Rounds, require_epsilons, require_k
from .dyadic import Dyadic, Memory
from .network import Network


@dataclass(frozen=True)
class Counter(Dyadic):
    """Whether the rounded bit rose in a stretch of periods.

    Attributes
    ----------
    other_bit : int
        Threshold of q, rounded up.
    """

    name: ClassVar[str] = "counter"
    asks: ClassVar[Asks] = "counter"
    options: ClassVar[Mapping[str, range]] = MappingProxyType(
        {"periods": range(2, MAX_PERIODS + 1)}
    )
    given: ClassVar[frozenset[str]] = frozenset({"periods"})

    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    periods: int
    other_bit: int

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> Counter:
        """Compute the threshold of q."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        return cls(k, epsilon, None, options["periods"], ceil_threshold(1 / (exp(epsilon) + 1)))

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``true_bit`` and ``other_bit``."""
        return {"true_bit": SCALE // 2, "other_bit": self.other_bit}

    @property
    def p(self) -> Fraction:
        """P(a report says yes), of a stretch in which the bit rose."""
        return Fraction(1, 2)

    @property
    def q(self) -> Fraction:
        """P(a report says yes), of another."""
        return Fraction(self.other_bit, SCALE)

    def level(self, setup: int) -> int:
        """Return the higher part of the setup."""
        return setup // (self.k - 1)

    def point(self, setup: int) -> int:
        """Return the rounding point: symbols above it are rounded up."""
        return setup % (self.k - 1)

    def bit(self, setup: int, symbol: int) -> int:
        """Return the rounded bit."""
        return int(symbol > self.point(setup))

    def assign(self, keyed: Draws) -> int:
        """Draw the level, then the rounding point."""
        return keyed.below(self.levels) * (self.k - 1) + keyed.below(self.k - 1)

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the memo key of the first report."""
        return _key(1 << self.level(setup), self.bit(setup, symbol))

    def follow(self, latest: int, bit: int) -> int:
        """Return a bit that never falls."""
        return max(latest, bit)

    def key(self, setup: int, memory: Memory, t: int) -> tuple[bytes, int]:
        """Return the period, and whether the bit rose for the first time."""
        rose = memory.latest > max(memory.base or 0, 0) and not memory.used
        return _key(t, rose), int(rose)

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Toss one coin."""
        threshold = SCALE // 2 if memo.endswith(b"1") else self.other_bit
        return Response(int(keyed.chance(threshold)), self.level(setup))

    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """The coin of one report by itself."""
        yes = self.p if memo.endswith(b"1") else self.q
        level = self.level(setup)
        return {Response(1, level): yes, Response(0, level): 1 - yes}

    def exact_variance(self, at: Fraction, *, sampled: bool) -> Fraction:
        """Return n times the variance of the mean in the newest period, where it is largest.

        Of numbers that do not change, at the place f of their range: ``L (R + S (2f - f^2))`` for L
        levels, the resistance R of the period and the squares S of its first reports' weights, see
        :mod:`.network`; sampled users as they are, a fixed population ``f(1-f)`` less, as if
        all were at an end.
        """
        more = float(at * (2 - at))
        most = max(
            self.network.resistance(t) + self.network.squares(t) * more
            for t in range(1, self.periods + 1)
        )
        return Fraction(self.levels * most - (0 if sampled else float(at * (1 - at))))

    @cached_property
    def network(self) -> Network:
        """What least squares makes of the periods, from their variances for one level."""
        wires = (float(self.q * (1 - self.q) / (self.p - self.q) ** 2),) * self.levels
        return Network(wires, wires)

    def worst(self, *, sampled: bool) -> Fraction:
        """Return the upper end."""
        return Fraction(1)

    @property
    def tells(self) -> bool:
        """Whether p > q."""
        return self.p > self.q

    @cached_property
    def leverage(self) -> Fraction:
        """What one device of the worst level can move, of the newest period, where it is most.

        A report moves ``(1-q) / (p-q)``.
        """
        moves = (float((1 - self.q) / (self.p - self.q)),) * self.levels
        every = range(1, self.periods + 1)
        return Fraction(self.levels * max(self.network.reach(t, moves, moves) for t in every))


def _key(t: int, bit: int) -> bytes:
    return b"%d %d" % (t, bit)
