"""``deniable total-epsilon``."""

from __future__ import annotations

from decimal import Decimal

import click

from ..accounting import total_epsilon
from . import options


@click.command(name="total-epsilon")
@options.epsilon
@options.epsilon_first
@options.mechanism_options
@click.option(
    "--days",
    type=options.WHOLE,
    required=True,
    metavar="T",
    help="Reports of one device, one a day (or a week, or a month).",
)
@options.values
@options.mechanism
@click.option(
    "--changes",
    type=options.WHOLE,
    metavar="C",
    help="How often the answer changes at most; otherwise as often as it likes.",
)
@click.option(
    "--delta",
    type=options.NUMBER,
    metavar="D",
    help="Allow the bounds on fresh noise to fail with this probability, such as 1e-6.",
)
@options.form
def command(
    epsilon: Decimal,
    epsilon_first: Decimal | None,
    chosen: tuple[tuple[str, int], ...],
    days: int,
    values: int,
    mechanism: str,
    changes: int | None,
    delta: Decimal | None,
    form: str,
) -> None:
    """Tell what a device has given away after T reports.

    Five rows, for it depends on what is to be protected; there is no single number.
    """
    result = total_epsilon(
        epsilon=epsilon,
        days=days,
        epsilon_first=epsilon_first,
        options=dict(chosen),
        values=values,
        mechanism=mechanism,
        changes=changes,
        delta=delta,
    )
    options.emit(result, form)
