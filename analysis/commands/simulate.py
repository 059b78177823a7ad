"""``deniable simulate``."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import click

from ..files import write_whole
from ..simulations import START, simulate
from . import options

FILE = click.Path(path_type=Path)


@click.command(name="simulate")
@options.survey_file
@click.option(
    "--truth",
    type=FILE,
    required=True,
    metavar="CSV",
    help="A column for each question, a row for each kind of person; weight is optional.",
)
@click.option("--devices", type=options.WHOLE, required=True, metavar="N", help="Drawn from it.")
@click.option(
    "--periods",
    type=options.WHOLE,
    default="1",
    show_default=True,
    metavar="T",
    help="Of each question; answers stay the same.",
)
@click.option(
    "--repeat",
    type=options.WHOLE,
    default="1",
    show_default=True,
    metavar="R",
    help="Runs, each of other devices, for coverage and mean error.",
)
@options.question_ids
@click.option(
    "--start",
    type=click.DateTime(["%Y-%m-%d"]),
    default=START.isoformat(),
    show_default=True,
    metavar="DAY",
    help="In the first period.",
)
@click.option("--seed", type=options.WHOLE, metavar="S", help="Repeats a run; it is printed.")
@options.confidence
@options.simultaneous
@click.option(
    "--output",
    type=FILE,
    metavar="FILE.json",
    help="Write the tallies of the first run, for deniable estimate --from FILE.json.",
)
@options.form
def command(
    survey: Path,
    truth: Path,
    devices: int,
    periods: int,
    repeat: int,
    questions: tuple[str, ...],
    start: datetime,
    seed: int | None,
    confidence: Decimal,
    simultaneous: bool,
    output: Path | None,
    form: str,
) -> None:
    """Rehearse a survey: what N devices would report, and how far estimates are from the truth.

    The truth is a CSV file: its header names questions, and each row is one kind of person.
    Values are true or false, a choice, a number, text, or the choices of a set as a|b ([] is the
    empty set); an empty field is a person who records nothing. Devices are drawn from the rows by
    weight.
    """
    if output is not None and output.suffix != ".json":
        raise click.UsageError(
            f"--output must end in .json, for estimate to read it: {output.name}"
        )
    result = simulate(
        survey,
        truth,
        devices=devices,
        periods=periods,
        repeat=repeat,
        questions=questions,
        start=start.date(),
        seed=seed,
        confidence=confidence,
        simultaneous=simultaneous,
    )
    if output is not None:
        write_whole(output, f"{json.dumps(result.tally_documents())}\n".encode())
    options.emit(result, form)
