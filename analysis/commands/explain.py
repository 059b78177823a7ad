"""``deniable explain``."""

from __future__ import annotations

from decimal import Decimal

import click

from ..explaining import explain
from . import options


@click.command(name="explain")
@click.option(
    "--epsilon",
    type=options.NUMBER,
    required=True,
    metavar="E",
    help="Of one report, of all reports about one answer, or any other that total-epsilon tells.",
)
@click.option(
    "--prior",
    type=options.NUMBER,
    metavar="P",
    help="What somebody believed before, such as 0.01; otherwise several are shown.",
)
@click.option(
    "--delta",
    type=options.NUMBER,
    metavar="D",
    help="The probability with which that epsilon may fail, if it is not certain.",
)
@options.form
def command(epsilon: Decimal, prior: Decimal | None, delta: Decimal | None, form: str) -> None:
    """Tell what one epsilon lets anybody learn, in words and numbers."""
    options.emit(explain(epsilon=epsilon, prior=prior, delta=delta), form)
