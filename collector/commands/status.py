"""``deniable-collector status``: where every tally stands."""

from __future__ import annotations

import math
from typing import Any

import click

from deniable.protocol.period_state import PeriodState

from .. import crowds
from . import options

_LEAST_DELTA = 1e-100


def _probability(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """Read a delta: NaN and what is too small to compute with are none."""
    if text is None:
        return None
    try:
        delta = float(text)
    except ValueError:
        delta = math.nan
    if not _LEAST_DELTA < delta < 1:
        raise click.BadParameter(f"must be above {_LEAST_DELTA:g} and below 1, like 1e-6: {text}")
    return delta


@click.command("status")
@options.store
@click.option(
    "--shuffle-delta",
    callback=_probability,
    metavar="D",
    help="Add what the crowd of a released tally adds to the noise: an epsilon of that tally "
    "alone, which may fail with this probability, such as 1e-6.",
)
@options.form
def command(store: str, shuffle_delta: float | None, form: str) -> None:
    """Show where every tally stands: pending, released or destroyed."""
    columns = list(PeriodState.__dataclass_fields__)
    with options.opened(store) as opened, opened.read() as reader:
        records = [state.record() for state in reader.states()]
        if shuffle_delta is not None:
            records = list(crowds.with_epsilons(reader, reader.states(), shuffle_delta))
            columns.append(crowds.COLUMN)
    if shuffle_delta is not None:
        click.echo(crowds.explain(shuffle_delta), err=True)
    options.print_records(records, form, columns, _cell)


def _cell(value: Any) -> Any:
    """An epsilon is rounded up."""
    return crowds.shown(value) if isinstance(value, float) else value
