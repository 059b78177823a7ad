"""Raw estimates from supports: unbiased, with their standard errors and intervals.

Nothing is clipped here. p, q, 1 - p, 1 - q and p - q are the mechanism's own, rationals over its
integer thresholds, each rounded once; all values are estimated at once, in arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, overload

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle, Mechanism
from deniable.protocol.mechanisms.rappor import Rappor

from .decode import Supports
from .extras import extra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FAKE_SHARE = 0.01
"""The share of fake devices whose possible bias is stated beside estimates and plans."""

_FEWEST = 10.0
_COMMON_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Raw:
    """A frequency, its standard error, and the ends of its interval."""

    frequency: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Raws(Sequence[Raw]):
    """Many of them, each property an array of its own.

    Attributes
    ----------
    frequency, standard_error, low, high : array of shape (k,)
    """

    frequency: Array
    standard_error: Array
    low: Array
    high: Array

    def __len__(self) -> int:
        return len(self.frequency)

    @overload
    def __getitem__(self, index: int) -> Raw: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Raw, ...]: ...

    def __getitem__(self, index: int | slice) -> Raw | tuple[Raw, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        return Raw(*(float(column[index]) for column in self._columns))

    def __iter__(self) -> Iterator[Raw]:
        columns = (column.tolist() for column in self._columns)
        return (Raw(*row) for row in zip(*columns, strict=True))

    @property
    def _columns(self) -> tuple[Array, ...]:
        return self.frequency, self.standard_error, self.low, self.high


@dataclass(frozen=True, slots=True)
class Level:
    """How sure an interval is.

    Attributes
    ----------
    alpha : float
        Probability that at least one of ``family`` intervals misses.
    family : int
        How many intervals hold at once (Bonferroni); 1 for each by itself.
    """

    alpha: float
    family: int = 1

    @property
    def tail(self) -> float:
        """Probability left beyond either end of one interval."""
        return self.alpha / (2 * self.family)

    @property
    def z(self) -> float:
        """Standard errors to either side of the estimate.

        >>> round(Level(0.05).z, 6), round(Level(0.05, family=16).z, 6)
        (1.959964, 2.955167)
        """
        return -NormalDist().inv_cdf(self.tail)

    @property
    def fewest(self) -> float:
        """Expected counts below which an interval is exact instead of normal.

        Ten at 95 %. The relative error of a normal tail grows like z^3 / sqrt(count), so keeping
        it where it is takes counts that grow like z^6: 51 at 99 %, 250 at 99.9 %. Just above
        them a normal interval misses up to 1.65 times as often as it says, 8 % for 5 %.
        """
        return _FEWEST * max(1.0, self.z / _COMMON_Z) ** 6


def estimate_supports(mechanism: FrequencyOracle, supports: Supports, level: Level) -> Raws:
    """Estimate a frequency from each count of supports among the reports that cover a value.

    ``f = (C/n - q) / (p - q)`` with the plug-in standard error for independently sampled devices,
    ``sqrt(g(1-g)/n) / (p-q)``, where C is the count and g is C/n clipped to [q, p], for the
    standard error alone: at C = 0 an unclipped one would claim certainty. The interval is normal
    where at least ``level.fewest`` counts and as many non-counts are expected, and otherwise the
    exact one of Clopper and Pearson for C/n, carried through the same affine map.

    Parameters
    ----------
    mechanism : FrequencyOracle
        For p and q.
    supports : Supports
        Counts C and, for each, the n reports that cover the value.
    level : Level

    Returns
    -------
    Raws
        Unbiased, unclipped, in the order of ``supports``.

    Raises
    ------
    ParameterError
        If no report covers a value.
    MissingExtraError
        If numpy is absent, or an exact interval is needed and scipy is.

    References
    ----------
    Wang, Blocki, Li, Jha. Locally differentially private protocols for frequency estimation.
    USENIX Security 2017.
    Clopper, Pearson. The use of confidence or fiducial limits. Biometrika 1934.
    """
    with extra():
        import numpy as np
    count, n = np.array(supports.counts, float), np.array(supports.trials, float)
    if n.min() < 1:
        raise ParameterError("too few devices: no report says anything about one of the values")
    p, q, gap = float(mechanism.p), float(mechanism.q), float(mechanism.p - mechanism.q)
    frequency = (count / n - q) / gap
    g = np.clip(count / n, q, p)
    rest = np.clip((n - count) / n, float(1 - mechanism.p), float(1 - mechanism.q))
    error = np.sqrt(g * rest / n) / gap
    low, high = frequency - level.z * error, frequency + level.z * error
    few = n * np.minimum(g, rest) < level.fewest
    if few.any():
        ends = clopper_pearson(count[few], n[few], level.tail)
        low[few], high[few] = ((end - q) / gap for end in ends)
    return Raws(frequency, error, low, high)


def fake_bias(mechanism: Mechanism) -> float:
    """Return by how much :data:`FAKE_SHARE` of fake devices could move an estimate.

    Each fake report adds up to ``leverage / n`` to an estimate, or takes as much away.
    """
    if isinstance(mechanism, Rappor):
        from .bloom import worst_lie

        return FAKE_SHARE * worst_lie(mechanism)
    return FAKE_SHARE * float(mechanism.leverage)


def clopper_pearson(count: Any, n: Any, tail: float) -> tuple[Array, Array]:
    """Return the exact intervals for proportions, ``tail`` beyond either end.

    Parameters
    ----------
    count, n : array or float
        Successes and trials.
    tail : float

    Returns
    -------
    low, high : array

    References
    ----------
    Clopper, Pearson. The use of confidence or fiducial limits. Biometrika 1934.

    Examples
    --------
    >>> low, high = clopper_pearson(0, 500, 0.025)
    >>> float(low), round(float(high), 6)
    (0.0, 0.007351)
    """
    with extra():
        import numpy as np
        from scipy.special import betainccinv, betaincinv
    some, others = np.maximum(count, 1), np.maximum(n - count, 1)
    low = np.where(count > 0, betaincinv(some, n - some + 1, tail), 0.0)
    high = np.where(n > count, betainccinv(n - others + 1, others, tail), 1.0)
    return low, high
