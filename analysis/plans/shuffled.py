"""From a central epsilon after shuffling to the local epsilon of each report."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical
from deniable.protocol.limits import EPSILON_MAX
from deniable.protocol.mechanisms import NO_OPTIONS, Mechanism, Options

from .. import inputs
from ..figures import counted
from ..inputs import Number
from ..shuffling.trust import unfaked
from .asked import Asked, asked
from .digits import GRID
from .proposals import proposal
from .shuffled_results import LocalPlan

_MARGIN = 1 - 2.0**-30
"""More than a search for the bound may stop short of it."""


def plan_local(
    *,
    central_epsilon: Number,
    delta: Number,
    crowd: SupportsIndex,
    fake_share: Number = 0,
    values: SupportsIndex = 2,
    mechanism: str = "auto",
    options: Options = NO_OPTIONS,
) -> LocalPlan:
    """Return the largest local epsilon whose shuffled reports are (C, delta)-private.

    By the certified upper bound of :func:`deniable.analysis.shuffle_epsilon`, for one report of
    each device in one period; neighbours differ in the answer of one device. Rounded down to four
    digits; where the crowd is too small to hide anybody it is C itself.

    Parameters
    ----------
    central_epsilon : Decimal, int, float or str
        C, of one device, from the shuffled reports of one period.
    delta : Decimal, float or str
        In (0, 1): the probability with which C may be exceeded.
    crowd : int
        n, devices whose reports are shuffled.
    fake_share : Decimal, float or str
        The share of the crowd whose answers or noise an attacker knows, and that hides nobody.
    values, mechanism, options
        As of :func:`deniable.analysis.users_needed`.

    Returns
    -------
    LocalPlan

    Raises
    ------
    ParameterError
        If a parameter is out of range, or devices accept no epsilon so small.
    """
    question = asked(values, mechanism, options)
    central = inputs.epsilon("central_epsilon", central_epsilon)
    fail = float(inputs.between("delta", delta, "1e-100", "1"))
    n = inputs.integer("crowd", crowd, 1, inputs.MAX_REPORTS)
    fake = inputs.proportion("fake_share", fake_share)
    hiding = honest(n, fake)
    return planned_local(question, central, fail, n, float(fake), hiding)


def planned_local(
    question: Asked, central: Decimal, delta: float, crowd: int, fake_share: float, hiding: int
) -> LocalPlan:
    """Return the plan of a question whose parameters are checked."""
    from ..shuffling.bounds import shuffle_bounds

    found = local_epsilon(question, central, delta, lambda _: hiding, question.lowest)
    if found is None:
        raise ParameterError(
            f"central_epsilon {canonical(central)} cannot be reached with "
            f"{counted(hiding, 'honest device')}: more is revealed even by epsilon "
            f"{question.floor}; allow more, or ask more devices"
        )
    built = question.at(found)
    bounds = shuffle_bounds(built, hiding, delta)
    return LocalPlan(
        proposal=proposal(built),
        central_epsilon=central,
        upper=bounds.upper,
        lower=bounds.lower,
        method=bounds.method,
        delta=delta,
        crowd=crowd,
        fake_share=fake_share,
        honest=hiding,
    )


def local_epsilon(
    question: Asked,
    central: Decimal,
    delta: float,
    honest: Callable[[Mechanism], int],
    low: Decimal,
) -> Decimal | None:
    """Return the largest local epsilon, from ``low`` up, whose shuffled reports keep a central one.

    None if none does. No more than devices accept, but for ``low`` itself.

    Parameters
    ----------
    honest : callable
        How many devices hide each other where they report by a mechanism.
    """

    def within(epsilon: Decimal) -> bool:
        mechanism = question.at(epsilon)
        return keeps(mechanism, honest(mechanism), delta, central)

    return GRID.largest(within, low, max(low, EPSILON_MAX))


def keeps(mechanism: Mechanism, honest: int, delta: float, central: Decimal) -> bool:
    """Return whether the certified bound on shuffled reports is at most a central epsilon."""
    from ..shuffling.inverse import holds

    if honest < 1:
        return False
    if (mechanism.epsilon_first or mechanism.epsilon) <= central:
        return True
    return holds(mechanism, honest, delta, float(central) * _MARGIN)


def honest(crowd: int, fake_share: Decimal) -> int:
    """Return how many of a crowd hide each other.

    Raises
    ------
    ParameterError
        If nobody does.
    """
    left = unfaked(crowd, fake_share)
    if left < 1:
        raise ParameterError(f"fake_share must leave one honest device of {crowd:,}: {fake_share}")
    return left
