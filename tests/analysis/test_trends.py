"""Trends: every period by itself, in the order of time."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from survey_documents import boolean_table, choice_table, make_survey
from tally_places import state, tally, write_store

from deniable.analysis import Trend, estimate, trend
from deniable.analysis.cli import main
from deniable.protocol.errors import ParameterError, SourceError

TABLES = {"health": choice_table(period="week", mechanism="grr"), "dark": boolean_table()}
HEALTH, DARK = make_survey(TABLES, max_epsilon=16, linkable=True).questions.values()
WEEKS = ["2025-W52", "2026-W01", "2026-W02"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    tallies = [
        tally(HEALTH, [10 + i, 20, 30, 40], week, segment)
        for i, week in reversed(list(enumerate(WEEKS)))
        for segment in ("stable", "beta")
    ]
    days = [tally(DARK, [60, 40 + day], f"2026-11-{day:02d}") for day in range(1, 4)]
    missing = state(HEALTH, WEEKS[1], "destroyed", "fewer than 1000", segment="gamma")
    return write_store(tmp_path / "c.db", tallies + days, [missing])


def test_each_point_is_the_estimate_of_its_period(store: Path) -> None:
    made = trend("health", store)
    periods = estimate("health", store, every=True)
    assert list(made.series) == list(HEALTH.choices)
    for i, points in enumerate(made.series.values()):
        assert [point.period for point in points] == WEEKS
        for point, period in zip(points, periods, strict=True):
            one = period.estimates[i]
            assert (point.n, point.estimate) == (period.n, one.frequency)
            assert (point.standard_error, point.low, point.high) == (
                one.standard_error,
                one.low,
                one.high,
            )


def test_one_value_one_segment_and_the_last(store: Path) -> None:
    made = trend("health", store, value="très bon", segment="beta", last=2)
    assert [(p.value, p.period, p.n) for p in made.points] == [
        ("très bon", WEEKS[1], 101),
        ("très bon", WEEKS[2], 102),
    ]
    assert made.segment == "beta"
    assert [one.value for one in trend("dark", store, value="true").points] == [True] * 3
    assert trend("dark", store, value=True) == trend("dark", store)


def test_what_is_said_besides(store: Path) -> None:
    made = trend("health", store)
    assert made.notes == (
        "2026-W01: Not in it: segment gamma destroyed (fewer than 1000 devices).",
    )
    assert any("steps between neighbours" in note for note in made.document()["notes"])


def test_what_is_not_there(store: Path) -> None:
    with pytest.raises(ParameterError, match="value must be one of its estimates: poor, fair"):
        trend("health", store, value="awful")
    with pytest.raises(ParameterError, match="its estimates: true"):
        trend("dark", store, value="false")
    with pytest.raises(ParameterError, match="last must be at least 1"):
        trend("health", store, last=0)
    with pytest.raises(SourceError, match="nobody has reported mood yet"):
        trend("mood", store)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["trend", *arguments], prog_name="deniable")


def test_three_forms_say_the_same(store: Path, tmp_path: Path) -> None:
    document = json.loads(call("health", "--from", str(store), "--format", "json").stdout)
    rows = list(csv.DictReader(io.StringIO(call("health", "--from", str(store), "--format",
                                                "csv").stdout)))  # fmt: skip
    assert tuple(rows[0]) == Trend.columns
    assert len(rows) == len(document["points"]) == 12
    for row, point in zip(rows, document["points"], strict=True):
        assert {name: row[name] for name in point} == {n: str(v) for n, v in point.items()}
    path = tmp_path / "a.svg"
    table = call("dark", "--from", str(store), "--value", "true", "--plot", str(path)).stdout
    assert table.count("2026-11-0") == 3
    assert "noise of remembered answers is shared by the periods" in table
    assert b"dark version 1" in path.read_bytes()


@pytest.mark.parametrize("arguments", [["--last", "0"], ["--value", "x\ny"], ["--plot", "a.gif"]])
def test_wrong_calls_are_one_line(arguments: list[str], store: Path) -> None:
    done = call("health", "--from", str(store), *arguments)
    assert isinstance(done.exception, SystemExit)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (1, "", 1)
