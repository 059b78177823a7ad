"""``deniable survey``: the bill of a survey, what a new edition costs, the compiled form."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from deniable.analysis import check_survey, diff
from deniable.analysis.cli import main
from deniable.protocol.errors import SurveyError
from deniable.protocol.mechanisms import build
from deniable.protocol.sealing import SealingKey
from deniable.protocol.survey import load_survey

SURVEY = """
[survey]
format = 1
id = "acme-editor"
max_epsilon = 8.0
batch = "question"

[questions.dark_mode]
version = 1
ask = "Is the dark theme on?"
type = "boolean"
epsilon = 2.0
epsilon_first = 1.0
period = "day"
min_crowd = 1000
expires = 2098-12-31

[questions.health]
version = 1
ask = "How do you rate your health?"
type = "choice"
choices = ["excellent", "good", "fair", "poor"]
mechanism = "oue"
epsilon = 2.0
period = "week"
min_crowd = 20
expires = 2098-12-31
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY, encoding="utf-8")
    return path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)], prog_name="deniable")


def test_the_bill(survey: Path) -> None:
    dark, health = check_survey(survey).questions
    assert (dark.mechanism, dark.chosen, dark.epsilon, dark.epsilon_first) == ("grr", True, 2, 1)
    assert (health.mechanism, health.chosen, health.epsilon_first) == ("oue", False, None)
    assert (dark.lifetime_changing, health.lifetime_changing) == (4, 8)
    assert dark.change_reveals == pytest.approx(1.40760, abs=1e-4)
    assert health.change_reveals is None
    grr, oue = load_survey(survey).questions.values()
    for cost, mechanism in ((dark, grr.mechanism), (health, oue.mechanism)):
        worst, _ = mechanism.worst_variance_iid()
        assert cost.standard_errors == tuple(math.sqrt(worst / 10**e) for e in (4, 5, 6, 7))
        assert cost.fingerprint_bits == mechanism.fingerprint_bits


def test_what_has_expired_is_said(survey: Path) -> None:
    text = survey.read_text("utf-8")
    survey.write_text(re.sub(r"expires = [0-9-]+", "expires = 2020-06-30", text), "utf-8")
    done = run("survey", "check", survey)
    assert done.exit_code == 0
    assert "expired on 2020-06-30, and is no longer asked" in " ".join(done.stdout.split())


def test_the_bill_as_json(survey: Path) -> None:
    done = run("survey", "check", survey, "--format", "json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["valid"] is True
    assert document["total_epsilon"] == 4
    assert document["max_epsilon"] == 8
    assert document["fingerprint"][0] == {"period": "day", "bits": 1.0, "limit": 10}
    (warning,) = document["warnings"]
    assert warning.startswith("health: a crowd of 20 (min_crowd) hides little")
    assert document["questions"][1]["standard_error_10000"] == pytest.approx(
        math.sqrt(build("oue", 4, load_survey(survey).questions["health"].epsilon)
                  .worst_variance_iid()[0]) / 100
    )  # fmt: skip


def test_the_bill_for_people(survey: Path) -> None:
    done = run("survey", "check", survey)
    assert done.exit_code == 0
    assert "acme-editor: valid" in done.stdout
    assert "grr (auto)" in done.stdout
    assert "spends 4 of at most 8" in done.stdout
    assert "Warning: health: a crowd of 20" in done.stdout
    assert "no bound" in done.stdout


def test_the_bill_as_rows(survey: Path) -> None:
    rows = list(
        csv.DictReader(io.StringIO(run("survey", "check", survey, "--format", "csv").stdout))
    )
    assert [row["question"] for row in rows] == ["dark_mode", "health"]
    assert rows[1]["change_reveals"] == ""


def test_a_compiled_survey_does_not_tell_who_chose(survey: Path, tmp_path: Path) -> None:
    compiled = tmp_path / "survey.json"
    assert run("survey", "compile", survey, "--output", compiled).exit_code == 0
    assert load_survey(compiled) == load_survey(survey)
    assert compiled.stat().st_mode & 0o777 == 0o644
    assert {cost.chosen for cost in check_survey(compiled).questions} == {None}
    printed = run("survey", "compile", survey)
    assert printed.stdout == compiled.read_text(encoding="utf-8")


def test_compiling_replaces_whole_or_not_at_all(survey: Path, tmp_path: Path) -> None:
    done = run("survey", "compile", survey, "--output", tmp_path / "no" / "folder.json")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "cannot be written" in done.stderr
    folder = tmp_path / "folder"
    folder.mkdir()
    assert run("survey", "compile", survey, "--output", folder).exit_code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "survey.toml"]


