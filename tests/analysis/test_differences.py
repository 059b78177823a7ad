"""Differences: their errors by enumeration and by simulation, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import conformance
import numpy as np
import pytest
from click.testing import CliRunner, Result
from survey_documents import ABSENT, boolean_table, choice_table, make_question, make_survey
from tally_places import released, state, tally, write_store

from deniable.analysis import Differences, difference, estimate, trend
from deniable.analysis.cli import main
from deniable.analysis.comparing import Measured, between, holm, p_value
from deniable.analysis.correlation import OTHER_DEVICES, SAME_DEVICES, Correlation, of_values
from deniable.analysis.difference_results import p_text
from deniable.analysis.plots import picture
from deniable.protocol.errors import ParameterError, SourceError
from deniable.protocol.mechanisms import FrequencyOracle, build
from deniable.protocol.period_state import PeriodState
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

CHOICES = ["poor", "fair", "good", "très bon"]


def choice(**changes: object) -> Question:
    table = choice_table(choices=CHOICES, period="week", **changes)
    return make_survey({"health": table}, max_epsilon=16, linkable=True).questions["health"]


HEALTH = choice(mechanism="grr")
NEWER = choice(mechanism="grr", version=3)
DARK = make_survey({"dark": boolean_table()}, max_epsilon=16).questions["dark"]


# Correlations, exactly


def oracle(name: str, k: int, epsilon: str, **more: Any) -> FrequencyOracle:
    made = build(name, k, Decimal(epsilon), **more)
    assert isinstance(made, FrequencyOracle)
    return made


ORACLES = [
    oracle("grr", 4, "1"),
    oracle("grr", 2, "1"),
    oracle("grr", 4, "2", epsilon_first=Decimal(1)),
    oracle("sue", 4, "1"),
    oracle("oue", 4, "2", epsilon_first=Decimal(1)),
    oracle("ss", 5, "1", options={"weight": 2}),
    oracle("ss", 5, "1", options={"weight": 3}),
    oracle("hr", 5, "1"),
    oracle("olh", 5, "1", options={"g": 2}),
    oracle("olh", 5, "2", epsilon_first=Decimal(1), options={"g": 3}),
    oracle("dbitflip", 4, "1", options={"bits": 1}),
    oracle("dbitflip", 4, "1", options={"bits": 3}),
    oracle("dbitflip", 4, "1", options={"bits": 4}),
]


def enumerated(
    mechanism: FrequencyOracle, f: list[Fraction], one: int, two: int
) -> tuple[list[int], float]:
    """The tally of so many devices that every probability is met, and the true correlation.

    Of two ratios of sums: the covariance of ``covers (supports - g)`` over its variances.
    """
    p, q, devices = mechanism.p, mechanism.q, 10**15
    cells = [Fraction(0)] * mechanism.shape.cells
    centres = [q + f[value] * (p - q) for value in (one, two)]
    moments = [Fraction(0)] * 3
    for weight, laws in conformance.reports(mechanism):
        for value, law in enumerate(laws):
            for response, mass in law.items():
                chance = weight * mass * f[value]
                here = [0] * len(cells)
                mechanism.shape.fold(here, response)
                cells = [cell + chance * count for cell, count in zip(cells, here, strict=True)]
                x, y = (
                    mechanism.covers(v, response) * (mechanism.supports(v, response) - centre)
                    for v, centre in zip((one, two), centres, strict=True)
                )
                moments = [
                    m + chance * s for m, s in zip(moments, (x * x, y * y, x * y), strict=True)
                ]
    expected = float(moments[2]) / math.sqrt(float(moments[0] * moments[1]))
    return [round(cell * devices) for cell in cells], expected


@pytest.mark.parametrize(
    "mechanism", ORACLES, ids=lambda m: f"{m.name}-{m.k}-{m.epsilon}-{m.epsilon_first}"
)
@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (0, -1), (-2, -1)])
def test_two_values_are_correlated_as_enumerated(
    mechanism: FrequencyOracle, pair: tuple[int, int]
) -> None:
    one, two = (symbol % mechanism.k for symbol in pair)
    if one == two:
        return
    f = [Fraction(5, 10), Fraction(3, 10), *[Fraction(0)] * (mechanism.k - 2)]
    f[-1] += Fraction(2, 10)
    cells, expected = enumerated(mechanism, f, one, two)
    assert of_values(mechanism, cells, one, two).coefficient == pytest.approx(expected, abs=1e-6)
    assert not of_values(mechanism, cells, one, two).assumption.startswith("conservative")


def test_a_mechanism_that_tells_no_joint_is_bounded() -> None:
    mechanism = build("rappor", 4, Decimal(1))
    cells = [3] * mechanism.shape.cells
    made = of_values(mechanism, cells, 0, 1)
    assert made.coefficient == -1
    assert made.assumption.startswith("conservative")


# The arithmetic

A = Measured("a", 0.2, 0.03, 0.2 - 1.96 * 0.03, 0.2 + 1.96 * 0.03)
B = Measured("b", 0.5, 0.04, 0.5 - 1.96 * 0.04, 0.5 + 1.96 * 0.04)


@pytest.mark.parametrize("r", [-1.0, -0.4, 0.0, 0.7, 1.0])
def test_of_normal_intervals_the_interval_is_normal(r: float) -> None:
    made = between(A, B, Correlation(r, ""), None)
    error = math.sqrt(0.03**2 + 0.04**2 - 2 * r * 0.03 * 0.04)
    assert made.difference == pytest.approx(0.3)
    assert made.standard_error == pytest.approx(error)
    assert made.low == pytest.approx(0.3 - 1.96 * error)
    assert made.high == pytest.approx(0.3 + 1.96 * error)
    assert made.p_value == pytest.approx(2 * (1 - NormalDist().cdf(0.3 / error)), abs=1e-12)


def test_exact_intervals_are_inherited() -> None:
    """Where one estimate is known exactly, the interval is that of the other, skew and all."""
    sure, skew = Measured("a", 0.2, 0.0, 0.2, 0.2), Measured("b", 0.5, 0.04, 0.49, 0.8)
    made = between(sure, skew, OTHER_DEVICES, None)
    assert (made.low, made.high) == pytest.approx((0.29, 0.6))
    made = between(skew, sure, OTHER_DEVICES, None)
    assert (made.low, made.high) == pytest.approx((-0.6, -0.29))


def test_p_values() -> None:
    assert p_value(0.0, 0.1) == p_value(0.0, 0.0) == 1.0
    assert p_value(-0.2, 0.1) == p_value(0.2, 0.1) == pytest.approx(0.0455003, abs=1e-7)
    assert p_value(1.0, 1e-3) == p_value(1.0, 0.0) == 1e-300
    assert [p_text(p) for p in (1.0, 0.0455003, 1.2e-65, 1e-300)] == [
        "1",
        "0.046",
        "1.2e-65",
        "<1e-300",
    ]


def test_holm_rejects_step_by_step() -> None:
    """By its definition: reject the smallest while p <= alpha / (how many are left)."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        raw = (rng.random(7) ** 3).tolist()
        adjusted = holm(raw)
        for alpha in (0.01, 0.05, 0.2):
            rejected = set()
            for left, i in zip(range(7, 0, -1), np.argsort(raw).tolist(), strict=True):
                if raw[i] > alpha / left:
                    break
                rejected.add(i)
            assert {i for i, p in enumerate(adjusted) if p <= alpha} == rejected
    assert holm([]) == []


