"""``deniable simulate``: a survey rehearsed against a truth, and what is wrong with a truth."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from deniable.analysis import estimate, open_source, periods, simulate
from deniable.analysis.cli import main
from deniable.protocol.errors import DocumentError, ParameterError, SourceError
from deniable.protocol.tally import parse_tally

SURVEY = """
[survey]
format = 1
id = "rehearsed"
max_epsilon = 40
linkable = true

[questions.dark]
version = 1
ask = "Dark?"
type = "boolean"
epsilon = 2
epsilon_first = 1
period = "week"
min_crowd = 100
default = false
owner = "a@b.example"
expires = 2027-06-30

[questions.mood]
version = 1
ask = "Mood?"
type = "choice"
choices = ["bad, very", "fair", "très bon"]
epsilon = 3
mechanism = "grr"
period = "day"
min_crowd = 5000
owner = "a@b.example"
expires = 2027-06-30

[questions.home]
version = 1
ask = "Home?"
type = "choice"
choices = ["town", "land"]
epsilon = 2
mechanism = "oue"
period = "once"
min_crowd = 100
owner = "a@b.example"
expires = 2027-06-30
"""
TRUTH = """\ufeffweight,dark,mood,home,other
1,true,fair,town,x
2.5,0,"bad, very",land,y
1,,très bon,,z
0.5,1,,town,
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY, encoding="utf-8")
    return path


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    path = tmp_path / "truth.csv"
    path.write_text(TRUTH, encoding="utf-8")
    return path


def run(*arguments: object) -> Any:
    return CliRunner().invoke(main, ["simulate", *map(str, arguments)])


def test_devices_are_drawn_from_the_truth(survey: Path, truth: Path) -> None:
    """Of 10^6 devices by weights 1 : 2.5 : 1 : 0.5; empty is the default, or no answer.

    Each share is within 7 sqrt(1/4/800000) of its expectation.
    """
    made = simulate(survey, truth, devices=10**6, seed=1)
    found = {(one.question, one.value): one for one in made.values}
    expected = {
        ("dark", True): 1.5 / 5,
        ("mood", "fair"): 1 / 4.5,
        ("mood", "bad, very"): 2.5 / 4.5,
        ("mood", "très bon"): 1 / 4.5,
        ("home", "town"): 1.5 / 4,
        ("home", "land"): 2.5 / 4,
    }
    assert {key: one.truth for key, one in found.items()} == pytest.approx(expected, abs=1e-12)
    assert {key: one.drawn for key, one in found.items()} == pytest.approx(expected, abs=0.004)
    assert all(one.drawn != one.truth for one in made.values)
    assert found["dark", True].n == 10**6
    assert abs(found["mood", "fair"].n - 900_000) < 7 * 300
    assert abs(found["home", "town"].n - 800_000) < 7 * 400
    for one in made.values:
        assert abs(one.sigmas) < 7
        assert one.covered is (one.low <= one.truth <= one.high)
        assert one.sigmas == pytest.approx((one.estimate - one.truth) / one.standard_error)


def test_the_same_seed_gives_the_same_numbers(survey: Path, truth: Path) -> None:
    one = simulate(survey, truth, devices=20_000, periods=2, seed=5)
    assert one == simulate(survey, truth, devices=20_000, periods=2, seed=5)
    assert one.values != simulate(survey, truth, devices=20_000, periods=2, seed=6).values
    drawn = simulate(survey, truth, devices=20_000)
    assert drawn == simulate(survey, truth, devices=20_000, seed=drawn.seed)


