"""Decodes dBitFlipPM: gathers for each value the bits of all rows that are about it."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.protocol.mechanisms import FrequencyOracle

from .extras import extra
from .supports import Supports


def window(mechanism: FrequencyOracle, cells: Sequence[int]) -> Supports:
    """Return for each value the set bits about it, among the reports of the rows that cover it.

    Bit i of row r is about the value ``(r + i) mod k``; the last cell of a row counts its
    reports. A single row has a bit for every value.
    """
    with extra():
        import numpy as np
    shape = mechanism.shape
    table = np.array(cells, dtype=np.int64).reshape(shape.rows, shape.width + 1)
    if shape.rows == 1:
        return Supports(table[0, :-1].tolist(), (int(table[0, -1]),) * mechanism.k)
    counts = np.zeros(mechanism.k, dtype=np.int64)
    trials = np.zeros(mechanism.k, dtype=np.int64)
    for bit in range(shape.width):
        counts += np.roll(table[:, bit], bit)
        trials += np.roll(table[:, -1], bit)
    return Supports(counts.tolist(), trials.tolist())
