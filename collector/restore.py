"""Restoring: a backup becomes a store again, in which nothing that was ever open opens again.

Which devices counted in the open periods, and what of them was released after the backup was
taken, went with the old store. So what must never change: every period that a question of the
backup asks in and that has begun is closed for good before the new store takes its first report,
in the transaction that fills it; then nothing is released twice and no device counts twice.
A ``once`` question has begun since it was loaded: it needs a new version to be asked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deniable.protocol.errors import StoreError
from deniable.protocol.periods import ONCE, Period, period_at
from deniable.protocol.question import Question

from .backup import Copied, copy_records, open_backup
from .store import open_store
from .store.base import BEGINNING, Reader, Scope

_FIRST = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did: what was copied, which scopes it closed, and up to when all is closed."""

    copied: Copied
    closed: tuple[Scope, ...]
    watermark: datetime


def restore_backup(path: Path, location: str, now: datetime) -> Restored:
    """Fill an empty store from a backup, and close every period that has begun.

    Parameters
    ----------
    path : Path
        The backup, which stays as it is.
    location : str
        The store's path or URL; an SQLite file is made if it is not there.
    now : datetime

    Raises
    ------
    StoreError
        If the backup cannot be read, the store is not empty or is in use, or the clock is wrong.
    """
    with open_backup(path) as backup:
        before = backup.watermark()
        if now < before:
            raise StoreError(
                f"the clock says {now:%Y-%m-%d %H:%M} UTC, but {path} was closed up to"
                f" {before:%Y-%m-%d %H:%M} UTC; set this machine's clock right, or wait until then"
            )
        with closing(open_store(location)) as store, store.alone(), store.transaction() as tx:
            if not _is_empty(tx):
                raise StoreError(f"{store.location}: is not empty; restore into a new store")
            copied = copy_records(lambda: nullcontext(backup), tx)
            questions = [entry.question for entry in tx.questions()]
            closed = sorted(open_scopes(questions, before, now))
            for scope in closed:
                tx.close_scope(scope)
            tx.raise_watermark(now)
            return Restored(copied, tuple(closed), tx.watermark())


def open_scopes(questions: Iterable[Question], watermark: datetime, now: datetime) -> set[Scope]:
    """Return every scope in which a report could have counted since the watermark."""
    return {
        Scope.of(question, period.key)
        for question in questions
        for period in _begun(question, watermark if watermark > BEGINNING else now, now)
        if question.closes(period) > watermark
    }


def _begun(question: Question, watermark: datetime, now: datetime) -> Iterator[Period]:
    """Yield the periods that have begun, from one that was closed at the watermark."""
    if question.period == "once":
        yield ONCE
        return
    first = max(_FIRST, watermark - timedelta(days=question.grace + 1))
    period = period_at(question.period, first)
    while period.start <= now:
        yield period
        period = period.next()


def _is_empty(store: Reader) -> bool:
    found = (store.surveys(), store.questions(), store.open_scopes(), store.closed_scopes())
    return store.watermark() == BEGINNING and not any(found) and not store.tokens()
