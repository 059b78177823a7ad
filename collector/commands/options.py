"""Options that several commands share, how a store is opened, and how records are printed."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
from tabulate import tabulate

from ..store import Store, open_store

if TYPE_CHECKING:
    _Moment = click.ParamType[datetime]
else:
    _Moment = click.ParamType


class Moment(_Moment):
    """A date or a time, in UTC unless it says otherwise."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Parse text; a default is already what it should be."""
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            self.fail("write it like 2026-12-05 or 2026-12-05T10:00:00Z", param, ctx)
        if not 2000 <= moment.year <= 2999:
            self.fail("its year must be in 2000..2999", param, ctx)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


store = click.option(
    "--store",
    required=True,
    metavar="STORE",
    help="What holds the counts: the path of an SQLite file, or a postgresql:// URL.",
)
keys = click.option(
    "--keys",
    metavar="PLACE",
    help="Where the period keys are: a directory, redis:// or postgresql:// URL; by default the "
    "directory PATH-keys. Keep it out of every backup.",
)
form = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="How to print.",
)


@contextmanager
def opened(location: str, *, create: bool = False) -> Iterator[Store]:
    """Open a store for one command; one that is not there is refused unless it may be made."""
    with closing(open_store(location, create=create)) as store:
        yield store


def print_records(
    records: Sequence[dict[str, Any]],
    form: str,
    columns: Sequence[str],
    cell: Callable[[Any], Any] = lambda value: value,
) -> None:
    """Print records as a table, JSON or CSV; ``cell`` turns a value into what a table shows."""
    if form == "json":
        click.echo(json.dumps(records, ensure_ascii=False, indent=1, allow_nan=False))
    elif form == "csv":
        writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    else:
        rows = [[cell(record[column]) for column in columns] for record in records]
        click.echo(tabulate(rows, columns, missingval="-"))
