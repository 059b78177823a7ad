"""``deniable-collector release``: close what is due, by hand."""

from __future__ import annotations

from contextlib import closing, nullcontext
from datetime import datetime

import click

from deniable.protocol.errors import StoreError

from ..config import utc_now
from ..keys import open_keys
from ..release import SWEEP, close_periods, destroy_keys
from ..store import Store
from . import options


@click.command("release")
@options.store
@options.keys
@click.option(
    "--as-of",
    type=options.Moment(),
    help="Close as if it were then (UTC), for demos and tests; not while a serve runs.",
)
@click.option(
    "--destroy-unreadable",
    is_flag=True,
    help="Destroy tallies that wait for a key that is lost, rather than wait for it.",
)
@click.option("--yes", is_flag=True, help="Do not ask before what cannot be undone.")
def command(
    store: str, keys: str | None, as_of: datetime | None, destroy_unreadable: bool, yes: bool
) -> None:
    """Close the periods whose grace has passed and release their tallies.

    What has min_crowd devices is released, the rest is destroyed; both are for good. A running
    serve does the same by itself. A tally whose key is missing waits for it.
    """
    with options.opened(store) as opened, opened.alone() if as_of else nullcontext():
        if as_of is not None and not yes:
            _confirm(f"Close every period up to {as_of:%Y-%m-%d %H:%M} UTC for good?")
        if destroy_unreadable and not yes:
            _confirm("Destroy what is closed and does not open with the keys there are, for good?")
        with closing(open_keys(opened, keys)) as ring:
            with opened.transaction() as tx:
                before = tx.watermark()
                moment = as_of or utc_now()
                done = close_periods(tx, ring, moment, give_up=destroy_unreadable)
            destroy_keys(opened, ring)
        _sweep(opened)
    already = "already " if done.watermark == before else ""
    waiting = f", waiting for keys of {len(done.waiting)} periods" if done.waiting else ""
    click.echo(
        f"released {done.released}, destroyed {done.destroyed}{waiting};"
        f" {already}closed up to {done.watermark:%Y-%m-%d %H:%M:%S} UTC"
    )


def _sweep(store: Store) -> None:
    """Delete the ledger rows of what was closed."""
    deleted = SWEEP
    while deleted == SWEEP:
        with store.transaction() as tx:
            deleted = tx.sweep(SWEEP)


def _confirm(question: str) -> None:
    """Ask before what cannot be undone."""
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        agreed = False
    if not agreed:
        raise StoreError("nothing was closed; answer y, or use --yes")
