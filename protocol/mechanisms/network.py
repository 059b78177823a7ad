"""How certain least squares makes the newest period of a dyadic tree, and what a lie moves.

Reports of one level and period are a wire between two periods, with a resistance: their variance,
if all devices were of that level. Least squares over all of them is Kirchhoff's law: the variance
of period t is the effective resistance between t and period 0, and each wire's weight is the
current through it, if 1 flows from t to 0. The wires of the periods 1..t are nested: they are a
chain of blocks of 2^h periods, one for each binary digit of t, and a block is one wire beside two
blocks in series. Later periods add wires, and can only make an older period more certain.

Numbers are floats: they are of what an analyst plans with, never of what a device does.

References
----------
Doyle, Snell. Random walks and electric networks. 1984.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

Levels = tuple[float, ...]
"""A number for each level 0, 1, .."""


@dataclass(frozen=True)
class Network:
    """The wires of a tree.

    Attributes
    ----------
    first, later : tuple of float
        Resistance of each level's first wire, which leads to period 0, and of all others.
    """

    first: Levels
    later: Levels

    def resistance(self, t: int) -> float:
        """Return the resistance between period t, the newest, and period 0."""
        return sum((self._initial if start else self._blocks)[h] for h, start in chain(t))

    def squares(self, t: int) -> float:
        """Return the sum of squares of the currents through the first wires."""
        rest, found = 1.0, 0.0
        for level in range(t.bit_length() - 1, -1, -1):
            own = rest * self._initial[level] / self.first[level]
            found += own**2
            rest -= own
        return found

    def reach(self, t: int, first: Levels, later: Levels) -> float:
        """Return how far one device can move the estimate of period t, the newest.

        If it is of the level that moves it most, and all its reports say what does.

        Parameters
        ----------
        t : int
        first, later : tuple of float
            How far a report moves what its wire tells, by level.
        """
        moved = [0.0] * len(self.later)
        for block, start in chain(t):
            if not start:
                self._pass(block, 1.0, later, moved)
                continue
            rest = 1.0
            for level in range(block, -1, -1):
                own = rest * self._initial[level] / self.first[level]
                moved[level] += own * first[level]
                rest -= own
                self._pass(level - 1, rest, later, moved)
        return max(moved)

    def _pass(self, block: int, rest: float, later: Sequence[float], moved: list[float]) -> None:
        """Add what a block that does not begin at 0 moves with a current from end to end."""
        for level in range(block, -1, -1):
            own = rest * self._blocks[level] / self.later[level]
            moved[level] += own * later[level] * (1 << (block - level))
            rest -= own

    @cached_property
    def _blocks(self) -> Levels:
        """The resistance of a block of each level, from end to end."""
        found: list[float] = []
        for wire in self.later:
            found.append(1 / (1 / wire + 1 / (2 * found[-1])) if found else wire)
        return tuple(found)

    @cached_property
    def _initial(self) -> Levels:
        """The resistance of a block of each level that begins at 0, from end to end."""
        found: list[float] = []
        for wire, block in zip(self.first, (0.0, *self._blocks[:-1]), strict=True):
            found.append(1 / (1 / wire + 1 / (found[-1] + block)) if found else wire)
        return tuple(found)


def chain(t: int) -> Iterator[tuple[int, bool]]:
    """Yield the blocks that 1..t are made of, largest first: level, and whether it begins at 0.

    >>> list(chain(6))
    [(2, True), (1, False)]
    """
    largest = t.bit_length() - 1
    return ((level, level == largest) for level in range(largest, -1, -1) if t >> level & 1)
