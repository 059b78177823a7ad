"""The interface of every mechanism: how a value becomes a response, and what that reveals.

A mechanism is frozen, pure and exact. It is handed its random draws; it never makes any. Its
probabilities are defined once, as integer thresholds over 2^64, and device, estimator, variance
and proof all derive from those. :class:`~.oracle.FrequencyOracle` and :class:`~.scale.Scale` add
what is estimated from the responses: the frequencies of symbols, or the mean of a number.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import ClassVar, Literal

from ..draws import Draws
from ..errors import ParameterError
from ..exact import fits
from ..response import Response, Shape

Law = dict[Response, Fraction]
"""An exact output distribution."""

Rounds = Literal[1, 2]
"""1 for the permanent response alone, 2 for the instantaneous response built on it."""

Asks = Literal["choice", "number", "set", "text", "trajectory", "counter"]
"""What is answered: one of several values (a yes/no included), a number, several values at once, or
text; or, with one epsilon for all periods together, a yes/no that changes or a number that rises.
"""

Options = Mapping[str, int]

NO_OPTIONS: Options = MappingProxyType({})

_EPSILON_HIGHEST = 44
"""Beyond 64 ln 2 = 44.4 a coin's rarer side would need less than one part in 2^64."""

_EPSILON_PLACES = 55
"""So that sums and halves of epsilons are exact in 60 digits."""


