"""``deniable total-epsilon``."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import click
from click.core import ParameterSource

from ..totals.accounting import total_epsilon
from ..totals.surveys import survey_total_epsilon
from . import options

_OF_FLAGS = {
    "epsilon": "--epsilon",
    "epsilon_first": "--epsilon-first",
    "chosen": "--option",
    "values": "--values",
    "mechanism": "--mechanism",
}


@click.command(name="total-epsilon")
@click.option(
    "--epsilon",
    type=options.NUMBER,
    metavar="E",
    help="Permanent epsilon: of all reports about one unchanging answer. This or --survey.",
)
@click.option(
    "--survey",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="All questions of a survey and their sum, instead of one question by its flags.",
)
@options.epsilon_first
@options.mechanism_options
@click.option(
    "--days",
    type=options.WHOLE,
    required=True,
    metavar="T",
    help="Reports of one device, one a day (or a week, or a month); with --survey calendar days, "
    "in which each question is answered once in each of its periods.",
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
@click.option(
    "--devices-per-person",
    type=options.WHOLE,
    default=1,
    show_default=True,
    metavar="M",
    help="Epsilons of a person who gives the same answers on so many devices.",
)
@click.option(
    "--devices",
    type=options.WHOLE,
    metavar="N",
    help="How many there are in all, to warn of a delta that is not below 1/N.",
)
@options.form
@click.pass_context
def command(
    context: click.Context,
    epsilon: Decimal | None,
    survey: Path | None,
    epsilon_first: Decimal | None,
    chosen: tuple[tuple[str, int], ...],
    days: int,
    values: int,
    mechanism: str,
    changes: int | None,
    delta: Decimal | None,
    devices_per_person: int,
    devices: int | None,
    form: str,
) -> None:
    """Tell what a device has given away after T reports, or to a whole survey.

    Five rows, for it depends on what is to be protected; there is no single number.
    """
    if survey is not None:
        _refuse_flags(context)
        whole = survey_total_epsilon(
            survey,
            days=days,
            changes=changes,
            delta=delta,
            devices_per_person=devices_per_person,
            devices=devices,
        )
        options.emit(whole, form)
        return
    if epsilon is None:
        raise click.UsageError("give --epsilon, or --survey with a file")
    result = total_epsilon(
        epsilon=epsilon,
        days=days,
        epsilon_first=epsilon_first,
        options=dict(chosen),
        values=values,
        mechanism=mechanism,
        changes=changes,
        delta=delta,
        devices_per_person=devices_per_person,
        devices=devices,
    )
    options.emit(result, form)


def _refuse_flags(context: click.Context) -> None:
    """Refuse what the survey itself says."""
    for name, flag in _OF_FLAGS.items():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"give --survey or {flag}, not both: the survey's file tells")
