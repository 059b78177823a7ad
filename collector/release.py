"""Closing: what leaves the shuffler, what is destroyed, and the keys that go with it.

The watermark says up to when everything is closed. It is stored, only rises, and is moved in the
same transaction that releases the tallies it closes; commits read it in theirs. What must never
change: a tally is released once, whole, and only if its crowd is at least min_crowd. One whose key
is not to be found waits for it, closed. Keys are destroyed after the transaction, and again at
every later pass, for a crash may come between.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from deniable.protocol.periods import Period, parse_period, period_at
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

from .batches import batch_parts
from .catalogue import Catalogue
from .keys import ClosedScopeError, KeyRing, MissingKeyError
from .scope_key import Place, UnreadableError
from .shuffler import CELL
from .store.base import (
    Destroyed,
    Pending,
    PendingKey,
    Reader,
    Released,
    Scope,
    Settled,
    Store,
    Transaction,
)

LOG = logging.getLogger("deniable.collector")

SWEEP = 20_000
"""Ledger rows that one transaction deletes, so that reports need not wait long for it."""

_INSTANT = timedelta(microseconds=1)


@dataclass
class Closing:
    """What one release did; ``waiting`` are the scopes with tallies that do not open."""

    watermark: datetime
    released: int = 0
    destroyed: int = 0
    waiting: set[Scope] = field(default_factory=set)


def close_periods(
    tx: Transaction, keys: KeyRing, moment: datetime, *, give_up: bool = False
) -> Closing:
    """Close everything whose closing time is not after ``moment`` or any moment before it.

    A ``once`` question stays open until it expires; when a week ends, what reached min_crowd
    leaves as that week's batch, and the rest waits for more.

    Parameters
    ----------
    tx : Transaction
        An exclusive one.
    keys : KeyRing
    moment : datetime
    give_up : bool
        Destroy what does not open rather than wait for its key.
    """
    catalogue = Catalogue.read(tx)
    before = tx.watermark()
    tx.raise_watermark(moment)
    closing = Closing(tx.watermark())
    for key, shards in tx.all_pending().items():
        question = catalogue.by_id[key.question].question
        period = parse_period(key.period)
        n = sum(shard.n for shard in shards)
        due, batch = _due(question, period, n, before, closing.watermark)
        if due:
            place = Settled(key.question, key.period, batch, key.segment)
            _settle(tx, keys, question, key, place, shards, closing, give_up)
    for scope in tx.open_scopes():
        if scope not in closing.waiting and is_closed(tx, catalogue, scope, closing.watermark):
            tx.close_scope(scope)
    return closing


def _due(
    question: Question, period: Period, n: int, before: datetime, watermark: datetime
) -> tuple[bool, str | None]:
    """Return whether a tally leaves now, and as the batch of which week."""
    closes = question.closes(period)
    if closes <= watermark:
        last = period_at("week", max(closes - _INSTANT, before)).key
        return True, last if period.kind == "once" else None
    this_week = period_at("week", watermark).start
    if period.kind == "once" and n >= question.min_crowd and before < this_week:
        return True, period_at("week", this_week - _INSTANT).key
    return False, None


def is_closed(store: Reader, catalogue: Catalogue, scope: Scope, watermark: datetime) -> bool:
    """Return whether nothing counts in a scope any more; one of an unknown survey may."""
    row = store.scope(scope)
    if row is not None and row.closed:
        return True
    closes = catalogue.closes(scope)
    return scope.survey in catalogue.questions if closes is None else closes <= watermark


def destroy_keys(store: Store, keys: KeyRing) -> None:
    """Destroy the key of every closed scope, those included that a crash left behind.

    The key of a scope that holds rows stays until these have left.
    """
    with store.read() as reader:
        catalogue = Catalogue.read(reader)
        watermark = reader.watermark()
        holding = set(reader.open_scopes())
        closed = [
            scope
            for scope in keys.scopes()
            if scope not in holding and is_closed(reader, catalogue, scope, watermark)
        ]
    for scope in closed:
        keys.destroy(scope)


def _settle(
    tx: Transaction,
    keys: KeyRing,
    question: Question,
    key: PendingKey,
    place: Settled,
    shards: list[Pending],
    closing: Closing,
    give_up: bool,
) -> None:
    """Let one tally out if its crowd is large enough, or destroy it."""
    n = sum(shard.n for shard in shards)
    if n < question.min_crowd:
        _destroy(tx, key, Destroyed(place, question.min_crowd), closing)
        return
    try:
        if question.sealed:
            for part in batch_parts(tx, keys, question, key, place):
                tx.put_batch(part)
        else:
            tx.put_released(_tally(keys, question, key, place, shards))
    except (MissingKeyError, ClosedScopeError, UnreadableError) as exc:
        if give_up:
            _destroy(tx, key, Destroyed(place, 0), closing)
            return
        scope = Scope.of(question, key.period)
        if scope not in closing.waiting:
            LOG.error("%s", exc)
        closing.waiting.add(scope)
        return
    tx.drop_pending(key)
    closing.released += 1


def _destroy(tx: Transaction, key: PendingKey, tally: Destroyed, closing: Closing) -> None:
    tx.drop_pending(key)
    tx.put_destroyed(tally)
    closing.destroyed += 1


def _tally(
    keys: KeyRing, question: Question, key: PendingKey, place: Settled, shards: Iterable[Pending]
) -> Released:
    """Decrypt a tally's shards and add them up."""
    opener = keys.of(Scope.of(question, key.period))
    where = Place(question.hash, key.period, key.segment)
    total = np.zeros(question.mechanism.shape.cells, CELL)
    n = 0
    for shard in shards:
        total += np.frombuffer(opener.open_tally(where, shard.n, shard.cells), CELL)
        n += shard.n
    cells = tuple(total.tolist())
    tally = Tally(question, key.period, key.segment, n, cells, place.batch)
    return Released(place, n, json.dumps(tally.document(), ensure_ascii=False))
