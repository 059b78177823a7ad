"""From devices to a margin of error, and from a margin to the least epsilon that reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical
from deniable.protocol.limits import EPSILON_MAX
from deniable.protocol.mechanisms import NO_OPTIONS, Mechanism, Options

from .. import inputs
from ..figures import counted
from ..inputs import Number
from ..planning import resolve
from .asked import Asked, asked, survey_values
from .digits import GRID
from .margin_results import MarginPlan
from .precision import Precision, precision, small_counts
from .proposals import proposal, refused


def plan_margin(
    *,
    epsilon: Number,
    devices: SupportsIndex,
    epsilon_first: Number | None = None,
    confidence: Number = 0.95,
    sigmas: Number | None = None,
    values: SupportsIndex = 2,
    mechanism: str = "auto",
    options: Options = NO_OPTIONS,
    frequency: Number | None = None,
    fixed_population: bool = False,
) -> MarginPlan:
    """Return the margin of error that so many devices give.

    ``z sqrt(V / n)``, rounded up to four digits, V as in
    :func:`deniable.analysis.users_needed`, which asks for no more than ``devices`` for it.

    Parameters
    ----------
    epsilon, epsilon_first : Decimal, int, float or str
        Of all reports about one unchanging answer; of one report, if there is a second round.
    devices : int
        n, that report in one period.
    confidence, sigmas, values, mechanism, options, frequency, fixed_population
        As of :func:`deniable.analysis.users_needed`.

    Returns
    -------
    MarginPlan

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    Examples
    --------
    >>> plan_margin(epsilon=1, devices=1_000_000, sigmas=1).margin
    Decimal('0.001082')
    """
    first = None if epsilon_first is None else inputs.epsilon("epsilon_first", epsilon_first)
    k = survey_values(values)
    built = resolve(mechanism, k, inputs.epsilon("epsilon", epsilon), first, options)
    n = inputs.integer("devices", devices, 1, inputs.MAX_REPORTS)
    wanted = precision(
        confidence=confidence,
        sigmas=sigmas,
        frequency=frequency,
        fixed_population=fixed_population,
    )
    return stated("margin", built, mechanism, n, wanted)


def plan_epsilon(
    *,
    margin: Number,
    devices: SupportsIndex,
    second_round: bool = False,
    confidence: Number = 0.95,
    sigmas: Number | None = None,
    values: SupportsIndex = 2,
    mechanism: str = "auto",
    options: Options = NO_OPTIONS,
    frequency: Number | None = None,
    fixed_population: bool = False,
) -> MarginPlan:
    """Return the least epsilon with which so many devices give a margin of error.

    The least decimal of four digits that devices accept and for which ``z^2 V / n`` is at most
    the square of the margin, in rationals; one unit of its last digit less misses the margin. If
    the margin is easily reached, the least epsilon that devices accept.

    Parameters
    ----------
    margin : Decimal, float or str
        Of a frequency, or of a mean as a share of its range, in (0, 1).
    devices : int
        n, that report in one period.
    second_round : bool
        Whether each report is randomized anew; epsilon_first is then half of epsilon.
    confidence, sigmas, values, mechanism, options, frequency, fixed_population
        As of :func:`deniable.analysis.users_needed`.

    Returns
    -------
    MarginPlan

    Raises
    ------
    ParameterError
        If a parameter is out of range, or no epsilon that devices accept reaches the margin.

    Examples
    --------
    >>> plan_epsilon(margin="0.01", devices=44_971).epsilon
    Decimal('1')
    """
    question = asked(values, mechanism, options, second_round=second_round)
    within = inputs.between("margin", margin, "1e-9", "1")
    n = inputs.integer("devices", devices, 1, inputs.MAX_REPORTS)
    wanted = precision(
        confidence=confidence,
        sigmas=sigmas,
        frequency=frequency,
        fixed_population=fixed_population,
    )
    found = question.at(epsilon_for(question, within, n, wanted))
    return stated("epsilon", found, mechanism, n, wanted, within)


def epsilon_for(question: Asked, margin: Decimal, devices: int, wanted: Precision) -> Decimal:
    """Return the least epsilon that devices accept and that reaches a margin.

    Raises
    ------
    ParameterError
        If there is none, with what would help.
    """

    def reaches(epsilon: Decimal) -> bool:
        return wanted.users(question.at(epsilon), Fraction(margin)) <= devices

    found = GRID.least(reaches, question.lowest, EPSILON_MAX)
    if found is not None:
        return found
    alone = wanted.sampling(devices)
    best = question.at(EPSILON_MAX)
    if alone > margin:
        why = f"sampling alone leaves ±{canonical(alone)}, whatever epsilon is"
    else:
        reached = canonical(wanted.margin(best, devices))
        why = f"at epsilon {EPSILON_MAX}, the most devices accept, it is ±{reached}"
    raise ParameterError(
        f"margin {canonical(margin)} cannot be reached with {counted(devices, 'device')}: {why}; "
        f"it takes {counted(wanted.users(best, Fraction(margin)), 'device')} or more"
    )


def stated(
    unknown: str,
    mechanism: Mechanism,
    name: str,
    devices: int,
    wanted: Precision,
    margin: Decimal | None = None,
) -> MarginPlan:
    """Return the plan of a mechanism, with its own margin unless one was asked for."""
    variance, at = wanted.variance(mechanism)
    reached = wanted.margin(mechanism, devices)
    return MarginPlan(
        unknown=unknown,
        proposal=proposal(mechanism),
        devices=devices,
        margin=reached if margin is None else margin,
        variance_per_device=float(variance),
        sampling_margin=wanted.sampling(devices),
        standard_errors=float(wanted.z),
        confidence=None if wanted.confidence is None else float(wanted.confidence),
        frequency=float(at),
        assumption=wanted.assumption(mechanism, name),
        caveats=tuple(_caveats(mechanism, devices, wanted, reached)),
    )


def _caveats(
    mechanism: Mechanism, devices: int, wanted: Precision, reached: Decimal
) -> Iterator[str]:
    yield from refused(mechanism)
    if reached >= 1:
        yield "a margin of 1 or more says nothing: the estimate could be anything"
    rare = small_counts(mechanism, devices, wanted.level())
    if rare:
        yield rare
