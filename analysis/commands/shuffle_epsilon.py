"""``deniable shuffle-epsilon``."""

from __future__ import annotations

from decimal import Decimal

import click

from ..shuffling.shuffled import shuffle_epsilon
from . import options


@click.command(name="shuffle-epsilon")
@options.epsilon
@options.epsilon_first
@options.mechanism_options
@click.option(
    "--crowd",
    type=options.WHOLE,
    required=True,
    metavar="N",
    help="Devices whose reports are shuffled together in one period.",
)
@click.option(
    "--delta",
    type=options.NUMBER,
    required=True,
    metavar="D",
    help="Allow the bound to fail with this probability, such as 1e-6.",
)
@options.values
@options.mechanism
@options.fake_share
@click.option(
    "--days",
    type=options.WHOLE,
    default=1,
    show_default=True,
    metavar="T",
    help="Periods in which a device answers the same; more than 1 need --epsilon-first.",
)
@options.form
def command(
    epsilon: Decimal,
    epsilon_first: Decimal | None,
    chosen: tuple[tuple[str, int], ...],
    crowd: int,
    delta: Decimal,
    values: int,
    mechanism: str,
    fake_share: Decimal,
    days: int,
    form: str,
) -> None:
    """Tell what a crowd adds to the noise if its reports arrive shuffled.

    A certified upper bound on epsilon, a lower one that no analysis can beat, and the trust that
    both rest on.
    """
    result = shuffle_epsilon(
        epsilon=epsilon,
        crowd=crowd,
        delta=delta,
        epsilon_first=epsilon_first,
        values=values,
        mechanism=mechanism,
        options=dict(chosen),
        fake_share=fake_share,
        days=days,
    )
    options.emit(result, form)
