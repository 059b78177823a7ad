"""What a device keeps for ever: its secret, its person's decision, what it spent and answered.

What must never change: no method takes a true value, nothing here draws a secret except a new
store and a person who says yes after an erasure, and what is spent stays spent.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Literal

from deniable.protocol.derivation import SECRET_BYTES
from deniable.protocol.exact import canonical
from deniable.protocol.question import Question

from .database import Database
from .faults import UnreadableStore
from .pacing import from_seconds, to_seconds
from .schema import SEALED

Consent = Literal["on", "off", "ask"]


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
    mode : "ask" or "on"
        What the app asked for when it last started.
    ceiling : Decimal
        The least max_epsilon this store ever saw.
    """

    secret: bytes | None
    consent: Consent
    decided_on: str | None
    mode: Consent
    ceiling: Decimal


@dataclass(frozen=True, slots=True)
class Spent:
    """One line of the ledger: a question version that was answered, and its price."""

    survey: str
    question: str
    version: int
    hash: str
    epsilon: Decimal
    erased: bool


class Store:
    """The lasting part of a store. Writes need an open transaction, except where said."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def device(self) -> Device:
        """Return the secret and what the person decided."""
        sql = "SELECT secret, consent, mode, consent_on, ceiling FROM device"
        ((secret, consent, mode, day, ceiling),) = self._db.rows(sql)
        return Device(secret, consent or mode, day, mode, _decimal(ceiling))

    def greet(self, mode: str, max_epsilon: Decimal) -> Device:
        """Note what the app asks for, and lower the ceiling to its survey's; a transaction."""
        device = self.device()
        if device.mode != mode or device.ceiling > max_epsilon:
            with self._db.transaction():
                ceiling = min(self.device().ceiling, max_epsilon)
                sql = "UPDATE device SET mode = ?, ceiling = ?"
                self._db.write(sql, mode, canonical(ceiling))
            device = self.device()
        return device

    def decide(self, consent: Literal["on", "off"], now: datetime) -> None:
        """Store the person's decision; a transaction.

        "off" erases what waits to be sent. "on" after "off" decides defaults from now on, not
        for the periods in between, and draws a new secret if the old one was erased.
        """
        with self._db.transaction():
            before = self.device()
            if consent == "off":
                self._db.write("DELETE FROM queue")
            elif before.consent == "off":
                self._db.write("UPDATE seen SET since = ?", to_seconds(now))
            if consent == "on" and before.secret is None:
                self._db.write("UPDATE device SET secret = ?", os.urandom(SECRET_BYTES))
            sql = "UPDATE device SET consent = ?, consent_on = ?"
            self._db.write(sql, consent, now.date().isoformat())

    def erase(self, now: datetime) -> None:
        """Destroy secret, queue and journal; keep what was spent. A transaction."""
        with self._db.transaction():
            for table in ("queue", "answered", "seen"):
                self._db.write(f"DELETE FROM {table}")  # noqa: S608
            self._db.write("UPDATE ledger SET erased = 1")
            sql = "UPDATE device SET secret = NULL, consent = 'off', consent_on = ?"
            self._db.write(sql, now.date().isoformat())

    def ledger(self) -> list[Spent]:
        """Return every question version ever answered, of all surveys, erased ones included."""
        sql = "SELECT survey, question, version, hash, epsilon, erased FROM ledger"
        return [
            Spent(survey, question, version, digits, _decimal(epsilon), bool(erased))
            for survey, question, version, digits, epsilon, erased in self._db.rows(sql)
        ]

    def spend(self, question: Question) -> None:
        """Write a question version into the ledger."""
        self._db.write(
            "INSERT INTO ledger (survey, question, version, hash, epsilon) VALUES (?, ?, ?, ?, ?)",
            *_key(question),
            question.hash,
            canonical(question.epsilon),
        )

    def note_sealed(self, question: Question, key: str) -> None:
        """Note for which of the analyst's keys the answers to a question are sealed now."""
        self._db.write(SEALED)
        self._db.write("INSERT OR REPLACE INTO sealed VALUES (?, ?, ?, ?)", *_key(question), key)

    def sealed(self) -> dict[tuple[str, str, int], str]:
        """Return the id of the key by (survey, question, version) of every sealed question."""
        if not self._db.rows("SELECT 1 FROM sqlite_master WHERE name = 'sealed'"):
            return {}
        found = self._db.rows("SELECT survey, question, version, key FROM sealed")
        return {(survey, question, version): key for survey, question, version, key in found}

    def answered(self, question: Question, period: str) -> bool:
        """Return whether the question was answered in the period."""
        sql = """SELECT 1 FROM answered
            WHERE survey = ? AND question = ? AND version = ? AND period = ?"""
        return bool(self._db.rows(sql, *_key(question), period))

    def mark_answered(self, question: Question, period: str) -> None:
        """Note that the question has had its one answer in the period."""
        self._db.write("INSERT INTO answered VALUES (?, ?, ?, ?)", *_key(question), period)

    def journal(self) -> list[tuple[str, str, int, str]]:
        """Return (survey, question, version, period) of every answer, oldest period first."""
        sql = "SELECT survey, question, version, period FROM answered ORDER BY period, 1, 2, 3"
        return self._db.rows(sql)

    def forget_before(self, year: int) -> None:
        """Shorten the journal; such periods are long closed. A transaction if there are any."""
        if self._db.rows("SELECT 1 FROM answered WHERE period < ? LIMIT 1", str(year)):
            with self._db.transaction():
                self._db.write("DELETE FROM answered WHERE period < ?", str(year))

    def see(self, questions: Iterable[Question], now: datetime) -> dict[str, datetime]:
        """Return since when each question is known, new ones from now; a transaction."""
        wanted = list(questions)
        since = self._since(wanted)
        if len(since) < len(wanted):
            with self._db.transaction():
                for question in wanted:
                    sql = "INSERT OR IGNORE INTO seen VALUES (?, ?, ?, ?)"
                    self._db.write(sql, *_key(question), to_seconds(now))
            since = self._since(wanted)
        return since

    def _since(self, questions: list[Question]) -> dict[str, datetime]:
        sql = "SELECT since FROM seen WHERE survey = ? AND question = ? AND version = ?"
        found = {}
        for question in questions:
            for (since,) in self._db.rows(sql, *_key(question)):
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


def _key(question: Question) -> tuple[str, str, int]:
    return question.survey, question.id, question.version


def _decimal(text: object) -> Decimal:
    try:
        number = Decimal(str(text))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise UnreadableStore("the store holds an epsilon that is no number")
    return number
