"""How many buckets local hashing may have: prime powers whose tallies are small enough.

A symbol of 0..k-1 is written in m base-g digits, so there are (g^m - 1)/(g - 1) rows of g counts.
What must never change: which g are worth trying, for the best of them is what surveys mean when
they name none.
"""

from __future__ import annotations

import math
from itertools import count

from ..errors import ParameterError
from ..limits import MAX_CELLS, MAX_K
from .galois import prime_power

_CELLS_PER_SYMBOL = MAX_CELLS // MAX_K
"""So that a larger domain than surveys have still finds a hash range."""


def digit_count(k: int, g: int) -> int:
    """Return the least m with g^m >= k.

    >>> digit_count(100, 4), digit_count(4, 4), digit_count(4096, 64)
    (4, 1, 2)
    """
    return next(m for m in count(1) if g**m >= k)


def row_count(m: int, g: int) -> int:
    """Return R = (g^m - 1) / (g - 1), the number of directions of m digits."""
    return int(g**m - 1) // (g - 1)


def hash_ranges(k: int) -> list[int]:
    """Return every prime power g worth trying: those below k whose tallies are small enough.

    And the least that is not below k: it needs one row only, and a larger one adds noise.
    """
    largest = math.isqrt(_most_cells(k))  # with two digits, and so g + 1 rows
    below = [g for g in range(2, min(k, largest + 1)) if _cells(k, g) <= _most_cells(k)]
    return [g for g in below if prime_power(g)] + [next(g for g in count(k) if prime_power(g))]


def _cells(k: int, g: int) -> int:
    return g * row_count(digit_count(k, g), g)


def _most_cells(k: int) -> int:
    return max(MAX_CELLS, _CELLS_PER_SYMBOL * k)


def require_hash_range(g: int, k: int) -> None:
    """Refuse a hash range without a field, or with too many rows."""
    if not prime_power(g):
        below, above = (next(n for n in count(g, step) if prime_power(n)) for step in (-1, 1))
        raise ParameterError(f"g must be a prime power, such as {below} or {above}: {g}")
    if _cells(k, g) > _most_cells(k):
        nearest = min(hash_ranges(k), key=lambda fits: abs(fits - g))
        raise ParameterError(
            f"g must leave at most {_most_cells(k)} counts in a tally of {k} values, as "
            f"{nearest} does: {g}"
        )
