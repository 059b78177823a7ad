"""Mechanisms for numbers: each response has a score whose mean is the number.

The domain is a grid: symbol i of 0..k-1 stands for the place i/(k-1) between the lower and the
upper end of a range, so everything here is in units of the range.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

from .base import Asks, Mechanism


class Scale(Mechanism):
    """A mechanism from whose scores the mean place in a range is estimated.

    The mean of ``score`` over the reports is unbiased: E(score | symbol i) = i/(k-1) exactly,
    over all setups.
    """

    __slots__ = ()

    asks: ClassVar[Asks] = "number"

    @abstractmethod
    def score(self, out: int) -> Fraction:
        """Return what a response ``out`` adds to n times the estimated mean."""

    @abstractmethod
    def score_variance(self, at: Fraction) -> Fraction:
        """Return the variance of one report's score about the place ``at`` of [0, 1]."""

    def exact_variance(self, at: Fraction, *, sampled: bool) -> Fraction:
        """Return n times the variance of the mean, as a rational.

        Fixed population: of devices that are all at the place ``at``. Sampled users: of the
        population with that mean that needs most users, all of it at the ends of the range, for
        the variance of a score grows no slower than minus the square of the place.
        """
        if not sampled:
            return self.score_variance(at)
        low, high = self.score_variance(Fraction(0)), self.score_variance(Fraction(1))
        return at * high + (1 - at) * low + at * (1 - at)

    def worst(self, *, sampled: bool) -> Fraction:
        """Return the place with the largest variance; scores are symmetric about the middle."""
        middle, end = Fraction(1, 2), Fraction(0)
        if sampled or self.score_variance(middle) > self.score_variance(end):
            return middle
        return end

    @property
    def leverage(self) -> Fraction:
        """The largest score: scores are symmetric about the middle of the range."""
        outs = (0, self.shape.width - 1)
        return max(max(self.score(out), 1 - self.score(out)) for out in outs)
