"""How many bits an honest response has set: the shortest range that all but 1e-12 of them keep to.

A response whose bits are perturbed one by one has ``S = Bin(a, p) + Bin(w - a, q)`` of them set,
where w is its width and a how many should be set, which may depend on the answer. Someone who
makes reports up is not bound to that: with all bits set, one report speaks for every value. The
range is public and the same for everybody, so keeping to it reveals nothing.

What must never change: nothing is decided by a float. Probabilities are enclosed between
integers over 2^256, and a popcount is left out only if the upper end allows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

RARE = 10**12
"""An honest response falls outside with a probability below 1 / RARE."""

_ONE = 1 << 256


def honest_popcounts(width: int, ones: Iterable[int], p: Fraction, q: Fraction) -> range:
    """Return the shortest range that an honest popcount leaves with less than 1e-12, in all.

    Of several as short, the lowest: a bit too many is worth more to a liar than one too few.

    Parameters
    ----------
    width : int
        Bits w of a response.
    ones : iterable of int
        How many of them may be such as should be set: every a there is. The range holds for each.
    p, q : Fraction
        P(a bit of a report is set), if it should be and if not, all rounds included; below 1.

    Returns
    -------
    range
        Within 0..w, both ends included.

    Examples
    --------
    >>> honest_popcounts(100, [1], Fraction(1, 2), Fraction(1, 4))
    range(0, 59)
    """
    laws = [_Tails.of(width, a, p, q) for a in ones]
    best, high = range(width + 1), 0
    for low in range(width + 1):
        while high < width and not all(law.keeps(low, high) for law in laws):
            high += 1
        if not all(law.keeps(low, high) for law in laws):
            break
        if high - low + 1 < len(best):
            best = range(low, high + 1)
    return best


def weight(popcount: int, width: int, p: Fraction, q: Fraction) -> Fraction:
    """Return ``(S - w q) / (p - q)``: for how many devices one response speaks.

    By so much it raises the sum of all estimated counts; an honest one of one value does by 1 on
    average.
    """
    return (popcount - width * q) / (p - q)


@dataclass(frozen=True, slots=True)
class _Tails:
    """Upper bounds of both tails and a lower bound of the whole, in the same unit.

    ``below[i]`` is of S < i, ``above[i]`` of S > i.
    """

    below: Sequence[int]
    above: Sequence[int]
    whole: int

    @classmethod
    def of(cls, width: int, ones: int, p: Fraction, q: Fraction) -> _Tails:
        least, most = _binomial(width - ones, q)
        for _ in range(ones):
            least, most = _one_more(least, p), _one_more(most, p)
        above = list(accumulate(reversed(most), initial=0))[-2::-1]
        return cls(list(accumulate(most, initial=0)), above, sum(least))

    def keeps(self, low: int, high: int) -> bool:
        """Whether low..high is left with a probability certainly below 1 / RARE."""
        return (self.below[low] + self.above[high]) * RARE < self.whole


def _binomial(n: int, q: Fraction) -> tuple[list[int], list[int]]:
    """Enclose P(S = i) / P(S = mode) for S ~ Bin(n, q), in units of 2^-256."""
    mode = (n + 1) * q.numerator // q.denominator
    least, most = [0] * (n + 1), [0] * (n + 1)
    least[mode] = most[mode] = _ONE
    set_, unset = q.numerator, q.denominator - q.numerator
    for i in range(mode, n):
        up, down = (n - i) * set_, (i + 1) * unset
        least[i + 1] = least[i] * up // down
        most[i + 1] = -(-most[i] * up // down)
    for i in range(mode, 0, -1):
        up, down = i * unset, (n - i + 1) * set_
        least[i - 1] = least[i] * up // down
        most[i - 1] = -(-most[i] * up // down)
    return least, most


def _one_more(masses: Sequence[int], p: Fraction) -> list[int]:
    """Add an independent bit that is set with p; masses are then in units p.denominator finer."""
    set_, unset = p.numerator, p.denominator - p.numerator
    return [low * unset + up * set_ for low, up in zip([*masses, 0], [0, *masses], strict=True)]
