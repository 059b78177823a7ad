"""Above 10 an epsilon is no meaningful guarantee, and every command says so, at 10 none does."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner
from survey_documents import ABSENT, boolean_table, choice_table, make_survey
from tally_places import tally, write_store

from deniable.analysis import check_survey, plan_survey_shares
from deniable.analysis.cli import main
from deniable.analysis.reading import NO_GUARANTEE

SURVEY = """
[survey]
format = 1
id = "acme"
max_epsilon = 20.0

[questions.dark]
version = 1
ask = "Is the dark theme on?"
type = "boolean"
epsilon = {epsilon}
period = "day"
expires = 2098-06-30
"""

LINES = [
    "estimate dark --from {store}",
    "estimate visits --from {store}",
    "difference dark --from {store} --periods 2026-11-30 2026-12-01",
    "trend dark --from {store}",
    "debias --counts 240,160 --mechanism grr --epsilon {epsilon}",
    "users-needed --epsilon {epsilon} --margin 0.01",
    "plan --epsilon {epsilon} --devices 10000",
    "plan --total-epsilon {epsilon} --days 30 --questions 1",
    "plan --central-epsilon {epsilon} --delta 1e-6 --crowd 1",
    "plan --survey {survey} --devices 1000",
    "compare --epsilon {epsilon} --devices 1000 --delta 1e-6",
    "total-epsilon --epsilon {epsilon} --days 1",
    "total-epsilon --survey {survey} --days 1",
    "shuffle-epsilon --mechanism grr --epsilon {epsilon} --crowd 1 --delta 1e-6",
    "explain --epsilon {epsilon}",
    "survey check {survey}",
]
"""What prints an epsilon; ``survey diff`` in its table alone, and ``audit`` for minutes."""


def run(line: str, epsilon: str, folder: Path, form: str) -> str:
    survey = folder / "survey.toml"
    survey.write_text(SURVEY.format(epsilon=epsilon), encoding="utf-8")
    grid = {"low": 0, "high": 9, "steps": 9}
    number = choice_table(
        type="number", choices=ABSENT, range=grid, epsilon=Decimal(epsilon), period="day"
    )
    tables = {"dark": boolean_table(epsilon=Decimal(epsilon)), "visits": number}
    asked = make_survey(tables, max_epsilon=40, linkable=True).questions
    dark, visits = asked["dark"], asked["visits"]
    cells = [7] * visits.mechanism.shape.cells
    store = write_store(
        folder / "store.sqlite",
        [tally(dark, (3, 5)), tally(dark, (4, 5), "2026-12-01"), tally(visits, cells)],
    )
    words = line.format(epsilon=epsilon, store=store, survey=survey).split()
    done = CliRunner().invoke(main, [*words, "--format", form])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("form", ["table", "json"])
def test_every_command_says_so(line: str, form: str, tmp_path: Path) -> None:
    above, at = tmp_path / "above", tmp_path / "at"
    for folder in (above, at):
        folder.mkdir()
    assert NO_GUARANTEE in " ".join(run(line, "10.01", above, form).split())
    assert NO_GUARANTEE not in " ".join(run(line, "10", at, form).split())


def test_a_large_epsilon_of_a_new_edition_and_of_all_questions(tmp_path: Path) -> None:
    old, new = tmp_path / "old.toml", tmp_path / "new.toml"
    old.write_text(SURVEY.format(epsilon="9"), encoding="utf-8")
    changed = SURVEY.format(epsilon="10.5").replace("version = 1", "version = 2")
    new.write_text(changed, encoding="utf-8")
    said = CliRunner().invoke(main, ["survey", "diff", str(old), str(new)]).stdout
    assert f"dark: above 10 an epsilon is {NO_GUARANTEE}." in said
    assert (
        NO_GUARANTEE not in CliRunner().invoke(main, ["survey", "diff", str(new), str(old)]).stdout
    )
    head, table, rest = SURVEY.format(epsilon="9").partition("[questions.dark]")
    old.write_text(f"{head}{table}{rest}\n[questions.light]{rest}", encoding="utf-8")
    (warning,) = (w for w in check_survey(old).warnings if NO_GUARANTEE in w)
    assert warning.startswith("all questions together: above 10")
    (note,) = (n for n in plan_survey_shares(old, total_epsilon=11).notes if NO_GUARANTEE in n)
    assert note.startswith("Of the total: above 10")


def test_the_field_of_programs(tmp_path: Path) -> None:
    document = json.loads(run(LINES[0], "10.01", tmp_path, "json"))
    assert document["epsilon_verdict"] == NO_GUARANTEE
