"""``deniable difference``."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import click

from ..differences import difference
from . import options


@click.command(name="difference")
@click.argument("question")
@options.source
@options.survey_id
@click.option("--periods", nargs=2, metavar="A B", help="Two periods of one version.")
@click.option("--segments", nargs=2, metavar="A B", help="Two segments in one period.")
@click.option("--values", nargs=2, metavar="A B", help="Two answers in one period.")
@options.period
@options.segment
@click.option("--value", metavar="V", help="One answer; otherwise all.")
@options.question_version
@options.confidence
@click.option(
    "--simultaneous",
    is_flag=True,
    help="For all answers together: intervals by Bonferroni, p-values by Holm.",
)
@options.plot
@options.form
def command(
    question: str,
    source: str,
    survey_id: str | None,
    periods: tuple[str, str] | None,
    segments: tuple[str, str] | None,
    values: tuple[str, str] | None,
    period: str | None,
    segment: str | None,
    value: str | None,
    question_version: int | None,
    confidence: Decimal,
    simultaneous: bool,
    plot: Path | None,
    form: str,
) -> None:
    """Estimate how much B differs from A in QUESTION.

    A and B are two periods, two segments or two answers. The difference B - A comes with its
    standard error, interval and p-value, and with what they assume.
    """
    result = difference(
        question,
        source,
        token=os.environ.get("DENIABLE_TOKEN"),
        survey=survey_id,
        version=question_version,
        periods=periods,
        segments=segments,
        values=values,
        period=period,
        segment=segment,
        value=value,
        confidence=confidence,
        simultaneous=simultaneous,
    )
    options.draw(result, plot)
    options.emit(result, form)
