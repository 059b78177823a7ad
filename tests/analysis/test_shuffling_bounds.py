"""Bounds on shuffled reports against reference values, published forms, and themselves."""

from __future__ import annotations

import math
from decimal import Decimal

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.analysis import plan_local
from deniable.analysis.shuffling import binomial
from deniable.analysis.shuffling.bounds import (
    best_upper,
    clones_bound,
    crowd_for,
    lower_bound,
    shuffle_bounds,
)
from deniable.analysis.shuffling.classes import Coin, blankets
from deniable.analysis.shuffling.closed_forms import efmrtt19, fmt22, fmt22_limit
from deniable.analysis.shuffling.curves import above, of_coin, solve
from deniable.protocol.amplification import amplified
from deniable.protocol.errors import ParameterError
from deniable.protocol.limits import EPSILON_MAX
from deniable.protocol.mechanisms import Mechanism, build


def upper(mechanism: Mechanism, crowd: int, delta: float) -> float:
    return best_upper(mechanism, crowd, delta)[0]


def grr(k: int, epsilon: str) -> Mechanism:
    return build("grr", k, Decimal(epsilon))


@pytest.mark.parametrize(
    ("n", "epsilon", "delta", "expected"),
    [
        (10_000, 1.0, 1e-6, 0.05300534588780027),
        (10_000, 2.0, 1e-6, 0.15504603481321572),
        (100_000, 4.0, 1e-6, 0.16977080164896702),
        (1_000_000, 3.0, 1e-8, 0.03558228498378614),
    ],
)
def test_clones_agree_with_a_reference(
    n: int, epsilon: float, delta: float, expected: float
) -> None:
    assert clones_bound(epsilon, n, delta) == pytest.approx(expected, rel=0.0002)


@pytest.mark.parametrize(
    ("k", "n", "epsilon", "delta", "expected", "tolerance"),
    [
        (10, 1000, "2", 1e-6, 0.2728594193160077, 0.002),
        (4, 10_000, "2", 1e-6, 0.10200062463518086, 0.002),
        (10, 10_000, "4", 1e-6, 0.3805459110693879, 0.002),
        (100, 1_000_000, "2", 1e-8, 0.003411871532291589, 0.002),
        (16, 1_000_000, "4", 1e-8, 0.04009598608508508, 0.002),
        (2, 10_000, "1", 1e-6, 0.04320622106619065, 0.0002),  # the stronger clones
    ],
)
def test_the_blanket_of_grr_agrees_with_a_reference(
    k: int, n: int, epsilon: str, delta: float, expected: float, tolerance: float
) -> None:
    assert upper(grr(k, epsilon), n, delta) == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize(
    ("name", "n", "epsilon", "delta", "expected"),
    [
        ("oue", 10_000, "1", 1e-6, 0.029771755187897087),
        ("oue", 1_000_000, "2", 1e-8, 0.009057768882921877),
        ("sue", 10_000, "1", 1e-6, 0.030722565895421865),
    ],
)
def test_the_blanket_of_bits_agrees_with_a_reference(
    name: str, n: int, epsilon: str, delta: float, expected: float
) -> None:
    found = upper(build(name, 16, Decimal(epsilon)), n, delta)
    assert found == pytest.approx(expected, rel=0.003)


@pytest.mark.parametrize(
    ("n", "epsilon", "delta", "expected"),
    [
        (1_000_000, "2", 1e-6, 0.006999724421969427),
        (1_000_000, "4", 1e-8, 0.03199057877022331),
    ],
)
def test_one_answer_held_by_all_others_is_exact_for_two_values(
    n: int, epsilon: str, delta: float, expected: float
) -> None:
    found = shuffle_bounds(grr(2, epsilon), n, delta)
    assert found.lower == pytest.approx(expected, rel=1e-6)
    assert found.lower is not None
    assert found.lower <= found.upper


