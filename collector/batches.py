"""A batch of sealed reports on its way out: what the collector cannot read, in no order.

What must never change: the parts of a batch are sorted by ciphertext, which no one saw before, for
the reports waited under another layer of encryption. So the order tells nothing of who came when.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from deniable.protocol.question import Question
from deniable.protocol.sealed_batch import MAX_PART, SealedBatch
from deniable.protocol.sealing import SealedResponse, SealingKey, sealed_size

from .keys import KeyRing
from .scope_key import Place
from .store.base import BatchPart, PendingKey, Scope, Settled, Transaction

_HEAD = 4
"""Bytes that tell the length of the key's id, one, and of the ciphertext, three."""


def packed_size(question: Question, keys: Iterable[SealingKey]) -> int:
    """Return the bytes in which a report waits, whichever of the keys it is sealed for."""
    return max(
        (_HEAD + len(key.id) + sealed_size(question, key.suite) for key in keys if key.live),
        default=0,
    )


def pack(report: SealedResponse, size: int) -> bytes:
    """Return a sealed report as it waits, before it is encrypted once more.

    All that wait at a time are of one size: a released report names its key, and where the row
    stood that its length gave away, its ledger row stands too.
    """
    key_id = report.key_id.encode()
    lengths = bytes([len(key_id)]) + len(report.ciphertext).to_bytes(_HEAD - 1, "big")
    return (lengths + key_id + report.ciphertext).ljust(size, b"\0")


def unpack(packed: bytes) -> SealedResponse:
    """Return the sealed report of :func:`pack`."""
    middle = _HEAD + packed[0]
    end = middle + int.from_bytes(packed[1:_HEAD], "big")
    return SealedResponse(packed[_HEAD:middle].decode(), packed[middle:end])


def _ciphertext(packed: bytes) -> bytes:
    return unpack(packed).ciphertext


def batch_parts(
    tx: Transaction, keys: KeyRing, question: Question, key: PendingKey, place: Settled
) -> Iterator[BatchPart]:
    """Yield the parts of a batch.

    Raises
    ------
    MissingKeyError, UnreadableError
    """
    where = Place(question.hash, key.period, key.segment)
    opened = keys.of(Scope.of(question, key.period)).report_opener(where)
    reports = [opened(waiting) for waiting in tx.sealed(key)]
    reports.sort(key=_ciphertext)
    n = len(reports)
    parts = -(-n // MAX_PART)
    for part in range(parts):
        some = tuple(map(unpack, reports[part * MAX_PART : (part + 1) * MAX_PART]))
        batch = SealedBatch(question, key.period, key.segment, n, some, part, parts, place.batch)
        document = json.dumps(batch.document(), ensure_ascii=False, separators=(",", ":"))
        yield BatchPart(place, n, part, parts, document)
