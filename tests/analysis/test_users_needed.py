"""Planning against published numbers, and against the definition of the number it returns."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.analysis import users_needed
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import build


@pytest.mark.parametrize(
    ("arguments", "users"),
    [
        ({"epsilon": 2, "margin": "0.001", "sigmas": 2}, 1724062),
        ({"epsilon": 2, "margin": "0.001"}, 1655728),
        (
            {"epsilon": 2, "margin": "0.001", "sigmas": 2, "values": 16, "mechanism": "grr"}
            | {"frequency": 0},
            2095937,
        ),
        (
            {"epsilon": 2, "margin": "0.001", "sigmas": 2, "values": 16, "mechanism": "oue"}
            | {"frequency": 0},
            2896247,
        ),
        ({"epsilon": 1, "margin": "0.01"}, 44971),
        ({"epsilon": 1, "margin": "0.01", "frequency": 0}, 35368),
        ({"epsilon": 1, "margin": "0.01", "fixed_population": True}, 35368),
        (
            {"epsilon": 1, "margin": "0.02", "values": 8, "mechanism": "grr"}
            | {"frequency": "0.4", "fixed_population": True},
            41773,
        ),
    ],
)
def test_published_plans(arguments: dict[str, Any], users: int) -> None:
    assert users_needed(**arguments).users == users


def test_the_worst_case_of_randomized_response_is_coth_squared() -> None:
    plan = users_needed(epsilon=2, margin="0.01")
    assert plan.variance_per_user == pytest.approx(1.3130352854993315**2 / 4, abs=1e-12)
    assert plan.frequency == pytest.approx(0.5, abs=1e-12)


@given(
    epsilon=st.decimals("0.05", "16", places=3),
    margin=st.decimals("0.0001", "0.3", places=5),
    sigmas=st.integers(1, 6),
    values=st.integers(2, 200),
    mechanism=st.sampled_from(["grr", "sue", "oue"]),
    frequency=st.none() | st.decimals(0, 1, places=2),
)
def test_the_number_is_the_least_that_suffices(
    epsilon: Decimal,
    margin: Decimal,
    sigmas: int,
    values: int,
    mechanism: str,
    frequency: Decimal | None,
) -> None:
    """In rationals: z^2 V / n is at most margin^2 for n users, and not for one user fewer."""
    plan = users_needed(
        epsilon=epsilon,
        margin=margin,
        sigmas=sigmas,
        values=values,
        mechanism=mechanism,
        frequency=frequency,
    )
    built = build(mechanism, values, epsilon)
    at = Fraction(plan.frequency) if frequency is None else Fraction(frequency)
    gamma = built.q + at * (built.p - built.q)
    needed = sigmas**2 * gamma * (1 - gamma) / (built.p - built.q) ** 2 / Fraction(margin) ** 2
    if frequency is None:  # plan.frequency is a float, the maximum is flat there
        assert plan.users == pytest.approx(math.ceil(needed), rel=1e-12, abs=1)
        assert plan.variance_per_user == pytest.approx(built.worst_variance_iid()[0], rel=1e-9)
    else:
        assert plan.users == math.ceil(needed)
        assert plan.variance_per_user == pytest.approx(built.variance_iid(float(at)), rel=1e-9)


@given(frequency=st.decimals(0, 1, places=3), values=st.integers(2, 50))
def test_no_frequency_needs_more_than_the_worst(frequency: Decimal, values: int) -> None:
    for mechanism in ("grr", "sue", "oue"):
        for fixed in (False, True):
            shared: dict[str, Any] = {
                "epsilon": "1.5",
                "margin": "0.01",
                "values": values,
                "mechanism": mechanism,
                "fixed_population": fixed,
            }
            given_one = users_needed(frequency=frequency, **shared)
            assert given_one.users <= users_needed(**shared).users


def test_what_is_assumed_is_said() -> None:
    plan = users_needed(epsilon=2, margin="0.01", values=16, epsilon_first=1)
    assert "95 % two-sided" in plan.assumption
    assert "worst case" in plan.assumption
    assert "independently sampled users" in plan.assumption
    assert f"{plan.mechanism} (g = 4) over 16 values, as auto chooses" in plan.assumption
    fixed = users_needed(epsilon=2, margin="0.01", sigmas=2, frequency=0, fixed_population=True)
    assert "2 standard errors" in fixed.assumption
    assert "two-sided" not in fixed.assumption
    assert "only the noise varies" in fixed.assumption


def test_a_float_is_the_decimal_it_denotes() -> None:
    for margin in (0.001, "0.001", "1e-3", Decimal("0.001")):
        assert users_needed(epsilon=2.0, margin=margin, sigmas=2).users == 1724062


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"margin": 0}, "margin must be above 1e-9 and below 1: 0"),
        ({"margin": 1}, "margin must be above"),
        ({"margin": "-0.1"}, "margin must be above"),
        ({"margin": "1e-400"}, "margin must be above"),
        ({"margin": math.nan}, "margin must be finite"),
        ({"confidence": 1}, "confidence must be above 0 and below 1: 1"),
        ({"confidence": 95}, "confidence must be above 0 and below 1: 95"),
        ({"sigmas": 0}, "sigmas must be above 0 and below 40"),
        ({"sigmas": "two"}, "sigmas must be a number"),
        ({"frequency": "1.01"}, "frequency must be in 0..1: 1.01"),
        ({"values": True}, "values must be a whole number"),
        ({"epsilon": None}, "epsilon must be a number"),
    ],
)
def test_parameters_out_of_range(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        users_needed(**({"epsilon": 2, "margin": "0.01"} | wrong))
