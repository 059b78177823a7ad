"""A file of tallies of a text question that is asked with prefix extension, and small."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from deniable.analysis.cli import main

SURVEY = """\
[survey]
format = 1
id = "words"
max_epsilon = 4
linkable = true

[questions.word]
version = 1
ask = "Your health, in a word?"
type = "text"
text = { alphabet = "abdefilnorw", max_length = 4, fold = true }
mechanism = { name = "pem", first = 2, rows = 24 }
epsilon = 4
epsilon_first = 3
period = "week"
owner = "somebody"
expires = 2098-12-31
"""

TRUTH = "word,weight\nfine,5\nlow,2\nbad,1\nnone of these,1\n"


def write_words(folder: Path, devices: int = 5000) -> None:
    """Write ``words.toml`` and, into ``words.json``, what devices answer in a week."""
    (folder / "words.toml").write_text(SURVEY, "utf-8")
    (folder / "words.csv").write_text(TRUTH, "utf-8")
    places = {"survey": "words.toml", "truth": "words.csv", "output": "words.json"}
    words = [word for name, file in places.items() for word in (f"--{name}", str(folder / file))]
    made = CliRunner().invoke(main, ["simulate", "--devices", str(devices), "--seed", "1", *words])
    assert made.exit_code == 0, made.output
