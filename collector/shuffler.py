"""Where a report stops being a report: pseudonym and order end here, only counts go on.

One transaction counts a whole group of requests: a ledger bit for each device and question, which
is the limit and the idempotency key in one, and a fold into the pending tally. What must never
change: both happen in the same transaction, after the watermark was read in it, so a report counts
exactly once in exactly one tally, or not at all. A tally is written encrypted, anew at each commit,
so that no two versions of it tell what the commits between them added.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.protocol.response import Response, Shape

from .rules import Entry, Slot
from .scope_key import Place, ScopeKey, UnreadableError
from .store.base import Device, Pending, PendingKey, Scope, ScopeRow, Transaction

LOG = logging.getLogger("deniable.collector")

CELL = np.dtype("<i8")

Cells = NDArray[np.int64]

_Place = tuple[int, str, str | None]
"""The fields of a :class:`PendingKey`; made once a report, for which a plain tuple is quicker."""


class Part(NamedTuple):
    """What a request says within one scope: a period, or one ``once`` question."""

    scope: Scope
    key: ScopeKey
    tag: bytes
    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Submission:
    """One request on its way into the tallies.

    The outcome is what became of the entries; ``full`` tells that the period had no room for the
    device, ``unreadable`` that a tally does not open, so that nothing can be added to it, and
    ``strange`` are the scopes whose rows were named by another key than the one in hand.
    """

    period: str
    segment: str | None
    parts: list[Part]
    accepted: int = 0
    duplicate: int = 0
    closed: list[int] = field(default_factory=list)
    full: bool = False
    unreadable: bool = False
    strange: list[Scope] = field(default_factory=list)

    def forget(self) -> None:
        """Be as before it was counted."""
        self.accepted = self.duplicate = 0
        self.closed = []
        self.strange = []
        self.full = self.unreadable = False


def count_group(tx: Transaction, submissions: Sequence[Submission], max_devices: int) -> None:
    """Count requests in one transaction, and write down in each what became of it.

    Raises
    ------
    ConflictError
        If another process counted one of the devices meanwhile.
    """
    for submission in submissions:
        submission.forget()
    group = _Group(tx, submissions, max_devices)
    for submission in submissions:
        for part in submission.parts:
            group.count(submission, part)
    group.write()


class _Group:
    """What one transaction reads before it counts, and what it writes after."""

    def __init__(
        self, tx: Transaction, submissions: Sequence[Submission], max_devices: int
    ) -> None:
        self._tx = tx
        self._max_devices = max_devices
        self._watermark = tx.watermark()
        parts = [part for submission in submissions for part in submission.parts]
        keys = {part.scope: part.key for part in parts}
        self._scopes: dict[Scope, ScopeRow] = {
            scope: tx.scope(scope) or tx.add_scope(scope, keys[scope].check)
            for scope in sorted(keys)
        }
        self._bits = tx.answered({Device(self._scopes[part.scope].id, part.tag) for part in parts})
        self._changed: dict[Device, int] = {}
        self._added: Counter[int] = Counter()
        self._folds = self._read_folds(submissions)

    def _read_folds(self, submissions: Sequence[Submission]) -> dict[_Place, Fold | None]:
        """Read the tallies to add to; None for one that does not open.

        Those that have left the shuffler are not among them, for a grace that was made longer
        must not begin a tally again; a ``once`` question's does, batch after batch, until its
        scope is closed.
        """
        found: dict[_Place, tuple[Slot, ScopeKey]] = {}
        for submission in submissions:
            for part in filter(self._fits, submission.parts):
                for _, slot, _ in part.entries:
                    found[slot.id, submission.period, submission.segment] = slot, part.key
        asked = {PendingKey(*place): of for place, of in found.items()}
        pending = self._tx.pending(asked)
        fresh = [key for key, (slot, _) in asked.items() if key not in pending and not slot.once]
        settled = self._tx.settled(fresh)
        return {
            key: _open_fold(key, *of, self._tx.shard, pending.get(key))
            for key, of in asked.items()
            if key not in settled
        }

    def count(self, submission: Submission, part: Part) -> None:
        """Count a device's reports within one scope."""
        if not self._fits(part):
            submission.strange.append(part.scope)
            return
        row = self._scopes[part.scope]
        device = Device(row.id, part.tag)
        known = self._bits.get(device)
        devices = row.devices + self._added[row.id]
        if known is None and not row.closed and devices >= self._max_devices:
            submission.full = True
            return
        bits = known or 0
        for index, slot, response in part.entries:
            place = slot.id, submission.period, submission.segment
            if row.closed or slot.closes <= self._watermark or place not in self._folds:
                submission.closed.append(index)
            elif bits & slot.bit:
                submission.duplicate += 1
            elif (fold := self._folds[place]) is None:
                submission.unreadable = True
            else:
                bits |= slot.bit
                fold.add(response)
                submission.accepted += 1
        if bits:
            self._added[row.id] += known is None
            if bits != known:
                self._bits[device] = self._changed[device] = bits

    def _fits(self, part: Part) -> bool:
        """Return whether a part's key is the scope's, which two replicas may have made at once."""
        return part.key.fits(self._scopes[part.scope].check)

    def write(self) -> None:
        """Write the ledger rows and the tallies that changed."""
        self._tx.put_ledger(self._changed, self._added)
        folds = [fold for fold in self._folds.values() if fold is not None and fold.responses]
        self._tx.put_pending({fold.key: fold.result() for fold in folds})
        sealed = {fold.key: fold.sealed() for fold in folds if fold.slot.sealed}
        if sealed:
            self._tx.add_sealed(sealed)


