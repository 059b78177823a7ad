"""Noise that a trusted curator adds once to a count of everybody's true answers.

For comparison only: nothing here ever sees an answer. Neighbours are two populations of the same
size that differ in the answer of one person (replacement), so a count changes by at most 1 and a
histogram by 1 in two of its counts. ``mu`` is sensitivity over sigma, the one number that decides
what Gaussian noise reveals. The noise is ideal: real numbers, not floating point.

What must never change: the direction of rounding. ``gaussian_delta``, ``gaussian_epsilon`` and
``analytic_sigma`` never fall short of the truth.

References
----------
Dwork, Roth. The algorithmic foundations of differential privacy. 2014 (Laplace; the textbook
Gaussian, theorem A.1).
Balle, Wang. Improving the Gaussian mechanism for differential privacy. ICML 2018, theorem 8.
Dong, Roth, Su. Gaussian differential privacy. 2022 (advantage and trade-off).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..extras import extra

_ROUNDING = 2.0**-46
"""Relative error allowed for a difference of two tails, some hundred units in the last place."""

_ROOT_HALF_PI = math.sqrt(math.pi / 2)
_STEPS = 200


def laplace_deviation(epsilon: float, sensitivity: float = 1.0) -> float:
    """Return ``sqrt(2) sensitivity / epsilon``, the standard deviation of the Laplace mechanism.

    Parameters
    ----------
    epsilon : float
        Of the whole release; it needs no delta.
    sensitivity : float
        L1: 1 for one count, 2 for a histogram.
    """
    return math.sqrt(2) * sensitivity / epsilon


def gaussian_loss_tail(mu: float, epsilon: float) -> float:
    """Return the probability that the loss of Gaussian noise exceeds epsilon.

    ``Phi(mu/2 - epsilon/mu)``. It is more than delta: that it exceeds a delta refutes nothing.
    """
    return math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the least delta for which Gaussian noise is (epsilon, delta)-private.

    ``Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)``. With x = epsilon/mu - mu/2,
    phi the density and R(t) = Phi(-t)/phi(t) the second term is phi(x) R(x + mu), which neither
    overflows nor underflows before the first does.

    Parameters
    ----------
    mu : float
        Sensitivity (L2) over sigma, positive.
    epsilon : float
        At least 0.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    with extra():
        from scipy.special import erfcx
    x = epsilon / mu - mu / 2
    exceeds = gaussian_loss_tail(mu, epsilon)
    ratio = _ROOT_HALF_PI * float(erfcx((x + mu) / math.sqrt(2)))
    density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return min(1.0, max(0.0, exceeds - density * ratio) + _error(x) * exceeds)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the least epsilon for which Gaussian noise is (epsilon, delta)-private.

    Parameters
    ----------
    mu, delta : float
        Positive; delta less than 1.
    """
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    return _boundary(lambda epsilon: gaussian_delta(mu, epsilon) <= delta, high, 0.0)


def analytic_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least standard deviation of Gaussian noise that is (epsilon, delta)-private.

    Exact for every epsilon, unlike :func:`textbook_sigma`: the largest mu with
    ``gaussian_delta(mu, epsilon) <= delta``, bisected from the side on which it holds.

    Parameters
    ----------
    epsilon, delta : float
        Of the whole release; positive, delta less than 1.
    sensitivity : float
        L2: 1 for one count, sqrt(2) for a histogram.

    Examples
    --------
    >>> round(analytic_sigma(1e-4, 1e-9), 1)
    36190.5
    """
    held = 1.0
    while gaussian_delta(held, epsilon) > delta:
        held /= 2
    broken = 2 * held
    while gaussian_delta(broken, epsilon) <= delta:
        held, broken = broken, 2 * broken
    mu = _boundary(lambda mu: gaussian_delta(mu, epsilon) <= delta, held, broken)
    return sensitivity / mu * (1 + _ROUNDING)


def textbook_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return ``sensitivity sqrt(2 ln(1.25/delta)) / epsilon``, proven for epsilon < 1 only.

    It is more noise than needed there, and too little from some epsilon on, 8.42 for delta 1e-5.
    """
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def gaussian_advantage(mu: float) -> float:
    """Return ``2 Phi(mu/2) - 1``: the most by which true accusations exceed false ones."""
    return math.erf(mu / 2 / math.sqrt(2))


def gaussian_true_positives(mu: float, false_positives: float) -> float:
    """Return ``Phi(Phi^-1(FPR) + mu)``: the highest rate of true accusations at a rate of false.

    Parameters
    ----------
    false_positives : float
        FPR, in (0, 1).
    """
    with extra():
        from scipy.special import ndtr, ndtri
    return float(ndtr(ndtri(false_positives) + mu))


def _error(x: float) -> float:
    """Bound the relative error of the tails: that of x^2/2 in an exponent adds to their own."""
    return _ROUNDING * (1 + x * x)


def _boundary(holds: Callable[[float], bool], held: float, broken: float) -> float:
    """Bisect to the last float on the side that holds."""
    for _ in range(_STEPS):
        middle = (held + broken) / 2
        if middle in (held, broken):
            break
        if holds(middle):
            held = middle
        else:
            broken = middle
    return held
