"""The schema of an SQLite store, step by step. A step that was released never changes.

Analysts read the two views and nothing else; their columns never change.
"""

from __future__ import annotations

from sqlite_utils import Database
from sqlite_utils.migrations import Migrations

MIGRATIONS = Migrations("deniable-collector")

_TABLES = (
    # The newest edition of each survey; segments: every one it ever had, a JSON list.
    """CREATE TABLE surveys (
        id TEXT PRIMARY KEY,
        document TEXT NOT NULL,
        segments TEXT NOT NULL
    ) WITHOUT ROWID""",
    # Every question version ever loaded. Append-only, for bit is its place in ledger.bits.
    """CREATE TABLE questions (
        id INTEGER PRIMARY KEY,
        survey TEXT NOT NULL,
        question TEXT NOT NULL,
        version INTEGER NOT NULL,
        bit INTEGER NOT NULL,
        definition TEXT NOT NULL,
        UNIQUE (survey, question, version),
        UNIQUE (survey, bit)
    )""",
    # Everything whose closing time is not after the watermark is closed for good.
    """CREATE TABLE clock (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        watermark TEXT NOT NULL
    )""",
    # Written to see whether the disk takes it.
    """CREATE TABLE probe (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        flip INTEGER NOT NULL
    )""",
    # Within what a device counts once. A row outlives its ledger, so that none opens again.
    """CREATE TABLE scopes (
        id INTEGER PRIMARY KEY,
        survey TEXT NOT NULL,
        period TEXT NOT NULL,
        question TEXT NOT NULL,
        version INTEGER NOT NULL,
        devices INTEGER NOT NULL DEFAULT 0,
        closed INTEGER NOT NULL DEFAULT 0,
        UNIQUE (survey, period, question, version)
    )""",
    # One row a device. Without a rowid, which would number the rows in order of arrival.
    """CREATE TABLE ledger (
        scope INTEGER NOT NULL,
        tag BLOB NOT NULL,
        bits BLOB NOT NULL,
        PRIMARY KEY (scope, tag)
    ) WITHOUT ROWID""",
    # segment is '' for none, for a key cannot hold NULL.
    """CREATE TABLE pending (
        question INTEGER NOT NULL REFERENCES questions (id),
        period TEXT NOT NULL,
        segment TEXT NOT NULL,
        n INTEGER NOT NULL,
        cells BLOB NOT NULL,
        PRIMARY KEY (question, period, segment)
    ) WITHOUT ROWID""",
    """CREATE TABLE released (
        question INTEGER NOT NULL REFERENCES questions (id),
        period TEXT NOT NULL,
        batch TEXT NOT NULL,
        segment TEXT NOT NULL,
        n INTEGER NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (question, period, batch, segment)
    ) WITHOUT ROWID""",
    """CREATE TABLE destroyed (
        question INTEGER NOT NULL REFERENCES questions (id),
        period TEXT NOT NULL,
        batch TEXT NOT NULL,
        segment TEXT NOT NULL,
        min_crowd INTEGER NOT NULL,
        PRIMARY KEY (question, period, batch, segment)
    ) WITHOUT ROWID""",
    """CREATE TABLE tokens (
        name TEXT PRIMARY KEY,
        hash BLOB NOT NULL
    ) WITHOUT ROWID""",
    """CREATE VIEW released_tallies AS
        SELECT q.survey, q.question, q.version, t.period,
               nullif(t.batch, '') AS batch, nullif(t.segment, '') AS segment, t.n, t.document
        FROM released t JOIN questions q ON q.id = t.question""",
    # A pending crowd is told by its number of digits alone: 0-9, 10-99, 100-999, ...
    """CREATE VIEW period_states AS
        SELECT q.survey, q.question, q.version, t.period,
               NULL AS batch, nullif(t.segment, '') AS segment, 'pending' AS state,
               CASE length(t.n) WHEN 1 THEN '0-9' ELSE
                   substr('1000000000000000000', 1, length(t.n)) || '-' ||
                   substr('9999999999999999999', 1, length(t.n)) END AS crowd
        FROM pending t JOIN questions q ON q.id = t.question
        UNION ALL
        SELECT q.survey, q.question, q.version, t.period,
               nullif(t.batch, ''), nullif(t.segment, ''), 'released', CAST(t.n AS TEXT)
        FROM released t JOIN questions q ON q.id = t.question
        UNION ALL
        SELECT q.survey, q.question, q.version, t.period,
               nullif(t.batch, ''), nullif(t.segment, ''), 'destroyed',
               'fewer than ' || t.min_crowd
        FROM destroyed t JOIN questions q ON q.id = t.question""",
)


