"""From sealed reports to counts: what opens is folded, what does not is dropped and counted.

What must never change: a report counts once, however often it is released; and it counts only if
it opens under exactly the question, period and segment of its batch.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from deniable.protocol.errors import DocumentError, ReportError
from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.sealed_batch import SealedBatch
from deniable.protocol.sealing import SUITES, SealedResponse, seal_info, unpack_plain

from .private_keys import PrivateKey

REASONS: Final = ("unknown_key", "unopened", "malformed", "repeated")
"""Why a report is dropped: it is sealed for a key that was not given; it does not open; what it
holds is no response to the question; its encapsulation was seen before.
"""

Remember = Callable[[bytes], bool]
"""Keeps the hash of an encapsulation; returns whether it is new."""

Keys = Mapping[str, tuple[PrivateKey, Callable[[bytes, bytes], bytes | None]]]
"""By id: a private key, and what opens a ciphertext under an info with it."""


@dataclass(frozen=True)
class Opened:
    """What a batch held.

    Attributes
    ----------
    question : Question
    released : int
        Reports that the collector released.
    n : int
        Those that opened and count.
    by_key : Counter of str
        The same, by the key they were sealed for.
    cells : tuple of int
        As the mechanism's shape lays them out.
    dropped : Counter of str
        The others, by :data:`REASONS`.
    unknown : frozenset of str
        Ids of keys that were not given.
    """

    question: Question
    released: int
    n: int
    by_key: Counter[str]
    cells: tuple[int, ...]
    dropped: Counter[str]
    unknown: frozenset[str]


class Opener:
    """Opens reports of any batch with the keys it was given."""

    def __init__(self, keys: Iterable[PrivateKey]) -> None:
        self._keys: Keys = {key.id: (key, key.opener()) for key in keys}

    def open_batch(self, parts: Iterable[SealedBatch], remember: Remember) -> Opened:
        """Open every report of a whole batch, of which one part at a time is in memory.

        Raises
        ------
        DocumentError
            If the parts are not those of one batch, in order.
        """
        opening: _Opening | None = None
        for part in parts:
            opening = opening or _Opening(part, self._keys, remember)
            opening.add(part)
            del part
        if opening is None:
            raise DocumentError("sealed batch: has no part")
        return opening.opened()


class _Opening:
    """What was opened of one batch so far."""

    def __init__(self, first: SealedBatch, keys: Keys, remember: Remember) -> None:
        self._head = replace(first, reports=())
        self._keys = keys
        self._remember = remember
        self._infos = {
            name: seal_info(first.question, first.period, first.segment, name) for name in keys
        }
        self._cells = [0] * first.question.mechanism.shape.cells
        self._by_key: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._unknown: set[str] = set()
        self._last = b""

    def add(self, part: SealedBatch) -> None:
        """Open and fold the reports of the next part."""
        _follows(part, self._head, self._last)
        self._last = part.reports[-1].ciphertext
        for report in part.reports:
            found = self._open(report)
            if isinstance(found, Response):
                part.question.mechanism.shape.fold(self._cells, found)
                self._by_key[report.key_id] += 1
            else:
                self._dropped[found] += 1
            if found == "unknown_key":
                self._unknown.add(report.key_id)

    def opened(self) -> Opened:
        """Return what there was."""
        head, cells = self._head, tuple(self._cells)
        n = self._by_key.total()
        unknown = frozenset(self._unknown)
        return Opened(head.question, head.n, n, self._by_key, cells, self._dropped, unknown)

    def _open(self, report: SealedResponse) -> Response | str:
        """Return the response of a report, or why there is none."""
        if report.key_id not in self._keys:
            return "unknown_key"
        key, open_sealed = self._keys[report.key_id]
        plaintext = open_sealed(report.ciphertext, self._infos[key.id])
        if plaintext is None:
            return "unopened"
        try:
            response = unpack_plain(self._head.question, plaintext)
        except ReportError:
            return "malformed"
        encapsulation = report.ciphertext[: SUITES[key.suite].encapsulation]
        return response if self._remember(hashlib.sha256(encapsulation).digest()) else "repeated"


def _follows(part: SealedBatch, first: SealedBatch, last: bytes) -> None:
    """Refuse a part of another batch, or in an order that may tell something."""
    if (part.question, part.n) != (first.question, first.n):
        raise DocumentError("sealed batch: its parts say different things of it; fetch them again")
    if part.reports[0].ciphertext < last:
        raise DocumentError("sealed batch: its parts are not sorted by ciphertext")
