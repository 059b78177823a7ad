"""Central noise against published numbers, and against arithmetic of sixty digits."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.analysis.models.central import (
    analytic_sigma,
    gaussian_advantage,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_loss_tail,
    gaussian_true_positives,
    laplace_deviation,
    textbook_sigma,
)


def exact_delta(mu: float, epsilon: float) -> float:
    """The hockey-stick divergence by definition."""
    with mpmath.workdps(60):
        wide, far = mpmath.mpf(mu) / 2, mpmath.mpf(epsilon) / mpmath.mpf(mu)
        tails = [mpmath.erfc((far - side * wide) / mpmath.sqrt(2)) / 2 for side in (1, -1)]
        return float(tails[0] - mpmath.exp(mpmath.mpf(epsilon)) * tails[1])


def test_the_textbook_sigma_is_private_at_epsilon_4() -> None:
    """A textbook says that it is not; it is far outside its proof, and holds."""
    delta = gaussian_delta(1 / textbook_sigma(4, 1e-6), 4)
    assert delta == pytest.approx(5.386658942253646e-08, abs=1e-10)
    assert delta < 1e-6


def test_a_loss_that_often_exceeds_epsilon_refutes_nothing() -> None:
    """At epsilon 8 the tail is above delta 1e-5, and the claim holds nevertheless."""
    mu = 1 / textbook_sigma(8, 1e-5)
    assert mu == pytest.approx(1.6512531601110925, rel=1e-12)
    assert gaussian_loss_tail(mu, 8) == pytest.approx(2.9200684337193133e-05, abs=5e-08)
    assert gaussian_loss_tail(mu, 8) > 1e-5
    assert gaussian_delta(mu, 8) == pytest.approx(7.970595518086876e-06, abs=1e-08)
    assert gaussian_delta(mu, 8) < 1e-5
    tail = gaussian_loss_tail(1 / textbook_sigma(1, 1e-5), 1)
    assert tail == pytest.approx(1.0601746047001579e-06, abs=5e-09)


def test_where_the_textbook_sigma_first_fails() -> None:
    low, high = 8.0, 9.0
    for _ in range(60):
        middle = (low + high) / 2
        holds = gaussian_delta(1 / textbook_sigma(middle, 1e-5), middle) <= 1e-5
        low, high = (middle, high) if holds else (low, middle)
    assert low == pytest.approx(8.41977130153634, abs=1e-06)


def test_published_figures_of_gaussian_noise() -> None:
    assert gaussian_epsilon(1, 1e-5) == pytest.approx(4.377178095681228, abs=1e-9)
    mu = 1 / analytic_sigma(8, 1e-5)
    assert gaussian_advantage(mu) == pytest.approx(0.595163898957574, abs=1e-9)
    assert gaussian_true_positives(mu, 0.01) == pytest.approx(0.254525122884314, abs=1e-9)
    assert analytic_sigma(1 / 10_000, 1e-5 / 10_000) == pytest.approx(36190.489123225256, abs=1.0)


def test_laplace_noise() -> None:
    assert laplace_deviation(2.0) == pytest.approx(math.sqrt(0.5))
    assert math.ceil(2 * laplace_deviation(2.0) / 0.001) == 1415
    assert laplace_deviation(2.0, 2) == 2 * laplace_deviation(2.0)


@settings(max_examples=40, deadline=None)
@given(
    epsilon=st.floats(1e-6, 50),
    delta=st.floats(-15, -0.1).map(lambda exponent: 10.0**exponent),
    sensitivity=st.sampled_from([1.0, math.sqrt(2)]),
)
@example(epsilon=50.0, delta=1e-15, sensitivity=1.0)
@example(epsilon=1e-6, delta=1e-15, sensitivity=1.0)
@example(epsilon=1e-6, delta=0.9, sensitivity=1.0)
@example(epsilon=50.0, delta=0.9, sensitivity=1.0)
def test_sigma_suffices_and_hardly_less_does(
    epsilon: float, delta: float, sensitivity: float
) -> None:
    """One part in 30 000 less fails, by the definition in sixty digits."""
    sigma = analytic_sigma(epsilon, delta, sensitivity)
    assert exact_delta(sensitivity / sigma, epsilon) <= delta
    assert exact_delta(sensitivity / sigma * (1 + 1 / 30_000), epsilon) > delta


@settings(max_examples=40, deadline=None)
@given(mu=st.floats(1e-3, 20), epsilon=st.floats(0, 50), more=st.floats(1e-6, 1))
@example(mu=20.0, epsilon=0.0, more=1.0)
def test_delta_is_never_below_the_truth_and_falls_with_epsilon(
    mu: float, epsilon: float, more: float
) -> None:
    delta, truth = gaussian_delta(mu, epsilon), exact_delta(mu, epsilon)
    assert 0 <= delta <= 1
    if truth > 1e-280:
        assert truth <= delta <= truth * (1 + 1e-6) + 1e-9 * gaussian_loss_tail(mu, epsilon)
    assert gaussian_delta(mu, epsilon + more) <= delta * (1 + 1e-9) + 1e-9 * delta
    assert gaussian_delta(mu, epsilon) <= gaussian_delta(mu * 1.01, epsilon)


@settings(max_examples=30, deadline=None)
@given(mu=st.floats(1e-3, 20), delta=st.floats(-15, -1).map(lambda exponent: 10.0**exponent))
def test_epsilon_suffices(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    assert exact_delta(mu, epsilon) <= delta
    assert epsilon == 0 or exact_delta(mu, epsilon * (1 - 1e-4)) > delta * (1 - 1e-9)