@pytest.mark.parametrize(
    ("n", "k", "epsilon", "exact", "formula"),
    [
        (100, 10, "4", 3.460363, 3.168377),
        (300, 10, "2", 0.513878, 0.511169),
        (300, 4, "4", 3.519673, 3.421551),
    ],
)
def test_a_real_data_set_exceeds_a_published_formula_but_not_this_bound(
    n: int, k: int, epsilon: str, exact: float, formula: float
) -> None:
    found = shuffle_bounds(grr(k, epsilon), n, 1e-6)
    assert found.lower is not None
    assert found.lower == pytest.approx(exact, rel=0.0003)  # grouped, so a little less
    assert found.lower <= exact * (1 + 1e-6)
    assert found.upper >= exact > formula


@pytest.mark.parametrize(
    ("n", "epsilon", "expected"),
    [
        (1000, "1", 0.08088753764528685),
        (10_000, "2", 0.051139670163060355),
        (10_000, "4", 0.12246405906963667),
    ],
)
def test_what_sums_of_bits_reveal_is_within_the_bound(
    n: int, epsilon: str, expected: float
) -> None:
    assert upper(build("sue", 16, Decimal(epsilon)), n, 1e-6) >= expected


@pytest.mark.parametrize(
    ("k", "n", "epsilon", "delta", "concentration"),
    [
        (0, 1000, "0.4", 1e-6, 0.13489),  # any randomizer, Hoeffding
        (0, 1000, "0.4", 1e-6, 0.270421),  # Bennett
        (0, 10_000, "1", 1e-6, 0.166166),
        (0, 100_000, "2", 1e-6, 0.276501),
        (2, 1000, "0.4", 1e-6, 0.056378),
        (2, 1000, "0.4", 1e-6, 0.058296),
        (2, 10_000, "1", 1e-6, 0.050667),
        (2, 100_000, "2", 1e-6, 0.039071),
        (2, 100_000, "2", 1e-6, 0.039267),
        (2, 1_000_000, "1", 1e-8, 0.005709),
        (10, 1000, "0.4", 1e-6, 0.027786),
        (10, 10_000, "1", 1e-6, 0.02804),
        (10, 1_000_000, "1", 1e-8, 0.003131),
    ],
)
def test_the_exact_blanket_beats_concentration_inequalities(
    k: int, n: int, epsilon: str, delta: float, concentration: float
) -> None:
    found = upper(grr(k, epsilon), n, delta) if k else clones_bound(float(epsilon), n, delta)
    assert 0.1 * concentration < found <= concentration + 2e-6


def test_closed_forms_hold_where_they_were_proven_only() -> None:
    assert amplified(2.0, 10**6, 1e-6) == pytest.approx(0.06261672225278506, abs=1e-9)
    assert amplified(4.0, 10**9, 1e-8) == pytest.approx(0.00798848558979526, abs=1e-9)
    assert amplified(4, 1000, 1e-6) is None
    assert fmt22_limit(10_000, 1e-6) == pytest.approx(4.444478461269134, abs=1e-9)
    assert fmt22(4.4444, 10_000, 1e-6) is not None
    assert fmt22(4.4445, 10_000, 1e-6) is None
    assert fmt22(1.0, 1, 1e-6) is None
    assert efmrtt19(0.4, 10**6, 1e-6) == pytest.approx(0.01784122650647923, abs=1e-9)
    assert efmrtt19(0.5, 10**6, 1e-6) is None


def test_closed_forms_are_looser_than_the_bound_and_grr_alone_has_the_one_with_an_erratum() -> None:
    found = shuffle_bounds(grr(4, "0.4"), 10**6, 1e-6)
    assert [form.name.split()[-1] for form in found.closed_forms] == ["2020", "2022", "2019"]
    for form in found.closed_forms:
        assert form.epsilon is not None, form
        assert form.epsilon > found.upper, form
    others = shuffle_bounds(build("oue", 4, Decimal(2)), 10**6, 1e-6).closed_forms
    assert [form.name.split()[-1] for form in others] == ["2020", "2019"]
    assert others[1].epsilon is None


