"""Strings as analysts name them, from a file to the estimates on the command line."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from survey_documents import choice_table, make_survey
from tally_places import tally, write_store
from text_questions import answered, text_question

from deniable.analysis import estimate, trend
from deniable.analysis.cli import main
from deniable.analysis.texts import strings
from deniable.analysis.texts.named import unnamed
from deniable.analysis.texts.strings import named, other_name, read_strings
from deniable.protocol.errors import ParameterError, SurveyError
from deniable.protocol.text_form import OTHER, TextForm

QUESTION = text_question("hcms")
FORM = TextForm("abcdefghijklmnopqrstuvwxyz", 8, fold=True)
HEALTH = make_survey(
    {"health": choice_table(period="week")}, max_epsilon=16, linkable=True
).questions["health"]


def run(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(main, arguments, **options)


@pytest.fixture
def store(tmp_path: Path) -> str:
    people = {"apple": 300, "pear": 100}
    tallies = [answered(QUESTION, people, period) for period in ("2026-W48", "2026-W49")]
    other = tally(HEALTH, [10] * HEALTH.mechanism.shape.cells, "2026-W49")
    return str(write_store(tmp_path / "collector.db", [*tallies, other], []))


def test_strings_are_normalised_as_devices_do_and_keep_their_order() -> None:
    found = named(FORM, ["Pear ", "ﬁg", "Straße"])
    assert found.names == ("pear", "fig", "strasse", "(other)")
    assert found.codes == (*(FORM.code(name) for name in ("pear", "fig", "strasse")), OTHER)


def test_every_mistake_is_told_by_its_line() -> None:
    with pytest.raises(SurveyError) as caught:
        named(FORM, ["apple", "no fit", "pear", "APPLE", "", "x" * 10_000_000, "\ud800"])
    lines = [str(problem) for problem in caught.value.problems]
    assert [line.split(":")[0] for line in lines] == [
        "line 2",
        "line 4",
        "line 5",
        "line 6",
        "line 7",
    ]
    assert lines[0] == (
        "line 2: does not fit the question: 1 to 8 letters of its alphabet "
        '"abcdefghijklmnopqrstuvwxyz"; correct or remove it; devices count it as other'
    )
    assert lines[1] == "line 4: is to devices the same string as line 1; remove one"
    assert max(map(len, lines)) < 200


@pytest.mark.parametrize("none", [[], ()])
def test_no_string_is_a_mistake(none: list[str]) -> None:
    with pytest.raises(ParameterError, match="strings must hold at least one"):
        named(FORM, none)


def test_strings_without_end_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "MAX_STRINGS", 5)
    with pytest.raises(ParameterError, match=r"^strings must be at most 5; name fewer$"):
        named(FORM, ("a" * (1 + n % 8) for n in count()))


def test_the_name_of_all_others_is_that_of_no_string() -> None:
    odd = TextForm("()ehort", 9, fold=True)
    assert odd.code("(other)") is not None
    assert other_name(odd) == "(((other)))"
    assert odd.code(other_name(odd)) is None


@pytest.mark.parametrize(
    "raw", [b"apple\npear\n", b"apple\npear", b"apple\r\npear\r\n", b"\xef\xbb\xbfapple\npear\n"]
)
def test_a_file_has_one_string_a_line(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "strings.txt"
    path.write_bytes(raw)
    assert read_strings(path) == ["apple", "pear"]


def test_lines_are_those_of_an_editor(tmp_path: Path) -> None:
    path = tmp_path / "strings.txt"
    path.write_bytes("a\u2028b\x0cc\n\nd\n\n".encode())
    assert read_strings(path) == ["a\u2028b\x0cc", "", "d", ""]


@pytest.mark.parametrize(
    ("raw", "why"),
    [(None, "cannot be read (No such file or directory)"), (b"caf\xe9\n", "is not UTF-8")],
)
def test_a_file_that_cannot_be_read(raw: bytes | None, why: str, tmp_path: Path) -> None:
    path = tmp_path / "strings.txt"
    if raw is not None:
        path.write_bytes(raw)
    with pytest.raises(ParameterError) as caught:
        read_strings(path)
    assert str(caught.value).startswith(f"{path} {why}")


def test_the_command_estimates_named_strings(store: str, tmp_path: Path) -> None:
    path = tmp_path / "strings.txt"
    path.write_text("Apple\npear\nzebra\n", encoding="utf-8")
    done = run("estimate", "word", "--from", store, "--strings", str(path), "--format", "json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [one["value"] for one in found["estimates"]] == ["apple", "pear", "zebra", "(other)"]
    assert found["estimates"][0]["frequency"] == pytest.approx(0.75, abs=0.4)
    assert found["period"] == "2026-W49"
    table = run("estimate", "word", "--from", store, "--strings", "-", input="apple\n")
    assert "comes of collisions with strings that were not named" in " ".join(table.output.split())
    assert "(other) is every text that does not fit the form" in table.output


def test_the_command_names_every_mistake_once(store: str) -> None:
    done = run("estimate", "word", "--from", store, "--strings", "-", input="apple\nbad!\nApple\n")
    assert done.exit_code == 1
    assert [line.split(":")[1] for line in done.stderr.splitlines()] == [" line 2", " line 3"]


@pytest.mark.parametrize(("mechanism", "discovered"), [("cms", False), ("pem", True)])
def test_only_a_question_that_serves_it_is_sent_to_discovery(
    mechanism: str, discovered: bool
) -> None:
    assert ("heavy-hitters" in unnamed(text_question(mechanism))) == discovered


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("estimate", "word"), "word asks for a text: name strings with --strings FILE"),
        (("trend", "word"), "word asks for a text: name strings with --strings FILE"),
        (("estimate", "word", "--strings", "-", "--post-process", "clip"),
         "word asks for a text; leave out post_process"),
        (("estimate", "health", "--strings", "-"),
         "health does not ask for a text; leave out strings"),
        (("difference", "word", "--periods", "2026-W48", "2026-W49"),
         "word asks for a text; estimate each side with --strings"),
        (("estimate", "word", "--strings", "nowhere.txt"),
         "nowhere.txt cannot be read (No such file or directory); check the path"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_one_line(
    arguments: tuple[str, ...], why: str, store: str
) -> None:
    done = run(*arguments, "--from", store, input="apple\n")
    assert done.exit_code == 1
    assert done.stderr == f"Error: {why}\n"


def test_periods_are_listed_followed_and_pooled(store: str) -> None:
    both = estimate("word", store, every=True, strings=["apple"])
    assert [period.period for period in both.frequencies] == ["2026-W48", "2026-W49"]
    followed = trend("word", store, strings=iter(["apple", "pear"]), value="apple")
    assert [point.estimate for point in followed.points] == [
        pytest.approx(period.estimates[0].frequency, abs=0.1) for period in both.frequencies
    ]
    (pooled,) = estimate("word", store, every=True, strings=["apple"], pool="mean").frequencies
    assert pooled.estimates[0].frequency == pytest.approx(
        sum(period.estimates[0].frequency for period in both.frequencies) / 2
    )
    assert both.warnings == ()
