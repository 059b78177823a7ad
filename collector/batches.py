"""A batch of sealed reports on its way out: what the collector cannot read, in no order.

What must never change: the parts of a batch are sorted by ciphertext, which no one saw before, for
the reports waited under another layer of encryption. So the order tells nothing of who came when.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from deniable.protocol.question import Question
from deniable.protocol.sealed_batch import MAX_PART, SealedBatch
from deniable.protocol.sealing import SealedResponse

from .keys import KeyRing
from .scope_key import Place
from .store.base import BatchPart, PendingKey, Scope, Settled, Transaction


def pack(report: SealedResponse) -> bytes:
    """Return a sealed report as it waits, before it is encrypted once more."""
    key_id = report.key_id.encode()
    return len(key_id).to_bytes(1, "big") + key_id + report.ciphertext


def unpack(packed: bytes) -> SealedResponse:
    """Return the sealed report of :func:`pack`."""
    end = 1 + packed[0]
    return SealedResponse(packed[1:end].decode(), packed[end:])


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
    reports.sort(key=lambda packed: packed[1 + packed[0] :])
    n = len(reports)
    parts = -(-n // MAX_PART)
    for part in range(parts):
        some = tuple(map(unpack, reports[part * MAX_PART : (part + 1) * MAX_PART]))
        batch = SealedBatch(question, key.period, key.segment, n, some, part, parts, place.batch)
        document = json.dumps(batch.document(), ensure_ascii=False, separators=(",", ":"))
        yield BatchPart(place, n, part, parts, document)
