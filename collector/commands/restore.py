"""``deniable-collector restore``: a store from a backup."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from ..config import utc_now
from ..counted import counted
from ..keys import KeyRing
from ..keystore import open_keystore
from ..ownership import owners
from ..restore import restore_backup
from ..store.base import Store
from . import options


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@options.store
@options.keys
def command(file: Path, store: str, keys: str | None) -> None:
    """Make a store from the backup FILE, and close every period that has begun.

    The store must be empty: a new SQLite file or PostgreSQL database. Reports of the closed periods
    are refused, so that nothing is released twice and no device counts twice; a once question needs
    a new version to be asked again. FILE stays as it is.
    """
    done = restore_backup(file, store, utc_now())
    click.echo(
        f"restored {done.copied}; closed for good: {counted(len(done.closed), 'period')} that had"
        f" begun, and everything up to {done.watermark:%Y-%m-%d %H:%M:%S} UTC"
    )
    with options.opened(store) as opened:
        _warn_of_keys(opened, keys)


def _warn_of_keys(store: Store, keys: str | None) -> None:
    """Say if keys of the old store are where those of the new one would be."""
    location = keys or store.keys
    if location is None or (keys is None and not Path(location).is_dir()):
        return
    with closing(open_keystore(location)) as places, store.read() as reader:
        foreign = owners(places) - {reader.identity()}
        found = len(KeyRing(places, reader.scope).scopes())
    if foreign:
        text = (
            f"{places.location} holds the keys of another store, of the old one perhaps; serve"
            " refuses it: give it another place with --keys, or move these away"
        )
        click.echo(f"Warning: {text}", err=True)
    elif found:
        text = (
            f"{counted(found, 'key')} of periods in {places.location}; serve destroys those of"
            " closed periods when it starts. If the old store is still there, run release on it"
            " before"
        )
        click.echo(f"Warning: {text}", err=True)
