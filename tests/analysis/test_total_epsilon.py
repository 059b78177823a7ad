"""The five rows, each against every sequence of outputs that a device can send."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.analysis import total_epsilon
from deniable.analysis.accountants.closed_forms import concentration
from deniable.analysis.accountants.compositions import least
from deniable.analysis.accountants.parts import Part
from deniable.analysis.reading import both, read
from deniable.analysis.render import as_table
from deniable.analysis.totals.longitudinal import changed_day, trajectory, unchanging
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism, build
from deniable.protocol.proofs.branches import outcomes

Trajectory = tuple[int, ...]
TWO_ONE = (Decimal(2), Decimal(1))


class Device:
    """The exact likelihood of everything one device sends, by walking its own draws."""

    def __init__(self, mechanism: Mechanism, *, rational: bool) -> None:
        self.mechanism = mechanism
        self._number: Any = Fraction if rational else float
        self._type: Any = object if rational else float

    @cache  # noqa: B019
    def permanents(self, value: int) -> dict[Any, Fraction]:
        memo = self.mechanism.memo(0, value)
        assert memo is not None
        return outcomes(lambda draws: self.mechanism.permanent(0, memo, draws))

    @cache  # noqa: B019
    def report(self, permanent: Any) -> Any:
        """P(report | permanent response), as an array over the reports in one order."""
        law = outcomes(lambda draws: self.mechanism.instant(permanent, draws))
        order = sorted({r.out for value in (0, 1) for r in self.permanents(value)})
        masses = {response.out: mass for response, mass in law.items()}
        return np.array([self._number(masses.get(out, 0)) for out in order], self._type)

    def likelihood(self, values: Trajectory) -> Any:
        """P(reports | values), an array with one axis for each day."""
        everything: Any = np.array(self._number(1))
        for value in sorted(set(values)):
            alone: Any = 0
            for permanent, mass in self.permanents(value).items():
                report = self.report(permanent)
                branch: Any = np.array(self._number(mass), self._type)
                for other in values:
                    factor = report if other == value else np.ones_like(report)
                    branch = np.multiply.outer(branch, factor)
                alone = alone + branch
            everything = everything * alone
        return everything


def trajectories(k: int, days: int, changes: int | None = None) -> Iterator[Trajectory]:
    for values in product(range(k), repeat=days):
        if changes is None or sum(a != b for a, b in pairwise(values)) <= changes:
            yield values


def worst(device: Device, pairs: list[tuple[Trajectory, Trajectory]]) -> float:
    """The largest log ratio between the likelihoods of two trajectories, over all outputs."""
    known = {values: device.likelihood(values) for pair in pairs for values in pair}
    return max(math.log((known[a] / known[b]).max()) for a, b in pairs)


def worst_of_any(device: Device, values: Iterator[Trajectory]) -> float:
    """The same over all pairs of some trajectories."""
    likelihoods = np.array([device.likelihood(one) for one in values])
    return math.log((likelihoods.max(axis=0) / likelihoods.min(axis=0)).max())


def differ(a: Trajectory, b: Trajectory) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


def same_pattern(a: Trajectory, b: Trajectory) -> bool:
    """Whether both change at the same times, to something new at the same times."""
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


SMALL = [
    ("grr", 2, 4), ("grr", 3, 3), ("sue", 2, 3), ("oue", 2, 3), ("oue", 3, 2), ("sue", 3, 2),
]  # fmt: skip
CASES = [
    (*small, *pair)
    for small in SMALL
    for pair in (("2", "1"), ("1", "0.1"), ("4", "3.5"), ("1", "0.99"))
]


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case)))
def case(request: pytest.FixtureRequest) -> tuple[Device, int]:
    name, k, days, epsilon, first = request.param
    mechanism = build(name, k, Decimal(epsilon), Decimal(first))
    return Device(mechanism, rational=False), days


@pytest.mark.parametrize(("name", "k", "days"), SMALL)
def test_a_value_that_never_changes_is_exact_in_rationals(name: str, k: int, days: int) -> None:
    device = Device(build(name, k, *TWO_ONE), rational=True)
    for reports in range(1, days + 1):
        one, other = (device.likelihood((value,) * reports) for value in (0, 1))
        ratio = max((one / other).ravel())
        assert isinstance(ratio, Fraction)
        assert unchanging(device.mechanism, reports) == pytest.approx(math.log(ratio), abs=1e-12)


def test_a_value_that_never_changes(case: tuple[Device, int]) -> None:
    device, days = case
    pairs = list(permutations([(v,) * days for v in range(device.mechanism.k)], 2))
    assert unchanging(device.mechanism, days) == pytest.approx(worst(device, pairs), abs=1e-9)


def test_one_changed_day_is_bounded_and_nearly_reached(case: tuple[Device, int]) -> None:
    device, days = case
    k = device.mechanism.k
    pairs = [
        (a, b)
        for a, b in product(trajectories(k, days), repeat=2)
        if differ(a, b) == 1 and k**days < 100
    ]
    found, bound = worst(device, pairs), changed_day(device.mechanism).epsilon
    assert found <= bound + 1e-9
    first = device.mechanism.epsilon_first
    assert first is not None
    assert found > float(first)


def test_whole_trajectories_stay_within_the_bound(case: tuple[Device, int]) -> None:
    device, days = case
    mechanism = device.mechanism
    for changes in range(1, days):
        found = worst_of_any(device, trajectories(mechanism.k, days, changes))
        answers = min(mechanism.k, changes + 1)
        assert found <= trajectory(mechanism, days, answers).epsilon


@pytest.mark.parametrize("days", range(2, 9))
@pytest.mark.parametrize(("epsilon", "first"), [("1", "0.99"), ("0.1", "0.09"), ("2", "1.9")])
def test_pairing_answers_bounds_whole_trajectories(days: int, epsilon: str, first: str) -> None:
    """Where a report tells much of its permanent response, half of the days cost no more."""
    device = Device(build("grr", 2, Decimal(epsilon), Decimal(first)), rational=False)
    bound = trajectory(device.mechanism, days, 2)
    day = changed_day(device.mechanism).epsilon
    assert bound.epsilon < days * day
    assert bound.name.endswith("x epsilon")
    found = worst_of_any(device, trajectories(2, days))
    assert changed_half_way(device.mechanism, days // 2) - 1e-9 < found <= bound.epsilon


def test_pairing_three_answers() -> None:
    """Three histories' answers pair in three ways: one of them agrees on a third of the days."""
    device = Device(build("grr", 3, Decimal(1), Decimal("0.99")), rational=False)
    for days in (3, 4):
        bound = trajectory(device.mechanism, days, 3)
        assert bound.epsilon < days * changed_day(device.mechanism).epsilon
        assert worst_of_any(device, trajectories(3, days)) <= bound.epsilon


