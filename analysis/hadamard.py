"""Decodes Hadamard response: all rows of the matrix at once, by the fast transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from deniable.protocol.mechanisms import FrequencyOracle

from .extras import extra
from .supports import Supports

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Item = TypeVar("Item", bound="np.int64 | np.float64")


def hadamard(mechanism: FrequencyOracle, cells: Sequence[int]) -> Supports:
    """Return the counts ``(n + W[v+1]) / 2`` of reports whose column has +1 in a symbol's row.

    W is the Walsh-Hadamard transform of the cells: for each row, the reports where it has +1
    less those where it has -1, and so between -n and n, whatever n below 2^62 is.
    """
    with extra():
        import numpy as np
    n = sum(cells)
    balance = walsh_hadamard(np.array(cells, dtype=np.int64))[1 : mechanism.k + 1]
    return Supports((n + balance) // 2, np.full(mechanism.k, n))


def walsh_hadamard(column: npt.NDArray[Item]) -> npt.NDArray[Item]:
    """Multiply by the Sylvester-Hadamard matrix, in K log2 K additions.

    Parameters
    ----------
    column : array of numbers, shape (K,)
        K is a power of two.

    Returns
    -------
    array, shape (K,)
        Of the same kind of numbers.

    References
    ----------
    Fino, Algazi. Unified matrix treatment of the fast Walsh-Hadamard transform. 1976.
    """
    with extra():
        import numpy as np
    rows, spare = column.copy(), np.empty_like(column)
    width = len(column) // 2
    while width:
        pairs, sums = rows.reshape(-1, 2, width), spare.reshape(-1, 2, width)
        np.add(pairs[:, 0], pairs[:, 1], out=sums[:, 0])
        np.subtract(pairs[:, 0], pairs[:, 1], out=sums[:, 1])
        rows, spare = spare, rows
        width //= 2
    return rows
