"""Raw estimates from supports: unbiased, with their standard errors and intervals.

Nothing is clipped here. p and q are the mechanism's own, rationals over its integer thresholds,
and every estimate is computed in integers up to one last division.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle, Mechanism

from .decode import Supports
from .extras import extra

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


def estimate_supports(
    mechanism: FrequencyOracle, supports: Supports, level: Level
) -> tuple[Raw, ...]:
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
    tuple of Raw
        Unbiased, unclipped, in the order of ``supports``.

    Raises
    ------
    ParameterError
        If no report covers a value.
    MissingExtraError
        If an exact interval is needed and scipy is absent.

    References
    ----------
    Wang, Blocki, Li, Jha. Locally differentially private protocols for frequency estimation.
    USENIX Security 2017.
    Clopper, Pearson. The use of confidence or fiducial limits. Biometrika 1934.
    """
    if min(supports.trials) < 1:
        raise ParameterError("too few devices: no report says anything about one of the values")
    return tuple(_Line.of(mechanism).estimates(supports, level))


def fake_bias(mechanism: Mechanism) -> float:
    """Return by how much :data:`FAKE_SHARE` of fake devices could move an estimate.

    Each fake report adds up to ``leverage / n`` to an estimate, or takes as much away.
    """
    return FAKE_SHARE * float(mechanism.leverage)


@dataclass(frozen=True, slots=True)
class _Line:
    """The affine map from counts to frequencies; p and q in units of 1/scale."""

    p: int
    q: int
    scale: int

    @classmethod
    def of(cls, mechanism: FrequencyOracle) -> _Line:
        p, q = mechanism.p, mechanism.q
        scale = math.lcm(p.denominator, q.denominator)
        return cls(int(p * scale), int(q * scale), scale)

    def estimates(self, supports: Supports, level: Level) -> Iterator[Raw]:
        z, fewest = level.z, level.fewest
        for count, n in zip(supports.counts, supports.trials, strict=True):
            frequency = (count * self.scale - n * self.q) / (n * (self.p - self.q))
            expected, error = self.spread(count, n)
            if min(expected, n - expected) >= fewest:
                low, high = frequency - z * error, frequency + z * error
            else:
                low, high = map(self.debias, clopper_pearson(count, n, level.tail))
            yield Raw(frequency, error, low, high)

    def debias(self, share: float) -> float:
        return (share - self.q / self.scale) * (self.scale / (self.p - self.q))

    def spread(self, count: int, n: int) -> tuple[float, float]:
        """Return n times the clipped g, and the standard error of the frequency."""
        total = n * self.scale
        share = min(max(count * self.scale, n * self.q), n * self.p)
        deviation = math.sqrt(share * (total - share) / (total * total * n))
        return share / self.scale, deviation * (self.scale / (self.p - self.q))


def clopper_pearson(count: int, n: int, tail: float) -> tuple[float, float]:
    """Return the exact interval for a proportion, ``tail`` beyond either end.

    >>> low, high = clopper_pearson(0, 500, 0.025)
    >>> low, round(high, 6)
    (0.0, 0.007351)
    """
    with extra():
        from scipy.special import betainccinv, betaincinv
    low = 0.0 if count == 0 else float(betaincinv(count, n - count + 1, tail))
    high = 1.0 if count == n else float(betainccinv(count + 1, n - count, tail))
    return low, high
