"""1BitMean, one round or two, in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.protocol.mechanisms.one_bit import OneBitMean

from .grr import perturb, perturb_counts
from .reports import Counted, Reports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


class SimulatedOneBitMean(Counted[OneBitMean]):
    """A number rounded to a bit at a point of the device's own, then perturbed like a yes/no."""

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Round each symbol up if it lies above a uniform point, and perturb the bit."""
        import numpy as np

        points = rng.integers(0, self.mechanism.k - 1, len(symbols))
        bits = (symbols > points).astype(np.int64)
        return Reports(None, perturb(bits, self.mechanism.keep, 2, rng))

    def instant(self, permanent: Reports, rng: np.random.Generator) -> Reports:
        """Perturb each remembered bit again."""
        again = self.mechanism.keep_again
        if again is None:
            return permanent
        return Reports(None, perturb(permanent.outs, again, 2, rng))

    def permanent_cells(self, population: Integers, rng: np.random.Generator) -> Integers:
        """Symbol i is rounded up with probability i/(k-1)."""
        import numpy as np

        places = np.arange(self.mechanism.k) / (self.mechanism.k - 1)
        up = rng.binomial(population, places).sum()
        bits = np.array([population.sum() - up, up], dtype=np.int64)
        return perturb_counts(bits, self.mechanism.keep, rng)

    def instant_cells(self, permanent: Integers, rng: np.random.Generator) -> Integers:
        """Perturb the devices of each remembered bit together."""
        again = self.mechanism.keep_again
        return permanent if again is None else perturb_counts(permanent, again, rng)
