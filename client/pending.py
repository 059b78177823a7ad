"""The reports that wait to be sent, and nothing about those that were.

What must never change: a row holds only what the request needs, its order tells nothing of the
order of recording, and it is erased when the collector has answered for it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from deniable.protocol.question import WIRE_HASH
from deniable.protocol.response import Wire

from .database import Database
from .journal import Journal
from .pacing import from_seconds, to_seconds


@dataclass(frozen=True, slots=True)
class Queued:
    """One report that waits.

    Attributes
    ----------
    alone : bool
        Whether it travels by itself, under a pseudonym of its own.
    local : bool
        Whether it was recorded before there was consent: then it is never sent.
    hash : str
        The question's hash as it travels.
    response : int, str or list
        In its wire form.
    """

    period: str
    question: str
    version: int
    alone: bool
    local: bool
    segment: str | None
    hash: str
    response: Wire


MOST_REPORTS = 2000
MOST_BYTES = 512 * 1024
"""Bounds of a queue; what comes beyond them is refused, and counted. The third is age: a report
waits no longer than its period is open."""

_MINE = "number IN (SELECT number FROM ledger WHERE survey = ?)"


class Queue:
    """The queue of a store, as one survey sees it. Writes need an open transaction."""

    def __init__(self, db: Database, survey: str) -> None:
        self._db = db
        self._survey = survey
        self._journal = Journal(db)

    def has_room(self, size: int) -> bool:
        """Return whether another report may wait, whose response has at most so many bytes."""
        ((count, taken),) = self._db.rows("SELECT count(*), total(size) FROM queue")
        return bool(count < MOST_REPORTS and taken + size <= MOST_BYTES)

    def add(self, report: Queued, size: int, not_before: datetime, closes: datetime) -> None:
        """Keep one report until it is acknowledged or its period is closed."""
        self._db.write(
            """INSERT INTO queue SELECT number, ?, ?, ?, ?, ?, ?, ?, ? FROM ledger
            WHERE survey = ? AND question = ? AND version = ?""",
            report.period,
            report.alone,
            report.local,
            report.segment,
            json.dumps(report.response),
            size,
            to_seconds(not_before),
            to_seconds(closes),
            self._survey,
            report.question,
            report.version,
        )

    def departure(self, period: str) -> datetime | None:
        """Return the departure that the reports travelling together in a period share."""
        sql = f"""SELECT not_before FROM queue
            WHERE {_MINE} AND period = ? AND alone = 0 LIMIT 1"""  # noqa: S608
        found = self._db.rows(sql, self._survey, period)
        return from_seconds(found[0][0]) if found else None

    def next_departure(self) -> datetime | None:
        """Return when the next report may leave."""
        sql = f"SELECT min(not_before) FROM queue WHERE {_MINE} AND NOT local"  # noqa: S608
        ((moment,),) = self._db.rows(sql, self._survey)
        return None if moment is None else from_seconds(moment)

    def due(self, now: datetime | None) -> list[Queued]:
        """Return the reports that may leave by ``now``, or all that ever may, sorted by name."""
        latest = 2**62 if now is None else to_seconds(now)
        return self._reports("not_before <= ? AND NOT local", latest)

    def everything(self) -> list[Queued]:
        """Return every report that waits, sorted by name."""
        return self._reports("1")

    def _reports(self, which: str, *values: object) -> list[Queued]:
        sql = f"""SELECT period, question, version, alone, local, segment, substr(hash, 1, ?),
            response FROM queue JOIN ledger USING (number)
            WHERE survey = ? AND {which} ORDER BY period, question, version"""  # noqa: S608
        return [
            Queued(
                period, name, version, bool(alone), bool(local), segment, digits, json.loads(wire)
            )
            for period, name, version, alone, local, segment, digits, wire in self._db.rows(
                sql, WIRE_HASH, self._survey, *values
            )
        ]

    def remove(self, report: Queued, state: str) -> None:
        """Erase a report that was acknowledged or refused, and note that in the journal."""
        sql = "SELECT number FROM ledger WHERE survey = ? AND question = ? AND version = ?"
        ((number,),) = self._db.rows(sql, self._survey, report.question, report.version)
        self._journal.settle(number, report.period, state, report.response)
        self._db.write("DELETE FROM queue WHERE number = ? AND period = ?", number, report.period)

    def closed(self, now: datetime) -> bool:
        """Return whether there are reports of closed periods."""
        sql = f"SELECT 1 FROM queue WHERE {_MINE} AND closes <= ? LIMIT 1"  # noqa: S608
        return bool(self._db.rows(sql, self._survey, to_seconds(now)))

    def remove_closed(self, now: datetime) -> int:
        """Erase the reports of closed periods; return how many."""
        which = f"{_MINE} AND closes <= ?"
        values = (self._survey, to_seconds(now))
        sql = f"SELECT number, period FROM queue WHERE {which}"  # noqa: S608
        for number, period in self._db.rows(sql, *values):
            self._journal.settle(number, period, "period_closed")
        return self._db.write(f"DELETE FROM queue WHERE {which}", *values)  # noqa: S608

    def last_close(self, period: str) -> datetime | None:
        """Return when the last report of a period can count no more."""
        sql = f"SELECT max(closes) FROM queue WHERE {_MINE} AND period = ?"  # noqa: S608
        ((closes,),) = self._db.rows(sql, self._survey, period)
        return None if closes is None else from_seconds(closes)

    def window(self, report: Queued) -> tuple[datetime, datetime]:
        """Return from when a report may leave, and from when it can count no more."""
        sql = """SELECT not_before, closes FROM queue JOIN ledger USING (number)
            WHERE survey = ? AND question = ? AND version = ? AND period = ?"""
        name = (report.question, report.version, report.period)
        ((not_before, closes),) = self._db.rows(sql, self._survey, *name)
        return from_seconds(not_before), from_seconds(closes)

    def waiting(self) -> int:
        """Return how many reports wait."""
        sql = f"SELECT count(*) FROM queue WHERE {_MINE}"  # noqa: S608
        ((count,),) = self._db.rows(sql, self._survey)
        return int(count)