class Mechanism(ABC):
    """A randomizer over symbols 0..k-1, with an optional second round of noise.

    Attributes
    ----------
    name : str
        As written in a survey.
    asks : str
        Which questions it serves, one of :data:`Asks`.
    decoder : str
        Which decoder of the analysis reads its tallies.
    two_rounds : bool
        Whether it takes ``epsilon_first``.
    automatic : bool
        Whether ``mechanism = "auto"`` may choose it: its variance is exact.
    options : mapping of str to range
        Whole numbers it depends on, each an attribute of the same name, and their bounds.
    given : frozenset of str
        Those of the options that the question itself decides; the others its author may set.
    k : int
        Domain size.
    epsilon : Decimal
        Loss of everything that reports reveal about one unchanging value (permanent response).
    epsilon_first : Decimal or None
        Loss of one report, if there is a second round.
    """

    __slots__ = ()

    name: ClassVar[str]
    asks: ClassVar[Asks]
    decoder: ClassVar[str]
    two_rounds: ClassVar[bool]
    automatic: ClassVar[bool] = True
    options: ClassVar[Mapping[str, range]] = MappingProxyType({})
    given: ClassVar[frozenset[str]] = frozenset()
    k: int
    epsilon: Decimal
    epsilon_first: Decimal | None

    @classmethod
    @abstractmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> Mechanism:
        """Compute the integer thresholds for these parameters.

        ``options`` holds only names and values that the class allows; what it leaves out, the
        mechanism chooses.
        """

    @classmethod
    def settings(cls, k: int) -> Iterable[Options]:
        """Return options worth trying where the mechanism's own choice shows too much."""
        return ()

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The responses there are."""

    @property
    def popcounts(self) -> range | None:
        """How many bits an honest response has set, but for less than one in 10^12 of them.

        None if a response is a symbol, or always has as many bits set. No part of a question's
        hash: what is done with a report that has left the device reveals nothing more.
        """
        return None

    @property
    def mean_popcount(self) -> Fraction | None:
        """How many bits an honest response has set on average, over setups, whatever its value.

        None where :attr:`popcounts` is.
        """
        return None

    @property
    @abstractmethod
    def thresholds(self) -> Mapping[str, int]:
        """The integers over 2^64 that every draw compares with, by name."""

    @property
    def chosen(self) -> Options:
        """The options in force, asked for or chosen."""
        return {name: getattr(self, name) for name in self.options}

    def described(self) -> str:
        """Return the name, with the options in force if there are any: ``olh (g = 4)``."""
        return described(self.name, self.chosen)

    @property
    def second(self) -> tuple[Fraction, Fraction] | None:
        """(p2, q2): probabilities of one report's symbol or bit given the permanent one's."""
        return None

    @property
    def chains(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Where two values' permanent responses differ in distribution.

        One pair (a, b), a > b, for each independent binary chain: the probability of the state
        that speaks for the first value, under the first value and under the second. Of two
        values that differ in most of them; only mechanisms of two rounds need to say.
        """
        return ()

    @property
    def flips(self) -> int:
        """In how many chains two permanent responses can differ at most."""
        return 0

    @property
    def losses(self) -> tuple[Fraction, Fraction] | None:
        """(a, b) if a permanent response moves the odds of two values by E, 1 or 1/E only.

        With the probability a, under the first value, by E, and with b by 1/E, in the setup that
        tells most, for a device keeps its setup; None if other odds occur.
        """
        return None

    @property
    def classes(self) -> int | None:
        """How many memo keys a device has, and so permanent responses: at most so many epsilons.

        That bounds what all reports reveal to those who already know when the memo key changes
        and when an old one returns; such changes show.
        """
        return self.k

    @property
    def merges(self) -> bool:
        """Whether answers can share a memo key.

        If so, whether a report changes tells the answers apart, even to those who know when the
        answer changed.
        """
        return False

    @property
    @abstractmethod
    def fingerprint_bits(self) -> float:
        """Upper bound on the entropy of a device's setup and permanent response, in bits.

        Values are uniform.
        """

    def symbol(self, value: int) -> int:
        """Return the symbol of an encoded value."""
        return value

    def assign(self, keyed: Draws) -> int:
        """Draw the setup (hash row, cohort, subset) of a device; never from its value."""
        return 0

    def memo(self, setup: int, symbol: int) -> bytes | None:
        """Return the key under which the permanent response is remembered, or None to be silent."""
        return str(symbol).encode()

    def stream(self, memo: bytes) -> bytes:
        """Return what the keyed draws of a permanent response are for: the memo key.

        Or what several memo keys have in common whose responses share their draws.
        """
        return memo

    @abstractmethod
    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        """Draw the permanent response; the same draws give the same response."""

    def instant(self, permanent: Response, fresh: Draws) -> Response:
        """Draw one report from the permanent response; the permanent itself without a second."""
        return permanent

    @abstractmethod
    def law(self, setup: int, memo: bytes, rounds: Rounds) -> Law:
        """Return the exact distribution of a response; its size may be 2^k."""

    @abstractmethod
    def exact_variance(self, at: Fraction, *, sampled: bool) -> Fraction:
        """Return n times the variance of what is estimated, as a rational.

        Parameters
        ----------
        at : Fraction
            In [0, 1]: the true frequency, or the place of a number in its range.
        sampled : bool
            Whether the n devices are an independent sample of a larger population, so that
            sampling adds to the noise.
        """

    @abstractmethod
    def worst(self, *, sampled: bool) -> Fraction:
        """Return where in [0, 1] :meth:`exact_variance` is largest."""

    @property
    @abstractmethod
    def tells(self) -> bool:
        """Whether reports tell anything; rounding may leave nothing of a minute epsilon."""

    @property
    @abstractmethod
    def leverage(self) -> Fraction:
        """By how much n times an estimate can be moved by one report that lies."""

    def variance(self, at: float) -> float:
        """Return n times the variance for a fixed population: only the noise varies."""
        return float(self.exact_variance(Fraction(at), sampled=False))

    def variance_iid(self, at: float) -> float:
        """Return n times the variance for independently sampled users."""
        return float(self.exact_variance(Fraction(at), sampled=True))

    def worst_variance_iid(self) -> tuple[float, float]:
        """Return the largest :meth:`variance_iid`, and where it is."""
        at = self.worst(sampled=True)
        return float(self.exact_variance(at, sampled=True)), float(at)


def described(name: str, options: Options) -> str:
    """Name a mechanism with its options: ``olh (g = 4)``."""
    chosen = ", ".join(f"{option} = {value}" for option, value in options.items())
    return f"{name} ({chosen})" if chosen else name


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
