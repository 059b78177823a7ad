"""Small crowds, every multiset of reports enumerated: no data set exceeds the upper bound.

The probability of a multiset is computed for every data set from the mechanism's own exact law,
averaged over its setups.
"""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal
from functools import cache
from itertools import combinations_with_replacement, permutations

import pytest

from deniable.analysis.shuffling.bounds import shuffle_bounds
from deniable.analysis.shuffling.classes import blankets, coins, third_value
from deniable.analysis.shuffling.curves import above, below, of_coin
from deniable.protocol.mechanisms import Mechanism, build

Multisets = dict[tuple[int, ...], float]
EPSILONS = (0.0, 0.1, 0.4, 0.9, 1.4)


@cache
def laws(mechanism: Mechanism) -> tuple[tuple[float, ...], ...]:
    """P(output | value), a row for each value; outputs of all setups in one order."""
    rounds = 1 if mechanism.epsilon_first is None else 2
    rows = range(mechanism.shape.rows)
    each = []
    for value in range(mechanism.k):
        law: dict[tuple[int, int], float] = {}
        for setup in rows:
            memo = mechanism.memo(setup, value)
            assert memo is not None
            for response, mass in mechanism.law(setup, memo, rounds).items():  # type: ignore[arg-type]
                law[response.row, response.out] = float(mass) / len(rows)
        each.append(law)
    outputs = sorted({output for law in each for output in law})
    return tuple(tuple(law.get(output, 0.0) for output in outputs) for law in each)


def multisets(mechanism: Mechanism, values: tuple[int, ...]) -> Multisets:
    """The distribution of the shuffled reports of these values."""
    found: Multisets = {(0,) * len(laws(mechanism)[0]): 1.0}
    for value in values:
        more: Multisets = defaultdict(float)
        for counts, chance in found.items():
            for output, mass in enumerate(laws(mechanism)[value]):
                if mass:
                    more[(*counts[:output], counts[output] + 1, *counts[output + 1 :])] += (
                        chance * mass
                    )
        found = more
    return found


def delta(one: Multisets, other: Multisets, epsilon: float) -> float:
    e = math.exp(epsilon)
    return sum(max(0.0, chance - e * other.get(key, 0.0)) for key, chance in one.items())


def worst(mechanism: Mechanism, others: tuple[int, ...], epsilon: float) -> float:
    """The largest delta over all pairs of answers of one device, given what the others hold."""
    each = [multisets(mechanism, (*others, value)) for value in range(mechanism.k)]
    return max(delta(one, other, epsilon) for one, other in permutations(each, 2))


CASES = [
    ("grr", 2, None, {}, 7),
    ("grr", 3, None, {}, 5),
    ("grr", 4, None, {}, 4),
    ("grr", 3, "0.7", {}, 4),
    ("oue", 2, None, {}, 5),
    ("oue", 3, None, {}, 3),
    ("sue", 2, "0.7", {}, 4),
    ("sue", 3, None, {}, 3),
    ("olh", 2, None, {"g": 2}, 5),
    ("olh", 3, None, {"g": 2}, 4),
    ("olh", 4, None, {"g": 2}, 3),
    ("olh", 4, None, {"g": 3}, 3),
    ("ss", 4, None, {}, 3),
    ("ss", 4, None, {"weight": 2}, 3),
    ("hr", 3, None, {}, 4),
    ("hr", 4, None, {}, 3),
    ("1bitmean", 2, None, {}, 6),
    ("dbitflip", 3, None, {"bits": 3}, 3),
]


@pytest.mark.parametrize(("name", "k", "first", "options", "n"), CASES)
def test_no_data_set_exceeds_the_upper_bounds_and_one_reaches_the_lower(
    name: str, k: int, first: str | None, options: dict[str, int], n: int
) -> None:
    mechanism = build(name, k, Decimal("1.5"), first and Decimal(first), options)
    sets = list(combinations_with_replacement(range(k), n - 1))
    uppers = [above(classes, n, 1e-9) for classes in blankets(mechanism)]
    lowers = [of_coin(coin, n) for coin in coins(mechanism)]
    third = third_value(mechanism)
    if third is not None:
        lowers.append(below(third, n, 1e-9))
    for epsilon in EPSILONS:
        exact = max(worst(mechanism, others, epsilon) for others in sets)
        for curve in uppers:
            assert curve(epsilon) >= exact - 1e-13, epsilon
        for curve in lowers:
            assert curve(epsilon) <= exact + 1e-13, epsilon


