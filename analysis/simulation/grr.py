"""Generalised randomized response, one round or two, in bulk."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.protocol.exact import SCALE
from deniable.protocol.mechanisms.grr import GRR

from .coins import toss
from .reports import Counted, Reports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


def perturb(symbols: Integers, keep: int, k: int, rng: np.random.Generator) -> Integers:
    """Keep each symbol with probability keep / 2^64, or move it to a uniform other one."""
    import numpy as np

    kept = toss(rng, keep, len(symbols))
    others = rng.integers(0, k - 1, len(symbols), dtype=np.int32).astype(np.int64)
    others += others >= symbols
    return np.where(kept, symbols, others)


def perturb_counts(counts: Integers, keep: int, rng: np.random.Generator) -> Integers:
    """Perturb the symbols of so many devices each, and return how many have each symbol then.

    To keep with p and move to a given other one with q is to hold on with p - q and to draw
    from all k symbols alike otherwise: k binomials and one multinomial, not k of them.

    Parameters
    ----------
    counts : array of int, shape (..., k)
        Every row by itself.
    """
    import numpy as np

    k = counts.shape[-1]
    p = Fraction(keep, SCALE)
    q = (1 - p) / (k - 1)
    held = rng.binomial(counts, float(p - q))
    loose = (counts - held).sum(axis=-1)
    return held + rng.multinomial(loose, np.full(k, 1 / k))


class SimulatedGRR(Counted[GRR]):
    """Symbols kept or moved."""

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Perturb each symbol."""
        return Reports(None, perturb(symbols, self.mechanism.keep, self.mechanism.k, rng))

    def instant(self, permanent: Reports, rng: np.random.Generator) -> Reports:
        """Perturb each remembered symbol again."""
        again = self.mechanism.keep_again
        if again is None:
            return permanent
        return Reports(None, perturb(permanent.outs, again, self.mechanism.k, rng))

    def permanent_cells(self, population: Integers, rng: np.random.Generator) -> Integers:
        """Perturb the devices of each symbol together."""
        return perturb_counts(population, self.mechanism.keep, rng)

    def instant_cells(self, permanent: Integers, rng: np.random.Generator) -> Integers:
        """Perturb the devices of each remembered symbol together."""
        again = self.mechanism.keep_again
        return permanent if again is None else perturb_counts(permanent, again, rng)
