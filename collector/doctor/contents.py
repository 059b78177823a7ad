"""What a store holds, read once and let go of, so that no check keeps a collector waiting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from deniable.protocol.errors import MissingExtraError
from deniable.protocol.period_state import PeriodState

from ..catalogue import Catalogue
from ..store.base import Reader, Scope, ScopeRow, Token
from ..store.sqlite_reading import Reading
from . import sqlite
from .findings import Case


@dataclass(frozen=True)
class Contents:
    """What the checks need to know of a store."""

    watermark: datetime
    catalogue: Catalogue
    scopes: Mapping[Scope, ScopeRow]
    states: tuple[PeriodState, ...]
    tokens: Mapping[str, Token]


def read_contents(case: Case) -> Contents:
    """Read a store that is of this version, and write nothing.

    Raises
    ------
    StoreError
    """
    with _reader(case) as reader:
        scopes = {scope: reader.scope(scope) for scope in reader.open_scopes()}
        return Contents(
            reader.watermark(),
            Catalogue.read(reader),
            {scope: row for scope, row in scopes.items() if row is not None},
            tuple(reader.states()),
            dict(reader.tokens()),
        )


def require_psycopg() -> None:
    """Refuse what needs the driver of PostgreSQL if it is absent.

    Raises
    ------
    MissingExtraError
    """
    try:
        import psycopg  # noqa: F401
    except ImportError:
        text = "psycopg is not installed; pip install 'deniable[postgres]'"
        raise MissingExtraError(text) from None


@contextmanager
def _reader(case: Case) -> Iterator[Reader]:
    if case.path is None:
        require_psycopg()
        from . import postgres

        with postgres.reader(case.store) as reader:
            yield reader
        return
    with sqlite.opened(case.path) as connection:
        connection.execute("BEGIN")
        yield Reading(connection)
