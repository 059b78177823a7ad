"""Composition theorems that are one formula of the epsilons, and need no more of the mechanisms.

Each is a bound for adaptively chosen reports, the i-th of them epsilon_i-LDP. Sums are over
reports: a part of T reports counts T times. Results are rounded up by more than the formula's
floating-point error, except for the sum, which is exact: its float denotes the decimal.

References
----------
Dwork, Roth. The algorithmic foundations of differential privacy. 2014, theorem 3.20.
Kairouz, Oh, Viswanath. The composition theorem for differential privacy. ICML 2015, theorems 3.4
and 3.5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .parts import Part

_UP = 1 + 2.0**-46
"""More than the rounding of a few operations on each of a thousand parts."""


def basic(parts: Sequence[Part]) -> float:
    """Return ``sum of epsilon_i``; it needs no delta."""
    return float(sum(part.mechanism.epsilon * part.reports for part in parts))


def advanced(parts: Sequence[Part], delta: float) -> float:
    """Return ``sqrt(2 ln(1/delta) sum epsilon_i^2) + sum epsilon_i (e^epsilon_i - 1)``.

    Dwork and Roth state it for equal epsilons; for different ones it follows from theorem 3.5 of
    Kairouz, Oh and Viswanath, as tanh(x/2) <= e^x - 1.
    """
    drift = math.fsum(part.reports * part.epsilon * math.expm1(part.epsilon) for part in parts)
    return _UP * (math.sqrt(2 * _log_inverse(delta) * squares(parts)) + drift)


def kov(parts: Sequence[Part], delta: float) -> float:
    """Return the least of the three forms of Kairouz, Oh and Viswanath, theorem 3.5.

    ``sum of epsilon_i``, and ``sum epsilon_i tanh(epsilon_i/2) + sqrt(2 L sum epsilon_i^2)`` with
    L the lesser of ``ln(1/delta)`` and ``ln(e + sqrt(sum epsilon_i^2)/delta)``. For equal epsilons
    it is their theorem 3.4.
    """
    square = squares(parts)
    log = min(_log_inverse(delta), math.log(math.e + math.sqrt(square) / delta))
    return min(basic(parts), _UP * (concentration(parts) + math.sqrt(2 * log * square)))


def concentration(parts: Sequence[Part]) -> float:
    """Return ``sum of epsilon_i tanh(epsilon_i/2)``: the rho of zero-concentrated privacy."""
    return math.fsum(part.reports * part.epsilon * math.tanh(part.epsilon / 2) for part in parts)


def squares(parts: Sequence[Part]) -> float:
    """Return ``sum of epsilon_i^2``."""
    return math.fsum(part.reports * part.epsilon**2 for part in parts)


def _log_inverse(delta: float) -> float:
    """Return ``ln(1/delta)``, for a delta near 1 too."""
    return -math.log(delta)
