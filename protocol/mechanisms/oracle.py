"""Frequency oracles: a report supports some symbols, and that is all an estimate needs.

A device's report says something about a given symbol with probability ``coverage``. If it does,
it supports the symbol with probability ``p`` if that is the true one and ``q`` if it is not; p
and q are of the report as it leaves the device, all rounds included, and averaged over setups.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

from ..response import Response
from .base import Asks, Mechanism


class FrequencyOracle(Mechanism):
    """A mechanism from whose supports the frequency of each symbol is estimated.

    ``f = (C/n - q) / (p - q)`` with C supports among the n reports that cover the symbol.

    References
    ----------
    Wang, Blocki, Li, Jha. Locally differentially private protocols for frequency estimation.
    USENIX Security 2017.
    """

    __slots__ = ()

    asks: ClassVar[Asks] = "choice"
    decoder: ClassVar[str] = "affine"

    @property
    @abstractmethod
    def p(self) -> Fraction:
        """P(a report supports the true value)."""

    @property
    @abstractmethod
    def q(self) -> Fraction:
        """P(a report supports a given other value)."""

    @property
    def joint(self) -> tuple[Fraction, Fraction] | None:
        """P(a report supports both of two values), if one of them is true and if neither is.

        None where it depends on which values they are, and is to be counted in the tally.
        """
        return None

    @property
    def coverage(self) -> Fraction:
        """P(a device's reports say anything about a given value)."""
        return Fraction(1)

    @abstractmethod
    def supports(self, value: int, response: Response) -> bool:
        """Return whether ``response`` counts for ``value``."""

    def covers(self, value: int, response: Response) -> bool:
        """Return whether ``response`` says anything about ``value``."""
        return True

    def exact_variance(self, at: Fraction, *, sampled: bool) -> Fraction:
        """Return n times the variance of an estimated frequency f, as a rational.

        Fixed population ``((1-f) q(1-q) + f p(1-p)) / (p-q)^2``; sampled users
        ``g(1-g) / (p-q)^2`` with g = q + f(p-q). Where a share c < 1 of the devices covers a
        value, which they are varies too: ``.../c + f(1-f)(1-c)/c``, and ``.../c``.
        """
        p, q, share = self.p, self.q, self.coverage
        if sampled:
            g = q + at * (p - q)
            return g * (1 - g) / (p - q) ** 2 / share
        noise = ((1 - at) * q * (1 - q) + at * p * (1 - p)) / (p - q) ** 2
        return noise / share + at * (1 - at) * (1 - share) / share

    def worst(self, *, sampled: bool) -> Fraction:
        """Return the frequency with the largest variance."""
        p, q = self.p, self.q
        slope, bend = (1 - p - q) / (p - q), 1 - self.coverage
        if sampled:
            at = (Fraction(1, 2) - q) / (p - q)
        elif bend:
            at = (slope + bend) / (2 * bend)
        else:
            at = Fraction(slope > 0)
        return min(max(at, Fraction(0)), Fraction(1))

    @property
    def tells(self) -> bool:
        """Whether p > q."""
        return self.p > self.q

    @property
    def leverage(self) -> Fraction:
        """``max(1-q, q) / (p-q)``, over the share of devices that cover the value.

        A lie supports the value, or leaves it out.
        """
        return max(1 - self.q, self.q) / (self.p - self.q) / self.coverage
