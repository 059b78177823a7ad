"""Rényi divergences: they add up over reports, and are converted to epsilon and delta at the end.

With o = a - 1 for the order a > 1, and rho(a) the divergence of order a, T reports or different
ones added up, everything is (epsilon, delta)-LDP for each a with

``epsilon = rho(a) + ln(1 - 1/a) - (ln delta + ln a)/(a - 1)``.

Any order gives a valid bound; the search for the best one need not be right.

References
----------
Mironov. Rényi differential privacy. CSF 2017.
Bun, Steinke. Concentrated differential privacy. TCC 2016.
Canonne, Kamath, Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020,
proposition 12 (the conversion, for real orders).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from .closed_forms import basic, concentration
from .losses import Losses
from .parts import Part, merged

Curve = Callable[[float], float]
"""The Rényi divergence of order 1 + o, or a bound on it, as a function of o > 0."""

_ROUNDING = 2.0**-48
_LOG_OVERS = (-30.0, 40.0)  # of o: from 1e-13, for rho up to 1e9, to 1e17, where order is infinite
_STEPS = 70
_REFINED = 60
_GOLDEN = (math.sqrt(5) - 1) / 2


def zcdp(parts: Sequence[Part], delta: float) -> float:
    """Return the bound of zero-concentrated differential privacy.

    The divergence of order a is at most ``rho a``, with rho the sum of
    ``epsilon tanh(epsilon/2)``: half as much as ``epsilon^2/2`` would give at large epsilons.
    """
    rho = concentration(parts) * (1 + _ROUNDING)
    return converted(lambda over: rho * (1 + over), delta)


def rdp(parts: Sequence[Part], delta: float) -> float:
    """Return the bound by the exact Rényi divergences of the reports' losses.

    The order may be infinite, so it is never above the sum of the epsilons.
    """
    counted = merged(parts)
    return min(basic(parts), converted(lambda over: _total(counted, over), delta))


def converted(curve: Curve, delta: float) -> float:
    """Return the least epsilon at ``delta`` that a curve of Rényi divergences gives.

    Parameters
    ----------
    curve : callable
        The divergence of order 1 + o as a function of o.
    delta : float
        In (0, 1).

    Examples
    --------
    Gaussian noise with a mean of 1 and a deviation of 1:

    >>> round(converted(lambda over: (1 + over) / 2, 1e-5), 3)
    4.728
    """
    log_delta = math.log(delta)

    def at(log_over: float) -> float:
        over = math.exp(log_over)
        shift, share = math.log1p(1 / over), (log_delta + math.log1p(over)) / over
        rounded = _ROUNDING * (shift + (math.log1p(over) - log_delta) / over)
        return curve(over) - shift - share + rounded

    return max(0.0, _minimum(at, *_LOG_OVERS))


def divergence(losses: Losses, over: float) -> float:
    """Return the Rényi divergence of order ``1 + over`` of one report, rounded up.

    ``ln(gain e^(o epsilon) + none + loss e^(-o back)) / o``, with e^(o epsilon) taken out of the
    logarithm so that nothing overflows.
    """
    nearer = losses.none * math.exp(-over * losses.epsilon)
    farther = losses.loss * math.exp(-over * (losses.epsilon + losses.back))
    exact = losses.epsilon + math.log(losses.gain + nearer + farther) / over
    return max(0.0, exact) + _ROUNDING * (losses.epsilon + 1 / over)


def _total(counted: Mapping[Losses, int], over: float) -> float:
    each = (reports * divergence(losses, over) for losses, reports in counted.items())
    return math.fsum(each) * (1 + _ROUNDING)


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return a small value of a function: the best of a row of points, refined by golden section.

    Any point of it is a valid bound.
    """
    step = (high - low) / _STEPS
    least, best = min((function(at), at) for at in (low + i * step for i in range(_STEPS + 1)))
    low, high = best - step, best + step
    for _ in range(_REFINED):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if function(left) < function(right):
            high = right
        else:
            low = left
    return min(least, function((low + high) / 2))
