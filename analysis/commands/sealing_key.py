"""``deniable sealing-key create | show``."""

from __future__ import annotations

from pathlib import Path

import click

from deniable.protocol.sealing import SUITES

from ..unsealing.sealing_keys import create_sealing_key, sealing_key
from . import options

FILE = click.Path(path_type=Path)


@click.group(name="sealing-key")
def command() -> None:
    """Make the keys that devices seal reports for, and show their public halves."""


@command.command()
@click.argument("file", type=FILE)
@click.option(
    "--suite",
    type=click.Choice(list(SUITES)),
    default="x25519",
    show_default=True,
    help="mlkem768-x25519 also withstands a quantum computer; reports are 1 KiB larger.",
)
@click.option("--id", "name", metavar="ID", help="In surveys; otherwise made of its public half.")
@options.form
def create(file: Path, suite: str, name: str | None, form: str) -> None:
    """Make a private key in the new FILE and print the table of its public half for the survey.

    Only you may read FILE. Whoever has it opens reports; without it nobody does, so keep a copy
    offline, and nowhere the collector runs.
    """
    options.emit(create_sealing_key(file, suite=suite, name=name), form)


@command.command()
@click.argument("file", type=FILE)
@options.form
def show(file: Path, form: str) -> None:
    """Print the table of the public half of the key in FILE again."""
    options.emit(sealing_key(file), form)
