"""A survey's totals: the sums of its questions', the composition of all, and its ceiling."""

from __future__ import annotations

import json
import re
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as Done
from hypothesis import given
from hypothesis import strategies as st

from deniable.analysis import SurveyTotalEpsilon, survey_total_epsilon, total_epsilon
from deniable.analysis.accountants.compositions import least
from deniable.analysis.accountants.parts import Part
from deniable.analysis.cli import main
from deniable.analysis.render import as_csv, as_table
from deniable.analysis.totals.spans import touched
from deniable.protocol.errors import ParameterError, SurveyError
from deniable.protocol.mechanisms import build
from deniable.protocol.survey import compile_survey, load_survey

HEAD = '[survey]\nformat = 1\nid = "acme-editor"\nmax_epsilon = 12\n'

DARK = """
[questions.dark_mode]
version = 1
ask = "Is the dark theme on?"
type = "boolean"
epsilon = 2.0
epsilon_first = 1.0
period = "day"
min_crowd = 1000
expires = 2027-06-30
"""

HEALTH = """
[questions.health]
version = 4
ask = "How do you rate your health?"
type = "choice"
choices = ["excellent", "good", "fair", "poor"]
mechanism = "oue"
epsilon = 1.5
epsilon_first = 1.0
period = "week"
min_crowd = 1000
expires = 2027-06-30
"""