def changed_half_way(mechanism: Mechanism, half: int) -> float:
    """ln of how much likelier a change after half the days makes reports that change then.

    Against an answer that never changes: ``2 ln(p1 p2^h + q1 q2^h) - h ln(p2 q2)``, k = 2.
    """
    p1, q1 = map(float, mechanism.chains[0])
    p2, q2 = map(float, mechanism.second or (1, 1))
    one = half * math.log(p2) + math.log(p1 + q1 * (q2 / p2) ** half)
    return 2 * one - half * math.log(p2 * q2)


@pytest.mark.parametrize(
    ("half", "expected"),
    [(1, 1.2189174105920653), (7, 9.599399959878795), (180, 253.11521757790254)],
)
def test_published_lower_bounds_on_a_trajectory(half: int, expected: float) -> None:
    mechanism = build("grr", 2, *TWO_ONE)
    assert changed_half_way(mechanism, half) == pytest.approx(expected, abs=1e-9)
    bound = trajectory(mechanism, 2 * half, 2).epsilon
    assert expected <= bound <= expected + 2 * 2.0 + 2  # the pairing is nearly the best there is


@given(
    reports=st.integers(1, 10**6),
    answers=st.integers(1, 40),
    epsilon=st.decimals("0.02", "40", places=2),
    part=st.decimals("0.01", "0.99", places=2),
    name=st.sampled_from(["grr", "sue", "oue", "olh"]),
)
def test_longer_histories_of_more_answers_cost_no_less(
    reports: int, answers: int, epsilon: Decimal, part: Decimal, name: str
) -> None:
    mechanism = build(name, 7, epsilon, epsilon * part)
    here = trajectory(mechanism, reports, answers).epsilon
    assert here <= reports * changed_day(mechanism).epsilon * (1 + 1e-9)
    assert here <= trajectory(mechanism, reports + 1, answers).epsilon * (1 + 1e-9)
    assert here <= trajectory(mechanism, reports, answers + 1).epsilon * (1 + 1e-9)
    assert unchanging(mechanism, reports) <= here * (1 + 1e-9)


