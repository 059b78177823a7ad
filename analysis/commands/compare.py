"""``deniable compare``."""

from __future__ import annotations

from decimal import Decimal

import click

from ..models.comparison import compare
from . import options


@click.command(name="compare")
@click.option(
    "--epsilon",
    type=options.NUMBER,
    required=True,
    metavar="E",
    help="Of one device in one period, in every model.",
)
@click.option(
    "--devices", type=options.WHOLE, required=True, metavar="N", help="That report in one period."
)
@click.option(
    "--delta",
    type=options.NUMBER,
    required=True,
    metavar="D",
    help="With which the shuffled model and Gaussian noise may fail, such as 1e-6.",
)
@options.values
@options.mechanism
@options.mechanism_options
@click.option(
    "--margin",
    type=options.NUMBER,
    default="0.01",
    show_default=True,
    metavar="M",
    help="Of one frequency, for which users are counted.",
)
@options.level
@options.fake_share
@options.form
def command(
    epsilon: Decimal,
    devices: int,
    delta: Decimal,
    values: int,
    mechanism: str,
    chosen: tuple[tuple[str, int], ...],
    margin: Decimal,
    confidence: Decimal,
    sigmas: Decimal | None,
    fake_share: Decimal,
    form: str,
) -> None:
    """Compare what one epsilon buys locally, shuffled and with a trusted collector.

    The same question, epsilon and devices: what the noise costs, how many users a margin takes,
    and who must be trusted with what.
    """
    result = compare(
        epsilon=epsilon,
        devices=devices,
        delta=delta,
        values=values,
        mechanism=mechanism,
        options=dict(chosen),
        margin=margin,
        confidence=confidence,
        sigmas=sigmas,
        fake_share=fake_share,
    )
    options.emit(result, form)
