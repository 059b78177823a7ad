"""Unary encodings (SUE and OUE, one round or two), in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.protocol.exact import SCALE
from deniable.protocol.mechanisms.unary import Unary

from .coins import toss
from .reports import Counted, Reports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


class SimulatedUnary(Counted[Unary]):
    """One coin for each symbol; given the population, the columns' sums are independent."""

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Toss all bits as if they were of other symbols, then those of the true ones again."""
        import numpy as np

        n, k = len(symbols), self.mechanism.k
        bits = toss(rng, self.mechanism.other_bit, n * k).reshape(n, k)
        bits[np.arange(n), symbols] = toss(rng, self.mechanism.true_bit, n)
        return Reports(None, bits)

    def instant(self, permanent: Reports, rng: np.random.Generator) -> Reports:
        """Turn each remembered bit over with probability 1 - p2 = q2."""
        again = self.mechanism.bit_again
        if again is None:
            return permanent
        bits = permanent.outs
        turned = toss(rng, SCALE - again, bits.size).reshape(bits.shape)
        return Reports(None, bits ^ turned)

    def permanent_cells(self, population: Integers, rng: np.random.Generator) -> Integers:
        """Bin(n_v, p1) + Bin(n - n_v, q1) for each symbol v."""
        p1, q1 = self.mechanism.first
        return _both(population, int(population.sum()), float(p1), float(q1), rng)

    def instant_cells(self, permanent: Integers, rng: np.random.Generator) -> Integers:
        """Bin(S_v, p2) + Bin(n - S_v, q2) for S_v remembered bits."""
        if self.mechanism.second is None:
            return permanent
        p2, q2 = self.mechanism.second
        return _both(permanent[:-1], int(permanent[-1]), float(p2), float(q2), rng)


def _both(ones: Integers, n: int, p: float, q: float, rng: np.random.Generator) -> Integers:
    import numpy as np

    return np.append(rng.binomial(ones, p) + rng.binomial(n - ones, q), n)
