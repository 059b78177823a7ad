"""Whether a shuffled crowd keeps a central epsilon, and how large it has to be.

One evaluation of a delta tells whether an epsilon and a crowd are enough, so no epsilon is
searched for inside a search.
"""

from __future__ import annotations

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism

from .classes import LARGEST_CROWD, blankets, report_epsilon

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


def crowd_for(mechanism: Mechanism, central: float, delta: float) -> int:
    """Return how many honest devices bring one report of each within a central epsilon.

    Raises
    ------
    ParameterError
        If a thousand million are not enough.

    Examples
    --------
    >>> from decimal import Decimal
    >>> from deniable.protocol.mechanisms import build
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
