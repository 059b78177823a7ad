"""How a store of an earlier version becomes one of today's, with nothing lost and nothing redrawn.

What must never change: a migration is one durable transaction; secret, decision, ledger and journal
come through it as they were, and what waited is sent only if there was consent then.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from datetime import date, datetime, timedelta

from deniable.protocol.limits import MAX_GRACE_DAYS
from deniable.protocol.periods import midnight, parse_period

from .faults import UnreadableStore
from .pacing import to_seconds
from .tables import MEMORY, TABLES, VERSION, draw_number

UPGRADED = (1, 2)
"""Versions that :func:`migrate` understands."""

_OF_1 = {"device", "ledger", "seen", "answered", "queue", "counters"}
_OF_2 = {*_OF_1, "sealed"}


def migrate(db: sqlite3.Connection) -> None:
    """Bring an older store up to date; leave every other as it is."""
    if _version(db) not in UPGRADED:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        found = _version(db)  # another process may have been faster
        if found in UPGRADED:
            _from_1(db) if found == 1 else _from_2(db)
            db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _version(db: sqlite3.Connection) -> int:
    ((version,),) = db.execute("PRAGMA user_version")
    return int(version)


def _from_1(db: sqlite3.Connection) -> None:
    """Questions had no numbers, and nothing told reports recorded before consent from others."""
    names = _tables(db, _OF_1) & _OF_2
    for table in names:
        db.execute(f"ALTER TABLE {table} RENAME TO old_{table}")
    for statement in TABLES.split(";")[:-1]:
        db.execute(statement)
    db.execute(
        """INSERT INTO device (one, secret, consent, consent_on, mode, ceiling, born, latest)
        SELECT 1, secret, consent, consent_on, mode, ceiling, 0, 0 FROM old_device"""
    )
    _ledger_from_1(db)
    db.execute("INSERT INTO seen SELECT survey, question, version, since FROM old_seen")
    db.execute("INSERT INTO counters SELECT name, n FROM old_counters")
    join = "JOIN ledger USING (survey, question, version)"
    if "sealed" in names:
        db.execute(f"INSERT INTO sealed SELECT number, key FROM old_sealed {join}")  # noqa: S608
    _queue_from_1(db, join)
    _journal_from_1(db, join)
    for table in names:
        db.execute(f"DROP TABLE old_{table}")


def _from_2(db: sqlite3.Connection) -> None:
    """No question had a horizon."""
    _tables(db, _OF_2)
    db.execute(MEMORY)


def _tables(db: sqlite3.Connection, needed: Collection[str]) -> set[str]:
    """Return the tables there are; refuse a store that lacks one it needs."""
    names = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not names >= set(needed):
        raise UnreadableStore("the store has not the tables of a store")
    return names


def _ledger_from_1(db: sqlite3.Connection) -> None:
    """Give each question version a number."""
    taken: set[int] = set()
    found = db.execute("SELECT survey, question, version, hash, epsilon, erased FROM old_ledger")
    for line in found.fetchall():
        taken.add(number := draw_number(taken))
        db.execute(
            """INSERT INTO ledger (survey, question, version, hash, epsilon, erased, number, about)
            VALUES (?, ?, ?, ?, ?, ?, ?, '{}')""",
            (*line, number),
        )


def _queue_from_1(db: sqlite3.Connection, join: str) -> None:
    """Take what waits for local unless there was consent when it was recorded."""
    ((consent, day),) = db.execute("SELECT coalesce(consent, mode), consent_on FROM device")
    found = db.execute(
        f"""SELECT number, period, alone, segment, response, length(response), not_before,
        closes FROM old_queue {join}"""  # noqa: S608
    )
    for number, period, alone, *rest in found.fetchall():
        local = consent != "on" or (day is not None and not _after(day, period))
        row = (number, period, alone, local, *rest)
        db.execute("INSERT INTO queue VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def _journal_from_1(db: sqlite3.Connection, join: str) -> None:
    """Tell what waits from what is gone, and count the answers."""
    waits = "(number, period) IN (SELECT number, period FROM queue)"
    found = db.execute(
        f"SELECT number, period, CASE WHEN {waits} THEN NULL ELSE 'gone' END "  # noqa: S608
        f"FROM old_answered {join}"
    )
    for number, period, state in found.fetchall():
        closes = to_seconds(_last_close(period))
        db.execute(
            "INSERT INTO answered VALUES (?, ?, ?, ?, NULL)", (number, period, closes, state)
        )
    db.execute(
        """UPDATE ledger SET answers =
        (SELECT count(*) FROM answered WHERE answered.number = ledger.number)"""
    )


def _after(day: str, period: str) -> bool:
    """Return whether a period began after a day, so that its report was recorded after it."""
    found = parse_period(period)
    return found.kind != "once" and found.start > midnight(date.fromisoformat(day))


def _last_close(period: str) -> datetime:
    """Return the latest moment at which a period can have closed."""
    found = parse_period(period)
    return found.end if found.kind == "once" else found.end + timedelta(days=MAX_GRACE_DAYS)