def test_periods_follow_each_other_and_share_their_noise(survey: Path, truth: Path) -> None:
    made = simulate(survey, truth, devices=20_000, periods=3, start=date(2026, 12, 30), seed=2)
    keys: dict[str, list[Any]] = {}
    for tally in made.tallies:
        keys.setdefault(tally.question.id, []).append((tally.period, tally.batch, tally.cells))
    assert [key[0] for key in keys["dark"]] == ["2026-W53", "2027-W01", "2027-W02"]
    assert [key[0] for key in keys["mood"]] == ["2026-12-30", "2026-12-31", "2027-01-01"]
    assert [key[:2] for key in keys["home"]] == [("once", "2026-W53")]
    assert len({cells for _, _, cells in keys["dark"]}) == 3
    assert len({cells for _, _, cells in keys["mood"]}) == 1


def test_errors_and_coverage_over_runs(survey: Path, truth: Path) -> None:
    """600 runs: 0.95 of intervals cover, within 7 errors of 0.009; errors are standard errors.

    A root of a mean of 600 squares is within 7/sqrt(1200) = 0.2 of its expectation.
    """
    made = simulate(survey, truth, devices=20_000, repeat=600, questions=["dark", "mood"], seed=3)
    for one in made.values:
        assert abs(one.coverage - 0.95) < 7 * 0.009
        assert abs(one.mean_error) < 7 * one.standard_error / math.sqrt(600)
        assert abs(one.rms_error / one.standard_error - 1) < 0.21
    assert {one.question for one in made.values} == {"dark", "mood"}


@pytest.mark.parametrize("mechanism", ["1bitmean", "piecewise", "square-wave"])
def test_the_mean_of_a_number(survey: Path, tmp_path: Path, mechanism: str) -> None:
    """Clipped to the range and set to its grid; coverage as above."""
    table = """
[questions.visits]
version = 1
ask = "Visits?"
type = "number"
range = { low = 10, high = 50, steps = 16 }
epsilon = 3
period = "day"
min_crowd = 100
owner = "a@b.example"
expires = 2027-06-30
"""
    with survey.open("a") as file:
        file.write(f'{table}mechanism = "{mechanism}"\n')
    truth = tmp_path / "numbers.csv"
    truth.write_text("visits,weight\n-3.5,1\n20.9,2\n1e9,1\n,5\n")
    made = simulate(
        survey, truth, devices=9000, questions=["visits"], repeat=600, periods=2, seed=3
    )
    one, again = made.values
    assert (one.value, one.n) == ("mean", made.tallies[0].n)
    assert abs(one.n - 4000) < 7 * 48
    assert one.truth == pytest.approx((10 + 2 * 20 + 50) / 4, abs=1e-9)
    assert abs(one.drawn - one.truth) < 7 * 20 / math.sqrt(3600)
    assert abs(one.coverage - 0.95) < 7 * 0.009
    assert abs(one.rms_error / one.standard_error - 1) < 0.21
    assert abs(one.mean_error) < 7 * one.standard_error / math.sqrt(600)
    assert (again.estimate, again.period) == (one.estimate, "2026-01-02")


def test_the_tallies_can_be_estimated(survey: Path, truth: Path, tmp_path: Path) -> None:
    path = tmp_path / "tallies.json"
    done = run(
        "--survey", survey, "--truth", truth, "--devices", 50_000, "--periods", 3, "--seed", 4,
        "--output", path, "--format", "json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["seed"] == 4
    for stored in json.loads(path.read_text())["tallies"]:
        assert parse_tally(stored).document() == stored
    for question in ("dark", "mood", "home"):
        shown = [one for one in document["values"] if one["question"] == question]
        estimated = estimate(question, str(path), every=True)
        values = [one for period in estimated for one in period.estimates]
        assert [one.frequency for one in values] == [one["estimate"] for one in shown]
        assert [one.low for one in values] == [one["low"] for one in shown]
    assert {state.state for state in periods(str(path)).states} == {"released"}
    assert {state.survey for state in open_source(str(path)).states("rehearsed")} == {"rehearsed"}
    assert open_source(str(path)).states("another") == ()


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (None, SourceError, "cannot be read"),
        ("{", DocumentError, "valid JSON"),
        ("[]", DocumentError, 'is no {"tallies": [...]}; give a file of tallies'),
        ('{"tallies": [{}]}', DocumentError, "must have exactly the fields"),
    ],
)
def test_a_file_that_holds_no_tallies(
    tmp_path: Path, content: str | None, error: type[Exception], message: str
) -> None:
    path = tmp_path / "tallies.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(error) as refusal:
        open_source(str(path))
    assert message in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


