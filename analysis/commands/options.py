"""Options that several commands share, and how numbers are read from the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from deniable.protocol.mechanisms import MECHANISMS

from ..inputs import parse_counts, parse_decimal, parse_integer
from ..postprocess import STEPS
from ..render import FORMATS, Result, render

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]


if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType


class Parsed(_Type):
    """An option's text, read by one of the parsers of ``inputs``."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse text; a default is already what it should be."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as exc:
            self.fail(f"{value[:40]!r} {exc}", param, ctx)


NUMBER = Parsed("number", parse_decimal)
WHOLE = Parsed("integer", parse_integer)
COUNTS = Parsed("counts", parse_counts)

epsilon = click.option(
    "--epsilon",
    type=NUMBER,
    required=True,
    metavar="E",
    help="Permanent epsilon: of all reports about one unchanging answer.",
)
epsilon_first = click.option(
    "--epsilon-first",
    type=NUMBER,
    metavar="E1",
    help="Epsilon of one report, if a second round of noise is added.",
)
values = click.option(
    "--values",
    type=WHOLE,
    default=2,
    show_default=True,
    metavar="K",
    help="How many answers there are; a yes/no question has 2.",
)
mechanism = click.option(
    "--mechanism",
    type=click.Choice(["auto", *MECHANISMS]),
    default="auto",
    show_default=True,
    help="auto is what a survey would choose.",
)
confidence = click.option(
    "--confidence",
    type=NUMBER,
    default="0.95",
    show_default=True,
    metavar="C",
    help="Of each interval, two-sided.",
)
survey_id = click.option(
    "--survey-id", metavar="ID", help="Which survey, if several ask a question of that name."
)
source = click.option(
    "--from",
    "source",
    required=True,
    metavar="PLACE",
    help="A collector's SQLite store, or its https:// address (token from DENIABLE_TOKEN).",
)


def intervals(function: Function) -> Function:
    """Add what estimates are printed with: ``--confidence``, ``--simultaneous``, steps."""
    steps = click.option(
        "--post-process",
        type=click.Choice(list(STEPS)),
        default="none",
        show_default=True,
        help="Make frequencies and counts consistent. It biases them; standard errors and "
        "intervals stay those of the raw estimates.",
    )
    together = click.option(
        "--simultaneous",
        is_flag=True,
        help="Widen the intervals so that those of all values hold at once (Bonferroni).",
    )
    return confidence(together(steps(function)))


def form(function: Function) -> Function:
    """Add ``--format``."""
    option = click.option(
        "--format",
        "form",
        type=click.Choice(list(FORMATS)),
        default="table",
        show_default=True,
        help="For people, or for programs.",
    )
    return option(function)


def emit(result: Result, form: str) -> None:
    """Print a result."""
    click.echo(render(result, form), nl=False)
