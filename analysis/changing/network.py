"""Every period from every row: generalised least squares, which here is an electrical network.

Periods are nodes and rows are wires: a row of level h and period t tells ``f_t - f_(t - 2^h)``, the
first row of a level ``f_t`` itself, with a conductance that is one over its variance. Least squares
is Kirchhoff's law: the variance of an estimate is the effective resistance between its period and
period 0, and the weight of a row is the current through it. So more rows never make an estimate
worse (Rayleigh's monotonicity), and none is worse than the sum over the stretches that 1..t is made
of, which uses one path of the network; and a period can be estimated if and only if a path of
released rows leads to it.

The conductances depend on how many reports there are, never on what they say: weights are fixed
before any answer is looked at, and estimates are unbiased.

References
----------
Hay, Rastogi, Miklau, Suciu. Boosting the accuracy of differentially private histograms through
consistency. VLDB 2010 (least squares over a tree).
Honaker. Efficient use of differentially private binary trees. TPDP 2015.
Doyle, Snell. Random walks and electric networks. 1984.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..extras import extra
from .rows import Rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """How each period that a path leads to follows from the rows.

    Attributes
    ----------
    periods : array of int, shape (m,)
        Those that can be estimated, in order.
    weights : array of float, shape (m, rows)
        Of each row in the estimate of each of them.
    """

    periods: NDArray[np.int64]
    weights: Array


def solve(rows: Rows, conductance: Array, periods: int) -> Solution:
    """Return the least squares solution.

    Parameters
    ----------
    rows : Rows
    conductance : array of float, shape (rows,)
        One over the variance of each, up to a common factor.
    periods : int
        T.
    """
    with extra():
        import numpy as np
        from scipy.linalg import cho_factor, cho_solve

    reached = _reached(rows, periods)
    used = reached[rows.period] & reached[rows.since]
    reached[0] = False
    nodes = np.flatnonzero(reached)
    place = np.full(periods + 1, -1)
    place[nodes] = np.arange(len(nodes))
    flow = np.zeros((len(nodes), len(rows)))
    which = np.flatnonzero(used)
    flow[place[rows.period[which]], which] = conductance[which]
    inner = which[rows.since[which] > 0]
    flow[place[rows.since[inner]], inner] = -conductance[inner]
    laplacian = np.zeros((len(nodes) + 1, len(nodes) + 1))
    ends, starts = place[rows.period[which]], place[rows.since[which]]  # -1 is period 0
    c = conductance[which]
    for i, j, sign in ((ends, ends, 1), (starts, starts, 1), (ends, starts, -1)):
        np.add.at(laplacian, (i, j), sign * c)
    np.add.at(laplacian, (starts, ends), -c)
    if not len(nodes):
        return Solution(nodes, flow)
    factor = cho_factor(laplacian[:-1, :-1], check_finite=False)
    return Solution(nodes, cho_solve(factor, flow, check_finite=False))


def _reached(rows: Rows, periods: int) -> NDArray[np.bool_]:
    """Return to which periods a path of rows leads from period 0."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(len(rows))
    graph = coo_array((ones, (rows.since, rows.period)), shape=(periods + 1, periods + 1))
    _, label = connected_components(graph, directed=False)
    found: NDArray[np.bool_] = label == label[0]
    return found
