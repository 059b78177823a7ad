"""Decodes hash reports: all symbols at once, digit by digit, without one hash evaluated.

Row a of a tally counts reports by bucket, and symbol v is supported by those in bucket <a, v>:
C(v) = sum over a of cells[a][<a, v>]. Rows come in blocks, block j being those whose leading
digit is a 1 at place j; with l the g^j vectors of lower digits,

``C(v) = sum_j D_j(v)``,  ``D_j(v) = sum_l cells_j[l][<l, v> + v_j]``.

D_j is found as a fast Fourier transform is: with F = cells_j, each place below j in turn gives up
its axis of row digits a for one of symbol digits w,

``F'[.. w ..][s] = sum_a F[.. a ..][s + a w]``.

That takes g^{j+2} additions a place, about m g^{m+1} for all, where evaluating the definition
takes k R hashes of m products each. All of it is exact, in 64-bit integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from deniable.protocol.mechanisms import FrequencyOracle
from deniable.protocol.mechanisms.galois import field

from .extras import extra
from .supports import Supports

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Counts = npt.NDArray[np.int64]


def hashed(mechanism: FrequencyOracle, cells: Sequence[int]) -> Supports:
    """Return the supports of symbols whose bucket in each row is <a, v>, over n reports.

    Rows and digits are numbered as :mod:`deniable.protocol.mechanisms.olh` does. Every count and
    every sum on the way is at most n, and so exact for each n below 2^63.
    """
    with extra():
        import numpy as np
    g = mechanism.shape.width
    rows = np.array(cells, dtype=np.int64).reshape(-1, g)
    counts, place = np.zeros(1, dtype=np.int64), 0
    while len(rows):
        block, rows = rows[: g**place], rows[g**place :]
        counts = (by_symbol(block, place).T + counts).ravel()
        place += 1
    return Supports(counts[: mechanism.k], np.full(mechanism.k, sum(cells)))


def by_symbol(block: Counts, place: int) -> Counts:
    """Turn the row digits of a block into digits of the symbol.

    Parameters
    ----------
    block : array of int64, shape (g^j, g)
        cells_j, by the lower digits of the row and by bucket.
    place : int
        j.

    Returns
    -------
    array of int64, shape (g^j, g)
        D_j, by the lower digits of the symbol and by its digit at place j.
    """
    with extra():
        import numpy as np
    size, g = block.shape
    for _ in range(place):
        # The highest row digit gives up its axis; the new one becomes the lowest of the symbol's.
        pairs = block.reshape(g, -1, g).transpose(1, 0, 2).reshape(-1, g * g)
        block = np.stack([pairs[:, shift].sum(axis=2) for shift in _shifts(g)], axis=1)
    return block.reshape(size, g)


def _shifts(g: int) -> Iterator[Counts]:
    """Yield, for each w, the place of [a, s + a w] in a table of rows a: an array by s and a."""
    import numpy as np

    sums, products = _tables(g)
    rows = np.arange(g) * g
    for w in range(g):
        yield rows + sums[:, products[w]]


@cache
def _tables(g: int) -> tuple[Counts, Counts]:
    """Return x + y and x y for all x and y."""
    import numpy as np

    gf, elements = field(g), np.arange(g)
    return gf.add(elements[:, None], elements), gf.multiply(elements[:, None], elements)
