"""Binomial masses, tails and excesses that hold their digits up to n = 1e9, with their errors.

What must never change: :func:`slack` is more than the relative error of every mass and tail, which
a test measures in 60-digit arithmetic. Bounds add or subtract it; without it they are estimates.

References
----------
Loader. Fast and accurate computation of binomial probabilities. 2000.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc

Array = NDArray[np.float64]
Numbers = float | Array

_EXACT = 2.0**-34
_TABLED = 16
_FEW = np.array(
    [0.0]
    + [
        math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi)
        for n in range(1, _TABLED)
    ]
)
_TERMS = 12
_CLOSE = 0.1


def slack(n: Numbers, p: Numbers) -> Array:
    """Return more than the relative error of a mass or tail of Bin(n, p).

    An incomplete beta function knows 1 - p to 2^-54 only, which its n-th power multiplies by n;
    a half is exact. The rest is more than ten times what was measured up to n = 1e9.
    """
    n, p = _arrays(n, p)
    return np.where(p == 0.5, _EXACT, _EXACT + 2.0**-50 * n)


def tail(k: Numbers, n: Numbers, p: Numbers, q: Numbers) -> Array:
    """Return ``P(X >= k)`` for X ~ Bin(n, p); q = 1 - p is given with all its digits."""
    k, n, p, q = _arrays(k, n, p, q)
    inside = (k >= 1) & (k <= n)
    found = np.where(k < 1, 1.0, 0.0)
    betainc(k, n - k + 1, p, out=found, where=inside & (p <= 0.5))
    betaincc(n - k + 1, k, q, out=found, where=inside & (p > 0.5))
    return found


def mass(k: Numbers, n: Numbers, p: Numbers, q: Numbers) -> Array:
    """Return ``P(X = k)`` for X ~ Bin(n, p), 0 for a k that is none; 0 < p < 1."""
    k, n, p, q = _arrays(k, n, p, q)
    inside = (k > 0) & (k < n)
    x, y, m = np.where(inside, k, 1.0), np.where(inside, n - k, 1.0), np.where(inside, n, 2.0)
    log = _stirling(m) - _stirling(x) - _stirling(y) - _deviance(x, m * p) - _deviance(y, m * q)
    between = np.sqrt(m / (2 * math.pi * x * y)) * np.exp(log)
    none = np.exp(np.maximum(n, 0.0) * np.where(p < 0.5, np.log1p(-np.minimum(p, 0.5)), np.log(q)))
    every = np.exp(np.maximum(n, 0.0) * np.where(q < 0.5, np.log1p(-np.minimum(q, 0.5)), np.log(p)))
    edge = np.where((k == 0) & (n >= 0), none, np.where((k == n) & (n > 0), every, 0.0))
    return np.where(inside, between, edge)


def excess(t: Numbers, n: Numbers, p: Numbers, q: Numbers) -> tuple[Array, Array]:
    """Return ``E[(X - t)+]`` for X ~ Bin(n, p), and a bound on the error of it.

    ``n p q b(k-1; n-1, p) - (t - n p) P(X >= k)``, where b is the mass and k = ceil(t): by
    ``j b(j; n, p) = n p b(j-1; n-1, p)``, summed by parts.
    """
    t, n, p, q = _arrays(t, n, p, q)
    k = np.ceil(t)
    spread = n * p * q * mass(k - 1, n - 1, p, q)
    above = tail(k, n, p, q)
    drift = (t - n * p) * above
    error = slack(n, p) * (spread + np.abs(drift)) + 2.0**-50 * (np.abs(t) + n * p) * above
    return np.maximum(spread - drift, 0.0), error


def cells(edges: Numbers, n: Numbers, p: float, q: float) -> tuple[Array, Array]:
    """Return ``P(edge_j <= X < edge_(j+1))`` along the last axis, and a bound on the error.

    Each is the difference of the two tails on its own side of the mean.
    """
    edges, n = np.asarray(edges, float), np.asarray(n, float)[..., None]
    upper, lower = tail(edges, n, p, q), tail(n - edges + 1, n, q, p)
    left, right = edges[..., :-1], edges[..., 1:]
    above = left > n * p
    first = np.where(above, upper[..., :-1], lower[..., 1:])
    second = np.where(above, upper[..., 1:], lower[..., :-1])
    chance = np.where(right > left, np.maximum(first - second, 0.0), 0.0)
    return chance, np.where(right > left, 2 * slack(n, p) * first, 0.0)


def _arrays(*values: Numbers) -> list[Any]:
    return list(np.broadcast_arrays(*(np.asarray(value, float) for value in values)))


def _stirling(n: Array) -> Array:
    """Return ``ln(n!) - ln(sqrt(2 pi n) (n/e)^n)`` for whole n >= 1."""
    few = _FEW[np.minimum(n, _TABLED - 1).astype(int)]
    square = 1 / np.square(np.maximum(n, _TABLED))
    series = 1 / 1260 - square * (1 / 1680 - square / 1188)
    many = (1 / 12 - square * (1 / 360 - square * series)) / np.maximum(n, _TABLED)
    return np.where(n < _TABLED, few, many)


def _deviance(x: Array, mean: Array) -> Array:
    """Return ``x ln(x/mean) + mean - x`` for positive x, without cancellation near the mean."""
    far = x * np.log(x / mean) + mean - x
    ratio = (x - mean) / (x + mean)
    near = (x - mean) * ratio
    power = 2 * x * ratio
    for j in range(1, _TERMS):
        power = power * ratio * ratio
        near = near + power / (2 * j + 1)
    return np.where(np.abs(ratio) < _CLOSE, near, far)
