"""docs/json.md names every field of every document, and none that no command writes."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from test_units import LINES as SHOWN
from test_units import place

from deniable.analysis.cli import COMMANDS, main

__all__ = ["place"]  # a fixture

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "json.md").read_text("utf-8")
READING = "A reading"

LINES = [
    *(line.replace("--trials 200", "--trials 100") for line in SHOWN),
    "estimate limitation --from tallies.json --all",
    "estimate limitation --from tallies.json --all --pool mean",
    "survey check broken.toml",
]
QUICK = [line for line in LINES if not line.startswith("audit")]
NOT_SHOWN = {"segments", "batches", "problems"}
"""Of tallies by segment or of batches, and of a plan that a check would refuse."""

SAME = {"questions[].rows[].": "rows[].", "questions[].compositions[].": "compositions[]."}
"""Said once, of the parts of a whole that is alike."""


def sections() -> dict[str, set[str]]:
    """By heading, the names in backticks in the first column of the tables under it."""
    found: dict[str, set[str]] = {}
    for part in re.split(r"^##+ ", PAGE, flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        cells = re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE)
        found[heading] = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    return found


SECTIONS = sections()


def commands(heading: str) -> list[list[str]]:
    """The commands that a heading names, each as words."""
    return [command.split() for command in re.findall(r"`([^`]+)`", heading)]


def headings(line: str) -> list[str]:
    """The headings under which a command line is described."""
    words = line.split()
    return [
        heading
        for heading in SECTIONS
        if any(words[0] == one[0] and set(one) <= set(words) for one in commands(heading))
    ]


def described(line: str) -> set[str]:
    """The names under a line's headings, and of every object on the way to one."""
    names = {name for heading in headings(line) for name in SECTIONS[heading]}
    return names | {name.rpartition(".")[0].removesuffix("[]") for name in names}


def names(document: object, path: str = "") -> Iterator[str]:
    """Every name in a document, with the way to it; those of a reading by themselves."""
    if isinstance(document, list):
        for one in document:
            yield from names(one, f"{path}[]")
    if not isinstance(document, Mapping) or path == "options":
        return
    if path.endswith("reading") or ".readings." in path:
        path = READING
    for name, value in document.items():
        way = f"{path}.{name}" if path else name
        for long, short in SAME.items():
            way = way.replace(long, short)
        yield way.removeprefix("[].")
        yield from names(value, way)


@cache
def written(line: str, folder: Path, form: str) -> str:
    """What a command line prints; a survey that is not valid exits with 1."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        broken = folder / "broken.toml"
        if not broken.exists():
            survey = (folder / "survey.toml").read_text("utf-8")
            text = re.sub(r"max_epsilon = \d+", "max_epsilon = 1", survey)
            broken.write_text(text, "utf-8")
        result = CliRunner().invoke(main, [*shlex.split(line), "--format", form])
    assert result.exit_code == int("broken" in line), result.output
    return result.stdout


def document(line: str, folder: Path) -> Any:
    return json.loads(written(line, folder, "json"))


def fields(line: str, folder: Path) -> set[str]:
    """The names in the document of a command line, but of its readings."""
    found = names(document(line, folder))
    return {name for name in found if not name.startswith(f"{READING}.")}


def columns(line: str, folder: Path) -> set[str]:
    """The names in the flat rows of a command line, of which there are some."""
    header, *rows = csv.reader(written(line, folder, "csv").splitlines())
    assert rows
    return set(header)


@pytest.mark.parametrize("line", LINES)
def test_every_name_is_on_the_page(line: str, place: Path) -> None:
    found = fields(line, place)
    assert found
    assert sorted(found - described(line)) == []


@pytest.mark.parametrize("line", QUICK)
def test_every_column_is_on_the_page(line: str, place: Path) -> None:
    known = {name.rpartition(".")[2] for name in described(line)}
    assert sorted(columns(line, place) - known) == []


@pytest.mark.parametrize(
    "heading", [heading for heading in SECTIONS if commands(heading)], ids=lambda text: text
)
def test_every_name_on_the_page_is_written(heading: str, place: Path) -> None:
    lines = [line for line in LINES if heading in headings(line)]
    assert lines
    found = {name for line in lines for name in fields(line, place)}
    found |= {name for line in lines if line in QUICK for name in columns(line, place)}
    missing = {name.partition("[")[0] for name in SECTIONS[heading] - found}
    assert sorted(missing - NOT_SHOWN) == []


def test_readings_are_described_whole(place: Path) -> None:
    found = {name for line in QUICK for name in names(document(line, place))}
    prefix = f"{READING}."
    readings = {name.removeprefix(prefix) for name in found if name.startswith(prefix)}
    assert readings == SECTIONS[READING]


def test_every_command_has_a_section() -> None:
    first = {one[0] for heading in SECTIONS for one in commands(heading)}
    assert first == set(COMMANDS)
