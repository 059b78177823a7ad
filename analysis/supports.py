"""What every decoder returns: how many reports support each value, of how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Supports:
    """How many reports support each symbol, of how many that say anything about it.

    Attributes
    ----------
    counts, trials : sequence or array of int
        One for each symbol; 0 <= count <= trials.
    """

    counts: Sequence[int] | NDArray[np.int64]
    trials: Sequence[int] | NDArray[np.int64]
