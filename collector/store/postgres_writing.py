"""What is written to a PostgreSQL store beside counting, in the transaction that is open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from deniable.protocol.question import Question
from deniable.protocol.survey import Survey, compile_survey

from .base import (
    BatchPart,
    Destroyed,
    Pending,
    PendingKey,
    Released,
    Scope,
    Settled,
    Token,
)
from .postgres_counting import Counting, place_of, tally_key

_AT_ONCE = 1024


class Writing(Counting):
    """The steps of a transaction on a connection."""

    def raise_watermark(self, moment: datetime) -> None:
        """Move the watermark unless it is there already."""
        if moment > self._watermark:
            self.set_back_watermark(moment)

    def set_back_watermark(self, moment: datetime) -> None:
        """Write it."""
        self._db.execute("UPDATE clock SET watermark = %s", (moment,))
        self._watermark = moment

    def put_survey(self, survey: Survey, segments: Sequence[str]) -> None:
        """Write the newest edition."""
        self._db.execute(
            "INSERT INTO surveys (id, document, segments) VALUES (%s, %s, %s) ON CONFLICT (id)"
            " DO UPDATE SET document = excluded.document, segments = excluded.segments",
            (survey.id, compile_survey(survey), list(segments)),
        )
        self._db.execute("UPDATE clock SET edition = edition + 1")
        self._edition += 1

    def put_question(self, question: Question) -> None:
        """Write a question; a new one gets the survey's next bit."""
        definition = json.dumps(question.document(), ensure_ascii=False)
        name = (question.survey, question.id, question.version)
        done = self._db.execute(
            "UPDATE questions SET definition = %s WHERE (survey, question, version) = (%s, %s, %s)",
            (definition, *name),
        )
        if not done.rowcount:
            self._db.execute(
                "INSERT INTO questions (survey, question, version, bit, definition) VALUES"
                " (%s, %s, %s, (SELECT count(*) FROM questions WHERE survey = %s), %s)",
                (*name, question.survey, definition),
            )

    def close_scope(self, scope: Scope) -> None:
        """Mark the scope."""
        row = self.add_scope(scope, b"")
        self._db.execute("UPDATE scopes SET closed = true WHERE id = %s", (row.id,))
        self._scopes_found.pop(scope, None)

    def sweep(self, limit: int) -> int:
        """Delete rows that no other process is deleting."""
        deleted = 0
        for (scope,) in self._rows("SELECT id FROM scopes WHERE closed AND NOT swept ORDER BY id"):
            deleted += self._db.execute(
                "WITH chosen AS (SELECT scope, tag FROM ledger WHERE scope = %s"
                " ORDER BY scope, tag LIMIT %s FOR UPDATE SKIP LOCKED)"
                " DELETE FROM ledger l USING chosen c WHERE (l.scope, l.tag) = (c.scope, c.tag)",
                (scope, limit - deleted),
            ).rowcount
            if deleted >= limit:
                break
            self._finish_sweep(scope)
        return deleted

    def _finish_sweep(self, scope: int) -> None:
        done = self._db.execute(
            "UPDATE scopes SET swept = true WHERE id = %s AND NOT swept"
            " AND NOT EXISTS (SELECT 1 FROM ledger WHERE scope = %s)",
            (scope, scope),
        )
        if done.rowcount:
            self._db.execute("DELETE FROM scope_devices WHERE scope = %s", (scope,))

    def all_pending(self) -> dict[PendingKey, list[Pending]]:
        """Return all tallies."""
        found: dict[PendingKey, list[Pending]] = {}
        for *place, n, cells, shard in self._rows(
            "SELECT question, period, segment, n, cells, shard FROM pending"
            " ORDER BY question, period, segment, shard"
        ):
            found.setdefault(tally_key(*place), []).append(Pending(n, cells, shard))
        return found

    def drop_pending(self, key: PendingKey) -> None:
        """Delete every shard of a tally, and its reports."""
        for table in ("pending", "sealed"):
            self._db.execute(
                f"DELETE FROM {table} WHERE (question, period, segment) = (%s, %s, %s)",  # noqa: S608
                place_of(key),
            )

    def sealed(self, key: PendingKey) -> Iterator[bytes]:
        """Yield reports in the order of their places."""
        last = b""
        while True:
            rows = self._rows(
                "SELECT place, body FROM sealed WHERE (question, period, segment) = (%s, %s, %s)"
                " AND place > %s ORDER BY place LIMIT %s",
                (*place_of(key), last, _AT_ONCE),
            )
            if not rows:
                return
            yield from (body for _, body in rows)
            last = rows[-1][0]

    def put_released(self, tally: Released) -> None:
        """Insert a document."""
        self._db.execute(
            "INSERT INTO released (question, period, batch, segment, n, document)"
            " VALUES (%s, %s, %s, %s, %s, %s)",
            (*_settled_place(tally.place), tally.n, tally.document),
        )

    def put_batch(self, part: BatchPart) -> None:
        """Insert a document."""
        self._db.execute(
            "INSERT INTO batches (question, period, batch, segment, n, part, parts, document)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
            (*_settled_place(part.place), part.n, part.part, part.parts, part.document),
        )

    def put_destroyed(self, tally: Destroyed) -> None:
        """Insert the mark."""
        self._db.execute(
            "INSERT INTO destroyed (question, period, batch, segment, min_crowd)"
            " VALUES (%s, %s, %s, %s, %s)",
            (*_settled_place(tally.place), tally.min_crowd),
        )

    def put_token(self, name: str, token: Token) -> bool:
        """Insert a hash and its scopes."""
        done = self._db.execute(
            "INSERT INTO tokens (name, digest, scopes) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING",
            (name, token.digest, list(token.scopes)),
        )
        return done.rowcount == 1

    def drop_token(self, name: str) -> bool:
        """Delete a hash."""
        return self._db.execute("DELETE FROM tokens WHERE name = %s", (name,)).rowcount == 1

    def plain(self) -> dict[PendingKey, Pending]:
        """Return nothing: no PostgreSQL store was ever without encryption."""
        return {}

    def drop_plain(self, key: PendingKey) -> None:
        """Do nothing; there is none."""


def _settled_place(place: Settled) -> tuple[int, str, str, str]:
    return place.question, place.period, place.batch or "", place.segment or ""
