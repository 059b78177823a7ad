"""Whether the two parts of a joint question go together, and how strongly.

The raw estimates f^ of the pairs are made to sum to one by generalised least squares. With their
row and column sums r and c, association is the table

``t_ij = f_ij - r_i c_j + Cov(r_i, c_j)``,

of which the last term takes out the bias of the product. If the parts are independent, t has the
mean 0 and, to first order, the covariance ``V = D S D'``, where S is that of the estimates of
independent parts and ``D = (I - r 1') x (I - c 1')`` has the slopes of t. Its first rows and
columns give the statistic

``X^2 = t' V^-1 t``,  chi-square with (a-1)(b-1) degrees of freedom.

That is first-order: what it leaves out, ``Var r_i Var c_j + Cov(r_i, c_j)^2``, must be small beside
V. What must never change: where it is not, or counts are too small to be normal, there is no
p-value. By simulation, X^2 then exceeds its 5 % point in 20 % of tables of independent parts and
more.

References
----------
Gaboardi, Rogers. Local private hypothesis testing: chi-square tests. ICML 2018.
Kenny, Keeping. Mathematics of statistics II. 1951 (variance of a product).
Satterthwaite. An approximate distribution of estimates of variance components. 1946.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ..difference_results import LEAST_P
from ..extras import extra
from ..simplex import project

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

SECOND_ORDER = 0.02
"""The largest share of V that may be left out: beyond, a test at 5 % may reject 8 %."""

FEWEST = 10.0
"""Fewer expected supports of a pair, or reports that do not support it, are not normal."""

_TOLD = 3.0
"""Standard errors by which a choice must be known to exist before it is divided by."""


@dataclass(frozen=True, slots=True)
class Association:
    """How the parts go together.

    Attributes
    ----------
    chi_square : float or None
    degrees_of_freedom : int
        (a-1)(b-1).
    p_value : float or None
        P(a statistic as large, if the parts are independent); at least 1e-300. None, as the
        statistic is, where there are too few devices for it to be true.
    cramers_v : float or None
        ``sqrt(sum of (f_ij - r_i c_j)^2 / (r_i c_j) / (min(a, b) - 1))``, without the bias of its
        noise: 0 if the parts are independent, 1 if the one decides the other. None where a choice
        is too rare to divide by.
    low, high : float or None
        Interval of Cramer's V, conservative.
    devices_needed : int or None
        About how many devices a p-value takes, where there is none.
    """

    chi_square: float | None
    degrees_of_freedom: int
    p_value: float | None
    cramers_v: float | None
    low: float | None
    high: float | None
    devices_needed: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Estimates of pairs that sum to one, and what follows from them.

    Attributes
    ----------
    frequencies : array of shape (a, b)
    covariance : array of shape (a b, a b)
    """

    frequencies: Array
    covariance: Array

    @classmethod
    def summing_to_one(cls, raw: Array, covariance: Array) -> Table:
        """Move raw estimates along what they have in common, ``f + S1 (1 - 1'f) / 1'S1``."""
        common = covariance.sum(axis=1)
        spread = float(common.sum())
        if spread <= 1e-9 * float(covariance.trace()):
            return cls(raw, covariance)
        import numpy as np

        moved = raw + (common * (1 - raw.sum()) / spread).reshape(raw.shape)
        return cls(moved, covariance - np.outer(common, common) / spread)

    def margins(self) -> tuple[Array, Array]:
        """Return the row and column sums."""
        return self.frequencies.sum(axis=1), self.frequencies.sum(axis=0)

    def of_margins(self) -> tuple[Array, Array, Array]:
        """Return the covariances of row sums, of column sums, and of the one with the other."""
        a, b = self.frequencies.shape
        cells = self.covariance.reshape(a, b, a, b)
        return cells.sum(axis=(1, 3)), cells.sum(axis=(0, 2)), cells.sum(axis=(1, 2))

    def associated(self) -> tuple[Array, Array]:
        """Return t and D S D', of all pairs."""
        import numpy as np

        a, b = self.frequencies.shape
        rows, columns = self.margins()
        t = self.frequencies - np.outer(rows, columns) + self.of_margins()[2]
        r, c = distribution(rows), distribution(columns)
        down, across = np.eye(a) - np.outer(r, np.ones(a)), np.eye(b) - np.outer(c, np.ones(b))
        half = _both(down, across, self.covariance)
        return t, _both(down, across, half.T)

    def left_out(self) -> Array:
        """Return the part of the variance of t that is of second order."""
        import numpy as np

        rows, columns, crossed = self.of_margins()
        return np.asarray(np.outer(rows.diagonal(), columns.diagonal()) + crossed**2)


