"""One tally on its way out: its rows opened, compared with what was counted, and made a document.

What must never change: nothing in the clear in a row is believed. The crowd is that of the rows
that open, each once; unless the operator gives the rest up, all of them must, and a sealed tally
must hold as many reports as were counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

from .batches import batch_parts
from .keys import KeyRing
from .scope_key import NONCE_BYTES, Place, ScopeKey, UnreadableError
from .shuffler import CELL, Cells
from .store.base import BatchPart, Pending, PendingKey, Released, Scope, Settled, Transaction


@dataclass(frozen=True, slots=True)
class Leaving:
    """A tally that is due: what it answers, where it waits, where it goes, and its shards."""

    question: Question
    key: PendingKey
    place: Settled
    shards: list[Pending]

    @property
    def scope(self) -> Scope:
        """The scope whose key opens it."""
        return Scope.of(self.question, self.key.period)

    @property
    def n(self) -> int:
        """How many reports it says it holds."""
        return sum(shard.n for shard in self.shards)

    @property
    def where(self) -> Place:
        """What its ciphertexts are bound to."""
        return Place(self.question.hash, self.key.period, self.key.segment)


@dataclass(frozen=True, slots=True)
class Opened:
    """What opened of a tally: how many reports, and their sums or, if it is sealed, each."""

    leaving: Leaving
    n: int
    cells: Cells | None
    reports: list[bytes]

    def put(self, tx: Transaction) -> None:
        """Keep it among the released."""
        if self.cells is None:
            for part in self._parts():
                tx.put_batch(part)
        else:
            tx.put_released(self._tally(self.cells))

    def _parts(self) -> Iterator[BatchPart]:
        one = self.leaving
        return batch_parts(one.question, one.place, self.reports)

    def _tally(self, cells: Cells) -> Released:
        question, place = self.leaving.question, self.leaving.place
        counts = tuple(cells.tolist())
        tally = Tally(question, place.period, place.segment, self.n, counts, place.batch)
        return Released(place, self.n, json.dumps(tally.document(), ensure_ascii=False))


def open_leaving(tx: Transaction, keys: KeyRing, leaving: Leaving, *, salvage: bool) -> Opened:
    """Open a tally.

    Parameters
    ----------
    tx : Transaction
    keys : KeyRing
    leaving : Leaving
    salvage : bool
        Leave out what does not open.

    Raises
    ------
    MissingKeyError, ClosedScopeError
    UnreadableError
        If something does not open, or is missing, unless it may be left out.
    """
    key = keys.of(leaving.scope, tx)
    if leaving.question.sealed:
        reports = _open_reports(key, leaving, tx.sealed(leaving.key), salvage)
        return Opened(leaving, len(reports), None, reports)
    cells = np.zeros(leaving.question.mechanism.shape.cells, CELL)
    n = 0
    for shard in leaving.shards:
        try:
            opened = key.open_tally(leaving.where, shard.shard, shard.n, shard.cells)
        except UnreadableError:
            if not salvage:
                raise
        else:
            cells += np.frombuffer(opened, CELL)
            n += shard.n
    return Opened(leaving, n, cells, [])


def _open_reports(
    key: ScopeKey, leaving: Leaving, rows: Iterable[bytes], salvage: bool
) -> list[bytes]:
    """Return the sealed reports that open; a row that stands twice is one.

    Two devices may send the same report, but no two rows have one nonce unless one is a copy.
    """
    opened = key.report_opener(leaving.where)
    nonces: set[bytes] = set()
    reports = []
    for row in rows:
        try:
            report = opened(row)
        except UnreadableError:
            if not salvage:
                raise
        else:
            nonce = row[:NONCE_BYTES]
            if nonce not in nonces:
                nonces.add(nonce)
                reports.append(report)
    if len(reports) != leaving.n and not salvage:
        raise UnreadableError(
            f"{leaving.scope.name}: a sealed tally does not hold the reports that were counted;"
            " rows were lost, copied or changed"
        )
    return reports
