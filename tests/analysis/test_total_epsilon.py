"""The five rows, each against every sequence of outputs that a device can send."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.analysis import total_epsilon
from deniable.analysis.longitudinal import changed_day, trajectory, unchanging
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism, build
from deniable.protocol.walk import outcomes

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
        memo = self.mechanism.memo(0, [value], 0)
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
CASES = [(*small, *pair) for small in SMALL for pair in (("2", "1"), ("1", "0.1"), ("4", "3.5"))]


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
        assert found <= trajectory(mechanism, days).epsilon + 1e-9


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
    assert whole <= trajectory(device.mechanism, days).epsilon


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
        [1, 1.9996, 4, 1.40760, 9.85324], abs=1e-4
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
    assert all(name.startswith("exact composition") for name in column("fresh_by", **made)[1:3])
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
        ({"mechanism": "nonesuch"}, r"mechanism must be one of grr, sue, oue.*: nonesuch"),
    ],
)
def test_parameters_out_of_range(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        total_epsilon(**({"epsilon": 2, "days": 365} | wrong))
