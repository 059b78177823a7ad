"""What is read from a PostgreSQL store."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import Any

from psycopg import Connection

from deniable.protocol.period_state import PeriodState
from deniable.protocol.question_fields import parse_question

from .base import (
    BEGINNING,
    BatchEntry,
    BatchPart,
    Destroyed,
    KnownSurvey,
    Left,
    Registered,
    Released,
    Scope,
    ScopeRow,
    Settled,
    Token,
)
from .orders import batch_order, in_order, state_order

_AT_ONCE = 64
_LARGEST = 2**63 - 1
_PLACE = "question, period, batch, segment"

Row = tuple[Any, ...]


class Reading:
    """Reads on one connection, in the transaction that is open."""

    def __init__(self, connection: Connection) -> None:
        self._db = connection

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        return self._db.execute(query, values, binary=True).fetchall()

    def identity(self) -> str:
        """Return the number that the schema drew."""
        ((identity,),) = self._rows("SELECT id FROM identity")
        return str(identity)

    def watermark(self) -> datetime:
        """Return the stored moment, or the beginning of time."""
        ((moment,),) = self._rows("SELECT watermark FROM clock")
        return moment or BEGINNING

    def edition(self) -> int:
        """Return the number, 0 in a new store."""
        ((edition,),) = self._rows("SELECT edition FROM clock")
        return int(edition)

    def surveys(self) -> list[KnownSurvey]:
        """Return every survey."""
        rows = self._rows("SELECT id, document, segments FROM surveys ORDER BY id")
        return [KnownSurvey(name, text, tuple(known)) for name, text, known in rows]

    def questions(self) -> list[Registered]:
        """Return every question version; each is checked against its own hash."""
        rows = self._rows("SELECT id, bit, survey, definition FROM questions ORDER BY id")
        return [
            Registered(number, bit, parse_question(survey, json.loads(definition)))
            for number, bit, survey, definition in rows
        ]

    def scope(self, scope: Scope) -> ScopeRow | None:
        """Return a scope with the devices of every shard."""
        rows = self._rows(
            "SELECT s.id, (SELECT coalesce(sum(d.devices), 0)::bigint FROM scope_devices d"
            " WHERE d.scope = s.id), s.closed, s.key_check FROM scopes s"
            " WHERE (s.survey, s.period, s.question, s.version) = (%s, %s, %s, %s)",
            scope,
        )
        return ScopeRow(*rows[0]) if rows else None

    def open_scopes(self) -> list[Scope]:
        """Return the scopes that are not closed."""
        return self._scopes("NOT closed")

    def closed_scopes(self) -> list[Scope]:
        """Return the scopes that are closed."""
        return self._scopes("closed")

    def _scopes(self, which: str) -> list[Scope]:
        rows = self._rows(
            f"SELECT survey, period, question, version FROM scopes WHERE {which} ORDER BY id"  # noqa: S608
        )
        return [Scope(*row) for row in rows]

    def left(self, places: Collection[tuple[int, str]]) -> set[Left]:
        """Look among the released, the batches and the destroyed."""
        if not places:
            return set()
        questions, periods = zip(*places, strict=True)
        given = "unnest(%b::bigint[], %b::text[]) AS given (question, period)"
        each = " UNION ".join(
            f"SELECT t.question, t.period, nullif(t.batch, '') FROM {given}"  # noqa: S608
            f" JOIN {table} t USING (question, period)"
            for table in ("released", "batches", "destroyed")
        )
        columns = [list(questions), list(periods)]
        return {Left(*row) for row in self._rows(each, columns * 3)}

    def tallies(self, survey: str, question: str) -> list[str]:
        """Return released documents in the order of their periods."""
        rows = self._rows(
            "SELECT period, version, batch, segment, document FROM released_tallies"
            " WHERE survey = %s AND question = %s",
            (survey, question),
        )
        return in_order(rows)

    def batches(self, survey: str, question: str) -> list[BatchEntry]:
        """Return the places of parts in the order of their periods."""
        rows = self._rows(
            "SELECT b.id, q.version, b.period, nullif(b.batch, ''), nullif(b.segment, ''), b.n,"
            " b.part, b.parts FROM batches b JOIN questions q ON q.id = b.question"
            " WHERE q.survey = %s AND q.question = %s",
            (survey, question),
        )
        return sorted((BatchEntry(*row) for row in rows), key=batch_order)

    def batch(self, survey: str, question: str, id: int) -> str | None:  # noqa: A002
        """Return one document."""
        if id > _LARGEST:
            return None
        rows = self._rows(
            "SELECT b.document FROM batches b JOIN questions q ON q.id = b.question"
            " WHERE q.survey = %s AND q.question = %s AND b.id = %s",
            (survey, question, id),
        )
        return str(rows[0][0]) if rows else None

    def states(self, survey: str | None = None) -> list[PeriodState]:
        """Return the view's rows."""
        rows = self._rows(
            "SELECT survey, question, version, period, batch, segment, state, crowd"
            " FROM period_states WHERE %s::text IS NULL OR survey = %s",
            (survey, survey),
        )
        return sorted((PeriodState(*row) for row in rows), key=state_order)

    def pending_crowds(self) -> dict[tuple[str, str], int]:
        """Count the view's rows."""
        rows = self._rows(
            "SELECT survey, crowd, count(*) FROM period_states"
            " WHERE state = 'pending' GROUP BY survey, crowd"
        )
        return {(survey, crowd): count for survey, crowd, count in rows}

    def released(self) -> Iterator[Released]:
        """Yield the documents with their places."""
        for *place, n, document in self._paged("released", "n, document", _PLACE):
            yield Released(_settled(place), n, document)

    def released_batches(self) -> Iterator[BatchPart]:
        """Yield the parts with their places."""
        columns = "n, part, parts, document"
        for *place, n, part, parts, document in self._paged("batches", columns, f"{_PLACE}, part"):
            yield BatchPart(_settled(place), n, part, parts, document)

    def destroyed(self) -> Iterator[Destroyed]:
        """Yield the marks."""
        for *place, min_crowd in self._paged("destroyed", "min_crowd", _PLACE):
            yield Destroyed(_settled(place), min_crowd)

    def _paged(self, table: str, columns: str, key: str) -> Iterator[Row]:
        """Yield place and columns in the order of the key, a few rows at a time."""
        marks = ", ".join("%s" for _ in key.split(","))
        order = f"ORDER BY {key} LIMIT {_AT_ONCE}"
        names = [name.strip() for name in columns.split(",")]
        query = f"SELECT {_PLACE}, {columns} FROM {table}"  # noqa: S608
        rows = self._rows(f"{query} {order}")
        while rows:
            yield from rows
            last = dict(zip([*_PLACE.split(", "), *names], rows[-1], strict=True))
            values = [last[name] for name in key.split(", ")]
            rows = self._rows(f"{query} WHERE ({key}) > ({marks}) {order}", values)

    def tokens(self) -> dict[str, Token]:
        """Return the hashes and scopes."""
        rows = self._rows("SELECT name, digest, scopes FROM tokens ORDER BY name")
        return {name: Token(digest, tuple(scopes)) for name, digest, scopes in rows}


def _settled(place: Sequence[Any]) -> Settled:
    question, period, batch, segment = place
    return Settled(question, period, batch or None, segment or None)
