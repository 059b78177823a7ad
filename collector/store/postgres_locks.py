"""The advisory locks of a PostgreSQL store: who may do what beside whom.

A counting transaction holds the gate shared and one shard alone; an exclusive one holds the gate
alone. The row of the clock is locked likewise, but rows let newcomers that share overtake a writer
that waits, for ever if they never pause; the gate is a queue. What must never change: these
numbers, for collectors of two versions may run on one database.
"""

from __future__ import annotations

from psycopg import Connection

from deniable.protocol.errors import StoreError

SHARDS = 64
GATE = 64
MIGRATING = 65
ATTENDING = 66

NAMESPACE = 0x6465_6E69
"""The first half of every lock's number, so that other programs' locks are apart."""

_SCOPES = (
    "s.survey, s.period, s.question, s.version, s.id, s.closed, s.key_check,"
    " coalesce(sum(d.devices), 0)::bigint FROM scopes s LEFT JOIN scope_devices d"
    " ON d.scope = s.id WHERE NOT s.closed GROUP BY s.id"
)


def begin_counting(last_shard: int) -> str:
    """Return the statements that begin a counting transaction; the clock and the shard follow.

    All are sent at once, and each sees what was committed before it began.
    """
    order = ", ".join(map(str, [last_shard, *range(SHARDS)]))
    free = f"pg_try_advisory_xact_lock({NAMESPACE}, shard)"
    return _joined(
        f"pg_advisory_xact_lock_shared({NAMESPACE}, {GATE})",
        "watermark, edition FROM clock FOR SHARE",
        _SCOPES,
        f"shard FROM unnest(ARRAY[{order}]) AS shard WHERE {free} LIMIT 1",
    )


def begin_alone() -> str:
    """Return the statements that begin an exclusive transaction, with the first shard."""
    return _joined(
        f"pg_advisory_xact_lock({NAMESPACE}, {GATE})",
        "watermark, edition FROM clock FOR UPDATE",
        _SCOPES,
        f"0 FROM pg_advisory_xact_lock({NAMESPACE}, 0)",
    )


def _joined(*selects: str) -> str:
    return "; SELECT ".join(["BEGIN", *selects])


def wait_for(connection: Connection, lock: int) -> None:
    """Take a lock until the transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (NAMESPACE, lock))


def wait_for_first(connection: Connection) -> int:
    """Take the first shard, for there is none that is free, and return it."""
    wait_for(connection, 0)
    return 0


def hold(connection: Connection, *, shared: bool, refusal: str) -> None:
    """Hold the store with others or alone, until the connection ends.

    Raises
    ------
    StoreError
        If another process's hold is in the way.
    """
    _try(connection, "pg_try_advisory_lock_shared" if shared else "pg_try_advisory_lock", refusal)


def hold_to_migrate(connection: Connection, refusal: str) -> None:
    """Hold the store alone, until the transaction ends.

    Raises
    ------
    StoreError
        If a process counts into it.
    """
    _try(connection, "pg_try_advisory_xact_lock", refusal)


def _try(connection: Connection, function: str, refusal: str) -> None:
    row = connection.execute(
        f"SELECT {function}(%s, %s)",
        (NAMESPACE, ATTENDING),
    ).fetchone()
    if row != (True,):
        raise StoreError(refusal)
