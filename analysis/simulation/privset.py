"""PrivSet, in bulk: report by report, for a tally's columns depend on each other.

A device's symbols are ordered, those of its padded set first. Of these it draws as many as its
response has in common with the set, and of the others the rest; so a set is uniform among those
that are alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import SCALE
from deniable.protocol.mechanisms.privset import PrivSet

from .coins import toss
from .reports import Open, Population, Reports, count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Bits = NDArray[np.bool_]

MAX_BY_REPORT = 10**9
"""Devices that are drawn at most."""

_CHUNK = 1 << 21
"""Symbols of as many devices as are drawn at once."""


class SimulatedPrivSet(Open[PrivSet]):
    """Symbols are masks of values, as Python's integers."""

    def cells_of(self, population: Population, rng: np.random.Generator) -> Integers:
        """Draw the reports of all devices, as many at a time as fit in memory."""
        import numpy as np

        if population.people.sum() > MAX_BY_REPORT:
            raise ParameterError(
                f"{self.mechanism.name} is drawn report by report; ask for {MAX_BY_REPORT} "
                "devices at most"
            )
        cells = np.zeros(self.mechanism.shape.cells, dtype=np.int64)
        for symbols in self._chunks(population):
            cells += count(self.mechanism.shape, self.permanent(symbols, rng))
        return cells

    def _chunks(self, population: Population) -> Iterator[NDArray[np.object_]]:
        """Yield the symbols of all devices, some devices at a time."""
        import numpy as np

        ends = np.cumsum(population.people)
        size = max(1, _CHUNK // self.mechanism.symbols)
        for start in range(0, int(ends[-1]), size):
            places = np.arange(start, min(start + size, int(ends[-1])))
            yield population.symbols[np.searchsorted(ends, places, side="right")]

    def permanent(self, symbols: NDArray[Any], rng: np.random.Generator) -> Reports:
        """Draw m of the values if there are more; whether to meet; in how many; in which."""
        import numpy as np

        made, n, m = self.mechanism, len(symbols), self.mechanism.items
        padded = self._padded(_members(symbols, made.k), rng)
        ordered = np.argsort(~padded, axis=1, kind="stable")
        met = np.where(toss(rng, made.meet, n), self._common(n, rng), 0)
        named = np.zeros((n, made.symbols), dtype=np.bool_)
        _name(named, ordered[:, :m], np.full(n, m), met, rng)
        _name(named, ordered[:, m:], np.full(n, made.k), made.weight - met, rng)
        return Reports(None, named)

    def _padded(self, members: Bits, rng: np.random.Generator) -> Bits:
        """Return each set with its dummies, and m of its values if it has more."""
        import numpy as np

        m = self.mechanism.items
        sizes = np.count_nonzero(members, axis=1)
        large = np.flatnonzero(sizes > m)
        if len(large):
            ordered = np.argsort(~members[large], axis=1, kind="stable")
            kept = np.zeros((len(large), members.shape[1]), dtype=np.bool_)
            _name(kept, ordered, sizes[large], np.full(len(large), m), rng)
            members = members.copy()
            members[large] = kept
        return np.hstack([members, np.arange(m) >= np.minimum(sizes, m)[:, None]])

    def _common(self, n: int, rng: np.random.Generator) -> Integers:
        """Draw how many symbols responses have in common with a padded set that they meet."""
        import numpy as np

        made = self.mechanism
        ways = [
            math.comb(made.items, common) * math.comb(made.k, made.weight - common)
            for common in range(1, min(made.items, made.weight) + 1)
        ]
        whole, ends = sum(ways), []
        for last in range(1, len(ways)):
            ends.append(sum(ways[:last]) * SCALE // whole)
        words = rng.integers(0, SCALE, n, dtype=np.uint64)
        return 1 + np.searchsorted(np.array(ends, dtype=np.uint64), words, side="right")


def _members(symbols: NDArray[Any], k: int) -> Bits:
    """Return which of the k values each mask has, shape (n, k)."""
    import numpy as np

    size = -(-k // 8)
    masks = b"".join(int(symbol).to_bytes(size, "little") for symbol in symbols)
    packed = np.frombuffer(masks, dtype=np.uint8).reshape(-1, size)
    bits: Bits = np.unpackbits(packed, axis=1, count=k, bitorder="little").astype(np.bool_)
    return bits


def _name(
    named: Bits, ordered: Integers, lengths: Integers, sizes: Integers, rng: np.random.Generator
) -> None:
    """Set uniform bits of each row, ``sizes`` of those among the first ``lengths`` of ``ordered``.

    The first steps of a shuffle (Fisher and Yates), of all rows together.
    """
    import numpy as np

    ordered = ordered.copy()
    for step in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > step)
        drawn = rng.integers(step, lengths[rows])
        chosen = ordered[rows, drawn]
        ordered[rows, drawn] = ordered[rows, step]
        named[rows, chosen] = True
