"""A plan of a survey: its lines are pasted, the survey is loaded, and the promise is checked."""

from __future__ import annotations

import json
import re
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deniable.analysis import (
    SurveyPlan,
    check_survey,
    diff,
    plan_survey_local,
    plan_survey_margins,
    plan_survey_shares,
    survey_total_epsilon,
    total_epsilon,
    users_needed,
)
from deniable.analysis.cli import main
from deniable.analysis.plans.digits import GRID
from deniable.analysis.shuffling.bounds import shuffle_bounds
from deniable.protocol.errors import ParameterError, SurveyError
from deniable.protocol.mechanisms import choose
from deniable.protocol.survey import Survey, compile_survey, load_survey

SURVEY = """
[survey]
format = 1
id = "acme-editor"
max_epsilon = 8.0

[questions.dark_mode]
version = 3
ask = "Is the dark theme on?"
type = "boolean"
epsilon = 2.0
epsilon_first = 1.0
period = "day"
expires = 2098-06-30

[questions.health]
version = 1
ask = "How do you rate your health?"
type = "choice"
choices = ["poor", "fair", "good", "excellent"]
epsilon = 1.0
mechanism = { name = "olh", g = 3 }
period = "week"
expires = 2098-06-30

[questions.visits]
version = 1
ask = "How often did you see a doctor?"
type = "number"
range = { low = 0, high = 20, steps = 20 }
epsilon = 1.0
period = "week"
expires = 2098-06-30
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY, encoding="utf-8")
    return path


def paste(path: Path, plan: SurveyPlan) -> Survey:
    """Replace every key by hand, as an author would, and load the result."""
    text = path.read_text("utf-8")
    tables = tomllib.loads("\n".join(plan.lines))
    changes = {"survey": tables.get("survey", {})}
    changes |= {f"questions.{name}": table for name, table in tables.get("questions", {}).items()}
    assert "\n".join(plan.lines).count("=") == sum(map(len, changes.values()))
    for name, table in changes.items():
        head, _, rest = text.partition(f"[{name}]")
        body, separator, after = rest.partition("\n\n")
        for key in table:
            (line,) = re.findall(rf"^{key} = .*$", "\n".join(plan.lines).split(f"[{name}]")[1],
                                 re.MULTILINE)[:1]  # fmt: skip
            body, found = re.subn(rf"^{key} = .*$", line, body, flags=re.MULTILINE)
            body += "" if found else f"\n{line}"
        text = f"{head}[{name}]{body}{separator}{after}"
    pasted = path.with_name("pasted.toml")
    pasted.write_text(text, encoding="utf-8")
    return load_survey(pasted)


def test_a_total_is_shared_and_the_pasted_survey_keeps_it(survey: Path) -> None:
    plan = plan_survey_shares(survey, total_epsilon=6, devices_per_person=2)
    assert plan.problems == ()
    after = paste(survey, plan)
    assert [question.epsilon for question in after.questions.values()] == [1, 1, 1]
    assert after.max_epsilon * 2 == 6
    bill = check_survey(survey.with_name("pasted.toml"))
    assert bill.total_epsilon * 2 == 6
    assert after.questions["dark_mode"].epsilon_first == Decimal("0.5")
    changed = diff(survey, survey.with_name("pasted.toml"))
    assert not changed.refused  # new versions, so no device meets an old one under another hash


def test_shares_in_proportion_keep_the_ratios(survey: Path) -> None:
    plan = plan_survey_shares(survey, total_epsilon=2, sharing="proportional")
    after = paste(survey, plan)
    epsilons = [question.epsilon for question in after.questions.values()]
    assert epsilons == [1, Decimal("0.5"), Decimal("0.5")]
    assert after.max_epsilon == 2


def test_only_what_changes_is_printed(survey: Path) -> None:
    plan = plan_survey_shares(survey, total_epsilon=8, sharing="proportional")
    unit = "# of all reports about one answer"
    assert plan.lines == (
        "[questions.dark_mode]", "version = 4", f"epsilon = 4  {unit}",
        "epsilon_first = 2  # of one report", "",
        "[questions.health]", "version = 2", f"epsilon = 2  {unit}", "",
        "[questions.visits]", "version = 2", f"epsilon = 2  {unit}",
    )  # fmt: skip
    same = plan_survey_shares(survey, total_epsilon=4, sharing="proportional")
    assert same.lines == ("[survey]", "max_epsilon = 4  # of one device, all questions")
    assert [question.version for question in same.questions] == [3, 1, 1]


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    total=st.decimals("0.3", "30", places=2),
    devices=st.integers(1, 3),
    changes=st.none() | st.integers(0, 9),
    sharing=st.sampled_from(["equal", "proportional"]),
)
def test_what_is_pasted_leads_back_to_the_total(
    survey: Path, total: Decimal, devices: int, changes: int | None, sharing: str
) -> None:
    """Each question's lifetime by total-epsilon, added up over questions and devices."""
    shared: dict[str, Any] = {"sharing": sharing, "devices_per_person": devices, "changes": changes}
    if total < Decimal("0.04") * 2 * devices * ((changes or 0) + 1):  # too little, maybe
        total = Decimal("0.04") * 2 * devices * ((changes or 0) + 1)
    plan = plan_survey_shares(survey, total_epsilon=total, **shared)
    after = paste(survey, plan)
    spent = Decimal(0)
    for question in after.questions.values():
        built = question.mechanism
        rows = total_epsilon(
            epsilon=question.epsilon, days=1000, changes=changes or 0, values=built.k,
            mechanism=built.name, options=dict(built.chosen),
        ).rows  # fmt: skip
        (cost,) = (row.memoized for row in rows if row.protects.startswith("the values"))
        spent += Decimal(repr(cost)) * devices
    assert spent <= total + Decimal("1e-12")
    capped = any(question.epsilon == 16 for question in after.questions.values())
    assert capped or spent * Decimal("1.01") > total