@pytest.mark.parametrize(("name", "k", "first", "options", "n"), CASES)
def test_every_device_emits_the_blanket_whatever_it_answers(
    name: str, k: int, first: str | None, options: dict[str, int], n: int
) -> None:
    """Output by output, and the classes have the masses that the law gives them."""
    mechanism = build(name, k, Decimal("1.5"), first and Decimal(first), options)
    rows = laws(mechanism)
    for classes in list(blankets(mechanism))[1:]:
        true = other = rest = 0.0
        for zero, one, *more in zip(*rows, strict=True):
            least = min(zero, one, *more) * (1 + 1e-12)
            if math.isclose(zero, one):
                rest += zero
                assert zero / float(classes.high) <= least
            elif zero > one:
                true, other = true + zero, other + one
                assert zero * float(classes.each / classes.true) <= least
        assert (true, other) == pytest.approx((float(classes.true), float(classes.other)))
        emitted = float(classes.share * (1 - 2 * classes.each))
        assert emitted * float(classes.high) == pytest.approx(rest)


@pytest.mark.parametrize(("k", "n"), [(3, 5), (4, 4), (5, 4)])
def test_a_third_value_held_by_all_others_is_exact_for_grr(k: int, n: int) -> None:
    mechanism = build("grr", k, Decimal("1.5"))
    third = third_value(mechanism)
    assert third is not None
    curve = below(third, n, 1e-9)
    one, other = (multisets(mechanism, (*(2,) * (n - 1), value)) for value in (0, 1))
    for epsilon in EPSILONS:
        exact = delta(one, other, epsilon)
        assert curve(epsilon) <= exact
        assert curve(epsilon) == pytest.approx(exact, rel=1e-6)


def test_the_upper_bound_is_not_far_from_the_worst_data_set() -> None:
    mechanism = build("grr", 2, Decimal("1.5"))
    curve = above(list(blankets(mechanism))[1], 8, 1e-9)
    sets = combinations_with_replacement(range(2), 7)
    exact = max(worst(mechanism, others, 0.1) for others in sets)
    assert exact <= curve(0.1) < 2 * exact


def test_all_others_alike_is_not_always_the_worst_crowd() -> None:
    """So what they give is a lower bound, and no more; 50 devices of which one holds the other."""
    p = 1 / (1 + math.exp(-1.0))

    def ones(values: tuple[int, int]) -> list[float]:
        law = [1.0]
        for count, chance in ((values[0], 1 - p), (values[1], p)):
            for _ in range(count):
                law = [
                    (law[i] if i < len(law) else 0.0) * (1 - chance)
                    + (law[i - 1] if i else 0.0) * chance
                    for i in range(len(law) + 1)
                ]
        return law

    def epsilon_of(held: int) -> float:
        """For 49 others of which ``held`` hold a 1."""
        zero, one = ones((50 - held, held)), ones((49 - held, held + 1))
        low, high = 0.0, 1.0
        for _ in range(50):
            middle, e = (low + high) / 2, math.exp((low + high) / 2)
            gap = max(
                sum(max(0.0, a - e * b) for a, b in zip(x, y, strict=True))
                for x, y in ((zero, one), (one, zero))
            )
            low, high = (middle, high) if gap > 1e-3 else (low, middle)
        return high

    bounds = shuffle_bounds(build("grr", 2, Decimal(1)), 50, 1e-3)
    assert epsilon_of(0) == pytest.approx(0.357028, abs=1e-5)
    assert bounds.lower == pytest.approx(epsilon_of(0), rel=1e-6)
    assert epsilon_of(1) == pytest.approx(0.359959, abs=1e-5)
    assert epsilon_of(1) <= bounds.upper
