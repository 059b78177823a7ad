"""Accounting and planning of every kind of question: numbers, or one clear line."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from deniable.analysis.cli import main
from deniable.protocol.mechanisms import MECHANISMS, build, named

NEEDED = {
    "privset": ["--option", "items=3", "--values", "20"],
    "pem": ["--option", "letters=26", "--option", "length=8"],
    "trajectory": ["--option", "periods=30", "--option", "changes=2"],
    "counter": ["--option", "periods=30", "--values", "101"],
}
NEW = ("privset", "cms", "hcms", "pem", "trajectory", "counter")
TWO_ROUNDS = [name for name in NEW if MECHANISMS[name].two_rounds]

COMMANDS = {
    "users-needed": ["--epsilon", "2", "--margin", "0.02"],
    "total-epsilon": ["--epsilon", "2", "--days", "30", "--changes", "3"],
    "shuffle-epsilon": ["--epsilon", "2", "--crowd", "100000", "--delta", "1e-7"],
    "compare": ["--epsilon", "2", "--devices", "100000", "--delta", "1e-7"],
    "plan": ["--devices", "5000000", "--margin", "0.02"],
    "plan of epsilon": ["--devices", "5000000", "--epsilon", "2"],
    "plan of a total": ["--total-epsilon", "8", "--days", "30", "--questions", "2"],
    "plan of a crowd": ["--central-epsilon", "1", "--delta", "1e-7", "--crowd", "100000"],
    "debias": ["--epsilon", "2", "--counts", "500,500"],
}
REFUSED = {
    ("compare", "trajectory"): "that of trajectory is of all periods together",
    ("compare", "counter"): "that of counter is of all periods together",
    **{("debias", name): "Invalid value for '--mechanism'" for name in NEW},
}

SURVEY = """
[survey]
format = 1
id = "acme-editor"
max_epsilon = 80
{head}

[questions.tools]
version = 1
ask = "Which of these did you use?"
type = "set"
choices = ["a", "b", "c", "d", "e", "f"]
max_items = 2
epsilon = 2
period = "week"
expires = 2098-12-31

[questions.home]
version = 1
ask = "Which page did you start with?"
type = "text"
text = {{ alphabet = "abcdefghijklmnopqrstuvwxyz", max_length = 8, fold = true }}
epsilon = 4
period = "week"
expires = 2098-12-31

[questions.found]
version = 1
ask = "Which word is missing?"
type = "text"
text = {{ alphabet = "abcdefghijklmnopqrstuvwxyz", max_length = 8, fold = true }}
mechanism = "pem"
epsilon = 4
period = "week"
expires = 2098-12-31

[questions.dark]
version = 1
ask = "Is the dark theme on?"
type = "boolean"
horizon = {{ start = 2026-11-30, periods = 30, changes = 2 }}
epsilon = 2
period = "day"
expires = 2098-12-31

[questions.launches]
version = 1
ask = "How often was it started so far?"
type = "number"
range = {{ low = 0, high = 100 }}
horizon = {{ start = 2026-11-30, periods = 30 }}
epsilon = 2
period = "day"
expires = 2098-12-31

[questions.both]
version = 1
ask = "Which theme in which plan?"
type = "joint"
parts = {{ theme = ["dark", "light"], plan = ["free", "pro", "team"] }}
epsilon = 2
period = "day"
expires = 2098-12-31
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY.format(head="linkable = true"))
    return path


def run(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def shown(*words: str) -> dict[str, Any]:
    done = run(*words, "--format", "json")
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    document: dict[str, Any] = json.loads(done.stdout, parse_constant=pytest.fail)
    return document


def require_one_line(done: Result) -> str:
    assert done.exit_code in (1, 2)
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_knows_every_mechanism(command: str, name: str) -> None:
    needed = [] if command == "debias" else NEEDED.get(name, [])
    words = [command.split()[0], *COMMANDS[command], "--mechanism", name, *needed]
    if (command, name) in REFUSED:
        assert REFUSED[command, name] in require_one_line(run(*words))
        return
    assert shown(*words)
    done = run(*words)
    assert done.exit_code == 0
    wanted = "texts" if MECHANISMS[name].asks == "text" else "items" if name == "privset" else ""
    assert wanted in done.stdout or command == "plan of a total"
    assert done.stdout.count("unchanging answer") == 0 or "periods" not in NEEDED.get(name, [])


@pytest.mark.parametrize("name", TWO_ROUNDS)
@pytest.mark.parametrize("command", ["users-needed", "total-epsilon", "shuffle-epsilon"])
def test_every_command_knows_their_second_round(command: str, name: str) -> None:
    words = [*COMMANDS[command], "--mechanism", name, *NEEDED.get(name, [])]
    assert shown(command, *words, "--epsilon-first", "1")["epsilon_first"] == 1


@pytest.mark.parametrize("name", NEEDED)
@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "debias"])
def test_what_a_question_would_decide_is_asked_for(command: str, name: str) -> None:
    line = require_one_line(run(command.split()[0], *COMMANDS[command], "--mechanism", name))
    if (command, name) not in REFUSED:
        assert f"{name} needs the option " in line
        assert all(f"{given}, a whole number in " in line for given in MECHANISMS[name].given)


