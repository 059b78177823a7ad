"""A batch of sealed reports on its way out: what the collector cannot read, in no order.

What must never change: the parts of a batch are sorted by ciphertext, which no one saw before, for
the reports waited under another layer of encryption. So the order tells nothing of who came when.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from operator import attrgetter

from deniable.protocol.question import Question
from deniable.protocol.sealed_batch import MAX_PART, SealedBatch
from deniable.protocol.sealing import SealedResponse, SealingKey, sealed_size

from .store.base import BatchPart, Settled

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


def batch_parts(question: Question, place: Settled, reports: list[bytes]) -> Iterator[BatchPart]:
    """Yield the parts of a batch of reports as they waited.

    A batch may be most of what fits into memory, so each report is in it once: ``reports`` is
    emptied on the way.
    """
    n = len(reports)
    ordered = _in_order(reports)
    parts = -(-n // MAX_PART)
    for part in range(parts):
        some = tuple(islice(ordered, MAX_PART))
        batch = SealedBatch(
            question, place.period, place.segment, n, some, part, parts, place.batch
        )
        document = json.dumps(batch.document(), ensure_ascii=False, separators=(",", ":"))
        yield BatchPart(place, n, part, parts, document)


def _in_order(reports: list[bytes]) -> Iterator[SealedResponse]:
    """Take reports out of a list, sorted by ciphertext, and by key where two are the same."""
    by_key: dict[str, list[bytes]] = {}
    while reports:
        report = unpack(reports.pop())
        by_key.setdefault(report.key_id, []).append(report.ciphertext)
    runs = [_taken(key_id, by_key[key_id]) for key_id in sorted(by_key)]
    return merge(*runs, key=attrgetter("ciphertext"))


def _taken(key_id: str, ciphertexts: list[bytes]) -> Iterator[SealedResponse]:
    """Take the ciphertexts of one key out of a list, the smallest first."""
    ciphertexts.sort(reverse=True)
    while ciphertexts:
        yield SealedResponse(key_id, ciphertexts.pop())
