"""The mean of a number from the scores of its reports: unbiased, with an honest error.

Each response y has a score s(y) whose mean is the device's place in the range, ``Scale.score``.
Everything here is in places of [0, 1]; the range makes numbers of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.one_bit import OneBitMean
from deniable.protocol.mechanisms.oracle import FrequencyOracle
from deniable.protocol.mechanisms.scale import Scale

from .decode import Supports
from .estimators import Level, Raw, estimate_supports
from .extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def estimate_mean(mechanism: Scale, cells: Sequence[int], level: Level) -> Raw:
    """Return the mean place of the devices, its standard error and its interval.

    ``m = sum of N(y) s(y) / n`` over the outputs y, N(y) of n reports being y; its standard error
    is ``sqrt(V/n)`` with V the variance of the scores in the tally, clipped to what it can be for
    any population (a single report would otherwise claim certainty). The interval is normal about
    the mean of these reports and z^2 more, half of them the first output and half the last: where
    few reports leave an end of the range, V alone would be too small (Agresti and Coull's
    interval, for scores).
    The one bit of ``1bitmean`` is a yes/no of frequency m, with the exact interval of those where
    counts are small.

    Parameters
    ----------
    mechanism : Scale
    cells : sequence of int
        As its shape lays them out, with one report at least.
    level : Level

    Returns
    -------
    Raw
        In units of the range, ``frequency`` being the mean; unclipped, and so perhaps outside
        [0, 1].
    """
    if isinstance(mechanism, OneBitMean):
        return _of_bits(mechanism, cells, level)
    with extra():
        import numpy as np

    counted = np.asarray(cells, dtype=np.float64)
    scores, (least, most) = _scores(mechanism), _variances(mechanism)
    n = counted.sum()
    mean = float(counted @ scores / n)
    variance = float(counted @ (scores - mean) ** 2 / n)
    error = math.sqrt(min(max(variance, least), most) / n)
    more = level.z**2
    ends = np.array([scores[0], scores[-1]])
    centre = float((counted @ scores + more * ends.mean()) / (n + more))
    spread = float(counted @ (scores - centre) ** 2 + more * ((ends - centre) ** 2).mean())
    reach = level.z * math.sqrt(max(spread / (n + more), least) / (n + more))
    return Raw(mean, error, min(mean, centre - reach), max(mean, centre + reach))


@lru_cache(maxsize=16)
def _scores(mechanism: Scale) -> NDArray[np.float64]:
    """Return the score of every output, rounded once."""
    import numpy as np

    return np.array([float(mechanism.score(out)) for out in range(mechanism.shape.width)])


@lru_cache(maxsize=16)
def _variances(mechanism: Scale) -> tuple[float, float]:
    """Return the least and the largest variance of a score over all populations.

    At one place it is a parabola, symmetric about the middle.
    """
    places = (Fraction(0), Fraction(1, 2))
    least = min(mechanism.score_variance(at) for at in places)
    return float(least), mechanism.worst_variance_iid()[0]


def _of_bits(mechanism: OneBitMean, cells: Sequence[int], level: Level) -> Raw:
    """The bit is perturbed as a yes/no is, with the same thresholds."""
    coin = build("grr", 2, mechanism.epsilon, mechanism.epsilon_first)
    if not isinstance(coin, FrequencyOracle) or coin.p != mechanism.p:
        raise AssertionError("a bit of 1bitmean is perturbed like a yes/no")
    (mean,) = estimate_supports(coin, Supports((cells[1],), (sum(cells),)), level)
    return mean