def test_values_whose_pattern_of_change_is_public(case: tuple[Device, int]) -> None:
    device, days = case
    mechanism = device.mechanism
    pairs = [
        (a, b) for a, b in product(trajectories(mechanism.k, days), repeat=2) if same_pattern(a, b)
    ]
    table = total_epsilon(
        epsilon=mechanism.epsilon,
        epsilon_first=mechanism.epsilon_first,
        days=days,
        values=mechanism.k,
        mechanism=mechanism.name,
    )
    bound = table.rows[2].second_round
    assert bound is not None
    assert worst(device, pairs) <= bound + 1e-9
    assert bound <= min(mechanism.k, days) * float(mechanism.epsilon)


@pytest.mark.parametrize("mechanism", ["grr", "sue", "oue"])
@pytest.mark.parametrize("days", [1, 2, 3, 30, 365])
def test_who_protects_more_spends_no_less(mechanism: str, days: int) -> None:
    """Whatever bounds whole trajectories bounds those whose times of change are known."""
    table = total_epsilon(epsilon=4, epsilon_first="0.5", days=days, values=3, mechanism=mechanism)
    one, same, public, _, whole = (row.second_round or math.nan for row in table.rows)
    assert one <= same + 1e-12
    assert same <= public <= whole + 1e-12


@pytest.mark.parametrize(
    ("days", "changed", "whole"),
    [(2, 1.2189, 2.0), (4, 1.3586, 3.36), (6, 1.3954, 4.754), (8, 1.4046, 6.16)],
)
def test_published_growth_of_two_rounds(days: int, changed: float, whole: float) -> None:
    device = Device(build("grr", 2, *TWO_ONE), rational=False)
    one_day = [(a, b) for a, b in product(trajectories(2, days), repeat=2) if differ(a, b) == 1]
    assert worst(device, one_day) == pytest.approx(changed, abs=1e-4)
    assert worst_of_any(device, trajectories(2, days)) == pytest.approx(whole, abs=0.005)
    assert whole <= trajectory(device.mechanism, days, 2).epsilon
    assert changed <= changed_day(device.mechanism).epsilon


def test_without_a_second_round_a_change_is_certain() -> None:
    """Some output of the one history is impossible under the other: no epsilon bounds that."""
    device = Device(build("grr", 2, Decimal(2)), rational=True)
    one, other = device.likelihood((0, 1)), device.likelihood((0, 0))
    assert any(a > 0 and b == 0 for a, b in zip(one.ravel(), other.ravel(), strict=True))
    row = total_epsilon(epsilon=2, days=2).rows[3]
    assert row.memoized is None


def rows(**arguments: Any) -> list[dict[str, Any]]:
    return total_epsilon(**arguments).records()


def column(name: str, **arguments: Any) -> list[Any]:
    return [row[name] for row in rows(**arguments)]


def test_the_rows_for_a_yes_no_question() -> None:
    assert [row["protects"] for row in rows(epsilon=2, days=365)] == [
        "one report",
        "a value that never changes",
        "the values, change times public",
        "one changed day, the rest known",
        "the whole trajectory, change times secret",
    ]
    assert column("memoized", epsilon=2, days=365) == [2, 2, 4, None, None]
    assert column("fresh", epsilon=2, days=365) == [2, 730, 730, 2, 730]
    assert all("memoized_second_round" not in row for row in rows(epsilon=2, days=365))


