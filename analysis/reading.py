"""What one epsilon means: how much anyone can learn from what it bounds, at best.

Let E = e^epsilon. Whoever sees what an (epsilon, delta)-guarantee covers, and knows everything
else there is to know, can tell two answers apart at most so well. Each figure is a cap that some
mechanism reaches, not an estimate of what an attacker would do.

References
----------
Warner. Randomized response. 1965 (the odds of an answer given a response).
Kairouz, Oh, Viswanath. The composition theorem for differential privacy. ICML 2015, theorem 2.1
(the trade-off between true and false positives).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal

MEANINGLESS = 10.0
"""Above this epsilon an attacker is right in all but 1 of 22,000 cases, at worst."""

NO_GUARANTEE = "no meaningful guarantee"

FALSE_POSITIVES = 0.01
"""At which rate of false accusations true ones are counted."""

_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True, slots=True)
class Reading:
    """One epsilon, and delta, as somebody who attacks it would read it.

    Attributes
    ----------
    epsilon, delta : float
    odds_exponent : float or None
        Logarithm of the factor by which the odds of an answer can change at most, either way;
        with a delta that of ``2 E``. None if the probability to exceed it is no less than 1.
    odds_fail : float
        That probability, ``2 delta``.
    success_cap : float
        The highest chance to tell which of two equally likely answers was given.
    advantage_cap : float
        The same as the excess of true over false accusations.
    true_positive_cap : float
        The largest share of those whose answer is yes that can be found out while 1 % of those
        whose answer is no are accused falsely.
    """

    epsilon: float
    delta: float
    odds_exponent: float | None
    odds_fail: float
    success_cap: float
    advantage_cap: float
    true_positive_cap: float

    @property
    def odds_factor(self) -> float | None:
        """The factor itself; None as well if it exceeds e^700."""
        return _power(self.odds_exponent)

    @property
    def meaningful(self) -> bool:
        """Whether the epsilon promises anything worth the name."""
        return self.epsilon <= MEANINGLESS

    @property
    def verdict(self) -> str:
        """Nothing, or what is to be said of so large an epsilon."""
        return "" if self.meaningful else NO_GUARANTEE

    def document(self) -> dict[str, float | bool | str | None]:
        """Return the caps as JSON."""
        return {
            "odds_factor": self.odds_factor,
            "odds_fail": self.odds_fail,
            "success_cap": self.success_cap,
            "advantage_cap": self.advantage_cap,
            "true_positive_cap": self.true_positive_cap,
            "meaningful": self.meaningful,
            "verdict": self.verdict,
        }


def read(epsilon: float, delta: float = 0.0) -> Reading:
    """Return what an epsilon lets an attacker do at best.

    Parameters
    ----------
    epsilon : float
        At least 0; any size.
    delta : float
        In [0, 1): the probability with which the bound may fail.

    Examples
    --------
    >>> caps = read(1.0)
    >>> round(caps.success_cap, 4), round(caps.advantage_cap, 4)
    (0.7311, 0.4621)
    """
    return Reading(
        epsilon=epsilon,
        delta=delta,
        odds_exponent=odds_exponent(epsilon, delta),
        odds_fail=min(1.0, 2 * delta),
        success_cap=success_cap(epsilon, delta),
        advantage_cap=advantage_cap(epsilon, delta),
        true_positive_cap=true_positive_cap(epsilon, FALSE_POSITIVES, delta),
    )


def both(one: Reading, surely: Reading) -> Reading:
    """Return what two bounds on the same thing mean together: the less of each figure.

    Parameters
    ----------
    one : Reading
        Of the less epsilon, which may fail with its delta.
    surely : Reading
        Of an epsilon that never fails; its odds are taken where they are no more.
    """
    certain = one.odds_exponent is None or surely.epsilon <= one.odds_exponent
    odds = surely if certain else one
    return replace(
        one,
        odds_exponent=odds.odds_exponent,
        odds_fail=odds.odds_fail,
        success_cap=min(one.success_cap, surely.success_cap),
        advantage_cap=min(one.advantage_cap, surely.advantage_cap),
        true_positive_cap=min(one.true_positive_cap, surely.true_positive_cap),
    )


def beyond(epsilon: float | Decimal) -> str:
    """Return what every command says of an epsilon above :data:`MEANINGLESS`; else nothing.

    >>> beyond(Decimal("10.5"))
    'above 10 an epsilon is no meaningful guarantee'
    """
    if epsilon <= MEANINGLESS:
        return ""
    return f"above {MEANINGLESS:g} an epsilon is {NO_GUARANTEE}"


def odds_exponent(epsilon: float, delta: float = 0.0) -> float | None:
    """Return the logarithm of :func:`odds_factor`; None if ``2 delta`` is 1 or more."""
    if delta == 0:
        return epsilon
    return epsilon + math.log(2) if 2 * delta < 1 else None


def odds_factor(epsilon: float, delta: float = 0.0) -> float | None:
    """Return by how much the odds of an answer change at most: ``E``, with a delta ``2 E``.

    Without a delta the odds after whatever was seen are within a factor E of those before. With
    one, ``P(S) <= E Q(S) + delta`` for the laws P and Q of what is seen under two answers. Let S
    be all that P makes more than 2 E times as likely as Q: then ``P(S) <= P(S)/2 + delta``, so
    ``P(S) <= 2 delta``, and ``Q(S) <= P(S)/(2 E)``. So the odds rise by more than 2 E with a
    probability of at most 2 delta, whichever answer was given, and likewise fall. (That they
    stay within E but with the probability delta does not follow, and can be false.)

    None if it is larger than e^700, which no float much exceeds, or if 2 delta is 1 or more.
    """
    return _power(odds_exponent(epsilon, delta))


def _power(exponent: float | None) -> float | None:
    """Return ``e^exponent``; None if it is too large, or if there is none."""
    return None if exponent is None or exponent > _LARGEST_EXPONENT else math.exp(exponent)


def success_cap(epsilon: float, delta: float = 0.0) -> float:
    """Return ``(E + delta)/(E + 1)``: the chance to be right about two equally likely answers."""
    less = math.exp(-epsilon)
    return (1 + delta * less) / (1 + less)


def advantage_cap(epsilon: float, delta: float = 0.0) -> float:
    """Return ``(E - 1 + 2 delta)/(E + 1)``, which is ``tanh(epsilon/2)`` without a delta.

    The largest difference between the rates of true and of false positives of any test.
    """
    less = math.exp(-epsilon)
    return (-math.expm1(-epsilon) + 2 * delta * less) / (1 + less)


def true_positive_cap(epsilon: float, false_positives: float, delta: float = 0.0) -> float:
    """Return the largest rate of true positives at a rate of false ones.

    ``min(1, E FPR + delta, 1 - (1 - delta - FPR)/E)``.

    Parameters
    ----------
    false_positives : float
        FPR, in [0, 1].
    """
    at_least = 1 - math.exp(-epsilon) * max(0.0, 1 - delta - false_positives)
    if epsilon > _LARGEST_EXPONENT:
        return 1.0 if false_positives > 0 else min(at_least, delta)
    return min(1.0, math.exp(epsilon) * false_positives + delta, at_least)


def posterior(prior: float, epsilon: float) -> float:
    """Return ``E prior / (E prior + 1 - prior)``: what a prior belief can become at most.

    Parameters
    ----------
    prior : float
        Probability of the answer before anything was seen, in [0, 1].

    Examples
    --------
    >>> round(posterior(0.01, 5.0), 4)
    0.5999
    """
    return prior / (prior + (1 - prior) * math.exp(-epsilon)) if prior else 0.0


def posterior_at_least(prior: float, epsilon: float) -> float:
    """Return ``prior / (prior + E (1 - prior))``: what a prior belief can become at least.

    Examples
    --------
    >>> round(posterior_at_least(0.5, 1.0), 4)
    0.2689
    """
    if prior == 1:
        return 1.0
    less = prior * math.exp(-epsilon)
    return less / (less + (1 - prior))
