"""Hash rows for texts: public maps from numbers of any size to few buckets.

Row j sends x to ``((a x^2 + b x + c) mod P) mod width``, P = 2^61 - 1, with a, b and c in 0..P-1
from the public stream of ("row", family, j). Over all of them any three numbers that differ modulo
P are independent and uniform modulo P. So two share a bucket with a probability of 1/width, but
for 2^-110, and one shares its bucket with a second independently of whether it does with a third:
numbers that are alike, such as those of texts that differ in one letter, collide no more together
than any others, and the variance of all their collisions is the sum of those of each. The rows in
use are some of these, and the same on every device. They say nothing about a device but which row
is its own.

What must never change: the buckets of given numbers, for they are what is remembered.

References
----------
Wegman, Carter. New hash functions and their use in authentication and set equality. 1981.
"""

from __future__ import annotations

from functools import lru_cache

from ..draws import PublicDraws

PRIME = (1 << 61) - 1


@lru_cache(maxsize=1 << 14)
def row(family: str, number: int) -> tuple[int, int, int]:
    """Return (a, b, c) of a row.

    >>> row("cms", 0)
    (1463615438978777742, 1149815465497876406, 875297063259432746)
    """
    draws = PublicDraws(b"row", family.encode(), str(number).encode())
    return draws.below(PRIME), draws.below(PRIME), draws.below(PRIME)


def bucket(family: str, number: int, symbol: int, width: int) -> int:
    """Return the bucket of a symbol in a row, 0..width-1."""
    a, b, c = row(family, number)
    x = symbol % PRIME
    return ((a * x + b) * x + c) % PRIME % width
