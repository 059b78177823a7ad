"""``deniable heavy-hitters``."""

from __future__ import annotations

import os
from decimal import Decimal

import click

from ..texts.discovery import BREADTH
from ..texts.heavy_hitters import FALSE_POSITIVES, heavy_hitters
from . import options


@click.command(name="heavy-hitters")
@click.argument("question")
@options.source
@options.survey_id
@options.segment
@options.question_version
@options.period
@click.option(
    "--false-positives",
    type=options.NUMBER,
    default=FALSE_POSITIVES,
    show_default=True,
    metavar="R",
    help="Of the strings listed, the share that no device has, on average at most; if none is "
    "frequent, the probability that any is listed.",
)
@click.option(
    "--breadth",
    type=options.WHOLE,
    default=str(BREADTH),
    show_default=True,
    metavar="N",
    help="Beginnings of texts looked at for each length: with more, fewer frequent strings are "
    "lost, and it takes longer; 1024 to 4194304.",
)
@options.confidence
@options.simultaneous
@options.form
def command(
    question: str,
    source: str,
    survey_id: str | None,
    segment: str | None,
    question_version: int | None,
    period: str | None,
    false_positives: Decimal,
    breadth: int,
    confidence: Decimal,
    simultaneous: bool,
    form: str,
) -> None:
    """Find the frequent answers to QUESTION, which asks for a text with mechanism = "pem".

    Nobody names them: the reports of some devices tell which beginnings of texts are frequent,
    and so which strings to test; those of other devices, which strings stand out by more than
    chance. Their frequencies are estimated as deniable estimate does.
    """
    result = heavy_hitters(
        question,
        source,
        token=os.environ.get("DENIABLE_TOKEN"),
        survey=survey_id,
        version=question_version,
        segment=segment,
        period=period,
        false_positives=false_positives,
        breadth=breadth,
        confidence=confidence,
        simultaneous=simultaneous,
    )
    options.emit(result, form)
