"""How far an estimate may be from the truth, and how many devices that takes: exact rationals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from deniable.protocol.mechanisms import FrequencyOracle, Mechanism

from .. import inputs
from ..domains import collisions, estimated, is_mean, over, reporting
from ..estimators import Level
from ..figures import counted
from ..inputs import Number
from .digits import root_rounded_up


@dataclass(frozen=True, slots=True)
class Precision:
    """What a margin means: how sure, of which frequency, in which population.

    Attributes
    ----------
    z : Fraction
        How many standard errors the margin is.
    confidence : Decimal or None
        Two-sided, if that was asked for rather than standard errors.
    frequency : Fraction or None
        The true one, or where in its range the mean of a number is; None for the worst.
    fixed : bool
        Whether only the noise varies, for the devices that report are the population.
    """

    z: Fraction
    confidence: Decimal | None
    frequency: Fraction | None
    fixed: bool

    def variance(self, mechanism: Mechanism) -> tuple[Fraction, Fraction]:
        """Return V, n times the variance of an estimate, and the frequency it is taken at."""
        at = self.frequency
        if at is None:
            at = mechanism.worst(sampled=not self.fixed)
        return mechanism.exact_variance(at, sampled=not self.fixed), at

    def users(self, mechanism: Mechanism, margin: Fraction) -> int:
        """Return ``ceil(z^2 V / margin^2)``."""
        variance, _ = self.variance(mechanism)
        return math.ceil(self.z * self.z * variance / (margin * margin))

    def margin(self, mechanism: Mechanism, devices: int) -> Decimal:
        """Return ``z sqrt(V / n)``, rounded up to a few digits."""
        variance, _ = self.variance(mechanism)
        return root_rounded_up(self.z * self.z * variance / devices)

    def sampling(self, devices: int) -> Decimal:
        """Return ``z sqrt(f(1-f) / n)``: what is left of the margin if everybody tells the truth.

        Zero in a fixed population; at f = 1/2 if no frequency was given.
        """
        if self.fixed:
            return Decimal(0)
        at = Fraction(1, 2) if self.frequency is None else self.frequency
        return root_rounded_up(self.z * self.z * at * (1 - at) / devices)

    def level(self) -> Level:
        """Return how sure the interval is, as estimates have it."""
        return Level(math.erfc(float(self.z) / math.sqrt(2)))

    def assumption(self, mechanism: Mechanism, asked: str) -> str:
        """Say which V, how sure, and which mechanism.

        Parameters
        ----------
        asked : str
            The mechanism's name as it was asked for, which may be ``auto``.
        """
        _, at = self.variance(mechanism)
        what = estimated(mechanism)
        level = f"margin = {float(self.z):g} standard errors of one estimated {what}"
        if self.confidence is not None:
            level += f", {100 * float(self.confidence):g} % two-sided"
        where = f"at {'place' if is_mean(mechanism.asks) else 'frequency'} {float(at):.6g}"
        which = f"the worst case, {where}" if self.frequency is None else where
        who = (
            "a fixed population, only the noise varies"
            if self.fixed
            else "independently sampled users"
        )
        chosen = ", as auto chooses" if asked == "auto" else ""
        shared = collisions(mechanism)
        ideal = not mechanism.automatic and not shared
        exact = " (approximate, as if hashing were ideal)" if ideal else ""
        left_out = f"; {shared}" if shared else ""
        return (
            f"{level}; variance {which}{exact}; {who}, each reporting {reporting(mechanism)}; "
            f"{mechanism.described()} {over(mechanism)}{chosen}{left_out}"
        )


def precision(
    *,
    confidence: Number = 0.95,
    sigmas: Number | None = None,
    frequency: Number | None = None,
    fixed_population: bool = False,
) -> Precision:
    """Read what a margin means.

    Raises
    ------
    ParameterError
        If a parameter is out of range.
    """
    sure = None if sigmas is not None else inputs.between("confidence", confidence, "0", "1")
    if sigmas is not None:
        z = Fraction(inputs.between("sigmas", sigmas, "0", "40"))
    else:
        z = Fraction(Level(float(1 - Fraction(sure or 0))).z)
    f = None if frequency is None else Fraction(inputs.proportion("frequency", frequency))
    return Precision(z, sure, f, fixed_population)


def small_counts(mechanism: Mechanism, devices: int, level: Level) -> str:
    """Say that the intervals of rare answers will be exact ones, wider than a margin; or nothing.

    ``n q`` supports are expected of an answer that nobody gives.
    """
    if not isinstance(mechanism, FrequencyOracle):
        return ""
    expected = devices * float(mechanism.q * mechanism.coverage)
    if expected >= level.fewest:
        return ""
    return (
        f"an answer that nobody gives would have only {expected:.2g} supports among "
        f"{counted(devices, 'device')}: intervals of rare answers are then exact, and wider than "
        "the margin"
    )
