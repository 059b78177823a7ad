"""Which candidates stand out by more than chance: weights, and the share of errors.

The candidates, and how likely each was before, come from reports of other levels; so given those,
the counts of the last level are fresh; their p-values are in :mod:`.placements`.

Each candidate i has a share w_i of the level alpha, ``sum w_i = 1``: the likelier it was before,
the more. Where the last level adds evidence like a normal z of mean m under a frequency worth
finding, most are found if all are judged by one odds ratio: ``t_i = m/2 + (L - log_odds_i)/m`` is
the least z that counts, and ``w_i ~ P(Z > t_i)``. L is such that ``sum P(Z > t_i)`` is alpha times
the frequent texts expected, which is what is spent if so many are listed.

``P_i = p_i / w_i`` at most alpha (Bonferroni) bounds the probability of any false string by alpha.
Those listed are the R with the least P_i, R as large as ``P_(R) <= alpha R`` allows (Benjamini and
Hochberg): then the share of false strings among those listed is at most alpha on average; and where
no candidate is true, so is the probability that any is listed.

References
----------
Benjamini, Hochberg. Controlling the false discovery rate. 1995.
Genovese, Roeder, Wasserman. False discovery control with p-value weighting. Biometrika 2006.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Vector = NDArray[np.float64]

_LARGEST = 512
"""No candidate has more than one in so many of the level, for the likely ones need little."""

_HALVINGS = 40

_ALIKE = 1024
"""Candidates are put in so many groups of about the same odds, to find L; any L will do."""


def weights(log_odds: Vector, shift: float, spend: float) -> Vector:
    """Return the share of the level that each candidate has.

    Parameters
    ----------
    log_odds : array
        Before the last level.
    shift : float
        m: standard deviations by which the last level shows a frequency worth finding.
    spend : float
        The sum of ``P(Z > t_i)``, if there are candidates enough.
    """
    with extra():
        import numpy as np
        from scipy.special import ndtr, ndtri
    floor = -float(ndtri(spend / _LARGEST))

    def spent(limit: float, odds: Vector) -> Vector:
        needed = np.maximum(shift / 2 + (limit - odds) / shift, floor)
        found: Vector = ndtr(-needed)
        return found

    alike, edges = np.histogram(log_odds, _ALIKE)
    middles = (edges[:-1] + edges[1:]) / 2
    low, high = float(edges[0]) - 50 * shift, float(edges[-1]) + 50 * shift
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        more = float(alike @ spent(middle, middles)) > spend
        low, high = (middle, high) if more else (low, middle)
    chosen = spent(high, log_odds)
    share: Vector = chosen / chosen.sum()
    return share


def listed(adjusted: Vector, alpha: float) -> Integers:
    """Return which to list, those that stand out most first.

    >>> import numpy as np
    >>> listed(np.array([0.09, 1.0, 0.001, 0.2]), 0.05).tolist()
    [2, 0]
    """
    import numpy as np

    order = np.argsort(adjusted, kind="stable")
    passed = np.flatnonzero(adjusted[order] <= alpha * np.arange(1, len(order) + 1))
    return order[: passed[-1] + 1 if len(passed) else 0]
