"""Binomial tails, which bound what honest devices can do whatever their answers are.

Each of n honest reports supports a value with probability q or more, independently. So the count
is at least as large as one of Bin(n, q), in distribution: ``P(C <= c) <= P(Bin(n, q) <= c)``.

A sum T of N independent bits of various probabilities is less spread than one of equal bits with
the same mean m: where t is at least 1 beyond it, ``P(T >= t) <= P(Bin(N, m/N) >= t)``, and
likewise below (Hoeffding).

References
----------
Hoeffding. On the distribution of the number of successes in independent trials. Annals of
Mathematical Statistics 1956.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NEAR = 3
"""Standard errors within which no binomial tail is below 1e-4: scipy need not be loaded for it."""


def at_most(count: Any, n: Any, chance: float) -> NDArray[np.float64]:
    """Return P(Bin(n, chance) <= count), for counts 0..n.

    >>> round(float(at_most(1, 3, 0.5)), 6)
    0.5
    """
    with extra():
        import numpy as np
        from scipy.special import betainc
    successes, trials = np.asarray(count, float), np.asarray(n, float)
    others = np.maximum(trials - successes, 1.0)
    tail = betainc(others, successes + 1, 1 - chance)
    found: NDArray[np.float64] = np.where(successes >= trials, 1.0, tail)
    return found


def too_few(count: Any, n: Any, chance: float) -> NDArray[np.float64]:
    """Return for each of many counts how likely one of them is as rare, or rarer, by noise alone.

    The bound is their number times :func:`at_most` (Bonferroni), which need not be below 1; or 1
    where a count is not far below its mean, as in most tallies each is.
    """
    with extra():
        import numpy as np
    successes, trials = np.asarray(count, float), np.asarray(n, float)
    found = np.ones(successes.shape)
    far = trials * chance - successes > _NEAR * np.sqrt(trials * chance * (1 - chance))
    if far.any():
        found[far] = far.size * at_most(successes[far], trials[far], chance)
    return found


def off_the_mean(total: int, bits: int, mean: Fraction) -> float:
    """Return how likely as far a sum of independent bits, on either side, is: an upper bound.

    Or 1 where it is not far from its mean.

    Parameters
    ----------
    total : int
        Bits that are set.
    bits : int
        Bits there are.
    mean : Fraction
        How many are set on average.
    """
    variance = mean * (1 - mean / bits)
    if (total - mean) ** 2 <= max(Fraction(1), _NEAR**2 * variance):
        return 1.0
    chance = float(mean / bits)
    if total > mean:
        total, chance = bits - total, float(1 - mean / bits)
    return min(1.0, 2 * float(at_most(total, bits, chance)))
