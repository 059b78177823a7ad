"""The privacy loss of one report: what it adds to the logarithm of the odds of two answers.

What must never change: that a loss is never less than the mechanism's own. So a gain counts as
the whole declared epsilon, although thresholds are rounded towards less, and evidence against
counts as what the thresholds really give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from deniable.protocol.mechanisms import Mechanism

_ROUNDING = 2.0**-48


@dataclass(frozen=True, slots=True)
class Losses:
    """The privacy loss of one report: ``+epsilon``, 0 or ``-back``, with these probabilities.

    Attributes
    ----------
    epsilon : float
    gain, none, loss : float
        Probabilities, under the true value, of evidence for it, for neither, for the other.
    back : float
        At most epsilon, and at most the true loss of a report that speaks for the other value.
    """

    epsilon: float
    gain: float
    none: float
    loss: float
    back: float


def randomized_response(epsilon: float) -> Losses:
    """Return the losses that dominate every epsilon-LDP report's (Kairouz, Oh, Viswanath).

    ``+epsilon`` with probability ``E/(1+E)``, ``-epsilon`` otherwise; E = e^epsilon.
    """
    gain = 1 / (1 + math.exp(-epsilon))
    return Losses(epsilon, gain, 0.0, math.exp(-epsilon) * gain, epsilon * (1 - _ROUNDING))


def reported(mechanism: Mechanism) -> Losses | None:
    """Return the losses of one report between two values, if they are epsilon, 0 or -epsilon."""
    if mechanism.losses is None:
        return None
    gain, loss = mechanism.losses
    epsilon = float(mechanism.epsilon)
    none = float(1 - gain - loss)
    return Losses(epsilon, float(gain), none, float(loss), _back(epsilon, gain, loss))


def _back(epsilon: float, gain: Fraction, loss: Fraction) -> float:
    """``ln(gain/loss)``, rounded down: as far as a report moves the odds back."""
    if gain <= loss:
        return 0.0
    excess = float((gain - loss) / loss)
    return min(epsilon, math.log1p(excess)) * (1 - _ROUNDING)
