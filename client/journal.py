"""The journal: which periods a question was answered in, and what became of each report.

It is what allows one report per question and period, and what the person is shown. What must never
change: a period that is still open stays in it; a response is in it only if the person wants that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from deniable.protocol.periods import Period, parse_period
from deniable.protocol.question import Question

from .database import Database
from .ledger import key_of
from .pacing import to_seconds
from .timekeeping import BEHIND

MOST = 500
"""Entries kept of periods in which nothing waits any more."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One answer.

    Attributes
    ----------
    number : int
        Of the question version, in the ledger.
    state : str or None
        None while the report waits, "sent" once a collector has it, else why it never counted.
    response : int, str, list or None
        What was sent, in its wire form; None unless the person wants it kept.
    """

    number: int
    period: str
    state: str | None
    response: Any


class Journal:
    """The journal of a store. Writes need an open transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def answered(self, question: Question, period: Period) -> bool:
        """Return whether the question was answered in the period, or may have been."""
        sql = """SELECT through >= ? OR EXISTS
            (SELECT 1 FROM answered WHERE answered.number = ledger.number AND period = ?)
            FROM ledger WHERE survey = ? AND question = ? AND version = ?"""
        values = (to_seconds(period.end), period.key, *key_of(question))
        return any(found for (found,) in self._db.rows(sql, *values))

    def mark(self, question: Question, period: Period, *, waits: bool) -> None:
        """Note that the question has had its one answer in the period."""
        key = key_of(question)
        where = "WHERE survey = ? AND question = ? AND version = ?"
        self._db.write(f"UPDATE ledger SET answers = answers + 1 {where}", *key)  # noqa: S608
        sql = f"INSERT INTO answered SELECT number, ?, ?, ?, NULL FROM ledger {where}"  # noqa: S608
        closes = to_seconds(question.closes(period))
        self._db.write(sql, period.key, closes, None if waits else "silent", *key)

    def settle(self, number: int, period: str, state: str, response: Any = None) -> None:
        """Note what became of a report; its response only if the person wants that kept."""
        sql = """UPDATE answered SET state = ?,
            response = CASE WHEN (SELECT keep_responses FROM device) THEN ? END
            WHERE number = ? AND period = ?"""
        kept = None if response is None else json.dumps(response)
        self._db.write(sql, state, kept, number, period)

    def entries(self) -> list[Entry]:
        """Return every entry, oldest period first."""
        sql = "SELECT number, period, state, response FROM answered"
        found = [
            Entry(number, period, state, None if response is None else json.loads(response))
            for number, period, state, response in self._db.rows(sql)
        ]
        return sorted(found, key=lambda entry: (parse_period(entry.period).start, entry.number))

    def trim(self, now: datetime) -> None:
        """Forget the oldest entries of closed periods, beyond the last :data:`MOST`; a transaction.

        The ledger keeps up to where a question was forgotten: none of those periods is answered
        again, whatever the clock shows or a later survey says of its grace.
        """
        closed = "state IS NOT NULL AND closes <= ? AND period <> 'once'"
        latest = to_seconds(now - BEHIND)
        sql = f"SELECT count(*) FROM answered WHERE {closed}"  # noqa: S608
        ((count,),) = self._db.rows(sql, latest)
        if count <= MOST:
            return
        with self._db.transaction():
            sql = f"""SELECT number, period FROM answered WHERE {closed}
                ORDER BY closes LIMIT ?"""  # noqa: S608
            for number, period in self._db.rows(sql, latest, count - MOST):
                through = to_seconds(parse_period(period).end)
                sql = "UPDATE ledger SET through = max(through, ?) WHERE number = ?"
                self._db.write(sql, through, number)
                sql = "DELETE FROM answered WHERE number = ? AND period = ?"
                self._db.write(sql, number, period)