def test_the_rows_with_a_second_round() -> None:
    assert column("memoized_second_round", epsilon=2, epsilon_first=1, days=7) == pytest.approx(
        [1, 1.9996, 4, 1.40760, 3 * 1.40760 + 4], abs=1e-4
    )
    unary = {"epsilon": 2, "epsilon_first": 1, "values": 16, "mechanism": "oue"}
    assert column("memoized_second_round", days=365, **unary)[3] == pytest.approx(22.52, abs=5e-3)
    assert column("memoized_second_round", days=365, **(unary | {"values": 2}))[3] == pytest.approx(
        2.815, abs=5e-4
    )


@pytest.mark.parametrize(
    ("days", "expected"), [(1, 1.0), (2, 1.6416635493096783), (365, 2.0), (10**6, 2.0)]
)
def test_published_loss_of_an_unchanging_value(days: int, expected: float) -> None:
    mechanism = build("grr", 2, *TWO_ONE)
    assert unchanging(mechanism, days) == pytest.approx(expected, abs=1e-9)
    assert unchanging(mechanism, days) <= 2


@given(
    epsilon=st.decimals("0.02", "40", places=2),
    part=st.decimals("0.01", "0.99", places=2),
    reports=st.integers(1, 10**6),
    name=st.sampled_from(["grr", "sue", "oue"]),
    k=st.integers(2, 50),
)
def test_the_second_round_never_costs_more_than_the_permanent_one(
    epsilon: Decimal, part: Decimal, reports: int, name: str, k: int
) -> None:
    mechanism = build(name, k, epsilon, epsilon * part)
    assert float(epsilon * part) * 0.99 < unchanging(mechanism, reports) <= float(epsilon)
    assert unchanging(mechanism, reports) <= unchanging(mechanism, reports + 1) + 1e-9


def test_changes_bound_the_answers() -> None:
    sixteen = {"epsilon": 2, "days": 365, "values": 16, "mechanism": "grr"}
    assert column("memoized", **sixteen)[2] == 32
    assert column("memoized", changes=3, **sixteen)[2] == 8
    assert column("memoized", changes=100, **sixteen)[2] == 32
    assert column("memoized", **(sixteen | {"days": 5}))[2] == 10
    assert column("memoized", changes=0, **sixteen) == [2, 2, 2, None, 2]


def test_one_day_is_one_report() -> None:
    for mechanism in ("grr", "oue"):
        made = {"epsilon": 2, "epsilon_first": 1, "days": 1, "values": 5, "mechanism": mechanism}
        assert column("memoized", **made) == [2] * 5
        assert column("memoized_second_round", **made) == pytest.approx([1] * 5, abs=1e-9)
        assert column("fresh", **made) == [2] * 5


def test_fresh_noise_with_a_delta() -> None:
    made = {"epsilon": 2, "days": 365, "delta": "1e-6"}
    assert column("fresh", **made)[1] == pytest.approx(661.15, abs=5e-3)
    assert column("fresh", values=16, mechanism="grr", **made)[1:3] == pytest.approx(
        [305.81, 305.81], abs=5e-3
    )
    assert column("fresh", **made)[0] == column("fresh", **made)[3] == 2
    by = column("fresh_by", **made)
    assert all(name.startswith("exact composition") for name in (*by[1:3], by[4]))
    assert by[0] == by[3] == "basic composition"
    assert "delta = 1e-06" in column("unit", **made)[1]


@pytest.mark.parametrize(("epsilon", "days", "expected"), [(4, 365, 1460), (8, 2, 16)])
def test_published_totals_of_a_deployment(epsilon: int, days: int, expected: float) -> None:
    assert column("fresh", epsilon=epsilon, days=days)[1] == expected