def test_margins_of_a_survey(survey: Path) -> None:
    plan = plan_survey_margins(survey, devices=20_000)
    assert plan.lines == ()
    asked = load_survey(survey).questions
    for question in plan.questions:
        built = asked[question.question].mechanism
        assert question.margin is not None
        needed = users_needed(
            epsilon=built.epsilon, epsilon_first=built.epsilon_first, margin=question.margin,
            values=built.k, mechanism=built.name, options=dict(built.chosen),
        )  # fmt: skip
        assert needed.users <= 20_000


def test_a_margin_is_reached_by_what_is_pasted_and_by_no_less(survey: Path) -> None:
    plan = plan_survey_margins(survey, devices=20_000, margin="0.02")
    after = paste(survey, plan)
    z = Fraction("1.959963984540054")
    for question in after.questions.values():
        variance = question.mechanism.worst_variance_iid()[0]
        assert float(z * z) * variance / 20_000 <= 0.02**2 * (1 + 1e-9)
    visits = after.questions["visits"].epsilon
    less = choose(21, GRID[GRID.below(Fraction(visits)) - 1], asks="number")
    assert float(z * z) * less.worst_variance_iid()[0] / 20_000 > 0.02**2


def test_an_unreachable_margin_leaves_the_question_as_it_is(survey: Path) -> None:
    plan = plan_survey_margins(survey, devices=10, margin="0.02")
    assert plan.lines == ()
    assert all("cannot be reached" in question.why for question in plan.questions)


def test_a_ceiling_that_is_too_low_is_raised(survey: Path) -> None:
    plan = plan_survey_margins(survey, devices=3000, margin="0.0205")
    assert plan.total_epsilon > 8
    assert plan.lines[0] == "[survey]"
    assert paste(survey, plan).max_epsilon == plan.total_epsilon


def test_a_central_epsilon_holds_for_what_is_pasted(survey: Path) -> None:
    plan = plan_survey_local(
        survey, central_epsilon="0.5", delta="1e-7", crowd=100_000, fake_share="0.2"
    )
    after = paste(survey, plan)
    for question in after.questions.values():
        assert question.min_crowd == 100_000
        assert (question.epsilon_first or question.epsilon) > Decimal("0.5")
        assert shuffle_bounds(question.mechanism, 80_000, 1e-7).upper <= 0.5


def test_lines_that_would_not_load_are_said_to_be_so(survey: Path) -> None:
    """At a lower epsilon the noise of more bits recognises a device; the author has to know."""
    choices = ", ".join(f'"{number}"' for number in range(14))
    text = SURVEY.replace('"poor", "fair", "good", "excellent"', choices)
    text = text.replace('{ name = "olh", g = 3 }', '"oue"').replace("epsilon = 1.0", "epsilon = 6")
    text = text.replace("max_epsilon = 8.0", "max_epsilon = 20")
    survey.write_text(text, encoding="utf-8")
    plan = plan_survey_shares(survey, total_epsilon=3)
    assert [problem.key for problem in plan.problems] != []
    with pytest.raises(SurveyError, match="bits"):
        paste(survey, plan)
    (section,) = (each for each in plan.sections() if each.title == "Then")
    assert any("With these lines a check would find" in note for note in section.notes)


def test_a_compiled_survey_has_no_place_for_lines(survey: Path) -> None:
    compiled = survey.with_suffix(".json")
    compiled.write_text(compile_survey(load_survey(survey)), encoding="utf-8")
    with pytest.raises(ParameterError, match="survey must be the TOML"):
        plan_survey_margins(compiled, devices=10)


ASKED: dict[str, tuple[str, ...]] = {
    "epsilon_per_question": ("--total-epsilon", "6", "--days", "30", "--share", "proportional"),
    "margin": ("--devices", "10000"),
    "epsilon": ("--margin", "0.02", "--devices", "100000"),
    "local_epsilon": ("--central-epsilon", "0.5", "--delta", "1e-3", "--crowd", "1000"),
}


