"""``deniable-collector token``: make, list and revoke the tokens of those who read."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ..tokens import DEFAULT_SCOPES, SCOPES, create_token, revoke_token
from . import options

_COLUMNS = ("name", "scopes")


@click.group("token")
def command() -> None:
    """Look after the tokens that open tallies and metrics."""


@command.command()
@click.argument("name")
@options.store
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    default=DEFAULT_SCOPES,
    show_default=True,
    help="What it opens, may be given several times: analyst, what was released and where the "
    "rest stands; metrics, /metrics; operator, both.",
)
def create(name: str, store: str, scopes: Sequence[str]) -> None:
    """Make the token NAME and print it, this once.

    The store is made too if it is not there yet.
    """
    with options.opened(store, create=True) as opened:
        click.echo(create_token(opened, name, scopes))


@command.command()
@click.argument("name")
@options.store
def revoke(name: str, store: str) -> None:
    """Make the token NAME worthless, within a second wherever a serve runs."""
    with options.opened(store) as opened:
        revoke_token(opened, name)
    click.echo(f"revoked {name}")


@command.command("list")
@options.store
@options.form
def list_tokens(store: str, form: str) -> None:
    """Print the name of every token and what it opens."""
    with options.opened(store) as opened, opened.read() as reader:
        tokens = reader.tokens()
    records = [{"name": name, "scopes": sorted(token.scopes)} for name, token in tokens.items()]
    if form != "json":
        records = [{**record, "scopes": " ".join(record["scopes"])} for record in records]
    options.print_records(records, form, _COLUMNS)
