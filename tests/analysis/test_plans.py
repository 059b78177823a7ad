"""Inverse questions: published numbers, and the way back through the forward functions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.analysis import (
    plan_epsilon,
    plan_local,
    plan_margin,
    plan_shares,
    total_epsilon,
    users_needed,
)
from deniable.analysis.accountants.compositions import compositions
from deniable.analysis.accountants.parts import Part
from deniable.analysis.cli import main
from deniable.analysis.commands.plan import FLAGS
from deniable.analysis.plans.asked import asked
from deniable.analysis.plans.digits import GRID, Grid, root_rounded_up, rounded_down, rounded_up
from deniable.analysis.plans.fresh import BOUNDS, share
from deniable.analysis.render import as_table
from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import exp, floor_threshold
from deniable.protocol.mechanisms import NO_OPTIONS, build

Plan = TypeVar("Plan")

ONE_MORE = Decimal("1.01")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments])


def attempted(plan: Callable[[], Plan]) -> tuple[Plan | None, str]:
    """A plan, or why there is none."""
    try:
        return plan(), ""
    except ParameterError as exc:
        return None, str(exc)


def fractions() -> st.SearchStrategy[Fraction]:
    return st.fractions(Fraction(1, 10**12), 10**6)


# ── decimals of four digits ────────────────────────────────────────────────────────────────────


@given(number=fractions())
@example(number=Fraction(1, 1000))
@example(number=Fraction(9999, 10000))
@example(number=Fraction(99995, 10**5))
def test_neighbouring_decimals_enclose_a_number(number: Fraction) -> None:
    low, high = rounded_down(number), rounded_up(number)
    assert Fraction(low) <= number <= Fraction(high)
    assert Fraction(high) - Fraction(low) <= number / 1000
    assert (low == high) == (len(low.normalize().as_tuple().digits) <= 4 and low == number)
    assert all(len(each.normalize().as_tuple().digits) <= 4 for each in (low, high))
    above = GRID[GRID.below(number) + 1]
    assert Fraction(above) > number


@given(square=fractions())
@example(square=Fraction(4))
@example(square=Fraction(1, 10**8))
@example(square=Fraction("1.234") ** 2 + Fraction(1, 10**11))
def test_a_root_is_the_least_decimal_that_is_enough(square: Fraction) -> None:
    root = root_rounded_up(square)
    assert Fraction(root) ** 2 >= square
    assert Fraction(GRID[GRID.below(Fraction(root)) - 1]) ** 2 < square


@given(low=st.integers(0, 3000), more=st.integers(0, 3000), turn=st.integers(-1, 6001))
def test_searches_find_the_turn(low: int, more: int, turn: int) -> None:
    """All three agree with a scan."""
    grid, first = [GRID[index] for index in range(low, low + more + 1)], GRID[low]
    at = GRID[turn]
    assert GRID.least(lambda x: x >= at, first, grid[-1]) == next(
        (x for x in grid if x >= at), None
    )
    until = [x for x in grid if x <= at]
    expected = until[-1] if until else None
    assert GRID.largest(lambda x: x <= at, first, grid[-1]) == expected
    assert GRID.crossing(lambda x: float(x) ** 3, at**3, first, grid[-1]) == expected


# ── from a total to shares ─────────────────────────────────────────────────────────────────────


def test_a_hundred_questions_share_one() -> None:
    """Basic composition gives each 0.01; the advanced theorem's largest is .018376, not .0183."""
    plan = plan_shares(total_epsilon=1, days=1, questions=100, delta="1e-6")
    assert plan.epsilon == Decimal("0.01")
    by = {each.method: each.epsilon for each in plan.fresh}
    assert by["basic"] == Decimal("0.01")
    assert by["advanced"] == Decimal("0.01837")
    question = asked(2, "grr", NO_OPTIONS)
    finer = share(BOUNDS["advanced"], question.at, Decimal(1), 100, 1e-6, grid=Grid(12))
    assert finer is not None
    assert float(finer) == pytest.approx(0.01837567410362873, abs=1e-09)
    winner = next(each for each in plan.fresh if each.winner)
    assert winner.epsilon == max(each.epsilon for each in plan.fresh if each.epsilon)


