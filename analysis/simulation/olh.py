"""Local hashing (OLH, LOLOHA), in bulk."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING

from deniable.protocol.mechanisms.galois import field
from deniable.protocol.mechanisms.olh import OLH

from .grr import perturb, perturb_counts
from .reports import Counted, Reports, count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_FEW = 1 << 20
"""Fewer devices than these are quicker drawn one by one."""


class SimulatedOLH(Counted[OLH]):
    """Buckets kept or moved, row by row."""

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Hash each symbol by a row of its own, and perturb the bucket."""
        rows = rng.integers(0, self.mechanism.rows, len(symbols))
        inner = self.mechanism.buckets
        return Reports(rows, perturb(self._buckets(rows, symbols), inner.keep, inner.k, rng))

    def instant(self, permanent: Reports, rng: np.random.Generator) -> Reports:
        """Perturb each remembered bucket again."""
        inner = self.mechanism.buckets
        if inner.keep_again is None:
            return permanent
        return Reports(permanent.rows, perturb(permanent.outs, inner.keep_again, inner.k, rng))

    def permanent_cells(self, population: Integers, rng: np.random.Generator) -> Integers:
        """Spread the devices of each symbol over the rows, and perturb each row's buckets."""
        import numpy as np

        rows, g = self.mechanism.rows, self.mechanism.g
        if population.sum() < _FEW:
            symbols = np.repeat(np.arange(self.mechanism.k), population)
            return count(self.mechanism.shape, self.permanent(symbols, rng))
        even, every = np.full(rows, 1 / rows), np.arange(rows)
        table = np.zeros((rows, g), dtype=np.int64)
        for symbol in np.flatnonzero(population).tolist():
            spread = rng.multinomial(population[symbol], even)
            table[every, self._buckets(every, np.full(rows, symbol))] += spread
        return perturb_counts(table, self.mechanism.buckets.keep, rng).ravel()

    def instant_cells(self, permanent: Integers, rng: np.random.Generator) -> Integers:
        """Perturb the devices of each remembered bucket together."""
        again = self.mechanism.buckets.keep_again
        if again is None:
            return permanent
        table = permanent.reshape(self.mechanism.rows, self.mechanism.g)
        return perturb_counts(table, again, rng).ravel()

    @cached_property
    def _directions(self) -> list[Integers]:
        """The base-g digits of every row, the last one first; the leading one is 1."""
        import numpy as np

        g, m = self.mechanism.g, self.mechanism.digits
        leads = [np.arange(g**i, 2 * g**i) for i in range(m)]
        return _digits(np.concatenate(leads), g, m)

    @cached_property
    def _symbols(self) -> list[Integers]:
        import numpy as np

        return _digits(np.arange(self.mechanism.k), self.mechanism.g, self.mechanism.digits)

    def _buckets(self, rows: Integers, symbols: Integers) -> Integers:
        """Return the bucket of each symbol in its row, as ``OLH.bucket`` does one by one."""
        left = [digits[rows] for digits in self._directions]
        right = [digits[symbols] for digits in self._symbols]
        gf = field(self.mechanism.g)
        found: Integers
        if gf.degree == 1:
            found = gf.dot(left, right)
            return found
        sums, products = _tables(gf.order)
        found = products[left[0], right[0]]
        for x, y in zip(left[1:], right[1:], strict=True):
            found = sums[found, products[x, y]]
        return found


@cache
def _tables(g: int) -> tuple[Integers, Integers]:
    """Return x + y and x y for all x and y."""
    import numpy as np

    gf, elements = field(g), np.arange(g)
    return gf.add(elements[:, None], elements), gf.multiply(elements[:, None], elements)


def _digits(numbers: Integers, base: int, places: int) -> list[Integers]:
    return [numbers // base**i % base for i in range(places)]
