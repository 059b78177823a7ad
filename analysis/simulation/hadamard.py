"""Hadamard response, in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.protocol.mechanisms.hadamard import HadamardResponse

from .coins import toss
from .reports import Counted, Reports, count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_FEW = 1 << 20
"""Fewer devices than these are quicker drawn one by one."""


class SimulatedHadamard(Counted[HadamardResponse]):
    """A column, more often one where the symbol's row is +1."""

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Draw a column; if it has the wrong sign, turn over the lowest bit of the row."""
        import numpy as np

        rows = symbols + 1
        minus = ~toss(rng, self.mechanism.plus, len(symbols))
        columns = rng.integers(0, self.mechanism.columns, len(symbols), dtype=np.int32)
        wrong = _is_minus(rows, columns) ^ minus
        return Reports(None, columns ^ np.where(wrong, rows & -rows, 0))

    def permanent_cells(self, population: Integers, rng: np.random.Generator) -> Integers:
        """Draw from the half of +1 alone with probability 2p - 1, else from all columns alike."""
        import numpy as np

        if population.sum() < _FEW:
            symbols = np.repeat(np.arange(self.mechanism.k), population)
            return count(self.mechanism.shape, self.permanent(symbols, rng))
        columns = np.arange(self.mechanism.columns)
        held = rng.binomial(population, float(2 * self.mechanism.p - 1))
        loose = int((population - held).sum())
        tally = rng.multinomial(loose, np.full(len(columns), 1 / len(columns))).astype(np.int64)
        even = np.full(len(columns) // 2, 2 / len(columns))
        for symbol in np.flatnonzero(held).tolist():
            tally[~_is_minus(np.int64(symbol + 1), columns)] += rng.multinomial(held[symbol], even)
        return tally


def _is_minus(rows: Integers | np.int64, columns: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return where the matrix has -1."""
    import numpy as np

    odd: NDArray[np.bool_] = (np.bitwise_count(rows & columns) & 1).astype(np.bool_)
    return odd
