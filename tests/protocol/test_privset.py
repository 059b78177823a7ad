"""PrivSet by enumeration: every pair of sets, whatever their sizes; and the weight that it takes.

All sets of up to 4 values are compared, the empty one and those with too many items included, for
every number of items and every weight.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from itertools import product

import pytest
from enumeration import exp_between

from deniable.protocol.draws import KeyedDraws
from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import SCALE
from deniable.protocol.mechanisms import Law, build
from deniable.protocol.mechanisms.oue import OUE
from deniable.protocol.mechanisms.privset import PrivSet
from deniable.protocol.mechanisms.subset import SubsetSelection
from deniable.protocol.proofs.branches import outcomes

BILLIONTH = Fraction(1, 10**9)
EPSILONS = ("0.01", "1", "16")

Size = tuple[int, int, int]
"""k, m and w."""

SIZES: list[Size] = [
    (k, items, weight)
    for k in (2, 3, 4)
    for items in range(1, min(3, k) + 1)
    for weight in range(1, k + 1)
]


def make(k: int, items: int, weight: int | None = None, epsilon: str = "1") -> PrivSet:
    options = {"items": items} | ({} if weight is None else {"weight": weight})
    made = build("privset", k, Decimal(epsilon), options=options)
    assert isinstance(made, PrivSet)
    return made


@cache
def laws(size: Size, epsilon: str) -> dict[int, Law]:
    """The distribution of the response to each set there is."""
    mechanism = make(*size, epsilon)
    return {mask: mechanism.law(0, b"%x" % mask, 1) for mask in range(1 << mechanism.k)}


def largest(one: Law, two: Law) -> Fraction:
    return max(one[y] / two[y] for y in one)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_no_set_tells_more_than_epsilon_from_any_other(size: Size, epsilon: str) -> None:
    """And two sets that fit tell exactly as much as any two others, whatever their sizes."""
    (k, items, weight), given = size, laws(size, epsilon)
    most = exp_between(Fraction(epsilon))[0]
    least = exp_between(Fraction(epsilon) * (1 - BILLIONTH))[1]
    ratios = set()
    for one, two in product(given, repeat=2):
        assert sum(given[one].values()) == 1
        assert len(given[one]) == math.comb(k + items, weight)
        ratio = largest(given[one], given[two])
        assert ratio <= most
        if one != two and max(one.bit_count(), two.bit_count()) <= items:
            ratios.add(ratio)
    assert len(ratios) == 1, "epsilon would depend on the sizes"
    assert min(ratios) >= least, "accuracy would be wasted"


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_law_is_the_same_for_sets_of_every_size(size: Size) -> None:
    """Up to the names of the responses."""
    given = laws(size, "1")
    masses = [Counter(law.values()) for mask, law in given.items() if mask.bit_count() <= size[1]]
    assert all(each == masses[0] for each in masses)


@pytest.mark.parametrize("size", [*product((2, 3), (1, 2), (1, 2)), (4, 2, 2), (4, 1, 3)], ids=str)
def test_the_code_draws_the_law(size: Size) -> None:
    mechanism = make(*size)
    for mask, law in laws(size, "1").items():
        assert outcomes(partial(mechanism.permanent, 0, b"%x" % mask)) == law


def padded(mechanism: PrivSet) -> Iterator[tuple[int, Law]]:
    """Each set that fits, with its dummies."""
    for mask, law in laws((mechanism.k, mechanism.items, mechanism.weight), "1").items():
        if mask.bit_count() <= mechanism.items:
            yield mechanism.padded(mask), law


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_symbols_and_pairs_of_symbols_are_named_as_often_as_is_said(size: Size) -> None:
    mechanism = make(*size)
    for held, law in padded(mechanism):
        assert held.bit_count() == mechanism.items
        for one, two in product(range(mechanism.symbols), repeat=2):
            pair = 1 << one | 1 << two
            found = sum(mass for y, mass in law.items() if y.out & pair == pair)
            chances = (mechanism.p, mechanism.q) if one == two else mechanism.joint
            assert found == chances[0 if held & pair else 1]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_losses_are_those_of_the_sets_that_are_farthest_apart(size: Size) -> None:
    """For any t, ``sum of max(P - tQ, 0)`` is largest of them: sets with too many items included.

    So whatever is composed of responses is bounded by what is composed of theirs.
    """
    mechanism, given = make(*size), laws(size, "1")
    gain, loss = mechanism.losses
    for t in (Fraction(1), Fraction(3, 2), Fraction(2), gain / loss):
        most = max(
            sum(max(mass - t * two[y], Fraction(0)) for y, mass in one.items())
            for one, two in product(given.values(), repeat=2)
        )
        assert most == gain - t * loss
    full = (1 << mechanism.items) - 1
    assert sum(m for y, m in given[0].items() if m > given[full][y]) == gain


@pytest.mark.parametrize("size", [(3, 1, 1), (4, 2, 2), (4, 3, 1)], ids=str)
def test_a_set_with_too_many_items_is_answered_with_some_of_them(size: Size) -> None:
    """Each as often as another: an item of s is counted with probability m/s."""
    mechanism = make(*size)
    for mask, law in laws(size, "1").items():
        share = Fraction(mechanism.items, max(mechanism.items, mask.bit_count()))
        for item in range(mechanism.k):
            held = share * (mask >> item & 1)
            found = sum(mass for y, mass in law.items() if mechanism.supports(item, y))
            assert found == held * mechanism.p + (1 - held) * mechanism.q


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2", "4", "16"])
@pytest.mark.parametrize("k", [2, 3, 7, 20, 45])
def test_the_weight_is_the_best_of_all(k: int, epsilon: str) -> None:
    """Of all w, tried one by one; rounding a threshold moves a variance by far less than 1e-9."""
    for items in {1, 2, min(5, k), k}:
        at = Fraction(items, k + items)
        noise = []
        for weight in range(1, k + 1):
            try:
                each = make(k, items, weight, epsilon)
            except ParameterError:
                break
            noise.append(each.exact_variance(at, sampled=False))
        made = make(k, items, None, epsilon)
        least = min(noise)
        assert made.exact_variance(at, sampled=False) <= least * (1 + BILLIONTH)
        assert made.weight <= noise.index(least) + 1


@pytest.mark.parametrize(
    ("items", "epsilon", "weight"),
    [(64, "0.01", 32), (64, "1", 16), (64, "16", 1), (1, "0.01", 2038), (2, "0.01", 1019)],
)
def test_the_best_weight_of_many_values_is_found_at_once(
    items: int, epsilon: str, weight: int
) -> None:
    """In some 10 ms; trying all would take seconds."""
    started = time.process_time()
    made = make(4096, items, None, epsilon)
    assert time.process_time() - started < 0.5
    assert made.weight == weight
    at = Fraction(items, made.symbols)
    for near in {max(1, weight - 1), weight + 1}:
        other = make(4096, items, near, epsilon).exact_variance(at, sampled=False)
        assert made.exact_variance(at, sampled=False) <= other


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2", "8"])
@pytest.mark.parametrize(("k", "items"), [(6, 3), (20, 2), (20, 8), (100, 5), (1000, 64)])
def test_sampling_one_item_for_a_mechanism_of_choices_is_worse(
    k: int, items: int, epsilon: str
) -> None:
    """An item's share of the choices is f/m, so its noise is m^2 times that of a choice."""
    ours = make(k, items, None, epsilon).exact_variance(Fraction(0), sampled=False)
    for cls in (OUE, SubsetSelection):
        one = cls.resolve(k + items, Decimal(epsilon), None)
        assert items**2 * one.exact_variance(Fraction(0), sampled=False) > ours


