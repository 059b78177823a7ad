"""Questions to the data about answers that change: estimate, trend, difference, simulate."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from changing_kit import SURVEY, counter, flipping, tallies_of, trajectory
from click.testing import CliRunner, Result

from deniable.analysis import (
    difference,
    estimate,
    estimate_changing,
    estimate_numbers,
    estimate_tallies,
    simulate,
    trend,
)
from deniable.analysis.changing.history import history_of
from deniable.analysis.cli import main
from deniable.analysis.simulation import draw_changing
from deniable.analysis.surveys import check_survey
from deniable.protocol.errors import ParameterError, SourceError
from deniable.protocol.tally import Tally

DAYS = [f"2026-11-{30}", *(f"2026-12-{day:02}" for day in range(1, 16))]
DEVICES = 20_000
UNIT = "whole trajectory with at most 2 changes in 16 days"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture(scope="module")
def told() -> dict[str, list[Tally]]:
    """Two questions; the first two days and the tenth are not released."""
    rng = np.random.default_rng(11)
    dark = draw_changing(trajectory(16, 2), flipping(DEVICES, 16, 2, rng), rng)
    numbers = np.sort(rng.integers(0, 21, (DEVICES, 16)), axis=1)
    launches = draw_changing(counter(16), numbers, rng)
    return {
        "dark": list(tallies_of("dark", dark, missing=(1, 2, 10))),
        "launches": list(tallies_of("launches", launches)),
    }


@pytest.fixture(scope="module")
def place(told: dict[str, list[Tally]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("changing") / "tallies.json"
    return write(path, [tally for tallies in told.values() for tally in tallies])


def write(path: Path, tallies: Iterable[Tally]) -> Path:
    path.write_text(json.dumps({"tallies": [tally.document() for tally in tallies]}), "utf-8")
    return path


def test_the_newest_period_is_estimated_from_all(place: Path) -> None:
    (made,) = estimate("dark", place).frequencies
    (one,) = made.estimates
    assert (made.period, made.n, made.mechanism, one.value) == (
        DAYS[-1],
        DEVICES,
        "trajectory",
        True,
    )
    come = 15 / 20
    truth = 0.3 + 0.4 * 2 * come * (1 - come)
    assert abs(one.frequency - truth) < 6.5 * one.standard_error
    assert 0 < one.standard_error < 0.07
    assert UNIT in made.document()["epsilon_unit"]
    assert any("lag behind" in note for note in made.notes)


def test_periods_that_are_not_released_are_none(place: Path) -> None:
    """Though others tell of them; and the third day is estimated without those before it."""
    series = estimate("dark", place, every=True)
    assert [one.period for one in series] == [*DAYS[2:9], *DAYS[10:]]
    result = run("estimate", "dark", "--from", str(place), "--period", DAYS[0])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {DAYS[0]} is not released")


def test_nothing_can_be_estimated_without_a_beginning(
    told: dict[str, list[Tally]], tmp_path: Path
) -> None:
    """Three days of which none leads back to the start."""
    late = [tally for tally in told["dark"] if tally.period in DAYS[4:7]]
    place = write(tmp_path / "late.json", late)
    for words in (["--all"], ["--last", "2"], []):
        result = run("estimate", "dark", "--from", str(place), *words)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "cannot be estimated" in result.stderr
        assert len(result.stderr.splitlines()) == 1
    fourth = [tally for tally in told["dark"] if tally.period in DAYS[3:7]]
    series = estimate("dark", write(tmp_path / "fourth.json", fourth), every=True)
    assert [one.period for one in series] == DAYS[3:7]


def test_a_period_that_is_left_out_is_said(told: dict[str, list[Tally]], tmp_path: Path) -> None:
    """The eighth day reaches back to the start, the third to the second, which none tells of."""
    some = [tally for tally in told["dark"] if tally.period in (DAYS[2], DAYS[7])]
    series = estimate("dark", write(tmp_path / "some.json", some), every=True)
    assert [one.period for one in series] == [DAYS[7]]
    remark = f"Left out, for they cannot be estimated: {DAYS[2]}; periods before them"
    assert any(note.startswith(remark) for note in series[0].notes)


def test_a_mean_of_periods_allows_for_their_covariance(place: Path) -> None:
    each = estimate("dark", place, last=4).frequencies
    (mean,) = estimate("dark", place, last=4, pool="mean").frequencies
    frequencies = [one.estimates[0].frequency for one in each]
    errors = [one.estimates[0].standard_error for one in each]
    assert mean.estimates[0].frequency == pytest.approx(np.mean(frequencies))
    assert np.hypot.reduce(errors) / 4 < mean.estimates[0].standard_error < np.mean(errors)
    assert mean.pooled == tuple(DAYS[-4:])


def test_a_number_is_told_in_its_own_units(place: Path) -> None:
    (made,) = estimate("launches", place, period=DAYS[7]).numbers
    assert abs(made.mean.estimate - (10 + 40 * 8 / 17)) < 6.5 * (made.mean.standard_error or 0)
    assert made.statistics == (made.mean,)
    assert "its number only rises" in made.epsilon_unit
    shown = run("estimate", "launches", "--from", str(place)).stdout
    assert "whole history of 16 days" in " ".join(shown.split())


def test_a_trend_has_the_errors_of_estimates(place: Path) -> None:
    made = trend("dark", place)
    assert [point.period for point in made.points] == [
        one.period for one in estimate("dark", place, every=True)
    ]
    assert UNIT in made.epsilon_unit
    assert "errors of neighbours are correlated" in made.document()["notes"][0]


def test_a_difference_of_periods_is_more_certain_than_two(place: Path) -> None:
    made = difference("dark", place, periods=(DAYS[7], DAYS[8]))
    (one,) = made.differences
    a, b = (estimate("dark", place, period=day).frequencies[0].estimates[0] for day in DAYS[7:9])
    assert one.difference == pytest.approx(b.frequency - a.frequency)
    assert one.standard_error < np.hypot(a.standard_error, b.standard_error)
    assert UNIT in made.epsilon_unit
    assert made.correlation.startswith("estimated")
    (risen,) = difference("launches", place, periods=(DAYS[0], DAYS[15])).differences
    assert abs(risen.difference - 40 * 15 / 17) < 6.5 * risen.standard_error
    assert risen.p_value < 1e-6


def test_segments_are_different_devices(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    tallies = []
    for segment, changes in (("stable", 0), ("beta", 2)):
        cells = draw_changing(trajectory(16, 2), flipping(4000, 16, changes, rng), rng)
        tallies += list(tallies_of("dark", cells, segment=segment))
    place = write(tmp_path / "segments.json", tallies)
    made = difference("dark", place, segments=("stable", "beta"), period=DAYS[9])
    (one,) = made.differences
    a, b = (
        estimate("dark", place, period=DAYS[9], segment=segment).frequencies[0].estimates[0]
        for segment in ("stable", "beta")
    )
    assert one.difference == pytest.approx(b.frequency - a.frequency)
    assert one.standard_error == pytest.approx(np.hypot(a.standard_error, b.standard_error))
    (both,) = estimate("dark", place, period=DAYS[9]).frequencies
    assert both.n == pytest.approx(8000, rel=0.05)  # from the levels that have reported by then
    few = write(
        tmp_path / "few.json", [t for t in tallies if (t.segment, t.period) != ("beta", DAYS[3])]
    )
    (noted,) = estimate("dark", few).frequencies
    assert any("same segments" in note for note in noted.notes)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("estimate dark --quantiles 0.5", "leave out quantiles"),
        ("estimate dark --shuffle-delta 1e-6", "leave out quantiles, strings and shuffle_delta"),
        ("estimate dark --post-process simplex", "post_process must be one of none, clip"),
        ("estimate dark --pool mean --post-process clip", "pool takes raw"),
        ("difference dark --values true false", "one estimate in each period"),
        ("difference dark --periods 2026-12-07 2026-12-08 --value false", "value must be true"),
        ("estimate launches --post-process norm-sub", "post_process must be one of none, clip"),
    ],
)
def test_what_has_no_meaning_is_one_line(place: Path, words: str, said: str) -> None:
    result = run(*words.split(), "--from", str(place))
    assert (result.exit_code, result.stdout) == (1, "")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_tallies_that_do_not_belong_together_are_refused(told: dict[str, list[Tally]]) -> None:
    dark, launches = told["dark"], told["launches"]
    for mixed in ([], [[]], [[dark[0]], []], [[dark[0]], [launches[1]]], [[dark[0], dark[1]]]):
        with pytest.raises(ParameterError):
            estimate_changing(mixed)
    with pytest.raises(SourceError):
        estimate_changing([[dark[4]]])
    with pytest.raises(SourceError, match="2026-11-29 is no period of its horizon"):
        estimate_changing([[dark[0]]], ["2026-11-29"])
    for estimator, tally in ((estimate_tallies, dark[0]), (estimate_numbers, launches[0])):
        with pytest.raises(ParameterError, match="has a horizon; use estimate_changing"):
            estimator([tally])


def test_fakes_move_an_estimate_as_far_as_is_said(told: dict[str, list[Tally]]) -> None:
    """One in a hundred devices, all of the worst level, all saying what moves it up."""
    history = history_of([[tally] for tally in told["dark"]])
    rows, weights = history.levels.rows, history.levels.weights_of({16: 1.0})
    fakes, moved = DEVICES / 100, []
    for level in range(5):
        share = weights * (rows.level == level)
        ones = rows.ones + np.where(share > 0, fakes, 0)
        honest = 2 * rows.ones / rows.reports - 1
        lies = (2 * ones - (rows.reports + fakes)) / rows.reports - honest
        moved.append(float((share * lies * history.levels.signal.reach(rows)).sum()))
    assert history.fake_bias({16: 1.0}) == pytest.approx(max(map(abs, moved)), rel=0.02)


def test_a_rehearsal_covers_the_truth(tmp_path: Path) -> None:
    """All 16 periods, or as many as are asked for; no more than the horizon has."""
    survey, truth = tmp_path / "survey.toml", tmp_path / "truth.csv"
    survey.write_text(SURVEY, "utf-8")
    truth.write_text("dark,launches,weight\ntrue,40,1\nfalse,20,3\n", "utf-8")
    made = simulate(survey, truth, devices=5000, periods=20, repeat=60, seed=3)
    assert [value.period for value in made.values if value.question == "dark"] == DAYS
    for value in made.values:
        assert value.n == 5000
        assert value.truth == (0.25 if value.question == "dark" else 25)
        assert abs(value.mean_error) < 6.5 * value.standard_error / 60**0.5
        assert value.rms_error < value.standard_error * (1 + 6.5 / 120**0.5)
    assert simulate(survey, truth, devices=5000, periods=3, seed=3).periods == 3


def test_a_rehearsal_says_which_tallies_would_be_too_small(tmp_path: Path) -> None:
    """Of 5000 devices about 1000 of each of the five levels; half the periods have one level."""
    survey, truth = tmp_path / "survey.toml", tmp_path / "truth.csv"
    survey.write_text(SURVEY.replace("min_crowd = 1\n", "min_crowd = 1500\n", 1), "utf-8")
    truth.write_text("dark\ntrue\nfalse\n", "utf-8")
    (note,) = (
        note
        for note in simulate(
            survey, truth, devices=5000, periods=16, seed=3, questions=["dark"]
        ).notes
        if "would release" in note
    )
    assert note.startswith(
        "dark: a collector would release 8 of 16 tallies only, for min_crowd is 1,500, and as few "
    )
    few = simulate(survey, truth, devices=400, periods=16, seed=3, questions=["dark"]).notes
    assert any("release nothing, for min_crowd is 1,500, and as few" in note for note in few)


def test_a_survey_check_says_when_a_horizon_pays(tmp_path: Path) -> None:
    survey = tmp_path / "survey.toml"
    survey.write_text(SURVEY, "utf-8")
    dark, launches = check_survey(survey).changing
    assert (dark.periods, dark.changes, dark.asked_epsilon) == (16, 2, 2)
    assert (launches.changes, launches.better) == (None, "horizon")
    lines = [line for line in SURVEY.splitlines() if not line.startswith("horizon")]
    survey.write_text(
        "\n".join(lines).replace("epsilon = 2.0", "epsilon = 2.0\nepsilon_first = 1.0"), "utf-8"
    )
    month, year, *_ = check_survey(survey).changing
    assert (month.periods, year.periods, year.better) == (30, 365, "horizon")
    assert year.memoized_error > 10 * year.horizon_error
    assert year.asked_epsilon is not None
    assert year.asked_epsilon > 200


def test_a_total_says_what_its_epsilon_is_of(tmp_path: Path) -> None:
    survey = tmp_path / "survey.toml"
    survey.write_text(SURVEY, "utf-8")
    result = run("total-epsilon", "--survey", str(survey), "--days", "9")
    titles = [line for line in result.stdout.splitlines() if "(version 1)" in line]
    assert [title.partition("epsilon 2 of ")[2] for title in titles] == [
        "all reports together, about the whole trajectory with at most 2 changes in 16 periods",
        "all reports together, about the whole history of 16 periods, in which its number only "
        "rises",
    ]


@pytest.mark.parametrize(("expires", "asked"), [("2026-12-14", 15), ("2026-12-15", 0)])
def test_a_survey_check_warns_of_a_horizon_that_outlasts_its_question(
    tmp_path: Path, expires: str, asked: int
) -> None:
    survey = tmp_path / "survey.toml"
    survey.write_text(SURVEY.replace("2027-06-30", expires), "utf-8")
    found = [one for one in check_survey(survey).warnings if "of its horizon" in one]
    said = f"is asked in {asked} of the 16 periods of its horizon, for it expires on {expires}"
    assert [one.partition(";")[0] for one in found] == [
        f"{name}: {said}" for name in ("dark", "launches") if asked
    ]
