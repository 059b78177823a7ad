"""The schema of a PostgreSQL store, step by step. A step that was released never changes.

Everything lives in a schema of its own, so that a database may be shared with other programs.
Analysts read the three views and nothing else; their columns, which are those of an SQLite store,
never change.
"""

from __future__ import annotations

from psycopg import Connection

from deniable.protocol.errors import StoreError

from .base import OLDER_IN_USE
from .postgres_locks import MIGRATING, hold_to_migrate, wait_for

# Segments and batches are '' for none, for a key cannot hold NULL. Cells and reports are
# ciphertext, which only loses time in compression: they are stored as they are.
_FIRST = """
CREATE SCHEMA deniable;
REVOKE ALL ON SCHEMA deniable FROM PUBLIC;
CREATE TABLE migrations (step integer PRIMARY KEY);

-- One row. What closes at the watermark or before is closed for good; NULL: nothing is yet.
CREATE TABLE clock (
    id integer PRIMARY KEY CHECK (id = 1),
    watermark timestamptz,
    edition bigint NOT NULL
);
INSERT INTO clock (id, edition) VALUES (1, 0);

-- One row, which tells the store from any other; drawn here, and in no backup.
CREATE TABLE identity (id text PRIMARY KEY);
INSERT INTO identity (id) VALUES (replace(gen_random_uuid()::text, '-', ''));

CREATE TABLE surveys (
    id text PRIMARY KEY,
    document text NOT NULL,
    segments text[] NOT NULL
);

-- Every question version ever loaded. Append-only, for bit is its place in ledger.bits.
CREATE TABLE questions (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    survey text NOT NULL,
    question text NOT NULL,
    version bigint NOT NULL,
    bit integer NOT NULL,
    definition text NOT NULL,
    UNIQUE (survey, question, version),
    UNIQUE (survey, bit)
);

-- Within what a device counts once. A row outlives its ledger, so that none opens again.
CREATE TABLE scopes (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    survey text NOT NULL,
    period text NOT NULL,
    question text NOT NULL,
    version bigint NOT NULL,
    key_check bytea NOT NULL,
    closed boolean NOT NULL DEFAULT false,
    swept boolean NOT NULL DEFAULT false,
    UNIQUE (survey, period, question, version)
);
CREATE INDEX scopes_open ON scopes (id) WHERE NOT closed;
CREATE INDEX scopes_unswept ON scopes (id) WHERE closed AND NOT swept;

-- How many devices each shard counted, so that no row is written by two processes at once.
CREATE TABLE scope_devices (
    scope bigint NOT NULL,
    shard integer NOT NULL,
    devices bigint NOT NULL,
    PRIMARY KEY (scope, shard)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);

-- One row a device.
CREATE TABLE ledger (
    scope bigint NOT NULL,
    tag bytea NOT NULL,
    bits bytea NOT NULL,
    PRIMARY KEY (scope, tag)
);

-- Written anew at each commit: the room left in a page lets the next version prune the last.
CREATE TABLE pending (
    question bigint NOT NULL REFERENCES questions (id),
    period text NOT NULL,
    segment text NOT NULL,
    shard integer NOT NULL,
    n bigint NOT NULL,
    cells bytea NOT NULL,
    PRIMARY KEY (question, period, segment, shard)
) WITH (
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 500
);
ALTER TABLE pending ALTER COLUMN cells SET STORAGE EXTERNAL;

-- Sealed reports, encrypted once more; place is random, so that no order is read.
CREATE TABLE sealed (
    question bigint NOT NULL,
    period text NOT NULL,
    segment text NOT NULL,
    place bytea NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (question, period, segment, place)
);
ALTER TABLE sealed ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE released (
    question bigint NOT NULL REFERENCES questions (id),
    period text NOT NULL,
    batch text NOT NULL,
    segment text NOT NULL,
    n bigint NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (question, period, batch, segment)
);

CREATE TABLE batches (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    question bigint NOT NULL REFERENCES questions (id),
    period text NOT NULL,
    batch text NOT NULL,
    segment text NOT NULL,
    n bigint NOT NULL,
    part integer NOT NULL,
    parts integer NOT NULL,
    document text NOT NULL,
    UNIQUE (question, period, batch, segment, part)
);

CREATE TABLE destroyed (
    question bigint NOT NULL REFERENCES questions (id),
    period text NOT NULL,
    batch text NOT NULL,
    segment text NOT NULL,
    min_crowd bigint NOT NULL,
    PRIMARY KEY (question, period, batch, segment)
);

CREATE TABLE tokens (
    name text PRIMARY KEY,
    digest bytea NOT NULL,
    scopes text[] NOT NULL
);

-- Written to see whether the server takes it.
CREATE TABLE probe (
    shard integer PRIMARY KEY,
    flip boolean NOT NULL
) WITH (fillfactor = 50);

CREATE VIEW released_tallies AS
    SELECT q.survey, q.question, q.version, t.period,
           nullif(t.batch, '') AS batch, nullif(t.segment, '') AS segment, t.n, t.document
    FROM released t JOIN questions q ON q.id = t.question;

CREATE VIEW released_batches AS
    SELECT q.survey, q.question, q.version, b.period,
           nullif(b.batch, '') AS batch, nullif(b.segment, '') AS segment,
           b.part, b.parts, b.document
    FROM batches b JOIN questions q ON q.id = b.question;

-- A pending crowd is told by its number of digits alone: 0-9, 10-99, 100-999, ...
CREATE VIEW period_states AS
    SELECT q.survey, q.question, q.version, t.period,
           NULL AS batch, nullif(t.segment, '') AS segment, 'pending' AS state,
           CASE length(t.n) WHEN 1 THEN '0-9' ELSE
               rpad('1', length(t.n), '0') || '-' || repeat('9', length(t.n)) END AS crowd
    FROM (
        SELECT question, period, segment, sum(n)::text AS n
        FROM pending GROUP BY question, period, segment
    ) t JOIN questions q ON q.id = t.question
    UNION ALL
    SELECT q.survey, q.question, q.version, t.period,
           nullif(t.batch, ''), nullif(t.segment, ''), 'released', t.n::text
    FROM released t JOIN questions q ON q.id = t.question
    UNION ALL
    SELECT q.survey, q.question, q.version, b.period,
           nullif(b.batch, ''), nullif(b.segment, ''), 'released', b.n::text
    FROM batches b JOIN questions q ON q.id = b.question WHERE b.part = 0
    UNION ALL
    SELECT q.survey, q.question, q.version, t.period,
           nullif(t.batch, ''), nullif(t.segment, ''), 'destroyed',
           CASE t.min_crowd WHEN 0 THEN 'key lost' ELSE 'fewer than ' || t.min_crowd END
    FROM destroyed t JOIN questions q ON q.id = t.question;
"""

