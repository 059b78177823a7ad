"""Certified bounds on the epsilon of reports that arrive shuffled.

``upper`` holds whatever the other devices answer; ``lower`` belongs to one data set, so no
analysis can promise less. Both are of one report from each of ``crowd`` honest devices of which
one may replace its answer, with fresh noise in each report, and may fail with probability
delta. Floating-point errors are on the safe side of both.

References
----------
Balle, Bell, Gascón, Nissim. The privacy blanket of the shuffle model. CRYPTO 2019.
Feldman, McMillan, Talwar. Hiding among the clones: a simple and nearly optimal analysis of
privacy amplification by shuffling. FOCS 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from deniable.protocol.mechanisms import Mechanism

from .classes import LARGEST_CROWD, blankets, clones, coins, report_epsilon, third_value
from .closed_forms import ClosedForm, closed_forms
from .inverse import crowd_for

__all__ = [
    "ClosedForm",
    "ShuffleBounds",
    "best_upper",
    "clones_bound",
    "crowd_for",
    "lower_bound",
    "shuffle_bounds",
]

_ROUNDING = 2.0**-46

NOTHING = "epsilon itself: the crowd is too small to add anything"


@dataclass(frozen=True, slots=True)
class ShuffleBounds:
    """What one report of each device in a shuffled crowd reveals.

    Attributes
    ----------
    upper : float
        Epsilon, rounded up; never more than that of the report by itself.
    lower : float or None
        No smaller epsilon holds for this mechanism, crowd and delta; None where no data set is
        known. Rounded down.
    method : str
        Which argument gave ``upper``.
    closed_forms : tuple of ClosedForm
        Published formulas, as sanity caps.
    """

    upper: float
    lower: float | None
    method: str
    closed_forms: tuple[ClosedForm, ...]


def shuffle_bounds(mechanism: Mechanism, crowd: int, delta: float) -> ShuffleBounds:
    """Return the bounds for one report of each device.

    Parameters
    ----------
    mechanism : Mechanism
        Both rounds of it, if there are two; its noise independent between devices.
    crowd : int
        n, honest devices including the one that is protected, at least 1.
    delta : float
        In (0, 1).

    Examples
    --------
    >>> from decimal import Decimal
    >>> from deniable.protocol.mechanisms import build
    >>> warner = build("grr", 2, Decimal(2))
    >>> bounds = shuffle_bounds(warner, 12_900, 1e-6)
    >>> round(bounds.upper, 2), round(bounds.lower, 2)
    (0.1, 0.08)
    """
    upper, method = best_upper(mechanism, crowd, delta)
    forms = tuple(closed_forms(mechanism, report_epsilon(mechanism), crowd, delta))
    return ShuffleBounds(upper, lower_bound(mechanism, crowd, delta, upper), method, forms)


def best_upper(mechanism: Mechanism, crowd: int, delta: float) -> tuple[float, str]:
    """Return the least of the upper bounds, and its name; the tightest argument is tried first."""
    from .curves import above, solve

    best, method = alone(report_epsilon(mechanism), delta), NOTHING
    if crowd < 2:
        return best, method
    counted = min(crowd, LARGEST_CROWD)
    for classes in reversed(list(blankets(mechanism))):
        found = solve(above(classes, counted, delta), delta, best, upper=True)
        if found < best:
            best, method = found, classes.name
    if crowd > counted:
        method += f", for a crowd of {counted:,}: more hide no worse"
        for form in closed_forms(mechanism, report_epsilon(mechanism), crowd, delta):
            if form.epsilon is not None and form.epsilon < best:
                best, method = form.epsilon, f"closed form of {form.name}"
    return best, method


def clones_bound(epsilon: float, crowd: int, delta: float) -> float:
    """Return the bound for any epsilon-LDP report."""
    from .curves import above, solve

    most = alone(epsilon, delta)
    if crowd < 2:
        return most
    counted = min(crowd, LARGEST_CROWD)
    return solve(above(clones(epsilon), counted, delta), delta, most, upper=True)


def alone(epsilon: float, delta: float) -> float:
    """Return ``ln(E - delta (E + 1))``, rounded up, or 0: any report in no crowd, with a delta.

    Randomized response, which tells no less, has ``delta(e) = (E - e^e)/(E + 1)``.
    """
    less = delta * (1 + math.exp(-epsilon)) * (1 - _ROUNDING)
    if less >= 1:
        return 0.0
    return min(epsilon, max(0.0, (epsilon + math.log1p(-less)) + _ROUNDING * epsilon))


def lower_bound(mechanism: Mechanism, crowd: int, delta: float, highest: float) -> float | None:
    """Return the largest epsilon that a known data set needs, at most ``highest``, or None."""
    from .curves import below, of_coin, solve

    if crowd > LARGEST_CROWD:
        return None
    curves = [of_coin(coin, crowd) for coin in coins(mechanism)]
    third = third_value(mechanism)
    if third is not None:
        curves.append(below(third, crowd, delta))
    if not curves:
        return None
    return max(solve(curve, delta, highest, upper=False) for curve in curves)
