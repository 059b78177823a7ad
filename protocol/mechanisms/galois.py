"""Finite fields, with their elements numbered: the arithmetic behind hash rows.

GF(g) exists for each prime power g = p^e. Element x in 0..g-1 is the polynomial over GF(p) whose
coefficients are the base-p digits of x, constant term first; products are taken modulo the first
monic irreducible polynomial of degree e, in the order of the numbers that spell them.

What must never change: that numbering and that polynomial. Hash rows are built on both, so a
device or an analyst with another one would read every report in the wrong bucket.

References
----------
Lidl, Niederreiter. Finite fields. 2nd edition, 1997.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import count, product
from typing import Any, TypeVar

from ..errors import ParameterError

E = TypeVar("E", bound=Any)
"""An element, or an integer array of elements that is worked on item by item."""


@dataclass(frozen=True, slots=True)
class Field:
    """GF(characteristic^degree).

    Attributes
    ----------
    characteristic : int
        A prime p.
    degree : int
        e; elements have e digits in base p.
    modulus : tuple of int
        Coefficients of the polynomial that products are reduced by, constant term first and the
        leading 1 left out.
    """

    characteristic: int
    degree: int
    modulus: tuple[int, ...]

    @property
    def order(self) -> int:
        """How many elements there are."""
        return int(self.characteristic**self.degree)

    def add(self, x: E, y: E) -> E:
        """Return x + y: digits are added without carry."""
        pairs = zip(self._digits(x), self._digits(y), strict=True)
        total: E = self._element([a + b for a, b in pairs])
        return total

    def multiply(self, x: E, y: E) -> E:
        """Return x y."""
        return self.dot((x,), (y,))

    def dot(self, xs: Iterable[E], ys: Iterable[E]) -> E:
        """Return the sum of x y: of products of polynomials, less multiples of the modulus."""
        places = range(self.degree)
        total: list[Any] = [0] * (2 * self.degree - 1)
        for x, y in zip(xs, ys, strict=True):
            left, right = self._digits(x), self._digits(y)
            for i, j in product(places, places):
                total[i + j] = total[i + j] + left[i] * right[j]
        while len(total) > self.degree:
            lead = total.pop() % self.characteristic
            for i, coefficient in enumerate(self.modulus, start=len(total) - self.degree):
                total[i] = total[i] - lead * coefficient
        reduced: E = self._element(total)
        return reduced

    def _digits(self, x: E) -> list[E]:
        if self.degree == 1:
            return [x]
        return [x // self.characteristic**i % self.characteristic for i in range(self.degree)]

    def _element(self, coefficients: list[Any]) -> Any:
        p = self.characteristic
        return sum(c % p * p**i for i, c in enumerate(coefficients))


@cache
def field(order: int) -> Field:
    """Return the field of ``order`` elements.

    Raises
    ------
    ParameterError
        If there is none: the order of a field is a prime power.
    """
    power = prime_power(order)
    if power is None:
        raise ParameterError(f"the order of a field must be a prime power: {order}")
    p, e = power
    return Field(p, e, _first_irreducible(p, e))


def prime_power(n: int) -> tuple[int, int] | None:
    """Return (p, e) with n = p^e and p prime, or None if n is no prime power.

    >>> prime_power(64), prime_power(7), prime_power(6)
    ((2, 6), (7, 1), None)
    """
    if n < 2:
        return None
    p = next((d for d in range(2, math.isqrt(n) + 1) if n % d == 0), n)
    e = 0
    while n % p == 0:
        n //= p
        e += 1
    return (p, e) if n == 1 else None


def _first_irreducible(p: int, e: int) -> tuple[int, ...]:
    """Return the first monic polynomial of degree e over GF(p) that no smaller one divides."""
    divisors = [_monic(p, d, low) for d in range(1, e // 2 + 1) for low in range(p**d)]
    return next(
        candidate[:-1]
        for candidate in (_monic(p, e, low) for low in count())
        if all(any(_remainder(candidate, divisor, p)) for divisor in divisors)
    )


def _monic(p: int, degree: int, low: int) -> tuple[int, ...]:
    """Return x^degree plus the polynomial that ``low`` spells in base p, constant term first."""
    return (*(low // p**i % p for i in range(degree)), 1)


def _remainder(dividend: tuple[int, ...], divisor: tuple[int, ...], p: int) -> list[int]:
    """Return what a monic divisor leaves of the dividend."""
    rest = list(dividend)
    while len(rest) >= len(divisor):
        lead = rest.pop()
        for i, coefficient in enumerate(divisor[:-1], start=len(rest) - len(divisor) + 1):
            rest[i] = (rest[i] - lead * coefficient) % p
    return rest
