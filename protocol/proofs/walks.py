"""What the ways to find a leakage share: memo keys, an allowance of branches, and the ratio.

The ways themselves are :mod:`.leakage`'s. What must never change: a ratio without a bound is
None, and never a large number.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from ..mechanisms.base import Law, Mechanism
from ..response import Response
from .branches import Branch, TooManyBranches, outcomes
from .values import values_of

T = TypeVar("T")

Ratio = Fraction | None
"""None if there is no bound: an output that one value gives and another never does."""


@dataclass(frozen=True, slots=True)
class Leakage:
    """The largest ratios of probabilities, exact.

    Attributes
    ----------
    permanent, report : Fraction or None
        Of the permanent response, and of one report; None where no bound was found.
    by : str
        How they were found, or why not.
    """

    permanent: Ratio
    report: Ratio
    by: str


class Unclear(Exception):
    """The code is not of a form whose law can be read; says why."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The memo keys that values have in some setups, and in how many of all.

    Attributes
    ----------
    by_setup : mapping of int to tuple of bytes
    setups : int
        How many there are.
    left_out : str
        Which values were not tried, in words; empty if all were.
    """

    by_setup: Mapping[int, tuple[bytes, ...]]
    setups: int
    left_out: str = ""

    @property
    def complete(self) -> bool:
        """Whether all setups and values are here."""
        return len(self.by_setup) == self.setups and not self.left_out

    @property
    def words(self) -> str:
        """Say how many setups there are, unless they are all here, and what was left out."""
        seen = len(self.by_setup)
        some = "" if seen == self.setups else f", in {seen} of {self.setups} setups"
        return some + self.left_out


def keys_of(mechanism: Mechanism, setups: Iterable[int], count: int) -> Keys:
    """Return the memo keys of every value.

    Raises
    ------
    Unclear
        If some value is answered with silence, which tells something too.
    """

    def key(setup: int, value: int) -> bytes:
        found = mechanism.memo(setup, mechanism.symbol(value))
        if found is None:
            raise Unclear("the device is silent about some value")
        return found

    every, there_are = values_of(mechanism)
    found = {s: tuple(dict.fromkeys(key(s, value) for value in every)) for s in setups}
    left_out = "" if len(every) == there_are else f", for {len(every)} of all sets"
    return Keys(found, count, left_out)


@dataclass
class Allowance:
    """How many branches may still be visited."""

    leaves: int

    def walk(self, draw: Callable[..., Response]) -> Law:
        """Return the law of what is drawn.

        Raises
        ------
        TooManyBranches
            Before they are visited, if the first branch meets as many choices.
        """
        visited = 0
        first = Branch(())
        draw(first)
        if math.prod(first.options) > self.leaves:
            raise TooManyBranches

        def counted(draws: object) -> Response:
            nonlocal visited
            visited += 1
            return draw(draws)

        law = outcomes(counted, self.leaves)
        self.leaves -= visited
        return law


def composed(laws: Sequence[Law], again: Mapping[Response, Law]) -> list[Law]:
    """Return for each law of a permanent response that of a report built on it.

    Summed in whole numbers over one denominator: fractions would be reduced at every step.
    """
    one, two = _denominator(laws), _denominator(again.values())
    chances = {s: _numerators(law, two) for s, law in again.items()}
    found = []
    for law in laws:
        sums: Counter[Response] = Counter()
        for permanent, mass in _numerators(law, one).items():
            for response, chance in chances[permanent].items():
                sums[response] += mass * chance
        found.append({response: Fraction(total, one * two) for response, total in sums.items()})
    return found


def _denominator(laws: Iterable[Law]) -> int:
    """Return what all probabilities are multiples of one part of."""
    return math.lcm(*(mass.denominator for law in laws for mass in law.values()))


def _numerators(law: Law, whole: int) -> dict[Response, int]:
    return {y: mass.numerator * (whole // mass.denominator) for y, mass in law.items()}


def largest_ratio(laws: Sequence[Mapping[T, Fraction]]) -> Ratio:
    """Return the largest ratio of one output's probabilities under two laws."""
    outputs = {output for law in laws for output in law}
    most = Fraction(1)
    for output in outputs:
        masses = [law.get(output, Fraction(0)) for law in laws]
        if min(masses) == 0:
            return None
        most = max(most, max(masses) / min(masses))
    return most


def most_of(ratios: Iterable[Ratio]) -> Ratio:
    """Return the largest, None if any has no bound."""
    known = []
    for ratio in ratios:
        if ratio is None:
            return None
        known.append(ratio)
    return max(known)


def spread(items: Sequence[T], most: int) -> list[T]:
    """Return so many items at most, evenly spaced, both ends included."""
    if len(items) <= most:
        return list(items)
    if most == 1:
        return [items[-1]]
    return [items[at * (len(items) - 1) // (most - 1)] for at in range(most)]
