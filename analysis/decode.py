"""From the cells of a tally to how many reports support each value.

One decoder for each ``FrequencyOracle.decoder``; to add one, write its function and its line in
``DECODERS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from deniable.protocol.errors import DocumentError
from deniable.protocol.mechanisms import FrequencyOracle

from .extras import extra
from .hadamard import hadamard
from .hashing import hashed
from .supports import Supports
from .windows import window

__all__ = ["DECODERS", "Decoder", "Supports", "add", "decode"]


Decoder = Callable[[FrequencyOracle, Sequence[int]], Supports]


def decode(mechanism: FrequencyOracle, cells: Sequence[int]) -> Supports:
    """Return for each symbol 0..k-1 how many of the counted reports support it.

    Parameters
    ----------
    mechanism : FrequencyOracle
    cells : sequence of int
        As the mechanism's shape lays them out: of one tally, or of several added up.

    Raises
    ------
    DocumentError
        If this version knows no decoder of that name.
    """
    if mechanism.decoder not in DECODERS:
        raise DocumentError(f"decoder {mechanism.decoder} is unknown; upgrade deniable to read it")
    return DECODERS[mechanism.decoder](mechanism, cells)


def add(tallies: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return the cells of several tallies of different devices as one."""
    return tuple(map(sum, zip(*tallies, strict=True)))


def affine(mechanism: FrequencyOracle, cells: Sequence[int]) -> Supports:
    """A cell is a value's supports; the last cell of a bits row counts its reports."""
    with extra():
        import numpy as np
    n = mechanism.shape.reports(cells)
    return Supports(np.array(cells[: mechanism.k], np.int64), np.full(mechanism.k, n))


DECODERS: Final[Mapping[str, Decoder]] = {
    "affine": affine,
    "hadamard": hadamard,
    "hash": hashed,
    "window": window,
}
"""Every decoder there is."""