def test_every_mistake_is_one_line(survey: Path) -> None:
    survey.write_text(
        SURVEY.replace("max_epsilon = 8.0", "max_epsilon = 0").replace('"week"', '"year"')
    )
    for command in ("check", "compile"):
        done = run("survey", command, survey)
        assert done.exit_code == 1
        assert done.stdout == ""
        lines = done.stderr.splitlines()
        assert len(lines) == 2
        assert lines[0].startswith("Error: survey.max_epsilon: ")
        assert lines[1].startswith("Error: questions.health.period: ")
    with pytest.raises(SurveyError):
        check_survey(survey)


def test_mistakes_as_json_and_rows(survey: Path) -> None:
    survey.write_text(SURVEY.replace('"week"', '"year"'))
    done = run("survey", "check", survey, "--format", "json")
    assert (done.exit_code, done.stderr) == (1, "")
    document = json.loads(done.stdout)
    assert document["valid"] is False
    assert [problem["key"] for problem in document["problems"]] == ["questions.health.period"]
    assert run("survey", "check", survey, "--format", "csv").stdout.startswith("key,problem,fix\n")


@pytest.mark.parametrize(
    ("content", "name"),
    [(b"\xff\xfe", "a.toml"), (b"[", "b.toml"), (b"{", "c.json"), (b"[" * 99999, "d.json"),
     (b"", "e.toml"), (b"null", "f.json"), (b"x = 1e99999999999", "g.toml")],
)  # fmt: skip
def test_files_that_are_no_survey(content: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for command in ("check", "compile"):
        done = run("survey", command, path)
        assert done.exit_code == 1
        assert done.stderr
        assert all(line.startswith("Error: ") for line in done.stderr.splitlines())


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.toml"):
        done = run("survey", "check", path)
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1)


def edition(tmp_path: Path, *changes: tuple[str, str]) -> Path:
    text = SURVEY
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    path = tmp_path / "new.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_edition_that_costs_nothing(survey: Path, tmp_path: Path) -> None:
    new = edition(tmp_path, ("min_crowd = 20", "min_crowd = 2000"))
    done = run("survey", "diff", survey, new, "--format", "json")
    assert done.exit_code == 0
    document = json.loads(done.stdout)
    assert document["refused"] is False
    assert [change["new_epsilon"] for change in document["changes"]] == [0]
    assert "REFUSED" not in run("survey", "diff", survey, new).stdout
    same = run("survey", "diff", survey, survey)
    assert (same.exit_code, same.stdout) == (0, "Nothing changes for anyone.\n")
    assert run("survey", "diff", survey, survey, "--format", "csv").stdout == (
        "question,change,new_epsilon,refused\n"
    )


def test_an_edition_that_costs_epsilon_or_is_refused(survey: Path, tmp_path: Path) -> None:
    spent = edition(tmp_path, ("epsilon = 2.0\nepsilon_first", "epsilon = 3.0\nepsilon_first"),
                    ("version = 1\nask = \"Is", "version = 2\nask = \"Is"))  # fmt: skip
    result = diff(survey, spent)
    assert not result.refused
    assert [record["new_epsilon"] for record in result.records()] == [3]
    refused = edition(tmp_path, ("Is the dark theme on?", "Is it dark?"))
    done = run("survey", "diff", survey, refused)
    assert done.exit_code == 1
    assert "REFUSED: devices and collectors that know the old edition" in done.stdout
    assert done.stderr == ""


