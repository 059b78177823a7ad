"""Every branch that random draws can take: what a piece of code outputs, and exactly how often.

A mechanism states its output distribution (``Mechanism.law``); this finds out what its code does.
It is what proofs and audits run, and nothing that leaves a device comes from here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import TypeVar

from ..draws import Draws
from ..exact import SCALE

T = TypeVar("T", bound=Hashable)


class Branch:
    """Draws that follow a given path of choices, then always take the first.

    Attributes
    ----------
    taken, options : list of int
        The choice at each draw so far, and among how many it was.
    numerator, denominator : int
        Their quotient is the probability of the path.
    """

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
        return bool(self._choose((SCALE - threshold, threshold)))

    def below(self, n: int) -> int:
        """Branch in n, all alike."""
        return self._choose((1,) * n)


class TooManyBranches(Exception):
    """The tree of choices is larger than was allowed."""


def outcomes(draw: Callable[[Draws], T], limit: int | None = None) -> dict[T, Fraction]:
    """Return the exact distribution of ``draw(draws)``, by walking its whole tree of choices.

    Parameters
    ----------
    draw : callable
        Deterministic but for the draws it is handed.
    limit : int, optional
        How many leaves to visit at most.

    Raises
    ------
    TooManyBranches
        If there are more.
    """
    law: dict[T, Fraction] = {}
    pending: list[tuple[int, ...]] = [()]
    visited = 0
    while pending:
        visited += 1
        if limit is not None and visited > limit:
            raise TooManyBranches
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
