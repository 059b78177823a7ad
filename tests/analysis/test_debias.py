"""Counts from anywhere: exact estimates, their errors, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.analysis import debias
from deniable.analysis.render import render
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import build

LN3 = "1.0986122886681098"


def test_the_textbook_survey() -> None:
    """400 people, coin protocol, 160 say yes: 120 of them mean it."""
    result = debias([240, 160], mechanism="grr", epsilon=LN3)
    no, yes = result.estimates
    assert (no.value, yes.value) == (0, 1)
    assert yes.count == pytest.approx(120, abs=1e-9)
    assert yes.frequency == pytest.approx(0.3, abs=1e-12)
    assert yes.standard_error * 400 == pytest.approx(19.595917942265423, abs=1e-9)
    assert (yes.low + yes.high) / 2 == pytest.approx(0.3, abs=1e-12)
    assert yes.high - yes.low == pytest.approx(2 * 1.959963984540054 * yes.standard_error)
    assert no.count + yes.count == pytest.approx(400)


def test_other_published_values() -> None:
    """p = 0.75 debiases 0.434 to 0.368; at epsilon 1 and n = 1e6 the error is 1.082e-3."""
    shares = debias([566, 434], mechanism="grr", epsilon=LN3).estimates
    assert shares[1].frequency == pytest.approx(0.368, abs=1e-12)
    even = debias([500_000, 500_000], mechanism="grr", epsilon=1).estimates
    assert even[1].standard_error == pytest.approx(0.0010819767068693264, abs=1e-9)
    p = float(build("grr", 2, Decimal(1)).p)
    share = (1 - p) + 0.548 * (2 * p - 1)
    yes = round(1_000_000 * share)
    reported = debias([1_000_000 - yes, yes], mechanism="grr", epsilon=1).estimates[1]
    assert reported.standard_error * 10 == pytest.approx(0.01080911464555628, abs=1e-8)


@given(
    counts=st.lists(st.integers(0, 10**9), min_size=2, max_size=12).filter(any),
    epsilon=st.decimals("0.01", "16", places=4),
    second=st.booleans(),
    mechanism=st.sampled_from(["grr", "sue", "oue"]),
)
def test_estimates_are_the_rationals_up_to_a_few_roundings(
    counts: list[int], epsilon: Decimal, second: bool, mechanism: str
) -> None:
    """C/n, q, their difference, p - q and the quotient are rounded once each."""
    first = epsilon / 2 if second else None
    n = sum(counts)
    result = debias(counts, mechanism=mechanism, epsilon=epsilon, epsilon_first=first, n=n)
    built = build(mechanism, len(counts), epsilon, first)
    for count, estimate in zip(counts, result.estimates, strict=True):
        truth = (Fraction(count, n) - built.q) / (built.p - built.q)
        roundings = 5 * 2.0**-53 * (abs(truth) + 1 / (built.p - built.q))
        assert abs(estimate.frequency - truth) <= roundings
        assert estimate.low <= estimate.frequency <= estimate.high
        gamma = min(max(Fraction(count, n), built.q), built.p)
        error = math.sqrt(gamma * (1 - gamma) / n / (built.p - built.q) ** 2)
        assert estimate.standard_error == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("mechanism", ["grr", "sue", "oue"])
@pytest.mark.parametrize("first", [None, "1"])
def test_unbiased_over_real_reports(mechanism: str, first: str | None) -> None:
    """20 000 devices through the mechanism's own draws; 6.2 standard errors fail once in 1e9."""
    built = build(mechanism, 3, Decimal(2), None if first is None else Decimal(first))
    rng = np.random.default_rng(7)

    class Seeded:
        def chance(self, threshold: int) -> bool:
            return int(rng.integers(0, 1 << 64, dtype=np.uint64)) < threshold

        def below(self, n: int) -> int:
            return int(rng.integers(0, n))

    truth = [0.7, 0.3, 0.0]
    n = 20_000
    draws = Seeded()
    counts = [0, 0, 0]
    for value in [0] * 14_000 + [1] * 6_000:
        permanent = built.permanent(0, str(value).encode(), draws)
        report = built.instant(permanent, draws)
        for symbol in range(3):
            counts[symbol] += built.supports(symbol, report)
    result = debias(counts, mechanism=mechanism, epsilon=2, epsilon_first=first, n=n)
    for frequency, estimate in zip(truth, result.estimates, strict=True):
        assert abs(estimate.frequency - frequency) < 6.2 * estimate.standard_error


def test_raw_estimates_may_be_negative() -> None:
    result = debias([990, 10], mechanism="grr", epsilon=1)
    assert result.estimates[1].frequency < -0.5
    assert result.estimates[0].frequency > 1.5
    assert result.post_process == "none"


