"""Sealed reports in an SQLite file, laid down so that nothing tells which came first.

A page lays its rows out as they came until it is split, and what is too long for a page goes to
pages of its own, which are numbered as they were needed. So long reports are cut into pieces that
stand side by side, and a tally's reports are all written anew while they are few. What must never
change: a report's place begins with 16 random bytes, and a piece is short enough to stay in its
page.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence

from .base import PendingKey

_PLACE_BYTES = 16
_PIECE = 800
"""With the rest of its row below the 1002 bytes that stay in a page of 4096."""

_FEW = 64
_WHERE = "WHERE question = ? AND period = ? AND segment = ?"


def add_reports(db: sqlite3.Connection, key: PendingKey, reports: Sequence[bytes]) -> None:
    """Insert the reports of a tally at random places."""
    rows = [row for report in reports for row in _pieces(report)]
    rows = sorted([*_take_few(db, key), *rows])
    db.executemany(
        "INSERT INTO sealed (question, period, segment, place, report) VALUES (?, ?, ?, ?, ?)",
        [(*_tally(key), *row) for row in rows],
    )


def read_reports(db: sqlite3.Connection, key: PendingKey) -> Iterator[bytes]:
    """Yield the reports of a tally in the order of their places."""
    query = f"SELECT place, report FROM sealed {_WHERE} ORDER BY place"  # noqa: S608
    whole, begun = b"", b""
    for place, piece in db.execute(query, _tally(key)):
        if begun and place[:_PLACE_BYTES] != begun:
            yield whole
            whole = b""
        begun = place[:_PLACE_BYTES]
        whole += piece
    if begun:
        yield whole


def _pieces(report: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield a report's rows: a random place and a number, and what belongs there."""
    place = os.urandom(_PLACE_BYTES)
    for number, at in enumerate(range(0, len(report), _PIECE)):
        yield place + bytes([number]), report[at : at + _PIECE]


def _take_few(db: sqlite3.Connection, key: PendingKey) -> list[tuple[bytes, bytes]]:
    """Take out a tally's rows if they are few, to be written again among the new ones."""
    query = f"SELECT place, report FROM sealed {_WHERE} LIMIT ?"  # noqa: S608
    rows = db.execute(query, (*_tally(key), _FEW + 1)).fetchall()
    if len(rows) > _FEW:
        return []
    db.execute(f"DELETE FROM sealed {_WHERE}", _tally(key))  # noqa: S608
    return rows


def _tally(key: PendingKey) -> tuple[int, str, str]:
    return key.question, key.period, key.segment or ""
