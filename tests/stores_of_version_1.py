"""A store as the first release made it, for tests of what becomes of one."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from client_kit import NOON

from deniable.protocol.derivation import permanent_response
from deniable.protocol.exact import canonical
from deniable.protocol.periods import period_at
from deniable.protocol.survey import Survey

TABLES = """
PRAGMA application_id = 0x64656E69; PRAGMA user_version = 1;
CREATE TABLE device (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    secret BLOB, consent TEXT CHECK (consent IN ('on', 'off')), consent_on TEXT,
    mode TEXT NOT NULL CHECK (mode IN ('on', 'ask')), ceiling TEXT NOT NULL
);
CREATE TABLE ledger (
    survey TEXT, question TEXT, version INTEGER, hash TEXT NOT NULL, epsilon TEXT NOT NULL,
    erased INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (survey, question, version)
) WITHOUT ROWID;
CREATE TABLE seen (
    survey TEXT, question TEXT, version INTEGER, since INTEGER NOT NULL,
    PRIMARY KEY (survey, question, version)
) WITHOUT ROWID;
CREATE TABLE answered (
    survey TEXT, question TEXT, version INTEGER, period TEXT,
    PRIMARY KEY (survey, question, version, period)
) WITHOUT ROWID;
CREATE TABLE queue (
    survey TEXT, period TEXT, question TEXT, version INTEGER, alone INTEGER NOT NULL,
    segment TEXT, response TEXT NOT NULL, not_before INTEGER NOT NULL, closes INTEGER NOT NULL,
    PRIMARY KEY (survey, period, question, version)
) WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
"""
SEALED = """CREATE TABLE sealed (
    survey TEXT, question TEXT, version INTEGER, key TEXT NOT NULL,
    PRIMARY KEY (survey, question, version)
) WITHOUT ROWID"""
SECRET = bytes(range(32))


def make(
    store: Path, asked: Survey, mode: str, answers: dict[str, int], ceiling: int = 100
) -> None:
    """Make a store of a device that answered questions with these symbols on two days.

    The answers of yesterday are acknowledged, those of today (which is NOON) wait.
    """
    store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(store, os.O_CREAT | os.O_EXCL, 0o600))
    with closing(sqlite3.connect(store)) as db, db:
        db.executescript(f"BEGIN; {TABLES}; COMMIT")
        db.execute("INSERT INTO device VALUES (1, ?, NULL, NULL, ?, ?)", (SECRET, mode, ceiling))
        db.execute("INSERT INTO counters VALUES ('sent', ?)", (len(answers),))
        for name, symbol in answers.items():
            question = asked.questions[name]
            key = (asked.id, name, question.version)
            period = period_at(question.period, NOON)
            before = period_at(question.period, NOON - timedelta(days=1))
            spent = (*key, question.hash, canonical(question.epsilon))
            db.execute("INSERT INTO ledger VALUES (?, ?, ?, ?, ?, 0)", spent)
            for each in (period, before):
                db.execute("INSERT INTO answered VALUES (?, ?, ?, ?)", (*key, each.key))
            permanent = permanent_response(SECRET, question, symbol)
            assert permanent is not None
            response = json.dumps(question.mechanism.shape.pack(permanent))
            leaves, closes = (int(m.timestamp()) for m in (period.end, question.closes(period)))
            waits = (asked.id, period.key, name, question.version, response, leaves, closes)
            db.execute("INSERT INTO queue VALUES (?, ?, ?, ?, 0, NULL, ?, ?, ?)", waits)
