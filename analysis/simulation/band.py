"""Band mechanisms (piecewise, square wave), in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.protocol.mechanisms.band import Band

from .coins import toss
from .reports import Counted, Reports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


class SimulatedBand(Counted[Band]):
    """A cell of the symbol's band, or one of the others."""

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Draw a cell on either side of the edge, and choose the side."""
        import numpy as np

        n, width = len(symbols), self.mechanism.width_of_band
        inside = toss(rng, self.mechanism.inside, n)
        others = rng.integers(0, self.mechanism.k - 1, n)
        others += np.where(others >= symbols, width, 0)
        return Reports(None, np.where(inside, symbols + rng.integers(0, width, n), others))

    def permanent_cells(self, population: Integers, rng: np.random.Generator) -> Integers:
        """Draw from the band alone with probability (a-b) c, else from all cells alike."""
        import numpy as np

        cells, width = self.mechanism.shape.width, self.mechanism.width_of_band
        held = rng.binomial(population, float(self.mechanism.slope))
        loose = int((population - held).sum())
        tally = rng.multinomial(loose, np.full(cells, 1 / cells)).astype(np.int64)
        even = np.full(width, 1 / width)
        for symbol in np.flatnonzero(held).tolist():
            tally[symbol : symbol + width] += rng.multinomial(held[symbol], even)
        return tally
