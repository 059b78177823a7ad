"""Where a report stops being a report: pseudonym and order end here, only counts go on.

One transaction counts a whole group of requests: a ledger bit for each device and question, which
is the limit and the idempotency key in one, and a fold into the pending tally. What must never
change: both happen in the same transaction, after the watermark was read in it, so a report counts
exactly once in exactly one tally, or not at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from deniable.protocol.response import Response, Shape

from .rules import Entry, Slot
from .store.base import Device, Pending, PendingKey, Scope, ScopeRow, Transaction

CELL = np.dtype("<i8")

Cells = NDArray[np.int64]

_Place = tuple[int, str, str | None]
"""The fields of a :class:`PendingKey`; made once a report, for which a plain tuple is quicker."""


@dataclass(slots=True, eq=False)
class Submission:
    """One request on its way into the tallies.

    ``parts`` are (scope, ledger tag, entries): one for a period, one for each ``once`` question.
    The outcome is what became of the entries; ``full`` tells that the period had no room for the
    device.
    """

    period: str
    segment: str | None
    parts: list[tuple[Scope, bytes, list[Entry]]]
    accepted: int = 0
    duplicate: int = 0
    closed: list[int] = field(default_factory=list)
    full: bool = False


def count_group(tx: Transaction, submissions: Sequence[Submission], max_devices: int) -> None:
    """Count requests in one transaction, and write down in each what became of it."""
    group = _Group(tx, submissions, max_devices)
    for submission in submissions:
        for scope, tag, entries in submission.parts:
            group.count(submission, scope, tag, entries)
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
        self._scopes: dict[Scope, ScopeRow] = {
            scope: tx.scope(scope) or tx.add_scope(scope) for scope in {part[0] for part in parts}
        }
        self._bits = tx.answered({Device(self._scopes[part[0]].id, part[1]) for part in parts})
        self._changed: dict[Device, int] = {}
        self._added: Counter[int] = Counter()
        self._folds = self._read_folds(submissions)

    def _read_folds(self, submissions: Sequence[Submission]) -> dict[_Place, Fold]:
        """Read the tallies to add to, without those that have left the shuffler.

        A grace that was made longer must not begin a tally again; a ``once`` question's does,
        batch after batch, until its scope is closed.
        """
        found: dict[_Place, Slot] = {}
        for submission in submissions:
            for _, _, entries in submission.parts:
                for _, slot, _ in entries:
                    found[slot.id, submission.period, submission.segment] = slot
        slots = {PendingKey(*key): slot for key, slot in found.items()}
        pending = self._tx.pending(slots)
        fresh = [key for key, slot in slots.items() if key not in pending and not slot.once]
        settled = self._tx.settled(fresh)
        return {
            key: Fold(key, slot.shape, pending.get(key))
            for key, slot in slots.items()
            if key not in settled
        }

    def count(
        self, submission: Submission, scope: Scope, tag: bytes, entries: Sequence[Entry]
    ) -> None:
        """Count a device's reports within one scope."""
        row = self._scopes[scope]
        device = Device(row.id, tag)
        known = self._bits.get(device)
        devices = row.devices + self._added[row.id]
        if known is None and not row.closed and devices >= self._max_devices:
            submission.full = True
            return
        bits = known or 0
        for index, slot, response in entries:
            fold = self._folds.get((slot.id, submission.period, submission.segment))
            if row.closed or slot.closes <= self._watermark or fold is None:
                submission.closed.append(index)
            elif bits & slot.bit:
                submission.duplicate += 1
            else:
                bits |= slot.bit
                fold.add(response)
                submission.accepted += 1
        if bits:
            self._added[row.id] += known is None
            if bits != known:
                self._bits[device] = self._changed[device] = bits

    def write(self) -> None:
        """Write the ledger rows and the tallies that changed."""
        self._tx.put_ledger(self._changed, self._added)
        self._tx.put_pending(
            {fold.key: fold.result() for fold in self._folds.values() if fold.responses}
        )


class Fold:
    """A pending tally and the responses of one group to add to it."""

    __slots__ = ("_pending", "_shape", "add", "key", "responses")

    def __init__(self, key: PendingKey, shape: Shape, pending: Pending | None) -> None:
        self.key = key
        self._shape = shape
        self._pending = pending
        self.responses: list[Response] = []
        self.add = self.responses.append

    def result(self) -> Pending:
        """Return the tally with the responses in it."""
        cells = fold_all(self._shape, self.responses)
        n = len(self.responses)
        if self._pending is not None:
            cells += np.frombuffer(self._pending.cells, CELL)
            n += self._pending.n
        return Pending(n, cells.tobytes())


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
