"""The range of a number question: a grid on which every number has one place.

What must never change: which point a number goes to. Numbers outside the range are clipped to
its ends on the device; inside, they go to the nearest point, halves to the upper one. All of it
is rational arithmetic.
"""

from __future__ import annotations

import math
import numbers
import operator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .errors import ParameterError
from .exact import canonical

_MOST_DIGITS = 1000


@dataclass(frozen=True)
class Range:
    """``steps`` equal steps from ``low`` to ``high``, and so ``steps`` + 1 points.

    Attributes
    ----------
    low, high : Decimal
        The ends, low < high; both are points.
    steps : int
        At least 1.
    """

    low: Decimal
    high: Decimal
    steps: int

    @property
    def width(self) -> Fraction:
        """From end to end."""
        return Fraction(self.high) - Fraction(self.low)

    def at(self, place: Fraction) -> Fraction:
        """Return the number at a place of [0, 1]."""
        return Fraction(self.low) + place * self.width

    def nearest(self, name: str, value: object) -> int:
        """Return the number of the nearest point to ``value``, clipped to the range.

        Raises
        ------
        ParameterError
            If it is no finite number. The message never contains the value.
        """
        place = (self._clipped(name, value) - Fraction(self.low)) / self.width * self.steps
        return math.floor(place + Fraction(1, 2))

    def _clipped(self, name: str, value: object) -> Fraction:
        number = _number(value)
        if number is None:
            raise ParameterError(f"{name}: the value must be a number, and finite")
        low, high = Fraction(self.low), Fraction(self.high)
        # Compared in its own type: Fraction(Decimal("1e999999")) would have a million digits.
        if number >= (self.high if isinstance(number, Decimal) else high):
            return high
        if number <= (self.low if isinstance(number, Decimal) else low):
            return low
        return Fraction(number)

    def document(self) -> dict[str, Any]:
        """Return the range as JSON, its ends canonical decimal text."""
        return {"low": canonical(self.low), "high": canonical(self.high), "steps": self.steps}


def _number(value: object) -> int | Decimal | Fraction | None:
    """Return a finite number in a type that compares exactly, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, Decimal):
        return _moderate(value) if value.is_finite() and _is_short(value) else None
    try:
        if isinstance(value, numbers.Integral):
            return operator.index(value)
        return _fraction(value) if isinstance(value, numbers.Real) else None
    except Exception:  # no number after all: nan, inf, a time span, a trap
        return None


def _fraction(value: numbers.Real) -> Fraction:
    """Return a real number exactly, of more digits than a float if its type has them."""
    ratio = getattr(value, "as_integer_ratio", None)
    return Fraction(float(value)) if ratio is None else Fraction(*ratio())


def _is_short(value: Decimal) -> bool:
    """Whether its digits are soon divided; nothing that was measured has more."""
    return len(value.as_tuple().digits) <= _MOST_DIGITS


def _moderate(value: Decimal) -> Decimal | int:
    """Return 0 for what is nearer to 0 than any float, such as 1e-999999."""
    return 0 if value.adjusted() < -400 else value
