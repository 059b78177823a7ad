"""``deniable-collector release``: close what is due, by hand."""

from __future__ import annotations

from contextlib import closing, nullcontext, suppress
from datetime import datetime

import click

from deniable.protocol.errors import StoreError

from ..config import utc_now
from ..counted import counted
from ..keys import KeyRing, claim_if_known, open_keys
from ..release import SWEEP, close_periods, destroy_keys
from ..store import Store
from ..store.base import Scope
from . import options

_NOT_OURS = (
    "has no key of this store; give the --keys of serve or, if every key is lost, start serve"
    " with this place before"
)


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
        moment = as_of or utc_now()
        with closing(open_keys(opened, keys, claiming=False)) as ring:
            ours = claim_if_known(opened, ring)
            if destroy_unreadable:
                if not ours:
                    raise StoreError(f"keys: {ring.places.location} {_NOT_OURS}")
                destroy_unreadable = yes or _may_destroy(opened, ring, moment)
            with opened.transaction() as tx:
                before = tx.watermark()
                done = close_periods(tx, ring, moment, give_up=destroy_unreadable)
            if ours:
                destroy_keys(opened, ring)
        _sweep(opened)
    for scope, reason in done.plain.items():
        click.echo(f"Warning: {scope.name} waits in the clear: {reason}", err=True)
    already = "already " if done.watermark == before else ""
    if done.lost:
        click.echo(f"Warning: {done.lost} reports did not open and are lost", err=True)
    waiting = f", waiting for {counted(len(done.waiting), 'key')}" if done.waiting else ""
    click.echo(
        f"released {done.released}, destroyed {done.destroyed}{waiting};"
        f" {already}closed up to {done.watermark:%Y-%m-%d %H:%M:%S} UTC"
    )


class _Undone(Exception):
    """Ends a transaction that is only to tell what it would do."""


def _may_destroy(store: Store, ring: KeyRing, moment: datetime) -> bool:
    """Name the periods with tallies that do not open, if there are any, and ask before they go."""
    waiting: set[Scope] = set()
    with suppress(_Undone), store.transaction() as tx:
        waiting = close_periods(tx, ring, moment).waiting
        raise _Undone
    if waiting:
        names = ", ".join(sorted(scope.name for scope in waiting))
        _confirm(f"Destroy what waits and does not open of {names}, for good?")
    return bool(waiting)


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
