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


def residues(codes: Iterable[int]) -> Residues:
    """Return numbers of any size modulo 2^61 - 1."""
    with extra():
        import numpy as np
    return np.array([code % PRIME for code in codes], dtype=np.uint64)


def extended(prefixes: Residues, base: int, suffixes: Residues) -> Residues:
    """Return ``prefix * base + suffix`` of each pair, modulo 2^61 - 1; both arrays broadcast."""
    return _reduced(_product(prefixes, base % PRIME) + suffixes)


def buckets(family: str, number: int, codes: Residues, width: int) -> NDArray[np.int64]:
    """Return the bucket of each residue in a row.

    >>> from deniable.protocol.mechanisms.rows import bucket
    >>> codes = [0, 1, 12345, PRIME - 1, 2**200 + 7]
    >>> found = buckets("cms", 3, residues(codes), 512).tolist()
    >>> found == [bucket("cms", 3, code, 512) for code in codes]
    True
    """
    with extra():
        import numpy as np
    a, b = row(family, number)
    places = _reduced(_product(codes, a) + np.uint64(b)) % np.uint64(width)
    return places.astype(np.int64)


def _product(codes: Residues, factor: int) -> Residues:
    """Return the products, below 2^62, each congruent to ``code * factor``."""
    import numpy as np

    high, low = codes >> np.uint64(32), codes & np.uint64(_LOW)
    top, bottom = np.uint64(factor >> 32), np.uint64(factor & _LOW)
    cross = high * bottom + low * top  # below 2^62
    carried = (cross & np.uint64(_MIDDLE)) << np.uint64(32)
    parts = _reduced(low * bottom) + _reduced(carried)
    rest = ((high * top) << np.uint64(3)) + (cross >> np.uint64(29))
    return _reduced(_reduced(parts) + _reduced(rest))


def _reduced(numbers: Residues) -> Residues:
    """Return numbers below 2^64 modulo 2^61 - 1."""
    import numpy as np

    prime = np.uint64(PRIME)
    once = (numbers & prime) + (numbers >> np.uint64(61))
    reduced: Residues = np.where(once >= prime, once - prime, once)
    return reduced
