"""Closing: what leaves the shuffler, what is destroyed, and the keys that go with it.

The watermark says up to when everything is closed. It is stored, only rises, and is moved in the
same transaction that releases the tallies it closes; commits read it in theirs. What must never
change: a tally is released once, whole, and only if its crowd is at least min_crowd. One whose key
is not to be found waits for it, closed, and a scope with tallies in it stays open. Keys are
destroyed after the transaction, and again at every later pass, for a crash may come between.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from deniable.protocol.periods import Period, parse_period, period_at
from deniable.protocol.question import Question

from .catalogue import Catalogue
from .keys import ClosedScopeError, KeyRing, MissingKeyError
from .leaving import Leaving, open_leaving
from .plain import encrypt_plain
from .remembered import forget, remember, remembered, settled, stale_scopes
from .scope_key import UnreadableError
from .store.base import Destroyed, Reader, Scope, Settled, Store, Transaction

LOG = logging.getLogger("deniable.collector")

SWEEP = 20_000
"""Ledger rows that one transaction deletes, so that reports need not wait long for it."""

_INSTANT = timedelta(microseconds=1)


@dataclass
class Closing:
    """What one release did; ``waiting`` are the scopes with tallies that do not open.

    ``lost`` are the reports that did not open, of tallies that left without them; ``counting`` the
    scopes with tallies that are not due, which stay open whatever the survey says by now;
    ``plain`` those with tallies that cannot be encrypted, as they should be, and why.
    """

    watermark: datetime
    released: int = 0
    destroyed: int = 0
    lost: int = 0
    waiting: set[Scope] = field(default_factory=set)
    counting: set[Scope] = field(default_factory=set)
    plain: dict[Scope, str] = field(default_factory=dict)


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
        Destroy what does not open rather than wait for its key; and close what is of an older
        copy of the database, with all that waits in it.
    """
    catalogue = Catalogue.read(tx)
    plain = encrypt_plain(tx, catalogue, keys)
    before = tx.watermark()
    tx.raise_watermark(moment)
    closing = Closing(tx.watermark(), plain=plain)
    stale = stale_scopes(tx, catalogue, keys.places)
    for key, shards in tx.all_pending().items():
        question = catalogue.by_id[key.question].question
        n = sum(shard.n for shard in shards)
        due, batch = _due(question, parse_period(key.period), n, before, closing.watermark)
        place = Settled(key.question, key.period, batch, key.segment)
        leaving = Leaving(question, key, place, shards)
        if leaving.scope in stale:
            if give_up:
                _destroy(tx, leaving, 0, closing)
        elif due:
            _settle(tx, keys, leaving, closing, give_up)
        else:
            closing.counting.add(leaving.scope)
    _keep_plain(tx, catalogue, before, closing, give_up)
    if not give_up:
        _wait_for_newer(stale, closing)
    for scope in set(tx.open_scopes()) - closing.waiting - closing.counting:
        if scope in stale or is_closed(tx, catalogue, scope, closing.watermark):
            tx.close_scope(scope)
    return closing


def _wait_for_newer(stale: set[Scope], closing: Closing) -> None:
    """Let scopes wait from which more has left than this database knows."""
    for scope in sorted(stale):
        LOG.error(
            "the database is older than its keys: it does not hold all that left %s, of which"
            " nothing is released; put the newest one back, or give the period up with"
            " release --destroy-unreadable",
            scope.name,
        )
    closing.waiting |= stale


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


def _keep_plain(
    tx: Transaction, catalogue: Catalogue, before: datetime, closing: Closing, give_up: bool
) -> None:
    """Let what is still in the clear wait, or destroy it."""
    for key, plain in tx.plain().items():
        question = catalogue.by_id[key.question].question
        due, batch = _due(question, parse_period(key.period), plain.n, before, closing.watermark)
        if due and give_up:
            tx.drop_plain(key)
            place = Settled(key.question, key.period, batch, key.segment)
            if place not in {tally.place for tally in tx.destroyed()}:
                tx.put_destroyed(Destroyed(place, 0))
            closing.destroyed += 1
        else:
            scopes = closing.waiting if due else closing.counting
            scopes.add(Scope.of(question, key.period))


def is_closed(store: Reader, catalogue: Catalogue, scope: Scope, watermark: datetime) -> bool:
    """Return whether nothing counts in a scope any more; one of an unknown survey may."""
    row = store.scope(scope)
    if row is not None and row.closed:
        return True
    closes = catalogue.closes(scope)
    return scope.survey in catalogue.questions if closes is None else closes <= watermark


def destroy_keys(store: Store, keys: KeyRing) -> None:
    """Remember what left open scopes, and destroy the keys of closed ones.

    Those included that a crash left behind. The key of a scope that holds rows stays until these
    have left.
    """
    kept = keys.scopes()
    held = remembered(keys.places)
    with store.read() as reader:
        catalogue = Catalogue.read(reader)
        watermark = reader.watermark()
        holding = set(reader.open_scopes())
        left = settled(reader, catalogue, holding)
        closed = {
            scope
            for scope in kept.union(one.scope for one in held) - holding
            if is_closed(reader, catalogue, scope, watermark)
        }
    remember(keys.places, left - held)
    for scope in sorted(closed):
        keys.destroy(scope)
    forget(keys.places, {one for one in held if one.scope in closed})


def _settle(
    tx: Transaction, keys: KeyRing, leaving: Leaving, closing: Closing, give_up: bool
) -> None:
    """Let one tally out if its crowd is large enough, or destroy it."""
    min_crowd = leaving.question.min_crowd
    if leaving.n < min_crowd:
        _destroy(tx, leaving, min_crowd, closing)
        return
    try:
        opened = open_leaving(tx, keys, leaving, salvage=give_up)
    except (MissingKeyError, ClosedScopeError, UnreadableError) as exc:
        if give_up:
            _destroy(tx, leaving, 0, closing)
            return
        if leaving.scope not in closing.waiting:
            LOG.error("%s", exc)
        closing.waiting.add(leaving.scope)
        return
    if opened.n < min_crowd:
        _destroy(tx, leaving, min_crowd if opened.n else 0, closing)
        return
    opened.put(tx)
    tx.drop_pending(leaving.key)
    closing.released += 1
    closing.lost += leaving.n - opened.n


def _destroy(tx: Transaction, leaving: Leaving, min_crowd: int, closing: Closing) -> None:
    """Destroy a tally; 0 for the crowd it would have needed: it does not open."""
    tx.drop_pending(leaving.key)
    tx.put_destroyed(Destroyed(leaving.place, min_crowd))
    closing.destroyed += 1
