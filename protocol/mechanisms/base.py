"""The interface of every mechanism: how a value becomes a response, and what that reveals.

A mechanism is frozen, pure and exact. It is handed its random draws; it never makes any. Its
probabilities are defined once, as integer thresholds over 2^64, and device, estimator, variance
and proof all derive from those.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Literal

from ..draws import Draws
from ..errors import ParameterError
from ..exact import fits
from ..response import Response, Shape

Law = dict[Response, Fraction]
"""An exact output distribution."""

Rounds = Literal[1, 2]
"""1 for the permanent response alone, 2 for the instantaneous response built on it."""

_EPSILON_HIGHEST = 44
"""Beyond 64 ln 2 = 44.4 a coin's rarer side would need less than one part in 2^64."""

_EPSILON_PLACES = 55
"""So that sums and halves of epsilons are exact in 60 digits."""


class Mechanism(ABC):
    """A frequency oracle over symbols 0..k-1, with an optional second round of noise.

    One report supports a value with probability ``p`` if the value is the true one and ``q``
    if it is any other; both are of the report as it leaves the device, all rounds included.

    Attributes
    ----------
    name : str
        As written in a survey.
    decoder : str
        Which decoder of the analysis turns tallies into counts of supports.
    k : int
        Domain size.
    epsilon : Decimal
        Loss of everything that reports reveal about one unchanging value (permanent response).
    epsilon_first : Decimal or None
        Loss of one report, if there is a second round.
    """

    __slots__ = ()

    name: ClassVar[str]
    decoder: ClassVar[str] = "affine"
    reach: ClassVar[int] = 0
    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None

    @classmethod
    @abstractmethod
    def resolve(cls, k: int, epsilon: Decimal, epsilon_first: Decimal | None) -> Mechanism:
        """Compute the integer thresholds for these parameters."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The responses there are."""

    @property
    @abstractmethod
    def thresholds(self) -> Mapping[str, int]:
        """The integers over 2^64 that every draw compares with, by name."""

    @property
    @abstractmethod
    def first(self) -> tuple[Fraction, Fraction]:
        """(p1, q1): support probabilities of the permanent response."""

    @property
    @abstractmethod
    def second(self) -> tuple[Fraction, Fraction] | None:
        """(p2, q2): probabilities of one report's symbol or bit given the permanent one's."""

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """P(a report supports the true value)."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """P(a report supports a given other value)."""

    @property
    @abstractmethod
    def chains(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Where two values' permanent responses differ in distribution.

        One pair (a, b), a > b, for each independent binary chain: the probability of the state
        that speaks for the first value, under the first value and under the second.
        """

    @property
    @abstractmethod
    def flips(self) -> int:
        """In how many chains two permanent responses can differ at most."""

    @property
    def classes(self) -> int | None:
        """How many memo keys there are; lifetime for changing answers is classes * epsilon."""
        return self.k

    @property
    @abstractmethod
    def fingerprint_bits(self) -> float:
        """Upper bound on the entropy of a permanent response, values uniform, in bits."""

    def symbol(self, value: int) -> int:
        """Return the symbol of an encoded value."""
        return value

    def assign(self, keyed: Draws) -> int:
        """Draw the public setup (row, cohort, subset) of a device; never from its value."""
        return 0

    def memo(self, setup: int, recent: Sequence[int], t: int) -> bytes | None:
        """Return the key under which the permanent response is remembered, or None to be silent.

        ``recent`` holds the symbols of the last ``reach`` + 1 periods, the newest last, and
        ``t`` the period's number.
        """
        return str(recent[-1]).encode()

    @abstractmethod
    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Draw the permanent response; the same draws give the same response."""

    @abstractmethod
    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Draw one report from the permanent response; the permanent itself without a second."""

    @abstractmethod
    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """Return the exact distribution of a response; its size may be 2^k."""

    @abstractmethod
    def supports(self, value: int, response: Response) -> bool:
        """Return whether ``response`` counts for ``value``."""

    def variance(self, frequency: float) -> float:
        """Return n times the variance of an estimated frequency, for a fixed population.

        ``q(1-q)/(p-q)^2 + f(1-p-q)/(p-q)``, where f is the true frequency among the n devices
        that reported. Only the noise varies.

        References
        ----------
        Wang, Blocki, Li, Jha. Locally differentially private protocols for frequency
        estimation. USENIX Security 2017.
        """
        p, q = self.p, self.q
        at_zero, slope = q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q)
        return float(at_zero) + frequency * float(slope)

    def variance_iid(self, frequency: float) -> float:
        """Return n times the variance of an estimated frequency, for sampled users.

        ``gamma(1-gamma)/(p-q)^2`` with gamma = q + f(p-q): the n devices are an independent
        sample of a larger population with frequency f, and sampling adds to the noise.
        """
        p, q = self.p, self.q
        gamma = frequency * float(p) + (1 - frequency) * float(q)
        rest = frequency * float(1 - p) + (1 - frequency) * float(1 - q)
        return gamma * rest / float((p - q) ** 2)

    def worst_variance_iid(self) -> tuple[float, float]:
        """Return the largest :meth:`variance_iid` over all frequencies, and where it is."""
        at = (0.5 - float(self.q)) / float(self.p - self.q)
        frequency = min(1.0, max(0.0, at))
        return self.variance_iid(frequency), frequency


def require_k(k: int) -> None:
    """Refuse a domain no mechanism can serve."""
    if k < 2:
        raise ParameterError(f"k must be at least 2: {k}")


def require_epsilons(epsilon: Decimal, epsilon_first: Decimal | None) -> None:
    """Refuse epsilons that no chain of rounds can realise."""
    for label, value in (("epsilon", epsilon), ("epsilon_first", epsilon_first)):
        if value is None:
            continue
        if not (value.is_finite() and value > 0):
            raise ParameterError(f"{label} must be positive and finite: {value}")
        if value > _EPSILON_HIGHEST:
            raise ParameterError(f"{label} must be at most {_EPSILON_HIGHEST}")
        if not fits(value, _EPSILON_PLACES):
            raise ParameterError(f"{label} must have at most {_EPSILON_PLACES} decimal places")
    if epsilon_first is not None and epsilon_first >= epsilon:
        raise ParameterError(
            f"epsilon_first must be less than epsilon ({epsilon}): {epsilon_first}"
        )


def binary_entropy(probability: float) -> float:
    """Entropy of a coin in bits."""
    if probability in (0.0, 1.0):
        return 0.0
    other = 1 - probability
    return -(probability * math.log2(probability) + other * math.log2(other))
