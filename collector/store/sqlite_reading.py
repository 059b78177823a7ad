"""What is read from an SQLite store."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime

from deniable.protocol.period_state import PeriodState
from deniable.protocol.periods import parse_period
from deniable.protocol.question_fields import parse_question

from .base import KnownSurvey, Registered, Scope, ScopeRow

_BEGINNING = datetime.min.replace(tzinfo=UTC)


class Reading:
    """Reads on one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def watermark(self) -> datetime:
        """Return the stored moment, or the beginning of time."""
        row = self._db.execute("SELECT watermark FROM clock").fetchone()
        return datetime.fromisoformat(row[0]) if row else _BEGINNING

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
            "SELECT id, devices, closed FROM scopes"
            " WHERE survey = ? AND period = ? AND question = ? AND version = ?",
            scope,
        ).fetchone()
        return ScopeRow(row[0], row[1], bool(row[2])) if row else None

    def open_scopes(self) -> list[Scope]:
        """Return the scopes that are not closed."""
        rows = self._db.execute(
            "SELECT survey, period, question, version FROM scopes WHERE NOT closed ORDER BY id"
        )
        return [Scope(*row) for row in rows]

    def tallies(self, survey: str, question: str) -> list[str]:
        """Return released documents in the order of their periods."""
        rows = self._db.execute(
            "SELECT period, version, batch, segment, document FROM released_tallies"
            " WHERE survey = ? AND question = ?",
            (survey, question),
        ).fetchall()
        rows.sort(key=lambda row: (parse_period(row[0]).start, row[1], row[2] or "", row[3] or ""))
        return [row[4] for row in rows]

    def states(self, survey: str | None = None) -> list[PeriodState]:
        """Return the view's rows."""
        rows = self._db.execute(
            "SELECT survey, question, version, period, batch, segment, state, crowd"
            " FROM period_states WHERE ?1 IS NULL OR survey = ?1",
            (survey,),
        )
        return sorted((PeriodState(*row) for row in rows), key=_state_order)

    def tokens(self) -> dict[str, bytes]:
        """Return the hashes."""
        return dict(self._db.execute("SELECT name, hash FROM tokens ORDER BY name"))


def _state_order(state: PeriodState) -> tuple[object, ...]:
    start = parse_period(state.period).start
    place = (state.survey, state.question, start, state.version)
    return (*place, state.batch or "", state.segment or "")
