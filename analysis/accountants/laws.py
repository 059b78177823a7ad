"""The distribution of a sum of losses, as masses on a grid, with all that was lost on the way.

What must never change: a law is never better for privacy than the truth. Masses are positive and
convolved directly, so each has a *relative* error, which is counted; a Fourier transform would
leave absolute errors of 1e-16, and nothing could be said about a delta of 1e-15. What is cut off
above counts as lost, an infinite loss; what is cut off below is moved up. Nothing so small is
kept that a product of two could leave the range of a float.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .losses import Losses

UNIT = 2.0**-52
"""Twice the relative error of one operation."""

_BLOCK = 4096

_PER_REPORT = 8 * UNIT  # of a report's probabilities, as they come out of a formula


@dataclass(frozen=True, eq=False)
class Law:
    """Masses at low, low + 1, ... steps of a grid.

    Attributes
    ----------
    low : int
    masses : array of float
    lost : float
        At most so much probability is elsewhere; its loss counts as infinite.
    error : float
        Each mass is at least 1 - error times one that is certified.
    """

    low: int
    masses: NDArray[np.float64]
    lost: float
    error: float

    def plus(self, other: Law) -> Law:
        """Return the law of an independent sum."""
        summed = min(len(self.masses), len(other.masses))
        return Law(
            self.low + other.low,
            _convolved(self.masses, other.masses),
            self.lost + other.lost,
            self.error + other.error + (summed + 2) * UNIT,
        )

    def trimmed(self, above: float, below: float) -> Law:
        """Return the law without its upper tail, lower tail, and all but impossible losses.

        The upper tail and what is all but impossible, at most ``above`` each, are lost. The lower
        tail, at most ``below``, is moved up to where the rest begins.
        """
        masses = self.masses
        upper = np.cumsum(masses[::-1])
        cut = min(int(np.searchsorted(upper, above, side="right")), len(masses) - 1)
        kept = masses[: len(masses) - cut]
        minute = kept < above / len(masses)
        lost = float(kept[minute].sum()) + (float(upper[cut - 1]) if cut else 0.0)
        kept = np.where(minute, 0.0, kept)
        lower = np.cumsum(kept)
        lifted = min(int(np.searchsorted(lower, below, side="right")), len(kept) - 1)
        kept = kept[lifted:].copy()
        kept[0] = lower[lifted]
        error = self.error + (len(masses) + 1) * UNIT
        return Law(self.low + lifted, kept, self.lost + lost * (1 + error), error)


def _convolved(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the convolution, in blocks so short that no dot product is given to threads.

    For those of a long one, threads would spend all their time in waiting for each other.
    """
    long, short = (one, other) if len(one) > len(other) else (other, one)
    total = np.zeros(len(long) + len(short) - 1)
    for start in range(0, len(short), _BLOCK):
        block = short[start : start + _BLOCK]
        total[start : start + len(long) + len(block) - 1] += np.convolve(long, block)
    return total


def composed(losses: Losses, reports: int, above: float, below: float) -> Law:
    """Return the law of the gains less the losses among T reports, by repeated doubling.

    Parameters
    ----------
    losses : Losses
    reports : int
        T.
    above, below : float
        Each time the number of reports doubles, tails of such masses in all may be cut off.
    """
    one = Law(-1, np.array([losses.loss, losses.none, losses.gain]), 0.0, _PER_REPORT)
    law, done = one.trimmed(above / reports, below / reports), 1
    for bit in format(reports, "b")[1:]:
        law, done = law.plus(law), 2 * done
        if bit == "1":
            law, done = law.plus(one), done + 1
        law = law.trimmed(above * done / reports, below * done / reports)
    return law
