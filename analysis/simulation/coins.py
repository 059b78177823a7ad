"""Biased coins in bulk, exact to the last of 64 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BLOCK = 1 << 19
"""Coins drawn at a time, so that their random bytes stay in the processor's cache."""

_REST = 56
_REST_MASK = (1 << _REST) - 1


def toss(rng: np.random.Generator, threshold: int, count: int) -> NDArray[np.bool_]:
    """Return ``count`` independent coins, each True with probability threshold / 2^64.

    A coin compares 64 random bits with the threshold, as on a device, but draws the first eight
    alone: only where they equal those of the threshold, once in 256 coins, do the others matter.

    Parameters
    ----------
    rng : Generator
    threshold : int
        In 0..2^64.
    count : int

    Returns
    -------
    array of bool, shape (count,)
    """
    import numpy as np

    coins = np.empty(count, dtype=np.bool_)
    first, rest = threshold >> _REST, threshold & _REST_MASK
    if first == 1 << (64 - _REST):
        coins[:] = True
        return coins
    for start in range(0, count, _BLOCK):
        block = coins[start : start + _BLOCK]
        drawn = bytes_of(rng, len(block))
        np.less(drawn, first, out=block)
        ties = np.flatnonzero(drawn == first)
        block[ties] = rng.integers(0, 1 << _REST, len(ties), dtype=np.uint64) < np.uint64(rest)
    return coins


def bytes_of(rng: np.random.Generator, count: int) -> NDArray[np.uint8]:
    """Return ``count`` uniform bytes."""
    import numpy as np

    words = rng.integers(0, 1 << 64, -(-count // 8), dtype=np.uint64)
    return words.view(np.uint8)[:count]
