"""The reports that wait to be sent, and nothing about those that were.

What must never change: a row holds only what the request needs, its order tells nothing of the
order of recording, and it is erased when the collector has answered for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from deniable.protocol.question import WIRE_HASH
from deniable.protocol.response import Wire

from .database import Database
from .pacing import from_seconds, to_seconds


@dataclass(frozen=True, slots=True)
class Queued:
    """One report that waits.

    Attributes
    ----------
    alone : bool
        Whether it travels by itself, under a pseudonym of its own.
    hash : str
        The question's hash as it travels.
    response : int, str or list
        In its wire form.
    """

    period: str
    question: str
    version: int
    alone: bool
    segment: str | None
    hash: str
    response: Wire


class Queue:
    """The queue of a store, as one survey sees it. Writes need an open transaction."""

    def __init__(self, db: Database, survey: str) -> None:
        self._db = db
        self._survey = survey

    def add(self, report: Queued, not_before: datetime, closes: datetime) -> None:
        """Keep one report until it is acknowledged or its period is closed."""
        self._db.write(
            """INSERT INTO queue (survey, period, question, version, alone, segment, response,
            not_before, closes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            self._survey,
            report.period,
            report.question,
            report.version,
            report.alone,
            report.segment,
            json.dumps(report.response),
            to_seconds(not_before),
            to_seconds(closes),
        )

    def departure(self, period: str) -> datetime | None:
        """Return the departure that the reports travelling together in a period share."""
        sql = "SELECT not_before FROM queue WHERE survey = ? AND period = ? AND alone = 0 LIMIT 1"
        found = self._db.rows(sql, self._survey, period)
        return from_seconds(found[0][0]) if found else None

    def next_departure(self) -> datetime | None:
        """Return when the next report may leave."""
        sql = "SELECT min(not_before) FROM queue WHERE survey = ?"
        ((moment,),) = self._db.rows(sql, self._survey)
        return None if moment is None else from_seconds(moment)

    def due(self, now: datetime | None) -> list[Queued]:
        """Return the reports that may leave by ``now``, or all, sorted by name."""
        sql = """SELECT period, question, version, alone, segment, substr(hash, 1, ?), response
            FROM queue JOIN ledger USING (survey, question, version)
            WHERE survey = ? AND not_before <= ? ORDER BY period, question, version"""
        latest = 2**62 if now is None else to_seconds(now)
        return [
            Queued(period, question, version, bool(alone), segment, digits, json.loads(response))
            for period, question, version, alone, segment, digits, response in self._db.rows(
                sql, WIRE_HASH, self._survey, latest
            )
        ]

    def remove(self, reports: Iterable[Queued]) -> None:
        """Erase reports that were acknowledged or refused."""
        sql = """DELETE FROM queue
            WHERE survey = ? AND period = ? AND question = ? AND version = ?"""
        for report in reports:
            self._db.write(sql, self._survey, report.period, report.question, report.version)

    def closed(self, now: datetime) -> bool:
        """Return whether there are reports of closed periods."""
        sql = "SELECT 1 FROM queue WHERE survey = ? AND closes <= ? LIMIT 1"
        return bool(self._db.rows(sql, self._survey, to_seconds(now)))

    def remove_closed(self, now: datetime) -> int:
        """Erase the reports of closed periods; return how many."""
        sql = "DELETE FROM queue WHERE survey = ? AND closes <= ?"
        return self._db.write(sql, self._survey, to_seconds(now))

    def hold(self, until: datetime) -> None:
        """Let nothing that waits leave before ``until``, or its close if that is sooner."""
        sql = "UPDATE queue SET not_before = max(not_before, min(closes, ?)) WHERE survey = ?"
        self._db.write(sql, to_seconds(until), self._survey)

    def waiting(self) -> int:
        """Return how many reports wait."""
        ((count,),) = self._db.rows("SELECT count(*) FROM queue WHERE survey = ?", self._survey)
        return int(count)
