"""Hash rows for texts: public maps from numbers of any size to few buckets.

Row j sends x to ``((a x + b) mod P) mod width``, P = 2^61 - 1, with a in 1..P-1 and b in 0..P-1
from the public stream of ("row", family, j). Over all a and b two numbers that differ modulo P
collide with a probability of 1/width, but for 2^-50; the rows in use are some of these, and the
same on every device. They say nothing about a device but which row is its own.

What must never change: the buckets of given numbers, for they are what is remembered.

References
----------
Carter, Wegman. Universal classes of hash functions. 1979.
"""

from __future__ import annotations

from functools import lru_cache

from ..draws import PublicDraws

PRIME = (1 << 61) - 1


@lru_cache(maxsize=1 << 14)
def row(family: str, number: int) -> tuple[int, int]:
    """Return (a, b) of a row.

    >>> row("cms", 0)
    (2158206012171889141, 585494231163447213)
    """
    draws = PublicDraws(b"row", family.encode(), str(number).encode())
    return 1 + draws.below(PRIME - 1), draws.below(PRIME)


def bucket(family: str, number: int, symbol: int, width: int) -> int:
    """Return the bucket of a symbol in a row, 0..width-1."""
    a, b = row(family, number)
    return (a * symbol + b) % PRIME % width