def test_every_number_has_its_unit() -> None:
    units = column("unit", epsilon=2, epsilon_first=1, days=30, delta=1e-6)
    assert all(unit.startswith("epsilon ") for unit in units)
    assert (
        "16 x ln(p2/q2)"
        in column("unit", epsilon=2, epsilon_first=1, days=30, values=16, mechanism="oue")[3]
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"days": 0}, r"days must be a whole number in 1..1000000: 0"),
        ({"days": 10**6 + 1}, r"days must be"),
        ({"days": 2.5}, r"days must be a whole number"),
        ({"days": True}, r"days must be a whole number"),
        ({"epsilon": float("nan")}, r"epsilon must be finite"),
        ({"epsilon": float("inf")}, r"epsilon must be finite"),
        ({"epsilon": "1e400"}, r"epsilon must be in"),
        ({"epsilon": 0}, r"epsilon must be in"),
        ({"epsilon_first": 2}, r"epsilon_first must be less than epsilon \(2\): 2"),
        ({"changes": -1}, r"changes must be"),
        ({"delta": 0}, r"delta must be above"),
        ({"delta": 1}, r"delta must be above"),
        ({"values": 1}, r"values must be a whole number in 2..1000000: 1"),
        ({"devices_per_person": 0}, r"devices_per_person must be a whole number in 1..1000: 0"),
        ({"devices_per_person": 1001}, r"devices_per_person must be"),
        (
            {"devices_per_person": 1000, "days": 1001},
            r"devices_per_person x days must be at most 1000000: 1000 x 1001",
        ),
        ({"devices": 0}, r"devices must be a whole number"),
        ({"mechanism": "nonesuch"}, r"mechanism must be one of grr, sue, oue.*: nonesuch"),
    ],
)
def test_parameters_out_of_range(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        total_epsilon(**({"epsilon": 2, "days": 365} | wrong))


METHODS = ["basic", "advanced", "kov", "zcdp", "rdp", "exact"]


def test_every_composition_is_shown_and_the_least_is_marked() -> None:
    document = total_epsilon(epsilon=2, days=365, delta="1e-6").document()
    assert [one["method"] for one in document["compositions"]] == METHODS
    (least,) = [one for one in document["compositions"] if one["winner"]]
    answers = [one["epsilon"] for one in document["compositions"] if one["epsilon"] is not None]
    assert least["epsilon"] == min(answers) == document["rows"][1]["fresh"]
    assert {one["delta"] for one in document["compositions"]} == {0, 1e-6}


def test_without_a_delta_there_is_only_the_basic_composition() -> None:
    total = total_epsilon(epsilon=2, days=365)
    assert [one["method"] for one in total.document()["compositions"]] == ["basic"]
    assert "(--delta)" in " ".join(total.sections()[2].notes)


@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_a_person_with_several_devices_gives_away_so_many_times_as_much(delta: str | None) -> None:
    made: dict[str, Any] = {"epsilon": 2, "epsilon_first": 1, "days": 9, "delta": delta}
    one, three = rows(**made), rows(devices_per_person=3, **made)
    for alone, together in zip(one, three, strict=True):
        for noise in ("memoized", "memoized_second_round"):
            assert together[noise] == (alone[noise] and pytest.approx(3 * alone[noise], rel=1e-12))
        assert "of one person's 3 devices" in together["unit"]
    assert three[1]["fresh"] == column("fresh", **(made | {"days": 27}))[1]
    assert three[0]["fresh"] == column("fresh", **(made | {"days": 3}))[1]


def test_two_devices_of_one_person_are_two_independent_draws() -> None:
    """The likelihood of both is a product: the largest ratio is the square of one's."""
    device = Device(build("grr", 2, *TWO_ONE), rational=False)
    ratio = device.likelihood((0, 0, 0)) / device.likelihood((1, 1, 1))
    together = math.log(np.multiply.outer(ratio, ratio).max())
    bound = column(
        "memoized_second_round", epsilon=2, epsilon_first=1, days=3, devices_per_person=2
    )[1]
    assert bound == pytest.approx(together, abs=1e-9)


@pytest.mark.parametrize(("devices", "warned"), [(None, 0), (99_999, 0), (100_000, 1)])
def test_a_delta_that_is_not_below_one_in_all_devices(devices: int | None, warned: int) -> None:
    total = total_epsilon(epsilon=2, days=9, delta="1e-5", devices=devices)
    assert len(total.warnings) == len(total.document()["warnings"]) == warned
    shown = " ".join(total.sections()[2].notes)
    assert ("Warning: delta = 1e-05" in shown) is bool(warned)
    assert ("well below 1/number of devices" in shown) is (devices is None)


@pytest.mark.parametrize(
    ("epsilon", "days", "meaningful"), [(2, 5, True), ("2.1", 5, False), (44, 10**6, False)]
)
def test_an_epsilon_above_ten_is_no_meaningful_guarantee(
    epsilon: Any, days: int, meaningful: bool
) -> None:
    total = total_epsilon(epsilon=epsilon, days=days)
    row = total.document()["rows"][1]
    reading = row["readings"]["fresh"]
    assert reading["meaningful"] is meaningful
    assert (
        reading["verdict"]
        == row["fresh_verdict"]
        == ("" if meaningful else "no meaningful guarantee")
    )
    shown = total.sections()[0].rows[1][2]
    assert shown.endswith("*") is not meaningful
    assert ("no meaningful guarantee" in " ".join(total.sections()[0].notes)) is not meaningful


def test_a_delta_helps_an_attacker() -> None:
    row = total_epsilon(epsilon="0.1", days=100, delta="0.1").rows[1]
    epsilon = row.fresh.epsilon
    reading, memoized = row.reading("fresh"), row.reading("memoized")
    assert reading is not None
    assert memoized is not None
    factor = math.exp(epsilon)
    assert reading.success_cap == pytest.approx((factor + 0.1) / (factor + 1), rel=1e-12)
    assert reading.odds_factor == pytest.approx(2 * factor, rel=1e-12)
    assert memoized.odds_factor == pytest.approx(math.exp(0.1), rel=1e-12)


def test_what_has_no_bound_lets_an_attacker_be_certain() -> None:
    total = total_epsilon(epsilon=2, days=365)
    row = total.document()["rows"][3]
    assert row["memoized"] is None
    assert row["memoized_verdict"] == "no bound"
    assert row["readings"]["memoized"] == {
        "odds_factor": None, "success_cap": 1, "advantage_cap": 1, "true_positive_cap": 1,
        "meaningful": False, "verdict": "no bound",
    }  # fmt: skip
    assert "no bound" in total.sections()[1].rows[6]


@given(
    epsilon=st.sampled_from(["0.000001", "0.01", "1", "16", "44"]),
    part=st.sampled_from([None, "0.01", "0.5", "0.99"]),
    days=st.sampled_from([1, 2, 365, 10**6]),
    name=st.sampled_from(["grr", "sue", "oue", "olh"]),
    delta=st.sampled_from([None, "1e-15", "1e-6", "0.9"]),
    many=st.sampled_from([1, 1000]),
)
@settings(max_examples=30, deadline=None)
def test_nothing_overflows(
    epsilon: str, part: str | None, days: int, name: str, delta: str | None, many: int
) -> None:
    first = None if part is None else max(Decimal(epsilon) * Decimal(part), Decimal("0.000001"))
    if first is not None and first >= Decimal(epsilon):
        first = None
    total = total_epsilon(
        epsilon=epsilon, epsilon_first=first, days=min(days, 10**6 // many), values=5,
        mechanism=name, delta=delta, devices_per_person=many,
    )  # fmt: skip
    json.dumps(total.document(), allow_nan=False)
    text = as_table(total)
    assert not re.search(r"\b(nan|inf)\b", text)
    for row in total.rows:
        assert all((row.epsilon(noise) or 0) >= 0 for noise in total.noises)


@pytest.mark.parametrize("many", [1, 3])
@pytest.mark.parametrize("first", [None, 1])
def test_every_epsilon_that_is_shown_says_of_what(many: int, first: int | None) -> None:
    total = total_epsilon(
        epsilon=2, epsilon_first=first, days=30, delta=1e-6, values=4, devices_per_person=many
    )
    for section in total.sections():
        texts = [section.title, *section.notes, *section.columns]
        for text in texts:
            for found in re.finditer("epsilon", text, re.IGNORECASE):
                rest = text[found.end() :]
                before = text[: found.start()]
                formula = before.endswith("x ")
                assert formula or re.search(r"\b(of|between)\b", rest) or before == "its ", text


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [("sue", {}, 16.0), ("dbitflip", {"bits": 1}, 4.0)],
)
def test_published_totals_of_what_is_remembered(
    name: str, options: dict[str, int], expected: float
) -> None:
    made = {"epsilon": 2, "values": 8, "days": 365, "mechanism": name, "options": options}
    assert column("memoized", **made)[2] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("days", [1, 7])
def test_published_cost_of_a_memoized_answer(days: int) -> None:
    assert column("memoized", epsilon=2, days=days)[1] == pytest.approx(2.0, abs=1e-12)


def test_published_epsilon_of_rappor() -> None:
    """h = 2 hashes at ``2 h ln((1 - f/2)/(f/2))``, which is 4.394449154672439 for f = 1/2."""
    keep = build("rappor", 16, Decimal("4.394449154672439"), None, {"hashes": 2}).thresholds["keep"]
    assert keep / 2**64 == pytest.approx(1 - 0.5 / 2, abs=1e-9)
    assert 2 * 2 * math.log((1 - 0.25) / 0.25) == pytest.approx(4.394449154672439, abs=1e-9)
    made = {"epsilon": "4.394449154672439", "days": 365, "values": 16, "mechanism": "rappor"}
    assert column("memoized", options={"hashes": 2}, **made)[1] == 4.394449154672439


def test_published_sum_of_two_parts() -> None:
    parts = [Part(build("grr", 2, Decimal(one)), 1) for one in ("17.14", "2.47")]
    assert least(parts, None).epsilon == pytest.approx(19.61, abs=1e-9)


def test_published_divergence_of_randomized_response() -> None:
    """``epsilon tanh(epsilon/2)``, which composes."""
    once = concentration([Part(build("grr", 2, Decimal(1)), 1)])
    assert once == pytest.approx(0.46211715726000974, abs=1e-12)


def test_each_figure_is_the_better_of_two_bounds() -> None:
    """With a delta the odds count twice and may fail; a basic bound little above does neither."""
    row = total_epsilon(epsilon=4, days=3, delta="1e-9").rows[1]
    assert row.fresh.delta == 1e-9
    assert row.fresh.epsilon < 12 == row.fresh.surely
    reading, basic = row.reading("fresh"), read(12)
    assert reading is not None
    assert reading.odds_factor == basic.odds_factor == pytest.approx(162754.79, abs=0.01)
    assert reading.odds_fail == 0
    alone = read(row.fresh.epsilon, 1e-9)
    assert reading.success_cap == min(alone.success_cap, basic.success_cap)
    assert reading.advantage_cap == min(alone.advantage_cap, basic.advantage_cap)
    assert reading.true_positive_cap == min(alone.true_positive_cap, basic.true_positive_cap)


def test_odds_that_cannot_fail_are_not_said_to() -> None:
    sure = " ".join(total_epsilon(epsilon=4, days=3, delta="1e-9").sections()[1].notes)
    assert "may change by more" not in sure
    unsure = " ".join(total_epsilon(epsilon="0.1", days=900, delta="1e-9").sections()[1].notes)
    assert "may change by more with a probability of at most 2 delta = 2e-09" in unsure


@given(epsilon=st.floats(1e-6, 800), more=st.floats(1, 3), delta=st.floats(1e-15, 0.99))
def test_two_bounds_promise_no_less_than_either(epsilon: float, more: float, delta: float) -> None:
    one, surely = read(epsilon, delta), read(epsilon * more)
    together = both(one, surely)
    for name in ("success_cap", "advantage_cap", "true_positive_cap"):
        assert getattr(together, name) == min(getattr(one, name), getattr(surely, name))
    assert together.odds_exponent is not None
    assert (together.odds_exponent, together.odds_fail) in (
        (one.odds_exponent, one.odds_fail), (surely.odds_exponent, 0.0),
    )  # fmt: skip
    assert together.odds_exponent <= surely.epsilon
