"""``deniable crosstab``."""

from __future__ import annotations

import os
from decimal import Decimal

import click

from ..crosstabs.crosstab import crosstab
from . import options


@click.command(name="crosstab")
@click.argument("question")
@options.source
@options.survey_id
@options.segment
@options.question_version
@options.period
@options.confidence
@options.form
def command(
    question: str,
    source: str,
    survey_id: str | None,
    segment: str | None,
    question_version: int | None,
    period: str | None,
    confidence: Decimal,
    form: str,
) -> None:
    """Cross the two parts of QUESTION, which is a joint one.

    Prints how frequent each pair of choices is, each choice of either part, and the choices of
    either part among those who gave one of the other; and tests whether the parts go together.
    All errors take into account that the estimates of one tally vary together.
    """
    result = crosstab(
        question,
        source,
        token=os.environ.get("DENIABLE_TOKEN"),
        survey=survey_id,
        version=question_version,
        period=period,
        segment=segment,
        confidence=confidence,
    )
    options.emit(result, form)
