"""Independent bits: their chances read from the draws that decide them, and what they tell.

A code that draws w bits has 2^w branches. If every draw decides one bit, and what is asked of a
draw depends on no other, w numbers say all of it. :func:`read_bits` finds out whether that is so,
by running the code with answers that are chosen; :class:`BitLaws` compares laws of such bits.
What must never change: no answer of a draw is taken on trust, and a code of another form is
refused, never squeezed into this one.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import compress
from operator import ne

from ..draws import Draws
from ..exact import SCALE
from ..response import Response

_FLIPS = 64
_PATTERNS = 16
_PAIRS = 40
_TRIED_AT_ONCE = 1024


class NotIndependent(Exception):
    """The draws do not decide one bit each; says what was seen."""


class Script:
    """Draws whose answers are written down, noting what was asked.

    Parameters
    ----------
    coins : int
        Bit i is the answer to the i-th chance.
    spread : bool
        Whether to answer ``below`` too, with numbers all over its range.

    Attributes
    ----------
    asked, below_asked : list of int
        The thresholds, and the bounds.
    """

    def __init__(self, coins: int, *, spread: bool = False) -> None:
        self.asked: list[int] = []
        self.below_asked: list[int] = []
        self._coins = coins
        self._spread = spread

    def chance(self, threshold: int) -> bool:
        """Answer as it is written."""
        at = len(self.asked)
        self.asked.append(threshold)
        return bool(self._coins >> at & 1)

    def below(self, n: int) -> int:
        """Answer with one number of many."""
        if not self._spread:
            raise NotIndependent("a bit is drawn from more than two possibilities")
        self.below_asked.append(n)
        return (self._coins * 0x9E3779B97F4A7C15 + len(self.below_asked) * 0x2545F491) % n


def patterns(width: int, count: int) -> Iterator[int]:
    """Yield ``count`` masks of ``width`` bits without any regularity, the same every time."""
    for number in range(count):
        digest = hashlib.shake_256(f"{width} {number}".encode()).digest(-(-width // 8))
        yield int.from_bytes(digest, "big") % (1 << width)


def read_bits(draw: Callable[[Draws], Response], width: int, *, thorough: bool) -> list[int]:
    """Return the chances over 2^64 that each bit of ``draw(draws)`` is set.

    Which draw decides a bit is found from answers that spell the draw's number in binary; then
    every draw alone, or 64 of them if there are more than that many hundred, and answers without
    any regularity must do what follows from that.

    Parameters
    ----------
    draw : callable
        Deterministic but for the draws.
    width : int
    thorough : bool
        If not, what is asked is read, and if there are ``width`` draws, the i-th is taken to
        decide bit i; of up to 1024 that is tried with irregular answers, and their opposite.

    Raises
    ------
    NotIndependent
        If a draw decides two bits, a bit depends on two draws, or a question on an answer.
    """
    script = Script(0)
    at_rest = draw(script).out
    asked = script.asked
    if not thorough and len(asked) == width and at_rest == 0:
        (coins,) = patterns(width, 1)
        tried = (coins, coins ^ (1 << width) - 1) if width <= _TRIED_AT_ONCE else ()
        if all(_answer(draw, coins, asked) == coins for coins in tried):
            return asked
    decides = _deciders(draw, asked, at_rest, width)
    for coins in _trials(len(asked)):
        expected = at_rest
        for bit, by in enumerate(decides):
            if by is not None and coins >> by & 1:
                expected ^= 1 << bit
        if _answer(draw, coins, asked) != expected:
            raise NotIndependent("a bit depends on two draws")
    return [_chance(by, at_rest >> bit & 1, asked) for bit, by in enumerate(decides)]


def _answer(draw: Callable[[Draws], Response], coins: int, asked: Sequence[int]) -> int:
    script = Script(coins)
    out = draw(script).out
    if script.asked != asked:
        raise NotIndependent("what is asked depends on an earlier draw")
    return out


def _deciders(
    draw: Callable[[Draws], Response], asked: Sequence[int], at_rest: int, width: int
) -> list[int | None]:
    """Return the number of the draw that turns each bit over; None where none does."""
    count = len(asked)
    moved = at_rest ^ _answer(draw, (1 << count) - 1, asked)
    numbers = [0] * width
    for place in range(count.bit_length()):
        coins = sum(1 << number for number in range(count) if number >> place & 1)
        turned = at_rest ^ _answer(draw, coins, asked)
        for bit in range(width):
            numbers[bit] |= (turned >> bit & 1) << place
    decides = [number if moved >> bit & 1 else None for bit, number in enumerate(numbers)]
    most = Counter(by for by in decides if by is not None).most_common(1)
    if most and (most[0][1] > 1 or max(by for by in decides if by is not None) >= count):
        raise NotIndependent("one draw decides two bits")
    return decides


def _trials(count: int) -> Iterator[int]:
    step = max(1, count // _FLIPS) if count > 4 * _FLIPS else 1
    yield from (1 << number for number in range(0, count, step))
    yield from patterns(count, _PATTERNS)


def _chance(by: int | None, at_rest: int, asked: Sequence[int]) -> int:
    if by is None:
        return SCALE * at_rest
    return SCALE - asked[by] if at_rest else asked[by]


class BitLaws:
    """Laws of independent bits, kept as what differs from the first few of them.

    Parameters
    ----------
    unit : int
        A chance c means the probability c / unit.
    """

    def __init__(self, unit: int) -> None:
        self._unit = unit
        self._usual: list[int] = []
        self._early: list[Sequence[int]] = []
        self._unusual: list[dict[int, int]] = []

    def add(self, chances: Sequence[int]) -> None:
        """Add the law of another value."""
        if len(self._early) < 3:
            self._early.append(chances)
            self._usual = [
                Counter(each).most_common(1)[0][0] for each in zip(*self._early, strict=True)
            ]
            self._unusual = [self._differing(law) for law in self._early]
        else:
            self._unusual.append(self._differing(chances))

    def _differing(self, chances: Sequence[int]) -> dict[int, int]:
        bits = compress(range(len(chances)), map(ne, chances, self._usual))
        return {bit: chances[bit] for bit in bits}

    def through(self, ones: Sequence[int], zeros: Sequence[int]) -> BitLaws:
        """Return the laws after a second round.

        Parameters
        ----------
        ones, zeros : sequence of int
            The chances over the same unit that a bit is set again if it was set, and if not.
        """

        def again(bit: int, chance: int) -> int:
            return chance * ones[bit] + (self._unit - chance) * zeros[bit]

        blurred = BitLaws(self._unit**2)
        blurred._usual = [again(bit, chance) for bit, chance in enumerate(self._usual)]
        blurred._unusual = [
            {bit: again(bit, chance) for bit, chance in law.items()} for law in self._unusual
        ]
        return blurred

    def largest_ratio(self) -> tuple[Fraction | None, bool]:
        """Return the largest ratio of one output's probabilities under two laws.

        Few laws are all compared. Of many, those whose unusual bits have the same chances are
        taken together: the ratio of two is at most the one's to the usual law times the usual
        law's to the other, and exactly that where their unusual bits are apart.

        Returns
        -------
        (Fraction or None, bool)
            None if there is no bound; whether it is attained, or only an upper bound.
        """
        if len(self._unusual) <= _PAIRS:
            ratios = [self._ratio(a, b) for a in self._unusual for b in self._unusual]
            known = [ratio for ratio in ratios if ratio is not None]
            return (max(known), True) if len(known) == len(ratios) else (None, True)
        return self._by_kinds()

    def _by_kinds(self) -> tuple[Fraction | None, bool]:
        kinds: defaultdict[tuple[tuple[int, int], ...], list[dict[int, int]]] = defaultdict(list)
        for law in self._unusual:
            kinds[tuple(sorted((c, self._usual[bit]) for bit, c in law.items()))].append(law)
        most, attained = Fraction(1), True
        for one in kinds.values():
            for other in kinds.values():
                up, down = self._ratio(one[0], {}), self._ratio({}, other[0])
                if up is None or down is None:
                    return None, True
                surpasses = up * down > most or (up * down == most and not attained)
                if surpasses and (one is not other or len(one) > 1):
                    most, attained = up * down, _apart(one, other)
        return most, attained

    def _ratio(self, one: dict[int, int], other: dict[int, int]) -> Fraction | None:
        """Return the largest ratio of the one law to the other."""
        numerator = denominator = 1
        for bit in one.keys() | other.keys():
            a, b = (law.get(bit, self._usual[bit]) for law in (one, other))
            if a == b:
                continue
            over, under = (a, b) if a > b else (self._unit - a, self._unit - b)
            numerator *= over
            denominator *= under
        return Fraction(numerator, denominator) if denominator else None


def _apart(ones: Sequence[dict[int, int]], others: Sequence[dict[int, int]]) -> bool:
    """Whether two of these laws have no unusual bit in common."""
    return any(one.keys().isdisjoint(other.keys()) for one in ones[:_FLIPS] for other in others)
