"""The arithmetic of a difference: its error, its interval and its p-value.

An interval is made from those of the two estimates, so where counts are small it inherits exact
ends:

``low = d - sqrt((b-l_b)^2 + (u_a-a)^2 - 2 r (b-l_b)(u_a-a))``, and ``high`` likewise,

with d = b - a, (l, u) the interval of each estimate and r their correlation. Of normal intervals
that is d -+ z SE with ``SE^2 = SE_a^2 + SE_b^2 - 2 r SE_a SE_b``.

References
----------
Zou, Donner. Construction of confidence limits about effect measures: a general approach.
Statistics in Medicine 2008 (MOVER).
Zou. Toward using confidence intervals to compare correlations. Psychological Methods 2007 (r).
Holm. A simple sequentially rejective multiple test procedure. Scandinavian J. Statistics 1979.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from deniable.protocol.question import Value

from .correlation import Correlation
from .difference_results import LEAST_P, Difference
from .estimators import Level
from .measured import Measured


def between(
    a: Measured, b: Measured, correlation: Correlation, value: Value | int | None
) -> Difference:
    """Return the difference of two estimates under a correlation, as above.

    Its p-value is that of a normal difference, see :func:`p_value`.
    """
    r = correlation.coefficient

    def length(one: float, two: float) -> float:
        """The third side of a triangle whose other two enclose an angle of cosine r."""
        return math.sqrt(max(one * one + two * two - 2 * r * one * two, 0.0))

    d = b.estimate - a.estimate
    error = length(a.standard_error, b.standard_error)
    return Difference(
        value=value,
        estimate_a=a.estimate,
        estimate_b=b.estimate,
        difference=d,
        standard_error=error,
        low=d - length(b.estimate - b.low, a.high - a.estimate),
        high=d + length(b.high - b.estimate, a.estimate - a.low),
        p_value=p_value(d, error),
    )


def p_value(d: float, error: float) -> float:
    """Return the two-sided p-value of no difference, at least 1e-300.

    >>> round(p_value(1.959964, 1.0), 6), p_value(5.0, 0.01)
    (0.05, 1e-300)
    """
    if d == 0:
        return 1.0
    return max(LEAST_P, math.erfc(abs(d) / (error * math.sqrt(2)))) if error > 0 else LEAST_P


GRID = [step / 5 for step in range(42)]
"""Standard errors at which intervals are tried for a p-value, up to one of 2e-16."""


def dual(made: Callable[[Level], Sequence[Difference]], own: Level) -> list[float]:
    """Return for each difference the least alpha whose interval leaves out no difference.

    So a p-value is below alpha if and only if the interval at that level excludes 0, also where
    its ends are exact. Intervals are tried at :data:`GRID` and at the level asked for; between
    two of them the end is taken to be linear in z, as it is where it is normal.

    Parameters
    ----------
    made : callable
        The differences with their intervals, at a level.
    own : Level
        That of the intervals that are shown.
    """
    places = sorted({*GRID, own.z})
    tried = [made(Level(math.erfc(z / math.sqrt(2)))) for z in places]
    return [_crossing(places, differences) for differences in zip(*tried, strict=True)]


def _crossing(places: Sequence[float], tried: Sequence[Difference]) -> float:
    """Return the p-value of one difference from its interval at each place."""
    d, error = tried[0].difference, tried[0].standard_error
    margins = [one.low if d > 0 else -one.high for one in tried]
    if d == 0 or margins[0] <= 0:
        return 1.0
    last = max(i for i, margin in enumerate(margins) if margin > 0)
    if last + 1 == len(places):
        return min(p_value(d, error), math.erfc(places[-1] / math.sqrt(2)))
    share = margins[last] / (margins[last] - margins[last + 1])
    z = places[last] + share * (places[last + 1] - places[last])
    return math.erfc(z / math.sqrt(2))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for how many they are: reject those below alpha.

    The i-th smallest of m becomes the largest of ``(m-j+1) p_j`` for j <= i, at most 1.

    >>> [round(p, 6) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted, least = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, i in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = least
    return adjusted
