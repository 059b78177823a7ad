"""The law of a band mechanism, as the analysis computes with it: sums over bands in O(k).

Symbol i of 0..k-1 has the band of outputs i..i+c-1 among 0..k+c-2. An output of the band has
probability ``inner`` each, one outside it ``outer`` each, and so, for frequencies f with the
cumulative sums F, an output y has probability ``outer + (inner - outer) (F(y) - F(y-c))``. Both
directions are differences of one cumulative sum, whatever c is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from deniable.protocol.mechanisms.band import Band

from .extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BandLaw:
    """How outputs depend on symbols.

    Attributes
    ----------
    k : int
        Symbols.
    c : int
        Outputs in a band.
    inner, outer : float
        Probability of an output inside the band, and outside; inner > outer > 0.
    """

    k: int
    c: int
    inner: float
    outer: float

    @classmethod
    def of(cls, mechanism: Band) -> BandLaw:
        """Return the law of a mechanism, in floats."""
        return cls(mechanism.k, mechanism.width_of_band, float(mechanism.a), float(mechanism.b))

    @property
    def width(self) -> int:
        """Outputs there are."""
        return self.k + self.c - 1

    @property
    def gap(self) -> float:
        """``inner - outer``."""
        return self.inner - self.outer

    def spread(self, frequencies: Floats) -> Floats:
        """Return the probability of each output, never below ``outer``."""
        with extra():
            import numpy as np

        total = np.concatenate([np.zeros(1), np.cumsum(frequencies)])
        y = np.arange(self.width)
        inside = total[np.minimum(y + 1, self.k)] - total[np.maximum(y + 1 - self.c, 0)]
        chances: Floats = self.outer * total[-1] + self.gap * np.maximum(inside, 0.0)
        return chances

    def gather(self, weights: Floats) -> Floats:
        """Return for each symbol the sum of weights, each times its output's probability."""
        with extra():
            import numpy as np

        total = np.concatenate([np.zeros(1), np.cumsum(weights)])
        inside = total[self.c :] - total[: self.k]
        sums: Floats = self.outer * total[-1] + self.gap * inside
        return sums
