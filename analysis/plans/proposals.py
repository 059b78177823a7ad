"""One mechanism with its epsilons, as every plan states it: what it means, what fakes could do.

What must never change within a major version: the names in ``record()``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from deniable.protocol.exact import canonical
from deniable.protocol.limits import EPSILON_MAX, EPSILON_MIN
from deniable.protocol.mechanisms import Mechanism

from ..domains import epsilon_unit, one_estimate
from ..estimators import FAKE_SHARE, fake_bias
from ..figures import at_most, percent_at_most, power_at_most
from ..reading import NO_GUARANTEE, Reading, read
from ..render import Record
from ..results import FIRST_UNIT

_NEARLY_ALWAYS = 0.999

COLUMNS = ("mechanism", "values", "epsilon", "epsilon_first", "fake_bias")


@dataclass(frozen=True)
class Proposal:
    """A mechanism with its epsilons.

    Attributes
    ----------
    mechanism : Mechanism
    fake_bias : float
        By how much 1 % of fake devices could move an estimate, however many devices there are.
    reading : Reading
        What the permanent epsilon lets an attacker do at best.
    """

    mechanism: Mechanism
    fake_bias: float
    reading: Reading

    @property
    def epsilon(self) -> Decimal:
        """Of one device, from all its reports about one unchanging answer."""
        return self.mechanism.epsilon

    @property
    def epsilon_first(self) -> Decimal | None:
        """Of one report, if there is a second round."""
        return self.mechanism.epsilon_first

    def record(self) -> Record:
        """Return the columns of :data:`COLUMNS`."""
        first = self.epsilon_first
        return {
            "mechanism": self.mechanism.described(),
            "values": self.mechanism.k,
            "epsilon": float(self.epsilon),
            "epsilon_first": None if first is None else float(first),
            "fake_bias": self.fake_bias,
        }

    def document(self) -> Record:
        """Return the record, the units of its epsilons, and what the permanent one means."""
        first = {} if self.epsilon_first is None else {"epsilon_first_unit": FIRST_UNIT}
        reading = self.reading.document()
        return {
            **self.record(),
            "epsilon_unit": epsilon_unit(self.mechanism),
            **first,
            "reading": reading,
        }

    def notes(self) -> Iterator[str]:
        """Say what the epsilons are of, what they mean, and what fakes could do."""
        first = self.epsilon_first
        one = "" if first is None else f"; {canonical(first)} {FIRST_UNIT}"
        yield f"Epsilon {canonical(self.epsilon)} {epsilon_unit(self.mechanism)}{one}."
        yield meaning(self.reading)
        what = one_estimate(self.mechanism.asks)
        yield (
            f"{100 * FAKE_SHARE:g} % fake devices could move {what} by "
            f"{at_most(self.fake_bias, 2)} at most, however many devices there are."
        )


def proposal(mechanism: Mechanism) -> Proposal:
    """Return what a mechanism with its epsilons means."""
    return Proposal(mechanism, fake_bias(mechanism), read(float(mechanism.epsilon)))


def refused(mechanism: Mechanism) -> Iterator[str]:
    """Say which epsilons of a mechanism no device accepts."""
    for epsilon in (mechanism.epsilon, mechanism.epsilon_first):
        if epsilon is not None and not EPSILON_MIN <= epsilon <= EPSILON_MAX:
            yield (
                f"no device accepts epsilon {canonical(epsilon)}: only "
                f"{canonical(EPSILON_MIN)} to {canonical(EPSILON_MAX)}"
            )


def meaning(reading: Reading) -> str:
    """Say what an attacker can do with what an epsilon bounds, which never fails."""
    said = (
        "Whoever sees all that, and knows everything else, can at best change the odds of an "
        f"answer by a factor of {power_at_most(reading.epsilon)} and be right about two equally "
        f"likely answers {_right(reading)}"
    )
    return f"{said}: {NO_GUARANTEE}." if not reading.meaningful else f"{said}."


def _right(reading: Reading) -> str:
    """How often; how rarely not, where a percentage would be rounded up to all."""
    if reading.success_cap < _NEARLY_ALWAYS:
        return f"in {percent_at_most(reading.success_cap)} of all cases"
    return f"in all but 1 of {power_at_most(math.nextafter(reading.epsilon, math.inf))} cases"
