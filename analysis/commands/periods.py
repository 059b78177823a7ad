"""``deniable periods``."""

from __future__ import annotations

import os

import click

from ..query import periods
from . import options


@click.command(name="periods")
@options.source
@click.option("--survey-id", metavar="ID", help="One survey; otherwise all.")
@options.form
def command(source: str, survey_id: str | None, form: str) -> None:
    """List what is released, pending or destroyed.

    The crowd is exact where released; of a pending period only the order of magnitude is told.
    """
    token = os.environ.get("DENIABLE_TOKEN")
    options.emit(periods(source, token=token, survey=survey_id), form)
