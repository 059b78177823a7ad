"""The commands of docs/privacy.md print what the page says they print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from deniable.analysis.cli import main

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "privacy.md").read_text("utf-8")
BLOCKS = re.findall(
    r"^```console\n\$ deniable ([^\n]*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
)
FIGURES = re.findall(r"\*\*([0-9][0-9.]*(?: %)?)\*\*", PAGE)


def printed(line: str) -> str:
    """What a command prints, as one line with single spaces."""
    result = CliRunner().invoke(main, shlex.split(line))
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize(("line", "shown"), BLOCKS, ids=[line for line, _ in BLOCKS])
def test_the_page_shows_what_the_command_prints(line: str, shown: str) -> None:
    output = printed(line)
    wanted = [" ".join(row.split()) for row in shown.splitlines() if row != "…"]
    assert wanted
    for row in wanted:
        assert row in output


def test_every_figure_in_the_text_is_printed_by_one_of_the_commands() -> None:
    outputs = [printed(line) for line, _ in BLOCKS]
    assert len(FIGURES) >= 3
    for figure in FIGURES:
        assert any(figure in output for output in outputs), figure
