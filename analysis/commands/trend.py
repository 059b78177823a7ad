"""``deniable trend``."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import click

from ..texts.strings import read_strings
from ..trends import trend
from . import options


@click.command(name="trend")
@click.argument("question")
@options.source
@options.survey_id
@options.segment
@options.question_version
@click.option("--value", metavar="V", help="One answer; otherwise all.")
@click.option("--last", type=options.WHOLE, metavar="N", help="The last N released periods.")
@options.strings
@options.confidence
@options.plot
@options.form
def command(
    question: str,
    source: str,
    survey_id: str | None,
    segment: str | None,
    question_version: int | None,
    value: str | None,
    last: int | None,
    strings: str | None,
    confidence: Decimal,
    plot: Path | None,
    form: str,
) -> None:
    """Estimate QUESTION in every released period, each by itself.

    Nothing is pooled: the noise of memoized answers is the same in each period, so that steps
    between neighbours are more certain than the intervals suggest, and levels are not.
    """
    result = trend(
        question,
        source,
        token=os.environ.get("DENIABLE_TOKEN"),
        survey=survey_id,
        version=question_version,
        segment=segment,
        value=value,
        last=last,
        strings=None if strings is None else read_strings(strings),
        confidence=confidence,
    )
    options.draw(result, plot)
    options.emit(result, form)