class Fold:
    """A pending tally and the responses of one group to add to it."""

    __slots__ = ("_before", "_key", "_n", "_place", "_shard", "add", "key", "responses", "slot")

    def __init__(
        self, key: PendingKey, slot: Slot, scope: ScopeKey, shard: int, before: Pending | None
    ) -> None:
        self.key = key
        self.slot = slot
        self._shard = shard
        self._key = scope
        self._place = Place(slot.hash, key.period, key.segment)
        self._n = before.n if before else 0
        self._before = None
        if before is not None and not slot.sealed:
            opened = scope.open_tally(self._place, shard, before.n, before.cells)
            self._before = np.frombuffer(opened, CELL)
        self.responses: list[Any] = []
        self.add = self.responses.append

    def result(self) -> Pending:
        """Return the tally with the responses in it."""
        n = self._n + len(self.responses)
        if self.slot.sealed:
            return Pending(n, b"", self._shard)
        cells = fold_all(self.slot.shape, self.responses)
        if self._before is not None:
            cells += self._before
        sealed = self._key.seal_tally(self._place, self._shard, n, cells.tobytes())
        return Pending(n, sealed, self._shard)

    def sealed(self) -> list[bytes]:
        """Return the reports that only the analyst can open, encrypted once more."""
        return self._key.seal_reports(self._place, self.responses)


def _open_fold(
    key: PendingKey, slot: Slot, scope: ScopeKey, shard: int, before: Pending | None
) -> Fold | None:
    try:
        return Fold(key, slot, scope, shard, before)
    except UnreadableError as exc:
        LOG.error("%s", exc)
        return None


def fold_all(shape: Shape, responses: Sequence[Response]) -> Cells:
    """Return the cells of many responses at once: what ``Shape.fold`` gives one by one."""
    if shape.kind == "symbol":
        index = [response.row * shape.width + response.out for response in responses]
        return np.bincount(index, minlength=shape.cells).astype(CELL)
    cells = np.zeros((shape.rows, shape.width + 1), CELL)
    packed = b"".join(response.out.to_bytes(shape.size, "little") for response in responses)
    masks = np.frombuffer(packed, np.uint8).reshape(len(responses), shape.size)
    bits = np.unpackbits(masks, axis=1, count=shape.width, bitorder="little")
    rows = np.array([response.row for response in responses])
    for row in np.unique(rows):
        chosen = bits[rows == row]
        cells[row, : shape.width] = chosen.sum(axis=0, dtype=np.int64)
        cells[row, shape.width] = len(chosen)
    return cells.ravel()
