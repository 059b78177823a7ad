"""Closing: what leaves the shuffler, what is destroyed, and the keys that go with it.

The watermark says up to when everything is closed. It is stored, only rises, and is moved in the
same transaction that releases the tallies it closes; commits read it in theirs. What must never
change: a tally is released once, whole, and only if its crowd is at least min_crowd. Keys are
destroyed after the transaction, and again at every later pass, for a crash may come between.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from deniable.protocol.periods import parse_period, period_at
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

from .catalogue import Catalogue
from .keys import KeyRing
from .shuffler import CELL
from .store.base import Pending, PendingKey, Reader, Scope, Store, Transaction

LOG = logging.getLogger("deniable.collector")

_INSTANT = timedelta(microseconds=1)


@dataclass
class Closing:
    """What one release did."""

    watermark: datetime
    released: int = 0
    destroyed: int = 0
    scopes: list[Scope] = field(default_factory=list)


def close_periods(tx: Transaction, catalogue: Catalogue, moment: datetime) -> Closing:
    """Close everything whose closing time is not after ``moment`` or any moment before it.

    A ``once`` question stays open until it expires; when a week ends, what reached min_crowd
    leaves as that week's batch, and the rest waits for more.
    """
    before = tx.watermark()
    tx.raise_watermark(moment)
    closing = Closing(tx.watermark())
    for key, pending in tx.all_pending().items():
        question = catalogue.by_id[key.question].question
        period = parse_period(key.period)
        closes = question.closes(period)
        batch = None
        if closes <= closing.watermark:
            if period.kind == "once":
                batch = period_at("week", max(closes - _INSTANT, before)).key
            _settle(tx, question, key, pending, batch, closing)
        elif period.kind == "once" and pending.n >= question.min_crowd:
            this_week = period_at("week", closing.watermark).start
            if before < this_week:
                batch = period_at("week", this_week - _INSTANT).key
                _settle(tx, question, key, pending, batch, closing)
    for scope in tx.open_scopes():
        if is_closed(tx, catalogue, scope, closing.watermark):
            tx.close_scope(scope)
            closing.scopes.append(scope)
    return closing


def is_closed(store: Reader, catalogue: Catalogue, scope: Scope, watermark: datetime) -> bool:
    """Return whether nothing counts in a scope any more; one of an unknown survey may."""
    row = store.scope(scope)
    if row is not None and row.closed:
        return True
    closes = catalogue.closes(scope)
    return scope.survey in catalogue.questions if closes is None else closes <= watermark


def destroy_keys(store: Store, catalogue: Catalogue, keys: KeyRing) -> None:
    """Destroy the key of every closed scope, those included that a crash left behind."""
    with store.read() as reader:
        watermark = reader.watermark()
        closed = [s for s in keys.scopes() if is_closed(reader, catalogue, s, watermark)]
    for scope in closed:
        keys.destroy(scope)


def _settle(
    tx: Transaction,
    question: Question,
    key: PendingKey,
    pending: Pending,
    batch: str | None,
    closing: Closing,
) -> None:
    """Let one tally out if its crowd is large enough, or destroy it."""
    tx.drop_pending(key)
    if pending.n < question.min_crowd:
        tx.put_destroyed(key, batch, question.min_crowd)
        closing.destroyed += 1
        return
    cells = tuple(np.frombuffer(pending.cells, CELL).tolist())
    tx.put_released(key.question, Tally(question, key.period, key.segment, pending.n, cells, batch))
    closing.released += 1
