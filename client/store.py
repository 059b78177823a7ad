"""What a device keeps: its secret, its person's decision, what it knows of time and of failures.

What must never change: no method takes a true value, but those of :class:`~.memories.Memories`; and
nothing here draws a secret except a new store and a person who says yes after an erasure.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal

from deniable.protocol.derivation import SECRET_BYTES
from deniable.protocol.exact import canonical
from deniable.protocol.question import Question

from . import machine
from .database import Database
from .journal import Journal
from .ledger import Ledger, decimal, key_of
from .memories import Memories
from .pacing import day_of, from_seconds, to_seconds
from .timekeeping import Seen, judge

Consent = Literal["on", "off", "ask"]
_LEAST: tuple[Consent, ...] = ("off", "ask", "on")


@dataclass(frozen=True, slots=True)
class Device:
    """The one row of the device.

    Attributes
    ----------
    secret : bytes or None
        32 bytes; None once erased.
    consent : "on", "off" or "ask"
        The person's decision, or else what the app asked for.
    decided_on : str or None
        The day of the decision; None if the person made none.
    mode : "ask", "on" or "off"
        What the app asked for when it last started, before a decision.
    ceiling : Decimal
        The least max_epsilon this store ever saw.
    born : datetime
        The day the store was made.
    begun : int
        How often sending has begun; what was recorded when it was another number is never sent.
    keep_responses : bool
        Whether the person wants the journal to hold the responses that were sent.
    """

    secret: bytes | None
    consent: Consent
    decided_on: str | None
    mode: Consent
    ceiling: Decimal
    born: datetime
    begun: int
    keep_responses: bool


class Store:
    """The lasting part of a store. Writes need an open transaction, except where said.

    While the answer is no, a start and a look note nothing but a lower ceiling.

    Parameters
    ----------
    mode : "ask", "on" or "off", optional
        What the app that opened it asks for. Until the person decides, the less of that and of
        what the last one asked for holds.
    """

    def __init__(self, db: Database, mode: Consent | None = None) -> None:
        self._db = db
        self._mode = mode
        self.journal = Journal(db)
        self.ledger = Ledger(db)
        self.memories = Memories(db)

    def device(self) -> Device:
        """Return the secret and what the person decided."""
        sql = """SELECT secret, consent, consent_on, mode, ceiling, born, begun, keep_responses
            FROM device"""
        ((secret, consent, day, mode, ceiling, born, begun, keep),) = self._db.rows(sql)
        consent = consent or min(mode, self._mode or mode, key=_LEAST.index)
        least = decimal(ceiling)
        return Device(secret, consent, day, mode, least, from_seconds(born), begun, bool(keep))

    def greet(self, mode: str, max_epsilon: Decimal, now: datetime) -> Device:
        """Note what the app asks for, and lower the ceiling to its survey's; a transaction.

        An app that no longer asks, but sends, has the consent of its people from now on. What it
        asks for matters to nobody who decided.
        """
        device = self.device()
        news = device.decided_on is None and device.mode != mode
        if news or device.ceiling > max_epsilon:
            with self._db.transaction():
                before = self.device()
                sql = "UPDATE device SET mode = ?, ceiling = ?"
                self._db.write(sql, mode, canonical(min(before.ceiling, max_epsilon)))
                if before.decided_on is None and mode == "on" != before.mode:
                    self._begin(now)
                device = self.device()
        return device

    def decide(self, consent: Literal["on", "off"], now: datetime) -> None:
        """Store the person's decision; a transaction.

        "off" erases what waits to be sent. "on" throws away what was recorded before it, decides
        defaults from now on, and draws a new secret if the old one was erased.
        """
        with self._db.transaction():
            before = self.device()
            if consent == "off":
                self._throw_away("off")
            elif before.consent != "on":
                self._begin(now)
            if consent == "on" and before.secret is None:
                self._db.write("UPDATE device SET secret = ?", os.urandom(SECRET_BYTES))
            sql = "UPDATE device SET consent = ?, consent_on = ?"
            self._db.write(sql, consent, now.date().isoformat())

    def erase(self, now: datetime) -> None:
        """Destroy secret, queue, journal and memories; keep what was spent. A transaction."""
        with self._db.transaction():
            for table in ("queue", "answered", "seen", "memory"):
                self._db.write(f"DELETE FROM {table}")  # noqa: S608
            self._db.write("UPDATE ledger SET erased = 1")
            self._db.write(
                """UPDATE device SET secret = NULL, machine = NULL, consent = 'off',
                consent_on = ?, keep_responses = 0""",
                now.date().isoformat(),
            )

    def _begin(self, now: datetime) -> None:
        """Let reports be sent from now on, and none that was recorded before."""
        self._throw_away("before_consent")
        self._db.write("UPDATE device SET begun = begun + 1")
        self._db.write(
            "UPDATE seen SET since = max(?, (SELECT latest FROM device))", to_seconds(now)
        )

    def _throw_away(self, state: str) -> None:
        """Erase what waits; a period that cannot have left the device may be answered again."""
        self.memories.throw_away()
        waits = "(number, period) IN (SELECT number, period FROM queue WHERE local = ?)"
        self._db.write(
            """UPDATE ledger SET answers = answers -
            (SELECT count(*) FROM queue WHERE queue.number = ledger.number AND local = 1)"""
        )
        self._db.write(f"DELETE FROM answered WHERE {waits}", 1)  # noqa: S608
        self._db.write(f"UPDATE answered SET state = ? WHERE {waits}", state, 0)  # noqa: S608
        self._db.write("DELETE FROM queue")

    def on_this_machine(self, machine_id: bytes | None) -> bool:
        """Return whether the store was made on the machine with this id; a transaction at first.

        Where the id is unknown, nothing can be said, and nothing is said.
        """
        sql = "SELECT secret, machine, consent FROM device"
        ((secret, known, consent),) = self._db.rows(sql)
        unknown = known is None and consent != "off"
        if unknown and secret is not None and machine_id is not None:
            with self._db.transaction():
                mark = machine.mark(secret, machine_id)
                self._db.write("UPDATE device SET machine = ?", mark)
            return True
        return not self.is_clone(machine_id)

    def is_clone(self, machine_id: bytes | None) -> bool:
        """Return whether the store was made on another machine than the one with this id."""
        ((secret, known),) = self._db.rows("SELECT secret, machine FROM device")
        if secret is None or known is None or machine_id is None:
            return False
        return bool(known != machine.mark(secret, machine_id))

    def forget_machine(self) -> None:
        """Take the machine on which an app next starts for this store's; a transaction."""
        with self._db.transaction():
            self._db.write("UPDATE device SET machine = NULL")

    def believes(self, now: datetime) -> bool:
        """Return whether the clock can be believed; a transaction if that is news."""
        ((latest, odd),) = self._db.rows("SELECT latest, odd FROM device")
        seen = Seen(_moment(latest or None), _moment(odd))
        believed, after = judge(seen, now)
        if after != seen and self.device().consent != "off":
            with self._db.transaction():
                values = (_seconds(after.latest) or 0, _seconds(after.odd))
                self._db.write("UPDATE device SET latest = ?, odd = ?", *values)
                if believed and odd is not None:
                    self._db.write("UPDATE device SET failures = 0, resume = NULL")
                if believed:
                    today = to_seconds(day_of(now))
                    for table, column in (("device", "born"), ("seen", "since")):
                        sql = f"UPDATE {table} SET {column} = ? WHERE {column} > ?"  # noqa: S608
                        self._db.write(sql, today, to_seconds(now))
        return believed

    def held_since(self) -> datetime | None:
        """Return since when the clock has shown a time that cannot be; None if it does not."""
        ((odd,),) = self._db.rows("SELECT odd FROM device")
        return _moment(odd)

    def keep_responses(self, keep: bool) -> None:
        """Keep the responses that are sent from now on, or erase those kept; a transaction."""
        with self._db.transaction():
            self._db.write("UPDATE device SET keep_responses = ?", int(keep))
            if not keep:
                self._db.write("UPDATE answered SET response = NULL")

    def uploads(self) -> tuple[int, datetime | None]:
        """Return how many uploads failed in a row, and when the next may be tried."""
        ((failures, resume),) = self._db.rows("SELECT failures, resume FROM device")
        return failures, _moment(resume)

    def note_uploads(self, failures: int, resume: datetime | None) -> None:
        """Store what :meth:`uploads` returns, but not after a no; a transaction."""
        with self._db.transaction():
            if self.device().consent != "off":
                sql = "UPDATE device SET failures = ?, resume = ?"
                self._db.write(sql, failures, _seconds(resume))

    def see(self, questions: Iterable[Question], now: datetime) -> dict[str, datetime]:
        """Return since when each question is known, new ones from now; a transaction."""
        wanted = list(questions)
        since = self._since(wanted)
        if len(since) < len(wanted):
            with self._db.transaction():
                for question in wanted:
                    sql = "INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)"
                    self._db.write(sql, *key_of(question), to_seconds(now))
            since = self._since(wanted)
        return since

    def _since(self, questions: list[Question]) -> dict[str, datetime]:
        sql = "SELECT since FROM seen WHERE survey = ? AND question = ? AND version = ?"
        found = {}
        for question in questions:
            for (since,) in self._db.rows(sql, *key_of(question)):
                found[question.id] = from_seconds(since)
        return found

    def count(self, counts: Mapping[str, int]) -> None:
        """Add to the counters of what became of answers and reports."""
        sql = "INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET n = n + ?"
        for name, n in counts.items():
            self._db.write(sql, name, n, n)

    def counters(self) -> dict[str, int]:
        """Return what became of answers and reports, by name."""
        return dict(self._db.rows("SELECT name, n FROM counters ORDER BY name"))

    def queued(self) -> int:
        """Return how many reports wait, of all surveys."""
        ((count,),) = self._db.rows("SELECT count(*) FROM queue")
        return int(count)


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else from_seconds(seconds)


def _seconds(moment: datetime | None) -> int | None:
    return None if moment is None else to_seconds(moment)
