"""How many devices fall into each class, in blocks: where the sum over a crowd is evaluated.

Of n devices, ``m ~ Bin(n, 2 each)`` speak for one of the two values and, of the rest,
``N ~ Bin(n - m, share)`` have the larger ratio. Both are grouped: the sum falls with N and with
the drift of m, and its mean excess grows with the spread of m, which is a martingale; so a block
from m0 to m1 is bounded by the spread of the one and the drift of the other. In N the excess is
convex: chords bound it from above, its value at the mean of a cell from below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from . import binomial
from .binomial import Array
from .classes import Classes

_SINGLE = 20_000  # points, below which nothing is grouped
_POINTS = 8000
_FEWEST, _DRIFT = 150, 30_000  # blocks, which cost 1e-4 of an epsilon
_CELLS = 48
_FINE = 0.05  # a cell, in standard deviations of the sum: its chord costs 2e-4 of an epsilon
_LOST = 1e-6  # of delta, the mass outside the blocks


@dataclass(frozen=True, slots=True)
class Grid:
    """Points at which the excess is evaluated.

    Attributes
    ----------
    weight : array
        Probability of each point, rounded up for an upper bound and down for a lower.
    spread : array
        m, of which half speak for the true value on average.
    pull : array
        ``((P_a+P_b)/2 m + each (sum of the ratios of the rest)) / (P_a-P_b)``.
    outside : float
        Probability that m is in no block if one device is known to speak for the true value.
    """

    weight: Array
    spread: Array
    pull: Array
    outside: float


def grid(classes: Classes, crowd: int, delta: float, *, upper: bool) -> Grid:
    """Return the points for a bound from above or from below.

    ``delta`` decides how far out the blocks go and how fine they are, not whether the bound holds.
    """
    apart, rest = float(2 * classes.each), float(1 - 2 * classes.each)
    share = float(classes.share)
    blocks, cells = _shape(classes, crowd, delta)
    starts, ends, chance, error = _blocks(crowd, apart, rest, delta, blocks)
    spread, drift = (ends, starts) if upper else (starts, ends)
    others = crowd - spread
    if share:
        counts, weight = _rest(others, share, float(1 - classes.share), delta, cells, upper)
    else:
        counts, weight = np.zeros((len(starts), 1)), np.ones((len(starts), 1))
    low, high = float(classes.low), float(classes.high)
    ratios = low * others[:, None] + (high - low) * counts
    gap, both = float(classes.true - classes.other), float(classes.true + classes.other)
    pull = (both / 2 * drift[:, None] + float(classes.each) * ratios) / gap
    block = np.maximum(chance + error if upper else chance - error, 0.0)
    return Grid(
        weight=(block[:, None] * weight).ravel(),
        spread=np.broadcast_to(spread[:, None], pull.shape).ravel(),
        pull=pull.ravel(),
        outside=_outside(crowd - 1, apart, rest, starts[0], ends[-1]) if upper else 0.0,
    )


def _blocks(
    n: int, p: float, q: float, delta: float, count: int
) -> tuple[Array, Array, Array, Array]:
    """Return the first and last m of each block, its probability, and the error of that."""
    low, high = _window(n, p, q, delta)
    edges = np.unique(np.linspace(low, high + 1, min(count, high + 1 - low) + 1).round())
    chance, error = binomial.cells(edges, np.array(float(n)), p, q)
    return edges[:-1], edges[1:] - 1, chance, error


def _window(n: int, p: float, q: float, delta: float) -> tuple[int, int]:
    """Return where Bin(n, p) is but for about 1e-6 delta, by Bernstein's inequality."""
    log = math.log(1 / (_LOST * delta))
    reach = math.sqrt(2 * log * n * p * q) + 2 / 3 * log
    return max(0, math.floor(n * p - reach)), min(n, math.ceil(n * p + reach) + 1)


def _outside(others: int, p: float, q: float, first: float, last: float) -> float:
    """Return more than P(1 + Bin(others, p) is not in first..last)."""
    above = binomial.tail(last, others, p, q)
    below = binomial.tail(others - first + 2, others, q, p)
    return float((above + below) * (1 + binomial.slack(others, p))) + 1e-300


def _shape(classes: Classes, crowd: int, delta: float) -> tuple[int, int]:
    """Return how many blocks of m and cells of N make the bound tight; any number is valid.

    What a block adds to the drift, and a cell to N, must be small beside the whole sum's spread.
    """
    each, gap = float(classes.each), float(classes.true - classes.other)
    low, high = _window(crowd, 2 * each, 1 - 2 * each, delta)
    first, last = _window(crowd, float(classes.share), float(1 - classes.share), delta)
    step = each * float(classes.high - classes.low) / gap
    values = last - first + 1 if step else 1
    if (high - low + 1) * values <= _SINGLE:
        return high - low + 1, values
    m = max(2 * each * crowd, 1.0)
    near = min(1.0, math.sqrt(2 * math.log(1 / delta) / m) * gap / 2)  # tanh of half the epsilon
    cells = 1
    if step:
        cells = math.ceil(min(_CELLS, values, values * near * step / (_FINE * math.sqrt(m))))
    return math.ceil(min(max(_FEWEST, _DRIFT * near), _POINTS // cells)), cells


def _rest(
    others: Array, p: float, q: float, delta: float, count: int, upper: bool
) -> tuple[Array, Array]:
    """Return values of N and their weights, a row for each number of devices in neither class."""
    mean, log = others * p, math.log(1 / (_LOST * delta))
    reach = np.sqrt(2 * log * mean * q) + 2 / 3 * log
    low = np.maximum(0, np.floor(mean - reach))
    high = np.minimum(others, np.ceil(mean + reach)) + 1
    count = min(count, int(np.max(high - low)))
    edges = np.floor(low[:, None] + (high - low)[:, None] * np.linspace(0, 1, count + 1))
    chance, error = binomial.cells(edges, others, p, q)
    inside, doubt = _means(edges, others, p, q, chance, error)
    left, right = edges[:, :-1], edges[:, 1:]
    if not upper:
        counts = np.minimum(inside + doubt, np.maximum(right - 1, left))
        return counts, np.maximum(chance - error, 0.0)
    length = np.maximum(right - left, 1)
    along = np.clip((inside - doubt - left) / length, 0.0, 1.0)
    chance = chance + error
    weight = np.zeros_like(edges)
    weight[:, :-1] += chance * (1 - along)
    weight[:, 1:] += chance * along
    more = 1 + binomial.slack(others, p)
    weight[:, -1] += binomial.tail(high, others, p, q) * more
    below = binomial.tail(others - low + 1, others, q, p) * more
    nodes = np.concatenate([np.zeros((len(others), 1)), edges], axis=1)
    return nodes, np.concatenate([below[:, None], weight], axis=1)


def _means(
    edges: Array, others: Array, p: float, q: float, chance: Array, error: Array
) -> tuple[Array, Array]:
    """Return ``E[N | cell]``, and how wrong it may be; a cell of one value has that value."""
    left, right = edges[:, :-1], edges[:, 1:]
    shifted, doubt = binomial.cells(np.maximum(edges - 1, 0), others - 1, p, q)
    first = others[:, None] * p
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.nan_to_num(first * shifted / chance, nan=0.0, posinf=0.0)
        wrong = np.nan_to_num(first * (doubt + shifted * error / chance) / chance, nan=np.inf)
    single = right - left <= 1
    known = np.where(single, left, np.clip(mean, left, right))
    return known, np.where(single, 0.0, np.where(chance > 4 * error, 2 * wrong, right - left))
