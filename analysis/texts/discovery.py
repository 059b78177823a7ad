"""Discovery of frequent strings that nobody named, from the tally of prefix extension alone.

Level by level, all that may follow the likeliest prefixes is scored, and the odds of each child
are those of its parent times what its level says of it: with z standard deviations where a
frequency worth finding makes m, the likelihood ratio is ``exp(z m - m^2/2)``. No level decides by
itself: a prefix that one of them shows poorly may be borne out by the others. What is left at the
last level are the candidates, to be tested by its reports, which are of other devices.

A frequency is worth finding if all levels together can tell it from chance among all texts there
could be: ``f^2 sum 1/s_l^2 = 2 log(texts / alpha)``, s_l the standard error at level l.

What must never change: nothing that the last level says decides which candidates there are, or how
likely they were before.

References
----------
Wang, Li, Jha. Locally differentially private heavy hitter identification. IEEE Transactions on
Dependable and Secure Computing, 2019.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deniable.protocol.mechanisms.pem import PEM

from ..extras import extra
from .branches import EXPECTED, Branches, Children, Tree
from .levels import Level
from .placements import log_p_values
from .significance import listed, weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Vector = NDArray[np.float64]

BREADTH = 1 << 17
"""Prefixes looked at in each level, or little more, where no one says otherwise."""

BREADTHS = range(1 << 10, (1 << 22) + 1)
"""Which breadths there are: with fewer little is found, more take long and much memory."""

_LED = 1 << 11
"""Children among which frequent ones are fitted, to take away their collisions."""

_STANDS_OUT, _STANDS_OUT_ANYWHERE = 3.5, 4.5
"""Standard deviations of those that are fitted: if earlier levels led to them, and if none did."""

_TESTED = 1 << 13
"""The p-values of all others, which are far from standing out, are taken for 1."""


@dataclass(frozen=True)
class Discovery:
    """Strings that stand out.

    Attributes
    ----------
    codes : tuple of int
        Their numbers, those that stand out most first.
    p_values : tuple of float
        Of each: a bound on the probability that any string that no device has stands out as much.
    candidates : int
        Strings that were tested.
    reports : int
        Of whole texts, by which they were.
    smallest : float
        The least frequency that all reports together could tell from chance.
    """

    codes: tuple[int, ...]
    p_values: tuple[float, ...]
    candidates: int
    reports: int
    smallest: float


def discover(
    mechanism: PEM, cells: Sequence[int], alpha: float, breadth: int = BREADTH
) -> Discovery:
    """Find frequent strings.

    Parameters
    ----------
    mechanism : PEM
    cells : sequence of int
        Of a tally, as its shape lays them out.
    alpha : float
        In (0, 1): the share of false strings among those found, on average at most; where no
        string is frequent, the probability that any is found.
    breadth : int
        In :data:`BREADTHS`: prefixes looked at in each level, or little more. The time grows with
        it; the more there are, the fewer frequent strings are lost before they can be tested.

    Raises
    ------
    MissingExtraError
        If numpy or scipy is absent.
    """
    tree = Tree(mechanism.letters, mechanism.length)
    levels = _levels(mechanism, cells)
    worth = _worth(levels, tree.log_size - math.log(alpha))
    branches = Branches.root(tree)
    for level, length in zip(levels[:-1], mechanism.lengths, strict=False):
        children = branches.extended(length - branches.depth, breadth)
        branches = _followed(children, level, worth, breadth)
    children = branches.extended(mechanism.length - branches.depth, breadth)
    last = levels[-1]
    if not last.unit:
        return Discovery((), (), len(children), int(last.n), worth)
    chosen, p_values = _significant(children, last, worth, alpha)
    texts = [children.code(child) for child in chosen.tolist()]
    return Discovery(tuple(texts), tuple(p_values.tolist()), len(children), int(last.n), worth)


def _levels(mechanism: PEM, cells: Sequence[int]) -> list[Level]:
    with extra():
        import numpy as np
    rows, slope = mechanism.rows, float(mechanism.p - mechanism.buckets.q)
    tables = np.array(cells, dtype=np.int64).reshape(-1, rows, mechanism.g)
    return [
        Level.of(mechanism.name, number * rows, slope, table) for number, table in enumerate(tables)
    ]


def _worth(levels: Sequence[Level], nats: float) -> float:
    """Return the frequency that all levels together can tell from chance, 1 at most."""
    evidence = sum(level.error**-2 for level in levels if level.n and level.slope)
    return 1.0 if not evidence else min(1.0, math.sqrt(2 * nats / evidence))


def _followed(children: Children, level: Level, worth: float, breadth: int) -> Branches:
    """Return the likeliest children, after what a level says of them."""
    import numpy as np

    log_odds = children.log_odds()
    if level.unit:
        scores, level = _scored(children, log_odds, level)
        sigmas, shift = scores / level.sigma, worth * level.unit / level.sigma
        log_odds = np.minimum(log_odds + sigmas * shift - shift**2 / 2, 0.0)
    most = min(len(log_odds), breadth // children.parents.tree.digits + 1)
    best = np.argpartition(-log_odds, most - 1)[:most]
    return children.kept(np.union1d(best, children.empty), log_odds)


def _scored(children: Children, log_odds: Vector, level: Level) -> tuple[Vector, Level]:
    """Return the score of every child, without the collisions of frequent ones.

    Those are looked for among the likeliest children; at first, among those with the best scores.
    """
    import numpy as np

    first = level.first == 0
    promise = _scores(children, level) if first else log_odds
    led = np.argpartition(-promise, min(_LED, len(promise)) - 1)[:_LED]
    pool = children.hashed(led)
    level = level.cleared(pool, _STANDS_OUT_ANYWHERE if first else _STANDS_OUT)
    scores = _scores(children, level) if len(level.fitted) or not first else promise
    scores[led] += level.own(pool)
    return scores, level


def _scores(children: Children, level: Level) -> Vector:
    import numpy as np

    firsts = children.firsts
    going = level.scores(firsts[children.going], children.parents.tree.digits)
    return np.concatenate([going, level.scores(firsts[children.ended])])


def _significant(
    children: Children, level: Level, worth: float, alpha: float
) -> tuple[Integers, Vector]:
    """Return which children stand out at the last level, and their adjusted p-values."""
    import numpy as np

    log_odds = children.log_odds()
    scores, level = _scored(children, log_odds, level)
    share = weights(log_odds, worth * level.unit / level.sigma, alpha * EXPECTED)
    tested = np.argpartition(-scores, min(_TESTED, len(scores)) - 1)[:_TESTED]
    tested = tested[np.argsort(-scores[tested], kind="stable")]
    log_share = np.log(np.maximum(share[tested], 1e-300))
    adjusted = log_p_values(level, children.hashed(tested), log_share, alpha)
    adjusted = np.exp(np.minimum(adjusted, 700.0))  # not cut off at 1: many are judged together
    chosen = listed(adjusted, alpha)
    return tested[chosen], np.minimum(adjusted[chosen], 1.0)
