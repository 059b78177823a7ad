"""Count mean sketches (CMS and HCMS) in bulk.

A device's row, and with HCMS its column, are independent of its text; and given those and its
bucket, all its bits are independent coins. So a tally follows from how many devices are in each
row and bucket, whatever texts brought them there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deniable.protocol.exact import SCALE
from deniable.protocol.mechanisms.cms import CMS
from deniable.protocol.mechanisms.hcms import HCMS

from ..texts.hash_rows import own_places, residues
from .coins import toss
from .reports import Open, Population, Reports
from .spreading import spread
from .symmetric import turn, turn_counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_FEW = 1 << 22
"""Fewer devices than these are quicker put into columns one by one."""


class SimulatedCMS(Open[CMS]):
    """A bucket's bit for each device, and coins for all bits."""

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Draw a row for each device, and turn over some of its bits."""
        import numpy as np

        of = self.mechanism
        rows = rng.integers(0, of.rows, len(symbols))
        buckets = own_places(of.name, 0, rows, residues(symbols.tolist()), of.width)
        bits = buckets[:, None] == np.arange(of.width)
        return Reports(rows if of.rows > 1 else None, turn(bits, of.keep, rng))

    def instant(self, permanent: Reports, rng: np.random.Generator) -> Reports:
        """Turn over some of the remembered bits."""
        again = self.mechanism.keep_again
        if again is None:
            return permanent
        return Reports(permanent.rows, turn(permanent.outs, again, rng))

    def cells_of(self, population: Population, rng: np.random.Generator) -> Integers:
        """Spread the devices over rows and buckets, and toss each row's bits together."""
        of = self.mechanism
        devices = spread(of.name, range(of.rows), of.width, population, rng)
        return turn_counts(devices, devices.sum(axis=1, keepdims=True), of.keep, rng)

    def instant_cells(self, permanent: Integers, rng: np.random.Generator) -> Integers:
        """Toss the remembered bits of each row together."""
        again = self.mechanism.keep_again
        if again is None:
            return permanent
        table = permanent.reshape(self.mechanism.rows, -1)
        return turn_counts(table[:, :-1], table[:, -1:], again, rng)


class SimulatedHCMS(Open[HCMS]):
    """A sign for each device, kept or turned over."""

    def permanent(self, symbols: Integers, rng: np.random.Generator) -> Reports:
        """Draw a row and a column for each device, and turn over some signs."""
        of = self.mechanism
        setups = rng.integers(0, of.rows * of.width, len(symbols))
        rows, columns = setups // of.width, setups % of.width
        buckets = own_places(of.name, 0, rows, residues(symbols.tolist()), of.width)
        bits = _plus(buckets, columns) ^ toss(rng, SCALE - of.keep, len(symbols))
        return Reports(setups, bits.astype("int64"))

    def instant(self, permanent: Reports, rng: np.random.Generator) -> Reports:
        """Turn over some of the remembered signs."""
        again = self.mechanism.keep_again
        if again is None:
            return permanent
        turned = toss(rng, SCALE - again, len(permanent.outs))
        return Reports(permanent.rows, permanent.outs ^ turned)

    def cells_of(self, population: Population, rng: np.random.Generator) -> Integers:
        """Spread the devices over rows, buckets and columns, and toss those of a sign together."""
        of = self.mechanism
        devices = spread(of.name, range(of.rows), of.width, population, rng)
        return _turned(_signs(devices, rng), of.keep, rng)

    def instant_cells(self, permanent: Integers, rng: np.random.Generator) -> Integers:
        """Toss the remembered signs of each column together."""
        again = self.mechanism.keep_again
        if again is None:
            return permanent
        return _turned(permanent.reshape(-1, 2), again, rng)


def _signs(devices: Integers, rng: np.random.Generator) -> Integers:
    """Return how many devices have -1 and +1 in each setup, shape (rows * width, 2).

    ``devices`` holds how many are in each row and bucket.
    """
    import numpy as np

    rows, width = devices.shape
    every = np.arange(width)
    signs = np.zeros((rows, width, 2), dtype=np.int64)
    if devices.sum() < _FEW:
        places = np.repeat(np.arange(devices.size), devices.ravel())
        columns = rng.integers(0, width, len(places))
        bits = _plus(places % width, columns)
        at = (places // width * width + columns) * 2 + bits
        return np.bincount(at, minlength=signs.size).astype(np.int64).reshape(-1, 2)
    plus = _plus(every[:, None], every)
    for row, each in enumerate(devices):
        spread_out = rng.multinomial(each, np.full(width, 1 / width))
        signs[row, :, 1] = np.where(plus, spread_out, 0).sum(axis=0)
        signs[row, :, 0] = spread_out.sum(axis=0) - signs[row, :, 1]
    return signs.reshape(-1, 2)


def _plus(buckets: Integers, columns: Integers) -> NDArray[np.bool_]:
    """Return where the matrix has +1."""
    import numpy as np

    even: NDArray[np.bool_] = np.bitwise_count(buckets & columns) % 2 == 0
    return even


def _turned(signs: Integers, keep: int, rng: np.random.Generator) -> Integers:
    """Return the cells after each sign was kept or turned over."""
    import numpy as np

    ones = rng.binomial(signs[:, 1], keep / SCALE)
    ones += rng.binomial(signs[:, 0], (SCALE - keep) / SCALE)
    return np.stack([signs.sum(axis=1) - ones, ones], axis=1).ravel()