STEPS = (_FIRST,)

# The catalog itself, not to_regnamespace(), which may remember how it was before a lock was waited
# for.
_WHOSE = """
SELECT EXISTS (SELECT 1 FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = 'migrations')
FROM pg_namespace n WHERE n.nspname = 'deniable'
"""


def migrate(connection: Connection, location: str, *, create: bool) -> None:
    """Bring the schema up to date, in one transaction that one process runs at a time.

    Raises
    ------
    StoreError
        If there is no schema and ``create`` is false, or it is not this program's, or newer, or
        a collector runs on it that does not know what it would become.
    """
    if _step(connection, location) == len(STEPS):
        return
    with connection.transaction():
        wait_for(connection, MIGRATING)
        done = _step(connection, location)
        if done == 0 and not create:
            raise StoreError(f"{location}: there is no such store; check --store")
        if 0 < done < len(STEPS):
            hold_to_migrate(connection, f"{location}: {OLDER_IN_USE}")
        for number, step in enumerate(STEPS[done:], done + 1):
            connection.execute(step)
            connection.execute("INSERT INTO migrations (step) VALUES (%s)", (number,))


def _step(connection: Connection, location: str) -> int:
    """Return the last step that was applied, 0 if there is no schema."""
    found = connection.execute(_WHOSE).fetchall()
    if not found:
        return 0
    if found != [(True,)]:
        text = "its schema deniable is another program's; choose another database"
        raise StoreError(f"{location}: {text}")
    last = connection.execute("SELECT max(step) FROM migrations").fetchone()
    step = int(last[0]) if last and last[0] else 0
    if step > len(STEPS):
        raise StoreError(f"{location}: was written by a newer deniable; upgrade this one")
    return step
