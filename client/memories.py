"""What a device keeps between the periods of a question whose answer may change: its last answers.

This table alone holds true values. What must never change: a row and the report it was used for are
written in one transaction; and a question whose row was blanked is never answered again, for
without the row its one epsilon would be spent a second time.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from deniable.protocol.mechanisms.dyadic import Memory
from deniable.protocol.question import Question

from .database import Database
from .ledger import key_of
from .pacing import to_seconds

_BLANK = "UPDATE memory SET base = NULL, latest = NULL, used = NULL, seen = NULL"
_LOCAL = "number IN (SELECT number FROM memory WHERE local)"


class Memories:
    """The memories of a store, of all surveys. Writes need an open transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def of(self, question: Question) -> Memory | None:
        """Return what is remembered of a question; None if nothing is."""
        for base, latest, used, seen in self._row(question):
            return None if latest is None else Memory(base, latest, used, seen)
        return None

    def blanked(self, question: Question) -> bool:
        """Return whether what was remembered of a question is gone for good."""
        return any(latest is None for _, latest, _, _ in self._row(question))

    def keep(self, question: Question, memory: Memory, ends: datetime, *, local: bool) -> None:
        """Remember what one more period left, until the moment from which no other counts.

        Parameters
        ----------
        local : bool
            Whether there was no consent, so that nothing of this period ever leaves the device.
        """
        self._db.write(
            """INSERT INTO memory SELECT number, ?, ?, ?, ?, ?, ? FROM ledger
            WHERE survey = ? AND question = ? AND version = ?
            ON CONFLICT (number) DO UPDATE SET base = excluded.base, latest = excluded.latest,
            used = excluded.used, seen = excluded.seen, local = local AND excluded.local,
            ends = excluded.ends""",
            memory.base,
            memory.latest,
            memory.used,
            memory.seen,
            local,
            to_seconds(ends),
            *key_of(question),
        )

    def numbers(self) -> frozenset[int]:
        """Return of which question versions, by number, an answer is kept."""
        sql = "SELECT number FROM memory WHERE latest IS NOT NULL"
        return frozenset(number for (number,) in self._db.rows(sql))

    def throw_away(self) -> None:
        """Blank every row; what never left the device is as if it had not been answered."""
        self._db.write(f"UPDATE ledger SET answers = 0 WHERE {_LOCAL}")  # noqa: S608
        for table in ("answered", "queue", "memory"):
            self._db.write(f"DELETE FROM {table} WHERE {_LOCAL}")  # noqa: S608
        self._db.write(_BLANK)

    def over(self, now: datetime) -> bool:
        """Return whether something is kept of which no period counts any more."""
        sql = "SELECT 1 FROM memory WHERE latest IS NOT NULL AND ends <= ? LIMIT 1"
        return bool(self._db.rows(sql, to_seconds(now)))

    def blank_over(self, now: datetime) -> None:
        """Blank what is kept of questions of which no period counts any more."""
        self._db.write(f"{_BLANK} WHERE ends <= ?", to_seconds(now))

    def _row(self, question: Question) -> list[tuple[int | None, Any, Any, Any]]:
        sql = """SELECT base, latest, used, seen FROM memory JOIN ledger USING (number)
            WHERE survey = ? AND question = ? AND version = ?"""
        return self._db.rows(sql, *key_of(question))
