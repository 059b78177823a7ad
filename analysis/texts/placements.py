"""The odds that a string of no device stands out: its buckets are as good as drawn at random.

A string that no device has is in a uniform bucket of each row, independently of which strings
devices have and of the noise of their reports. So, whatever is in a table of surpluses S, its score
is a sum over rows of one entry each, drawn at random: with the noise and all collisions, also where
few rows make them rare and large. With ``K(theta) = sum_j log(sum_b exp(theta S_jb) / g)``,

``P(score >= s) = exp(K(theta) - theta s) E[exp(-theta (X - s)); X >= s]``,

X the score where entries are drawn in proportion to ``exp(theta S_jb)``. The mean is 1 at most:
without it this is Chernoff's bound, taken where rows are few; where they are many X is as good as
normal.

Frequent strings widen that, so they are taken away, but only those that are proved: the fitted ones
are tested from the most frequent on, each in a table without those that passed before. What chance
made look frequent stays in the table, and is no evidence for itself or for others.

What must never change: a string is tested in a table from which it was not taken away.

References
----------
Chernoff. A measure of asymptotic efficiency for tests of a hypothesis based on the sum of
observations. 1952.
Bahadur, Rao. On deviations of the sample mean. 1960.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .hash_rows import Residues
    from .levels import Level

    Integers = NDArray[np.int64]
    Table = NDArray[np.float64]
    Vector = NDArray[np.float64]

MANY_ROWS = 32
"""From so many rows on, a sum of one entry each is as good as normal."""

_MARGIN = math.log(1.2)
"""Of the logarithm of a tail: what is as good as normal is nearly so, and counts are whole."""

_LEAST, _RATIO, _THETAS = 0.7, 1.25, 30
"""Of theta, by the standard deviation of a score: one of them is close to the best."""

_AT_ONCE = 1 << 12
"""Strings whose buckets are held at a time."""


def log_p_values(level: Level, hashed: Residues, log_share: Vector, alpha: float) -> Vector:
    """Return the logarithm of the p-value of each string, over its share of the level alpha.

    Parameters
    ----------
    level : Level
        With its frequent strings fitted.
    hashed : array of residues, shape (n,)
        All different.
    log_share : array, shape (n,)
    alpha : float
        A fitted string is proved if it would be listed together with those proved before.
    """
    import numpy as np

    table, proved = level.unfitted, np.full(len(hashed), np.nan)
    places = {residue: place for place, residue in enumerate(hashed.tolist())}
    order = np.argsort(-level.frequencies, kind="stable").tolist()
    left, before = [at for at in order if int(level.fitted[at]) in places], -1
    while len(left) != before:
        before, unproved = len(left), []
        for at in left:
            place = places[int(level.fitted[at])]
            where = level.buckets(hashed[place : place + 1])
            found = log_tails(table, _scores(table, where))[0] - log_share[place]
            if found > math.log(alpha * (1 + np.isfinite(proved).sum())):
                unproved.append(at)
                continue
            proved[place] = found
            table = table - level.expected(where, level.frequencies[at : at + 1])
        left = unproved
    parts = np.array_split(hashed, -(-len(hashed) // _AT_ONCE))
    scores = np.concatenate([_scores(table, level.buckets(part)) for part in parts])
    return np.where(np.isfinite(proved), proved, log_tails(table, scores) - log_share)


def log_tails(table: Table, scores: Vector) -> Vector:
    """Return the logarithm of P(a string of no device has this score or more), for each score.

    Parameters
    ----------
    table : array, shape (rows, g)
        Surpluses, the mean of each row 0.
    scores : array, shape (n,)
    """
    with extra():
        import numpy as np
        from scipy.special import log_ndtr
    found, least = np.zeros(len(scores)), np.zeros(len(scores))
    sigma = math.sqrt(float((table**2).mean(axis=1).sum()))
    if not sigma:
        return found
    highest = table.max(axis=1, keepdims=True)
    below, missing = table - highest, scores - highest.sum()
    for theta in _LEAST * _RATIO ** np.arange(_THETAS) / sigma:
        tilted = np.exp(theta * below)
        total = tilted.sum(axis=1)
        bounds = float(np.log(total / table.shape[1]).sum()) - theta * missing
        if len(table) >= MANY_ROWS:
            means = (tilted * below).sum(axis=1) / total
            spread = float(((tilted * below**2).sum(axis=1) / total - means**2).sum())
            wide, beyond = math.sqrt(max(spread, (1e-6 * sigma) ** 2)), missing - means.sum()
            share = log_ndtr(-beyond / wide - theta * wide)
            share += theta * beyond + (theta * wide) ** 2 / 2
        else:
            share = np.zeros(len(scores))
        better = bounds < least
        least[better] = bounds[better]
        found[better] = bounds[better] + np.minimum(share[better] + _MARGIN, 0.0)
    return found


def _scores(table: Table, where: Integers) -> Vector:
    import numpy as np

    found: Vector = np.take_along_axis(table, where, axis=1).sum(axis=0)
    return found
