"""Different reports: the distribution of their total loss, on one grid, never below the truth.

First the exact law of each kind of report, on the lattice of its own epsilon; then all of them on
a grid of about 2^14 steps, counted down from the largest total; then the law of the sum, and its
epsilon. A loss l between two steps a < b of the grid is divided between them so that
``E[e^-loss]`` stays: for each e, what a loss adds to delta, ``max(0, 1 - e^(e-l))``, is convex in
e^-l, whatever the other losses are, so delta can only grow. Rounding all up would do too, but
costs half a step for each kind of report; this costs a step's square.

References
----------
Kairouz, Oh, Viswanath. The composition theorem for differential privacy. ICML 2015.
Meiser, Mohammadi. Tight on budget? Tight bounds for r-fold approximate differential privacy.
CCS 2018 (losses rounded up on a grid, and the mass of an infinite loss).
Doroshenko et al. Connect the dots: tighter discrete approximations of privacy loss distributions.
PETS 2022 (the division between two steps).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from .laws import UNIT, Law, composed
from .losses import Losses

SMALLEST_DELTA = 1e-100
"""Below it, products of masses could leave the range of a float."""

_LOST = 2.0**-40  # of delta: what each cut may lose above
_LIFTED = 2.0**-30  # what each cut may move up below
_GRID = 2**14
_WIDEST = 2**16  # steps that no law is wider than, before its tails are cut
_FINEST = 2.0**-36  # a step, relative to the largest total
_SMALLEST_STEP = 2.0**-200
_UPWARDS = 1 + 4 * UNIT
_DOWNWARDS = 1 - 4 * UNIT
_LARGEST_ERROR = 2.0**-10
_DIVISION = 32  # roundings when a mass is divided between two steps
_BISECTIONS = 100
_SHARP = 2.0**-44  # where bisection ends


def mixture(counted: Mapping[Losses, int], delta: float) -> float | None:
    """Return an epsilon for which different independent reports are (epsilon, delta)-LDP.

    If there is only one kind, it stays on its own lattice. Otherwise the result is above the least
    one by little more than the square of a step of the grid for each kind of report. It is
    certified: tails, rounding and floating-point errors all count against it.

    Parameters
    ----------
    counted : mapping of Losses to int
        How many reports there are of each kind.
    delta : float
        In (0, 1).

    Returns
    -------
    float or None
        None if the errors would exceed a thousandth of delta, or delta is below 1e-100.
    """
    if delta < SMALLEST_DELTA:
        return None
    lost = delta * _LOST
    laws = [composed(losses, n, lost, _LIFTED) for losses, n in counted.items()]
    places = [_losses_of(law, losses) for law, losses in zip(laws, counted, strict=True)]
    if len(laws) == 1:
        return epsilon_of(laws[0], places[0], delta)
    step = _step(places)
    divided = [_on_grid(law, at, step) for law, at in zip(laws, places, strict=True)]
    total = _summed(divided, lost)
    top = math.fsum(float(at[-1]) for at in places)
    below = (total.low + np.arange(len(total.masses), dtype=np.float64)) * step
    return epsilon_of(total, top + below + 4 * UNIT * (abs(top) - below[0]), delta)


def epsilon_of(law: Law, losses: NDArray[np.float64], delta: float) -> float | None:
    """Return the least epsilon at which a law of the total loss needs no more than ``delta``.

    ``lost + sum over l > epsilon of P(l) (1 - e^(epsilon-l)) <= delta``, by bisection: a sum of
    positive terms, so that nothing cancels. ``losses`` are those of the law's masses, ascending.
    """
    masses, losses = law.masses[losses > 0], losses[losses > 0]
    error = law.error + (len(masses) + _DIVISION) * UNIT
    allowed = delta * (1 - 2 * error) - law.lost
    if error > _LARGEST_ERROR or allowed <= 0:
        return None

    def needed(epsilon: float) -> float:
        beyond = np.searchsorted(losses, epsilon, side="right")
        return -float(np.sum(masses[beyond:] * np.expm1(epsilon - losses[beyond:])))

    if not len(losses) or needed(0.0) <= allowed:
        return 0.0
    low, high = 0.0, float(losses[-1])
    for _ in range(_BISECTIONS):
        if high - low <= _SHARP * high:
            break
        middle = (low + high) / 2
        low, high = (low, middle) if needed(middle) <= allowed else (middle, high)
    return high * _UPWARDS


def _losses_of(law: Law, losses: Losses) -> NDArray[np.float64]:
    """Return what each place of the lattice means as a loss, rounded up."""
    count = law.low + np.arange(len(law.masses), dtype=np.float64)
    return np.where(count > 0, count * losses.epsilon * _UPWARDS, count * losses.back)


def _step(places: list[NDArray[np.float64]]) -> float:
    """Return a power of two, by which division is exact: about 2^14 of them span the total."""
    spans = [float(at[-1] - at[0]) for at in places]
    largest = sum(abs(float(at[-1])) for at in places)
    step = max(math.hypot(*spans) / _GRID, sum(spans) / _WIDEST, largest * _FINEST)
    return math.ldexp(1.0, math.ceil(math.log2(max(step, _SMALLEST_STEP))))


def _on_grid(law: Law, losses: NDArray[np.float64], step: float) -> Law:
    """Divide the masses between the steps around their losses, counted down from the largest."""
    place = (losses - losses[-1]) * _DOWNWARDS / step
    lower = np.floor(place)
    within = (place - lower) * step
    whole = -math.expm1(-step)
    upper_share = -np.expm1(-within) / whole
    lower_share = np.exp(-within) * -np.expm1(within - step) / whole
    low = int(lower[0])
    cells = (lower - low).astype(np.int64)
    masses = np.zeros(2 - low)
    masses += np.bincount(cells, law.masses * lower_share, 2 - low)
    masses += np.bincount(cells + 1, law.masses * upper_share, 2 - low)
    return Law(low, masses[: 1 - low], law.lost, law.error + (len(place) + _DIVISION) * UNIT)


def _summed(laws: list[Law], lost: float) -> Law:
    """Return the law of the sum, adding the two narrowest until one is left."""
    while len(laws) > 1:
        first, second, *rest = sorted(laws, key=lambda law: len(law.masses))
        laws = [*rest, first.plus(second).trimmed(lost, _LIFTED)]
    return laws[0]
