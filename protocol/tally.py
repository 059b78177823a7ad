"""The released tally: a document that can be decoded years later without the survey file.

Format 1, JSON: ``format``, ``survey``, ``period``, ``batch``, ``segment``, ``n``, ``cells`` and
``question``, the question's whole definition. What must never change: a field's meaning within a
format. ``cells`` follow the mechanism's shape; ``n`` is the number of devices counted in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .errors import DocumentError
from .limits import MAX_DEVICES
from .question import Question
from .released import FORMAT, parse_released

_KEYS = {"format", "survey", "question", "period", "batch", "segment", "n", "cells"}


@dataclass(frozen=True)
class Tally:
    """Counts of one question in one period and segment.

    Attributes
    ----------
    question : Question
    period : str
        Its key, such as ``2026-11-30`` or ``once``.
    segment : str or None
    n : int
        Devices counted.
    cells : tuple of int
        As the mechanism's shape lays them out.
    batch : str or None
        Of a ``once`` question: the week in which this batch of devices was released.
    """

    question: Question
    period: str
    segment: str | None
    n: int
    cells: tuple[int, ...]
    batch: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the tally as self-describing JSON."""
        return {
            "format": FORMAT,
            "survey": self.question.survey,
            "period": self.period,
            "batch": self.batch,
            "segment": self.segment,
            "n": self.n,
            "cells": list(self.cells),
            "question": self.question.document(),
        }


def parse_tally(document: object) -> Tally:
    """Check a tally document, and that its counts can have come from its question.

    Raises
    ------
    DocumentError
        If a field is missing or malformed, the question does not match its own hash, or the
        cells do not fit the question's mechanism and n.
    """
    where, fields = parse_released(document, "tally", _KEYS)
    cells = _counts(fields["cells"], where.question)
    n = fields["n"]
    if type(n) is not int or where.question.mechanism.shape.reports(cells) != n:
        raise DocumentError("tally: n must be the number of reports in its cells")
    if n > MAX_DEVICES:
        raise DocumentError(f"tally: n must be at most {MAX_DEVICES}")
    return Tally(where.question, where.period, where.segment, n, cells, where.batch)


def _counts(cells: object, question: Question) -> tuple[int, ...]:
    shape = question.mechanism.shape
    if not isinstance(cells, list) or len(cells) != shape.cells:
        raise DocumentError(f"tally: cells must be a list of {shape.cells} integers")
    if not all(type(cell) is int and 0 <= cell < 2**63 for cell in cells):
        raise DocumentError("tally: cells must be integers, not negative, below 2^63")
    if shape.kind == "bits":
        stride = shape.width + 1
        for start in range(0, len(cells), stride):
            row = cells[start : start + stride]
            if max(row) > row[-1]:
                raise DocumentError("tally: a bit is set in more reports than its row holds")
            if shape.weight is not None and sum(row[:-1]) != shape.weight * row[-1]:
                raise DocumentError(f"tally: each report has exactly {shape.weight} bits set")
    return tuple(cells)
