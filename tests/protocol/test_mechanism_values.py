"""The three mechanisms against their published formulas, evaluated here in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest
from enumeration import WORDS, exp_between

from deniable.protocol.mechanisms import Law, Mechanism, build
from deniable.protocol.response import Response

PAIRS = [
    ("0.01", None),
    ("1", None),
    ("1.0986122886681098", None),
    ("3.7", None),
    ("16", None),
    ("0.02", "0.01"),
    ("2", "1"),
    ("2", "1.999999999999999999"),
    ("8", "0.01"),
    ("16", "15.9"),
]


def e(exponent: Fraction) -> Fraction:
    """e^x to 80 digits, so that a threshold computed from it is off by 2^-200 at most."""
    low, high = exp_between(exponent)
    return (low + high) / 2


def formula(name: str, k: int, epsilon: Fraction, first: Fraction | None) -> dict[str, int]:
    """Every threshold from the published probabilities: p down, q up, p2 down."""
    E, exact = e(epsilon), {}
    if name == "grr":
        exact["keep"] = math.floor(WORDS * E / (E + k - 1))
        if first is not None:
            E1 = e(first)
            E2 = (E1 * (E + k - 2) - (k - 1)) / (E - E1)
            exact["keep_again"] = math.floor(WORDS * E2 / (E2 + k - 1))
    elif name == "sue":
        root = e(epsilon / 2)
        exact["true_bit"] = math.floor(WORDS * root / (root + 1))
        exact["other_bit"] = WORDS - exact["true_bit"]
        if first is not None:
            p2 = (e((epsilon + first) / 2) - 1) / ((root - 1) * (e(first / 2) + 1))
            exact["bit_again"] = math.floor(WORDS * p2)
    else:
        exact["true_bit"] = WORDS // 2
        exact["other_bit"] = math.ceil(WORDS / (E + 1))
        if first is not None:
            p2 = (e(epsilon + first) - 1) / ((E - 1) * (e(first) + 1))
            exact["bit_again"] = math.floor(WORDS * p2)
    return exact


def law_by_hand(name: str, k: int, thresholds: Mapping[str, int], value: int, rounds: int) -> Law:
    """The distribution of a response, summed over every path, from the thresholds alone."""
    P = {key: Fraction(threshold, WORDS) for key, threshold in thresholds.items()}
    if name == "grr":

        def kept(p: Fraction, x: int, y: int) -> Fraction:
            return p if x == y else (1 - p) / (k - 1)

        first = {x: kept(P["keep"], value, x) for x in range(k)}
        if rounds == 1:
            return {Response(x): mass for x, mass in first.items()}
        again = P["keep_again"]
        return {
            Response(y): sum((first[x] * kept(again, x, y) for x in range(k)), Fraction(0))
            for y in range(k)
        }

    def bits(law: list[Fraction], mask: int) -> Fraction:
        return math.prod(
            (law[i] if mask >> i & 1 else 1 - law[i] for i in range(k)), start=Fraction(1)
        )

    first_bits = [P["true_bit"] if i == value else P["other_bit"] for i in range(k)]
    firsts = {x: bits(first_bits, x) for x in range(2**k)}
    if rounds == 1:
        return {Response(x): mass for x, mass in firsts.items()}
    p2 = P["bit_again"]
    agains = {x: [p2 if x >> i & 1 else 1 - p2 for i in range(k)] for x in firsts}
    return {
        Response(y): sum((firsts[x] * bits(agains[x], y) for x in firsts), Fraction(0))
        for y in range(2**k)
    }


@pytest.mark.parametrize("k", [2, 3, 100, 4096])
@pytest.mark.parametrize(("epsilon", "first"), PAIRS)
@pytest.mark.parametrize("name", ["grr", "sue", "oue"])
def test_thresholds_are_the_formulas_rounded_to_the_safe_side(
    name: str, epsilon: str, first: str | None, k: int
) -> None:
    mechanism = build(name, k, Decimal(epsilon), None if first is None else Decimal(first))
    exact = formula(name, k, Fraction(epsilon), None if first is None else Fraction(first))
    assert mechanism.thresholds == exact


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize(("epsilon", "first"), [pair for pair in PAIRS if pair[1]])
@pytest.mark.parametrize("name", ["grr", "sue", "oue"])
def test_laws_are_the_sum_over_every_path(name: str, epsilon: str, first: str, k: int) -> None:
    mechanism = build(name, k, Decimal(epsilon), Decimal(first))
    for value, rounds in product(range(k), (1, 2)):
        by_hand = law_by_hand(name, k, mechanism.thresholds, value, rounds)
        assert mechanism.law(0, str(value).encode(), rounds) == by_hand


@pytest.mark.parametrize(("epsilon", "first"), PAIRS)
@pytest.mark.parametrize("name", ["grr", "sue", "oue"])
def test_the_largest_domain_keeps_its_epsilon(name: str, epsilon: str, first: str | None) -> None:
    """Laws under two values differ in one symbol, or in two bits; the rest cancels."""
    mechanism = build(name, 4096, Decimal(epsilon), None if first is None else Decimal(first))
    for (p, q), declared in (
        (mechanism.first, epsilon),
        ((mechanism.p, mechanism.q), first or epsilon),
    ):
        ratio = p / q if name == "grr" else p * (1 - q) / (q * (1 - p))
        assert ratio <= exp_between(Fraction(declared))[0]
        assert ratio >= exp_between(Fraction(declared) * Fraction(99999999, 100000000))[1]


def made(name: str, k: int, epsilon: str, first: str | None = None) -> Mechanism:
    return build(name, k, Decimal(epsilon), None if first is None else Decimal(first))


def ln(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator)


VALUES = [
    (made("grr", 4, "1"), {"p": 0.475367, "q": 0.174878, "var0": 1.598067, "var_f025": 1.889056}),
    (made("grr", 100, "1"), {"p": 0.026724, "q": 0.009831, "var0": 34.112969}),
    (made("oue", 9, "1"), {"p": 0.5, "q": 0.268941, "var0": 3.682694}),
    (made("sue", 9, "1"), {"p": 0.622459, "q": 0.377541, "var0": 3.917698}),
    (
        made("sue", 9, "2", "1"),
        {"p1": 0.731059, "p2": 0.764996, "p": 0.622459, "q": 0.377541, "var0": 3.917698},
    ),
    (
        made("oue", 9, "2", "1"),
        {
            "p1": 0.5,
            "q1": 0.119203,
            "p2": 0.803388,
            "p": 0.5,
            "q": 0.268941,
            "var0": 3.682694,
        },
    ),
    (
        made("grr", 10, "2", "1"),
        {
            "eps2": 1.950072,
            "p1": 0.450853,
            "p2": 0.438525,
            "realised_eps1": 1.0,
            "var0": 3.630249,
        },
    ),
    (made("grr", 2, "1.0986122886681098"), {"p": 0.75, "q": 0.25, "var0": 0.75}),
]
"""To six decimals. The last is Warner's design of 1965, and the variance behind a standard error
of 0.049 on 400 answers at three quarters."""


@pytest.mark.parametrize(
    ("mechanism", "expected"), VALUES, ids=[f"{m.name}-{m.k}-{m.epsilon_first}" for m, _ in VALUES]
)
def test_values_of_the_literature(mechanism: Mechanism, expected: dict[str, float]) -> None:
    p2, q2 = mechanism.second or (Fraction(1), Fraction(1))
    found = {
        "p": float(mechanism.p),
        "q": float(mechanism.q),
        "p1": float(mechanism.first[0]),
        "q1": float(mechanism.first[1]),
        "p2": float(p2),
        "eps2": ln(p2 / q2),
        "realised_eps1": ln(mechanism.p / mechanism.q),
        "var0": mechanism.variance(0.0),
        "var_f025": mechanism.variance(0.25),
    }
    for key, value in expected.items():
        assert round(found[key], 6) == value, key


def reveal(mechanism: Mechanism, reports: int) -> float:
    """The loss of several reports about one unchanging value."""
    assert mechanism.second is not None
    r = (mechanism.second[0] / mechanism.second[1]) ** reports
    return sum(ln((a * r + 1 - a) / (b * r + 1 - b)) for a, b in mechanism.chains)


def change(mechanism: Mechanism) -> float:
    """The loss of one changed day when every other is known."""
    assert mechanism.second is not None
    return mechanism.flips * ln(mechanism.second[0] / mechanism.second[1])


def test_several_reports_of_one_value_approach_the_permanent_epsilon() -> None:
    grr = made("grr", 2, "2", "1")
    assert float(grr.second[0]) == pytest.approx(0.80339, abs=5e-6)  # type: ignore[index]
    found = [reveal(grr, reports) for reports in (1, 2, 7, 1000)]
    assert found == pytest.approx([1, 1.642, 1.9996, 2], abs=5e-4)


def test_a_changed_day_reveals_more_than_one_report() -> None:
    assert change(made("grr", 2, "2", "1")) == pytest.approx(1.408, abs=5e-4)
    assert change(made("oue", 2, "2", "1")) == pytest.approx(2.815, abs=5e-4)
    assert change(made("oue", 16, "2", "1")) == pytest.approx(22.52, abs=5e-3)


def test_grr_has_less_variance_than_oue_below_its_threshold_only() -> None:
    """Where k < 3E + 2; at epsilon 1 that is up to k = 10."""
    for k in range(2, 30):
        grr, oue = made("grr", k, "1"), made("oue", k, "1")
        assert (grr.variance(0) < oue.variance(0)) == (k < 3 * math.e + 2)
    for epsilon in ("0.5", "1", "4"):
        big_e = math.exp(float(epsilon))
        oue = made("oue", 7, epsilon)
        assert oue.variance(0) == pytest.approx(4 * big_e / (big_e - 1) ** 2)