def test_with_one_symbol_it_is_padding_and_sampling_with_randomized_response() -> None:
    """GRR over d symbols with ``E' = m(E-1) + 1``, of one of the m symbols."""
    mechanism = make(7, 3, 1)
    e = Fraction(Decimal("2.718281828459045235360287471352662497757"))
    own, other = 3 * (e - 1) + 1, Fraction(1)
    whole = own + 9 * other
    assert abs(mechanism.p - (own + 2 * other) / (3 * whole)) < Fraction(1, SCALE // 8)
    assert abs(mechanism.q - other / whole) < Fraction(1, SCALE // 8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "privset needs the option items, a whole number in 1..64"),
        ({"items": 6}, "items must be at most the 5 values there are: 6"),
        ({"items": 65}, r"items must be a whole number in 1\.\.64: 65"),
        ({"items": 2, "weight": 6}, "weight must be at most the 5 values there are: 6"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}$"):
        build("privset", 5, Decimal(1), options=options)


def test_a_weight_that_leaves_nothing_to_tell_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^weight must be smaller: so many of 4096 values"):
        make(4096, 64, 4096)
    with pytest.raises(ParameterError, match=r"^epsilon is too small to say anything about 4 val"):
        make(4, 2, None, "1e-25")


@pytest.mark.parametrize(
    ("k", "items", "epsilon", "mask", "out"),
    [
        (6, 3, "2", 0, "6b86b273ff34fce1"),
        (6, 3, "2", 0b101, "d4735e3a265e16ee"),
        (20, 3, "0.5", 0b111111, "f4a6948ba2942e8e"),
        (4096, 64, "0.1", (1 << 70) - 1, "02d13f85539b5c3c"),
    ],
)
def test_responses_are_frozen(k: int, items: int, epsilon: str, mask: int, out: str) -> None:
    made = make(k, items, None, epsilon)
    drawn = made.permanent(0, b"%x" % mask, KeyedDraws(bytes(range(32)), b"privset"))
    assert drawn.out.bit_count() == made.weight
    assert hashlib.sha256(b"%x" % drawn.out).hexdigest()[:16] == out
