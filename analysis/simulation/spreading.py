"""Devices with texts, spread over hash rows and their buckets; shared by all sketches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..texts.hash_rows import own_places, places, residues
from .reports import Population

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

_CHUNK = 1 << 20
"""Hashes computed at a time."""


def spread(
    family: str, rows: range, width: int, population: Population, rng: np.random.Generator
) -> Integers:
    """Draw how many devices are in each bucket of each row, each device in a uniform row.

    A text of fewer devices than there are rows is drawn device by device, any other one at once.

    Parameters
    ----------
    family : str
        Of the hash rows.
    rows : range
        Their numbers.
    width : int
        Buckets of each.
    population : Population
    rng : Generator

    Returns
    -------
    array of int, shape (rows, width)
    """
    import numpy as np

    hashed, people = residues(population.symbols.tolist()), population.people
    few = people < len(rows)
    found = np.zeros(len(rows) * width, dtype=np.int64)
    singly = np.repeat(hashed[few], people[few])
    for some in _parts(singly, _CHUNK):
        own = rng.integers(0, len(rows), len(some))
        at = own * width + own_places(family, rows.start, own, some, width)
        found += np.bincount(at, minlength=len(found))
    even, starts = np.full(len(rows), 1 / len(rows)), np.arange(len(rows))[:, None] * width
    size = max(1, _CHUNK // len(rows))
    for some, devices in zip(_parts(hashed[~few], size), _parts(people[~few], size), strict=True):
        at = starts + places(family, rows, some, width)
        np.add.at(found, at, rng.multinomial(devices, even).T)
    return found.reshape(len(rows), width)


def _parts(array: Any, size: int) -> Iterator[Any]:
    """Yield an array in parts of so many entries."""
    return (array[start : start + size] for start in range(0, len(array), size))
