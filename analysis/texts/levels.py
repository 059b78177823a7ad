"""What the reports of one level say for each prefix, without the collisions of frequent ones.

A report of row j supports a bucket with probability p if its device's prefix is in it and with q
if not; so a bucket is expected to hold n_j/g of the n_j reports, and ``n_j (p-q) f (1 - 1/g)``
more where a prefix of frequency f is in it, ``n_j (p-q) f / g`` less where it is not. The score of
a prefix is the sum of its buckets' surpluses. For a prefix that nobody has it varies by

``n (1/g) (1 - 1/g)``, the noise, and by the collisions with those that somebody has.

Frequent prefixes are therefore fitted, by least squares and one generation after the other as long
as some stand out, and taken away; what the others' collisions add is measured in what is left.

References
----------
Pati, Rezaiifar, Krishnaprasad. Orthogonal matching pursuit. 1993.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..extras import extra
from .hash_rows import places, summed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .hash_rows import Residues

    Integers = NDArray[np.int64]
    Table = NDArray[np.float64]
    Vector = NDArray[np.float64]

_STAYS = 0.5
"""Standard deviations that a fitted prefix may fall below what it took to be fitted."""

_GENERATIONS = 12
_CROWDED = 8
"""At most one prefix is fitted for so many buckets, all rows together, and at most"""
_MOST = 512


@dataclass(frozen=True, eq=False)
class Level:
    """The reports of one level.

    Attributes
    ----------
    family, first : str, int
        Of its hash rows, see :mod:`.hash_rows`.
    slope : float
        p - q of a bucket.
    supports : array, shape (rows, g)
        Reports of each bucket.
    surplus : array, shape (rows, g)
        Of each bucket, beyond what is expected of it, fitted prefixes included.
    fitted : array of residues
        The prefixes that were fitted, all different.
    frequencies : array
        Of each of them.
    """

    family: str
    first: int
    slope: float
    supports: Table
    surplus: Table
    fitted: Residues
    frequencies: Vector

    @classmethod
    def of(cls, family: str, first: int, slope: float, supports: Integers) -> Level:
        """Return a level of which nothing is fitted."""
        with extra():
            import numpy as np
        table = supports.astype(np.float64)
        surplus = table - table.mean(axis=1, keepdims=True)
        nothing = np.zeros(0)
        return cls(family, first, slope, table, surplus, nothing.astype(np.uint64), nothing)

    @property
    def n(self) -> float:
        """Reports."""
        return float(self.supports.sum())

    @property
    def noise(self) -> float:
        """The variance of a score, but for collisions."""
        g = self.supports.shape[1]
        return float(self.n * (1 - 1 / g) / g)

    @property
    def unit(self) -> float:
        """The score of a prefix that all devices have."""
        return float(self.n * self.slope * (1 - 1 / self.supports.shape[1]))

    @property
    def error(self) -> float:
        """The standard error of the frequency of a rare prefix, but for collisions."""
        return float("inf") if not self.unit else float(self.noise**0.5 / self.unit)

    @property
    def inflation(self) -> float:
        """By how much the collisions that are left inflate the noise, 1 at least.

        One standard error of that is added, so that few cells do not make it too small.
        """
        import numpy as np

        g = self.supports.shape[1]
        reports = self.supports.sum(axis=1)
        used = int((reports > 0).sum())
        squares = float(((self.surplus**2).sum(axis=1) / np.maximum(reports, 1)).sum())
        free = used * (g - 1) - len(self.fitted)
        if free <= 0:
            return 1.0
        return max(1.0, float(squares * g / free * (1 + math.sqrt(2 / free))))

    @property
    def sigma(self) -> float:
        """The standard deviation of a score, with the collisions that are left."""
        return float((self.noise * self.inflation) ** 0.5)

    def scores(self, hashed: Residues, count: int = 1) -> Vector:
        """Return the score of each prefix and of those that follow it, see :func:`.summed`."""
        return summed(self.family, self.first, self.surplus, hashed, count).ravel()

    def buckets(self, hashed: Residues) -> Integers:
        """Return the bucket of each prefix in each row, shape (rows, prefixes)."""
        rows, g = self.supports.shape
        return places(self.family, range(self.first, self.first + rows), hashed, g)

    def scores_at(self, where: Integers) -> Vector:
        """Return the scores of prefixes by their buckets."""
        import numpy as np

        found: Vector = np.take_along_axis(self.surplus, where, axis=1).sum(axis=0)
        return found

    def own(self, hashed: Residues) -> Vector:
        """Return what is missing in the scores of prefixes since they were fitted."""
        import numpy as np

        order = np.argsort(self.fitted)
        at = np.searchsorted(self.fitted[order], hashed)
        at = order[np.minimum(at, len(order) - 1)] if len(order) else np.zeros(0, np.int64)
        found = np.zeros(len(hashed))
        if len(at):
            same = self.fitted[at] == hashed
            found[same] = self.frequencies[at[same]] * self.unit
        return found

    def cleared(self, pool: Residues, stands_out: float) -> Level:
        """Fit those of some prefixes that stand out by so many sigmas, until no other one does."""
        import numpy as np

        rows, g = self.supports.shape
        most = min(_MOST, rows * (g - 1) // _CROWDED)
        where, found, level = self.buckets(pool), np.zeros(0, dtype=np.int64), self
        for _ in range(_GENERATIONS):
            sigmas = level.scores_at(where) / max(self.noise, 1e-300) ** 0.5
            sigmas[found] = 0.0
            limit = max(stands_out * level.inflation**0.5, sigmas.max() / 2)
            new = np.flatnonzero(sigmas > limit)
            new = new[np.argsort(-sigmas[new], kind="stable")][: most - len(found)]
            if not len(new):
                break
            chosen = np.concatenate([found, new])
            level, found = self._fitted(pool, where, chosen, stands_out - _STAYS)
        return level

    def _fitted(
        self, pool: Residues, where: Integers, chosen: Integers, least: float
    ) -> tuple[Level, Integers]:
        """Fit some prefixes together, those of ``least`` sigmas; and return which are left."""
        while True:
            frequencies = self._solved(where[:, chosen])
            stays = frequencies > least * self.error
            if stays.all():
                break
            chosen = chosen[stays]
        surplus = self.surplus - self.expected(where[:, chosen], frequencies)
        level = replace(self, surplus=surplus, fitted=pool[chosen], frequencies=frequencies)
        return level, chosen

    def _solved(self, where: Integers) -> Vector:
        """Return the frequencies that fit the surplus best, each bucket weighed by its noise."""
        import numpy as np
        from scipy.linalg import lstsq
        from scipy.sparse import csr_array

        (rows, g), count = self.supports.shape, where.shape[1]
        at = (np.arange(rows)[:, None] * g + where).ravel()
        strings = np.tile(np.arange(count), rows)
        one = csr_array((np.ones(at.size), (at, strings)), shape=(rows * g, count))
        reports = np.repeat(self.supports.sum(axis=1), g)
        shared = (one.T @ one.multiply(reports[:, None]).tocsr()).toarray()
        matrix = self.slope * (shared - self.n / g)
        found: Vector = lstsq(matrix, self.scores_at(where), check_finite=False)[0]
        return found

    @property
    def unfitted(self) -> Table:
        """The surplus of each bucket as if nothing was fitted, shape (rows, g)."""
        found: Table = self.supports - self.supports.mean(axis=1, keepdims=True)
        return found

    def expected(self, where: Integers, frequencies: Vector) -> Table:
        """Return the surplus of buckets that hold prefixes of these frequencies."""
        import numpy as np

        g = self.supports.shape[1]
        held = np.stack([np.bincount(row, frequencies, minlength=g) for row in where])
        reports = self.supports.sum(axis=1, keepdims=True)
        expected: Table = self.slope * reports * (held - frequencies.sum() / g)
        return expected
