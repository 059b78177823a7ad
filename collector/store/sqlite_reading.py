"""What is read from an SQLite store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator
from datetime import datetime

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
from .sqlite_chunks import chunks, row_marks, values_of


class Reading:
    """Reads on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def identity(self) -> str:
        """Return the number that the schema drew."""
        return str(self._db.execute("SELECT id FROM identity").fetchone()[0])

    def watermark(self) -> datetime:
        """Return the stored moment, or the beginning of time."""
        row = self._db.execute("SELECT watermark FROM clock").fetchone()
        return datetime.fromisoformat(row[0]) if row else BEGINNING

    def edition(self) -> int:
        """Return the number, 0 in a new store."""
        row = self._db.execute("SELECT edition FROM clock").fetchone()
        return int(row[0]) if row else 0

    def surveys(self) -> list[KnownSurvey]:
        """Return every survey."""
        rows = self._db.execute("SELECT id, document, segments FROM surveys ORDER BY id")
        return [KnownSurvey(name, text, tuple(json.loads(known))) for name, text, known in rows]

    def questions(self) -> list[Registered]:
        """Return every question version; each is checked against its own hash."""
        rows = self._db.execute("SELECT id, bit, survey, definition FROM questions ORDER BY id")
        return [
            Registered(number, bit, parse_question(survey, json.loads(definition)))
            for number, bit, survey, definition in rows
        ]

    def scope(self, scope: Scope) -> ScopeRow | None:
        """Return a scope."""
        row = self._db.execute(
            "SELECT id, devices, closed, key_check FROM scopes"
            " WHERE survey = ? AND period = ? AND question = ? AND version = ?",
            scope,
        ).fetchone()
        return ScopeRow(row[0], row[1], bool(row[2]), row[3]) if row else None

    def open_scopes(self) -> list[Scope]:
        """Return the scopes that are not closed."""
        return self._scopes(closed=False)

    def closed_scopes(self) -> list[Scope]:
        """Return the scopes that are closed."""
        return self._scopes(closed=True)

    def _scopes(self, *, closed: bool) -> list[Scope]:
        rows = self._db.execute(
            "SELECT survey, period, question, version FROM scopes WHERE closed = ? ORDER BY id",
            (closed,),
        )
        return [Scope(*row) for row in rows]

    def left(self, places: Collection[tuple[int, str]]) -> set[Left]:
        """Look among the released, the batches and the destroyed."""
        return {
            Left(question, period, batch or None)
            for some in chunks([*places])
            for table in ("released", "batches", "destroyed")
            for question, period, batch in self._db.execute(
                f"SELECT DISTINCT question, period, batch FROM {table}"  # noqa: S608
                f" WHERE (question, period) IN (VALUES {row_marks(some)})",
                values_of(some),
            )
        }

    def tallies(self, survey: str, question: str) -> list[str]:
        """Return released documents in the order of their periods."""
        rows = self._db.execute(
            "SELECT period, version, batch, segment, document FROM released_tallies"
            " WHERE survey = ? AND question = ?",
            (survey, question),
        )
        return in_order(rows)

    def batches(self, survey: str, question: str) -> list[BatchEntry]:
        """Return the places of parts in the order of their periods."""
        rows = self._db.execute(
            "SELECT b.id, q.version, b.period, nullif(b.batch, ''), nullif(b.segment, ''), b.n,"
            " b.part, b.parts FROM batches b JOIN questions q ON q.id = b.question"
            " WHERE q.survey = ? AND q.question = ?",
            (survey, question),
        )
        return sorted((BatchEntry(*row) for row in rows), key=batch_order)

    def batch(self, survey: str, question: str, id: int) -> str | None:  # noqa: A002
        """Return one document."""
        row = self._db.execute(
            "SELECT b.document FROM batches b JOIN questions q ON q.id = b.question"
            " WHERE q.survey = ? AND q.question = ? AND b.id = ?",
            (survey, question, id),
        ).fetchone()
        return None if row is None else str(row[0])

    def released(self) -> Iterator[Released]:
        """Yield the documents with their places."""
        rows = self._db.execute(
            "SELECT question, period, nullif(batch, ''), nullif(segment, ''), n, document"
            " FROM released"
        )
        for *place, n, document in rows:
            yield Released(Settled(*place), n, document)

    def released_batches(self) -> Iterator[BatchPart]:
        """Yield the parts with their places."""
        rows = self._db.execute(
            "SELECT question, period, nullif(batch, ''), nullif(segment, ''), n, part, parts,"
            " document FROM batches ORDER BY id"
        )
        for *place, n, part, parts, document in rows:
            yield BatchPart(Settled(*place), n, part, parts, document)

    def destroyed(self) -> Iterator[Destroyed]:
        """Yield the marks."""
        rows = self._db.execute(
            "SELECT question, period, nullif(batch, ''), nullif(segment, ''), min_crowd"
            " FROM destroyed"
        )
        for *place, min_crowd in rows:
            yield Destroyed(Settled(*place), min_crowd)

    def states(self, survey: str | None = None) -> list[PeriodState]:
        """Return the view's rows."""
        rows = self._db.execute(
            "SELECT survey, question, version, period, batch, segment, state, crowd"
            " FROM period_states WHERE ?1 IS NULL OR survey = ?1",
            (survey,),
        )
        return sorted((PeriodState(*row) for row in rows), key=state_order)

    def pending_crowds(self) -> dict[tuple[str, str], int]:
        """Count the view's rows."""
        rows = self._db.execute(
            "SELECT survey, crowd, count(*) FROM period_states"
            " WHERE state = 'pending' GROUP BY survey, crowd"
        )
        return {(survey, crowd): count for survey, crowd, count in rows}

    def tokens(self) -> dict[str, Token]:
        """Return the hashes and scopes."""
        rows = self._db.execute("SELECT name, hash, scopes FROM tokens ORDER BY name")
        return {name: Token(digest, tuple(scopes.split())) for name, digest, scopes in rows}
