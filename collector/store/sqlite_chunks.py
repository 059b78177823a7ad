"""Many rows in few statements, of a few lengths only, so that SQLite prepares a few only.

One statement for many rows matters: at the end of each the writer waits for the interpreter, last
in line behind every thread that answers a request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

_LENGTHS = (64, 16, 4, 1)

T = TypeVar("T")


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut a sequence into pieces."""
    at = 0
    for length in _LENGTHS:
        while len(items) - at >= length:
            yield items[at : at + length]
            at += length


def marks(count: int) -> str:
    """Return the place of so many values."""
    return ", ".join("?" * count)


def row_marks(rows: Sequence[Sequence[object]]) -> str:
    """Return the places of rows of values."""
    return ", ".join(f"({marks(len(row))})" for row in rows)


def values_of(rows: Sequence[Sequence[object]]) -> list[object]:
    """Return the values for these places."""
    return [value for row in rows for value in row]
