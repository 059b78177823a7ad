"""Populations on a grid of k points, and how their reports are distributed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.protocol.mechanisms.band import Band
from deniable.protocol.mechanisms.scale import Scale

Floats = NDArray[np.float64]


def uniform(k: int) -> Floats:
    """Everywhere alike."""
    return np.full(k, 1 / k)


def visits(k: int) -> Floats:
    """A spike at the lower end and a thin tail, like visits to a doctor."""
    tail = np.exp(-8 * np.arange(k) / (k - 1))
    tail *= 0.6 / tail.sum()
    tail[0] += 0.4
    return tail


def two_hills(k: int) -> Floats:
    """Two hills with hardly anyone between them."""
    x = np.arange(k) / (k - 1)
    hills = np.exp(-((x - 0.25) ** 2) / 0.0072) + 0.7 * np.exp(-((x - 0.75) ** 2) / 0.0128)
    return np.asarray(hills / hills.sum())


def one_point(k: int) -> Floats:
    """Everybody at one point."""
    point = np.zeros(k)
    point[int(0.37 * (k - 1))] = 1
    return point


POPULATIONS: dict[str, Callable[[int], Floats]] = {
    "uniform": uniform,
    "visits": visits,
    "two hills": two_hills,
    "one point": one_point,
}


def chances(mechanism: Scale, frequencies: Floats) -> Floats:
    """The probability of each cell of one report, from the mechanism's own law."""
    k, cells = mechanism.k, mechanism.shape.cells
    if isinstance(mechanism, Band):
        setups: dict[int, Fraction] = {0: Fraction(1)}
    else:
        setups = {setup: Fraction(1, k - 1) for setup in range(k - 1)}
    rounds: Any = 1 if mechanism.epsilon_first is None else 2
    chance = np.zeros(cells)
    for setup, weight in setups.items():
        for value in range(k):
            memo = mechanism.memo(setup, value)
            assert memo is not None
            for response, mass in mechanism.law(setup, memo, rounds).items():
                chance[response.out] += float(weight * mass) * frequencies[value]
    return np.asarray(chance / chance.sum())