@pytest.mark.parametrize("how", ["clip", "norm-sub", "simplex"])
def test_steps_leave_errors_and_intervals_alone(how: str) -> None:
    counts = [900, 80, 15, 5]
    raw = debias(counts, mechanism="grr", epsilon=1)
    made = debias(counts, mechanism="grr", epsilon=1, post_process=how)
    assert made.post_process == how
    assert min(e.frequency for e in made.estimates) == 0
    for before, after in zip(raw.estimates, made.estimates, strict=True):
        assert after.count == after.frequency * 1000
        assert (before.standard_error, before.low, before.high) == (
            after.standard_error,
            after.low,
            after.high,
        )
    assert "errors and intervals of the raw ones" in "".join(made.sections()[0].notes)


def width(counts: list[int], **arguments: Any) -> float:
    arguments = {"mechanism": "grr", "epsilon": 2, "simultaneous": True} | arguments
    estimate = debias(counts, **arguments).estimates[0]
    return (estimate.high - estimate.low) / estimate.standard_error / 2


def test_simultaneous_intervals_are_wider() -> None:
    many = [10**6] * 16
    assert width(many, simultaneous=False) == pytest.approx(1.959963984540054)
    assert width(many) == pytest.approx(2.95516, abs=1e-4)  # z at 1 - 0.05/32


def test_one_answer_and_its_complement_are_one_estimate() -> None:
    assert width([10**6, 10**6]) == pytest.approx(1.959963984540054)
    unary = {"mechanism": "oue", "n": 3 * 10**6}
    assert width([10**6, 10**6], **unary) == pytest.approx(2.2414, abs=1e-4)


@pytest.mark.parametrize(
    ("counts", "wrong", "message"),
    [
        ([1], {}, "counts must be one for each value, two at least: 1"),
        ([], {}, "counts must be one for each value"),
        ([0, 0], {}, "at least one report"),
        ([1, -1], {}, "counts must be a whole number in 0.*: -1"),
        ([1, 2.5], {}, "counts must be a whole number"),
        ([1, 2**64], {}, "counts must be a whole number"),
        ([1, 2], {"n": 4}, r"n must be the sum of the counts \(3\) or left out: 4"),
        ([1, 2], {"mechanism": "oue"}, "n is needed for oue"),
        ([1, 2], {"mechanism": "sue", "n": 1}, r"counts must not exceed n \(1\): 2"),
        ([1, 2], {"mechanism": "oue", "n": 0}, "n must be a whole number in 1"),
        ([1, 2], {"mechanism": "auto"}, "mechanism must be one of grr, sue, oue.*: auto"),
        ([1, 2], {"post_process": "no"}, "post_process must be one of none, clip, .*: no"),
        ([1, 2], {"confidence": 0}, "confidence must be above 0"),
        ([1, 2], {"epsilon_first": 3}, "epsilon_first must be less than epsilon"),
    ],
)
def test_what_does_not_fit_is_refused(
    counts: list[Any], wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        debias(counts, **({"mechanism": "grr", "epsilon": 2} | wrong))


@pytest.mark.parametrize("mechanism", ["grr", "sue", "oue"])
def test_fake_devices_move_an_estimate_by_what_is_said(mechanism: str) -> None:
    """1 % of devices that all name a value nobody holds."""
    k, n = 5, 10**9
    q = float(build(mechanism, k, Decimal(2)).q)
    expected = round(0.99 * n * q + 0.01 * n)
    counts = [n - expected, expected, 0, 0, 0]
    result = debias(counts, mechanism=mechanism, epsilon=2, n=n)
    assert result.estimates[1].frequency == pytest.approx(result.fake_bias, rel=1e-6)


def test_grr_takes_n_when_it_agrees() -> None:
    assert debias([1, 2], mechanism="grr", epsilon=2, n=3).n == 3


def test_numpy_numbers_are_numbers() -> None:
    counts = np.array([240, 160])
    result = debias(counts, mechanism="grr", epsilon=np.float64(LN3), confidence=np.float64(0.9))
    assert result.estimates[1].count == pytest.approx(120)
    assert result.confidence == 0.9


def test_json_has_no_infinities() -> None:
    result = debias([240, 160], mechanism="grr", epsilon=2)
    with pytest.raises(ValueError, match="Out of range float"):
        render(replace(result, fake_bias=math.inf), "json")


def test_hardly_any_noise_and_hardly_any_signal() -> None:
    """Epsilon at both ends of what is computed, all counts on one side."""
    certain = debias([0, 10**9], mechanism="grr", epsilon=44).estimates[1]
    assert certain.frequency == pytest.approx(1, abs=1e-15)
    assert 0 < certain.standard_error < 1e-12
    hidden = debias([0, 10**9], mechanism="grr", epsilon="0.000001").estimates[1]
    assert math.isfinite(hidden.frequency)
    assert hidden.standard_error == pytest.approx(1e6 / math.sqrt(1e9), rel=1e-5)
