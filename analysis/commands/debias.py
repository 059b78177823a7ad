"""``deniable debias``."""

from __future__ import annotations

from decimal import Decimal

import click

from ..estimation import SUPPORTED, debias
from . import options


@click.command(name="debias")
@click.option(
    "--mechanism",
    type=click.Choice(SUPPORTED),
    required=True,
    help="How the reports were randomized.",
)
@options.epsilon
@options.epsilon_first
@options.mechanism_options
@click.option(
    "--counts",
    type=options.COUNTS,
    required=True,
    metavar="C0,C1,…",
    help="Reports that support each symbol, in order.",
)
@click.option(
    "--n",
    type=options.WHOLE,
    metavar="N",
    help="Reports; needed unless the counts add up to it, as those of grr do.",
)
@options.intervals
@options.form
def command(
    mechanism: str,
    epsilon: Decimal,
    epsilon_first: Decimal | None,
    chosen: tuple[tuple[str, int], ...],
    counts: tuple[int, ...],
    n: int | None,
    confidence: Decimal,
    simultaneous: bool,
    post_process: str,
    form: str,
) -> None:
    """Estimate frequencies from counts of randomized reports from anywhere.

    Each value in the result is the index of its symbol; there are as many as counts.
    """
    result = debias(
        counts,
        mechanism=mechanism,
        epsilon=epsilon,
        epsilon_first=epsilon_first,
        options=dict(chosen),
        n=n,
        confidence=confidence,
        simultaneous=simultaneous,
        post_process=post_process,
    )
    options.emit(result, form)
