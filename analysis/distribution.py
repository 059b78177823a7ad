"""The whole distribution of a number from a band mechanism, by maximum likelihood.

With r(y) the share of reports that are the output y and P(y) its probability under the
frequencies f, one step of expectation and maximisation is

``f_i <- f_i sum over y of r(y) P(y|i) / P(y)``,

which takes O(k), for bands are differences of cumulative sums, and divides by nothing smaller
than the probability of an output outside its band. The maximum itself is a few spikes, for the
bands blur. On a fine grid each step therefore ends in smoothing,
``f_i <- (f_{i-1} + 2 f_i + f_{i+1}) / 4``, the ends of the grid being mirrors: biased, but nearer
to the truth. On a coarse one the same weights reach across much of the range, and no number of
devices removes that bias (two hills on 21 points at epsilon 1: a million devices leave 44 % in
the wrong bins, and 3 % without smoothing); so there is none below :data:`FINE` points.

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
FINE = 512
"""Points from which on each step ends in smoothing."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Points first..last of a grid, both included, and the share of the devices there."""

    first: int
    last: int
    frequency: float


def distribution(law: BandLaw, counts: Counts, *, smooth: bool | None = None) -> Floats:
    """Return the frequency of each point of the grid; not negative, their sum is 1.

    Parameters
    ----------
    law : BandLaw
    counts : array of int64, shape (law.width,)
        Reports of each output, at least one in all.
    smooth : bool, optional
        Whether each step ends in smoothing; otherwise if there are :data:`FINE` points.
    """
    with extra():
        import numpy as np

    blur = law.k >= FINE if smooth is None else smooth
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
        if blur:
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