@pytest.mark.parametrize(("unknown", "flags"), ASKED.items())
def test_the_command(unknown: str, flags: tuple[str, ...], survey: Path) -> None:
    arguments = ["plan", "--survey", str(survey), *flags]
    done = CliRunner().invoke(main, [*arguments, "--format", "json"])
    assert done.exit_code == 0, done.output
    document: dict[str, Any] = json.loads(done.stdout, parse_constant=pytest.fail)
    assert document["unknown"] == unknown
    assert len(document["questions"]) == 3
    assert (document["lines"] == []) == (unknown == "margin")
    if unknown == "local_epsilon":  # the slowest one has no words of its own
        return
    table = CliRunner().invoke(main, arguments).output
    for line in document["lines"]:
        assert line in table.splitlines()
    assert ("new spend" in table) == (unknown != "margin")


def test_flags_of_a_survey_are_their_own(survey: Path) -> None:
    wrong = ["plan", "--survey", str(survey), "--total-epsilon", "3", "--questions", "4"]
    done = CliRunner().invoke(main, wrong)
    assert done.exit_code == 2
    assert "--questions cannot be given with --total-epsilon" in done.output


ONCE = """
[questions.height]
version = 1
ask = "How tall are you?"
type = "choice"
choices = ["short", "tall", "taller"]
epsilon = 1.0
mechanism = "grr"
period = "{period}"
expires = 2098-06-30
"""


@pytest.mark.parametrize(
    ("period", "days", "answers"),
    [("once", None, 1), ("once", 30, 1), ("month", 1, 1), ("month", 29, 2), ("month", None, 3),
     ("week", 8, 2), ("week", 9, 3), ("day", 2, 2)],
)  # fmt: skip
def test_a_question_has_no_more_answers_than_reports(
    tmp_path: Path, period: str, days: int | None, answers: int
) -> None:
    """grr over 3 values remembers 3 of them at most; 8 days touch 2 weeks, 9 days 3."""
    path = tmp_path / "once.toml"
    path.write_text(SURVEY.partition("[questions.")[0] + ONCE.format(period=period), "utf-8")
    plan = plan_survey_shares(path, total_epsilon=6, changes=5, days=days)
    assert plan.questions[0].proposal.epsilon == 6 / Decimal(answers)
    if days is not None:
        text = path.read_text("utf-8").replace("epsilon = 1.0", f"epsilon = {6 / answers}")
        path.write_text(text, "utf-8")
        spent = survey_total_epsilon(path, days=days, changes=5).rows[2].memoized
        assert spent == pytest.approx(6)


def test_days_are_those_of_a_calendar(survey: Path) -> None:
    target = plan_survey_shares(survey, total_epsilon=6, days=30).target
    assert target.endswith(
        "all reports of their device in 30 days, one in each period of a question"
    )
    assert (
        "2 devices in any number of days"
        in plan_survey_shares(survey, total_epsilon=6, devices_per_person=2).target
    )


def test_a_kept_ratio_is_named_as_the_cause(survey: Path) -> None:
    text = SURVEY.replace("epsilon = 2.0", "epsilon = 16").replace(
        "epsilon_first = 1.0", "epsilon_first = 0.01"
    )
    survey.write_text(text.replace("max_epsilon = 8.0", "max_epsilon = 20"), encoding="utf-8")
    with pytest.raises(ParameterError) as caught:
        plan_survey_shares(survey, total_epsilon=2)
    assert str(caught.value) == (
        "total_epsilon is too small for dark_mode: it leaves 0.6666 for each answer, less than "
        "16, the least that devices accept where epsilon_first, of one report, is 0.000625 of "
        "epsilon: both must be 0.01 or more; ask fewer questions, or allow more"
    )


def test_a_question_at_the_ceiling_of_devices_is_named(survey: Path) -> None:
    plan = plan_survey_shares(survey, total_epsilon=60)
    said = "more would be allowed, but 16 is the most that devices accept"
    assert " ".join(plan.sections()[0].notes).count(said) == 3
    assert [row["capped"] for row in plan.records()] == [True] * 3
    exact = plan_survey_shares(survey, total_epsilon=48)
    assert exact.questions[0].proposal.epsilon == 16
    assert said not in " ".join(exact.sections()[0].notes)


def test_a_delta_that_exposes_somebody_is_warned_of(survey: Path) -> None:
    shared: dict[str, Any] = {"central_epsilon": 3, "crowd": 100}
    warned = plan_survey_local(survey, delta="0.01", **shared)
    (warning,) = (note for note in warned.document()["notes"] if note.startswith("Warning"))
    assert "delta = 0.01 is not below 1/100" in warning
    assert warning in " ".join(warned.sections()[0].notes)
    quiet = plan_survey_local(survey, delta="0.009", **shared)
    assert not any(note.startswith("Warning") for note in quiet.notes)
