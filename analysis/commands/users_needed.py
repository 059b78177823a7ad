"""``deniable users-needed``."""

from __future__ import annotations

from decimal import Decimal

import click

from ..planning import users_needed
from . import options


@click.command(name="users-needed")
@options.epsilon
@options.epsilon_first
@options.mechanism_options
@click.option(
    "--margin",
    type=options.NUMBER,
    required=True,
    metavar="M",
    help="Half the width of the interval of one frequency, such as 0.01; for a mechanism of "
    "numbers of a mean, as a share of its range.",
)
@options.level
@options.values
@options.mechanism
@click.option(
    "--frequency",
    type=options.NUMBER,
    metavar="F",
    help="The true frequency (of a number where in its range the mean is, from 0 to 1), if it is "
    "roughly known; otherwise the worst there is.",
)
@click.option(
    "--fixed-population",
    is_flag=True,
    help="The devices that report are the whole population: only the noise varies.",
)
@options.form
def command(
    epsilon: Decimal,
    epsilon_first: Decimal | None,
    chosen: tuple[tuple[str, int], ...],
    margin: Decimal,
    confidence: Decimal,
    sigmas: Decimal | None,
    values: int,
    mechanism: str,
    frequency: Decimal | None,
    fixed_population: bool,
    form: str,
) -> None:
    """Tell how many devices must report for a margin of error."""
    result = users_needed(
        epsilon=epsilon,
        margin=margin,
        epsilon_first=epsilon_first,
        options=dict(chosen),
        confidence=confidence,
        sigmas=sigmas,
        values=values,
        mechanism=mechanism,
        frequency=frequency,
        fixed_population=fixed_population,
    )
    options.emit(result, form)
