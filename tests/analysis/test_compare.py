"""Local, shuffled and central: each figure against the function it comes from."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.analysis import compare, plan_local, users_needed
from deniable.analysis.cli import main
from deniable.analysis.estimators import fake_bias
from deniable.analysis.models.central import analytic_sigma
from deniable.analysis.plans.digits import GRID
from deniable.analysis.shuffling.inverse import holds
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import build


def rows(**arguments: Any) -> dict[str, Any]:
    return {row.model: row for row in compare(**arguments).models}


def test_the_published_users_of_a_central_count() -> None:
    found = rows(epsilon=2, devices=10_000, delta="1e-6", margin="0.001", sigmas=2)
    assert found["central Laplace"].users == 1415
    assert found["central Laplace"].standard_error == pytest.approx(math.sqrt(0.5) / 10_000)


def test_the_local_row_is_that_of_users_needed() -> None:
    found = rows(epsilon=1, devices=10_000, delta="1e-6", values=16, margin="0.02")["local"]
    needed = users_needed(epsilon=1, margin="0.02", values=16, fixed_population=True)
    assert found.users == needed.users
    assert found.standard_error == pytest.approx(math.sqrt(needed.variance_per_user / 10_000))
    assert found.fake_bias == needed.fake_bias
    assert found.advantage_cap == pytest.approx(math.tanh(0.5))


def test_a_histogram_is_twice_as_sensitive_as_a_count() -> None:
    shared: dict[str, Any] = {"epsilon": 1, "devices": 1000, "delta": "1e-6"}
    count = rows(margin="0.5", **shared)
    histogram = rows(margin="0.5", values=3, **shared)
    number = rows(margin="0.5", values=21, mechanism="piecewise", **shared)
    for model, ratio in (("central Laplace", 2), ("central Gaussian", math.sqrt(2))):
        small, large = count[model].standard_error, histogram[model].standard_error
        assert large == pytest.approx(ratio * small, rel=1e-9)
        assert number[model].standard_error == pytest.approx(small)
        assert histogram[model].advantage_cap == pytest.approx(count[model].advantage_cap)
    assert count["central Gaussian"].standard_error == analytic_sigma(1, 1e-6) / 1000


def test_the_shuffled_row_is_private_and_its_crowd_suffices() -> None:
    found = rows(epsilon="0.5", devices=50_000, delta="1e-6", margin="0.01", fake_share="0.1")
    shuffled = found["shuffled"]
    local = plan_local(central_epsilon="0.5", delta="1e-6", crowd=50_000, fake_share="0.1")
    assert shuffled.local_epsilon == float(local.epsilon)
    assert found["central Laplace"].users < shuffled.users < found["local"].users
    assert shuffled.standard_error < found["local"].standard_error
    crowd = rows(
        epsilon="0.5", devices=shuffled.users, delta="1e-6", margin="0.01", fake_share="0.1"
    )["shuffled"]
    z = 1.959963984540054
    assert z * crowd.standard_error <= 0.01 * (1 + 1e-3)
    fewer = rows(
        epsilon="0.5",
        devices=round(shuffled.users * 0.97),
        delta="1e-6",
        margin="0.01",
        fake_share="0.1",
    )["shuffled"]
    assert z * fewer.standard_error > 0.01


@settings(max_examples=5, deadline=None)
@given(
    central=st.decimals("0.05", "3", places=2),
    crowd=st.integers(1, 10**9),
    exponent=st.integers(-15, -2),
    mechanism=st.sampled_from(["grr", "oue", "olh"]),
)
def test_a_local_epsilon_keeps_the_central_one_and_no_more_does(
    central: Any, crowd: int, exponent: int, mechanism: str
) -> None:
    delta = 10.0**exponent
    plan = plan_local(
        central_epsilon=central, delta=delta, crowd=crowd, mechanism=mechanism, values=8
    )
    options = dict(plan.proposal.mechanism.chosen)
    assert plan.upper <= central or plan.epsilon == central
    assert plan.epsilon >= central
    assert plan.lower is None or plan.lower <= plan.upper
    if plan.epsilon < 16 and plan.epsilon > central:
        more = GRID[GRID.below(Fraction(plan.epsilon)) + 1]
        free = {} if mechanism == "olh" else options
        assert not holds(build(mechanism, 8, more, None, free), crowd, delta, float(central))


def test_a_central_epsilon_that_devices_cannot_start_from() -> None:
    with pytest.raises(ParameterError, match=r"central_epsilon 0\.001 cannot be reached with 10 "):
        plan_local(central_epsilon="0.001", delta="1e-9", crowd=10)
    assert plan_local(central_epsilon=20, delta="1e-9", crowd=10).epsilon == 16
    with pytest.raises(ParameterError, match="fake_share must leave one honest device"):
        plan_local(central_epsilon=1, delta="1e-9", crowd=10, fake_share=1)


@pytest.mark.parametrize(
    ("epsilon", "delta", "devices"),
    [
        ("1e-6", "1e-15", 10**9),
        ("1e-6", "0.5", 1),
        ("0.01", "1e-15", 10**15),
        ("16", "1e-15", 10**9),
        ("44", "1e-15", 1),
        ("44", "0.5", 10**9),
    ],
)
def test_extremes_are_finite(epsilon: str, delta: str, devices: int) -> None:
    comparison = compare(epsilon=epsilon, devices=devices, delta=delta)
    json.dumps(comparison.document(), allow_nan=False)
    assert all(0 < row.advantage_cap <= 1 for row in comparison.models)
    assert all(row.users and row.users > 0 for row in comparison.models)


def test_a_delta_that_lets_somebody_be_exposed_is_warned_of() -> None:
    plan = plan_local(central_epsilon=1, delta="0.001", crowd=1000)
    assert "delta = 0.001 is not below 1/1,000" in plan.document()["caveats"][0]
    assert plan_local(central_epsilon=1, delta="0.0009", crowd=1000).document()["caveats"] == []
    assert len(compare(epsilon=1, devices=1000, delta="0.001", margin="0.5").caveats) == 1


def test_the_command_says_whom_to_trust() -> None:
    arguments = ["compare", "--epsilon", "1", "--devices", "10000", "--delta", "1e-6"]
    document = json.loads(CliRunner().invoke(main, [*arguments, "--format", "json"]).stdout)
    assert {
        "epsilon", "epsilon_unit", "delta", "devices", "values", "mechanism", "margin",
        "standard_errors", "confidence", "neighbours", "sensitivity", "models", "caveats",
    } == set(document)  # fmt: skip
    table = " ".join(CliRunner().invoke(main, arguments).output.split())
    for words in ("Trusted: nobody but", "Trusted: the shuffler", "Trusted: the collector"):
        assert words in table
    assert "differ in one person's answer" in table
    assert document["models"][0]["fake_bias"] == fake_bias(build("grr", 2, Decimal(1)))


def test_users_are_said_to_be_of_the_noise_alone() -> None:
    comparison = compare(epsilon=1, devices=10_000, delta="1e-6")
    sampled = users_needed(epsilon=1, margin="0.01").users
    assert comparison.models[0].users == 35_368 < sampled == 44_971
    (section,) = comparison.sections()
    assert "users for ±0.01 of noise alone" in section.columns
    assert "what sampling adds is left out here, and counted by users-needed" in " ".join(
        section.notes
    )


@pytest.mark.parametrize(
    ("epsilon", "caveat"),
    [
        ("1e-6", "local: no device accepts epsilon 0.000001: only 0.01 to 16"),
        ("20", "shuffled: no device accepts epsilon 20: only 0.01 to 16"),
    ],
)
def test_what_no_device_accepts_is_said_so(epsilon: str, caveat: str) -> None:
    assert caveat in compare(epsilon=epsilon, devices=1000, delta="1e-6", margin="0.5").caveats


def test_as_many_values_as_devices_accept() -> None:
    shared: dict[str, Any] = {"devices": 10_000, "delta": "1e-6", "mechanism": "oue"}
    assert compare(epsilon=1, values=4096, **shared).values == 4096
    with pytest.raises(ParameterError, match=r"values must be at most 4,096, for devices accept"):
        compare(epsilon=1, values=4097, **shared)


def test_the_mechanism_is_chosen_no_more_often_than_two_searches_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search among the decimals of four digits from 1 to 16 takes 15 trials."""
    from deniable.analysis.plans.asked import Asked

    tried: list[Decimal] = []
    own = Asked.at

    def at(self: Asked, epsilon: Decimal) -> Any:
        tried.append(epsilon)
        return own(self, epsilon)

    monkeypatch.setattr(Asked, "at", at)
    compare(epsilon=1, devices=100_000, delta="1e-6", values=300)
    assert len(tried) <= 2 * 15 + 6


def test_a_single_device_is_one_device() -> None:
    text = " ".join(note for note in compare(
        epsilon=1, devices=1, delta="1e-6", margin="0.5"
    ).sections()[0].notes)  # fmt: skip
    assert " 1 device, to answer once" in text
    assert "1 devices" not in text