def test_a_survey_under_another_name_costs_all_of_it(tmp_path: Path) -> None:
    wide = SURVEY.replace("max_epsilon = 8.0", "max_epsilon = 30.0")
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(wide, "utf-8")
    new.write_text(
        wide.replace("acme-editor", "acme-viewer").replace("epsilon = 2.0", "epsilon = 12"), "utf-8"
    )
    shown = run("survey", "diff", old, new).stdout
    assert "\nall questions together: above 10 an epsilon is no meaningful guarantee." in shown


def test_a_survey_that_accepts_to_be_recognisable(tmp_path: Path) -> None:
    choices = ", ".join(f'"c{i}"' for i in range(64))
    text = SURVEY.replace('batch = "question"', "linkable = true")
    text = text.replace('"excellent", "good", "fair", "poor"', choices)
    path = tmp_path / "linkable.toml"
    path.write_text(text, encoding="utf-8")
    warnings: Any = check_survey(path).warnings
    assert any("may tell devices apart" in warning for warning in warnings)


def test_the_runners_up(survey: Path) -> None:
    found = check_survey(survey).alternatives
    dark = [one for one in found if one.question == "dark_mode"]
    health = [one for one in found if one.question == "health"]
    assert dark[0].mechanism == "grr"
    assert dark[0].asked
    assert {one.mechanism for one in dark} >= {"grr", "sue", "oue"}
    (asked,) = [one for one in health if one.asked]
    assert (asked.mechanism, asked.standard_error_ratio) == ("oue", 1)
    (grr,) = [one for one in health if one.mechanism == "grr"]
    epsilon = load_survey(survey).questions["health"].epsilon
    ratio = build("grr", 4, epsilon).variance(0.25) / build("oue", 4, epsilon).variance(0.25)
    assert grr.standard_error_ratio == pytest.approx(math.sqrt(ratio))
    candidates = [one.standard_error_ratio for one in health if not one.against]
    assert candidates == sorted(candidates)
    (oue,) = [one for one in dark if one.mechanism == "oue"]
    assert oue.against == "a changed day shows in more than one place of a report"
    shown = run("survey", "check", survey).stdout
    assert "Other mechanisms for the same epsilons" in shown
    assert f"x {grr.standard_error_ratio:.3g}" in shown


def test_the_runners_up_as_json(survey: Path) -> None:
    document = json.loads(run("survey", "check", survey, "--format", "json").stdout)
    assert document["alternatives"][0] == check_survey(survey).alternatives[0].record()


def test_check_says_what_is_sealed_and_for_which_key(tmp_path: Path) -> None:
    table = SealingKey("k2027", "x25519", bytes([7] * 32), "active").document()
    lines = "\n".join(f'{name} = "{value}"' for name, value in table.items())
    text = SURVEY.replace("min_crowd = 1000", "min_crowd = 1000\nsealed = true")
    path = tmp_path / "sealed.toml"
    path.write_text(text.replace("\n\n", f"\n\n[[survey.sealing_keys]]\n{lines}\n\n", 1), "utf-8")
    document = json.loads(run("survey", "check", path, "--format", "json").stdout)
    assert document["sealing_key"] == "k2027"
    assert [one["sealed"] for one in document["questions"]] == [True, False]
    told = run("survey", "check", path).stdout
    assert "Sealed: dark_mode. Each response is encrypted for the analyst's key k2027;" in told
    plain = tmp_path / "plain.toml"
    plain.write_text(SURVEY, "utf-8")
    assert (
        json.loads(run("survey", "check", plain, "--format", "json").stdout)["sealing_key"] is None
    )
    assert "Sealed" not in run("survey", "check", plain).stdout
    changes = run("survey", "diff", plain, path)
    assert changes.exit_code == 1
    assert "(answers are sealed now)" in changes.stdout
