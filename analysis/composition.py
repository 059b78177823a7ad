"""What T reports with fresh noise reveal together: upper bounds, each with its name.

Every bound here holds for T adaptively chosen ``epsilon``-LDP reports of one device; the exact
ones of a named mechanism hold for that mechanism. ``delta`` is the probability with which the
bound may fail. All are computed in log space, so a million reports are no difficulty.

References
----------
Dwork, Roth. The algorithmic foundations of differential privacy. 2014, theorem 3.20.
Kairouz, Oh, Viswanath. The composition theorem for differential privacy. ICML 2015.
Bun, Steinke. Concentrated differential privacy. TCC 2016.
Canonne, Kamath, Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020,
proposition 12 (Rényi divergences to epsilon and delta).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from deniable.protocol.mechanisms import Mechanism

_RESCALE = 2.0**664
_LOG_RESCALE = math.log(_RESCALE)
_LARGEST_EXPONENT = 700.0
_ROUNDING = 2.0**-49  # 16 units: more than one step of the recurrence can lose
_ROUNDED = 2000  # roundings that do not depend on the number of reports, with room to spare
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class Bound:
    """An epsilon, and the theorem it comes from."""

    epsilon: float
    name: str


@dataclass(frozen=True, slots=True)
class Losses:
    """The privacy loss of one report: ``+epsilon``, 0 or ``-epsilon``, with these probabilities.

    Attributes
    ----------
    epsilon : float
    gain, none, loss : float
        Probabilities, under the true value, of evidence for it, for neither, for the other.
    """

    epsilon: float
    gain: float
    none: float
    loss: float


def compose(mechanism: Mechanism, reports: int, delta: float | None) -> Bound:
    """Return the least bound on what ``reports`` fresh reports of ``mechanism`` reveal.

    Parameters
    ----------
    mechanism : Mechanism
        Of one round; each report is drawn anew.
    reports : int
        At least 1.
    delta : float or None
        In (0, 1); None for a bound that never fails.
    """
    epsilon = float(mechanism.epsilon)
    bounds = [Bound(basic(epsilon, reports), "basic composition")]
    if delta is not None:
        bounds += _with_delta(mechanism, epsilon, reports, delta)
    return min(bounds, key=lambda bound: bound.epsilon)


def _with_delta(
    mechanism: Mechanism, epsilon: float, reports: int, delta: float
) -> Iterator[Bound]:
    yield Bound(advanced(epsilon, reports, delta), "advanced composition (Dwork, Roth 3.20)")
    yield Bound(kov_closed_form(epsilon, reports, delta), "Kairouz, Oh, Viswanath 3.4")
    yield Bound(zcdp(epsilon, reports, delta), "zCDP")
    yield Bound(
        exact(randomized_response(epsilon), reports, delta),
        "exact composition of any epsilon-LDP report (Kairouz, Oh, Viswanath 3.3)",
    )
    losses = mechanism_losses(mechanism)
    if losses is not None:
        name = f"exact composition of {mechanism.name} over {mechanism.k} values"
        yield Bound(exact(losses, reports, delta), name)


def basic(epsilon: float, reports: int) -> float:
    """Return ``T * epsilon``; it needs no delta."""
    return epsilon * reports


def advanced(epsilon: float, reports: int, delta: float) -> float:
    """Return ``sqrt(2 T ln(1/delta)) epsilon + T epsilon (e^epsilon - 1)`` (Dwork, Roth 3.20).

    >>> round(advanced(0.1, 10, 1e-6), 3)
    1.767
    """
    drift = reports * epsilon * _expm1(epsilon)
    return math.sqrt(-2 * reports * math.log(delta)) * epsilon + drift


def kov_closed_form(epsilon: float, reports: int, delta: float) -> float:
    """Return the least of the three forms of Kairouz, Oh and Viswanath, theorem 3.4.

    ``T epsilon``, and ``T epsilon tanh(epsilon/2) + epsilon sqrt(2 T L)`` with L the lesser of
    ``ln(1/delta)`` and ``ln(e + sqrt(T epsilon^2)/delta)``.
    """
    drift = reports * epsilon * math.tanh(epsilon / 2)
    log = min(-math.log(delta), math.log(math.e + math.sqrt(reports) * epsilon / delta))
    return min(basic(epsilon, reports), drift + epsilon * math.sqrt(2 * reports * log))


def zcdp(epsilon: float, reports: int, delta: float) -> float:
    """Return the bound of zero-concentrated differential privacy.

    ``min over a > 1 of  rho a + ln(1 - 1/a) - (ln delta + ln a)/(a - 1)``, where
    rho = ``T epsilon tanh(epsilon/2)`` and rho a bounds the Rényi divergence of order a.
    """
    rho = reports * epsilon * math.tanh(epsilon / 2)
    log_delta = math.log(delta)

    def converted(log_order: float) -> float:
        over = math.exp(log_order)
        order = 1 + over
        return rho * order - math.log1p(1 / over) - (log_delta + math.log1p(over)) / over

    centre = math.log(math.sqrt(-log_delta / rho))
    return max(0.0, _minimum(converted, centre - 12, centre + 12))


def exact(losses: Losses, reports: int, delta: float) -> float:
    """Return the least epsilon for which T independent reports are (epsilon, delta)-LDP.

    ``delta(e) = sum over l > e of P(l) (1 - e^(e-l))``, where P(l) is the probability, under the
    true value, that the T losses add up to l; solved for e. P are the coefficients of
    ``(gain + none z + loss z^2)^T``, by Euler's recurrence for powers of polynomials: n gain c_n =
    (T-n+1) none c_(n-1) + (2T-n+2) loss c_(n-2). Down from the largest loss, T epsilon at n = 0,
    to zero at n = T every term is positive, and delta one step down is delta + (1 - e^-epsilon)
    sum over l >= here of P(l) e^(here-l), so nothing cancels. The result is for a delta less, and
    then rounded up, by more than their floating-point errors.

    >>> round(exact(randomized_response(2.0), 365, 1e-6), 2)
    661.15
    """
    log_gain = math.log(losses.gain)
    slack = _ROUNDING * (_ROUNDED + reports * (1 - log_gain))
    decay, step = math.exp(-losses.epsilon), -math.expm1(-losses.epsilon)
    rescaled = 0
    before, here = 0.0, 1.0  # c_(n-1) and c_n, in units of gain^T _RESCALE^rescaled
    reached, weighed = 0.0, 1.0  # delta(here), and the sum over l >= here of P(l) e^(here-l)
    for n in range(reports):
        log_delta = math.log(delta) - reports * log_gain - rescaled * _LOG_RESCALE
        allowed = math.exp(min(log_delta, _LARGEST_EXPONENT)) * (1 - slack)
        if reached + step * weighed >= allowed:
            within = math.log1p(-max(0.0, allowed - reached) / weighed)
            return ((reports - n) * losses.epsilon + within) * (1 + slack)
        nearer = (reports - n) * losses.none * here
        farther = (2 * reports - n + 1) * losses.loss * before
        before, here = here, (nearer + farther) / ((n + 1) * losses.gain)
        reached, weighed = reached + step * weighed, decay * weighed + here
        if weighed > _RESCALE:
            before, here = before / _RESCALE, here / _RESCALE
            reached, weighed = reached / _RESCALE, weighed / _RESCALE
            rescaled += 1
    return 0.0


def randomized_response(epsilon: float) -> Losses:
    """Return the losses that dominate every epsilon-LDP report's (Kairouz, Oh, Viswanath)."""
    gain = 1 / (1 + math.exp(-epsilon))
    return Losses(epsilon, gain, 0.0, math.exp(-epsilon) * gain)


def mechanism_losses(mechanism: Mechanism) -> Losses | None:
    """Return the losses of one permanent response between two values, if they are on a lattice."""
    if mechanism.losses is None:
        return None
    gain, loss = mechanism.losses
    return Losses(float(mechanism.epsilon), float(gain), float(1 - gain - loss), float(loss))


def _expm1(epsilon: float) -> float:
    return math.expm1(epsilon) if epsilon < _LARGEST_EXPONENT else math.inf


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Golden section; any point of it is a valid bound, the last ones are the best."""
    left = high - _GOLDEN * (high - low)
    right = low + _GOLDEN * (high - low)
    for _ in range(100):
        if function(left) < function(right):
            high, right = right, left
            left = high - _GOLDEN * (high - low)
        else:
            low, left = left, right
            right = low + _GOLDEN * (high - low)
    return min(function(left), function(right))