def test_what_is_shown(survey: Path, truth: Path) -> None:
    arguments = ("--survey", survey, "--truth", truth, "--devices", 3000, "--seed", 4)
    once = run(*arguments).stdout
    assert "dark, 2026-W01, n = 3,000 devices, grr" in once
    assert "seed 4" in once
    assert "the columns other; ignored" in once
    assert "mood: a collector would release nothing, for min_crowd is 5,000" in once
    assert "covered" in once
    assert "remembered" not in once
    several = run(*arguments, "--repeat", 3, "--periods", 2).stdout
    assert "coverage %" in several
    assert "over 3 runs" in several
    assert "remembered" in several
    rows = run(*arguments, "--format", "csv").stdout.splitlines()
    assert rows[0].startswith("survey,devices,runs,seed,confidence,simultaneous,question,period,n,")
    assert len(rows) == 1 + 1 + 3 + 2
    first = run("--survey", survey, "--truth", truth, "--devices", 3000).stdout
    assert "seed " in first


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dark,mood,home\nmaybe,fair,town\n", "row 2, column dark: no answer to the question; "
         "write true or false"),
        ("dark,mood,home\n1,fair,town\n1,goodish,town\n", "row 3, column mood: no answer to the "
         "question; write one of the question's choices"),
        ("dark,mood,home,weight\n1,fair,town,0\n", "row 2, column weight: not a positive number; "
         "write one like 2.5"),
        ("dark,mood,home,weight\n1,fair,town,nan\n", "row 2, column weight: not a positive"),
        ("dark,mood,home,weight\n1,fair,town,1e999\n", "row 2, column weight: not a positive"),
        ("dark,mood,home\n1,fair\n", "row 2 has 2 fields and the header 3; put text with commas"),
        ("dark,home\n1,town\n", "there is no column mood; add it, or name the questions to "
         "simulate with --question"),
        ("dark,mood,home,dark\n1,fair,town,1\n", "the column 'dark' is there twice; remove one"),
        ("dark,mood,home\n", "has no row under a header"),
        ("", "has no row under a header"),
        ('dark,mood,home\n"1,fair,town\n', "is not CSV in UTF-8"),
        ("dark,mood,home\n1,fair,\n", "home: no device answers it; draw more devices, or fill in"),
    ],
)  # fmt: skip
def test_a_truth_with_a_mistake(survey: Path, tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    done = run("--survey", survey, "--truth", path, "--devices", 100)
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    for value in ("maybe", "goodish"):
        assert value not in done.stderr


def test_options_out_of_range(survey: Path, truth: Path, tmp_path: Path) -> None:
    for options, message in (
        ({"devices": 0}, "devices must be a whole number in 1..1000000000000"),
        ({"devices": 10, "periods": 0}, "periods must be"),
        ({"devices": 10, "repeat": 0}, "repeat must be"),
        ({"devices": 10, "seed": -1}, "seed must be"),
        ({"devices": 10, "confidence": 1}, "confidence must be"),
        ({"devices": 10, "questions": ["light"]}, "the survey asks no question light; it asks"),
    ):
        with pytest.raises(ParameterError, match=message):
            simulate(survey, truth, **options)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cannot be read"):
        simulate(survey, tmp_path / "none.csv", devices=10)


def test_a_billion_devices(survey: Path, truth: Path) -> None:
    made = simulate(survey, truth, devices=10**9, periods=7, seed=9)
    assert all(abs(one.sigmas) < 7 for one in made.values)
