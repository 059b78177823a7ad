"""The whole distribution of a number from a band mechanism, by maximum likelihood.

With r(y) the share of reports that are the output y and P(y) its probability under the
frequencies f, one step of expectation and maximisation is

``f_i <- f_i sum over y of r(y) P(y|i) / P(y)``,

which takes O(k), for bands are differences of cumulative sums, and divides by nothing smaller
than the probability of an output outside its band. The maximum itself is a few spikes, for the
bands blur; with smoothing, each step ends in ``f_i <- (f_{i-1} + 2 f_i + f_{i+1}) / 4``, the ends
of the grid being mirrors, and what comes out looks like a distribution. It is biased.

It begins uniform and ends when a step changes the log-likelihood by less than :data:`GAIN`, or
after :data:`STEPS`.

References
----------
Li, Wang, Lopuhaä-Zwakenberg, Li, Škorić. Estimating numerical distributions under local
differential privacy. SIGMOD 2020 (EM and EMS).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from .bands import BandLaw
from .extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Counts: TypeAlias = NDArray[np.int64]

GAIN = 1e-3
STEPS = 5000
BINS = 20


@dataclass(frozen=True, slots=True)
class Bin:
    """Points first..last of a grid, both included, and the share of the devices there."""

    first: int
    last: int
    frequency: float


def distribution(law: BandLaw, counts: Counts, *, smooth: bool = True) -> Floats:
    """Return the frequency of each point of the grid; not negative, their sum is 1.

    Parameters
    ----------
    law : BandLaw
    counts : array of int64, shape (law.width,)
        Reports of each output, at least one in all.
    smooth : bool
        Whether each step ends in smoothing.
    """
    with extra():
        import numpy as np

    n = int(counts.sum())
    seen = counts / n
    frequencies = np.full(law.k, 1 / law.k)
    before = -np.inf
    for _ in range(STEPS):
        outputs = law.spread(frequencies)
        likelihood = float(seen @ np.log(outputs))
        if n * abs(likelihood - before) < GAIN:
            break
        before = likelihood
        frequencies = frequencies * law.gather(seen / outputs)
        if smooth:
            frequencies = smoothed(frequencies)
        frequencies /= frequencies.sum()
    return frequencies


def smoothed(frequencies: Floats) -> Floats:
    """Average each point with its neighbours; the sum stays."""
    with extra():
        import numpy as np

    padded = np.concatenate([frequencies[:1], frequencies, frequencies[-1:]])
    mixed: Floats = (padded[:-2] + 2 * frequencies + padded[2:]) / 4
    return mixed


def quantile(frequencies: Floats, share: float) -> int:
    """Return the first point up to which there is ``share`` of the distribution."""
    with extra():
        import numpy as np

    total = np.cumsum(frequencies)
    return min(int(np.searchsorted(total, share * total[-1] - 1e-12)), len(frequencies) - 1)


def bins(frequencies: Floats) -> tuple[Bin, ...]:
    """Add up neighbours into at most :data:`BINS` bins of as many points, give or take one."""
    with extra():
        import numpy as np

    k = len(frequencies)
    ends = np.linspace(0, k, min(k, BINS) + 1).astype(int)
    return tuple(
        Bin(int(first), int(end) - 1, float(frequencies[first:end].sum()))
        for first, end in pairwise(ends)
    )
