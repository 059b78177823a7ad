"""No command prints an epsilon without saying of what it is."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from sealed_kit import write_example
from units import without_a_unit
from words_kit import write_words

from deniable.analysis.cli import COMMANDS, main

ROOT = Path(__file__).resolve().parent.parent

LINES = [
    "estimate limitation --from tallies.json",
    "estimate limitation --from tallies.json --shuffle-delta 1e-6",
    "estimate visits --from tallies.json",
    "estimate tools --from sets.json",
    "estimate limitation --from grown.json --all",
    "crosstab both --from tallies.json",
    "difference limitation --from tallies.json --periods 2026-W01 2026-W02",
    "trend limitation --from tallies.json",
    "heavy-hitters word --from words.json",
    "periods --from tallies.json",
    "debias --counts 240,160 --mechanism grr --epsilon 1",
    "debias --counts 240,160 --mechanism grr --epsilon 2 --epsilon-first 1",
    "users-needed --epsilon 1 --margin 0.01",
    "users-needed --epsilon 2 --epsilon-first 1 --margin 0.01 --values 8",
    "plan --total-epsilon 8 --days 365 --questions 4",
    "plan --total-epsilon 8 --days 365 --questions 4 --delta 1e-6 --second-round --changes 3",
    "plan --epsilon 1 --devices 10000",
    "plan --margin 0.01 --devices 100000",
    "plan --central-epsilon 0.5 --delta 1e-6 --crowd 10000",
    "plan --survey survey.toml --total-epsilon 4",
    "plan --survey survey.toml --devices 10000",
    "plan --survey survey.toml --margin 0.05 --devices 100000",
    "plan --survey survey.toml --central-epsilon 0.5 --delta 1e-6 --crowd 10000",
    "compare --epsilon 1 --devices 100000 --delta 1e-6",
    "total-epsilon --epsilon 2 --days 365",
    "total-epsilon --epsilon 2 --epsilon-first 1 --days 365 --delta 1e-6 --devices-per-person 3",
    "total-epsilon --survey survey.toml --days 365 --delta 1e-6 --devices 10000",
    "shuffle-epsilon --epsilon 1 --crowd 10000 --delta 1e-6",
    "shuffle-epsilon --epsilon 2 --epsilon-first 1 --crowd 10000 --delta 1e-6 --days 7",
    "explain --epsilon 2",
    "explain --epsilon 12 --prior 0.01 --delta 1e-6",
    "survey check survey.toml",
    "survey diff survey.toml newer.toml",
    "simulate --survey survey.toml --truth truth.csv --devices 999 --question visits",
    "audit --survey survey.toml --question limitation --trials 200",
    "sealing-key show key.json",
    "unseal well --from parts.json --key key.json --to opened.db",
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read."""
    folder = tmp_path_factory.mktemp("units")
    survey = (ROOT / "examples" / "demo_survey.toml").read_text("utf-8")
    (folder / "survey.toml").write_text(survey, "utf-8")
    newer = survey.replace("version = 1", "version = 2").replace(
        "max_epsilon = 14", "max_epsilon = 40"
    )
    (folder / "newer.toml").write_text(newer, "utf-8")
    rows = ["limitation,visits,both", "true,3,yes / poor", "false,1,no / good"]
    (folder / "truth.csv").write_text("\n".join(rows), "utf-8")
    words = "--devices 5000 --periods 2 --seed 1 --question limitation --question visits"
    words += " --question both"
    files = {"survey": "survey.toml", "truth": "truth.csv", "output": "tallies.json"}
    places = [word for name, file in files.items() for word in (f"--{name}", str(folder / file))]
    made = CliRunner().invoke(main, ["simulate", *shlex.split(words), *places])
    assert made.exit_code == 0, made.output
    write_example(folder)
    write_sets(folder)
    write_words(folder)
    grow(folder / "tallies.json", folder / "grown.json")
    return folder


SETS = """
[survey]
format = 1
id = "acme-editor"
max_epsilon = 2
linkable = true

[questions.tools]
version = 1
ask = "Which of these did you use?"
type = "set"
choices = ["pen", "brush", "eraser"]
max_items = 2
epsilon = 2
period = "week"
expires = 2098-12-31
"""


def write_sets(folder: Path) -> None:
    """Write the tallies of a set question."""
    (folder / "sets.toml").write_text(SETS, "utf-8")
    (folder / "sets.csv").write_text("tools\npen|brush\n[]\n", "utf-8")
    places = ["--survey", "sets.toml", "--truth", "sets.csv", "--output", "sets.json"]
    named = [word if word.startswith("--") else str(folder / word) for word in places]
    made = CliRunner().invoke(main, ["simulate", *named, "--devices", "5000", "--seed", "1"])
    assert made.exit_code == 0, made.output


def grow(tallies: Path, grown: Path) -> None:
    """Write tallies again with three times the devices in the last period, which is suspicious."""
    document = json.loads(tallies.read_text("utf-8"))
    last = max(one["period"] for one in document["tallies"])
    for one in document["tallies"]:
        if one["period"] == last:
            one |= {"n": 3 * one["n"], "cells": [3 * cell for cell in one["cells"]]}
    grown.write_text(json.dumps(document), "utf-8")


@pytest.mark.parametrize("line", LINES)
def test_every_epsilon_has_a_unit(line: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    result = CliRunner().invoke(main, shlex.split(line))
    assert result.exit_code == 0, result.output
    assert list(without_a_unit(result.stdout)) == []


def test_no_command_is_left_out() -> None:
    assert {line.split()[0] for line in LINES} == set(COMMANDS)


BARE = """\
Epsilon 2 for everybody

protects    memoized
----------  ----------
one report  2

The question has an epsilon of 1.5, no less.
"""


def test_a_bare_epsilon_is_seen() -> None:
    assert list(without_a_unit(BARE)) == [
        "Epsilon 2 for everybody",
        "The question has an epsilon of 1.5, no less.",
        "column 'memoized'",
    ]
    named = BARE.replace("for everybody", "of one device").replace("1.5,", "1.5 a report,")
    assert list(without_a_unit(named + "\nmemoized: epsilon of all reports.\n")) == []
