"""Sets as bit masks: their members, and a uniform subset of them.

What must never change: the order of the draws.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..draws import Draws


def single_bits(mask: int) -> list[int]:
    """Return the single bits of a mask, the lowest first.

    >>> single_bits(0b1101)
    [1, 4, 8]
    """
    found = []
    while mask:
        found.append(mask & -mask)
        mask &= mask - 1
    return found


def uniform_subset(bits: Sequence[int], size: int, draws: Draws) -> int:
    """Return a uniform subset of that size as a mask (Floyd's algorithm, as in :mod:`.subset`)."""
    taken: set[int] = set()
    for last in range(len(bits) - size, len(bits)):
        drawn = draws.below(last + 1)
        taken.add(last if drawn in taken else drawn)
    return sum(bits[at] for at in taken)