def test_the_folklore_rule_is_no_bound() -> None:
    n, delta = 10**6, 1e-6
    rule = math.sqrt(math.log(1 / delta) / n)
    assert rule == pytest.approx(0.0037169221888498387, abs=1e-9)
    assert clones_bound(1.0, n, delta) == pytest.approx(4.3357e-3, rel=1e-3)
    assert clones_bound(1.0, n, delta) > rule


def test_shuffling_never_reveals_more_than_the_report() -> None:
    assert upper(grr(2, "4"), 100, 1e-8) == pytest.approx(4.0, abs=0.0001)
    assert upper(grr(2, "4"), 100, 1e-8) <= 4.0
    none = shuffle_bounds(grr(2, "0.1"), 1, 1e-6)
    e = math.exp(0.1)
    assert none.upper == pytest.approx(math.log(e - 1e-6 * (e + 1)), abs=1e-12)
    assert none.lower == pytest.approx(none.upper, rel=1e-9)
    assert shuffle_bounds(grr(2, "0.1"), 1, 0.3).upper == 0


def test_how_many_users_a_central_epsilon_takes() -> None:
    warner = grr(2, "2")
    users = crowd_for(warner, 0.1, 1e-6)
    assert users == pytest.approx(12852, rel=0.002)
    assert upper(warner, users, 1e-6) <= 0.1 < upper(warner, users - 100, 1e-6)
    assert crowd_for(warner, 2.0, 1e-6) == 1
    with pytest.raises(ParameterError, match="more than 1,000,000,000 devices"):
        crowd_for(warner, 1e-6, 1e-15)


@pytest.mark.parametrize("name", ["grr", "oue", "olh", "1bitmean"])
def test_the_largest_local_epsilon_is_within_the_central_one_and_no_larger_is(name: str) -> None:
    plan = plan_local(central_epsilon="0.02", delta="1e-8", crowd=10**6, values=4, mechanism=name)
    assert upper(build(name, 4, plan.epsilon), 10**6, 1e-8) <= 0.02
    assert upper(build(name, 4, plan.epsilon * Decimal("1.01")), 10**6, 1e-8) > 0.02


def test_a_local_epsilon_is_never_less_than_the_central_one_and_at_most_the_largest() -> None:
    def local(central: str, crowd: int) -> Decimal:
        return plan_local(central_epsilon=central, delta="1e-8", crowd=crowd).epsilon

    assert local("0.25", 1) == Decimal("0.25")
    assert local("40", 10) == EPSILON_MAX
    with pytest.raises(ParameterError, match="cannot be reached"):
        local("0.000001", 10)


MECHANISMS = ("grr", "sue", "oue", "olh", "ss", "hr", "dbitflip", "1bitmean", "piecewise")


@given(
    name=st.sampled_from(MECHANISMS),
    k=st.integers(2, 40),
    thousandths=st.integers(10, 8000),
    log_n=st.floats(0, 20),
    log_delta=st.floats(-34, -2),
)
@settings(max_examples=8, deadline=None)
def test_upper_is_above_lower_and_both_follow_epsilon_n_and_delta(
    name: str, k: int, thousandths: int, log_n: float, log_delta: float
) -> None:
    epsilon, n, delta = Decimal(thousandths) / 1000, int(math.exp(log_n)), math.exp(log_delta)
    k = max(k, 3) if name == "piecewise" else k
    mechanism = build(name, k, epsilon)
    found = shuffle_bounds(mechanism, n, delta)
    assert 0 <= found.upper <= float(epsilon)
    assert found.lower is None or 0 <= found.lower <= found.upper
    loose = 1 + 0.01  # blocks and cells are grouped otherwise: at most a few parts in a thousand
    assert upper(mechanism, 2 * n, delta) <= found.upper * loose
    assert upper(mechanism, n, delta * 2) <= found.upper * loose
    if name in ("grr", "sue", "oue", "1bitmean"):  # the others change their shape with epsilon
        assert upper(build(name, k, epsilon * 2), n, delta) >= found.upper / loose


