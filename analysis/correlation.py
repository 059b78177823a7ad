"""How the estimates of two values of one tally vary together.

A report that supports the one value seldom supports the other, and frequencies that sum to one
cannot all be high: estimates of two values are correlated, mostly negatively, and the error of
their difference is larger than that of independent ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from deniable.protocol.mechanisms import FrequencyOracle, Mechanism
from deniable.protocol.mechanisms.privset import PrivSet
from deniable.protocol.response import Response, Shape

from .decode import decode


@dataclass(frozen=True, slots=True)
class Correlation:
    """The correlation coefficient that an error rests on, and why, in words.

    Attributes
    ----------
    coefficient : float
        In [-1, 1].
    assumption : str
    """

    coefficient: float
    assumption: str


SAME_DEVICES = Correlation(
    0.0,
    "conservative: the two periods share devices whose answers are remembered, so their errors "
    "are taken as uncorrelated, though they are positively correlated and partly cancel; it holds "
    "unless people alternate between answers.",
)
OTHER_DEVICES = Correlation(
    0.0,
    "independent: the segments are different devices; each has an error of its own, not pooled.",
)
_COUNTED = "correlated: both values are of one tally; reports that support both were counted in it."
_EXACT = (
    "correlated: both values are of one tally; how often a report supports both follows from the "
    "mechanism and the estimated frequencies."
)
_PARTLY = (
    "correlated: both values are of one tally; only devices that are asked about both correlate "
    "them, and those are counted in it."
)
_NESTED = (
    "conservative: both items are of one tally, and how many sets have both is not known; the "
    "errors are those if the rarer item comes with the other only."
)
_BOUND = (
    "conservative: both values are of one tally, and their correlation is not known; the errors "
    "are added, which holds for any."
)


def of_values(mechanism: Mechanism, cells: Sequence[int], one: int, two: int) -> Correlation:
    """Return the correlation of the estimates of symbols ``one`` and ``two``.

    With g = q + f(p-q) for each and the probability J that a report supports both, the
    covariance of two supports is J - g_1 g_2, for independently sampled devices.

    - Where the mechanism knows ``J = (f_1 + f_2) J_one + (1 - f_1 - f_2) J_none``, that is
      exact but for the plug-in frequencies, moved to the nearest that a distribution can have.
    - Reports of one symbol tell which of them support both: J is counted.
    - Where a device's bits cover some values only and are independent but for the true one,
      ``J - g_1 g_2 = -f_1 f_2 (p-q)^2`` among the m devices that cover both, and of estimates
      from n_1 and n_2 devices the covariance is m/(n_1 n_2) times that.
    - Of two items of a set, ``J = A J_one + (1 - A) J_none`` with the share A of sets that have
      one of them or both, which is at least the larger frequency; and the sum of both where a
      set has one item at most.
    - Otherwise the bound -1.
    """
    if not isinstance(mechanism, FrequencyOracle):
        return Correlation(-1.0, _BOUND)
    if isinstance(mechanism, PrivSet):
        return _of_items(mechanism, cells, one, two)
    supports = decode(mechanism, cells)
    counts = [supports.counts[symbol] for symbol in (one, two)]
    trials = [supports.trials[symbol] for symbol in (one, two)]
    p, q = float(mechanism.p), float(mechanism.q)
    f = _plausible([(c / n - q) / (p - q) for c, n in zip(counts, trials, strict=True)])
    shares = [q + each * (p - q) for each in f]
    if mechanism.coverage < 1:
        if mechanism.name not in INDEPENDENT_BITS:
            return Correlation(-1.0, _BOUND)
        overlap = _covered(mechanism, cells, one, two) / math.sqrt(trials[0] * trials[1])
        return Correlation(overlap * _phi(-f[0] * f[1] * (p - q) ** 2, *shares), _PARTLY)
    if mechanism.joint is not None:
        truly, never = map(float, mechanism.joint)
        both = (f[0] + f[1]) * truly + (1 - f[0] - f[1]) * never
        return Correlation(_phi(both - shares[0] * shares[1], *shares), _EXACT)
    if mechanism.shape.kind == "symbol":
        n = trials[0]
        both = _both(mechanism, cells, one, two) / n
        shares = [count / n for count in counts]
        return Correlation(_phi(both - shares[0] * shares[1], *shares), _COUNTED)
    return Correlation(-1.0, _BOUND)


INDEPENDENT_BITS = frozenset({"dbitflip"})
"""Mechanisms of which a device covers some values only, with a coin of its own for each."""


def _of_items(mechanism: PrivSet, cells: Sequence[int], one: int, two: int) -> Correlation:
    """Return the correlation of two items, or the least there can be."""
    p, q, n = float(mechanism.p), float(mechanism.q), mechanism.shape.reports(cells)
    f = [min(1.0, max(0.0, (cells[item] / n - q) / (p - q))) for item in (one, two)]
    alone = mechanism.items == 1
    either = min(1.0, sum(f)) if alone else max(f)
    truly, never = map(float, mechanism.joint)
    shares = [q + each * (p - q) for each in f]
    both = never + either * (truly - never)
    coefficient = _phi(both - shares[0] * shares[1], *shares)
    return Correlation(coefficient, _EXACT if alone else _NESTED)


def _phi(covariance: float, one: float, two: float) -> float:
    """Return the correlation of two supports; the bound where one of them is certain."""
    spread = math.sqrt(one * (1 - one) * two * (1 - two))
    return min(1.0, max(-1.0, covariance / spread)) if spread > 0 else -1.0


def _plausible(pair: Sequence[float]) -> list[float]:
    """Move two frequencies to where both are at least 0 and their sum is at most 1."""
    clipped = [min(1.0, max(0.0, f)) for f in pair]
    total = max(1.0, sum(clipped))
    return [f / total for f in clipped]


def _both(mechanism: FrequencyOracle, cells: Sequence[int], one: int, two: int) -> int:
    """Count the reports that support both of two symbols."""
    return sum(
        count
        for count, response in zip(cells, responses(mechanism.shape), strict=True)
        if count and mechanism.supports(one, response) and mechanism.supports(two, response)
    )


def _covered(mechanism: FrequencyOracle, cells: Sequence[int], one: int, two: int) -> int:
    """Count the reports, of rows of bits, that say something about both of two symbols."""
    stride = mechanism.shape.width + 1
    rows = map(partial(Response, 0), range(mechanism.shape.rows))
    return sum(
        count
        for count, response in zip(cells[stride - 1 :: stride], rows, strict=True)
        if mechanism.covers(one, response) and mechanism.covers(two, response)
    )


def responses(shape: Shape) -> Iterator[Response]:
    """Return the response that each cell counts, of a shape of symbols."""
    return (Response(out, row) for row in range(shape.rows) for out in range(shape.width))