@pytest.mark.parametrize(
    "words",
    [
        ("survey", "check"),
        ("total-epsilon", "--days", "30", "--survey"),
        ("total-epsilon", "--days", "30", "--changes", "2", "--devices-per-person", "2",
         "--survey"),
        ("plan", "--total-epsilon", "40", "--days", "30", "--survey"),
        ("plan", "--devices", "10000000", "--margin", "0.01", "--survey"),
        ("plan", "--devices", "10000000", "--survey"),
        ("plan", "--central-epsilon", "1", "--delta", "1e-7", "--crowd", "100000", "--survey"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["table", "csv"])
def test_every_survey_command_knows_every_kind(
    words: tuple[str, ...], form: str, survey: Path
) -> None:
    done = run(*words, str(survey), "--format", form)
    assert (done.exit_code, done.stderr) == (0, "")
    for question in ("tools", "home", "found", "dark", "launches", "both"):
        assert question in done.stdout


def bill(survey: Path) -> dict[str, dict[str, Any]]:
    return {each["question"]: each for each in shown("survey", "check", str(survey))["questions"]}


def test_what_a_survey_of_every_kind_costs(survey: Path) -> None:
    """A set has no bound; a text has its buckets; a whole trajectory costs what it says."""
    questions = bill(survey)
    cms, pem = (build(name, 2, Decimal(4), None, given) for name, given in (
        ("cms", {}), ("pem", {"letters": 26, "length": 8})))  # fmt: skip
    assert {name: each["lifetime_changing"] for name, each in questions.items()} == {
        "tools": None,
        "home": 4.0 * cms.k,
        "found": 4.0 * pem.k,
        "dark": 2.0,
        "launches": 2.0,
        "both": 12.0,
    }
    assert {name: each["change_reveals"] for name, each in questions.items()} == {
        "tools": None, "home": None, "found": None, "dark": 2.0, "launches": 2.0, "both": None,
    }  # fmt: skip
    assert questions["tools"]["type"] == "set"
    assert questions["dark"]["epsilon_unit"] == (
        "of one device, from all its reports together: of its whole trajectory with at most 2 "
        "changes in 30 periods"
    )
    assert "every other set costs another epsilon" in questions["tools"]["remark"]
    assert f"sqrt(S / {cms.shape.rows * cms.k:,})" in questions["home"]["remark"]
    assert questions["both"]["remark"] == ""


def test_errors_are_those_of_the_mechanism(survey: Path) -> None:
    """Of an item, of a named text, of the worst period: sqrt(V/n); of a number in its units."""
    made = {
        "tools": build("privset", 6, Decimal(2), None, {"items": 2}),
        "home": build("cms", 2, Decimal(4)),
        "launches": build("counter", 101, Decimal(2), None, {"periods": 30}),
    }
    for name, each in bill(survey).items():
        if name in made:
            worst, _ = made[name].worst_variance_iid()
            unit = 100 if name == "launches" else 1
            assert each["standard_error_10000"] == pytest.approx(unit * math.sqrt(worst / 1e4))


@pytest.mark.parametrize(
    ("head", "mechanism"), [("linkable = true", "cms"), ('batch = "question"', "hcms")]
)
def test_a_text_is_answered_by_a_sign_where_devices_must_not_be_recognised(
    head: str, mechanism: str, tmp_path: Path
) -> None:
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY.format(head=head))
    document = shown("survey", "check", str(path))
    home = next(each for each in document["questions"] if each["question"] == "home")
    assert home["mechanism"].split()[0] == mechanism
    assert home["chosen"]
    beside = {e["mechanism"].split()[0]: e for e in document["alternatives"]
              if e["question"] == "home"}  # fmt: skip
    assert beside.keys() == {"cms", "hcms", "pem"}
    assert beside[mechanism]["against"] == ""
    assert beside["pem"]["against"] == "it is for texts to be found"


def test_a_trusted_collector_adds_noise_for_all_items_of_a_set() -> None:
    """Two sets of three of twenty items differ in six counts at most, of two items in two."""
    words = ["compare", *COMMANDS["compare"], "--mechanism", "privset", "--option", "items=3"]
    for k, changed in ((20, 6), (4, 4)):
        models = {m["model"]: m for m in shown(*words, "--values", str(k))["models"]}
        laplace = math.sqrt(2) * changed / 2 / 100_000
        assert models["central Laplace"]["standard_error"] == pytest.approx(laplace)
    words[-1] = "items=1"
    choice = shown("compare", *COMMANDS["compare"], "--values", "20")["models"]
    for one, other in zip(shown(*words, "--values", "20")["models"][2:], choice[2:], strict=True):
        assert one["standard_error"] == pytest.approx(other["standard_error"])


def test_the_users_of_a_set_are_those_of_its_variance() -> None:
    document = shown("users-needed", *COMMANDS["users-needed"], "--sigmas", "2", "--mechanism",
                     "privset", *NEEDED["privset"])  # fmt: skip
    made = build("privset", 20, Decimal(2), None, {"items": 3})
    worst = made.exact_variance(made.worst(sampled=True), sampled=True)
    assert document["users"] == math.ceil(4 * worst / Fraction("0.02") ** 2)
    assert document["assumption"].endswith("over sets of 20 items")


def test_every_mechanism_is_swept() -> None:
    assert set(NEW) == set(MECHANISMS) - {*named("choice"), *named("number")}
