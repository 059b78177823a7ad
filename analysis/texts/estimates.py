"""Estimates of named strings from the tally of a sketch.

For a string s with bucket h_j(s) in row j, C is the number of reports, in all rows, that support
its bucket. Over all rows there could be another string shares a bucket with probability 1/w, so

``g_s = (C/n - q) / (p - q)``, with q averaged over rows,

is unbiased for its frequency f_s, and varies by the noise, as any frequency oracle's estimate
does, and by collisions in the rows in use. Those of named strings with each other are known, so
they are taken out: with ``K_st = sum_j (n_j/n) [h_j(s) = h_j(t)]`` for n_j reports in row j

``g = M f + collisions of other strings``, ``M_st = (K_st - 1/w) / (1 - 1/w)``,

and ``f^ = M^-1 g`` has none of them. Collisions of the strings that nobody named are left. Any
three strings are independent in a row, so each of these collisions has the mean 0 whatever pairs
of named strings collide, none makes another likelier, and together they add the variance

``F sum_j (n_j/n)^2 / (w - 1)``, F the sum of the squares of their frequencies.

F is estimated without bias from what the fit leaves of the table: Z_jb supports, debiased, are
n_j times the frequency of bucket b in row j, and in the mean

``sum_jb (Z_jb - fitted)^2 / n_j = (n - R)(1 - 1/w) F + R (w q(1-q)/(p-q)^2 + (1-2q)/(p-q) - 1/w)``

where R is the number of rows with reports and p and q are those of one bucket; of N = R (w-1)
free places as many are lost as strings are fitted, and both sides shrink alike. So

``Var f^_s = (M^-1)_ss (Var g_s + F sum_j (n_j/n)^2 / (w - 1))``.

What must never change: no string is left out or clipped by what its own count is.

References
----------
Apple Differential Privacy Team. Learning with privacy at scale. 2017.
Cormode, Muthukrishnan. An improved data stream summary: the count-min sketch and its
applications. Journal of Algorithms 2005.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from deniable.protocol.mechanisms import FrequencyOracle

from ..estimators import Level, Raws, estimate_supports
from ..extras import extra
from ..supports import Supports
from .hash_rows import residues
from .tables import Table, table_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers: TypeAlias = NDArray[np.int64]
    Vector: TypeAlias = NDArray[np.float64]
    Matrix: TypeAlias = NDArray[np.float64]

JOINT = 2048
"""So many strings are fitted together at most: the time grows with their cube."""

_CROWDED = 8
"""And no more than one for so many buckets, all rows together: each takes room from the others."""

_INFLATED = 2.0
"""Where fitting together would cost a string more than this, in variance, each is by itself."""

_CHUNK = 1 << 12
"""Strings hashed at a time, so that memory does not grow with their number."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Frequencies of strings, and what their errors are made of.

    Attributes
    ----------
    raws : Raws
        Unbiased, unclipped.
    joint : bool
        Whether collisions of the strings with each other were taken out.
    collisions : float
        Standard deviation of a frequency, by collisions with strings that were not.
    """

    raws: Raws
    joint: bool
    collisions: float


def estimate_codes(
    mechanism: FrequencyOracle, cells: Sequence[int], codes: Sequence[int], level: Level
) -> Fit:
    """Estimate the frequency of strings, given by their numbers.

    Parameters
    ----------
    mechanism : FrequencyOracle
        A sketch.
    cells : sequence of int
        As its shape lays them out.
    codes : sequence of int
        All different.
    level : Level

    Raises
    ------
    DocumentError
        If this version cannot decode the mechanism.
    ParameterError
        If no report is about whole texts.
    MissingExtraError
        If numpy or scipy is absent.
    """
    return fit(mechanism, table_of(mechanism, cells), codes, level)


def fit(mechanism: FrequencyOracle, of: Table, codes: Sequence[int], level: Level) -> Fit:
    """Estimate from a table, as :func:`estimate_codes` does from its cells."""
    with extra():
        import numpy as np
    hashed = residues(codes)
    counts = [
        np.take_along_axis(of.supports, of.places(some), axis=1).sum(axis=0)
        for some in np.array_split(hashed, -(-len(codes) // _CHUNK))
    ]
    supports = Supports(np.concatenate(counts), np.full(len(codes), of.n))
    alone = estimate_supports(mechanism, supports, level)
    where = of.places(hashed[: JOINT + 1])
    inverse = _inverse(of, where)
    frequency, inflated = alone.frequency, np.ones(len(codes))
    if inverse is not None:
        frequency, inflated = inverse @ alone.frequency, inverse.diagonal()
    collisions = _collisions(of, where[:, : len(codes) * (inverse is not None)], frequency)
    return Fit(
        Raws(
            frequency,
            np.sqrt(inflated * (alone.standard_error**2 + collisions)),
            frequency - _wider(alone.frequency - alone.low, inflated, collisions, level),
            frequency + _wider(alone.high - alone.frequency, inflated, collisions, level),
        ),
        inverse is not None,
        float(np.sqrt(collisions)),
    )


def _wider(half: Vector, inflated: Vector, collisions: float, level: Level) -> Vector:
    """Return half an interval with the variance of collisions added to that of the noise."""
    import numpy as np

    wider: Vector = np.sqrt(inflated * (half**2 + level.z**2 * collisions))
    return wider


def _inverse(of: Table, where: Integers) -> Matrix | None:
    """Return M^-1, or None where the strings are too many or too alike in these rows."""
    import numpy as np
    from scipy.linalg import LinAlgError, cholesky
    from scipy.linalg.lapack import dpotri

    (rows, width), count = of.supports.shape, where.shape[1]
    if count > min(JOINT, rows * (width - 1) // _CROWDED):
        return None
    shared = _shared(of, where)
    matrix = (shared - 1 / width) / (1 - 1 / width)
    try:
        factor = cholesky(matrix, lower=True, check_finite=False)
    except LinAlgError:
        return None
    lower, _ = dpotri(factor, lower=1)
    inverse: Matrix = np.tril(lower) + np.tril(lower, -1).T
    return inverse if inverse.diagonal().max() <= _INFLATED else None


def _shared(of: Table, where: Integers) -> Matrix:
    """Return K: of every two strings, the share of the reports in whose rows they collide."""
    import numpy as np
    from scipy.sparse import csr_array

    (rows, width), count = of.supports.shape, where.shape[1]
    at = (np.arange(rows)[:, None] * width + where).ravel()
    weights = np.repeat(of.reports / of.n, count)
    strings = np.tile(np.arange(count), rows)
    size = (rows * width, count)
    one = csr_array((np.ones(at.size), (at, strings)), shape=size)
    weighted = csr_array((weights, (at, strings)), shape=size)
    shared: Matrix = (one.T @ weighted).toarray()
    return shared


def _collisions(of: Table, where: Integers, frequency: Vector) -> float:
    """Return the variance of a frequency by collisions with strings that are not fitted."""
    import numpy as np

    rows, width = of.supports.shape
    p, q, n = float(of.p), float(of.q), of.n
    used = int((of.reports > 0).sum())
    kept = 1 - where.shape[1] / (rows * (width - 1))
    fitted = np.zeros((rows, width))
    for row, each in enumerate(where):
        fitted[row] = np.bincount(each, frequency[: len(each)], minlength=width)
    fitted += (1 - frequency[: where.shape[1]].sum()) / width
    reports = of.reports[:, None]
    left = (of.supports - q * reports) / (p - q) - reports * fitted
    squares = float((left**2 / np.maximum(reports, 1)).sum()) / kept
    noise = used * (width * q * (1 - q) / (p - q) ** 2 + (1 - 2 * q) / (p - q) - 1 / width)
    sums = (squares - noise) / (max(n - used, 1) * (1 - 1 / width))
    uneven = ((of.reports / n) ** 2).sum() / (width - 1)
    return float(min(max(sums, 0.0), 1.0) * uneven)
