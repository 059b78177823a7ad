"""What a transaction of a PostgreSQL store writes while it counts.

A transaction writes the rows of its own shard and of the devices it counts, these in the order of
their tags, so that no two that count can wait for each other in a circle.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg import Connection

from deniable.protocol.errors import StoreError

from .base import (
    ConflictError,
    Device,
    Pending,
    PendingKey,
    Scope,
    ScopeRow,
)
from .postgres_reading import Reading

_PLACE_BYTES = 16

_PUT_LEDGER = """
WITH fresh AS (
    INSERT INTO ledger (scope, tag, bits)
    SELECT * FROM unnest(%b::bigint[], %b::bytea[], %b::bytea[])
    ON CONFLICT (scope, tag) DO NOTHING
    RETURNING 1
), known AS (
    UPDATE ledger l SET bits = given.bits
    FROM unnest(%b::bigint[], %b::bytea[], %b::bytea[]) AS given (scope, tag, bits)
    WHERE l.scope = given.scope AND l.tag = given.tag
    RETURNING 1
), counted AS (
    INSERT INTO scope_devices (scope, shard, devices)
    SELECT scope, %s, devices FROM unnest(%b::bigint[], %b::bigint[]) AS given (scope, devices)
    ON CONFLICT (scope, shard) DO UPDATE SET devices = scope_devices.devices + excluded.devices
)
SELECT (SELECT count(*) FROM fresh) + (SELECT count(*) FROM known)
"""
_KEYS = "unnest(%b::bigint[], %b::text[], %b::text[]) AS given (question, period, segment)"


@dataclass(frozen=True, slots=True)
class Begun:
    """What a transaction found when it began, which nobody else changes while it lasts.

    Others may add devices to the scopes, or new scopes, if it counts.
    """

    watermark: datetime
    edition: int
    scopes: Mapping[Scope, ScopeRow]
    shard: int


class Counting(Reading):
    """The steps of counting, on a connection in a transaction."""

    def __init__(self, connection: Connection, begun: Begun) -> None:
        super().__init__(connection)
        self._watermark = begun.watermark
        self._edition = begun.edition
        self._scopes_found = dict(begun.scopes)
        self.shard = begun.shard
        self._known: set[Device] = set()

    def watermark(self) -> datetime:
        """Return what this transaction read or wrote."""
        return self._watermark

    def edition(self) -> int:
        """Return what this transaction read or wrote."""
        return self._edition

    def probe(self) -> None:
        """Flip the shard's bit."""
        self._db.execute(
            "INSERT INTO probe (shard, flip) VALUES (%s, false)"
            " ON CONFLICT (shard) DO UPDATE SET flip = NOT probe.flip",
            (self.shard,),
        )

    def scope(self, scope: Scope) -> ScopeRow | None:
        """Return a scope as it was when the transaction began, or as it is now."""
        return self._scopes_found.get(scope) or super().scope(scope)

    def add_scope(self, scope: Scope, check: bytes) -> ScopeRow:
        """Insert a scope, after another process that inserts it too."""
        self._db.execute(
            "INSERT INTO scopes (survey, period, question, version, key_check)"
            " VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
            (*scope, check),
        )
        self._scopes_found.pop(scope, None)
        row = self.scope(scope)
        if row is None:
            raise StoreError("scopes: a row that was written is not there")
        return row

    def answered(self, devices: Collection[Device]) -> dict[Device, int]:
        """Look devices up, and keep other processes from changing their rows."""
        if not devices:
            return {}
        scopes, tags = zip(*devices, strict=True)
        rows = self._rows(
            "SELECT l.scope, l.tag, l.bits FROM unnest(%b::bigint[], %b::bytea[])"
            " AS given (scope, tag) JOIN ledger l USING (scope, tag)"
            " ORDER BY l.scope, l.tag FOR UPDATE OF l",
            (list(scopes), list(tags)),
        )
        found = {Device(scope, tag): int.from_bytes(bits, "little") for scope, tag, bits in rows}
        self._known |= found.keys()
        return found

    def put_ledger(self, bits: Mapping[Device, int], added: Mapping[int, int]) -> None:
        """Insert the rows of new devices, update those of known ones."""
        if not bits and not any(added.values()):
            return
        rows = [(*device, _packed(row)) for device, row in sorted(bits.items())]
        known = [row for row in rows if row[:2] in self._known]
        fresh = [row for row in rows if row[:2] not in self._known]
        counts = sorted((scope, count) for scope, count in added.items() if count)
        ((written,),) = self._rows(
            _PUT_LEDGER,
            (*_columns(fresh, 3), *_columns(known, 3), self.shard, *_columns(counts, 2)),
        )
        if written != len(rows):
            raise ConflictError("ledger: another process counted the same device")
        self._known |= bits.keys()
        self._scopes_found.clear()

    def settled(self, keys: Collection[PendingKey]) -> set[PendingKey]:
        """Look among the released, the batches and the destroyed."""
        if not keys:
            return set()
        found = " OR ".join(
            f"EXISTS (SELECT 1 FROM {table} t WHERE"  # noqa: S608
            " (t.question, t.period) = (given.question, given.period))"
            for table in ("released", "batches", "destroyed")
        )
        rows = self._rows(f"SELECT given.* FROM {_KEYS} WHERE {found}", _key_columns(keys))  # noqa: S608
        return {tally_key(*row) for row in rows}

    def pending(self, keys: Collection[PendingKey]) -> dict[PendingKey, Pending]:
        """Return some tallies of the shard."""
        if not keys:
            return {}
        rows = self._rows(
            "SELECT question, period, segment, p.n, p.cells"  # noqa: S608
            f" FROM {_KEYS} JOIN pending p USING (question, period, segment) WHERE p.shard = %s",
            (*_key_columns(keys), self.shard),
        )
        return {tally_key(*place): Pending(n, cells, self.shard) for *place, n, cells in rows}

    def put_pending(self, tallies: Mapping[PendingKey, Pending]) -> None:
        """Insert or update tallies of the shard."""
        if not tallies:
            return
        self._db.execute(
            "INSERT INTO pending (question, period, segment, shard, n, cells)"
            " SELECT question, period, segment, %s, n, cells FROM unnest"
            "(%b::bigint[], %b::text[], %b::text[], %b::bigint[], %b::bytea[])"
            " AS given (question, period, segment, n, cells)"
            " ON CONFLICT (question, period, segment, shard)"
            " DO UPDATE SET n = excluded.n, cells = excluded.cells",
            (self.shard, *_key_columns(tallies), *_columns([*tallies.values()], 2)),
        )

    def add_sealed(self, reports: Mapping[PendingKey, Sequence[bytes]]) -> None:
        """Insert reports at random places, in the order of these."""
        rows = sorted(
            (*place_of(key), os.urandom(_PLACE_BYTES), report)
            for key, some in reports.items()
            for report in some
        )
        self._db.execute(
            "INSERT INTO sealed (question, period, segment, place, body) SELECT * FROM"
            " unnest(%b::bigint[], %b::text[], %b::text[], %b::bytea[], %b::bytea[])",
            _columns(rows, 5),
        )


def tally_key(question: int, period: str, segment: str) -> PendingKey:
    """Return the key that these columns are."""
    return PendingKey(question, period, segment or None)


def place_of(key: PendingKey) -> tuple[int, str, str]:
    """Return the columns that a key is."""
    return key.question, key.period, key.segment or ""


def _columns(rows: Sequence[Sequence[object]], width: int) -> list[list[object]]:
    """Turn rows into the arrays that PostgreSQL turns into rows again."""
    return [[row[index] for row in rows] for index in range(width)]


def _key_columns(keys: Collection[PendingKey]) -> list[list[object]]:
    return _columns([place_of(key) for key in keys], 3)


def _packed(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")
