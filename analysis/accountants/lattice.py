"""Equal reports: the exact distribution of their total loss, on the multiples of epsilon.

References
----------
Kairouz, Oh, Viswanath. The composition theorem for differential privacy. ICML 2015, theorem 3.3.
"""

from __future__ import annotations

import math

from .losses import Losses

_RESCALE = 2.0**664
_LOG_RESCALE = math.log(_RESCALE)
_LARGEST_EXPONENT = 700.0
_ROUNDING = 2.0**-49  # 16 units: more than one step of the recurrence can lose
_ROUNDED = 2000  # roundings that do not depend on the number of reports, with room to spare


def exact(losses: Losses, reports: int, delta: float) -> float:
    """Return the least epsilon for which T independent reports are (epsilon, delta)-LDP.

    ``delta(e) = sum over l > e of P(l) (1 - e^(e-l))``, where P(l) is the probability, under the
    true value, that the T losses add up to l; solved for e. P are the coefficients of
    ``(gain + none z + loss z^2)^T``, by Euler's recurrence for powers of polynomials: n gain c_n =
    (T-n+1) none c_(n-1) + (2T-n+2) loss c_(n-2). Down from the largest loss, T epsilon at n = 0,
    to zero at n = T every term is positive, and delta one step down is delta + (1 - e^-epsilon)
    sum over l >= here of P(l) e^(here-l), so nothing cancels. The result is for a delta less, and
    then rounded up, by more than their floating-point errors.

    >>> from deniable.analysis.accountants.losses import randomized_response
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