@pytest.mark.parametrize("epsilon", ["0.000001", "1", "44"])
@pytest.mark.parametrize("n", [1, 2, 10**9])
@pytest.mark.parametrize("delta", [1e-15, 0.5])
@pytest.mark.parametrize("name", ["grr", "oue", "olh"])
def test_extremes_are_finite(name: str, epsilon: str, n: int, delta: float) -> None:
    with np.errstate(all="raise", under="ignore"):
        found = shuffle_bounds(build(name, 3, Decimal(epsilon)), n, delta)
    assert found.lower is not None
    assert 0 <= found.lower <= found.upper <= float(epsilon)


def test_a_crowd_beyond_a_thousand_million_counts_as_one_or_by_a_closed_form() -> None:
    found = shuffle_bounds(grr(2, "2"), 10**15, 1e-9)
    assert found.upper == fmt22(2.0, 10**15, 1e-9) < upper(grr(2, "2"), 10**9, 1e-9)
    assert found.lower is None
    barely = shuffle_bounds(grr(2, "2"), 10**9 + 1, 1e-9)
    assert barely.upper == upper(grr(2, "2"), 10**9, 1e-9)


def test_where_nothing_is_known_there_is_no_lower_bound() -> None:
    assert lower_bound(build("piecewise", 11, Decimal(2)), 1000, 1e-6, 2.0) is None
    assert lower_bound(build("dbitflip", 8, Decimal(2), None, {"bits": 2}), 1000, 1e-6, 2.0) is None


def test_a_bound_is_attained_by_its_curve() -> None:
    """Rounded up, and no further than the search's precision."""
    _, blanket = blankets(grr(3, "1.5"))
    curve = above(blanket, 500, 1e-5)
    epsilon = solve(curve, 1e-5, 1.5, upper=True)
    assert curve(epsilon) <= 1e-5 < curve(epsilon * (1 - 1e-8))
    mechanism = grr(2, "1.5")
    coin = of_coin(Coin(mechanism.q, mechanism.p), 500)  # type: ignore[attr-defined]
    low = solve(coin, 1e-5, 1.5, upper=False)
    assert coin(low) >= 1e-5 > coin(low * (1 + 1e-8))


def _mass(k: int, n: int, p: mpmath.mpf) -> mpmath.mpf:
    log = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
    return mpmath.exp(log + k * mpmath.log(p) + (n - k) * mpmath.log(1 - p))


def _tail_and_excess(t: float, n: int, p: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Both sums term by term from ceil(t) up, to 25 digits."""
    k = math.ceil(t)
    term, chance, mean = _mass(k, n, p), mpmath.mpf(0), mpmath.mpf(0)
    while k <= n and term > chance * mpmath.mpf(10) ** -25:
        chance, mean = chance + term, mean + (k - mpmath.mpf(t)) * term
        term *= (n - k) * p / ((k + 1) * (1 - p))
        k += 1
    return chance, mean


@pytest.mark.parametrize(
    ("n", "p"),
    [(1, 0.5), (2, 0.2), (30, 0.5), (1000, 0.2), (10**6, 0.5), (10**6, 0.001), (10**8, 3e-7),
     (10**9, 1e-7), (10**9, 2**-24), (3 * 10**7, 0.5)],
)  # fmt: skip
@pytest.mark.parametrize("z", [0.4, 3.0, 7.0])
def test_masses_tails_and_excesses_are_within_their_errors(n: int, p: float, z: float) -> None:
    t = min(n * p + z * math.sqrt(n * p * (1 - p)), n - 0.25)
    with mpmath.workdps(50):
        exact = mpmath.mpf(p)
        chance, mean = _tail_and_excess(t, n, exact)
        k, slack = math.ceil(t), float(binomial.slack(n, p))
        assert abs(float(binomial.mass(k, n, p, 1 - p) / _mass(k, n, exact) - 1)) < slack / 4
        assert abs(float(binomial.tail(k, n, p, 1 - p) / chance - 1)) < slack / 4
        value, error = binomial.excess(t, n, p, 1 - p)
        assert abs(float(value) - mean) <= float(error)
        assert float(error) < 1e-3 * mean
