"""``deniable unseal``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ..unsealing.unseal import unseal
from . import options

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(name="unseal")
@click.argument("question")
@click.option(
    "--from",
    "source",
    required=True,
    multiple=True,
    metavar="PLACE",
    help="A collector's SQLite store, or its https:// address (token from DENIABLE_TOKEN), or a "
    ".json file of parts, of which several may be given.",
)
@click.option(
    "--key",
    "keys",
    required=True,
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="A private key of `sealing-key create`; give every one that reports may be sealed for.",
)
@click.option(
    "--to",
    required=True,
    type=FILE,
    metavar="FILE",
    help="Where the tallies go, made if there is none; other commands read it after --from.",
)
@click.option(
    "--survey",
    "survey_file",
    type=FILE,
    metavar="FILE",
    help="TOML or compiled: hold the batches against this survey, its keys and its min_crowd.",
)
@options.survey_id
@options.form
@click.pass_context
def command(
    context: click.Context,
    question: str,
    source: tuple[str, ...],
    keys: tuple[Path, ...],
    to: Path,
    survey_file: Path | None,
    survey_id: str | None,
    form: str,
) -> None:
    """Open the sealed reports of QUESTION and fold them into tallies.

    Each batch is opened once; what does not open is dropped and counted; a batch of which fewer
    than min_crowd reports are left is destroyed. The exit status is 1 if a batch was refused.
    """
    result = unseal(
        question,
        source,
        keys=keys,
        to=to,
        token=os.environ.get("DENIABLE_TOKEN"),
        survey=survey_id,
        survey_file=survey_file,
    )
    options.emit(result, form)
    context.exit(int(result.refused))