def _both(down: Array, across: Array, matrix: Array) -> Array:
    """Multiply by the Kronecker product of two matrices, without making it."""
    import numpy as np

    a, b = len(down), len(across)
    cube = matrix.reshape(a, b, -1)
    turned = np.einsum("jl,kln->kjn", across, cube, optimize=True)
    made: Array = np.einsum("ik,kjn->ijn", down, turned, optimize=True).reshape(a * b, -1)
    return made


def distribution(estimates: Array) -> Array:
    """Return the distribution nearest to estimates of any shape."""
    import numpy as np

    return np.asarray(project(estimates.ravel().tolist())).reshape(estimates.shape)


def associate(
    raw: Array, covariance: Callable[[Array], Array], n: int, least: float, confidence: float
) -> Association:
    """Test the independence of rows and columns, and measure how far it is from true.

    Parameters
    ----------
    raw : array of shape (a, b)
        Raw estimates.
    covariance : callable
        Of all estimates, in order, for a distribution of shape (a, b).
    n : int
        Devices.
    least : float
        The least share of them that support a pair, or of those that do not, whatever the
        frequencies are.
    confidence : float
        Of the interval.
    """
    with extra():
        import numpy as np
        from scipy.special import chdtrc
    a, b = raw.shape
    degrees = (a - 1) * (b - 1)
    margins = [distribution(raw.sum(axis=axis)) for axis in (1, 0)]
    null = Table.summing_to_one(raw, covariance(np.outer(*margins)))
    t, spread = null.associated()
    variances = spread.diagonal().reshape(a, b)
    short = max(float((null.left_out() / variances).max()) / SECOND_ORDER, FEWEST / (least * n))
    strength = _cramer(raw, covariance(distribution(raw)), confidence)
    if not short <= 1:
        return Association(None, degrees, None, *strength, _rounded_up(n * short))
    inner = np.ravel_multi_index(np.ix_(range(a - 1), range(b - 1)), (a, b)).ravel()
    found = t.ravel()[inner]
    statistic = float(found @ np.linalg.solve(spread[np.ix_(inner, inner)], found))
    p_value = max(LEAST_P, float(chdtrc(degrees, max(0.0, statistic))))
    return Association(statistic, degrees, p_value, *strength, None)


def _cramer(
    raw: Array, covariance: Array, confidence: float
) -> tuple[float | None, float | None, float | None]:
    """Return Cramer's V and its interval.

    With x = t / sqrt(r c) and its covariance C, ``V^2 = (x'x - tr C) / (min(a, b) - 1)`` has no
    bias, and |x| is from its mean by at most |x - E x|, of which the square is a weighted sum of
    chi-squares: approximately chi-square, scaled to have its mean and variance.
    """
    import numpy as np
    from scipy.special import gammaincinv

    table = Table.summing_to_one(raw, covariance)
    for sums, spread in zip(table.margins(), table.of_margins(), strict=False):
        if (sums <= _TOLD * np.sqrt(spread.diagonal())).any():
            return None, None, None
    t, spread = table.associated()
    scales = 1 / np.sqrt(np.outer(*table.margins())).ravel()
    x, noise = t.ravel() * scales, spread * np.outer(scales, scales)
    mean, square = float(noise.trace()), float((noise * noise).sum())
    half = mean * mean / square / 2
    reach = math.sqrt(2 * float(gammaincinv(half, confidence)) * square / mean)
    length, most = math.sqrt(float(x @ x)), math.sqrt(min(raw.shape) - 1)
    v = min(1.0, math.sqrt(max(0.0, length * length - mean)) / most)
    low, high = max(0.0, length - reach) / most, (length + reach) / most
    return v, min(low, v), max(v, min(1.0, high))


def _rounded_up(number: float) -> int:
    """Round up to two digits."""
    unit = int(10 ** max(0, math.floor(math.log10(number)) - 1))
    return math.ceil(number / unit) * unit
