"""All bits of a response weighed together, by what each of them tells of two answers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NOISE = 2.0
"""Standard errors by which a bit must differ to count."""

_CUTS = 64


def weighed(
    one: NDArray[np.uint8], other: NDArray[np.uint8]
) -> tuple[Callable[[NDArray[np.uint8]], Floats], Floats]:
    """Return the log likelihood ratio of independent bits, and where to cut it.

    ``sum over bits of b ln(p/p') + (1-b) ln((1-p)/(1-p'))``, with p and p' the shares of devices
    that set the bit, of those that clearly differ.

    Parameters
    ----------
    one, other : array of 0 and 1
        A row for each device, a column for each bit.

    Returns
    -------
    score : callable
        From such an array to a number for each device: large speaks for the one answer.
    cuts : array
        Quantiles of the score.
    """
    p, p_other = (_share(bits) for bits in (one, other))
    error = np.sqrt(p * (1 - p) / len(one) + p_other * (1 - p_other) / len(other))
    kept = np.flatnonzero(np.abs(p - p_other) > _NOISE * error)
    p, p_other = p[kept], p_other[kept]
    unset = np.log((1 - p) / (1 - p_other))
    weights = np.log(p / p_other) - unset

    def score(bits: NDArray[np.uint8]) -> Floats:
        # Rounded, so that equal responses have equal scores whatever the order of summation.
        return np.asarray(np.round(bits[:, kept] @ weights + unset.sum(), 9), np.float64)

    everything = np.concatenate([score(one), score(other)])
    return score, np.unique(np.quantile(everything, np.linspace(0, 1, _CUTS), method="nearest"))


def _share(bits: NDArray[np.uint8]) -> Floats:
    """Return the share of devices that set each bit, never 0 or 1."""
    return np.asarray((bits.sum(0) + 0.5) / (len(bits) + 1), np.float64)
