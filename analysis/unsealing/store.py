"""The analyst's own file of opened batches: tallies, and what was seen so that it counts once.

It has the two views of a collector's store that analysts read, so every command takes it after
``--from``. What must never change: a batch is written whole or not at all, and never twice; no
report and no response is in it.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from deniable.protocol.errors import StoreError
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

from .opening import REASONS
from .places import BatchName

_MARK = 0x756E736C  # "unsl"
_VERSION = 1
_BUSY_SECONDS = 5.0

# batch and segment are '' for none, for a key cannot hold NULL.
_SCHEMA = f"""
CREATE TABLE batches (
    survey TEXT, question TEXT, version INTEGER, period TEXT, batch TEXT, segment TEXT,
    state TEXT NOT NULL CHECK (state IN ('released', 'destroyed')),
    n INTEGER NOT NULL, opened INTEGER NOT NULL, by_key TEXT NOT NULL,
    {", ".join(f"{reason} INTEGER NOT NULL" for reason in REASONS)},
    min_crowd INTEGER NOT NULL, document TEXT,
    PRIMARY KEY (survey, question, version, period, batch, segment)
) WITHOUT ROWID;
CREATE TABLE encapsulations (hash BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE VIEW released_tallies AS
    SELECT survey, question, version, period, nullif(batch, '') AS batch,
           nullif(segment, '') AS segment, opened AS n, document
    FROM batches WHERE state = 'released';
CREATE VIEW period_states AS
    SELECT survey, question, version, period, nullif(batch, '') AS batch,
           nullif(segment, '') AS segment, state,
           CASE state WHEN 'released' THEN CAST(opened AS TEXT)
               ELSE 'fewer than ' || min_crowd END AS crowd
    FROM batches;
PRAGMA application_id = {_MARK};
PRAGMA user_version = {_VERSION};
"""  # noqa: S608


@dataclass(frozen=True)
class Settled:
    """What became of one batch.

    Attributes
    ----------
    state : "released" or "destroyed"
    n : int
        Reports the collector released.
    opened : int
        Those that count.
    by_key : dict
        The same, by the key they were sealed for; empty if destroyed.
    dropped : dict
        The others, by reason.
    min_crowd : int
        That was needed.
    """

    state: str
    n: int
    opened: int
    by_key: dict[str, int]
    dropped: dict[str, int]
    min_crowd: int


class OpenedStore:
    """One such file, made if there is none.

    Raises
    ------
    StoreError
        If it is anything else, or cannot be used.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # A new file is its owner's alone, and SQLite's journal takes after it.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._db = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        except (sqlite3.Error, OSError, ValueError) as exc:
            self._fail(exc)
        try:
            with self.transaction():
                self._prepare()
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> OpenedStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do everything inside durably or not at all, with nobody else writing meanwhile."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as exc:
            self._fail(exc)

    def settled(self, question: tuple[str, str], name: BatchName) -> Settled | None:
        """Return what became of a batch; None if it was not opened yet."""
        row = self._db.execute(
            f"""SELECT state, n, opened, by_key, min_crowd, {", ".join(REASONS)} FROM batches
            WHERE survey = ? AND question = ? AND version = ? AND period = ? AND batch = ?
            AND segment = ?""",  # noqa: S608
            (*question, name.version, name.period, name.batch or "", name.segment or ""),
        ).fetchone()
        if row is None:
            return None
        state, n, opened, by_key, min_crowd, *dropped = row
        reasons = dict(zip(REASONS, dropped, strict=True))
        return Settled(state, n, opened, json.loads(by_key), reasons, min_crowd)

    def remember(self, encapsulation: bytes) -> bool:
        """Keep the hash of an encapsulation; return whether it is new."""
        statement = "INSERT OR IGNORE INTO encapsulations VALUES (?)"
        return self._db.execute(statement, (encapsulation,)).rowcount == 1

    @contextmanager
    def attempt(self) -> Iterator[Attempt]:
        """Within a transaction: what is done inside is undone if the attempt is given up."""
        self._db.execute("SAVEPOINT attempt")
        attempt = Attempt()
        yield attempt
        if attempt.given_up:
            self._db.execute("ROLLBACK TO attempt")
        self._db.execute("RELEASE attempt")

    def settle(
        self, question: Question, name: BatchName, settled: Settled, tally: Tally | None
    ) -> None:
        """Write what became of a batch; its tally if it is released."""
        document = None if tally is None else json.dumps(tally.document(), ensure_ascii=False)
        values = (
            question.survey, question.id, name.version, name.period, name.batch or "",
            name.segment or "", settled.state, settled.n, settled.opened,
            json.dumps(settled.by_key, sort_keys=True),
            *(settled.dropped[reason] for reason in REASONS), settled.min_crowd, document,
        )  # fmt: skip
        marks = ", ".join("?" * len(values))
        self._db.execute(f"INSERT INTO batches VALUES ({marks})", values)  # noqa: S608

    def _prepare(self) -> None:
        """Make the tables of a new file; refuse a file that is another program's."""
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        (mark,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if tables == 0 and mark == 0:
            for statement in _SCHEMA.split(";\n"):
                self._db.execute(statement)
        elif mark != _MARK:
            raise StoreError(f"{self._path} is no file of `deniable unseal`; give a new one")
        elif version > _VERSION:
            raise StoreError(f"{self._path} was written by a newer deniable; upgrade this one")

    def _fail(self, exc: Exception) -> NoReturn:
        hint = "give a file of `deniable unseal`, or a new one"
        if getattr(exc, "sqlite_errorname", "") == "SQLITE_BUSY":
            hint = "another process is using it; try again"
        raise StoreError(f"{self._path} cannot be used ({exc}); {hint}") from exc


class Attempt:
    """Something that may be given up."""

    given_up = False

    def give_up(self) -> None:
        """Undo what was done since it began."""
        self.given_up = True
