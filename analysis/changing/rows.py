"""The rows of a changing answer: what the devices of one level said in one period.

A row is one edge between two periods: at its level h it tells what became of the answer in the
2^h periods up to its own. Period 0 is before the first; nothing is unknown there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.protocol.mechanisms.dyadic import Dyadic

from ..extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """All rows with a report, by level and then by period.

    Attributes
    ----------
    level, period : array of int, shape (rows,)
        h and t; t is a multiple of 2^h.
    reports, ones : array of int or float, shape (rows,)
        How many reports there are, and how many of them are 1.
    """

    level: Integers
    period: Integers
    reports: NDArray[np.float64]
    ones: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.level)

    @property
    def since(self) -> Integers:
        """The period with which each row compares its own."""
        return self.period - (1 << self.level)

    @property
    def first(self) -> NDArray[np.bool_]:
        """Which rows are the first of their level."""
        found: NDArray[np.bool_] = self.since == 0
        return found


def rows_of(mechanism: Dyadic, cells: Mapping[int, Sequence[int]]) -> Rows:
    """Return the rows of tallies.

    Parameters
    ----------
    mechanism : Dyadic
    cells : mapping of int to sequence of int
        By period, in 1..T: as the mechanism's shape lays them out. Periods may be missing.
    """
    found = [
        (level, t, counts[2 * level] + counts[2 * level + 1], counts[2 * level + 1])
        for level in range(mechanism.levels)
        for t, counts in sorted(cells.items())
        if mechanism.due(level, t) and counts[2 * level] + counts[2 * level + 1] > 0
    ]
    return _made(found)


def expected_rows(mechanism: Dyadic, devices: float) -> Rows:
    """Return the rows of so many devices, alike in number at every level, half of them ones."""
    each = devices / mechanism.levels
    return _made(
        [
            (level, node << level, each, each / 2)
            for level in range(mechanism.levels)
            for node in range(1, mechanism.nodes(level) + 1)
        ]
    )


def _made(found: Sequence[tuple[int, int, float, float]]) -> Rows:
    with extra():
        import numpy as np
    table = np.array(found, dtype=np.float64).reshape(-1, 4).T
    level, period = table[0].astype(np.int64), table[1].astype(np.int64)
    return Rows(level, period, table[2], table[3])
