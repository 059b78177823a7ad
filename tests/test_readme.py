"""What the documents tell a reader to run exists, and what they tell to write is valid."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_lines import unknown_words

from deniable.protocol.survey import load_survey

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^(?:\$ )?(deniable(?:-collector|-device)? .+)$", re.MULTILINE)
INLINE = re.compile(r"`(deniable(?:-collector|-device)? [^`]+)`")
NAMED = re.compile(r"# (\w+\.toml)\n")
URL = re.compile(r"https?://[\w.:]+")
LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")


def blocks(language: str) -> list[tuple[str, str]]:
    """(page, text) of every fenced block in a language."""
    return [
        (page.name, text)
        for page in PAGES
        for found, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        if found == language
    ]


def commands() -> list[tuple[str, str]]:
    """(page, command line) of every command a page shows, in blocks and in running text."""
    found = [
        (name, line.split("  #")[0].strip())
        for name, text in blocks("sh")
        for line in COMMAND.findall(text.replace("\\\n", " "))
    ]
    for page in PAGES:
        if page.name != "commands.md":
            inline = INLINE.findall(page.read_text(encoding="utf-8").replace("\n", " "))
            found += [(page.name, " ".join(line.split())) for line in inline]
    return found


@pytest.mark.parametrize(("page", "line"), commands())
def test_documented_commands_exist(page: str, line: str) -> None:
    assert unknown_words(line) == [], f"{page}: {line}"


@pytest.mark.parametrize("line", ["deniable estimat x", "deniable estimate x --form json"])
def test_an_unknown_word_is_seen(line: str) -> None:
    assert len(unknown_words(line)) == 1


def test_commands_are_found() -> None:
    assert {page for page, _ in commands()} >= {"README.md", "SECURITY.md", "survey.md"}


@pytest.mark.parametrize(("page", "text"), blocks("toml"))
def test_documented_surveys_are_valid(page: str, text: str, tmp_path: Path) -> None:
    survey = tmp_path / "survey.toml"
    survey.write_text(text, encoding="utf-8")
    assert load_survey(survey).questions, page


@pytest.mark.parametrize(("page", "text"), blocks("python"))
def test_documented_programs_run(
    page: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for _, survey in blocks("toml"):
        if named := NAMED.match(survey):
            Path(named[1]).write_text(survey, encoding="utf-8")
    names: dict[str, object] = {}
    program = URL.sub("http://127.0.0.1:9", text)  # where nobody listens
    exec(compile(program, page, "exec"), names)
    close = getattr(names.get("telemetry"), "close", None)
    if close is not None:
        close()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
