"""What every accountant keeps: never below the truth, ordered, finite; and published values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from itertools import pairwise, product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from instances import usual

from deniable.analysis.accountants.closed_forms import advanced, basic, kov
from deniable.analysis.accountants.compositions import METHODS, Composition, compositions, least
from deniable.analysis.accountants.losses import randomized_response, reported
from deniable.analysis.accountants.parts import Part, merged
from deniable.analysis.accountants.renyi import converted, divergence, rdp, zcdp
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import MECHANISMS, Mechanism, build

LN3 = 1.0986122886681098


def part(epsilon: object, reports: int = 1, name: str = "grr", k: int = 2) -> Part:
    return Part(usual(name, 2 if name == "trajectory" else k, Decimal(str(epsilon))), reports)


def by_method(parts: Sequence[Part], delta: float) -> dict[str, Composition]:
    return {each.method: each for each in compositions(parts, delta)}


# The truth, in 60 digits


Outcome = tuple[Decimal, Decimal]


def outcomes(mechanism: Mechanism, own: bool) -> list[Outcome]:
    """(loss, probability) of one report; of the worst of its epsilon, if not its own."""
    if own and mechanism.losses is not None:
        gain, loss = (Decimal(x.numerator) / Decimal(x.denominator) for x in mechanism.losses)
        size = (gain / loss).ln()
        return [(size, gain), (Decimal(0), 1 - gain - loss), (-size, loss)]
    size = mechanism.epsilon
    gain = 1 / (1 + (-size).exp())
    return [(size, gain), (-size, 1 - gain)]


def total_law(parts: Sequence[Part], own: bool) -> dict[Decimal, Decimal]:
    """The distribution of the total loss; equal totals that differ in a digit stay apart."""
    law = {Decimal(0): Decimal(1)}
    for each in parts:
        steps = outcomes(each.mechanism, own)
        for _ in range(each.reports):
            longer: dict[Decimal, Decimal] = {}
            for (loss, mass), (step, chance) in product(law.items(), steps):
                at = round(loss + step, 50)
                longer[at] = longer.get(at, Decimal(0)) + mass * chance
            law = longer
    return law


def true_delta(law: dict[Decimal, Decimal], epsilon: float) -> Decimal:
    excess = ((loss - Decimal(epsilon), mass) for loss, mass in law.items())
    return sum((mass * (1 - (-x).exp()) for x, mass in excess if x > 0), Decimal(0))


TWO_BITS = Part(build("dbitflip", 4, Decimal(1), None, {"bits": 2}), 2)
"""Odds of the square root of E occur, so it counts as any report of its epsilon."""

DELTAS = (0.999, 0.5, 1e-3, 1e-6, 1e-15, 1e-80)

SMALL = {
    "one": [part(1)],
    "one of many values": [part("0.5", 1, "oue", 5)],
    "equal": [part(1, 6, "grr", 4)],
    "equal, in two parts": [part(1, 2, "grr", 4), part(1, 4, "grr", 4)],
    "five questions": [part("0.5"), part(1, 2), part(2), part("0.3")],
    "mechanisms": [part("0.7", 3, "oue", 3), part("0.7", 2, "sue", 3), part(1, 2, "olh", 9)],
    "without losses": [TWO_BITS, part("0.3", 3)],
    "minute and huge": [part("0.000001", 3), part(44, 1, "grr", 3), part("43.7", 2, "oue")],
    "huge": [part(40, 2), part(44, 2)],
    "minute": [part("0.000001", 4), part("0.0000013", 4, "grr", 3)],
    "months": [part("0.1234567", 30), part("0.7654321", 12, "sue", 4)],
    "incommensurable": [part("0.1234567", 5), part("0.7654321", 3, "sue"), part("1.41421", 3)],
}


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", SMALL)
def test_no_bound_is_below_the_truth(name: str, delta: float) -> None:
    parts = SMALL[name]
    with localcontext(prec=60):
        own, any_report = total_law(parts, own=True), total_law(parts, own=False)
        for method, found in by_method(parts, delta).items():
            assert found.epsilon is not None
            law = own if method in ("rdp", "exact") else any_report
            # basic is the decimal its float denotes, half a unit aside
            at = found.epsilon * (1 + 2**-52) if method == "basic" else found.epsilon
            capped = at if found.epsilon < basic(parts) else basic(parts) * (1 + 2**-52)
            assert true_delta(law, max(at, capped)) <= Decimal(delta), method


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("name", [name for name in SMALL if "huge" not in name])
def test_the_exact_one_is_near_the_truth(name: str, delta: float) -> None:
    """To 1e-4 of itself and of a tenth of the sum.

    Not where thresholds over 2^64 leave a seventieth less than an epsilon of 44.
    """
    parts = SMALL[name]
    found = by_method(parts, delta)["exact"].epsilon
    assert found is not None
    less = found - 1e-4 * max(found, 0.1 * basic(parts))
    if less > 0:
        with localcontext(prec=60):
            assert true_delta(total_law(parts, own=True), less) > Decimal(delta) * Decimal("0.999")


# Conformance: every method, over the whole range


@pytest.mark.parametrize("delta", [1e-100, 1e-15, 1e-6, 0.5, 0.999])
@pytest.mark.parametrize(
    "parts",
    [
        [part("0.000001")],
        [part("0.000001", 10**6)],
        [part(44)],
        [part(44, 10**6, "oue", 16)],
        [part("0.000001", 10**6), part(44, 10**6, "grr", 3), part("0.01", 10**6, "sue", 9)],
        [part("0.000001", 10**6), part(44), part(2, 365)],
    ],
    ids=lambda parts: "+".join(f"{each.reports}x{each.mechanism.epsilon}" for each in parts),
)
def test_extremes_are_numbers(parts: list[Part], delta: float) -> None:
    found = compositions(parts, delta)
    assert [each.method for each in found] == list(METHODS)
    for each in found:
        assert each.epsilon is not None
        assert 0 <= each.epsilon < math.inf
    exact = found[-1].epsilon
    assert exact is not None
    slack = 1e-5 * basic(parts)  # a tenth of the grid's step
    assert all(each.epsilon is None or exact <= each.epsilon + slack for each in found)


def ladders() -> Iterator[tuple[str, list[tuple[list[Part], float]]]]:
    """Settings of which each asks for no less than the one before."""
    yield "epsilon", [([part(e, 40, "oue", 4)], 1e-6) for e in ("0.01", "0.02", "0.5", "0.51", "3")]
    yield "reports", [([part("0.3", t)], 1e-6) for t in (1, 2, 3, 30, 31, 400, 10**4)]
    yield "delta", [([part("0.3", 30)], d) for d in (0.9, 0.5, 0.1, 1e-3, 1e-9, 1e-15, 1e-90)]
    yield (
        "epsilon of one",
        [([part("0.3", 30), part(e, 9, "sue", 4)], 1e-6) for e in ("0.1", "0.11", "0.5", "2")],
    )
    yield (
        "reports of one",
        [([part("0.3", 30), part(1, t, "sue", 4)], 1e-6) for t in (1, 2, 3, 30, 400)],
    )
    yield (
        "delta of several",
        [([part("0.3", 30), part(1, 2)], d) for d in (0.9, 0.5, 1e-3, 1e-9, 1e-15, 1e-90)],
    )


LADDERS = dict(ladders())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ladder", LADDERS)
def test_monotone(ladder: str, method: str) -> None:
    """But for slack: 1e-9 of rounding up, 1e-5 where the grid differs."""
    found = [by_method(parts, delta)[method].epsilon for parts, delta in LADDERS[ladder]]
    assert None not in found
    slack = 1e-5 if method == "exact" and " of " in ladder else 1e-9
    assert all(less <= more * (1 + slack) for less, more in pairwise(found))
    assert found[0] < found[-1] or (method, ladder[:5]) == ("basic", "delta")


@given(
    epsilon=st.decimals("0.000001", "44", places=6),
    log_delta=st.floats(-230, -1e-3),
    name=st.sampled_from(sorted(MECHANISMS)),
)
@settings(max_examples=60, deadline=None)
def test_one_report_is_never_above_its_epsilon(
    epsilon: Decimal, log_delta: float, name: str
) -> None:
    parts = [part(epsilon, 1, name, 4)]
    found = by_method(parts, math.exp(log_delta))
    for method in ("basic", "kov", "rdp", "exact"):
        assert found[method].epsilon <= float(epsilon)
    assert least(parts, math.exp(log_delta)).epsilon <= float(epsilon)


@given(
    items=st.lists(
        st.tuples(
            st.decimals("0.000001", "8", places=6),
            st.integers(1, 40),
            st.sampled_from(["grr", "oue", "sue", "olh", "dbitflip"]),
            st.integers(2, 9),
        ),
        min_size=1,
        max_size=5,
    ),
    log_delta=st.floats(-60, -1e-3),
)
@example(items=[(Decimal(44), 1, "grr", 2), (Decimal("0.000001"), 1, "grr", 2)], log_delta=-1.0)
@settings(max_examples=40, deadline=None)
def test_the_order_among_the_methods(
    items: list[tuple[Decimal, int, str, int]], log_delta: float
) -> None:
    """Exact is least, up to the grid, and a Rényi curve is below its tangent."""
    parts = [part(*item) for item in items]
    found = {each.method: each.epsilon for each in compositions(parts, math.exp(log_delta))}
    assert found["exact"] <= found["rdp"] * (1 + 1e-5) + 1e-4 * basic(parts)
    assert found["rdp"] <= found["zcdp"] * (1 + 1e-6) + 1e-9
    assert found["kov"] <= min(found["basic"], found["advanced"] * (1 + 1e-9))
    assert all(x is not None and math.isfinite(x) and x >= 0 for x in found.values())


def test_parts_add_up_in_any_order_and_division() -> None:
    whole, split = [part(1, 5), part("0.3", 7)], [part("0.3", 3), part(1, 5), part("0.3", 4)]
    for one, other in zip(compositions(whole, 1e-6), compositions(split, 1e-6), strict=True):
        assert one.epsilon == pytest.approx(other.epsilon, rel=1e-9)
    assert merged(whole) == merged(split)


# Results


def test_without_a_delta_only_the_sum_holds() -> None:
    (only,) = compositions([part("0.1", 3)], None)
    assert only == Composition("basic", 0.3, 0.0, True, "basic composition")
    assert least([part("0.1", 3)], None) == only


def test_the_winner_is_the_least_and_of_equal_ones_basic_or_exact() -> None:
    for parts, delta in (([part(1, 30)], 1e-6), ([part(44)], 1e-100), ([part(1, 3)], 0.999)):
        found = compositions(parts, delta)
        (winner,) = [each for each in found if each.winner]
        assert winner == least(parts, delta)
        assert winner.epsilon == min(each.epsilon for each in found)
    assert least([part(44)], 1e-100).method == "basic"
    assert least([part(1, 30)], 1e-6).method == "exact"  # rounded up by more than the Rényi bound


def test_names_say_what_was_composed() -> None:
    one, two = [part(1, 30, "oue", 16)], [part(1, 30, "oue", 16), part(2)]
    assert by_method(one, 1e-6)["exact"].name == "exact composition of oue over 16 values"
    assert by_method([TWO_BITS], 1e-6)["exact"].name.startswith(
        "exact composition of any epsilon-LDP report"
    )
    assert "2 kinds of report" in by_method(two, 1e-6)["exact"].name
    assert [by_method(parts, 1e-6)["kov"].name for parts in (one, two)] == [
        "Kairouz, Oh, Viswanath 3.4",
        "Kairouz, Oh, Viswanath 3.5",
    ]


@pytest.mark.parametrize("delta", [0.0, 1.0, -1e-6, math.nan, math.inf])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        compositions([part(1)], delta)


def test_bad_parts_are_refused() -> None:
    with pytest.raises(ParameterError, match="parts"):
        compositions([], 1e-6)
    with pytest.raises(ParameterError, match="reports"):
        part(1, 0)
    with pytest.raises(ParameterError, match="epsilon_first"):
        Part(build("grr", 2, Decimal(2), Decimal(1)), 3)


# Losses


@pytest.mark.parametrize("name", sorted(MECHANISMS))
@pytest.mark.parametrize("epsilon", ["0.000001", "1.3", "20", "44"])
def test_losses_go_back_no_farther_than_thresholds_do(name: str, epsilon: str) -> None:
    mechanism = usual(name, 2 if name == "trajectory" else 4, Decimal(epsilon))
    losses = reported(mechanism)
    if losses is None:
        assert mechanism.losses is None
        return
    gain, loss = mechanism.losses
    with localcontext(prec=60):
        ratio = Decimal(gain.numerator * loss.denominator) / (gain.denominator * loss.numerator)
        back = Decimal(losses.back)
        assert back <= max(ratio.ln(), Decimal(0)) <= Decimal(epsilon)
        assert back >= ratio.ln() * (1 - Decimal(10) ** -13)


@pytest.mark.parametrize("over", [1e-9, 1e-3, 1.0, 30.0, 1e9, 1e17])
@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 44.0])
def test_divergences_are_those_of_the_definition(epsilon: float, over: float) -> None:
    losses = randomized_response(epsilon)
    with localcontext(prec=60):
        o, e = Decimal(over), Decimal(epsilon)
        gain = 1 / (1 + (-e).exp())
        small = gain * (-(2 * o + 1) * e).exp() if (2 * o + 1) * e < 10**5 else Decimal(0)
        exactly = e + (gain + small).ln() / o
    found = divergence(losses, over)
    assert Decimal(found) >= exactly
    assert found == pytest.approx(float(exactly), rel=1e-9, abs=1e-14 * (epsilon + 1 / over))


def test_a_third_answer_only_lessens_divergences() -> None:
    losses = randomized_response(1.0)
    half = replace(losses, gain=losses.gain / 2, loss=losses.loss / 2, none=0.5)
    for over in (0.1, 1.0, 10.0):
        assert divergence(half, over) < divergence(losses, over)


# Published values and those of independent programs


@pytest.mark.parametrize(
    ("epsilon", "reports", "delta", "expected", "within"),
    [
        (0.1, 10, 1e-6, 1.767429054344758, 0.005),
        (0.1, 1000, 1e-6, 27.13967317025586, 0.05),
        (0.01, 10000, 1e-6, 6.261538478173737, 0.005),
        (0.2, 200, 1e-5, 22.428391175237017, 0.005),
        (0.1, 50, 1e-5, 3.9189248025857943, 1e-9),
        (0.0012484394506866417, 10000, math.exp(-32), 1.0143473043148823, 5e-5),
        (0.01837567410362873, 100, 1e-6, 1, 1e-7),  # the largest of 100 whose total is 1
        (1 / 812.3180298644015, 10000, math.exp(-32), 1, 5e-5),
    ],
)
def test_advanced(
    epsilon: float, reports: int, delta: float, expected: float, within: float
) -> None:
    assert advanced([part(epsilon, reports)], delta) == pytest.approx(expected, abs=within)


def test_advanced_beats_basic_from_35_reports_on() -> None:
    assert advanced([part("0.1", 34)], 1e-6) > basic([part("0.1", 34)])
    assert advanced([part("0.1", 35)], 1e-6) < basic([part("0.1", 35)])


def test_closed_forms_of_different_epsilons_add_up() -> None:
    different = [part("0.1", 10), part("0.2", 3)]
    square, rise = 10 * 0.01 + 3 * 0.04, math.expm1(0.1) + 0.6 * math.expm1(0.2)
    expected = math.sqrt(2 * math.log(1e6) * square) + rise
    assert advanced(different, 1e-6) == pytest.approx(expected, rel=1e-12)
    rho = math.tanh(0.05) + 0.6 * math.tanh(0.1)
    many = [part("0.1", 1000), part("0.2", 300)]  # where the first logarithm is less
    expected = 100 * rho + math.sqrt(2 * math.log(2) * 100 * square)
    assert kov(many, 0.5) == pytest.approx(expected, rel=1e-12)
    few = [part("0.01", 10), part("0.02", 3)]  # where the second is
    square, rho = 0.01 * square, 0.1 * math.tanh(0.005) + 0.06 * math.tanh(0.01)
    log = math.log(math.e + math.sqrt(square) / 0.01)
    assert log < math.log(100)
    assert kov(few, 0.01) == pytest.approx(rho + math.sqrt(2 * log * square), rel=1e-12)


def test_other_bounds() -> None:
    assert basic([part("0.2", 200)]) == 40.0
    assert kov([part(2, 365)], 1e-6) == 730.0
    assert zcdp([part("0.5", 365)], 1e-6) == pytest.approx(92.56686803496942, abs=1e-5)
    assert rdp([part("0.5", 365)], 1e-6) == pytest.approx(90.1600066352503, abs=1e-5)
    assert rdp([part("0.2", 200)], 1e-5) == pytest.approx(16.176484345696736, abs=1e-5)


@pytest.mark.parametrize(
    ("epsilon", "reports", "delta", "looser"),
    [
        ("0.2", 200, 1e-5, 17.572280848830225),
        ("0.1", 1000, 1e-6, 21.6225813626911),
        ("2", 365, 1e-6, 930.8514148052129),
    ],
)
def test_zcdp_is_better_than_with_half_the_square(
    epsilon: str, reports: int, delta: float, looser: float
) -> None:
    assert zcdp([part(epsilon, reports)], delta) <= looser


def test_rdp_is_better_than_by_the_first_conversion() -> None:
    assert rdp([part(2, 365)], 1e-6) <= 670.1805144952992


def test_conversion_of_gaussian_curves() -> None:
    def one(over: float) -> float:
        return (1 + over) / 2

    assert converted(one, 1e-6) == pytest.approx(5.221534444530169, abs=1e-6)
    assert converted(one, 1e-5) == pytest.approx(4.728386984943314, abs=1e-5)
    assert converted(one, 1e-6) <= 5.756521769756932  # by the first conversion
    assert converted(one, 1e-5) <= 4.752728336819823  # by integer orders
