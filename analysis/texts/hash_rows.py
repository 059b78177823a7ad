"""The hash rows of texts, for many texts at once; see :mod:`deniable.protocol.mechanisms.rows`.

Residues modulo 2^61 - 1 are multiplied in 64 bits: the product's halves are shifted back, for
2^61 is 1 there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from deniable.protocol.mechanisms.rows import PRIME, row

from ..extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Residues = NDArray[np.uint64]

_LOW = (1 << 32) - 1
_MIDDLE = (1 << 29) - 1

_AT_ONCE = 1 << 15
"""Buckets computed at a time, so that they stay in the processor's cache."""


def residues(codes: Iterable[int]) -> Residues:
    """Return numbers of any size modulo 2^61 - 1."""
    with extra():
        import numpy as np
    return np.array([code % PRIME for code in codes], dtype=np.uint64)


def extended(prefixes: Residues, base: int, suffixes: Residues) -> Residues:
    """Return ``prefix * base + suffix`` of each pair, modulo 2^61 - 1; both arrays broadcast."""
    with extra():
        import numpy as np
    return _reduced(_product(prefixes, np.array(base % PRIME, dtype=np.uint64)) + suffixes)


def buckets(family: str, number: int, codes: Residues, width: int) -> NDArray[np.int64]:
    """Return the bucket of each residue in a row.

    >>> from deniable.protocol.mechanisms.rows import bucket
    >>> codes = [0, 1, 12345, PRIME - 1, 2**200 + 7]
    >>> found = buckets("cms", 3, residues(codes), 512).tolist()
    >>> found == [bucket("cms", 3, code, 512) for code in codes]
    True
    """
    found: NDArray[np.int64] = places(family, (number,), codes, width)[0]
    return found


def places(family: str, numbers: Iterable[int], codes: Residues, width: int) -> NDArray[np.int64]:
    """Return the bucket of each residue in each of several rows, shape (rows, codes)."""
    with extra():
        import numpy as np
    rows = _rows(family, numbers)[:, :, None]
    found = np.empty((rows.shape[1], len(codes)), dtype=np.int64)
    together = max(1, _AT_ONCE // max(1, len(found)))
    for start in range(0, len(codes), together):
        part = slice(start, start + together)
        found[:, part] = _hashed(codes[part], rows, width)
    return found


def own_places(
    family: str, first: int, rows: NDArray[np.int64], codes: Residues, width: int
) -> NDArray[np.int64]:
    """Return the bucket of each residue in a row of its own, ``first`` the number of row 0."""
    every = _rows(family, range(first, first + int(rows.max(initial=0)) + 1))
    return _hashed(codes, every[:, rows], width)


def summed(
    family: str, first: int, table: NDArray[np.float64], codes: Residues, count: int
) -> NDArray[np.float64]:
    """Return the sum over rows of the entries of each residue and of those that follow it.

    The next value of a quadratic polynomial is this one and its difference, and the next
    difference this one and twice the leading coefficient: no product is needed.

    Parameters
    ----------
    family, first : str, int
        The hash rows: row j of the table is that of number ``first + j``.
    table : array, shape (rows, width)
    codes : array of residues, shape (n,)
    count : int

    Returns
    -------
    array, shape (count, n)
        Of each residue plus 0..count-1.

    Examples
    --------
    >>> import numpy as np
    >>> table = np.arange(8.0).reshape(2, 4)
    >>> found = summed("pem", 0, table, residues([PRIME - 1, 27]), 3)
    >>> at = places("pem", range(2), residues([1, 29]), 4)
    >>> bool((found[2] == np.take_along_axis(table, at, axis=1).sum(axis=0)).all())
    True
    """
    with extra():
        import numpy as np
    sums = np.zeros((count, len(codes)))
    rows = _rows(family, range(first, first + len(table)))
    together = max(1, _AT_ONCE // max(1, len(codes)))
    for start in range(0, len(table), together):
        part = slice(start, start + together)
        _sum(rows[:, part, None], table[part], codes, sums)
    return sums


def _sum(
    row: Residues, table: NDArray[np.float64], codes: Residues, sums: NDArray[np.float64]
) -> None:
    """Add the entries of a few rows, in place, digit by digit."""
    import numpy as np

    prime, width = np.uint64(PRIME), np.uint64(table.shape[1])
    a, b, c = row
    starts, bends = width * np.arange(len(table), dtype=np.uint64)[:, None], _reduced(a + a)
    lines = _product(codes, a)
    values = _reduced(_product(_reduced(lines + b), codes) + c)
    slopes = _reduced(_reduced(lines + lines) + _reduced(a + b))
    entries, other, found = table.ravel(), np.empty_like(values), np.empty(values.shape)
    for digit in range(len(sums)):
        np.multiply(np.floor_divide(values, width, out=other), width, out=other)
        np.add(np.subtract(values, other, out=other), starts, out=other)
        sums[digit] += np.take(entries, other.view(np.int64), out=found, mode="clip").sum(axis=0)
        np.add(values, slopes, out=values)
        np.minimum(values, np.subtract(values, prime, out=other), out=values)
        np.add(slopes, bends, out=slopes)
        np.minimum(slopes, np.subtract(slopes, prime, out=other), out=slopes)


def _rows(family: str, numbers: Iterable[int]) -> Residues:
    """Return a, b and c of rows, shape (3, rows)."""
    with extra():
        import numpy as np
    return np.array([row(family, number) for number in numbers], dtype=np.uint64).T


def _hashed(codes: Residues, row: Residues, width: int) -> NDArray[np.int64]:
    """Return ``((a x^2 + b x + c) mod P) mod width`` of each residue x."""
    import numpy as np

    a, b, c = row
    lines = _reduced(_product(codes, a) + b)
    values = _reduced(_product(lines, codes) + c)
    whole = values // np.uint64(width)  # many times faster than the rest
    return (values - whole * np.uint64(width)).astype(np.int64)


def _product(codes: Residues, factors: Residues) -> Residues:
    """Return the products, below 2^63, each congruent to ``code * factor``; arrays broadcast.

    In halves of 32 bits: 2^64 is 8 there, and what a part has from 2^61 on is shifted back.
    """
    import numpy as np

    high, low = codes >> np.uint64(32), codes & np.uint64(_LOW)
    top, bottom = factors >> np.uint64(32), factors & np.uint64(_LOW)
    cross, least = high * bottom + low * top, low * bottom  # below 2^62 and 2^64
    found: Residues = (high * top) << np.uint64(3)
    found += cross >> np.uint64(29)
    found += (cross & np.uint64(_MIDDLE)) << np.uint64(32)
    found += least & np.uint64(PRIME)
    found += least >> np.uint64(61)
    return found


def _reduced(numbers: Residues) -> Residues:
    """Return numbers below 2^64 modulo 2^61 - 1."""
    import numpy as np

    prime = np.uint64(PRIME)
    once = (numbers & prime) + (numbers >> np.uint64(61))
    reduced: Residues = np.minimum(once, once - prime)  # which wraps round if it is not below
    return reduced