@settings(max_examples=40, deadline=None)
@given(
    total=st.decimals("0.5", "12", places=3),
    days=st.integers(1, 400),
    questions=st.integers(1, 6),
    devices=st.integers(1, 3),
    changes=st.none() | st.integers(0, 400),
    values=st.integers(2, 60),
    mechanism=st.sampled_from(["auto", "grr", "olh", "oue"]),
)
@example(Decimal(8), 365, 1, 2, 400, 60, "auto")
@example(Decimal(8), 365, 1, 2, 3, 60, "grr")
def test_memoized_shares_lead_back_to_the_total(
    total: Decimal, days: int, questions: int, devices: int, changes: int | None, values: int,
    mechanism: str,
) -> None:  # fmt: skip
    """What total-epsilon says of a question, times questions and devices, is at most the total.

    One per cent more is over it: rounding to four digits costs at most a tenth of that.
    """
    shared: dict[str, Any] = {"values": values, "mechanism": mechanism}
    plan, refusal = attempted(
        lambda: plan_shares(
            total_epsilon=total, days=days, questions=questions, devices_per_person=devices,
            changes=changes, **shared,
        )
    )  # fmt: skip
    if plan is None:
        assert "too small" in refusal
        return

    def spent(epsilon: Decimal) -> Decimal:
        rows = total_epsilon(epsilon=epsilon, days=days, changes=changes or 0, **shared).rows
        memoized = next(row.memoized for row in rows if row.protects.startswith("the values"))
        assert memoized is not None
        return Decimal(repr(memoized)) * questions * devices

    assert spent(plan.epsilon) <= total + Decimal("1e-12")  # that row is a float
    assert plan.spent <= total
    assert spent(plan.epsilon * ONE_MORE) > total


@settings(max_examples=15, deadline=None)
@given(
    total=st.decimals("0.5", "8", places=2),
    days=st.integers(1, 300),
    exponent=st.integers(-12, -3),
    values=st.sampled_from([2, 16]),
)
def test_fresh_shares_lead_back_to_the_total(
    total: Decimal, days: int, exponent: int, values: int
) -> None:
    delta = 10.0**exponent
    plan = plan_shares(
        total_epsilon=total, days=days, questions=1, delta=delta, values=values, mechanism="grr"
    )

    def composed(epsilon: Decimal, method: str) -> float:
        found = compositions([Part(build("grr", values, epsilon), days)], delta)
        return next(each.epsilon for each in found if each.method == method) or math.inf

    assert [each.method for each in plan.fresh] == list(BOUNDS)
    for each in plan.fresh:
        assert each.epsilon is not None
        assert composed(each.epsilon, each.method) <= total
        if each.epsilon < total:  # no method gives a report more than all of them
            more = each.epsilon * ONE_MORE
            uncapped = BOUNDS[each.method](Part(build("grr", values, more), days), delta)
            assert uncapped > total


def test_the_exact_composition_never_gives_less_than_the_basic() -> None:
    plan = plan_shares(
        total_epsilon=10, days=10, questions=1, delta="1e-15", values=1000, mechanism="oue"
    )
    assert str(plan.epsilon) == "10"
    by = {each.method: each.epsilon for each in plan.fresh}
    assert by["exact"] == by["basic"] == 1


def test_every_device_and_question_reports_every_day() -> None:
    plan = plan_shares(total_epsilon=6, days=10, questions=2, devices_per_person=3)
    assert [each.epsilon for each in plan.fresh] == [Decimal("0.1")]
    assert plan.epsilon == 1


def test_a_second_round_has_half() -> None:
    plan = plan_shares(total_epsilon=4, days=30, questions=3, second_round=True)
    assert (plan.epsilon, plan.epsilon_first) == (Decimal("1.333"), Decimal("0.6665"))
    assert [record["noise"] for record in plan.records()] == ["memoized", "second round", "fresh"]


def test_more_than_devices_accept_is_not_proposed() -> None:
    plan = plan_shares(total_epsilon=100, days=30, questions=2)
    assert plan.epsilon == 16
    assert plan.spent == 32
    assert not plan.reading.meaningful
    text = run("--total-epsilon", "100", "--days", "30", "--questions", "2").output
    text = " ".join(text.split())
    assert "16 is the most that devices accept" in text
    assert text.count("no meaningful guarantee") == 2


def test_less_than_devices_accept_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"total_epsilon is too small: it leaves 0\.005 for"):
        plan_shares(total_epsilon="0.5", days=30, questions=100)
    with pytest.raises(ParameterError, match=r"it leaves 0\.005 for each answer"):
        plan_shares(
            total_epsilon="0.5", days=30, questions=10, changes=9, values=60, mechanism="grr"
        )
    with pytest.raises(
        ParameterError, match=r"less than 0\.02, the least that devices accept where"
    ):
        plan_shares(total_epsilon=1, days=30, questions=100, second_round=True)


def test_a_million_reports_have_shares_by_every_closed_form() -> None:
    plan = plan_shares(total_epsilon=10, days=10**6, questions=2, delta="1e-15")
    by = {each.method: each for each in plan.fresh}
    assert by["exact"].epsilon is None
    assert "1,000,000" in by["exact"].why
    assert all(each.epsilon for each in plan.fresh if each.method != "exact")
    json.dumps(plan.document(), allow_nan=False)


