"""What so many trials prove about an epsilon, and what they could have proved.

An event happens in x of n trials under one value and in y of n under another. With exact limits
``TPR_lo`` and ``FPR_hi`` of its two probabilities, each wrong with probability alpha/2 at most,
``epsilon >= ln((TPR_lo - delta) / FPR_hi)``, wrong with probability alpha at most.

What must never change: the direction of rounding. A lower bound is rounded down, the trials that
something takes are rounded up.

References
----------
Clopper, Pearson. The use of confidence or fiducial limits. Biometrika 1934.
Jagielski, Ullman, Oprea. Auditing differentially private machine learning. NeurIPS 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scipy import special, stats

from deniable.protocol.errors import ParameterError

SLACK = 1e-10
"""More than the relative error of the inverse beta functions."""

_LARGEST_EPSILON = 700.0
_MOST_TRIALS = 2**60
_STEPS = 60


def lower_limit(hits: float, trials: float, alpha: float) -> float:
    """Return the Clopper-Pearson lower limit: a probability at least so large, rounded down.

    Parameters
    ----------
    hits, trials : float
        0 <= hits <= trials; whole numbers, or expected ones when planning.
    alpha : float
        In (0, 1): with which probability the limit may be wrong.
    """
    if hits <= 0:
        return 0.0
    limit = float(special.betaincinv(hits, trials - hits + 1, alpha))
    return max(0.0, limit * (1 - SLACK))


def upper_limit(hits: float, trials: float, alpha: float) -> float:
    """Return the Clopper-Pearson upper limit: a probability at most so large, rounded up."""
    if hits >= trials:
        return 1.0
    limit = float(special.betainccinv(hits + 1, trials - hits, alpha))
    return min(1.0, limit * (1 + SLACK))


def epsilon_lower(
    true: float, false: float, trials: float, alpha: float, delta: float = 0.0
) -> float:
    """Return ``ln((TPR_lo - delta) / FPR_hi)``, alpha/2 for each limit, or 0 if that is less.

    Parameters
    ----------
    true, false : float
        In how many of the trials the event happened, under the one value and under the other.
    trials : float
        On each side.
    alpha : float
        In (0, 1): with which probability the bound may be wrong.
    delta : float
        In [0, 1).

    Examples
    --------
    >>> round(epsilon_lower(7311, 2689, 10_000, 0.05), 4)
    0.9559
    """
    low = lower_limit(true, trials, alpha / 2) - delta
    high = upper_limit(false, trials, alpha / 2)
    if low <= 0 or high <= 0:
        return 0.0
    return max(0.0, math.log(low) - math.log(high) - SLACK)


def ceiling(trials: float, alpha: float) -> float:
    """Return ``ln((1-u)/u)``, u = 1 - (alpha/2)^(1/N): what N trials a side can show at most.

    An event that always happens on one side and never on the other shows so much.

    Examples
    --------
    >>> round(ceiling(10_000, 0.05), 2)
    7.9
    """
    if trials <= 0:
        return 0.0
    share = math.log(2 / alpha) / trials
    return max(0.0, -share - math.log(-math.expm1(-share)))


def trials_needed(epsilon: float, alpha: float) -> int:
    """Return how many trials a side it takes until the :func:`ceiling` reaches an epsilon.

    Raises
    ------
    ParameterError
        If it is more than e^700.

    Examples
    --------
    >>> trials_needed(8, 0.05)
    10999
    """
    if not 0 <= epsilon <= _LARGEST_EPSILON:
        raise ParameterError(f"epsilon must be in 0..{_LARGEST_EPSILON:g}: {epsilon}")
    return math.ceil(math.log(2 / alpha) / math.log1p(math.exp(-epsilon)))


def trials_to_refute(true: float, claim: float, alpha: float) -> int | None:
    """Return how many trials a side refute a claimed epsilon in about half of all audits.

    For randomized response of epsilon ``true``, which errs with e = 1/(1 + e^true): the least N
    for which F = ceil(N e) errors a side, the expected number, leave the bound above ``claim``.

    Returns
    -------
    int or None
        None if ``true`` is not above ``claim``, or by so little that 2^60 trials are not enough.
    """
    error = 1 / (1 + math.exp(true))

    def trials(errors: int) -> int | None:
        return _least(
            lambda more: epsilon_lower(more, errors, more + errors, alpha) > claim, plus=errors
        )

    def refuted(errors: int) -> bool:
        needed = trials(errors)
        return needed is not None and needed * error <= errors

    errors = _least(refuted) if true > claim else None
    return None if errors is None else trials(errors)


def could_have_seen(rate: float, claim: float, trials: int, alpha: float) -> float | None:
    """Return the least epsilon that the trials would have shown to be above a claim.

    Of an event that happens at this rate under the one value and e^epsilon times more rarely
    under the other: the bound from the 5 % quantile of its count on the one side and the 95 %
    quantile on the other is above the claim, so at least nine audits in ten are.

    Parameters
    ----------
    rate : float
        In [0, 1].
    claim : float
        The epsilon to be refuted.
    trials : int
        On each side.

    Returns
    -------
    float or None
        Rounded up; None if not even an event that never happens on the other side is enough.
    """
    often = _quantile(0.05, trials, rate)

    def shown(epsilon: float) -> bool:
        rare = _quantile(0.95, trials, rate * math.exp(-epsilon))
        return epsilon_lower(often, rare, trials, alpha) > claim

    low, high = claim, claim + 2 * ceiling(trials, alpha) + 20
    if not shown(high):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


def _quantile(level: float, trials: int, rate: float) -> int:
    """Return a count that a binomial one stays at or under with this probability, and just so."""
    return int(stats.binom.ppf(level, trials, rate))


def _least(enough: Callable[[int], bool], plus: int = 0) -> int | None:
    """Return the least whole number that is enough, and ``plus``, if more is never too little."""
    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST_TRIALS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high + plus
