"""Which cells support which values, as two sums: over a cell's values and over a value's cells.

Each mechanism of symbols has a structure in which both are cheap: a fast transform for Hadamard
response, one bucket in each row for hashing. For any other the matrix is built, if it is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle
from deniable.protocol.mechanisms.olh import OLH

from .correlation import responses
from .extras import extra
from .hadamard import walsh_hadamard

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Sums = Callable[[Floats], Floats]

MOST_ENTRIES = 8_000_000
"""Pairs of a value and a cell, or a row, beyond which none of this is built."""


@dataclass(frozen=True, slots=True)
class Supporters:
    """The matrix S of supports, values by cells, as its two products.

    Attributes
    ----------
    spread : callable
        ``S'f``: for each cell, the sum over the values that it supports.
    gather : callable
        ``S w``: for each value, the sum over the cells that support it.
    """

    spread: Sums
    gather: Sums


def supporters(mechanism: FrequencyOracle) -> Supporters:
    """Return the supports of a mechanism whose reports are symbols.

    Raises
    ------
    ParameterError
        If there are too many.
    """
    if mechanism.decoder == "hadamard":
        return _transformed(mechanism)
    entries = mechanism.k * mechanism.shape.rows
    if not isinstance(mechanism, OLH):
        entries = mechanism.k * mechanism.shape.cells
    if entries > MOST_ENTRIES:
        raise ParameterError(
            f"post_process em takes at most {MOST_ENTRIES:,} pairs of a value and a hash or cell, "
            f"and {mechanism.name} with {mechanism.k} values has {entries:,}; use norm-sub"
        )
    if isinstance(mechanism, OLH):
        return _hashed(mechanism)
    return _listed(mechanism)


def _transformed(mechanism: FrequencyOracle) -> Supporters:
    """Column y supports symbol v if the matrix has +1 at (v+1, y): half of sum plus transform."""
    with extra():
        import numpy as np
    k, columns = mechanism.k, mechanism.shape.width

    def spread(frequencies: Floats) -> Floats:
        padded = np.zeros(columns)
        padded[1 : k + 1] = frequencies
        return np.asarray((frequencies.sum() + walsh_hadamard(padded)) / 2)

    def gather(weights: Floats) -> Floats:
        return np.asarray((weights.sum() + walsh_hadamard(weights)[1 : k + 1]) / 2)

    return Supporters(spread, gather)


def _hashed(mechanism: OLH) -> Supporters:
    """Each value has one supporting bucket in each row."""
    with extra():
        import numpy as np
        from scipy.sparse import csc_array
    rows, g, k = mechanism.shape.rows, mechanism.shape.width, mechanism.k
    values: Any = np.arange(k)
    places = np.array([row * g + mechanism.bucket(row, values) for row in range(rows)])
    starts = np.arange(0, k * rows + 1, rows)
    matrix = csc_array((np.ones(k * rows), places.T.ravel(), starts), shape=(rows * g, k))
    return Supporters(lambda f: np.asarray(matrix @ f), lambda w: np.asarray(matrix.T @ w))


def _listed(mechanism: FrequencyOracle) -> Supporters:
    """Ask the mechanism about each pair."""
    with extra():
        import numpy as np
    outputs = list(responses(mechanism.shape))
    matrix = np.array(
        [[mechanism.supports(value, y) for y in outputs] for value in range(mechanism.k)],
        dtype=np.float64,
    )
    return Supporters(lambda f: f @ matrix, lambda w: matrix @ w)
