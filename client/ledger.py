"""What was spent, for ever: one line for each question version that was ever answered.

What must never change: a line is never taken out, and no column holds a value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from deniable.protocol.exact import canonical, total
from deniable.protocol.mechanisms import FrequencyOracle
from deniable.protocol.question import Question

from .database import Database
from .faults import UnreadableStore
from .tables import draw_number


@dataclass(frozen=True, slots=True)
class Spent:
    """One line of the ledger: a question version that was answered, and its price.

    Attributes
    ----------
    number : int
        By which the journal and the queue name it.
    about : dict
        What the person is told of the question; empty if it was answered by an old version.
    answers : int
        Periods in which it was answered.
    """

    survey: str
    question: str
    version: int
    number: int
    hash: str
    epsilon: Decimal
    erased: bool
    about: Mapping[str, Any]
    answers: int


class Ledger:
    """The ledger of a store, of all surveys. Writes need an open transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def lines(self) -> list[Spent]:
        """Return every question version ever answered, of all surveys, erased ones included."""
        sql = """SELECT survey, question, version, number, hash, epsilon, erased, about, answers
            FROM ledger ORDER BY survey, question, version"""
        return [
            Spent(
                name, question, version, number, digits, decimal(text), bool(gone), _told(told), n
            )
            for name, question, version, number, digits, text, gone, told, n in self._db.rows(sql)
        ]

    def line(self, question: Question) -> tuple[str, bool] | None:
        """Return (hash, erased) of a question version in the ledger; None if it is not there."""
        sql = "SELECT hash, erased FROM ledger WHERE survey = ? AND question = ? AND version = ?"
        for digits, erased in self._db.rows(sql, *key_of(question)):
            return digits, bool(erased)
        return None

    def spent(self) -> Decimal:
        """Return the sum of the ledger's epsilons."""
        return total(decimal(text) for (text,) in self._db.rows("SELECT epsilon FROM ledger"))

    def spend(self, question: Question) -> None:
        """Write a question version into the ledger."""
        self._db.write(
            """INSERT INTO ledger (survey, question, version, number, hash, epsilon, about)
            VALUES (?, ?, ?, ?, ?, ?, ?)""",
            *key_of(question),
            draw_number({number for (number,) in self._db.rows("SELECT number FROM ledger")}),
            question.hash,
            canonical(question.epsilon),
            json.dumps(about(question), ensure_ascii=False),
        )

    def note_sealed(self, question: Question, key: str) -> None:
        """Note for which of the analyst's keys the answers to a question are sealed now."""
        sql = """INSERT OR REPLACE INTO sealed
            SELECT number, ? FROM ledger WHERE survey = ? AND question = ? AND version = ?"""
        self._db.write(sql, key, *key_of(question))

    def sealed(self) -> dict[int, str]:
        """Return the id of the key by the number of every sealed question."""
        return dict(self._db.rows("SELECT number, key FROM sealed"))


def about(question: Question) -> dict[str, Any]:
    """Return what the person is told of a question: never its values."""
    mechanism = question.mechanism
    first = question.epsilon_first
    support = {}
    if isinstance(mechanism, FrequencyOracle):
        support = {"p": round(float(mechanism.p), 6), "q": round(float(mechanism.q), 6)}
    more: dict[str, Any] = {}
    if question.max_items is not None:
        more["max_items"] = question.max_items
    if question.horizon is not None:
        more |= {"periods": question.horizon.periods, "changes": question.horizon.changes}
    return {
        "ask": question.ask,
        "type": question.type,
        "period": question.period,
        "mechanism": mechanism.name,
        "k": mechanism.k,
        "classes": mechanism.classes,
        "epsilon_first": None if first is None else canonical(first),
        **support,
        **more,
    }


def key_of(question: Question) -> tuple[str, str, int]:
    """Return by what the tables name a question version: survey, question, version."""
    return question.survey, question.id, question.version


def _told(text: object) -> dict[str, Any]:
    """Read what the person is told; a note that nobody can read is none."""
    with suppress(TypeError, ValueError):
        told = json.loads(text)  # type: ignore[arg-type]
        return told if isinstance(told, dict) else {}
    return {}


def decimal(text: object) -> Decimal:
    """Read an epsilon as the store holds it."""
    try:
        number = Decimal(str(text))
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise UnreadableStore("the store holds an epsilon that is no number")
    return number
