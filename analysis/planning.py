"""How many users a question needs, before anybody is asked."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import (
    MECHANISMS,
    NO_OPTIONS,
    Mechanism,
    Options,
    build,
    choose,
)

from . import inputs
from .domains import epsilon_unit, one_estimate
from .estimators import FAKE_SHARE, fake_bias
from .inputs import Number
from .plans.precision import precision
from .render import Record, Section
from .results import EPSILON_UNIT, accounted, with_units


@dataclass(frozen=True)
class UsersNeeded:
    """A number of users, and everything it assumes.

    Attributes
    ----------
    users : int
        Devices that must report in one period.
    variance_per_user : float
        V: the variance of an estimated frequency is V / users.
    assumption : str
        Which V, how sure, and which mechanism, in words.
    mechanism : str
    values : int
    epsilon, epsilon_first : Decimal
    margin : float
        Half the width of the interval of one frequency.
    standard_errors : float
        How many of them the margin is.
    confidence : float or None
        Two-sided, if that was asked for rather than standard errors.
    frequency : float
        Where V was taken.
    fake_bias : float
        By how much 1 % of fake devices could move an estimate, however many users there are.
    epsilon_unit : str
        What ``epsilon`` is of, in words.
    """

    users: int
    variance_per_user: float
    assumption: str
    mechanism: str
    values: int
    epsilon: Decimal
    epsilon_first: Decimal | None
    margin: float
    standard_errors: float
    confidence: float | None
    frequency: float
    fake_bias: float
    epsilon_unit: str = EPSILON_UNIT

    columns: ClassVar[tuple[str, ...]] = (
        "users", "variance_per_user", "assumption", "mechanism", "values", "epsilon",
        "epsilon_first", "margin", "standard_errors", "confidence", "frequency", "fake_bias",
    )  # fmt: skip

    def records(self) -> list[Record]:
        """Return the one flat row."""
        first = None if self.epsilon_first is None else float(self.epsilon_first)
        row = {name: getattr(self, name) for name in self.columns}
        return [{**row, "epsilon": float(self.epsilon), "epsilon_first": first}]

    def document(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        units = accounted(self.epsilon, self.epsilon_first, self.epsilon_unit)
        return {**self.records()[0], **units}

    def sections(self) -> tuple[Section, ...]:
        """Return the plan for people."""
        what = one_estimate(MECHANISMS[self.mechanism].asks)
        notes = (
            f"{self.assumption[0].upper()}{self.assumption[1:]}.",
            f"The variance of {what} is {self.variance_per_user:.6g} / users.",
            f"Epsilon {with_units(self.epsilon, self.epsilon_first, self.epsilon_unit)}.",
            f"{100 * FAKE_SHARE:g} % fake devices could move {what} by "
            f"{self.fake_bias:.2g}, however many users there are.",
        )
        return (Section(f"{self.users:,} users for ±{self.margin:g}", (), (), notes),)


def users_needed(
    *,
    epsilon: Number,
    margin: Number,
    epsilon_first: Number | None = None,
    confidence: Number = 0.95,
    sigmas: Number | None = None,
    values: SupportsIndex = 2,
    mechanism: str = "auto",
    options: Options = NO_OPTIONS,
    frequency: Number | None = None,
    fixed_population: bool = False,
) -> UsersNeeded:
    """Return how many devices must report for an estimate to be within ``margin``.

    Of a frequency, or of the mean of a number if the mechanism is one for numbers; then all of it
    is in units of the range: margin 0.01 is one hundredth from end to end.

    ``n = ceil(z^2 V / margin^2)``, where V is n times the variance of the estimate: for users
    sampled independently ``g(1-g)/(p-q)^2`` with g = q + f(p-q), or, for a fixed population,
    where only the noise varies, ``q(1-q)/(p-q)^2 + f(1-p-q)/(p-q)``; for a number see
    :meth:`deniable.protocol.mechanisms.scale.Scale.exact_variance`. Computed in rationals.

    Parameters
    ----------
    epsilon, epsilon_first : Decimal, int, float or str
        Of all reports about one unchanging answer; of one report, if there is a second round.
    margin : Decimal, float or str
        Of a frequency, or of a mean as a share of its range, in (0, 1).
    confidence : Decimal, float or str
        Two-sided, in (0, 1), of one interval; z is its normal quantile.
    sigmas : Decimal, int, float or str, optional
        z itself, in (0, 40); overrides ``confidence``.
    values : int
        Domain size k; 2 for a yes/no question, the steps of the range plus 1 for a number.
    mechanism : str
        Any of a survey's; ``auto`` is what a survey would choose for a choice.
    options : mapping of str to int
        Of the mechanism, such as ``{"g": 4}``; what is left out, it chooses.
    frequency : Decimal, float or str, optional
        The true frequency f, or where in its range, from 0 to 1, the mean of a number is;
        otherwise the one that needs most users.
    fixed_population : bool
        Whether to estimate the frequency among the devices that report rather than in the
        population they are sampled from.

    Returns
    -------
    UsersNeeded

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    References
    ----------
    Wang, Blocki, Li, Jha. Locally differentially private protocols for frequency estimation.
    USENIX Security 2017.

    Examples
    --------
    >>> users_needed(epsilon=2, margin="0.001", sigmas=2).users
    1724062
    """
    first = None if epsilon_first is None else inputs.epsilon("epsilon_first", epsilon_first)
    k = inputs.integer("values", values, 2, inputs.MAX_VALUES)
    built = resolve(mechanism, k, inputs.epsilon("epsilon", epsilon), first, options)
    within = Fraction(inputs.between("margin", margin, "1e-9", "1"))
    wanted = precision(
        confidence=confidence,
        sigmas=sigmas,
        frequency=frequency,
        fixed_population=fixed_population,
    )
    variance, at = wanted.variance(built)
    return UsersNeeded(
        users=wanted.users(built, within),
        variance_per_user=float(variance),
        assumption=wanted.assumption(built, mechanism),
        mechanism=built.name,
        values=built.k,
        epsilon=built.epsilon,
        epsilon_first=built.epsilon_first,
        margin=float(within),
        standard_errors=float(wanted.z),
        confidence=None if wanted.confidence is None else float(wanted.confidence),
        frequency=float(at),
        fake_bias=fake_bias(built),
        epsilon_unit=epsilon_unit(built),
    )


def resolve(
    name: str,
    k: int,
    epsilon: Decimal,
    epsilon_first: Decimal | None,
    options: Options = NO_OPTIONS,
) -> Mechanism:
    """Return the mechanism a survey would resolve ``name`` to, ``auto`` included."""
    if not isinstance(name, str):
        raise ParameterError("mechanism must be the name of one, or auto")
    if name != "auto":
        return build(name, k, epsilon, epsilon_first, options)
    if options:
        raise ParameterError("options are of a mechanism: name one, other than auto")
    return choose(k, epsilon, epsilon_first)
