"""Bits that are kept or turned over, row by row, in bulk: RAPPOR and dBitFlip.

Given which devices are in which row, and the bits before any noise, all noisy bits are
independent coins; so a tally's columns are binomial.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from deniable.protocol.exact import SCALE
from deniable.protocol.mechanisms.bloom import positions
from deniable.protocol.mechanisms.dbitflip import DBitFlip
from deniable.protocol.mechanisms.rappor import Rappor

from .coins import toss
from .reports import Counted, Reports

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bits = NDArray[np.bool_]
    Integers = NDArray[np.int64]

S = TypeVar("S", DBitFlip, Rappor)


class _Symmetric(Counted[S]):
    """Where the bits before any noise come from is left to subclasses."""

    @abstractmethod
    def clear(self, rows: Integers, symbols: Integers) -> Bits:
        """Return the bits of devices before any noise, shape (n, width)."""

    @abstractmethod
    def clear_cells(self, spread: Integers) -> Integers:
        """Return the sums of the bits before any noise, shape (rows, width).

        ``spread`` holds how many devices of each symbol are in each row, shape (rows, k).
        """

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Draw a row for each device, and turn over some of its bits."""
        rows = rng.integers(0, self.mechanism.shape.rows, len(symbols))
        bits = turn(self.clear(rows, symbols), self.mechanism.keep, rng)
        return Reports(rows if self.mechanism.shape.rows > 1 else None, bits)

    def instant(self, permanent: Reports, rng: np.random.Generator) -> Reports:
        """Turn over some of the remembered bits."""
        again = self.mechanism.keep_again
        if again is None:
            return permanent
        return Reports(permanent.rows, turn(permanent.outs, again, rng))

    def permanent_cells(self, population: Integers, rng: np.random.Generator) -> Integers:
        """Spread the devices of each symbol over the rows, and toss each row's bits together."""
        import numpy as np

        rows = self.mechanism.shape.rows
        spread = rng.multinomial(population, np.full(rows, 1 / rows)).T
        return turn_counts(
            self.clear_cells(spread), spread.sum(axis=1, keepdims=True), self.mechanism.keep, rng
        )

    def instant_cells(self, permanent: Integers, rng: np.random.Generator) -> Integers:
        """Toss the remembered bits of each row together."""
        again = self.mechanism.keep_again
        if again is None:
            return permanent
        table = permanent.reshape(self.mechanism.shape.rows, -1)
        return turn_counts(table[:, :-1], table[:, -1:], again, rng)


class SimulatedDBitFlip(_Symmetric[DBitFlip]):
    """A row is about the values that begin at its own number."""

    def clear(self, rows: Integers, symbols: Integers) -> Bits:
        """Set the bit about the value, if there is one."""
        import numpy as np

        places = (symbols - rows) % self.mechanism.k
        bits: Bits = places[:, None] == np.arange(self.mechanism.bits)
        return bits

    def clear_cells(self, spread: Integers) -> Integers:
        """Bit j of row r is about the value r + j."""
        import numpy as np

        rows = np.arange(len(spread))[:, None]
        about: Integers = spread[rows, (rows + np.arange(self.mechanism.bits)) % self.mechanism.k]
        return about


class SimulatedRappor(_Symmetric[Rappor]):
    """A row is a cohort, with a Bloom filter for each symbol."""

    @property
    def _filters(self) -> Integers:
        of = self.mechanism
        return filters(of.k, of.bits, of.hashes, of.cohorts)

    def clear(self, rows: Integers, symbols: Integers) -> Bits:
        """Set the bits of the filters."""
        import numpy as np

        bits = np.zeros((len(symbols), self.mechanism.bits), dtype=np.bool_)
        bits[np.arange(len(symbols))[:, None], self._filters[rows, symbols]] = True
        return bits

    def clear_cells(self, spread: Integers) -> Integers:
        """Add the devices of each symbol to the bits of its filter."""
        import numpy as np

        sums = np.zeros((len(spread), self.mechanism.bits), dtype=np.int64)
        rows = np.arange(len(spread))[:, None, None]
        np.add.at(sums, (rows, self._filters), spread[:, :, None])
        return sums


@lru_cache(maxsize=4)
def filters(k: int, bits: int, hashes: int, cohorts: int) -> Integers:
    """Return the bits that each symbol sets in each cohort, shape (cohorts, k, hashes)."""
    import numpy as np

    return np.array(
        [[positions(c, v, bits, hashes) for v in range(k)] for c in range(cohorts)], dtype=np.int64
    )


def turn(bits: Bits, keep: int, rng: np.random.Generator) -> Bits:
    """Keep each bit with probability keep / 2^64, or turn it over."""
    turned: Bits = bits ^ toss(rng, SCALE - keep, bits.size).reshape(bits.shape)
    return turned


def turn_counts(ones: Integers, n: Integers, keep: int, rng: np.random.Generator) -> Integers:
    """Return the cells after so many set bits, and the others of n, were kept or turned over."""
    import numpy as np

    stays = rng.binomial(ones, keep / SCALE)
    comes = rng.binomial(n - ones, (SCALE - keep) / SCALE)
    return np.concatenate([stays + comes, n], axis=1).ravel()
