"""The commands of ``deniable-collector``: serve, release tallies, look after tokens."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from tabulate import tabulate

from deniable.protocol.errors import DeniableError, StoreError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.survey import Survey, load_survey

from . import crowds
from .catalogue import Catalogue
from .config import Config, utc_now
from .keys import open_keys
from .release import close_periods, destroy_keys
from .store import Store, open_store
from .tokens import create_token, revoke_token

_LEAST_DELTA = 1e-100


class _OneLine(click.Group):
    """A group whose commands fail with one line and status 1."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DeniableError as exc:
            raise click.ClickException(" / ".join(str(exc).splitlines())) from exc


class _Moment(click.ParamType[datetime]):
    """A date or a time, in UTC unless it says otherwise."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail("write it like 2026-12-05 or 2026-12-05T10:00:00Z", param, ctx)
        if not 2000 <= moment.year <= 2999:
            self.fail("its year must be in 2000..2999", param, ctx)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


_store = click.option(
    "--store", required=True, metavar="PATH", help="The SQLite file that holds the counts."
)
_keys = click.option(
    "--keys",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the period keys are; by default PATH-keys. Keep it out of every backup.",
)
_format = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How to print.",
)


@click.group(cls=_OneLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="deniable", message="%(prog)s %(version)s")
def main() -> None:
    """Take reports in, keep only counts, and let no small crowd out."""


@main.command()
@click.option(
    "--survey",
    "surveys",
    multiple=True,
    required=True,
    metavar="FILE",
    help="A survey, TOML or compiled JSON; may be given several times.",
)
@_store
@_keys
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="The port; 0 takes any that is free.",
)
@click.option(
    "--flood-limit",
    default=Config.flood_limit,
    show_default=True,
    metavar="RATE",
    help="Requests one pseudonym may send.",
)
@click.option(
    "--flood-storage",
    default=Config.flood_storage,
    show_default=True,
    metavar="URL",
    help="Where requests are counted: memory://, or redis://HOST with deniable[redis].",
)
@click.option(
    "--release-every",
    type=click.FloatRange(min=0),
    default=Config.release_every,
    show_default=True,
    metavar="SECONDS",
    help="Time between releases; 0 leaves them to the release command.",
)
@click.option(
    "--max-devices",
    type=click.IntRange(min=1),
    default=Config.max_devices,
    show_default=True,
    help="Devices one period holds.",
)
def serve(surveys: Sequence[str], host: str, port: int, **settings: Any) -> None:
    """Run the service until it is told to stop.

    When it takes requests it prints one line with its address. Put a proxy with TLS in front of
    it; the collector itself never looks at an address.
    """
    from .serve import serve as run

    loaded = tuple(load_survey(path) for path in surveys)
    names = ", ".join(survey.id for survey in loaded)

    _warn_of_expired(loaded)

    def announce(url: str) -> None:
        click.echo(f"serving {names} on {url}")
        sys.stdout.flush()

    run(Config(surveys=loaded, **settings), host, port, announce)


def _warn_of_expired(surveys: Iterable[Survey]) -> None:
    today = utc_now().date()
    for survey in surveys:
        for question in survey.questions.values():
            if question.expires < today:
                text = f"{survey.id}: {question.id} expired on {question.expires}; no longer asked"
                click.echo(f"Warning: {text}", err=True)


@main.command()
@_store
@_keys
@click.option(
    "--as-of",
    type=_Moment(),
    help="Close as if it were then (UTC), for demos and tests; not while a serve runs.",
)
@click.option("--yes", is_flag=True, help="Do not ask before closing as of another time.")
def release(store: str, keys: Path | None, as_of: datetime | None, yes: bool) -> None:
    """Close the periods whose grace has passed and release their tallies.

    What has min_crowd devices is released, the rest is destroyed; both are for good. A running
    serve does the same by itself.
    """
    with _opened(store) as opened, opened.exclusive() if as_of else nullcontext():
        if as_of is not None and not yes:
            _confirm(as_of)
        with opened.transaction() as tx:
            catalogue = Catalogue.read(tx)
            before = tx.watermark()
            done = close_periods(tx, catalogue, as_of or utc_now())
        destroy_keys(opened, catalogue, open_keys(opened, keys))
    already = "already " if done.watermark == before else ""
    click.echo(
        f"released {done.released}, destroyed {done.destroyed};"
        f" {already}closed up to {done.watermark:%Y-%m-%d %H:%M:%S} UTC"
    )


def _confirm(as_of: datetime) -> None:
    """Ask before closing as of a time of the operator's choice."""
    question = f"Close every period up to {as_of:%Y-%m-%d %H:%M} UTC for good?"
    try:
        agreed = click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        agreed = False
    if not agreed:
        raise StoreError("nothing was closed; answer y, or use --yes")


def _probability(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """Read a delta: NaN and what is too small to compute with are none."""
    if text is None:
        return None
    try:
        delta = float(text)
    except ValueError:
        delta = math.nan
    if not _LEAST_DELTA < delta < 1:
        raise click.BadParameter(f"must be above {_LEAST_DELTA:g} and below 1, like 1e-6: {text}")
    return delta


@main.command()
@_store
@click.option(
    "--shuffle-delta",
    callback=_probability,
    metavar="D",
    help="Add what the crowd of a released tally adds to the noise: an epsilon of that tally "
    "alone, which may fail with this probability, such as 1e-6.",
)
@_format
def status(store: str, shuffle_delta: float | None, form: str) -> None:
    """Show where every tally stands: pending, released or destroyed."""
    columns = list(PeriodState.__dataclass_fields__)
    with _opened(store) as opened, opened.read() as reader:
        records = [state.record() for state in reader.states()]
        if shuffle_delta is not None:
            records = list(crowds.with_epsilons(reader, reader.states(), shuffle_delta))
            columns.append(crowds.COLUMN)
    if shuffle_delta is not None:
        click.echo(crowds.explain(shuffle_delta), err=True)
    _print(records, form, columns)


@main.group()
def token() -> None:
    """Look after the tokens that open tallies and metrics."""


@token.command()
@click.argument("name")
@_store
def create(name: str, store: str) -> None:
    """Make the token NAME and print it, this once.

    The store is made too if it is not there yet.
    """
    with _opened(store, create=True) as opened:
        click.echo(create_token(opened, name))


@token.command()
@click.argument("name")
@_store
def revoke(name: str, store: str) -> None:
    """Make the token NAME worthless."""
    with _opened(store) as opened:
        revoke_token(opened, name)
    click.echo(f"revoked {name}")


@token.command("list")
@_store
def list_tokens(store: str) -> None:
    """Print the names of the tokens there are."""
    with _opened(store) as opened, opened.read() as reader:
        for name in reader.tokens():
            click.echo(name)


@contextmanager
def _opened(location: str, *, create: bool = False) -> Iterator[Store]:
    with closing(open_store(location, create=create)) as store:
        yield store


def _print(records: list[dict[str, Any]], form: str, columns: list[str]) -> None:
    if form == "json":
        click.echo(json.dumps(records, ensure_ascii=False, indent=1, allow_nan=False))
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    else:
        rows = [[_cell(record[column]) for column in columns] for record in records]
        click.echo(tabulate(rows, columns, missingval="-"))


def _cell(value: Any) -> Any:
    """An epsilon is rounded up."""
    return crowds.shown(value) if isinstance(value, float) else value
