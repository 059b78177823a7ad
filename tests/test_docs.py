"""Every command has help, and the generated pages say what commands and mechanisms say."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

from deniable.protocol.mechanisms import MECHANISMS

ROOT = Path(__file__).resolve().parent.parent


def load_generator(name: str) -> ModuleType:
    """A module of docs/, which are programs and in no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = load_generator("generate")
mechanisms = load_generator("generate_mechanisms")
openapi = load_generator("generate_openapi")
SCRIPTS: dict[str, str] = generate.scripts()

Program = click.Command | argparse.ArgumentParser


@pytest.fixture(params=SCRIPTS)
def script(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if not generate.exists(SCRIPTS[name]):
        pytest.skip(f"there is no {SCRIPTS[name]} yet")
    return name


@pytest.fixture
def program(script: str) -> Program:
    loaded: Program = generate.load(SCRIPTS[script])
    return loaded


def unexplained(script: str, program: Program) -> Iterator[str]:
    """Every command and option without help text."""
    if isinstance(program, argparse.ArgumentParser):
        for parser in generate.parsers(program):
            if not parser.description:
                yield parser.prog
            for action in parser._actions:
                if not action.help and not isinstance(action, argparse._SubParsersAction):
                    yield f"{parser.prog} {'/'.join(action.option_strings) or action.dest}"
        return
    for context in generate.contexts(program, script):
        if not context.command.help:
            yield context.command_path
        for parameter in context.command.params:
            if isinstance(parameter, click.Option) and not (parameter.hidden or parameter.help):
                yield f"{context.command_path} {'/'.join(parameter.opts)}"


def test_scripts_are_found() -> None:
    assert list(SCRIPTS) == ["deniable", "deniable-collector", "deniable-device"]


def test_every_command_and_option_has_help(script: str, program: Program) -> None:
    assert list(unexplained(script, program)) == []


def test_the_page_is_current(script: str, program: Program) -> None:
    page = generate.PAGE.read_text(encoding="utf-8")
    current = generate.update(page, script, generate.reference(script, program))
    assert page == current, "run `make docs`"


def test_help_does_not_depend_on_the_machine(
    script: str, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = generate.reference(script, program)
    assert str(Path.home()) not in text
    assert str(ROOT) not in text
    monkeypatch.setenv("COLUMNS", "40")
    assert generate.reference(script, program) == text


@click.group()
def group() -> None:
    """A group."""


@group.command(help="Told.")
@click.option("--explained", help="Something.")
@click.option("--bare")
def told(explained: str, bare: str) -> None:
    pass


@group.command()
def untold() -> None:
    pass


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="thing", description="A thing.")
    commands = top.add_subparsers()
    show = commands.add_parser("show", aliases=["s"], description="Show it.")
    show.add_argument("-s", "--store", metavar="PATH", help="the store")
    show.add_argument("--bare", action="store_true")
    commands.add_parser("untold")
    return top


def test_a_command_without_help_is_seen() -> None:
    assert list(unexplained("thing", group)) == ["thing told --bare", "thing untold"]
    assert list(unexplained("thing", parser())) == ["thing show --bare", "thing untold"]


@pytest.mark.parametrize("made", [group, parser()], ids=["click", "argparse"])
def test_the_reference_holds_every_command(made: Program) -> None:
    text = generate.reference("thing", made)
    commands = ["told", "untold"] if made is group else ["show", "untold"]
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        f"### `thing {command}`" for command in commands
    ]
    assert max(map(len, text.splitlines())) <= generate.WIDTH
    assert made is group or "-s, --store PATH  the store" in text


def test_a_stale_reference_is_replaced_and_a_missing_one_added() -> None:
    page = "# Page\n\n<!-- begin a -->\nstale\n<!-- end a -->\n\nAfter.\n"
    page = generate.update(page, "a", "new\n")
    assert page == "# Page\n\n<!-- begin a -->\nnew\n<!-- end a -->\n\nAfter.\n"
    assert generate.update(page, "b", "other\n") == (
        page + "\n## `b`\n\n<!-- begin b -->\nother\n<!-- end b -->\n"
    )


def test_the_figures_of_the_mechanisms_are_current() -> None:
    page = mechanisms.PAGE.read_text(encoding="utf-8")
    assert mechanisms.update(page) == page, "run `make docs`"


def test_the_description_of_the_api_is_current() -> None:
    assert openapi.PAGE.read_bytes() == openapi.description_text(), "run `make docs`"


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_has_its_figures_and_a_word_on_when_to_use_it(name: str) -> None:
    page = mechanisms.PAGE.read_text(encoding="utf-8")
    assert f"### `{name}`" in page
    prose = page[: page.index("<!-- begin overview -->")]
    assert f"`{name}`" in prose


def test_figures_of_the_literature_are_in_the_tables() -> None:
    """The variance of OUE is 4E/(E-1)^2, and of GRR (E+k-2)/(E-1)^2, near a frequency of 0."""
    rows = {row[:2]: row for row in mechanisms.rows("oue")}
    assert rows["4096", "1"][2:6] == ("0.5", "0.2689", "3.683", "4,097")
    rows = {row[:2]: row for row in mechanisms.rows("grr")}
    assert rows["16", "1"][2:6] == ("0.1534", "0.05644", "5.662", "16")