# ── margins ────────────────────────────────────────────────────────────────────────────────────


def test_published_margins() -> None:
    plan = plan_margin(epsilon=1, devices=10**6, sigmas=1)
    assert plan.standard_error == pytest.approx(0.0010819767068693264, abs=1e-09)
    assert plan.margin == Decimal("0.001082")
    shared = plan_margin(epsilon=1, devices=10_000, sigmas=1, frequency="0.548")
    assert shared.standard_error == pytest.approx(0.01080911464555628, abs=1e-08)
    assert math.sqrt(4 * plan_margin(epsilon=2, devices=1).variance_per_device) == pytest.approx(
        1.3130352854993315, abs=1e-12
    )


def test_the_local_model_costs_the_root_of_the_crowd() -> None:
    """As epsilon goes to 0: 1/(epsilon sqrt n) against sqrt(2)/(epsilon n) of Laplace noise."""
    from deniable.analysis.models.central import laplace_deviation

    local = plan_margin(epsilon="1e-6", devices=10_000, sigmas=1, fixed_population=True)
    ratio = local.standard_error / (laplace_deviation(1e-6) / 10_000)
    assert ratio == pytest.approx(70.71067811865476, abs=1e-09)


def test_sixteen_bits_of_ln_3() -> None:
    """Three quarters of 2^16, from an ln 3 rounded up in its 55th digit."""
    epsilon = Decimal("1.0986122886681096913952452369225257047474905578227494518")
    assert floor_threshold(exp(epsilon) / (exp(epsilon) + 1)) >> 48 == 49152
    assert floor_threshold(Fraction(3, 4)) >> 48 == 49152


@settings(max_examples=40, deadline=None)
@given(
    epsilon=st.decimals("0.05", "16", places=3),
    devices=st.integers(1, 10**9),
    values=st.integers(2, 100),
    mechanism=st.sampled_from(["auto", "grr", "olh", "oue"]),
    frequency=st.none() | st.decimals(0, 1, places=2),
    fixed=st.booleans(),
)
def test_a_margin_needs_no_more_users_than_there_are(
    epsilon: Decimal, devices: int, values: int, mechanism: str, frequency: Decimal | None,
    fixed: bool,
) -> None:  # fmt: skip
    shared: dict[str, Any] = {
        "epsilon": epsilon, "values": values, "mechanism": mechanism, "frequency": frequency,
        "fixed_population": fixed,
    }  # fmt: skip
    plan = plan_margin(devices=devices, **shared)
    if Decimal("1e-9") < plan.margin < 1:
        assert users_needed(margin=plan.margin, **shared).users <= devices
        less = GRID[GRID.below(Fraction(plan.margin)) - 1]
        assert users_needed(margin=less, **shared).users > devices
    if plan.margin >= 1:
        assert any("says nothing" in caveat for caveat in plan.caveats)


@settings(max_examples=25, deadline=None)
@given(
    margin=st.decimals("0.001", "0.2", places=4),
    devices=st.integers(100, 10**7),
    values=st.integers(2, 64),
    mechanism=st.sampled_from(["auto", "grr", "oue"]),
    second=st.booleans(),
)
@example(Decimal("0.5"), 10**7, 2, "auto", False)
def test_an_epsilon_reaches_its_margin_and_no_less_does(
    margin: Decimal, devices: int, values: int, mechanism: str, second: bool
) -> None:
    shared: dict[str, Any] = {"values": values, "mechanism": mechanism}
    plan, refusal = attempted(
        lambda: plan_epsilon(margin=margin, devices=devices, second_round=second, **shared)
    )
    if plan is None:
        assert "cannot be reached" in refusal
        assert users_needed(epsilon=16, margin=margin, **shared).users > devices or second
        return

    def users(epsilon: Decimal) -> int:
        first = rounded_down(Fraction(epsilon) / 2) if second else None
        return users_needed(epsilon=epsilon, epsilon_first=first, margin=margin, **shared).users

    assert users(plan.epsilon) <= devices
    assert plan.epsilon_first == (rounded_down(Fraction(plan.epsilon) / 2) if second else None)
    lowest = Decimal("0.02") if second else Decimal("0.01")
    assert plan.epsilon >= lowest
    if plan.epsilon > lowest:
        assert users(GRID[GRID.below(Fraction(plan.epsilon)) - 1]) > devices


