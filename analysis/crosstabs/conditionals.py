"""How frequent a choice of one part is among those who gave a choice of the other.

A ratio of two estimates is nowhere near normal where the lower one is small beside its error, so
the interval is Fieller's: every ratio rho at which ``x - rho y`` is within z standard errors of 0.
What must never change: where y itself is within z errors of 0 that is no bounded interval, and
nothing is claimed of the ratio.

References
----------
Fieller. Some problems in interval estimation. Journal of the Royal Statistical Society B 1954.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two estimates, its standard error and the ends of its interval."""

    estimate: float
    standard_error: float
    low: float
    high: float


def ratio(x: float, y: float, of_x: float, of_y: float, of_both: float, z: float) -> Ratio | None:
    """Return x / y, or None if y is not more than z standard errors above 0.

    Parameters
    ----------
    x, y : float
        Unbiased estimates.
    of_x, of_y, of_both : float
        Their variances and covariance.
    z : float
        Standard errors to either side.

    Examples
    --------
    >>> made = ratio(0.2, 0.5, 0.0001, 0.0, 0.0, 1.96)
    >>> round(made.estimate, 6), round(made.low, 6), round(made.high, 6)
    (0.4, 0.3608, 0.4392)
    >>> ratio(0.01, 0.01, 0.0001, 0.0001, 0.0, 1.96) is None
    True
    """
    z2 = z * z
    bounded = y * y - z2 * of_y
    if y <= 0 or bounded <= 0:
        return None
    rho = x / y
    variance = max(0.0, of_x - 2 * rho * of_both + rho * rho * of_y)
    middle = x * y - z2 * of_both
    root = math.sqrt(max(0.0, middle * middle - bounded * (x * x - z2 * of_x)))
    return Ratio(rho, math.sqrt(variance) / y, (middle - root) / bounded, (middle + root) / bounded)
