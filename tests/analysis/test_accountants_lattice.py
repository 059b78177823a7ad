"""The exact composition of equal reports: published values, and brute force over all outcomes."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.analysis.accountants.lattice import exact
from deniable.analysis.accountants.losses import Losses, randomized_response, reported
from deniable.protocol.mechanisms import build

LN3 = 1.0986122886681098


@pytest.mark.parametrize(
    ("epsilon", "reports", "delta", "expected"),
    [
        (0.1, 100, 1e-6, 4.774567588107986),
        (0.1, 1000, 1e-6, 19.3446714479934),
        (0.2, 200, 1e-5, 15.179043058597017),
        (1.0, 30, 1e-6, 29.98786423238033),
        (LN3, 7, 1e-6, 7.6902785291077835),
        (2.0, 365, 1e-6, 661.15372),
    ],
)
def test_optimal_composition(epsilon: float, reports: int, delta: float, expected: float) -> None:
    found = exact(randomized_response(epsilon), reports, delta)
    assert found == pytest.approx(expected, abs=5e-6 if expected > 100 else 1e-6)


@pytest.mark.parametrize(
    ("name", "k", "epsilon", "reports", "expected"),
    [
        ("grr", 4, "1", 30, 25.628926531680268),
        ("grr", 16, "1", 30, 14.835776068475926),
        ("grr", 100, "1", 30, 6.93839261590054),
        ("grr", 16, "2", 365, 305.81),
        ("grr", 100, "2", 365, 97.4725575388194),
        ("oue", 2, "1", 30, 22.587662514038072),
        ("sue", 2, "1", 30, 22.982293264489904),
        ("sue", 9, "2", 365, 446.77809434006036),
    ],
)
def test_exact_composition_of_a_mechanism(
    name: str, k: int, epsilon: str, reports: int, expected: float
) -> None:
    losses = reported(build(name, k, Decimal(epsilon)))
    assert exact(losses, reports, 1e-6) == pytest.approx(expected, abs=2e-3)


def delta_by_enumeration(losses: Losses, reports: int, epsilon: float) -> float:
    """delta(epsilon), from every sequence of outcomes."""
    outcomes = [
        (losses.gain, losses.epsilon),
        (losses.none, 0.0),
        (losses.loss, -losses.epsilon),
    ]
    return math.fsum(
        math.prod(p for p, _ in path) * max(0.0, -math.expm1(epsilon - sum(x for _, x in path)))
        for path in product(outcomes, repeat=reports)
    )


@given(
    epsilon=st.floats(0.01, 4),
    reports=st.integers(1, 6),
    delta=st.floats(1e-9, 0.9),
    name=st.sampled_from(["rr", "grr", "sue", "oue"]),
    k=st.integers(2, 9),
)
@example(epsilon=2.0885244027202474, reports=6, delta=1e-9, name="rr", k=2)  # once rounded down
def test_exact_is_the_least_epsilon_that_delta_allows(
    epsilon: float, reports: int, delta: float, name: str, k: int
) -> None:
    if name == "rr":
        losses = randomized_response(epsilon)
    else:
        losses = reported(build(name, k, Decimal(repr(round(epsilon, 6)))))
    found = exact(losses, reports, delta)
    assert delta_by_enumeration(losses, reports, found) <= delta * (1 + 1e-9) + 1e-15
    if found > 1e-6:
        assert delta_by_enumeration(losses, reports, found - 1e-6) > delta


def delta_exactly(losses: Losses, reports: int, epsilon: float) -> Decimal:
    """delta(epsilon) in 60 digits, from the trinomial distribution of the sum of the losses."""
    gain, none, loss = map(Decimal, (losses.gain, losses.none, losses.loss))
    law = {0: Decimal(1)}
    for _ in range(reports):
        longer: dict[int, Decimal] = {}
        for level, mass in law.items():
            for step, chance in ((1, gain), (0, none), (-1, loss)):
                longer[level + step] = longer.get(level + step, Decimal(0)) + mass * chance
        law = longer
    excess = {x: x * Decimal(losses.epsilon) - Decimal(epsilon) for x in law}
    return sum((law[x] * (1 - (-e).exp()) for x, e in excess.items() if e > 0), Decimal(0))


@pytest.mark.parametrize("reports", [1, 2, 7, 30])
@pytest.mark.parametrize("epsilon", ["0.000001", "0.01", "2", "44"])
@pytest.mark.parametrize("name", ["grr", "sue", "oue"])
def test_exact_is_never_below_the_truth(name: str, epsilon: str, reports: int) -> None:
    """Not in the last digit either, where losses almost cancel or are all but certain."""
    losses = reported(build(name, 3, Decimal(epsilon)))
    with localcontext(prec=60):
        for delta in (0.999, 0.5, 0.25, 1e-6, 1e-20, 1e-80):
            found = exact(losses, reports, delta)
            assert delta_exactly(losses, reports, found) <= Decimal(delta)
            if found > 0 and epsilon != "44":  # there delta hardly depends on epsilon
                less = delta_exactly(losses, reports, found * (1 - 1e-7))
                assert less > Decimal(delta) * (1 - Decimal("1e-9"))


def test_losses_keep_what_is_all_but_impossible() -> None:
    losses = reported(build("grr", 3, Decimal(40)))
    assert losses.none == pytest.approx(losses.loss, rel=1e-9, abs=0)


@pytest.mark.parametrize("name", ["grr", "sue", "oue"])
@pytest.mark.parametrize("k", [2, 3])
def test_losses_are_those_of_the_exact_output_distribution(name: str, k: int) -> None:
    mechanism = build(name, k, Decimal("1.3"))
    one, other = (mechanism.law(0, value, 1) for value in (b"0", b"1"))
    found = {1: 0.0, 0: 0.0, -1: 0.0}
    for response, mass in one.items():
        loss = math.log(mass / other[response])
        sign = round(loss / 1.3)
        assert loss == pytest.approx(sign * 1.3, abs=1e-12)
        found[sign] += float(mass)
    losses = reported(mechanism)
    assert [losses.gain, losses.none, losses.loss] == pytest.approx(
        [found[1], found[0], found[-1]], abs=1e-12
    )
