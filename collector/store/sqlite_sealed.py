"""Sealed reports in an SQLite file, laid down so that nothing tells which came first.

A page lays its rows out as they came until it is split, and what is too long for a page goes to
pages of its own, which are numbered as they were needed. So a long report is cut into pieces, the
first of which stand among the first of others and so on, and a tally's reports are all written
anew while they are few. What must never change: a row's place is the number of a piece, in one
byte, and then 16 random bytes, the same for every piece of a report; a piece has 400 bytes, the
last one fewer.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence

from .base import PendingKey
from .sqlite_chunks import chunks, row_marks, values_of

_PLACE_BYTES = 16
_PIECE = 400
"""Several rows fit into a page of 4096 bytes."""

_FEW = 64
_WHERE = "WHERE question = ? AND period = ? AND segment = ?"


def add_reports(db: sqlite3.Connection, key: PendingKey, reports: Sequence[bytes]) -> None:
    """Insert the reports of a tally at random places."""
    rows = [row for report in reports for row in _pieces(report)]
    rows = sorted([*_take_few(db, key), *rows])
    for some in chunks([(*_tally(key), *row) for row in rows]):
        db.execute(
            "INSERT INTO sealed (question, period, segment, place, report)"  # noqa: S608
            f" VALUES {row_marks(some)}",
            values_of(some),
        )


def read_reports(db: sqlite3.Connection, key: PendingKey) -> Iterator[bytes]:
    """Yield the reports of a tally in the order of their places."""
    query = f"SELECT place, report FROM sealed {_WHERE}"  # noqa: S608
    firsts = db.execute(f"{query} AND place < x'01' ORDER BY place", _tally(key))
    for place, piece in firsts:
        pieces = [piece]
        while len(pieces[-1]) == _PIECE:
            at = bytes([len(pieces)]) + place[1:]
            row = db.execute(f"{query} AND place = ?", (*_tally(key), at)).fetchone()
            if row is None:
                break  # it was lost, and what is left does not open
            pieces.append(row[1])
        yield b"".join(pieces)


def _pieces(report: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield a report's rows: where a piece belongs, and the piece; the last one is not full."""
    place = os.urandom(_PLACE_BYTES)
    for number, at in enumerate(range(0, len(report) + 1, _PIECE)):
        yield bytes([number]) + place, report[at : at + _PIECE]


def _take_few(db: sqlite3.Connection, key: PendingKey) -> list[tuple[bytes, bytes]]:
    """Take out a tally's rows if they are few, to be written again among the new ones."""
    some = f"SELECT 1 FROM sealed {_WHERE} LIMIT {_FEW + 1}"  # noqa: S608
    if db.execute(f"SELECT count(*) FROM ({some})", _tally(key)).fetchone()[0] > _FEW:  # noqa: S608
        return []
    rows = db.execute(f"SELECT place, report FROM sealed {_WHERE}", _tally(key)).fetchall()  # noqa: S608
    db.execute(f"DELETE FROM sealed {_WHERE}", _tally(key))  # noqa: S608
    return rows


def _tally(key: PendingKey) -> tuple[int, str, str]:
    return key.question, key.period, key.segment or ""
