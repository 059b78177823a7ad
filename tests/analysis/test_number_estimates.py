"""From released tallies of a number question to what is printed, by the real command line."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from number_populations import POPULATIONS, chances
from survey_documents import ABSENT, boolean_table, make_survey
from tally_places import tally, write_store

from deniable.analysis import estimate, estimate_numbers, estimate_tallies
from deniable.analysis.cli import main
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms.scale import Scale
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally, parse_tally

DAYS = ("2026-11-29", "2026-11-30")


def number_table(mechanism: str, **changes: object) -> dict[str, Any]:
    return boolean_table(
        type="number",
        range={"low": 10, "high": 50, "steps": 40},
        mechanism=mechanism,
        epsilon=Decimal(4),
        epsilon_first=ABSENT,
        default=ABSENT,
        **changes,
    )


def asked(mechanism: str, **changes: object) -> Question:
    tables = {"visits": number_table(mechanism, **changes)}
    return make_survey(tables, max_epsilon=16, linkable=True).questions["visits"]


def counted(
    question: Question, n: int = 20_000, day: str = DAYS[1], seed: int = 1, **kw: Any
) -> Tally:
    """A tally of visits as devices would give it, read back from its document."""
    mechanism = question.mechanism
    assert isinstance(mechanism, Scale)
    truth = POPULATIONS["visits"](mechanism.k)
    cells = np.random.default_rng(seed).multinomial(n, chances(mechanism, truth))
    return parse_tally(tally(question, map(int, cells), day, **kw).document())


ONE_BIT, PIECEWISE, WAVE = (asked(name) for name in ("1bitmean", "piecewise", "square-wave"))
TRUTH = POPULATIONS["visits"](41)
MEAN = 10 + float(TRUTH @ np.arange(41))


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="deniable")


def shown(*arguments: str) -> Any:
    done = call(*arguments, "--format", "json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout, parse_constant=pytest.fail)


@pytest.mark.parametrize("question", [ONE_BIT, PIECEWISE, WAVE], ids=lambda q: q.mechanism.name)
def test_the_mean_is_in_the_questions_units(question: Question) -> None:
    """Six standard errors from the truth, which is never told to the estimator."""
    made = estimate_numbers([counted(question)])
    assert abs(made.mean.estimate - MEAN) < 6 * (made.mean.standard_error or 0)
    assert 0.05 < (made.mean.standard_error or 0) < 0.4
    assert made.mean.low < made.mean.estimate < made.mean.high
    assert (made.n, made.question, made.period) == (20_000, "visits", "2026-11-30")
    assert made.fake_bias == pytest.approx(0.4 * float(question.mechanism.leverage))


def test_quantiles_are_points_of_the_grid_inside_their_intervals() -> None:
    made = estimate_numbers([counted(WAVE)])
    quantiles = made.statistics[1:]
    assert [one.level for one in quantiles] == [0.05, 0.25, 0.5, 0.75, 0.95]
    for one in quantiles:
        assert one.standard_error is None
        assert one.low <= one.estimate <= one.high
        assert all(number.is_integer() for number in (one.low, one.estimate, one.high))
        at = 10 + int(np.searchsorted(np.cumsum(TRUTH), one.level))
        assert one.low <= at <= one.high
    assert len(made.distribution) == 20
    assert made.distribution[0].low == 10
    assert made.distribution[-1].high == 50
    assert sum(one.frequency for one in made.distribution) == pytest.approx(1)


def test_one_bit_tells_the_mean_alone() -> None:
    made = estimate_numbers([counted(ONE_BIT)])
    assert [one.statistic for one in made.statistics] == ["mean"]
    assert made.distribution == ()
    with pytest.raises(ParameterError, match="visits: quantiles need the distribution, and 1bit"):
        estimate_numbers([counted(ONE_BIT)], quantiles=["0.5"])


def test_all_at_once_is_wider() -> None:
    one = estimate_numbers([counted(WAVE)], quantiles=["0.9", 0.5, "0.5"])
    all_of = estimate_numbers([counted(WAVE)], quantiles=["0.9", "0.5"], simultaneous=True)
    assert [s.level for s in one.statistics] == [None, 0.5, 0.9]
    ratio = (all_of.mean.high - all_of.mean.low) / (one.mean.high - one.mean.low)
    assert ratio == pytest.approx(2.3939797998185104 / 1.959963984540054, rel=1e-3)
    for narrow, wide in zip(one.statistics, all_of.statistics, strict=True):
        assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_segments_add_up() -> None:
    parts = [counted(WAVE, seed=s, segment=name) for s, name in ((1, "beta"), (2, "stable"))]
    made = estimate_numbers(parts)
    assert made.n == 40_000
    assert made.document()["segments"] == ["beta", "stable"]
    cells = [a + b for a, b in zip(parts[0].cells, parts[1].cells, strict=True)]
    assert made.statistics == estimate_numbers([tally(WAVE, cells)]).statistics


@pytest.fixture
def store(tmp_path: Path) -> str:
    tallies = [counted(WAVE, day=day, seed=i) for i, day in enumerate(DAYS)]
    return str(write_store(tmp_path / "c.db", tallies))


def test_json_has_stable_names(store: str) -> None:
    document = shown("estimate", "visits", "--from", store)
    assert list(document) == [
        "question", "version", "period", "segment", "n", "mechanism", "epsilon", "epsilon_first",
        "confidence", "simultaneous", "epsilon_unit", "epsilon_verdict", "range",
        "fake_bias", "notes", "warnings", "statistics", "distribution",
    ]  # fmt: skip
    assert document["range"] == {"low": 10, "high": 50, "steps": 40}
    mean, first = document["statistics"][:2]
    assert list(mean) == ["statistic", "level", "estimate", "standard_error", "low", "high"]
    assert (mean["statistic"], mean["level"]) == ("mean", None)
    assert (first["statistic"], first["level"], first["standard_error"]) == ("quantile", 0.05, None)
    assert list(document["distribution"][0]) == ["low", "high", "frequency"]
    assert (
        "clipped to these on the device, the others rounded by at most 0.5" in document["notes"][0]
    )
    assert len(shown("estimate", "visits", "--from", store, "--all")) == 2


def test_rows_say_what_json_says(store: str) -> None:
    arguments = ("estimate", "visits", "--from", store, "--quantiles", "0.5,0.9")
    rows = list(csv.DictReader(io.StringIO(call(*arguments, "--format", "csv").stdout)))
    statistics = shown(*arguments)["statistics"]
    assert [one["level"] for one in statistics] == [None, 0.5, 0.9]
    for row, entry in zip(rows, statistics, strict=True):
        for name, value in entry.items():
            assert row[name] == ("" if value is None else str(value))


def test_people_see_units_and_what_is_biased(store: str) -> None:
    table = call("estimate", "visits", "--from", store).stdout
    assert "visits version 1, 2026-11-30, n = 20,000 devices" in table
    assert "quantile 0.95" in table
    assert "epsilon 4 of one device, from all its reports about one unchanging answer" in table
    assert "biased, and without errors" in table


def test_periods_are_pooled_only_by_name(store: str) -> None:
    each = shown("estimate", "visits", "--from", store, "--all")
    pooled = shown("estimate", "visits", "--from", store, "--all", "--pool", "mean")
    assert pooled["periods"] == list(DAYS)
    assert pooled["distribution"] == []
    for i, one in enumerate(pooled["statistics"]):
        for name in ("estimate", "standard_error", "low", "high"):
            parts = [period["statistics"][i][name] for period in each]
            expected = None if parts[0] is None else pytest.approx(sum(parts) / 2)
            assert one[name] == expected


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--post-process", "clip"], "visits asks for a number; leave out post_process"),
        (["--quantiles", "0.5,1"], "quantiles must be above 0 and below 1: 1"),
        (["--quantiles", "half"], "decimals with commas between them, like 0.5,0.9"),
        (["--quantiles", ""], "decimals with commas between them, like 0.5,0.9"),
    ],
)
def test_what_does_not_apply_is_one_line(store: str, option: list[str], message: str) -> None:
    done = call("estimate", "visits", "--from", store, *option)
    assert done.exit_code in (1, 2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_kinds_of_questions_are_not_mixed_up(tmp_path: Path) -> None:
    yes_no = make_survey().questions["dark_mode"]
    dark = tally(yes_no, [60, 40])
    with pytest.raises(ParameterError, match="dark_mode does not ask for a number"):
        estimate_numbers([dark])
    with pytest.raises(ParameterError, match="visits asks for a number; use estimate_numbers"):
        estimate_tallies([counted(WAVE)])
    place = write_store(tmp_path / "c.db", [dark, counted(asked("1bitmean"))])
    with pytest.raises(ParameterError, match="dark_mode does not ask for a number; leave out quan"):
        estimate("dark_mode", place, survey="acme-editor", quantiles=["0.5"])
    assert len(estimate("visits", place).numbers) == 1
    with pytest.raises(ParameterError, match="visits asks for a number, and has no frequencies"):
        _ = estimate("visits", place).frequencies
    with pytest.raises(ParameterError, match="dark_mode does not ask for a number"):
        _ = estimate("dark_mode", place).numbers


def test_no_device_and_no_tally() -> None:
    with pytest.raises(ParameterError, match="at least one"):
        estimate_numbers([])
    with pytest.raises(ParameterError, match="count no device"):
        estimate_numbers([tally(WAVE, [0] * WAVE.mechanism.shape.cells)])
    with pytest.raises(ParameterError, match="quantiles must be at most 100: 101"):
        estimate_numbers([counted(WAVE)], quantiles=[i / 1000 for i in range(1, 102)])


def test_plans_are_in_shares_of_the_range(tmp_path: Path) -> None:
    """A mean's worst standard error at the users needed for two of them is half the margin."""
    plan = shown(
        "users-needed", "--epsilon", "4", "--margin", "0.01", "--sigmas", "2",
        "--mechanism", "square-wave", "--values", "41",
    )  # fmt: skip
    worst, _ = WAVE.mechanism.worst_variance_iid()
    assert plan["users"] == -(-4 * worst // 0.0001)
    assert "mean, as a share of its range" in plan["assumption"]
    survey = tmp_path / "survey.toml"
    survey.write_text(
        "[survey]\nformat = 1\nid = 'acme'\nmax_epsilon = 8\nlinkable = true\n"
        "[questions.visits]\nversion = 1\nask = 'How many?'\ntype = 'number'\nepsilon = 4\n"
        "range = { low = 10, high = 50, steps = 40 }\nmechanism = 'square-wave'\nperiod = 'day'\n"
        "expires = 2027-06-30\n"
    )
    (question,) = shown("survey", "check", str(survey))["questions"]
    assert question["standard_error_of"] == "mean"
    assert question["standard_error_10000"] == pytest.approx(40 * (worst / 10_000) ** 0.5)
    assert "of a mean in the question's units" in call("survey", "check", str(survey)).stdout
    refused = call("debias", "--mechanism", "piecewise", "--epsilon", "1", "--counts", "1,2")
    assert refused.exit_code == 2
