"""Popcounts: honest responses keep to the range, and no shorter range would do.

Every probability here is an exact rational, from the output distribution or from a convolution
of its own; none comes from the code under test.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate

import pytest
from instances import usual
from survey_documents import choice_table, make_survey

from deniable.protocol.draws import FreshDraws
from deniable.protocol.errors import ReportError
from deniable.protocol.mechanisms import MECHANISMS, FrequencyOracle, Mechanism, build
from deniable.protocol.mechanisms.popcounts import honest_popcounts, weight
from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.question import Question
from deniable.protocol.response import Response

RARE = Fraction(1, 10**12)
OPTIONS: Mapping[str, Mapping[str, int]] = {
    "dbitflip": {"bits": 3},
    "rappor": {"bits": 6, "hashes": 2, "cohorts": 3},
    "cms": {"rows": 2, "width": 7},
}
BITS = ("sue", "oue", "rappor", "dbitflip", "cms")


def shortest(laws: list[list[Fraction]]) -> range:
    """By trying every range: the shortest, and of those the lowest, that every law keeps to."""
    width = len(laws[0]) - 1
    sums = [[Fraction(0)] for _ in laws]
    for law, total in zip(laws, sums, strict=True):
        for mass in law:
            total.append(total[-1] + mass)
    for length in range(1, width + 2):
        for low in range(width + 2 - length):
            if all(1 - (total[low + length] - total[low]) < RARE for total in sums):
                return range(low, low + length)
    raise AssertionError("everything is kept to")


def enumerated(mechanism: Mechanism) -> Iterator[list[Fraction]]:
    """The distribution of the popcount for every setup and value."""
    rounds = 1 if mechanism.epsilon_first is None else 2
    for setup in range(mechanism.shape.rows):
        for value in range(mechanism.k):
            memo = mechanism.memo(setup, value)
            assert memo is not None
            law = [Fraction(0)] * (mechanism.shape.width + 1)
            for response, mass in mechanism.law(setup, memo, rounds).items():
                law[response.out.bit_count()] += mass
            yield law


@pytest.mark.parametrize("first", [None, "1"])
@pytest.mark.parametrize("epsilon", ["2", "16", "44"])
@pytest.mark.parametrize("name", BITS)
def test_of_all_responses_there_are(name: str, epsilon: str, first: str | None) -> None:
    again = None if first is None else Decimal(epsilon) / 2
    mechanism = build(name, 7, Decimal(epsilon), again, OPTIONS.get(name, {}))
    assert mechanism.popcounts == shortest(list(enumerated(mechanism)))


def test_devices_that_are_not_asked_about_their_value_count() -> None:
    """One bit at epsilon 44 is as good as true: set on the devices that are asked, else not."""
    mechanism = build("dbitflip", 7, Decimal(44), None, {"bits": 1})
    assert mechanism.popcounts == shortest(list(enumerated(mechanism))) == range(2)


@pytest.mark.parametrize("name", BITS)
def test_the_mean_of_all_responses_there_are(name: str) -> None:
    """Over setups, which are all as likely, it is the same for every value."""
    mechanism = build(name, 5, Decimal(2), Decimal(1), OPTIONS.get(name, {}))
    means = [sum(i * mass for i, mass in enumerate(law)) for law in enumerated(mechanism)]
    for value in range(5):
        of_value = means[value::5]
        assert sum(of_value) / len(of_value) == mechanism.mean_popcount


def test_some_of_them_are_left_out() -> None:
    """Or the enumeration above would prove nothing."""
    assert build("oue", 7, Decimal(44)).popcounts == range(2)
    assert build("oue", 7, Decimal(16)).popcounts == range(3)
    assert build("dbitflip", 7, Decimal(44), None, {"bits": 3}).popcounts == range(3)


UNIT = 1 << 400


def binomial(n: int, chance: Fraction) -> list[int]:
    """Its distribution, over chance.denominator^n."""
    set_, unset = chance.numerator, chance.denominator - chance.numerator
    return [math.comb(n, i) * set_**i * unset ** (n - i) for i in range(n + 1)]


def convolved(width: int, ones: int, p: Fraction, q: Fraction) -> list[int]:
    """Bin(ones, p) + Bin(width - ones, q), exactly; then rounded down to units of 2^-400."""
    others = binomial(width - ones, q)
    law = [0] * (width + 1)
    for j, mass in enumerate(binomial(ones, p)):
        for i, other in enumerate(others):
            law[i + j] += mass * other
    whole = q.denominator ** (width - ones) * p.denominator**ones
    assert sum(law) == whole
    return [mass * UNIT // whole for mass in law]


LARGE = [
    ("oue", 100, None, {}),
    ("oue", 1000, None, {}),
    ("sue", 100, Decimal(1), {}),
    ("dbitflip", 100, None, {"bits": 60}),
    ("dbitflip", 100, Decimal(1), {"bits": 100}),
    ("rappor", 500, Decimal(1), {"bits": 128, "hashes": 3, "cohorts": 32}),
]


@pytest.mark.parametrize(("name", "k", "first", "options"), LARGE)
def test_of_many_bits(name: str, k: int, first: Decimal | None, options: dict[str, int]) -> None:
    """Rounding moves a tail by 1e-117 at most; none here is that close to the limit."""
    mechanism = build(name, k, Decimal(2) if first else Decimal(1), first, options)
    assert isinstance(mechanism, FrequencyOracle | Rappor)
    width, found = mechanism.shape.width, mechanism.popcounts
    assert found is not None
    assert 0 < len(found) < width + 1
    partly = name == "dbitflip" and options["bits"] < k
    ones = (0, 1) if partly else (options.get("hashes", 1),)
    laws = [convolved(width, a, mechanism.p, mechanism.q) for a in ones]
    sums = [list(accumulate(law, initial=0)) for law in laws]

    def outside(low: int, length: int) -> float:
        """The largest probability of a popcount outside a range."""
        return max(1 - (total[low + length] - total[low]) / UNIT for total in sums)

    def rare(low: int, length: int) -> bool:
        return all((UNIT - total[low + length] + total[low]) * 10**12 < UNIT for total in sums)

    length = len(found)
    assert rare(found.start, length)
    assert 1e-14 < outside(found.start, length) < 1e-12
    assert not any(rare(low, length - 1) for low in range(width + 3 - length))
    assert not any(rare(low, length) for low in range(found.start))


def test_no_float_would_do() -> None:
    """A tail of exactly 1e-12 is too much, and the least bit less is not."""
    rare = Fraction(1, 10**12)
    assert honest_popcounts(1, [0], rare, rare) == range(2)
    below = rare - Fraction(1, 1 << 200)
    assert honest_popcounts(1, [0], below, below) == range(1)


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in BITS])
def test_other_responses_have_none(name: str) -> None:
    mechanism = usual(name, 2, Decimal(1))
    assert mechanism.popcounts is None
    assert mechanism.mean_popcount is None


def test_what_a_lie_weighs() -> None:
    """All bits set weigh 51 devices of 16 values at epsilon 1, and 316 of 100."""
    small, large = (build("oue", k, Decimal(1)) for k in (16, 100))
    assert isinstance(small, FrequencyOracle)
    assert isinstance(large, FrequencyOracle)
    before = [float(weight(m.k, m.k, m.p, m.q)) for m in (small, large)]
    assert before == pytest.approx([50.62, 316.40], abs=0.01)
    assert small.popcounts == range(17), "16 honest bits are all set once in 10^9 reports"
    assert large.popcounts == range(2, 62)
    after = float(weight(large.popcounts[-1], 100, large.p, large.q))
    assert after == pytest.approx(147.61, abs=0.01)


def test_an_honest_response_weighs_one() -> None:
    mechanism = build("oue", 4, Decimal(1))
    assert isinstance(mechanism, FrequencyOracle)
    law = mechanism.law(0, b"2", 1)
    weights = (
        mass * weight(response.out.bit_count(), 4, mechanism.p, mechanism.q)
        for response, mass in law.items()
    )
    assert sum(weights) == 1


def question(k: int = 100) -> Question:
    table = choice_table(
        choices=[f"c{i}" for i in range(k)], mechanism="oue", epsilon=1, period="week"
    )
    return make_survey({"one": table}, max_epsilon=16, linkable=True).questions["one"]


def test_a_question_takes_what_devices_give() -> None:
    asked = question()
    mechanism = asked.mechanism
    for value in range(30):
        response = mechanism.permanent(0, str(value).encode(), FreshDraws())
        assert asked.unpack(mechanism.shape.pack(response)) == response


@pytest.mark.parametrize("bits", [0, 1, 62, 100])
def test_a_question_refuses_what_they_do_not(bits: int) -> None:
    asked = question()
    wire = asked.mechanism.shape.pack(Response((1 << bits) - 1))
    with pytest.raises(ReportError) as caught:
        asked.unpack(wire)
    assert caught.value.code == "bad_response"
    assert caught.value.detail == "response must have 2 to 61 bits set, as devices' have"


@pytest.mark.parametrize("bits", [2, 61])
def test_the_ends_are_taken(bits: int) -> None:
    asked = question()
    response = Response((1 << bits) - 1)
    assert asked.unpack(asked.mechanism.shape.pack(response)) == response
    assert asked.check(response) == response


@pytest.mark.parametrize("wire", [None, 3, "", "____", base64.urlsafe_b64encode(bytes(14))])
def test_the_shape_comes_first(wire: object) -> None:
    with pytest.raises(ReportError):
        question().unpack(wire)


def test_popcounts_are_no_part_of_a_definition() -> None:
    asked = question()
    before = asked.hash, asked.document()
    assert asked.mechanism.popcounts == range(2, 62)
    again = question()
    assert (again.hash, again.document()) == before
    assert again == asked
