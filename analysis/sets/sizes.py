"""How many items answers have, from the dummies that fill them up.

The dummy i is in the padded sets of those with at most i items, so its frequency is
``D_i = P(size <= i)``, and

``P(size = i) = D_i - D_(i-1)``, D_(-1) = 0, D_m = 1, ``mean size = m - (D_0 + .. + D_(m-1))``.

Dummies of one response are not independent. Two of them, i < j, are in it together with the
probability J_1 if the padded set has one of them, which is if it has j, and J_0 if not; so with
``g = q + D (p-q)`` the covariance of their supports is ``J_0 + D_j (J_1 - J_0) - g_i g_j``. An
error follows from the D's errors and the correlations r, and an interval from their intervals:

``SE^2 = sum of c_i c_j r_ij SE_i SE_j``, and an end is as far away as
``sqrt(sum of c_i c_j r_ij l_i l_j)``,

for coefficients c, and l_i the distance to the end of D_i's interval on that side of the result.
For normal intervals that is z SE; where counts are small the ends are made of exact ones.

References
----------
Zou, Donner. Construction of confidence limits about effect measures: a general approach.
Statistics in Medicine 2008 (MOVER).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from deniable.protocol.mechanisms.privset import PrivSet

from ..estimators import Raw, Raws
from ..extras import extra
from ..simplex import project

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The frequency of each size 0..m, and the mean size, raw."""

    each: tuple[Raw, ...]
    mean: Raw


def estimate_sizes(mechanism: PrivSet, dummies: Raws) -> Sizes:
    """Return what the raw estimates of the dummies 0..m-1 tell of sizes, unbiased."""
    with extra():
        import numpy as np
    m = mechanism.items
    steps = np.zeros((m + 1, m))
    steps[:m] += np.eye(m)
    steps[1:] -= np.eye(m)
    related = correlations(mechanism, dummies.frequency.tolist())
    each = [_combined(dummies, row, float(i == m), related) for i, row in enumerate(steps)]
    return Sizes(tuple(each), _combined(dummies, np.full(m, -1.0), float(m), related))


def _combined(dummies: Raws, coefficients: Array, constant: float, related: Array) -> Raw:
    """Return a constant and a sum of the dummies' frequencies, with its error and interval."""
    with extra():
        import numpy as np

    def length(lengths: Array) -> float:
        weighed = coefficients * lengths
        return math.sqrt(max(float(weighed @ related @ weighed), 0.0))

    below, above = dummies.frequency - dummies.low, dummies.high - dummies.frequency
    rises = coefficients > 0
    centre = constant + float(coefficients @ dummies.frequency)
    return Raw(
        centre,
        length(dummies.standard_error),
        centre - length(np.where(rises, below, above)),
        centre + length(np.where(rises, above, below)),
    )


def correlations(mechanism: PrivSet, at_most: Sequence[float]) -> Array:
    """Return the correlations of the dummies' supports, if P(size <= i) is about ``at_most[i]``.

    They are those of the nearest distribution of sizes.

    Returns
    -------
    array of shape (m, m)
        Positive semidefinite, 1 on the diagonal.
    """
    with extra():
        import numpy as np
    ends = [0.0, *at_most, 1.0]
    shares = project([high - low for low, high in pairwise(ends)])
    known = np.cumsum(shares)[:-1]
    p, q = float(mechanism.p), float(mechanism.q)
    one, none = map(float, mechanism.joint)
    both = none + np.maximum.outer(known, known) * (one - none)
    supports = q + known * (p - q)
    np.fill_diagonal(both, supports)
    covariance = both - np.outer(supports, supports)
    deviations = np.sqrt(np.diag(covariance))
    related: Array = covariance / np.outer(deviations, deviations)
    return related
