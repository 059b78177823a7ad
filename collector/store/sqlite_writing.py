"""What is written to an SQLite store, in the transaction that is open."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from deniable.protocol.errors import StoreError
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey, compile_survey

from .base import (
    BatchPart,
    Destroyed,
    Device,
    Pending,
    PendingKey,
    Released,
    Scope,
    ScopeRow,
    Settled,
    Token,
)
from .sqlite_chunks import chunks, marks, row_marks, values_of
from .sqlite_reading import Reading
from .sqlite_sealed import add_reports, read_reports

_SMALL = 1024


class Writing(Reading):
    """The steps of the transaction that is open on a connection."""

    shard = 0

    def raise_watermark(self, moment: datetime) -> None:
        """Move the watermark unless it is there already."""
        if moment > self.watermark():
            self._set_clock(moment.astimezone(UTC), self.edition())

    def set_back_watermark(self, moment: datetime) -> None:
        """Write it."""
        self._set_clock(moment.astimezone(UTC), self.edition())

    def _set_clock(self, watermark: datetime, edition: int) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO clock (id, watermark, edition) VALUES (1, ?, ?)",
            (watermark.isoformat(), edition),
        )

    def probe(self) -> None:
        """Flip a bit; SQLite does not write what stays the same."""
        self._db.execute(
            "INSERT INTO probe (id, flip) VALUES (1, 0)"
            " ON CONFLICT (id) DO UPDATE SET flip = 1 - flip"
        )

    def put_survey(self, survey: Survey, segments: Sequence[str]) -> None:
        """Write the newest edition."""
        self._db.execute(
            "INSERT OR REPLACE INTO surveys (id, document, segments) VALUES (?, ?, ?)",
            (survey.id, compile_survey(survey), json.dumps(segments, ensure_ascii=False)),
        )
        self._set_clock(self.watermark(), self.edition() + 1)

    def put_question(self, question: Question) -> None:
        """Write a question; a new one gets the survey's next bit."""
        self._db.execute(
            "INSERT INTO questions (survey, question, version, bit, definition) VALUES"
            " (?1, ?2, ?3, (SELECT count(*) FROM questions WHERE survey = ?1), ?4)"
            " ON CONFLICT (survey, question, version)"
            " DO UPDATE SET definition = excluded.definition",
            (
                question.survey,
                question.id,
                question.version,
                json.dumps(question.document(), ensure_ascii=False),
            ),
        )

    def add_scope(self, scope: Scope, check: bytes) -> ScopeRow:
        """Insert a scope; nobody else can at the same time."""
        self._db.execute(
            "INSERT OR IGNORE INTO scopes (survey, period, question, version, key_check)"
            " VALUES (?, ?, ?, ?, ?)",
            (*scope, check),
        )
        row = self.scope(scope)
        if row is None:
            raise StoreError("scopes: a row that was written is not there")
        return row

    def close_scope(self, scope: Scope) -> None:
        """Mark the scope."""
        row = self.add_scope(scope, b"")
        self._db.execute("UPDATE scopes SET closed = 1 WHERE id = ?", (row.id,))

    def sweep(self, limit: int) -> int:
        """Delete rows, which secure_delete overwrites."""
        deleted = 0
        closed = self._db.execute("SELECT id FROM scopes WHERE closed AND devices").fetchall()
        for (scope,) in closed:
            cursor = self._db.execute(
                "DELETE FROM ledger WHERE scope = ?1 AND tag IN"
                " (SELECT tag FROM ledger WHERE scope = ?1 LIMIT ?2)",
                (scope, limit - deleted),
            )
            deleted += cursor.rowcount
            if deleted >= limit:
                break
            self._db.execute("UPDATE scopes SET devices = 0 WHERE id = ?", (scope,))
        return deleted

    def answered(self, devices: Collection[Device]) -> dict[Device, int]:
        """Look devices up, a scope at a time."""
        tags: dict[int, list[bytes]] = {}
        for device in devices:
            tags.setdefault(device.scope, []).append(device.tag)
        return {
            Device(scope, tag): int.from_bytes(bits, "little")
            for scope, wanted in tags.items()
            for some in chunks(wanted)
            for tag, bits in self._db.execute(
                "SELECT tag, bits FROM ledger WHERE scope = ? AND tag IN"  # noqa: S608
                f" ({marks(len(some))})",
                (scope, *some),
            )
        }

    def put_ledger(self, bits: Mapping[Device, int], added: Mapping[int, int]) -> None:
        """Write rows in the order of their tags."""
        known = [self._take_small_ledger(scope) for scope in {device.scope for device in bits}]
        merged = {device: row for rows in [*known, bits] for device, row in rows.items()}
        rows = [(*device, _packed(row)) for device, row in sorted(merged.items())]
        for some in chunks(rows):
            self._db.execute(
                f"INSERT INTO ledger (scope, tag, bits) VALUES {row_marks(some)}"  # noqa: S608
                " ON CONFLICT (scope, tag) DO UPDATE SET bits = excluded.bits",
                values_of(some),
            )
        self._db.executemany(
            "UPDATE scopes SET devices = devices + ? WHERE id = ?",
            [(count, scope) for scope, count in added.items()],
        )

    def _take_small_ledger(self, scope: int) -> dict[Device, int]:
        """Take out a scope's rows if they are few, to be written again among the new ones.

        A page lays its rows out as they came until it is split or balanced, so that the bytes
        of a ledger of a few pages would tell who came first.
        """
        rows = self._db.execute(
            "SELECT l.tag, l.bits FROM scopes s JOIN ledger l ON l.scope = s.id"
            " WHERE s.id = ? AND s.devices < ?",
            (scope, _SMALL),
        ).fetchall()
        if rows:
            self._db.execute("DELETE FROM ledger WHERE scope = ?", (scope,))
        return {Device(scope, tag): int.from_bytes(bits, "little") for tag, bits in rows}

    def settled(self, keys: Collection[PendingKey]) -> set[PendingKey]:
        """Look among the released and the destroyed."""
        return {key for key in keys if self._settled(key.question, key.period)}

    def _settled(self, question: int, period: str) -> bool:
        row = self._db.execute(
            "SELECT EXISTS (SELECT 1 FROM released WHERE question = ?1 AND period = ?2)"
            " OR EXISTS (SELECT 1 FROM batches WHERE question = ?1 AND period = ?2)"
            " OR EXISTS (SELECT 1 FROM destroyed WHERE question = ?1 AND period = ?2)",
            (question, period),
        ).fetchone()
        return bool(row[0])

    def pending(self, keys: Collection[PendingKey]) -> dict[PendingKey, Pending]:
        """Return some tallies."""
        places = [(key.question, key.period, key.segment or "") for key in keys]
        found: dict[PendingKey, Pending] = {}
        for some in chunks(places):
            found |= self._pending(
                f" WHERE (question, period, segment) IN (VALUES {row_marks(some)})",
                values_of(some),
            )
        return found

    def all_pending(self) -> dict[PendingKey, list[Pending]]:
        """Return all tallies; there are no shards."""
        return {key: [pending] for key, pending in self._pending("", ()).items()}

    def _pending(self, where: str, values: Sequence[object]) -> dict[PendingKey, Pending]:
        return {
            PendingKey(question, period, segment or None): Pending(n, cells)
            for question, period, segment, n, cells in self._db.execute(
                f"SELECT question, period, segment, n, cells FROM pending{where}",  # noqa: S608
                values,
            )
        }

    def put_pending(self, tallies: Mapping[PendingKey, Pending]) -> None:
        """Insert or update tallies."""
        rows = [
            (key.question, key.period, key.segment or "", pending.n, pending.cells)
            for key, pending in tallies.items()
        ]
        for some in chunks(rows):
            self._db.execute(
                "INSERT INTO pending (question, period, segment, n, cells)"  # noqa: S608
                f" VALUES {row_marks(some)} ON CONFLICT (question, period, segment)"
                " DO UPDATE SET n = excluded.n, cells = excluded.cells",
                values_of(some),
            )

    def drop_pending(self, key: PendingKey) -> None:
        """Delete a tally and its reports, which secure_delete overwrites."""
        for table in ("pending", "sealed"):
            self._db.execute(
                f"DELETE FROM {table} WHERE question = ? AND period = ? AND segment = ?",  # noqa: S608
                (key.question, key.period, key.segment or ""),
            )

    def add_sealed(self, reports: Mapping[PendingKey, Sequence[bytes]]) -> None:
        """Insert reports at random places."""
        for key, some in reports.items():
            add_reports(self._db, key, some)

    def sealed(self, key: PendingKey) -> Iterator[bytes]:
        """Yield reports in the order of their places."""
        return read_reports(self._db, key)

    def put_released(self, tally: Released) -> None:
        """Insert a document."""
        self._db.execute(
            "INSERT INTO released (question, period, batch, segment, n, document)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (*_place(tally.place), tally.n, tally.document),
        )

    def put_batch(self, part: BatchPart) -> None:
        """Insert a document."""
        self._db.execute(
            "INSERT INTO batches (question, period, batch, segment, n, part, parts, document)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*_place(part.place), part.n, part.part, part.parts, part.document),
        )

    def put_destroyed(self, tally: Destroyed) -> None:
        """Insert the mark."""
        self._db.execute(
            "INSERT INTO destroyed (question, period, batch, segment, min_crowd)"
            " VALUES (?, ?, ?, ?, ?)",
            (*_place(tally.place), tally.min_crowd),
        )

    def put_token(self, name: str, token: Token) -> bool:
        """Insert a hash and its scopes."""
        cursor = self._db.execute(
            "INSERT INTO tokens (name, hash, scopes) VALUES (?, ?, ?)"
            " ON CONFLICT (name) DO NOTHING",
            (name, token.digest, " ".join(token.scopes)),
        )
        return cursor.rowcount == 1

    def drop_token(self, name: str) -> bool:
        """Delete a hash."""
        return self._db.execute("DELETE FROM tokens WHERE name = ?", (name,)).rowcount == 1

    def plain(self) -> dict[PendingKey, Pending]:
        """Return the rows that were not encrypted yet."""
        rows = self._db.execute("SELECT question, period, segment, n, cells FROM pending_plain")
        return {
            PendingKey(question, period, segment or None): Pending(n, cells)
            for question, period, segment, n, cells in rows
        }

    def drop_plain(self, key: PendingKey) -> None:
        """Delete a row, which secure_delete overwrites."""
        self._db.execute(
            "DELETE FROM pending_plain WHERE question = ? AND period = ? AND segment = ?",
            (key.question, key.period, key.segment or ""),
        )


def _place(place: Settled) -> tuple[int, str, str, str]:
    return place.question, place.period, place.batch or "", place.segment or ""


def _packed(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")
