"""In which order every store tells what it holds: by period first, whatever it is called."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deniable.protocol.period_state import PeriodState
from deniable.protocol.periods import parse_period

from .base import BatchEntry


def in_order(rows: Iterable[tuple[Any, ...]]) -> list[str]:
    """Return the documents of (period, version, batch, segment, document), in that order."""
    ordered = sorted(
        rows, key=lambda row: (parse_period(row[0]).start, row[1], row[2] or "", row[3] or "")
    )
    return [row[4] for row in ordered]


def batch_order(entry: BatchEntry) -> tuple[object, ...]:
    """Order parts by period, version, batch and segment."""
    start = parse_period(entry.period).start
    return start, entry.version, entry.batch or "", entry.segment or "", entry.part


def state_order(state: PeriodState) -> tuple[object, ...]:
    """Order states by survey, question, period, version, batch and segment."""
    start = parse_period(state.period).start
    place = (state.survey, state.question, start, state.version)
    return (*place, state.batch or "", state.segment or "")
