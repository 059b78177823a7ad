"""From sealed reports to counts: what opens is folded, what does not is dropped and counted.

What must never change: a report counts once, however often it is released; and it counts only if
it opens under exactly the question, period and segment of its batch.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from deniable.protocol.errors import DocumentError, ReportError
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


@dataclass(frozen=True)
class Opened:
    """What a batch held.

    Attributes
    ----------
    n : int
        Reports that opened and count.
    cells : tuple of int
        As the mechanism's shape lays them out.
    dropped : Counter of str
        The others, by :data:`REASONS`.
    unknown : frozenset of str
        Ids of keys that were not given.
    """

    n: int
    cells: tuple[int, ...]
    dropped: Counter[str]
    unknown: frozenset[str]


class Opener:
    """Opens reports of any batch with the keys it was given."""

    def __init__(self, keys: Iterable[PrivateKey]) -> None:
        self._keys = {key.id: (key, key.opener()) for key in keys}

    def open_batch(self, parts: Iterable[SealedBatch], remember: Remember) -> Opened:
        """Open every report of a whole batch.

        Raises
        ------
        DocumentError
            If the parts are not those of one batch, in order.
        """
        first: SealedBatch | None = None
        last = b""
        cells: list[int] = []
        infos: Mapping[str, bytes] = {}
        dropped: Counter[str] = Counter()
        unknown: set[str] = set()
        for part in parts:
            if first is None:
                first = part
                cells = [0] * part.question.mechanism.shape.cells
                infos = self._infos(part)
            _follows(part, first, last)
            last = part.reports[-1].ciphertext
            for report in part.reports:
                found = self._open(report, part, infos, remember)
                if isinstance(found, Response):
                    part.question.mechanism.shape.fold(cells, found)
                else:
                    dropped[found] += 1
                if found == "unknown_key":
                    unknown.add(report.key_id)
        opened = first.n - dropped.total() if first else 0
        return Opened(opened, tuple(cells), dropped, frozenset(unknown))

    def _infos(self, part: SealedBatch) -> dict[str, bytes]:
        return {
            name: seal_info(part.question, part.period, part.segment, name) for name in self._keys
        }

    def _open(
        self,
        report: SealedResponse,
        part: SealedBatch,
        infos: Mapping[str, bytes],
        remember: Remember,
    ) -> Response | str:
        """Return the response of a report, or why there is none."""
        if report.key_id not in self._keys:
            return "unknown_key"
        key, open_sealed = self._keys[report.key_id]
        plaintext = open_sealed(report.ciphertext, infos[key.id])
        if plaintext is None:
            return "unopened"
        try:
            response = unpack_plain(part.question, plaintext)
        except ReportError:
            return "malformed"
        encapsulation = report.ciphertext[: SUITES[key.suite].encapsulation]
        return response if remember(hashlib.sha256(encapsulation).digest()) else "repeated"


def _follows(part: SealedBatch, first: SealedBatch, last: bytes) -> None:
    """Refuse a part of another batch, or in an order that may tell something."""
    if (part.question, part.n) != (first.question, first.n):
        raise DocumentError("sealed batch: its parts say different things of it; fetch them again")
    if part.reports[0].ciphertext < last:
        raise DocumentError("sealed batch: its parts are not sorted by ciphertext")
