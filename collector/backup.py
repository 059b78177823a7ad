"""Backups: what a collector may lose least, in a file that holds nothing that could be linked.

A backup is an SQLite store of its own that analysts can read: surveys, questions, released tallies
and batches, what was destroyed, the hashes of tokens, and which periods are not to be opened again.
What must never change: no tally that waits for its release, no ledger row, no sealed report and no
key is ever in one, so that whoever finds a backup learns what was released and nothing else.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlite_utils import Database

from deniable.protocol.errors import StoreError

from .catalogue import newest_edition
from .store.backup_mark import is_backup, mark_backup
from .store.base import Reader, Registered, Settled, Store, Transaction
from .store.migrations import MIGRATIONS
from .store.sqlite import SQLiteStore, migrate
from .store.sqlite_reading import Reading


@dataclass(frozen=True, slots=True)
class Copied:
    """How much was copied: released tallies, parts of released batches, questions, tokens."""

    tallies: int
    parts: int
    questions: int
    tokens: int

    def __str__(self) -> str:
        return (
            f"{self.tallies} released tallies, {self.parts} parts of sealed batches,"
            f" {self.questions} questions, {self.tokens} tokens"
        )


def write_backup(store: Store, path: Path) -> Copied:
    """Write a backup of a store into a new file, while collectors count into the store.

    The file appears under its name when it is whole and on the disk.

    Raises
    ------
    StoreError
        If there is such a file, it cannot be written, or the store cannot be read.
    """
    if path.exists() or path.is_symlink():
        raise StoreError(f"{path}: exists; a backup never overwrites, choose another name")
    try:
        with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
            draft = Path(folder) / "backup.db"
            copied = _fill(draft, store)
            _appear(draft, path)
    except OSError as exc:
        raise StoreError(f"{path}: cannot be written ({exc.strerror})") from exc
    return copied


@contextmanager
def open_backup(path: Path) -> Iterator[Reader]:
    """Open a backup to read it; the file is not changed, even if an older deniable wrote it.

    Raises
    ------
    StoreError
        If it is no backup, damaged, or written by a newer deniable.
    """
    if not path.is_file():
        raise StoreError(f"{path}: there is no such file")
    try:
        with closing(_connect(path)) as file:
            if not is_backup(file):
                raise StoreError(f"{path}: is no backup; make one with deniable-collector backup")
            if file.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise StoreError(f"{path}: is damaged; take another backup")
            with _current(path, file) as connection:
                yield Reading(connection)
    except sqlite3.Error as exc:
        raise StoreError(f"{path}: {exc}") from exc


def copy_records(source: Reader, tx: Transaction) -> Copied:
    """Copy what a backup holds into an empty store; questions get new numbers.

    Every scope that ever held rows becomes a closed one.
    """
    known = source.questions()
    for entry in known:
        tx.put_question(entry.question)
    added = {_name(entry): entry.id for entry in tx.questions()}
    numbers = {entry.id: added[_name(entry)] for entry in known}

    def moved(place: Settled) -> Settled:
        return place._replace(question=numbers[place.question])

    for survey in source.surveys():
        tx.put_survey(newest_edition(survey), survey.segments)
    tallies = parts = 0
    for tally in source.released():
        tx.put_released(replace(tally, place=moved(tally.place)))
        tallies += 1
    for part in source.released_batches():
        tx.put_batch(replace(part, place=moved(part.place)))
        parts += 1
    for gone in source.destroyed():
        tx.put_destroyed(replace(gone, place=moved(gone.place)))
    for scope in [*source.closed_scopes(), *source.open_scopes()]:
        tx.close_scope(scope)
    tokens = source.tokens()
    for name, token in tokens.items():
        tx.put_token(name, token)
    tx.raise_watermark(source.watermark())
    return Copied(tallies, parts, len(known), len(tokens))


def _name(entry: Registered) -> tuple[str, str, int]:
    question = entry.question
    return question.survey, question.id, question.version


def _fill(draft: Path, store: Store) -> Copied:
    """Write the file; the store is read in one view, which waits for nothing but this disk."""
    with (
        closing(SQLiteStore.open(draft, create=True)) as new,
        store.read() as source,
        new.transaction() as tx,
    ):
        copied = copy_records(source, tx)
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        mark_backup(connection)
    return copied


def _appear(draft: Path, path: Path) -> None:
    """Take the name, which must be free, and give it to the whole file."""
    _sync(draft)
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        raise StoreError(f"{path}: exists; a backup never overwrites") from None
    draft.replace(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _current(path: Path, file: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Yield a backup in today's schema: the file, or an upgraded copy in memory."""
    if not MIGRATIONS.pending(Database(file, execute_plugins=False)):
        migrate(path, file)  # refuses a newer schema, and else does nothing
        yield file
        return
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
        file.backup(copy)
        migrate(path, copy)
        yield copy


def _connect(path: Path) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(address, uri=True, isolation_level=None)
