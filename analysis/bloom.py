"""Decoding of Bloom filters: least squares over the bits of all cohorts (RAPPOR).

Cohort c has n_c reports, and its m x k matrix B_c says which bits each symbol's filter has. A bit
of a report is set with probability p if the filter has it and q = 1 - p if not, so that

``y_c = (C_c/n_c - q) / (p - q)`` has the mean ``B_c f``,

where C_c counts set bits. Debiased bits all have the variance s = p q/(p-q)^2 about the filter,
and are independent given it; which filter a device has is a draw from f. So n_c y_c has the
covariance ``n_c (s I + B_c (diag f - f f') B_c')``, and with ``G = sum_c n_c B_c' B_c``

``f^ = G^-1 sum_c n_c B_c' y_c``

is unbiased for given n_c and has the covariance

``s G^-1 + sum_c n_c G^-1 B_c' B_c (diag f - f f') B_c' B_c G^-1``.

The first term is noise, as if of independent bits; the second is sampling, and what chance
collisions of filters make of it. The filters are those there are, not their average.

References
----------
Erlingsson, Pihur, Korolova. RAPPOR: randomized aggregatable privacy-preserving ordinal
response. CCS 2014.
Portugal, Júdice, Vicente. A comparison of block pivoting and interior-point algorithms for
linear least squares problems with nonnegative variables. Mathematics of Computation 1994.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism
from deniable.protocol.mechanisms.bloom import positions
from deniable.protocol.mechanisms.rappor import Rappor

from .decode import Supports
from .estimators import Level, Raw
from .extras import extra
from .simplex import project

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    Vector: TypeAlias = NDArray[np.float64]
    Matrix: TypeAlias = NDArray[np.float64]

NONNEGATIVE = (
    "nnls: the non-negative frequencies whose filters fit the bits best; their sum may exceed 1."
)

_SINGULAR = 1e-9
"""Below this share of the largest, a pivot is a rounding error of zero."""


def estimate_bloom(mechanism: Rappor, cells: Sequence[int], level: Level) -> tuple[Raw, ...]:
    """Estimate the frequency of each symbol by weighted least squares.

    The standard error takes f at the distribution nearest to the estimate; intervals are normal.

    Parameters
    ----------
    mechanism : Rappor
    cells : sequence of int
        One row for each cohort: its bits' counts, then its reports.
    level : Level

    Returns
    -------
    tuple of Raw
        Unbiased, unclipped.

    Raises
    ------
    ParameterError
        If the filters of the cohorts that report do not tell the symbols apart.
    MissingExtraError
        If numpy or scipy is absent.
    """
    fit = BloomFit.of(mechanism, cells)
    frequencies = fit.frequencies()
    errors = fit.errors(frequencies)
    z = level.z
    return tuple(
        Raw(f, error, f - z * error, f + z * error)
        for f, error in zip(frequencies.tolist(), errors.tolist(), strict=True)
    )


def nonnegative(
    mechanism: Mechanism, counted: Sequence[int] | Supports
) -> tuple[tuple[float, ...], str]:
    """Return the non-negative frequencies that fit the bits best: RAPPOR's own decoding.

    Least squares under f >= 0: the minimum of ``(f - f^)' G (f - f^)`` with the unrestricted f^.

    Returns
    -------
    tuple of float
        At least 0; their sum is not forced to 1.
    str
        A remark for the reader.

    Raises
    ------
    ParameterError
        If the mechanism has no Bloom filters, or as for :func:`estimate_bloom`.
    MissingExtraError
        If numpy or scipy is absent.
    """
    if not isinstance(mechanism, Rappor) or isinstance(counted, Supports):
        raise ParameterError(f"post_process nnls fits Bloom filters, and {mechanism.name} has none")
    fit = BloomFit.of(mechanism, counted)
    return tuple(_pivot(fit.gram, fit.target()).tolist()), NONNEGATIVE


def bloom_covariance(mechanism: Rappor, cells: Sequence[int], frequencies: Vector) -> Matrix:
    """Return the covariance of the estimates of every two symbols, as above, for a distribution.

    Raises
    ------
    ParameterError
        As for :func:`estimate_bloom`.
    """
    return BloomFit.of(mechanism, cells).covariance(frequencies)


@lru_cache(maxsize=8)
def worst_lie(mechanism: Rappor) -> float:
    """Return by how much n times an estimate can be moved by one report that lies.

    ``n max over c, v of sum_b max(A_vb (1-q), -A_vb q) / (p-q)``, and likewise downwards, where
    A = G^-1 B_c' and all cohorts report alike: the lie sets just the bits that help.

    Raises
    ------
    ParameterError
        As for :func:`estimate_bloom`.
    MissingExtraError
        If numpy or scipy is absent.
    """
    return BloomFit.of(mechanism, [1] * mechanism.shape.cells).worst_lie(mechanism.k)


def _pivot(gram: Matrix, target: Vector) -> Vector:
    """Solve ``x >= 0, gram x - target >= 0, x (gram x - target) = 0`` by block pivoting.

    All coordinates on the wrong side change sides at once; if that has not helped three times,
    only the last one does, which cannot cycle.
    """
    import numpy as np
    from scipy.linalg import solve

    zero = 1e-12 * float(np.abs(target).max())
    free = target > 0
    fewest, tries = len(target) + 1, 3
    while True:
        x = np.zeros_like(target)
        x[free] = solve(gram[np.ix_(free, free)], target[free], assume_a="pos")
        wrong = np.where(free, x * gram.diagonal(), gram @ x - target) < -zero
        count = int(wrong.sum())
        if not count:
            return np.maximum(x, 0.0)
        tries = 3 if count < fewest else tries - 1
        fewest = min(fewest, count)
        if tries < 0:
            wrong[: np.flatnonzero(wrong)[-1]] = False
        free ^= wrong


def require_told_apart(question: str, mechanism: Rappor) -> None:
    """Refuse filters that leave values of a question indistinguishable, whatever the reports.

    Raises
    ------
    ParameterError
        Naming the question and the options to change.
    MissingExtraError
        If numpy or scipy is absent.
    """
    try:
        BloomFit.of(mechanism, [1] * mechanism.shape.cells)
    except ParameterError as exc:
        raise ParameterError(f"{question}: {exc}") from None


@dataclass(frozen=True, eq=False)
class BloomFit:
    """The normal equations of one tally.

    Attributes
    ----------
    mechanism : Rappor
    design : sparse array, C m x k
        Row c m + b is bit b of cohort c.
    cells : array, C x (m + 1)
    gram, factor : array, k x k
        G, and its lower Cholesky factor.
    """

    mechanism: Rappor
    design: csr_array[Any, tuple[int, int]]
    cells: Matrix
    gram: Matrix
    factor: Matrix

    @classmethod
    def of(
        cls,
        mechanism: Rappor,
        cells: Sequence[int],
        columns: csr_array[Any, tuple[int, int]] | None = None,
    ) -> BloomFit:
        """Return those of all symbols, or of other columns of bits."""
        with extra():
            import numpy as np
            import scipy.linalg
        rows = mechanism.shape.rows
        design = filters_of(mechanism) if columns is None else columns
        table = np.asarray(cells, dtype=np.float64).reshape(rows, mechanism.bits + 1)
        weights = np.repeat(table[:, -1], mechanism.bits)
        gram = (design.T @ design.multiply(weights[:, None]).tocsr()).toarray()
        try:
            factor = scipy.linalg.cholesky(gram, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            raise _unsolvable(mechanism) from None
        if factor.diagonal().min() ** 2 <= _SINGULAR * gram.diagonal().max():
            raise _unsolvable(mechanism)
        return cls(mechanism, design, table, gram, factor)

    def target(self) -> Vector:
        """Return ``sum_c n_c B_c' y_c``."""
        p, q = float(self.mechanism.p), float(self.mechanism.q)
        debiased = (self.cells[:, :-1] - q * self.cells[:, -1:]) / (p - q)
        made: Vector = self.design.T @ debiased.ravel()
        return made

    def frequencies(self) -> Vector:
        """Return the unrestricted solution."""
        from scipy.linalg import cho_solve

        found: Vector = cho_solve((self.factor, True), self.target())
        return found

    def errors(self, frequencies: Vector) -> Vector:
        """Return the standard errors, with f at the nearest distribution."""
        import numpy as np

        inverse = self.inverse()
        p, q = self.mechanism.p, self.mechanism.q
        variances = float(p * q / (p - q) ** 2) * inverse.diagonal()
        likely = np.asarray(project(frequencies.tolist()))
        bits = self.mechanism.bits
        for row, n in enumerate(self.cells[:, -1]):
            filters = self.design[row * bits : (row + 1) * bits]
            moved = filters @ inverse
            pairs = filters.multiply(likely) @ filters.T
            means = (filters @ likely) @ moved
            variances += n * (np.einsum("bv,bv->v", pairs @ moved, moved) - means**2)
        return np.sqrt(variances)

    def covariance(self, frequencies: Vector) -> Matrix:
        """Return the covariance of the solution, with f a distribution."""
        import numpy as np

        inverse = self.inverse()
        p, q = self.mechanism.p, self.mechanism.q
        made = float(p * q / (p - q) ** 2) * inverse
        bits = self.mechanism.bits
        for row, n in enumerate(self.cells[:, -1]):
            filters = self.design[row * bits : (row + 1) * bits]
            moved = filters @ inverse
            means = (filters @ frequencies) @ moved
            pairs = filters.multiply(frequencies) @ filters.T
            made += n * (moved.T @ (pairs @ moved) - np.outer(means, means))
        return made

    def worst_lie(self, count: int) -> float:
        """Return :func:`worst_lie` of the first so many columns, where each cohort has a report."""
        import numpy as np

        mechanism, inverse = self.mechanism, self.inverse()[:, :count]
        bits, q, most = mechanism.bits, float(mechanism.q), 0.0
        for cohort in range(mechanism.cohorts):
            pulls = self.design[cohort * bits : (cohort + 1) * bits] @ inverse
            up, down = np.maximum(pulls, 0.0).sum(axis=0), np.maximum(-pulls, 0.0).sum(axis=0)
            moved = np.maximum(up * (1 - q) + down * q, up * q + down * (1 - q))
            most = max(most, float(moved.max()))
        return most * mechanism.cohorts / float(mechanism.p - mechanism.q)

    def inverse(self) -> Matrix:
        """Return G^-1 from its factor."""
        import numpy as np
        from scipy.linalg.lapack import dpotri

        lower, _ = dpotri(self.factor, lower=1)
        full: Matrix = np.tril(lower) + np.tril(lower, -1).T
        return full


def filters_of(mechanism: Rappor) -> csr_array[Any, tuple[int, int]]:
    """Return which bits of all cohorts each symbol's filters have, shape (C m, k)."""
    return _filters(mechanism.k, mechanism.bits, mechanism.hashes, mechanism.shape.rows)


@lru_cache(maxsize=4)
def _filters(k: int, bits: int, hashes: int, cohorts: int) -> csr_array[Any, tuple[int, int]]:
    """Return which bits of all cohorts each symbol's filters have."""
    with extra():
        import numpy as np
        from scipy.sparse import csr_array
    rows = [
        cohort * bits + at
        for cohort in range(cohorts)
        for symbol in range(k)
        for at in positions(cohort, symbol, bits, hashes)
    ]
    columns = np.tile(np.repeat(np.arange(k), hashes), cohorts)
    return csr_array((np.ones(len(rows)), (rows, columns)), shape=(cohorts * bits, k))


def _unsolvable(mechanism: Rappor) -> ParameterError:
    return ParameterError(
        f"the Bloom filters of the cohorts that report do not tell {mechanism.k} values apart; "
        f"set more bits ({mechanism.bits}) or cohorts ({mechanism.cohorts}), or ask more devices"
    )