ONCE = """
[questions.member]
version = 1
ask = "Were you ever a member?"
type = "boolean"
epsilon = 0.5
period = "once"
min_crowd = 1000
expires = 2027-06-30
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return write(tmp_path, DARK, HEALTH, ONCE)


def write(folder: Path, *questions: str) -> Path:
    path = folder / "survey.toml"
    path.write_text(HEAD + "".join(questions), encoding="utf-8")
    return path


def run(*arguments: str | Path) -> Done:
    return CliRunner().invoke(main, [*map(str, arguments)], prog_name="deniable")


def epsilons(total: SurveyTotalEpsilon, noise: str) -> list[float | None]:
    return [row.epsilon(noise) for row in total.rows]


def test_every_question_has_the_rows_of_its_flags_and_its_own_period(survey: Path) -> None:
    total = survey_total_epsilon(survey, days=30, changes=2, delta="1e-6")
    dark, health, member = total.questions
    assert [(q.period, q.total.days) for q in (dark, health, member)] == [
        ("day", 30), ("week", 6), ("once", 1),
    ]  # fmt: skip
    alike: dict[str, Any] = {"changes": 2, "delta": "1e-6"}
    assert dark.total == total_epsilon(epsilon=2, epsilon_first=1, days=30, **alike)
    assert health.total == total_epsilon(
        epsilon="1.5", epsilon_first=1, days=6, values=4, mechanism="oue", **alike
    )
    assert member.total == total_epsilon(epsilon="0.5", days=1, **alike)


def test_the_survey_sums_its_questions(survey: Path) -> None:
    total = survey_total_epsilon(survey, days=30)
    for index, row in enumerate(total.rows):
        parts = [question.total.rows[index] for question in total.questions]
        memoized = [part.memoized for part in parts]
        if None in memoized:
            assert row.memoized is None
        else:
            assert row.memoized == pytest.approx(sum(memoized), rel=1e-12)
        dark, health, member = parts
        second = dark.second_round + health.second_round + member.memoized
        assert row.second_round == pytest.approx(second, rel=1e-12)
        assert row.fresh.epsilon == pytest.approx(sum(p.fresh.epsilon for p in parts), rel=1e-12)
    assert epsilons(total, "memoized") == [4.0, 4.0, 10.5, None, None]
    assert epsilons(total, "memoized_second_round")[0] == 2.5


def test_one_question_without_a_bound_leaves_the_survey_without(tmp_path: Path) -> None:
    alone = re.sub("epsilon_first.*\n", "", HEALTH)
    total = survey_total_epsilon(write(tmp_path, DARK, alone, ONCE), days=30)
    assert epsilons(total, "memoized_second_round")[3:] == [None, None]
    assert epsilons(total, "memoized_second_round")[:2] == pytest.approx([3.0, 4.0], abs=1e-6)
    weekly = survey_total_epsilon(write(tmp_path, alone), days=1)
    assert weekly.noises == ("memoized", "fresh")
    assert epsilons(weekly, "memoized") == [1.5] * 5


def test_fresh_reports_of_all_questions_are_composed_together(survey: Path) -> None:
    total = survey_total_epsilon(survey, days=200, delta="1e-6", devices_per_person=3)
    parts = [
        Part(build("grr", 2, Decimal(2)), 600),
        Part(build("oue", 4, Decimal("1.5")), 90),
        Part(build("grr", 2, Decimal("0.5")), 3),
    ]
    assert total.questions[1].total.days == 30
    bound = least(parts, 1e-6)
    assert total.rows[1].fresh.epsilon == total.rows[4].fresh.epsilon == bound.epsilon
    assert total.rows[1].fresh.delta == bound.delta
    assert bound.epsilon < sum(q.total.rows[1].fresh.epsilon for q in total.questions)
    day = least([Part(part.mechanism, 3) for part in parts], 1e-6)
    assert total.rows[0].fresh.epsilon == total.rows[3].fresh.epsilon == day.epsilon
    methods = [one["method"] for one in total.document()["compositions"]]
    assert methods == ["basic", "advanced", "kov", "zcdp", "rdp", "exact"]


def test_the_ceiling_is_beside_the_sum(survey: Path) -> None:
    total = survey_total_epsilon(survey, days=30)
    assert (total.sum_epsilon, total.max_epsilon) == (4, 12)
    document = total.document()
    assert (document["sum_epsilon"], document["max_epsilon"]) == (4, 12)
    text = " ".join(as_table(total).split())
    assert "sum is 4, the ceiling (max_epsilon) 12" in text
    assert "the device refuses to answer beyond it" in text


def test_several_devices_of_one_person(survey: Path) -> None:
    one = survey_total_epsilon(survey, days=30)
    four = survey_total_epsilon(survey, days=30, devices_per_person=4)
    for noise in one.noises:
        for single, together in zip(epsilons(one, noise), epsilons(four, noise), strict=True):
            assert together == (single and pytest.approx(4 * single, rel=1e-12))
    assert all("of one person's 4 devices" in row.unit for row in four.rows)


def test_a_compiled_survey_is_the_same(survey: Path, tmp_path: Path) -> None:
    compiled = tmp_path / "survey.json"
    compiled.write_text(compile_survey(load_survey(survey)), encoding="utf-8")
    assert survey_total_epsilon(compiled, days=9) == survey_total_epsilon(survey, days=9)


def test_the_command(survey: Path) -> None:
    line = ["total-epsilon", "--survey", survey, "--days", "30", "--delta", "1e-6"]
    document = json.loads(run(*line, "--format", "json").stdout)
    assert document == survey_total_epsilon(survey, days=30, delta="1e-6").document()
    assert [q["question"] for q in document["questions"]] == ["dark_mode", "health", "member"]
    assert document["questions"][1]["rows"][1]["memoized"] == 1.5
    assert document["rows"][1]["readings"]["memoized"]["success_cap"] == pytest.approx(
        0.982, abs=1e-3
    )
    text = " ".join(run(*line).stdout.split())
    assert "one in each ISO week that the days can touch" in text
    assert "all 3 questions of acme-editor" in text
    assert "Fresh noise, composed over the 37 reports of all 3 questions" in text


def test_the_flat_rows(survey: Path) -> None:
    total = survey_total_epsilon(survey, days=30)
    assert len(total.records()) == 20
    assert all(tuple(record) == total.columns for record in total.records())
    lines = as_csv(total).splitlines()
    assert lines[0].startswith("question,version,period,reports,protects,memoized,")
    assert lines[1].startswith("dark_mode,1,day,30,one report,2.0,1.0,2.0,")
    assert lines[16].startswith(",,,,one report,4.0,2.5,4.0,")


@pytest.mark.parametrize(
    "flags",
    [
        ["--epsilon", "2"],
        ["--epsilon-first", "1"],
        ["--values", "2"],
        ["--mechanism", "auto"],
        ["--option", "g=4"],
    ],
)
def test_flags_of_one_question_are_refused_beside_a_survey(survey: Path, flags: list[str]) -> None:
    done = run("total-epsilon", "--survey", survey, "--days", "9", *flags)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert f"give --survey or {flags[0]}, not both" in done.stderr


def test_one_of_both_forms_is_needed() -> None:
    done = run("total-epsilon", "--days", "9")
    assert done.exit_code == 2
    assert done.stderr == "Error: give --epsilon, or --survey with a file\n"


def test_what_is_wrong_with_a_survey_is_said(tmp_path: Path) -> None:
    with pytest.raises(SurveyError, match="cannot be read"):
        survey_total_epsilon(tmp_path / "none.toml", days=9)
    assert run("total-epsilon", "--survey", tmp_path / "none.toml", "--days", "9").exit_code == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"days": 0}, "days must be a whole number"),
        ({"changes": -1}, "changes must be"),
        ({"delta": 1}, "delta must be"),
        ({"devices_per_person": 0}, "devices_per_person must be"),
        ({"days": 10**6, "devices_per_person": 2}, "devices_per_person x days must be at most"),
    ],
)
def test_parameters_out_of_range(survey: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        survey_total_epsilon(survey, **({"days": 9} | wrong))


def test_a_delta_for_somebody_is_warned_of(survey: Path) -> None:
    total = survey_total_epsilon(survey, days=9, delta="0.001", devices=1000)
    (warning,) = total.document()["warnings"]
    assert warning.startswith("delta = 0.001 is not below 1/devices = 0.001: among 1,000 people")
    assert "Warning: delta" in as_table(total)


def test_every_epsilon_that_is_shown_says_of_what(survey: Path) -> None:
    total = survey_total_epsilon(survey, days=30, delta="1e-6", devices_per_person=2)
    for section in total.sections():
        for text in (section.title, *section.notes, *section.columns):
            for found in re.finditer(r"(?<!max_)epsilon", text, re.IGNORECASE):
                before, rest = text[: found.start()], text[found.end() :]
                said = re.search(r"\b(of|between|over)\b", rest)
                assert before.endswith("x ") or said or before == "its ", text


START = date(1896, 1, 1)


@given(
    kind=st.sampled_from(["week", "month"]),
    days=st.one_of(st.integers(1, 100), st.integers(360, 1500)),
    first=st.integers(0, 146_096),
)
def test_no_stretch_of_days_touches_more_periods(kind: Any, days: int, first: int) -> None:
    begin = START + timedelta(first)
    end = begin + timedelta(days - 1)
    if kind == "month":
        found = 12 * (end.year - begin.year) + end.month - begin.month + 1
    else:
        found = (end.toordinal() - 1) // 7 - (begin.toordinal() - 1) // 7 + 1
    assert found <= touched(kind, days)


@pytest.mark.parametrize(
    ("kind", "days", "begin"),
    [
        ("week", 2, date(2026, 11, 29)), ("week", 8, date(2026, 11, 29)),
        ("week", 9, date(2026, 11, 29)), ("week", 365, date(2026, 11, 29)),
        ("month", 1, date(2026, 11, 30)), ("month", 2, date(2026, 11, 30)),
        ("month", 29, date(2026, 11, 30)), ("month", 30, date(2026, 1, 31)),
        ("month", 31, date(2026, 1, 31)), ("month", 61, date(2026, 1, 31)),
        ("month", 365, date(2025, 3, 31)), ("month", 366, date(2025, 3, 31)),
    ],
)  # fmt: skip
def test_some_stretch_of_days_touches_as_many(kind: Any, days: int, begin: date) -> None:
    stretch = [begin + timedelta(n) for n in range(days)]
    touches = {
        (day.year, day.month) if kind == "month" else day.isocalendar()[:2] for day in stretch
    }
    assert len(touches) == touched(kind, days)


def test_periods_of_a_million_days() -> None:
    assert touched("day", 10**6) == 10**6
    assert touched("week", 10**6) == 142_858
    assert touched("month", 146_097 * 2 + 2) == 2 * 4800 + 2  # two whole cycles and both ends
    assert touched("once", 10**6) == 1


def test_one_question_is_not_called_all_of_them(tmp_path: Path) -> None:
    alone = tmp_path / "alone.toml"
    alone.write_text(HEAD + DARK, encoding="utf-8")
    text = " ".join(run("total-epsilon", "--survey", alone, "--days", "1").stdout.split())
    assert "the 1 question of acme-editor" in text
    assert "composed over the 1 report of the 1 question about" in text
