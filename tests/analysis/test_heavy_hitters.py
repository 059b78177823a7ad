"""The frequent strings of a question, from released tallies to the command line."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from survey_documents import choice_table, make_survey
from text_questions import text_question
from words_kit import SURVEY, write_words

from deniable.analysis import HeavyHitters, discover_texts, estimate_texts, heavy_hitters
from deniable.analysis.cli import main
from deniable.analysis.documents import DocumentSource
from deniable.analysis.simulation import Population, draw_tallies
from deniable.protocol.errors import ParameterError
from deniable.protocol.question import Question
from deniable.protocol.survey import parse_survey
from deniable.protocol.tally import Tally

PEOPLE = {"fine": 2500, "low": 1000, "bad": 500, "(none)": 800}


@pytest.fixture(scope="module")
def question() -> Question:
    return parse_survey(tomllib.loads(SURVEY)).questions["word"]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    write_words(folder)
    return folder / "words.json"


def answered(question: Question, seed: int, segment: str | None = None, share: int = 1) -> Tally:
    people = {question.encode(word): share * count for word, count in PEOPLE.items()}
    rng = np.random.default_rng(seed)
    (cells,) = draw_tallies(question.mechanism, Population.of(people), rng)
    n = share * sum(PEOPLE.values())
    return Tally(question, "2026-W49", segment, n, tuple(cells.tolist()))


def test_every_frequent_string_is_listed_with_its_estimate(question: Question) -> None:
    """Frequencies are those that estimate_texts gives for these strings together."""
    tally = answered(question, 1)
    made = discover_texts([tally], confidence=0.9)
    names = [hitter.value for hitter in made.hitters]
    assert names == ["fine", "low", "(other)", "bad"]
    by_hand = estimate_texts([tally], [n for n in names if n != "(other)"], confidence=0.9)
    frequencies = {one.value: one.frequency for one in by_hand.estimates}
    for hitter in made.hitters:
        true = PEOPLE.get(hitter.value, 800) / 4800
        assert hitter.frequency == pytest.approx(frequencies[hitter.value], abs=1e-9)
        assert abs(hitter.frequency - true) < 7 * hitter.standard_error
        assert hitter.low < hitter.frequency < hitter.high
        assert hitter.count == pytest.approx(hitter.frequency * 4800)
        assert 1e-300 <= hitter.p_value < 1e-6
    assert (made.n, made.mechanism, made.period) == (4800, "pem", "2026-W49")
    assert 0 < made.reports < made.n
    assert made.candidates > 1000


def test_tallies_of_several_segments_add_up(question: Question) -> None:
    one, two = answered(question, 2, "a"), answered(question, 3, "b")
    cells = tuple(a + b for a, b in zip(one.cells, two.cells, strict=True))
    whole = Tally(question, "2026-W49", None, one.n + two.n, cells)
    apart, together = discover_texts([one, two]), discover_texts([whole])
    assert apart.hitters == together.hitters
    assert apart.segments == ("a", "b")


def test_intervals_of_all_at_once_are_wider(question: Question) -> None:
    tally = answered(question, 4)
    each, all_of_them = (discover_texts([tally], simultaneous=wide) for wide in (False, True))
    for narrow, wide in zip(each.hitters, all_of_them.hitters, strict=True):
        assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)


def test_without_devices_nothing_is_listed(question: Question) -> None:
    empty = Tally(question, "2026-W49", None, 0, (0,) * question.mechanism.shape.cells)
    made = discover_texts([empty])
    assert made.hitters == ()
    assert made.records() == []
    assert "no string stands out" in made.sections()[0].title


def test_the_command_says_what_the_function_does(words: Path) -> None:
    made = heavy_hitters("word", words, false_positives="0.01")
    line = ["heavy-hitters", "word", "--from", str(words), "--false-positives", "0.01"]
    run = CliRunner().invoke(main, [*line, "--format", "json"])
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout) == json.loads(json.dumps(made.document()))
    run = CliRunner().invoke(main, [*line, "--format", "csv"])
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    assert tuple(rows[0]) == made.columns
    assert [row["value"] for row in rows] == [hitter.value for hitter in made.hitters]
    run = CliRunner().invoke(main, line)
    assert "at most 1 % on average are of no device" in " ".join(run.stdout.split())
    assert "epsilon 4 of one device, from all its reports" in " ".join(run.stdout.split())
    assert isinstance(made, HeavyHitters)


def test_the_breadth_is_the_callers_and_told(words: Path) -> None:
    """All texts of four letters can be looked at; narrower, fewer are tested."""
    line = ["heavy-hitters", "word", "--from", str(words), "--breadth", "1024", "--format", "json"]
    run = CliRunner().invoke(main, line)
    assert run.exit_code == 0, run.output
    narrow, usual = json.loads(run.stdout), heavy_hitters("word", words).document()
    assert (narrow["breadth"], usual["breadth"]) == (1024, 131072)
    assert narrow["candidates"] < usual["candidates"]
    assert [one["value"] for one in narrow["hitters"]] == [one["value"] for one in usual["hitters"]]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--breadth", "1023"], "breadth must be a whole number in 1024..4194304: 1023"),
        (["--breadth", "4194305"], "breadth must be a whole number in 1024..4194304: 4194305"),
        (["--false-positives", "0"], "false_positives must be"),
        (["--false-positives", "1e-400"], "false_positives must be"),
        (["--false-positives", "1"], "false_positives must be"),
        (["--confidence", "1"], "confidence must be"),
        (["--period", "2026-W02"], "2026-W02"),
    ],
)
def test_mistakes_are_one_line(words: Path, options: list[str], why: str) -> None:
    run = CliRunner().invoke(main, ["heavy-hitters", "word", "--from", str(words), *options])
    assert run.exit_code == 1
    assert why in run.stderr
    assert run.stderr.count("\n") == 1


def test_other_questions_are_refused() -> None:
    named = text_question("cms")
    choice = make_survey({"theme": choice_table()}).questions["theme"]
    for asked, why in ((named, "tells named strings only"), (choice, "does not ask for a text")):
        tally = Tally(asked, "2026-W49", None, 0, (0,) * asked.mechanism.shape.cells)
        with pytest.raises(ParameterError, match=why):
            discover_texts([tally])


def test_an_open_source_will_do(words: Path) -> None:
    assert heavy_hitters("word", DocumentSource(words)).question == "word"
