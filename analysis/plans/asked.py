"""A question whose epsilon is still open: what is fixed about it, and what it would become."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical
from deniable.protocol.limits import EPSILON_MIN, MAX_K
from deniable.protocol.mechanisms import (
    MECHANISMS,
    NO_OPTIONS,
    Mechanism,
    Options,
    build,
    choose,
)
from deniable.protocol.mechanisms.base import Asks

from .. import inputs
from .digits import rounded_down, rounded_up

HALF = Fraction(1, 2)
"""The rule for a second round: one report by itself may reveal half of what all of them do."""


@dataclass(frozen=True)
class Asked:
    """Everything about a question but its epsilon.

    Attributes
    ----------
    name : str
        Of the mechanism; ``auto`` is chosen anew for each epsilon.
    k : int
    options : mapping of str to int
    asks : str
        Which questions it is of, see :data:`deniable.protocol.mechanisms.Asks`.
    linkable : bool
        Whether the author accepts that reports may recognise a device.
    first : Fraction or None
        epsilon_first as a share of epsilon; None without a second round.
    given : mapping of str to int
        The options that the question itself decides.
    """

    name: str
    k: int
    options: Options = field(default_factory=lambda: NO_OPTIONS)
    asks: Asks = "choice"
    linkable: bool = False
    first: Fraction | None = None
    given: Options = field(default_factory=lambda: NO_OPTIONS)

    def at(self, epsilon: Decimal) -> Mechanism:
        """Return the mechanism of an epsilon.

        Raises
        ------
        ParameterError
            If there is none.
        """
        first = self.first_of(epsilon)
        if self.name != "auto":
            return build(self.name, self.k, epsilon, first, {**self.options, **self._given})
        if self.options:
            raise ParameterError("options are of a mechanism: name one, other than auto")
        return choose(
            self.k, epsilon, first, asks=self.asks, linkable=self.linkable, given=self.given
        )

    @property
    def _given(self) -> Options:
        """Those of the given options that the named mechanism has."""
        if self.name not in MECHANISMS:
            return NO_OPTIONS
        needed = MECHANISMS[self.name].given
        return {name: value for name, value in self.given.items() if name in needed}

    def first_of(self, epsilon: Decimal) -> Decimal | None:
        """Return epsilon_first, rounded down."""
        return None if self.first is None else rounded_down(self.first * Fraction(epsilon))

    @property
    def lowest(self) -> Decimal:
        """The least epsilon that devices accept, that of one report included."""
        if self.first is None:
            return EPSILON_MIN
        return rounded_up(Fraction(EPSILON_MIN) / self.first)

    @property
    def floor(self) -> str:
        """Say which epsilon is the least that devices accept, and why if one report decides."""
        least = f"{canonical(self.lowest)}, the least that devices accept"
        if self.first is None:
            return least
        return (
            f"{least} where epsilon_first, of one report, is {canonical(rounded_down(self.first))} "
            f"of epsilon: both must be {canonical(EPSILON_MIN)} or more"
        )


def asked(
    values: SupportsIndex, mechanism: str, options: Options, *, second_round: bool = False
) -> Asked:
    """Read a question from its parameters.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    if not isinstance(mechanism, str):
        raise ParameterError("mechanism must be the name of one, or auto")
    return Asked(mechanism, survey_values(values), options, first=HALF if second_round else None)


def survey_values(values: SupportsIndex) -> int:
    """Return a number of values that a survey can ask for.

    Raises
    ------
    ParameterError
        If it is none.
    """
    k = inputs.integer("values", values, 2, inputs.MAX_VALUES)
    if k > MAX_K:
        raise ParameterError(
            f"values must be at most {MAX_K:,}, for devices accept no more: {k:,}; "
            "users-needed computes with more"
        )
    return k
