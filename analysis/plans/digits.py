"""Decimals of a few significant digits, on the safe side of an exact number, and searches on them.

What is proposed is to be pasted into a survey, so it has :data:`DIGITS` significant digits; what
must never change: a number proposed has itself been tested, not a neighbour of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from deniable.protocol.exact import canonical

DIGITS = 4


@dataclass(frozen=True, slots=True)
class Grid:
    """The positive decimals of so many significant digits, numbered in their order.

    Attributes
    ----------
    digits : int
    """

    digits: int = DIGITS

    @property
    def _first(self) -> int:
        return int(10 ** (self.digits - 1))

    @property
    def _decade(self) -> int:
        """How many of them there are between two powers of ten."""
        return 9 * self._first

    def below(self, number: Fraction) -> int:
        """Return the index of the largest one that is at most a number."""
        decade = len(str(number.numerator)) - len(str(number.denominator)) - self.digits
        while number < self._first * Fraction(10) ** decade:
            decade -= 1
        while number >= 10 * self._first * Fraction(10) ** decade:
            decade += 1
        return decade * self._decade + math.floor(number / Fraction(10) ** decade) - self._first

    def above(self, number: Fraction) -> int:
        """Return the index of the least one that is at least a number."""
        index = self.below(number)
        return index if Fraction(self[index]) == number else index + 1

    def __getitem__(self, index: int) -> Decimal:
        decade, ahead = divmod(index, self._decade)
        digits = tuple(int(digit) for digit in str(self._first + ahead))
        return Decimal(canonical(Decimal((0, digits, decade))))

    def largest(
        self, holds: Callable[[Decimal], bool], low: Decimal, high: Decimal
    ) -> Decimal | None:
        """Return the largest one in low..high for which ``holds``, true up to some point.

        None if it does not hold for ``low``.
        """
        first, last = self.above(Fraction(low)), self.below(Fraction(high))
        if not holds(self[first]):
            return None
        while first < last:
            middle = (first + last + 1) // 2
            first, last = (middle, last) if holds(self[middle]) else (first, middle - 1)
        return self[first]

    def least(
        self, holds: Callable[[Decimal], bool], low: Decimal, high: Decimal
    ) -> Decimal | None:
        """Return the least one in low..high for which ``holds``, true from some point on.

        None if it does not hold for ``high``.
        """
        first, last = self.above(Fraction(low)), self.below(Fraction(high))
        if not holds(self[last]):
            return None
        while first < last:
            middle = (first + last) // 2
            first, last = (first, middle) if holds(self[middle]) else (middle + 1, last)
        return self[last]

    def crossing(
        self, function: Callable[[Decimal], float], limit: Decimal, low: Decimal, high: Decimal
    ) -> Decimal | None:
        """Return the largest one in low..high at which an increasing function is within a limit.

        By false position (Illinois), for functions that take long. None if there is none.
        """
        first, last = self.above(Fraction(low)), self.below(Fraction(high))

        def excess(index: int) -> float:
            return float(Fraction(function(self[index])) - Fraction(limit))

        below, above = excess(first), excess(last)
        if below > 0:
            return None
        if above <= 0:
            return self[last]
        side = 0
        while last - first > 1:
            guess = first + round(-below / (above - below) * (last - first))
            guess = min(max(guess, first + 1), last - 1)
            found = excess(guess)
            if found <= 0:
                first, below, above, side = guess, found, above / (2 if side < 0 else 1), -1
            else:
                last, above, below, side = guess, found, below / (2 if side > 0 else 1), 1
        return self[first]


GRID = Grid()


def rounded_down(number: Fraction) -> Decimal:
    """Return the largest decimal of four significant digits that is at most a positive number.

    >>> rounded_down(Fraction(2, 3))
    Decimal('0.6666')
    """
    return GRID[GRID.below(number)]


def rounded_up(number: Fraction) -> Decimal:
    """Return the least decimal of four significant digits that is at least a positive number."""
    return GRID[GRID.above(number)]


def root_rounded_up(square: Fraction) -> Decimal:
    """Return the least decimal of four significant digits whose square is at least a number.

    >>> root_rounded_up(Fraction(2))
    Decimal('1.415')
    """
    if not square:
        return Decimal(0)
    places = 2 * DIGITS + max(0, len(str(square.denominator)) - len(str(square.numerator)))
    scaled = math.ceil(square * 10 ** (2 * places))
    return rounded_up(Fraction(math.isqrt(scaled - 1) + 1, 10**places))
