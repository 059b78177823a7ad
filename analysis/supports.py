"""What every decoder returns: how many reports support each value, of how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Supports:
    """How many reports support each symbol, of how many that say anything about it.

    Attributes
    ----------
    counts, trials : sequence of int
        One for each symbol; 0 <= count <= trials.
    """

    counts: Sequence[int]
    trials: Sequence[int]
