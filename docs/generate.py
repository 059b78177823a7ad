"""Write the command references of docs/commands.md from the commands' own `--help`.

`make docs` runs it. The console scripts come from setup.cfg, their commands from the programs
themselves, so a new command appears by itself. Help is laid out in 80 columns whatever the
terminal; tests/test_docs.py fails while the page is out of date.
"""

from __future__ import annotations

import argparse
import configparser
import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "commands.md"
WIDTH = 80


def scripts() -> dict[str, str]:
    """The console scripts and the modules that hold them, in the order of setup.cfg."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg", encoding="utf-8")
    listed = parser["options.entry_points"]["console_scripts"]
    return dict(re.findall(r"^(\S+)\s*=\s*(\S+):main$", listed, re.MULTILINE))


def exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def load(module: str) -> click.Command | argparse.ArgumentParser:
    """The program in a module: its argparse parser if it builds one, its click command if not."""
    loaded = importlib.import_module(module)
    if hasattr(loaded, "build_parser"):
        parser: argparse.ArgumentParser = loaded.build_parser()
        return parser
    command: click.Command = loaded.main
    return command


def contexts(
    command: click.Command, name: str, parent: click.Context | None = None
) -> Iterator[click.Context]:
    """A click command and all commands under it, each in a context of fixed width."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "color": False}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield context
    if isinstance(command, click.Group):
        for child_name in command.list_commands(context):
            child = command.get_command(context, child_name)
            if child is not None and not child.hidden:
                yield from contexts(child, child_name, context)


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """An argparse parser and all parsers under it; aliases once."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in {id(child): child for child in action.choices.values()}.values():
                yield from parsers(child)


class FixedFormatter(argparse.HelpFormatter):
    """One width, and one spelling of options: `-s, --store PATH`, as from Python 3.13 on."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=WIDTH)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        default = self._get_default_metavar_for_optional(action)
        options = ", ".join(action.option_strings)
        return f"{options} {self._format_args(action, default)}"


def parser_help(parser: argparse.ArgumentParser) -> str:
    own: Any = parser.formatter_class
    layout: Any = type("Layout", (FixedFormatter, own), {})
    parser.formatter_class = layout
    try:
        return parser.format_help()
    finally:
        parser.formatter_class = own


def reference(script: str, program: click.Command | argparse.ArgumentParser) -> str:
    """The help of a program and of every command under it, as Markdown."""
    if isinstance(program, argparse.ArgumentParser):
        helps = [(parser.prog, parser_help(parser)) for parser in parsers(program)]
    else:
        helps = [(c.command_path, c.command.get_help(c)) for c in contexts(program, script)]
    blocks = []
    for name, text in helps:
        heading = "" if name == script else f"### `{name}`\n\n"
        blocks.append(f"{heading}```text\n{click.unstyle(text).rstrip()}\n```\n")
    return "\n".join(blocks)


def update(page: str, script: str, text: str) -> str:
    """The page with the reference of one script replaced, or added at the end."""
    begin, end = f"<!-- begin {script} -->\n", f"<!-- end {script} -->\n"
    if begin not in page:
        page = f"{page.rstrip()}\n\n## `{script}`\n\n{begin}{end}"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}{text}{end}{after}"


def main() -> None:
    before = page = PAGE.read_text(encoding="utf-8")
    for script, module in scripts().items():
        if exists(module):
            page = update(page, script, reference(script, load(module)))
        else:
            print(f"{script}: skipped, there is no {module} yet")
    PAGE.write_text(page, encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {'already current' if page == before else 'written anew'}")


if __name__ == "__main__":
    main()
