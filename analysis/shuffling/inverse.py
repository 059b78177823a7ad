"""The inverse questions of a shuffled crowd: which local epsilon, and how large a crowd.

One evaluation of a delta tells whether an epsilon and a crowd are enough, so no epsilon is
searched for inside the search.
"""

from __future__ import annotations

from decimal import ROUND_FLOOR, Context, Decimal

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism, Options, build

from .. import inputs
from .classes import LARGEST_CROWD, blankets, report_epsilon

_DIGITS = Context(prec=5, rounding=ROUND_FLOOR)
_MARGIN = 1 - 2.0**-30  # more than a search for the upper bound may stop short of it


def holds(mechanism: Mechanism, crowd: int, delta: float, central: float) -> bool:
    """Return whether the upper bound is at most ``central``; one evaluation, no search."""
    from .curves import above

    if report_epsilon(mechanism) <= central:
        return True
    return crowd > 1 and any(
        above(classes, min(crowd, LARGEST_CROWD), delta)(central) <= delta
        for classes in reversed(list(blankets(mechanism)))
    )


def local_epsilon(
    name: str, k: int, options: Options, crowd: int, delta: float, central: Decimal | float
) -> Decimal:
    """Return the largest epsilon of one report for which a shuffled crowd is within ``central``.

    Never less than ``central`` itself: shuffling cannot reveal more than the reports do.

    Parameters
    ----------
    name, k, options
        Of a mechanism of one round, as for :func:`deniable.protocol.mechanisms.build`.
    crowd : int
        Honest devices, one report each.
    delta : float
        In (0, 1).
    central : Decimal or float
        What the shuffled reports may reveal together.

    Returns
    -------
    Decimal
        Of five digits, rounded down; at most 44, the largest there is.

    Raises
    ------
    ParameterError
        If there is none, or no such mechanism.
    """
    smallest, largest = inputs.EPSILON_RANGE
    target = inputs.exact("central", central)

    def within(epsilon: Decimal) -> bool:
        try:
            mechanism = build(name, k, epsilon, None, options)
        except ParameterError:
            return False
        return holds(mechanism, crowd, delta, float(target) * _MARGIN)

    low = max(smallest, min(_DIGITS.plus(target), largest))
    build(name, k, low, None, options)
    if low > target and not within(low):
        raise ParameterError(
            f"central epsilon is too small for any epsilon of {name} over {k} values, with a "
            f"crowd of {crowd:,}: {target}"
        )
    high = largest
    if low >= largest or within(high):
        return largest
    while True:
        middle = _DIGITS.plus(_DIGITS.sqrt(low * high) if high > 2 * low else (low + high) / 2)
        if not low < middle < high:
            return low
        low, high = (middle, high) if within(middle) else (low, middle)


def crowd_for(mechanism: Mechanism, central: float, delta: float) -> int:
    """Return how many honest devices bring one report of each within a central epsilon.

    Raises
    ------
    ParameterError
        If a thousand million are not enough.

    Examples
    --------
    >>> crowd_for(build("grr", 2, Decimal(2)), 0.1, 1e-6)
    12851
    """
    target = central * _MARGIN
    if report_epsilon(mechanism) <= central:
        return 1
    low, high = 1, 2
    while not holds(mechanism, high, delta, target):
        if high == LARGEST_CROWD:
            raise ParameterError(
                f"central epsilon of {central:g} takes more than {LARGEST_CROWD:,} devices with "
                f"{mechanism.described()} at epsilon {report_epsilon(mechanism):.6g} and delta "
                f"{delta:g}"
            )
        low, high = high, min(high * 4, LARGEST_CROWD)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(mechanism, middle, delta, target) else (middle, high)
    return high
