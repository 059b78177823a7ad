"""What a row says and how far off it may be: the one signal of a yes/no, the other of a counter.

Both make of a row a term of least squares: its score, whose mean is ``f_t - f_(t - 2^h)`` (of the
first row of a level f_t, less a known centre), its conductance, and the honest variance of any
weighted sum of scores. Devices are taken to be drawn independently, each with one level, so that
levels are independent of each other; the rows of one level are of the same devices, and are not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Generic, TypeVar

from deniable.protocol.errors import DocumentError
from deniable.protocol.mechanisms.base import Mechanism
from deniable.protocol.mechanisms.counter import Counter
from deniable.protocol.mechanisms.dyadic import Dyadic
from deniable.protocol.mechanisms.trajectory import Future, Trajectory

from .rows import Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_M = TypeVar("_M", bound=Dyadic)

_MORE = 4
"""Reports that say nothing and are added where a share is plugged into a variance, so that a few
that all say the same do not claim certainty (Agresti and Coull)."""


@dataclass(frozen=True)
class Signal(ABC, Generic[_M]):
    """How the rows of one mechanism are read."""

    mechanism: _M

    centre: float
    """What is added to the estimate of every period."""

    @abstractmethod
    def scores(self, rows: Rows) -> Array:
        """Return the unbiased score of each row."""

    @abstractmethod
    def conductance(self, rows: Rows) -> Array:
        """Return one over the variance of each score, for least squares.

        Nearly: it is made of numbers of reports alone.
        """

    @abstractmethod
    def reach(self, rows: Rows) -> Array:
        """Return the largest score that one report alone can have in each row."""

    @abstractmethod
    def variances(self, rows: Rows, weights: Array) -> Array:
        """Return the variance of each weighted sum of scores; rather too much than too little.

        Parameters
        ----------
        rows : Rows
        weights : array of float, shape (sums, rows)
        """


class YesNo(Signal[Trajectory]):
    """The answer, then its changes: a report is s = +1 or -1, of mean gap times what is said.

    A weighted sum of one device's reports has the second moment ``sum w^2``, and between reports
    that both say something the noise drawn in advance adds ``kappa w_i w_j x_i x_j``, kappa the
    mean product of two of its signs. What a device says alternates between up and down, so that
    is at most ``kappa (1 - 1/b) M^2``, M the largest alternating sum of weights: a bound, whatever
    the answers; the square of the mean is plugged in. Reports are taken to come from the same
    devices in all periods; where they do not, they are less correlated.
    """

    def __init__(self, mechanism: Trajectory) -> None:
        super().__init__(mechanism, 0.5)

    def scores(self, rows: Rows) -> Array:
        """``s / gap``, and half of it in the first row of a level."""
        found: Array = (2 * rows.ones / rows.reports - 1) * self._unit(rows)
        return found

    def conductance(self, rows: Rows) -> Array:
        """``n gap^2``, and four times that in the first row of a level."""
        found: Array = rows.reports / self._unit(rows) ** 2
        return found

    def reach(self, rows: Rows) -> Array:
        """``1 / gap``, and half of it in the first row of a level."""
        return self._unit(rows)

    def variances(self, rows: Rows, weights: Array) -> Array:
        """As above, for each level; at least what the noise alone adds."""
        import numpy as np

        terms = weights * self._unit(rows) / np.sqrt(rows.reports)
        shares = (2 * rows.ones - rows.reports) / (rows.reports + _MORE)
        total = np.zeros(len(weights))
        for level, future in enumerate(self.mechanism.futures):
            own = rows.level == level
            if not own.any():
                continue
            part = terms[:, own]
            squares = (part**2).sum(axis=1)
            together = squares + _shared(future) * _alternating(part, future.bits) ** 2
            least = squares * float(1 - future.gap**2)
            total += np.maximum(together - (part @ shares[own]) ** 2, least)
        return total

    def _unit(self, rows: Rows) -> Array:
        import numpy as np

        gaps = np.array([float(future.gap) for future in self.mechanism.futures])
        found: Array = 1 / gaps[rows.level] / np.where(rows.first, 2, 1)
        return found


def _shared(future: Future) -> float:
    """Return ``kappa (1 - 1/b)``: kappa is the mean product of two signs of the bits drawn."""
    b = future.bits
    if b < 2:
        return 0.0
    moment = sum(
        (comb(b, ones) * future.mass(ones) * (b - 2 * ones) ** 2 for ones in range(b + 1)),
        start=Fraction(0),
    )
    return float(max((moment - b) / (b * b), Fraction(0)))


def _alternating(terms: Array, most: int) -> Array:
    """Bound the absolute alternating sum of at most ``most`` of the terms in each row, in order."""
    import numpy as np

    up, down = np.zeros(len(terms)), np.zeros(len(terms))
    for column in terms.T:
        up, down = np.maximum(up, down + column), np.maximum(down, up - column)
    fewest = max(0, terms.shape[1] - most)
    largest = np.partition(np.abs(terms), fewest, axis=1)[:, fewest:].sum(axis=1)
    found: Array = np.minimum(np.maximum(up, down), largest)
    return found


class Place(Signal[Counter]):
    """Where a number that only rises is in its range: a report is 1 with p or q.

    Of a device's reports one at most has p, where its rounded bit rose. Given that, its reports
    are independent, so their covariance is ``-(p-q)^2 u_i u_j``, u the shares that rose.
    """

    def __init__(self, mechanism: Counter) -> None:
        super().__init__(mechanism, 0.0)

    def scores(self, rows: Rows) -> Array:
        """``(C/n - q) / (p - q)``."""
        found: Array = self._excess(rows) / float(self.mechanism.p - self.mechanism.q)
        return found

    def conductance(self, rows: Rows) -> Array:
        """``n (p-q)^2 / (q (1-q))``."""
        q, gap = float(self.mechanism.q), float(self.mechanism.p - self.mechanism.q)
        found: Array = rows.reports * gap**2 / (q * (1 - q))
        return found

    def reach(self, rows: Rows) -> Array:
        """``(1-q) / (p-q)``."""
        import numpy as np

        q = float(self.mechanism.q)
        return np.full(len(rows), (1 - q) / float(self.mechanism.p - self.mechanism.q))

    def variances(self, rows: Rows, weights: Array) -> Array:
        """As above, shares plugged in and clipped; at least what the noise alone adds."""
        import numpy as np

        p, q = float(self.mechanism.p), float(self.mechanism.q)
        terms = weights / (p - q) / np.sqrt(rows.reports)
        g = np.clip(rows.ones / rows.reports, q, p)
        parts = terms * self._excess(rows)
        total = (terms**2) @ (g * (1 - g))
        for level in range(self.mechanism.levels):
            own = parts[:, rows.level == level]
            total -= own.sum(axis=1) ** 2 - (own**2).sum(axis=1)
        found: Array = np.maximum(total, (terms**2).sum(axis=1) * q * (1 - q))
        return found

    def _excess(self, rows: Rows) -> Array:
        found: Array = rows.ones / rows.reports - float(self.mechanism.q)
        return found


def signal_of(mechanism: Mechanism) -> YesNo | Place:
    """Return how the rows of a mechanism are read.

    Raises
    ------
    DocumentError
        If this version cannot.
    """
    if isinstance(mechanism, Trajectory):
        return YesNo(mechanism)
    if isinstance(mechanism, Counter):
        return Place(mechanism)
    raise DocumentError(f"decoder {mechanism.decoder} is unknown; upgrade deniable to read it")
