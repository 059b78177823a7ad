"""``deniable-collector backup``: everything worth keeping, in one file."""

from __future__ import annotations

from pathlib import Path

import click

from ..backup import write_backup
from . import options


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@options.store
def command(file: Path, store: str) -> None:
    """Write a backup of the store into the new FILE, also while serve runs.

    It holds surveys, released tallies and batches, and the hashes of tokens; never what waits for
    its release, ledger rows or keys. Analysts can read it: deniable estimate --from FILE. Take
    one after each release and each new edition of a survey.
    """
    with options.opened(store) as opened:
        copied = write_backup(opened, file)
    click.echo(f"wrote {file}: {copied}")
