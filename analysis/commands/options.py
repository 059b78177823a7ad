"""Options that several commands share, and how numbers are read from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from deniable.protocol.mechanisms import MECHANISMS

from ..inputs import parse_counts, parse_decimal, parse_integer, parse_levels, parse_option
from ..postprocess import NAMES
from ..render import FORMATS, Result, render

Function = TypeVar("Function", bound=Callable[..., Any])
Decorator = Callable[[Function], Function]


if TYPE_CHECKING:
    from ..drawing import Plottable

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
LEVELS = Parsed("levels", parse_levels)

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
    help="How many answers there are; a yes/no question has 2, a number the steps of its range "
    "plus 1.",
)
mechanism = click.option(
    "--mechanism",
    type=click.Choice(["auto", *MECHANISMS]),
    default="auto",
    show_default=True,
    help="auto is what a survey would choose for a question that is not for a number.",
)
mechanism_options = click.option(
    "--option",
    "chosen",
    type=Parsed("option", parse_option),
    multiple=True,
    metavar="NAME=N",
    help="Of the mechanism, such as g=4 for olh; what is left out, it chooses.",
)


def _confidence(callback: Callable[..., Any] | None = None) -> Callable[[Function], Function]:
    return click.option(
        "--confidence",
        type=NUMBER,
        default="0.95",
        show_default=True,
        metavar="C",
        callback=callback,
        help="Of each interval, two-sided.",
    )


confidence = _confidence()


def _one_level(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
    """Refuse standard errors beside a confidence: of both, the one that comes second."""
    sources = [ctx.get_parameter_source(name) for name in ("confidence", "sigmas")]
    if all(source not in (None, ParameterSource.DEFAULT) for source in sources):
        raise click.UsageError("give --confidence or --sigmas, not both")
    return value


def level(function: Function) -> Function:
    """Add ``--confidence`` and ``--sigmas``, of which one may be given."""
    sigmas = click.option(
        "--sigmas",
        type=NUMBER,
        metavar="S",
        callback=_one_level,
        help="The margin in standard errors, instead of --confidence.",
    )
    return _confidence(_one_level)(sigmas(function))


question_ids = click.option(
    "--question",
    "questions",
    multiple=True,
    metavar="ID",
    help="Only this one; may be given several times.",
)
survey_file = click.option(
    "--survey",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    metavar="FILE",
    help="TOML or compiled.",
)
fake_share = click.option(
    "--fake-share",
    type=NUMBER,
    default="0",
    show_default=True,
    metavar="S",
    help="Of the devices, known or feared to be fake, such as 0.1; in a shuffled crowd they hide "
    "nobody.",
)
simultaneous = click.option(
    "--simultaneous",
    is_flag=True,
    help="Widen the intervals so that those of all values hold at once (Bonferroni).",
)
survey_id = click.option(
    "--survey-id", metavar="ID", help="Which survey, if several ask a question of that name."
)
source = click.option(
    "--from",
    "source",
    required=True,
    metavar="PLACE",
    help="A collector's SQLite store, or its https:// address (token from DENIABLE_TOKEN), or a "
    ".json file of tallies.",
)

segment = click.option("--segment", metavar="S", help="One segment; otherwise all are added up.")
period = click.option(
    "--period", metavar="P", help="Such as 2026-11-30; otherwise the latest released."
)
question_version = click.option(
    "--question-version",
    type=WHOLE,
    metavar="V",
    help="Of the question; otherwise the newest that is released.",
)

strings = click.option(
    "--strings",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    help="Of a text question: the strings to estimate, one a line in UTF-8; - is standard input.",
)


def _plottable(ctx: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a picture that could not be drawn before anything is computed for it."""
    if path is not None:
        from ..plots import require_plot

        require_plot(path)
    return path


plot = click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    callback=_plottable,
    help="Draw the result into FILE as well, which ends in .svg or .png.",
)


def intervals(function: Function) -> Function:
    """Add what estimates are printed with: ``--confidence``, ``--simultaneous``, steps."""
    steps = click.option(
        "--post-process",
        type=click.Choice(NAMES),
        default="none",
        show_default=True,
        help="Make frequencies and counts consistent. It biases them; standard errors and "
        "intervals stay those of the raw estimates.",
    )
    return confidence(simultaneous(steps(function)))


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


def draw(result: Plottable, path: Path | None) -> None:
    """Draw a result, if a picture was asked for."""
    if path is not None:
        from ..plots import plot as draw_into

        draw_into(result, path)


def emit(result: Result, form: str) -> None:
    """Print a result."""
    click.echo(render(result, form), nl=False)
