"""``shuffle-epsilon``: what a crowd adds, certified from both sides, and who must be trusted."""

from __future__ import annotations

from decimal import Decimal
from typing import SupportsIndex

from deniable.protocol.mechanisms import NO_OPTIONS, Mechanism, Options

from .. import inputs
from ..inputs import Number
from ..planning import resolve
from .bounds import ShuffleBounds, shuffle_bounds
from .days import days_bound, require_days
from .results import ShuffleEpsilon
from .trust import unfaked


def shuffle_epsilon(
    *,
    epsilon: Number,
    crowd: SupportsIndex,
    delta: Number,
    epsilon_first: Number | None = None,
    values: SupportsIndex = 2,
    mechanism: str = "auto",
    options: Options = NO_OPTIONS,
    fake_share: Number = 0,
    days: SupportsIndex = 1,
) -> ShuffleEpsilon:
    """Return what one tally of a shuffled crowd reveals of each device in it.

    With y_i ~ omega, what every device emits at least, P and Q the outputs of two answers, and n
    devices, ``delta(e) = E[(sum_i (P - e^e Q)(y_i) / omega(y_i))+] / n``, solved for e: an upper
    bound. With omega the outputs of one value it is exact if all other devices hold that: a lower
    bound. Both are for one report of each device, with fresh noise; the central neighbours are
    crowds in which one device has another answer.

    Parameters
    ----------
    epsilon, epsilon_first : Decimal, int, float or str
        Of all reports about one unchanging answer; of one report, if there is a second round.
    crowd : int
        n, devices that report in one period, at most a thousand million.
    delta : Decimal, float or str
        In (0, 1): the probability with which the bound may fail. It is never assumed.
    values, mechanism, options
        As of :func:`deniable.analysis.users_needed`.
    fake_share : Decimal, float or str
        Of the crowd, known or feared to be fake; such devices hide nobody, so n shrinks.
    days : int
        T, periods in which a device answers the same. More than one are refused without a second
        round: memoized reports reuse their noise.

    Returns
    -------
    ShuffleEpsilon

    Raises
    ------
    ParameterError
        If a parameter is out of range, or nothing is known for so many days.

    References
    ----------
    Balle, Bell, Gascón, Nissim. The privacy blanket of the shuffle model. CRYPTO 2019.
    Feldman, McMillan, Talwar. Hiding among the clones: a simple and nearly optimal analysis of
    privacy amplification by shuffling. FOCS 2021.

    Examples
    --------
    >>> found = shuffle_epsilon(epsilon=2, crowd=1_000_000, delta="1e-6")
    >>> round(found.upper, 4), round(found.lower, 4)
    (0.0095, 0.007)
    """
    first = None if epsilon_first is None else inputs.epsilon("epsilon_first", epsilon_first)
    k = inputs.integer("values", values, 2, inputs.MAX_VALUES)
    built = resolve(mechanism, k, inputs.epsilon("epsilon", epsilon), first, options)
    n = inputs.integer("crowd", crowd, 1, inputs.MAX_REPORTS)
    fail = float(inputs.between("delta", delta, "1e-100", "1"))
    fake = inputs.proportion("fake_share", fake_share)
    reports = inputs.integer("days", days, 1, inputs.MAX_DAYS)
    require_days(built, reports)
    hiding = honest(n, fake)
    bounds = _over(built, hiding, fail, reports)
    return ShuffleEpsilon(
        upper=bounds.upper,
        lower=bounds.lower,
        method=bounds.method,
        closed_forms=bounds.closed_forms,
        mechanism=built,
        crowd=n,
        fake_share=float(fake),
        honest=hiding,
        delta=fail,
        days=reports,
    )


def honest(crowd: int, fake_share: Decimal) -> int:
    """Return how many devices hide each other, the one that is protected among them."""
    return max(1, unfaked(crowd, fake_share))


def _over(mechanism: Mechanism, crowd: int, delta: float, days: int) -> ShuffleBounds:
    """Return the bounds of so many days; what one of them reveals at least, all do."""
    one = shuffle_bounds(mechanism, crowd, delta)
    if days == 1:
        return one
    several = days_bound(mechanism, crowd, days, delta)
    return ShuffleBounds(several.epsilon, one.lower, several.method, ())
