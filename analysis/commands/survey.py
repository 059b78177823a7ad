"""``deniable survey check | diff | compile``."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.protocol.errors import SurveyError
from deniable.protocol.survey import compile_survey, load_survey

from ..bills import SurveyProblems
from ..files import write_whole
from ..surveys import check_survey, diff
from . import options

FILE = click.Path(path_type=Path)


@click.group(name="survey")
def command() -> None:
    """Check, compare and compile surveys."""


@command.command()
@click.argument("file", type=FILE)
@options.form
@click.pass_context
def check(context: click.Context, file: Path, form: str) -> None:
    """Check FILE and tell what its questions cost and can tell.

    Every mistake is printed with its key and the fix; the exit status is then 1.
    """
    try:
        result = check_survey(file)
    except SurveyError as exc:
        if form == "table":
            raise
        options.emit(SurveyProblems(exc.problems), form)
        context.exit(1)
    options.emit(result, form)


@command.command(name="diff")
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@options.form
@click.pass_context
def diff_command(context: click.Context, old: Path, new: Path, form: str) -> None:
    """Tell what the edition NEW costs those who answered OLD.

    The exit status is 1 if devices or collectors that know OLD will refuse a part of NEW.
    """
    result = diff(old, new)
    options.emit(result, form)
    context.exit(int(result.refused))


@command.command(name="compile")
@click.argument("file", type=FILE)
@click.option("--output", type=FILE, metavar="FILE", help="Where to; otherwise standard output.")
def compile_command(file: Path, output: Path | None) -> None:
    """Write FILE as the resolved JSON that any client loads."""
    text = compile_survey(load_survey(file))
    if output is None:
        click.echo(text, nl=False)
        return
    write_whole(output, text.encode())
