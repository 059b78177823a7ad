"""``deniable estimate``."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

import click

from ..lasso import DECODERS
from ..pooling import POOLS
from ..query import estimate
from ..texts.strings import read_strings
from . import options


@click.command(name="estimate")
@click.argument("question")
@options.source
@options.survey_id
@options.segment
@options.question_version
@options.period
@click.option("--last", type=options.WHOLE, metavar="N", help="The last N released periods.")
@click.option("--all", "every", is_flag=True, help="All released periods.")
@click.option(
    "--pool",
    type=click.Choice(POOLS),
    help="One result for all periods asked for: the mean, with the mean of their errors.",
)
@click.option(
    "--quantiles",
    type=options.LEVELS,
    metavar="Q1,Q2,…",
    help="Of a number, where the mechanism tells the distribution; otherwise 0.05, 0.25, 0.5, "
    "0.75 and 0.95.",
)
@options.strings
@click.option(
    "--decoder",
    type=click.Choice(DECODERS),
    default=DECODERS[0],
    show_default=True,
    help="Of a choice asked with rappor: lasso finds the frequent ones of more values than its "
    "bits can tell apart, and lists only these.",
)
@click.option(
    "--shuffle-delta",
    type=options.NUMBER,
    metavar="D",
    help="Add what the crowd adds to the noise: an epsilon of each tally alone, which may fail "
    "with this probability, such as 1e-6.",
)
@options.intervals
@options.plot
@options.form
def command(
    question: str,
    source: str,
    survey_id: str | None,
    segment: str | None,
    question_version: int | None,
    period: str | None,
    last: int | None,
    every: bool,
    pool: str | None,
    quantiles: tuple[Decimal, ...] | None,
    strings: str | None,
    decoder: str,
    shuffle_delta: Decimal | None,
    confidence: Decimal,
    simultaneous: bool,
    post_process: str,
    plot: Path | None,
    form: str,
) -> None:
    """Estimate how many devices answer what to QUESTION, or the mean of a number.

    A yes/no question gives one estimate, of true; a number its mean and, unless its mechanism
    is 1bitmean, quantiles and a distribution in the question's own units; a text question one
    estimate for each of the --strings. Several periods are listed rather than pooled: the noise
    of memoized answers is the same in each, and does not average out.

    Warns where a period looks as if reports were fake or broken, or changed abruptly; that
    changes no number.
    """
    result = estimate(
        question,
        source,
        token=os.environ.get("DENIABLE_TOKEN"),
        survey=survey_id,
        version=question_version,
        segment=segment,
        period=period,
        last=last,
        every=every,
        confidence=confidence,
        simultaneous=simultaneous,
        post_process=post_process,
        pool=pool,
        quantiles=quantiles,
        strings=None if strings is None else read_strings(strings),
        decoder=decoder,
        shuffle_delta=shuffle_delta,
    )
    if form != "json":
        for warning in result.warnings:
            click.echo(f"Warning: {warning}", err=True)
    options.draw(result, plot)
    options.emit(result, form)
