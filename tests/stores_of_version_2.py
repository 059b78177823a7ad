"""A store of the second format, when no answer could change, for tests of what becomes of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

TABLES = """
PRAGMA page_size = 1024; PRAGMA application_id = 0x64656E69; PRAGMA user_version = 2;
CREATE TABLE device (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    secret BLOB, consent TEXT CHECK (consent IN ('on', 'off')), consent_on TEXT,
    mode TEXT NOT NULL CHECK (mode IN ('on', 'ask', 'off')), ceiling TEXT NOT NULL,
    born INTEGER NOT NULL, begun INTEGER NOT NULL DEFAULT 0, machine BLOB,
    latest INTEGER NOT NULL, odd INTEGER,
    failures INTEGER NOT NULL DEFAULT 0, resume INTEGER,
    keep_responses INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE ledger (
    number INTEGER PRIMARY KEY, survey TEXT NOT NULL, question TEXT NOT NULL,
    version INTEGER NOT NULL,
    hash TEXT NOT NULL, epsilon TEXT NOT NULL, erased INTEGER NOT NULL DEFAULT 0,
    about TEXT NOT NULL, answers INTEGER NOT NULL DEFAULT 0, through INTEGER NOT NULL DEFAULT 0,
    UNIQUE (survey, question, version)
);
CREATE TABLE seen (
    survey TEXT, question TEXT, version INTEGER, since INTEGER NOT NULL,
    PRIMARY KEY (survey, question, version)
) WITHOUT ROWID;
CREATE TABLE answered (
    number INTEGER, period TEXT, closes INTEGER NOT NULL, state TEXT, response TEXT,
    PRIMARY KEY (number, period)
) WITHOUT ROWID;
CREATE TABLE queue (
    number INTEGER, period TEXT, alone INTEGER NOT NULL, local INTEGER NOT NULL, segment TEXT,
    response TEXT NOT NULL, size INTEGER NOT NULL, not_before INTEGER NOT NULL,
    closes INTEGER NOT NULL,
    PRIMARY KEY (number, period)
) WITHOUT ROWID;
CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE sealed (number INTEGER PRIMARY KEY, key TEXT NOT NULL);
"""


def make_old(store: Path) -> None:
    """Turn a store of today, that keeps no answers, into one of the second format."""
    old = store.with_name("old")
    with closing(sqlite3.connect(old, isolation_level=None)) as db:
        db.executescript(TABLES)
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE sql > ''")]
        db.execute("ATTACH ? AS today", (str(store),))
        assert not db.execute("SELECT 1 FROM today.memory").fetchall()
        for name in names:
            db.execute(f"INSERT INTO main.{name} SELECT * FROM today.{name}")
    old.chmod(0o600)
    old.replace(store)