# Errors, by simulation


@dataclass(frozen=True)
class Held:
    """A source that holds tallies in memory."""

    held: tuple[Tally, ...]

    def states(self, survey: str | None = None) -> tuple[PeriodState, ...]:
        return tuple(PeriodState(**released(one)) for one in self.held)

    def tallies(self, survey: str, question: str) -> tuple[Tally, ...]:
        return self.held


@pytest.fixture
def no_p_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take 42 more intervals of each difference, and have tests of their own below."""
    monkeypatch.setattr("deniable.analysis.differences.dual", lambda made, own: [math.nan])


@pytest.mark.usefixtures("no_p_values")
def test_memoized_periods_differ_less_than_is_said() -> None:
    """The same 2000 devices in two periods, a tenth of them with another answer.

    The stated error is that of independent periods; the true one is 0.818 times that (by 20 000
    simulations), which 800 tell to 2.5 %, six times over.
    """
    rng = np.random.default_rng(11)
    (p1, _), (p2, _) = DARK.mechanism.first, DARK.mechanism.second or (Fraction(1), 0)  # type: ignore[attr-defined]
    n, found, said, covered = 2000, [], 0.0, 0
    days = ("2026-11-29", "2026-11-30")

    def happens(chance: float) -> Any:
        """To each device of each simulation."""
        return rng.random((800, n), dtype=np.float32) < chance

    before = happens(0.3)
    after = np.where(happens(0.9), before, happens(0.3))
    # One remembered response for each answer, as devices have it.
    yes, no = happens(float(p1)), happens(float(1 - p1))
    said_yes = [
        (np.where(now, yes, no) == happens(float(p2))).sum(axis=1).tolist()
        for now in (before, after)
    ]
    for pair in zip(*said_yes, strict=True):
        held = Held(tuple(tally(DARK, [n - k, k], day) for k, day in zip(pair, days, strict=True)))
        (made,) = difference("dark", held, periods=days).differences
        found.append(made.difference)
        said = made.standard_error
        covered += made.low <= 0 <= made.high
    assert abs(np.std(found) / said / 0.818 - 1) < 6 * 0.025
    # At least 95 % of 800 would be 760; six standard deviations below that is 723.
    assert covered > 723


@pytest.mark.usefixtures("no_p_values")
@pytest.mark.parametrize("mechanism", ["grr", "oue", "ss", "olh", "hr", "dbitflip"])
def test_the_error_of_two_values_is_that_of_simulations(mechanism: str) -> None:
    """300 tallies of 2000 devices: the ratio of errors is 1 but for 4.1 %, six times over."""
    made = oracle(mechanism, 4, "1.5")
    rng = np.random.default_rng(19)
    f = np.array([0.45, 0.35, 0.2, 0.0])
    outputs: list[Any] = []
    chances: list[float] = []
    for weight, laws in conformance.reports(made):
        for response in laws[0]:
            outputs.append(response)
            chances.append(sum(float(weight * law[response]) * f[v] for v, law in enumerate(laws)))
    fold = np.zeros((len(outputs), made.shape.cells), dtype=np.int64)
    for row, response in zip(fold, outputs, strict=True):
        made.shape.fold(row, response)
    asked = choice(mechanism=mechanism, epsilon=Decimal("1.5"))
    assert asked.mechanism == made
    z, covered = [], 0
    for drawn in rng.multinomial(2000, np.array(chances) / sum(chances), size=300):
        held = Held((tally(asked, (drawn @ fold).tolist(), "2026-W49"),))
        (one,) = difference("health", held, values=("poor", "fair")).differences
        z.append((one.difference + 0.1) / one.standard_error)
        covered += one.low <= -0.1 <= one.high
    assert abs(np.mean(z)) < 6 / math.sqrt(300)
    assert abs(np.std(z) - 1) < 6 * 0.041
    # 285 are expected; six standard deviations are 23, and their tail is a little longer.
    assert abs(covered - 285) < 25


# What is compared


@pytest.fixture
def store(tmp_path: Path) -> Path:
    tallies = [
        tally(HEALTH, [30, 20, 30, 20], "2026-W47", "stable"),
        tally(HEALTH, [10, 20, 30, 40], "2026-W48", "stable"),
        tally(HEALTH, [25, 20, 30, 40], "2026-W48", "beta"),
        tally(HEALTH, [100, 200, 300, 400], "2026-W49", "stable"),
        tally(NEWER, [10, 20, 30, 40], "2026-W50", "stable"),
        tally(DARK, [60, 40]),
    ]
    return write_store(tmp_path / "c.db", tallies, [state(HEALTH, "2026-W51", "pending", "10-99")])


def test_periods(store: Path) -> None:
    made = difference("health", store, periods=("2026-W47", "2026-W49"))
    assert (made.version, made.compare, made.a, made.b) == (2, "periods", "2026-W47", "2026-W49")
    assert (made.period, made.segment, made.n_a, made.n_b) == (None, None, 100, 1000)
    a, b = estimate("health", store, version=2, last=3)[0], estimate("health", store, version=2)[0]
    for one, before, after in zip(made.differences, a.estimates, b.estimates, strict=True):
        assert one.value == before.value
        assert (one.estimate_a, one.estimate_b) == (before.frequency, after.frequency)
        assert one.difference == after.frequency - before.frequency
        assert one.standard_error == pytest.approx(
            math.hypot(before.standard_error, after.standard_error)
        )
    turned = difference("health", store, periods=("2026-W49", "2026-W47"))
    assert turned.differences[0].difference == -made.differences[0].difference
    assert turned.differences[0].low == pytest.approx(-made.differences[0].high)


def test_segments(store: Path) -> None:
    made = difference("health", store, segments=("stable", "beta"))
    assert (made.period, made.version, made.n_a, made.n_b) == ("2026-W48", 2, 100, 115)
    assert made.correlation == OTHER_DEVICES.assumption
    (one,) = difference("health", store, segments=("stable", "beta"), value="good").differences
    assert one == made.differences[2]


def test_values(store: Path) -> None:
    made = difference("health", store, values=("poor", "fair"), version=2)
    assert (made.a, made.b, made.period, made.n_a) == ("poor", "fair", "2026-W49", 1000)
    assert made.differences[0].value is None
    assert made.correlation.startswith("correlated")
    (yes,) = difference("dark", store, values=(False, True)).differences
    (written,) = difference("dark", store, values=("false", "true")).differences
    assert yes == written
    # Of a yes/no the two are one estimate: the error is twice that of either.
    assert yes.standard_error == pytest.approx(
        2 * estimate("dark", store)[0].estimates[0].standard_error
    )


def test_all_at_once(store: Path) -> None:
    each = difference("health", store, periods=("2026-W47", "2026-W49"))
    made = difference("health", store, periods=("2026-W47", "2026-W49"), simultaneous=True)
    assert [one.p_value for one in made.differences] == holm([o.p_value for o in each.differences])
    assert all(a.low < b.low for a, b in zip(made.differences, each.differences, strict=True))
    (alone,) = difference(
        "health", store, periods=("2026-W47", "2026-W49"), value="poor", simultaneous=True
    ).differences
    assert alone == each.differences[0]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({}, ParameterError, "one of the three"),
        ({"periods": ("a", "b"), "values": ("x", "y")}, ParameterError, "one of the three"),
        ({"periods": ("2026-W47", "2026-W47")}, ParameterError, "two different ones"),
        ({"periods": ("2026-W47", "x")}, ParameterError, "period must be like"),
        ({"periods": ("2026-W47", "2026-W50")}, ParameterError, "version 2 .* of version 3"),
        ({"periods": ("2026-W47", "2026-W51")}, SourceError, "2026-W51 is not released"),
        ({"periods": ("2026-W47", "2026-W48"), "period": "2026-W48"}, ParameterError, "no meaning"),
        ({"segments": ("beta", "beta")}, ParameterError, "two different ones"),
        ({"segments": ("stable", "gamma")}, SourceError, "no segment gamma"),
        (
            {"segments": ("stable", "beta"), "period": "2026-W49"},
            SourceError,
            "2026-W49 is not released",
        ),
        ({"segments": ("stable", "beta"), "segment": "beta"}, ParameterError, "no meaning"),
        ({"values": ("poor", "poor")}, ParameterError, "two different answers"),
        ({"values": ("poor", "awful")}, ParameterError, "one of its choices: poor, fair"),
        ({"values": ("poor", "fair"), "value": "good"}, ParameterError, "no meaning"),
        ({"periods": ("2026-W47", "2026-W48"), "value": "awful"}, ParameterError, "its choices"),
        ({"values": ("poor", "fair"), "confidence": 1}, ParameterError, "confidence must be"),
    ],
)
def test_what_cannot_be_compared(
    wrong: dict[str, Any], error: type[Exception], message: str, store: Path
) -> None:
    with pytest.raises(error, match=message):
        difference("health", store, **wrong)


def test_the_newest_version_that_both_have(tmp_path: Path) -> None:
    tallies = [
        tally(asked, [10, 20, 30, 40], week)
        for asked, week in (
            (HEALTH, "2026-W48"),
            (NEWER, "2026-W48"),
            (HEALTH, "2026-W49"),
            (NEWER, "2026-W49"),
            (choice(mechanism="grr", version=4), "2026-W49"),
        )
    ]
    store = write_store(tmp_path / "c.db", tallies)
    weeks = ("2026-W48", "2026-W49")
    assert difference("health", store, periods=weeks).version == 3
    assert difference("health", store, periods=weeks, version=2).version == 2


def test_no_period_in_common(tmp_path: Path) -> None:
    tallies = [
        tally(HEALTH, [1, 2, 3, 4], "2026-W48", "beta"),
        tally(HEALTH, [1, 2, 3, 4], "2026-W49", "stable"),
    ]
    store = write_store(tmp_path / "c.db", tallies)
    with pytest.raises(SourceError, match="no released period of one version in common"):
        difference("health", store, segments=("stable", "beta"))


def test_of_a_yes_no_question_only_true_is_estimated(tmp_path: Path) -> None:
    tallies = [tally(DARK, [60, 40]), tally(DARK, [50, 50], "2026-12-01")]
    store = write_store(tmp_path / "c.db", tallies)
    days = ("2026-11-30", "2026-12-01")
    made = difference("dark", store, periods=days, value="true")
    assert [one.value for one in made.differences] == [True]
    with pytest.raises(ParameterError, match="one estimate, of true"):
        difference("dark", store, periods=days, value=False)


def test_the_mean_of_a_number(tmp_path: Path) -> None:
    """1bitmean over 10..50 in the cells of two bits: twice the error of a mean, in its units."""
    table = boolean_table(
        type="number",
        range={"low": 10, "high": 50, "steps": 40},
        mechanism="1bitmean",
        epsilon=2,
        epsilon_first=ABSENT,
        default=ABSENT,
    )
    asked = make_survey({"visits": table}, max_epsilon=16).questions["visits"]
    days = ("2026-11-29", "2026-11-30")
    tallies = [
        tally(asked, cells, day, segment)
        for day, counted in zip(days, ([600, 400], [450, 550]), strict=True)
        for cells, segment in ((counted, "stable"), (counted[::-1], "beta"))
    ]
    store = write_store(tmp_path / "c.db", tallies)
    made = difference("visits", store, periods=days, segment="stable")
    (one,) = made.differences
    a, b = (estimate("visits", store, period=day, segment="stable").numbers[0].mean for day in days)
    assert (one.value, made.quantity) == ("mean", "mean")
    assert (one.estimate_a, one.estimate_b) == (a.estimate, b.estimate)
    # Bits of p = e^2/(e^2+1): a mean is 10 + 40 (share - q)/(p - q).
    gap = math.tanh(1)
    assert one.difference == pytest.approx(40 * 0.15 / gap)
    assert one.standard_error == pytest.approx(
        40 * math.sqrt((0.4 * 0.6 + 0.55 * 0.45) / 1000) / gap
    )
    (other,) = difference(
        "visits", store, segments=("beta", "stable"), period=days[0], value="mean"
    ).differences
    assert other.difference == pytest.approx(-40 * 0.2 / gap)
    points = trend("visits", store, segment="stable").points
    assert [(point.value, point.estimate) for point in points] == [
        ("mean", a.estimate),
        ("mean", b.estimate),
    ]
    with pytest.raises(ParameterError, match="asks for a number: its mean is compared"):
        difference("visits", store, values=("10", "20"))
    for result in (made, trend("visits", store), estimate("visits", store)):
        assert b"mean" in picture(result, "svg")


# How it is printed


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["difference", *arguments], prog_name="deniable")


def test_three_forms_say_the_same(store: Path) -> None:
    arguments = ["health", "--from", str(store), "--periods", "2026-W47", "2026-W49"]
    document = json.loads(call(*arguments, "--format", "json").stdout)
    assert document["correlation"] == SAME_DEVICES.assumption
    assert document["compare"] == "periods"
    rows = list(csv.DictReader(io.StringIO(call(*arguments, "--format", "csv").stdout)))
    assert tuple(rows[0]) == Differences.columns
    for row, one in zip(rows, document["differences"], strict=True):
        assert {name: row[name] for name in one} == {name: str(each) for name, each in one.items()}
    table = call(*arguments, "--simultaneous").stdout
    for part in ("A = 2026-W47, B = 2026-W49", "conservative:", "p-value (Holm)", "très bon",
                 "n = 100 and 1,000 devices", "epsilon 3 of one device"):  # fmt: skip
        assert part in table


def test_a_minute_p_value_is_printed_sanely(tmp_path: Path) -> None:
    store = write_store(tmp_path / "c.db", [tally(DARK, [10**9, 10**6])])
    arguments = ["dark", "--from", str(store), "--values", "false", "true"]
    assert "<1e-300" in call(*arguments).stdout
    document = json.loads(call(*arguments, "--format", "json").stdout)
    assert document["differences"][0]["p_value"] == 1e-300


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--periods", "2026-W47"],
        ["--periods", "2026-W47", "2026-W47"],
        ["--values", "poor", "a\nb"],
        ["--segments", "stable", "beta", "--confidence", "nan"],
        ["--segments", "stable", "beta", "--plot", "a.pdf"],
        ["--segments", "stable", "beta", "--plot", "/absent/a.svg"],
    ],
)
def test_wrong_calls_are_one_line(arguments: list[str], store: Path) -> None:
    done = call("health", "--from", str(store), *arguments)
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code in (1, 2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)


def test_a_picture(store: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.svg"
    done = call("health", "--from", str(store), "--segments", "stable", "beta", "--plot", str(path))
    assert done.exit_code == 0
    assert b"A = stable, B = beta" in path.read_bytes()


# The p-value goes with the interval.


def of_segments(a: tuple[int, int], b: tuple[int, int], confidence: str) -> Any:
    asked = make_question(boolean_table(epsilon=8, epsilon_first=ABSENT))
    held = Held(
        tuple(
            tally(asked, cells, "2026-11-30", name) for name, cells in (("beta", a), ("stable", b))
        )
    )
    made = difference(asked.id, held, segments=("beta", "stable"), confidence=confidence)
    return made.differences[0]


@pytest.mark.parametrize("confidence", ["0.9", "0.95", "0.999"])
@pytest.mark.parametrize("rare", [0, 1, 3, 40])
def test_a_p_value_is_below_alpha_where_the_interval_leaves_out_zero(
    rare: int, confidence: str
) -> None:
    """Exact ends at small counts included; a plug-in error of no count at all was far too small."""
    alpha = 1 - Decimal(confidence)
    for count in range(0, 900, 30):
        one = of_segments((1000 - rare, rare), (100_000 - count, count), confidence)
        assert (one.p_value < alpha) == (one.low > 0 or one.high < 0)


def test_a_rare_answer_that_nobody_gave_is_no_discovery() -> None:
    one = of_segments((1000, 0), (99_766, 234), "0.95")
    assert one.low < 0 < one.high
    assert one.p_value > 0.05


def test_where_all_is_normal_the_p_value_is_the_normal_one() -> None:
    one = of_segments((500_000, 500_000), (501_500, 498_500), "0.95")
    z = abs(one.difference) / one.standard_error
    assert one.p_value == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-6)
    assert 0.01 < one.p_value < 0.05


def test_liars_may_pull_either_side(store: Path) -> None:
    made = difference("health", str(store), values=("poor", "good"))
    alone = estimate("health", str(store))[0]
    assert made.fake_bias == pytest.approx(2 * alone.fake_bias)
