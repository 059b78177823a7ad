"""What the reports of a memoized answer reveal together when each has a second round of noise.

Let r = p2/q2 be the ratio by which one report speaks for the permanent response behind it. The
permanent responses of two values differ in a few binary chains (``Mechanism.chains``), and any
two permanent responses in at most ``Mechanism.flips`` of them. Every result is an upper bound,
rounded up by more than its floating-point errors.

References
----------
Erlingsson, Pihur, Korolova. RAPPOR: randomized aggregatable privacy-preserving ordinal response.
CCS 2014.
Arcolezi et al. Improving the utility of locally differentially private protocols for longitudinal
and multidimensional frequency estimates. 2022.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from deniable.protocol.mechanisms import Mechanism
from deniable.protocol.mechanisms.dyadic import Dyadic

_ROUNDED_UP = 1 + 2.0**-46  # dozens of roundings, each of one part in 2^53


@dataclass(frozen=True, slots=True)
class Bound:
    """An epsilon, the theorem it comes from, and the probability with which it may fail.

    Attributes
    ----------
    epsilon : float
    name : str
    delta : float
    surely : float or None
        Where it may fail, a larger epsilon that never does.
    """

    epsilon: float
    name: str
    delta: float = 0.0
    surely: float | None = None


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
        Computed as ``ln(1 + (a-b)(1 - r^-T) / (b + (1-b) r^-T))``, in which nothing cancels or
        overflows; T may be a million.
    """
    weight = reports * _log_ratio(mechanism)
    total = sum(_chain(a, b, weight) for a, b in mechanism.chains)
    return min(total * _ROUNDED_UP, float(mechanism.epsilon))


def changed_day(mechanism: Mechanism) -> Bound:
    """Return ``flips ln r``: two histories that differ on one day, the rest known.

    Given the permanent responses of all values, the two differ in one report, which is drawn from
    one permanent response or from another; these differ in at most ``flips`` places.
    """
    return Bound(mechanism.flips * _log_ratio(mechanism), _day(mechanism))


def change_reveals(mechanism: Mechanism) -> float | None:
    """Return the epsilon between two histories that differ on one day; None is unbounded.

    That of all periods together covers it where there is one.
    """
    if isinstance(mechanism, Dyadic):
        return float(mechanism.epsilon)
    return None if mechanism.second is None else changed_day(mechanism).epsilon


def trajectory(mechanism: Mechanism, reports: int, answers: int) -> Bound:
    """Return a bound for any two histories of T reports with at most d answers each.

    The less of ``T L`` and ``(T - s) L + min(d, s) epsilon``, where s = ceil(T/d) and
    L = ``flips ln r`` bounds the log ratio of one report under any two permanent responses.

    Write P(y) for the likelihood of the reports y under a history: the product, over its answers
    v, of the mean over v's permanent response w of ``product over days t of v of I(y_t | w)``.
    Let M_t be the largest I(y_t | w) over all w. Then M_t / e^L <= I(y_t | w) <= M_t.

    1. With all days so replaced, both likelihoods are within e^(T L) of each other.
    2. Let A_v be the days of answer v in the one history and B_u those of u in the other, with
       d answers in each, some of no days. The d^2 sets ``A_v and B_u`` partition the T days. The
       d cyclic pairings of the answers of the one with those of the other partition these sets,
       so one pairing v -> u(v) has at least T/d, hence s days in its d sets. Keep s of those
       days, and replace the others: the one likelihood is at most the product of M_t over the
       T - s others times that of the kept days, and the second at least the product of
       M_t / e^L times that of its kept days. The kept days are the same in both, and fall into
       the same min(d, s) classes at most; in each the one history has a permanent response drawn
       for v and the other for u(v), independently of all other classes. Permanent responses are
       epsilon-LDP, and what is drawn from them alike is post-processing: each class adds at most
       epsilon, or nothing where u(v) = v.

    Parameters
    ----------
    mechanism : Mechanism
        With a second round.
    reports : int
        T, at least 1.
    answers : int
        d, at least 1: different answers in one history, or different things remembered of them
        if that is fewer.
    """
    day, t = changed_day(mechanism), reports
    kept = -(-t // answers)
    classes = min(answers, kept)
    paired = ((t - kept) * day.epsilon + classes * float(mechanism.epsilon)) * _ROUNDED_UP
    name = f"{t - kept:,} x {day.name} + {classes} x epsilon"
    bounds = (Bound(t * day.epsilon * _ROUNDED_UP, f"{t:,} x {day.name}"), Bound(paired, name))
    return min(bounds, key=lambda bound: bound.epsilon)


def _day(mechanism: Mechanism) -> str:
    return "ln(p2/q2)" if mechanism.flips == 1 else f"{mechanism.flips} x ln(p2/q2)"


def _log_ratio(mechanism: Mechanism) -> float:
    """Return ln(p2/q2) of the second round, rounded up."""
    p2, q2 = mechanism.second or (Fraction(1), Fraction(1))
    return math.log1p(float((p2 - q2) / q2)) * _ROUNDED_UP


def _chain(a: Fraction, b: Fraction, weight: float) -> float:
    """Return ``ln((a e^weight + 1-a) / (b e^weight + 1-b))`` for weight >= 0 and a >= b."""
    rest = float(b) + float(1 - b) * math.exp(-weight)
    return math.log1p(float(a - b) * -math.expm1(-weight) / rest)
