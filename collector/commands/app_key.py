"""``deniable-collector app-key``: make the keys that apps ship with."""

from __future__ import annotations

import click

from ..app_key import create_app_key


@click.group("app-key")
def command() -> None:
    """Look after the keys that apps ship with, if reports are taken with one only."""


@command.command()
@click.argument("name")
def create(name: str) -> None:
    """Make a key for the app or build NAME, and print it, this once, and its line.

    The first line is the key, to ship in the app. The second goes into the file of --app-keys,
    which serve reads again at SIGHUP; to retire a key, remove its line.
    """
    for line in create_app_key(name):
        click.echo(line)
