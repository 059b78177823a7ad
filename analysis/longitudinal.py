"""What the reports of a memoized answer reveal together when each has a second round of noise.

Let r = p2/q2 be the ratio by which one report speaks for the permanent response behind it. The
permanent responses of two values differ in a few binary chains (``Mechanism.chains``), and any
two permanent responses in at most ``Mechanism.flips`` of them.

References
----------
Erlingsson, Pihur, Korolova. RAPPOR: randomized aggregatable privacy-preserving ordinal response.
CCS 2014.
Arcolezi et al. Improving the utility of locally differentially private protocols for longitudinal
and multidimensional frequency estimates. 2022.
"""

from __future__ import annotations

import math

from deniable.protocol.mechanisms import Mechanism

from .composition import Bound


def unchanging(mechanism: Mechanism, reports: int) -> float:
    """Return the epsilon of T reports about one answer that stays the same.

    ``sum over chains (a, b) of ln((a r^T + 1-a) / (b r^T + 1-b))``, where a and b are the
    probabilities of the state that speaks for the first value, under the first and the second. It
    is attained, by T reports that all say the same, and stays below the permanent epsilon.

    Parameters
    ----------
    mechanism : Mechanism
        With a second round.
    reports : int
        T, at least 1.

    Returns
    -------
    float
        Computed in log space; T may be a million.
    """
    weight = reports * _log_ratio(mechanism)
    chains = ((float(a), float(b)) for a, b in mechanism.chains)
    total = sum(_log_mix(a, weight) - _log_mix(b, weight) for a, b in chains)
    return min(total, float(mechanism.epsilon))


def changed_day(mechanism: Mechanism) -> Bound:
    """Return ``flips ln r``: two histories that differ on one day, the rest known.

    Given the permanent responses of all values, the two differ in one report, which is drawn from
    one permanent response or from another; these differ in at most ``flips`` places.
    """
    return Bound(mechanism.flips * _log_ratio(mechanism), f"{_flips(mechanism)}ln(p2/q2)")


def trajectory(mechanism: Mechanism, reports: int) -> Bound:
    """Return ``T flips ln r``: a bound for any two histories of T reports.

    Given the permanent responses of all values, two histories that differ on one day have
    likelihoods within ``flips ln r`` of each other, and T days compose.
    """
    day = changed_day(mechanism)
    return Bound(reports * day.epsilon, f"{reports} x {day.name}")


def _flips(mechanism: Mechanism) -> str:
    return "" if mechanism.flips == 1 else f"{mechanism.flips} x "


def _log_ratio(mechanism: Mechanism) -> float:
    """Return ln(p2/q2) of the second round."""
    p2, q2 = mechanism.second or (1, 1)
    return math.log(p2 / q2)


def _log_mix(share: float, weight: float) -> float:
    """Return ``ln(share e^weight + 1 - share)`` for weight >= 0, without overflow."""
    return weight + math.log(share + (1 - share) * math.exp(-weight))