def test_the_users_of_a_published_plan_lead_back_to_its_epsilon() -> None:
    shared: dict[str, Any] = {"margin": "0.001", "sigmas": 2}
    assert plan_epsilon(devices=1_724_062, **shared).epsilon == 2
    assert plan_epsilon(devices=1_724_061, **shared).epsilon == Decimal("2.001")
    grr: dict[str, Any] = {"values": 16, "mechanism": "grr", "frequency": 0}
    assert plan_epsilon(devices=2_095_937, **shared, **grr).epsilon == 2
    oue: dict[str, Any] = {"values": 16, "mechanism": "oue", "frequency": 0}
    assert plan_epsilon(devices=2_896_247, **shared, **oue).epsilon == 2


def test_why_a_margin_cannot_be_reached() -> None:
    with pytest.raises(ParameterError, match=r"sampling alone leaves ±0\.098.*it takes 9,604 dev"):
        plan_epsilon(margin="0.01", devices=100)
    with pytest.raises(ParameterError, match="at epsilon 16, the most devices accept, it is ±"):
        plan_epsilon(margin="1e-6", devices=100, fixed_population=True)


def test_an_epsilon_that_no_device_accepts_is_a_caveat() -> None:
    for epsilon in ("0.001", "20"):
        (caveat, *_) = plan_margin(epsilon=epsilon, devices=10**9).caveats
        assert caveat == f"no device accepts epsilon {epsilon}: only 0.01 to 16"


def test_small_counts_are_a_caveat() -> None:
    few = plan_margin(epsilon=8, devices=1000, values=16, mechanism="grr")
    assert any("intervals of rare answers are then exact" in text for text in few.caveats)
    assert plan_margin(epsilon=1, devices=1000).caveats == ()


# ── the command ────────────────────────────────────────────────────────────────────────────────

ASKED = {
    "epsilon_per_question": ("--total-epsilon", "8", "--days", "30", "--questions", "4"),
    "margin": ("--epsilon", "1", "--devices", "10000"),
    "epsilon": ("--margin", "0.02", "--devices", "100000"),
    "local_epsilon": ("--central-epsilon", "0.5", "--delta", "1e-6", "--crowd", "100000"),
}


@pytest.mark.parametrize(("unknown", "flags"), ASKED.items())
def test_the_flags_decide_what_is_unknown(unknown: str, flags: tuple[str, ...]) -> None:
    done = run(*flags, "--format", "json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout, parse_constant=pytest.fail)
    assert document["unknown"] == unknown
    assert {"epsilon", "epsilon_unit", "mechanism", "values", "fake_bias", "reading"} <= set(
        document
    )
    for form in ("table", "csv"):
        assert run(*flags, "--format", form).exit_code == 0
    table = run(*flags).output
    assert "of one device" in table
    assert "1 % fake devices" in table
    assert "two equally likely answers" in table


@pytest.mark.parametrize("flags", ASKED.values())
def test_a_flag_too_few_or_too_many_lists_what_there_is(flags: tuple[str, ...]) -> None:
    for wrong in (flags[:-2], (*flags, "--margin", "0.1", "--crowd", "5")):
        done = run(*wrong)
        assert done.exit_code == 2
        for each in FLAGS:
            assert each.flags in done.output


def test_a_flag_of_another_question_is_named() -> None:
    done = run("--epsilon", "1", "--devices", "10", "--changes", "3")
    assert done.exit_code == 2
    assert "--changes cannot be given with --epsilon --devices" in done.output
    both = run(*ASKED["margin"], "--sigmas", "2", "--confidence", "0.9")
    assert both.exit_code == 2


def test_one_line_of_what_is_wrong() -> None:
    done = run("--epsilon", "-1", "--devices", "10")
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert "epsilon must be in" in done.output


@pytest.mark.parametrize(
    "plan",
    [
        lambda values: plan_epsilon(margin="0.1", devices=10_000, values=values),
        lambda values: plan_margin(epsilon=1, devices=10_000, values=values),
        lambda values: plan_shares(total_epsilon=8, days=1, questions=1, values=values),
    ],
)
def test_no_more_values_than_devices_accept(plan: Any) -> None:
    assert plan(4096)
    with pytest.raises(ParameterError, match=r"values must be at most 4,096, for devices accept"):
        plan(1_000_000)


def test_one_device_is_not_called_devices() -> None:
    shown = as_table(plan_margin(epsilon=1, devices=1))
    assert "with 1 device\n" in shown
    assert "1 devices" not in shown
    with pytest.raises(ParameterError, match=r"with 1 device: "):
        plan_epsilon(margin="0.01", devices=1)
    with pytest.raises(ParameterError, match=r"with 1 honest device: "):
        plan_local(central_epsilon="0.001", delta="1e-9", crowd=1)
