"""Exact enumeration: e^x between two rationals, and every branch that random draws can take.

Shares nothing with the package's own arithmetic, so a proof does not rest on what it proves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import cache
from typing import TypeVar

from deniable.protocol.draws import Draws

WORDS = 1 << 64

T = TypeVar("T", bound=Hashable)


@cache
def exp_between(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return low <= e^x <= high, 1e-80 apart in proportion, for x >= 0.

    From the n-th term on, n >= 2x, each term of the exponential series is at most half the one
    before, so all the rest together is at most the last term added.
    """
    term = total = Fraction(1)
    n = 0
    while n < 2 * exponent or term * 10**80 > total:
        n += 1
        term = term * exponent / n
        total += term
    return total, total + term


class Branch:
    """Draws that follow a given path of choices, then always take the first."""

    def __init__(self, path: tuple[int, ...]) -> None:
        self.taken: list[int] = []
        self.options: list[int] = []
        self.numerator = 1
        self.denominator = 1
        self._path = path

    def _choose(self, weights: tuple[int, ...]) -> int:
        depth = len(self.taken)
        choice = self._path[depth] if depth < len(self._path) else 0
        self.taken.append(choice)
        self.options.append(len(weights))
        self.numerator *= weights[choice]
        self.denominator *= sum(weights)
        return choice

    def chance(self, threshold: int) -> bool:
        """Branch in two, threshold / 2^64 for True."""
        return bool(self._choose((WORDS - threshold, threshold)))

    def below(self, n: int) -> int:
        """Branch in n, all alike."""
        return self._choose((1,) * n)


def outcomes(draw: Callable[[Draws], T]) -> dict[T, Fraction]:
    """Return the exact distribution of ``draw(draws)``, by walking its whole tree of choices."""
    law: dict[T, Fraction] = {}
    pending: list[tuple[int, ...]] = [()]
    while pending:
        path = pending.pop()
        branch = Branch(path)
        result = draw(branch)
        if branch.numerator:
            mass = Fraction(branch.numerator, branch.denominator)
            law[result] = law.get(result, Fraction(0)) + mass
        for depth in range(len(path), len(branch.taken)):
            stem = tuple(branch.taken[:depth])
            pending.extend((*stem, choice) for choice in range(1, branch.options[depth]))
    return law