@MIGRATIONS()
def m001_counts_without_reports(db: Database) -> None:
    """Create the first schema."""
    for statement in _TABLES:
        db.conn.execute(statement)


_ENCRYPTED = (
    "ALTER TABLE clock ADD COLUMN edition INTEGER NOT NULL DEFAULT 0",
    # Tells the store from any other; drawn here, and in no backup.
    "CREATE TABLE identity (id TEXT PRIMARY KEY) WITHOUT ROWID",
    "INSERT INTO identity (id) VALUES (lower(hex(randomblob(16))))",
    # Tells the key that named a scope's rows from any other; empty if it is not known.
    "ALTER TABLE scopes ADD COLUMN key_check BLOB NOT NULL DEFAULT x''",
    "ALTER TABLE tokens ADD COLUMN scopes TEXT NOT NULL DEFAULT 'analyst metrics'",
    # What was counted in the clear waits here until a collector, who has the keys, encrypts it.
    "ALTER TABLE pending RENAME TO pending_plain",
    """CREATE TABLE pending (
        question INTEGER NOT NULL REFERENCES questions (id),
        period TEXT NOT NULL,
        segment TEXT NOT NULL,
        n INTEGER NOT NULL,
        cells BLOB NOT NULL,
        PRIMARY KEY (question, period, segment)
    ) WITHOUT ROWID""",
    # Sealed reports, encrypted once more, in pieces; place is random, so that no order is kept.
    """CREATE TABLE sealed (
        question INTEGER NOT NULL REFERENCES questions (id),
        period TEXT NOT NULL,
        segment TEXT NOT NULL,
        place BLOB NOT NULL,
        report BLOB NOT NULL,
        PRIMARY KEY (question, period, segment, place)
    ) WITHOUT ROWID""",
    """CREATE TABLE batches (
        id INTEGER PRIMARY KEY,
        question INTEGER NOT NULL REFERENCES questions (id),
        period TEXT NOT NULL,
        batch TEXT NOT NULL,
        segment TEXT NOT NULL,
        n INTEGER NOT NULL,
        part INTEGER NOT NULL,
        parts INTEGER NOT NULL,
        document TEXT NOT NULL,
        UNIQUE (question, period, batch, segment, part)
    )""",
    """CREATE VIEW released_batches AS
        SELECT q.survey, q.question, q.version, b.period,
               nullif(b.batch, '') AS batch, nullif(b.segment, '') AS segment,
               b.part, b.parts, b.document
        FROM batches b JOIN questions q ON q.id = b.question""",
    "DROP VIEW period_states",
    """CREATE VIEW period_states AS
        SELECT q.survey, q.question, q.version, t.period,
               NULL AS batch, nullif(t.segment, '') AS segment, 'pending' AS state,
               CASE length(t.n) WHEN 1 THEN '0-9' ELSE
                   substr('1000000000000000000', 1, length(t.n)) || '-' ||
                   substr('9999999999999999999', 1, length(t.n)) END AS crowd
        FROM (
            SELECT question, period, segment, sum(n) AS n FROM (
                SELECT question, period, segment, n FROM pending
                UNION ALL SELECT question, period, segment, n FROM pending_plain
            ) GROUP BY question, period, segment
        ) t JOIN questions q ON q.id = t.question
        UNION ALL
        SELECT q.survey, q.question, q.version, t.period,
               nullif(t.batch, ''), nullif(t.segment, ''), 'released', CAST(t.n AS TEXT)
        FROM released t JOIN questions q ON q.id = t.question
        UNION ALL
        SELECT q.survey, q.question, q.version, b.period,
               nullif(b.batch, ''), nullif(b.segment, ''), 'released', CAST(b.n AS TEXT)
        FROM batches b JOIN questions q ON q.id = b.question WHERE b.part = 0
        UNION ALL
        SELECT q.survey, q.question, q.version, t.period,
               nullif(t.batch, ''), nullif(t.segment, ''), 'destroyed',
               CASE t.min_crowd WHEN 0 THEN 'key lost' ELSE 'fewer than ' || t.min_crowd END
        FROM destroyed t JOIN questions q ON q.id = t.question""",
)


@MIGRATIONS()
def m002_encrypted_at_rest(db: Database) -> None:
    """Encrypt what waits, keep sealed reports, tell keys apart."""
    for statement in _ENCRYPTED:
        db.conn.execute(statement)
