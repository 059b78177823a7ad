"""The delta at an epsilon of a shuffled crowd, bounded from above or below, and its inverse.

With y_i ~ omega for each of the n devices, and L = (P - e^epsilon Q)/omega,

``delta(epsilon) = (1/n) E[(L(y_1) + ... + L(y_n))+]``.

In the three classes of :mod:`.classes`, with m devices in the first two and X ~ Bin(m, 1/2) in
the first, the sum is ``(1 + e^epsilon) (P_a-P_b)/each`` times ``X - m/2 - tanh(epsilon/2) pull``,
with pull as in :class:`.grid.Grid`. Each point of the grid has a closed form.

References
----------
Balle, Bell, Gascón, Nissim. The privacy blanket of the shuffle model. CRYPTO 2019, lemma 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import binomial
from .classes import Classes, Coin
from .grid import grid

Curve = Callable[[float], float]
"""Delta at an epsilon; it never rises."""

_ROUNDED = 2.0**-44
_STEPS = 60
_PRECISE = 2.0**-34


def above(classes: Classes, crowd: int, delta: float) -> Curve:
    """Return an upper bound of delta(epsilon), for an omega that all devices emit at least.

    A device that is outside the blocks adds ``(P_a - e^epsilon P_b)+`` times the probability of
    that, for the sum's positive part is at most that of its positive terms.
    """
    points = grid(classes, crowd, delta, upper=True)
    true, other, gap = _floats(classes)
    scale = gap / (float(classes.each) * crowd)

    def curve(epsilon: float) -> float:
        t = points.spread / 2 + math.tanh(epsilon / 2) * points.pull
        value, error = binomial.excess(t, points.spread, 0.5, 0.5)
        inside = (1 + math.exp(epsilon)) * scale * float(points.weight @ (value + error))
        lost = max(0.0, true - math.exp(epsilon) * other * (1 - _ROUNDED)) * points.outside
        return (inside + lost) * (1 + _ROUNDED)

    return curve


def below(classes: Classes, crowd: int, delta: float) -> Curve:
    """Return a lower bound of delta(epsilon), for an omega that is what all others emit."""
    points = grid(classes, crowd, delta, upper=False)
    scale = _floats(classes)[2] / (float(classes.each) * crowd)

    def curve(epsilon: float) -> float:
        t = points.spread / 2 + math.tanh(epsilon / 2) * points.pull
        value, error = binomial.excess(t, points.spread, 0.5, 0.5)
        inside = float(points.weight @ np.maximum(value - error, 0.0))
        return (1 + math.exp(epsilon)) * scale * inside * (1 - _ROUNDED)

    return curve


def of_coin(coin: Coin, crowd: int) -> Curve:
    """Return a lower bound of delta(epsilon) if all others hold one value; two outputs.

    Of n devices X ~ Bin(n, base) show the event. The sum is linear in X, and its excess exact;
    once with the device that moves under P, and once under Q.
    """
    rate, stay = float(coin.base), float(1 - coin.base)
    no = float((1 - coin.moved) / (1 - coin.base))
    short = float((coin.moved - coin.base) / (1 - coin.base))  # 1 - no, with all its digits
    slope = float((coin.moved - coin.base) / (coin.base * (1 - coin.base)))

    def curve(epsilon: float) -> float:
        e, more = math.exp(epsilon), math.expm1(epsilon)
        to = _excess(slope, crowd * (more + short), crowd, rate, stay)
        back = _excess(-e * slope, crowd * (more * no - short), crowd, rate, stay)
        return max(to, back) / crowd * (1 - _ROUNDED)

    return curve


def _excess(slope: float, level: float, n: int, p: float, q: float) -> float:
    """Return less than ``E[(slope X - level)+]`` for X ~ Bin(n, p)."""
    if slope > 0:
        value, error = binomial.excess(level / slope, n, p, q)
    else:
        value, error = binomial.excess(n - level / slope, n, q, p)
    return abs(slope) * max(0.0, float(value - error))


def solve(curve: Curve, delta: float, highest: float, *, upper: bool) -> float:
    """Return the epsilon at which a curve reaches delta, in [0, highest].

    Rounded up to where the curve is at most delta, or down to where it is at least that. An
    upper bound that is nowhere so low is ``highest``; a lower one that is nowhere so high is 0.
    """
    low, high = 0.0, highest
    if (lowest := curve(low)) <= delta:
        return 0.0
    if (curve(high) > delta) if upper else (curve(high) >= delta):
        return high
    bracket = _Bracket(low, high, _log(lowest, delta), None)
    for _ in range(_STEPS):
        middle = bracket.next()
        bracket.halve(middle, _log(curve(middle), delta))
        if bracket.high - bracket.low <= _PRECISE * bracket.high:
            break
    return bracket.high if upper else bracket.low


@dataclass(slots=True)
class _Bracket:
    """Where ``ln(curve/delta)`` falls through zero: false position, Illinois fashion."""

    low: float
    high: float
    over: float
    under: float | None
    side: int = 0

    def next(self) -> float:
        """Return where to look: a sixteenth while nothing is known, then where a line crosses."""
        if self.under is None or not math.isfinite(self.under):
            return self.high / 16 if self.low == 0.0 else (self.low + self.high) / 2
        width = self.high - self.low
        crossing = self.low + width * self.over / (self.over - self.under)
        margin = _PRECISE / 4 * self.high
        return min(max(crossing, self.low + min(margin, width / 2)), self.high - margin / 2)

    def halve(self, middle: float, value: float) -> None:
        """Move one end there, and halve the weight of an end that stays twice."""
        if value > 0:
            if self.side > 0 and self.under is not None:
                self.under /= 2
            self.low, self.over, self.side = middle, value, 1
        else:
            if self.side < 0:
                self.over /= 2
            self.high, self.under, self.side = middle, value, -1


def _log(value: float, delta: float) -> float:
    return math.log(value / delta) if value > 0 else -math.inf


def _floats(classes: Classes) -> tuple[float, float, float]:
    true, other = classes.true, classes.other
    return float(true), float(other), float(true - other)
