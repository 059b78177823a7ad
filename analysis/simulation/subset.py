"""Subset selection, in bulk: report by report, for a tally's columns depend on each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.protocol.exact import SCALE
from deniable.protocol.mechanisms.subset import SubsetSelection

from .coins import toss
from .reports import Reports, Simulator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bits = NDArray[np.bool_]
    Integers = NDArray[np.int64]


class SimulatedSubset(Simulator[SubsetSelection]):
    """The true symbol or not, and uniform others."""

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Toss a coin for each other symbol, and then set or clear some until as many are set.

        A set of independent coins is uniform among those of its size, and adding a uniform
        absent symbol, or taking away a uniform present one, keeps it so.
        """
        import numpy as np

        n, k, weight = len(symbols), self.mechanism.k, self.mechanism.weight
        devices = np.arange(n)
        true = toss(rng, self.mechanism.inside, n)
        bits = toss(rng, SCALE * weight // k, n * k).reshape(n, k)
        bits[devices, symbols] = False
        _adjust(bits, symbols, weight - true, rng)
        bits[devices, symbols] = true
        return Reports(None, bits)


def _adjust(bits: Bits, symbols: Integers, sizes: Integers, rng: np.random.Generator) -> None:
    """Set or clear uniform bits of each row, but never that of its symbol, until it has its size.

    A uniform place is proposed again and again; it is taken if it has the bit that is too many.
    """
    import numpy as np

    excess = np.count_nonzero(bits, axis=1) - sizes
    rows = np.flatnonzero(excess)
    while len(rows):
        places = rng.integers(0, bits.shape[1] - 1, len(rows))
        places += places >= symbols[rows]
        fits = bits[rows, places] == (excess[rows] > 0)
        taken = rows[fits]
        bits[taken, places[fits]] ^= True
        excess[taken] -= np.sign(excess[taken])
        rows = rows[excess[rows] != 0]
