"""Memoization with a second round at the user level: what it takes for the same promise.

A yes/no is answered with ``grr``: one permanent bit for each of the two answers, right with
``p1 = E/(E+1)``, and in each period a fresh round that keeps it with odds r. Nothing bounds what
that reveals about a trajectory, except the number of periods. Exactly: let y be the reports, P of
them 1 and N = T - P of them 0, and s the number of periods in which y equals the answer. Then the
reports of a trajectory have a likelihood proportional to ``g(s - N) g(s - P)`` with
``g(z) = p1 r^(z/2) + (1 - p1) r^(-z/2)``, whatever the order of things. Trajectories with one
change or more reach every s of 0..T for a suitable order of y, so the user-level epsilon is

    max over P of ( max over s of ln g(s - N) g(s - P)  -  min over s of the same ),

the same for every bound c >= 1 on changes. Of a number that only rises, rounded once at a uniform
point, the bit rises once at most: s runs over a walk of steps of 1 from P to N, and two values are
possible together if one such walk of T steps meets both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ..extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Integers = NDArray[np.int64]

_MOST = 12.0
"""No permanent epsilon beyond is tried: the permanent bit is then as good as the answer."""


@dataclass(frozen=True, slots=True)
class Memoized:
    """Settings of memoization with a second round.

    Attributes
    ----------
    permanent : float
        Epsilon of all reports about an answer that never changes, however many.
    first : float
        Epsilon of one report.
    gap : float
        By how much more often a report is right than wrong; n times the variance of a frequency of
        one half is ``1 / (4 gap^2)``.
    """

    permanent: float
    first: float
    gap: float


def trajectory_epsilon(
    permanent: float, ratio: float, periods: int, *, rising: bool = False
) -> float:
    """Return the user-level epsilon of memoization with a second round, as above.

    Parameters
    ----------
    permanent : float
        Epsilon of the permanent bit.
    ratio : float
        ln r, the log of the odds with which a period's fresh round keeps the permanent bit.
    periods : int
        T.
    rising : bool
        Whether the yes/no can only change once, from no to yes.

    Examples
    --------
    >>> ratio = math.log((math.exp(3) - 1) / (math.exp(2) - math.exp(1)))
    >>> [round(trajectory_epsilon(2, ratio, t), 2) for t in (2, 4, 6, 8)]
    [2.0, 3.36, 4.75, 6.16]
    """
    with extra():
        import numpy as np
    z = np.arange(-periods, periods + 1) * (ratio / 2)
    g = np.logaddexp(z, -z - permanent) + math.log1p(-1 / (math.exp(permanent) + 1))
    ones = np.arange(periods // 2 + 1)[:, np.newaxis]
    equal = np.arange(periods + 1)
    likelihood = g[equal + ones] + g[equal - ones + periods]
    most, least = likelihood.max(axis=1), likelihood.min(axis=1)
    return _rising(likelihood, ones, periods) if rising else float((most - least).max())


def _rising(likelihood: Array, ones: Integers, periods: int) -> float:
    """Return the largest difference between two values that one walk from P to N meets.

    The likelihood is convex in s, so of what can be met with a given s an end is the largest.

    Parameters
    ----------
    likelihood : array of float, shape (P, s)
    ones : array of int, shape (P, 1)
    periods : int
    """
    import numpy as np

    s = np.arange(periods + 1)
    best = 0.0
    for start, end in ((ones, periods - ones), (periods - ones, ones)):
        left = periods - np.abs(s - start)  # steps, after those that led to s
        met = left >= np.abs(s - end)
        for other in ((left + s + end) // 2, (s + end - left) // 2):
            than = np.take_along_axis(likelihood, np.clip(other, 0, periods), axis=1)
            best = max(best, float((than - likelihood)[met].max()))
    return best


@lru_cache(maxsize=64)
def best_memoized(epsilon: float, periods: int, *, rising: bool = False) -> Memoized:
    """Return the settings of least error that keep a user-level epsilon.

    Parameters
    ----------
    epsilon : float
        Of the whole trajectory.
    periods, rising
        As for :func:`trajectory_epsilon`.
    """
    with extra():
        from scipy.optimize import minimize_scalar

    def loss(permanent: float) -> float:
        return -_setting(permanent, epsilon, periods, rising).gap

    found = minimize_scalar(loss, bounds=(0.0, _MOST), method="bounded", options={"xatol": 0.01})
    return _setting(float(found.x), epsilon, periods, rising)


def _setting(permanent: float, epsilon: float, periods: int, rising: bool) -> Memoized:
    """Return the settings with this permanent epsilon, and as little fresh noise as it may be."""
    from scipy.optimize import brentq

    def excess(ratio: float) -> float:
        return trajectory_epsilon(permanent, ratio, periods, rising=rising) - epsilon

    low = high = epsilon / periods  # T reports never reveal more than T ln r
    while excess(high) <= 0 and high < epsilon + _MOST:
        high *= 2
    ratio = float(brentq(excess, low, high, rtol=1e-9)) if excess(high) > 0 else high
    gap = math.tanh(permanent / 2) * math.tanh(ratio / 2)
    return Memoized(permanent, math.log1p(2 * gap / (1 - gap)), gap)
