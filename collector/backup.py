"""Backups: what a collector may lose least, in a file that holds nothing that could be linked.

A backup is an SQLite store of its own that analysts can read: surveys, questions, released tallies
and batches, what was destroyed, the hashes of tokens, and which periods are not to be opened again.
What must never change: no tally that waits for its release, no ledger row, no sealed report and no
key is ever in one, so that whoever finds a backup learns what was released and nothing else.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlite_utils import Database

from deniable.protocol.errors import StoreError

from .catalogue import newest_edition
from .counted import counted
from .store.backup_mark import is_backup, mark_backup
from .store.base import BatchPart, Reader, Registered, Released, Settled, Store, Transaction
from .store.migrations import MIGRATIONS
from .store.sqlite import SQLiteStore, migrate
from .store.sqlite_errors import wrapped
from .store.sqlite_reading import Reading

Views = Callable[[], AbstractContextManager[Reader]]
Name = tuple[str, str, int]
Numbers = Mapping[Name, int]
"""The number of a question version, by survey, question and version."""

_GIVE_ONE = "give a file that deniable-collector backup wrote"


@dataclass(frozen=True, slots=True)
class Copied:
    """How much was copied: released tallies, parts of released batches, questions, tokens."""

    tallies: int
    parts: int
    questions: int
    tokens: int

    def __str__(self) -> str:
        tallies = f"{self.tallies} released {'tally' if self.tallies == 1 else 'tallies'}"
        parts = counted(self.parts, "part") + " of sealed batches"
        rest = f"{counted(self.questions, 'question')}, {counted(self.tokens, 'token')}"
        return f"{tallies}, {parts}, {rest}"


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
        raise StoreError(f"{path}: there is no such file; {_GIVE_ONE}")
    try:
        with closing(_connect(path)) as file:
            if not is_backup(file):
                raise StoreError(f"{path}: is no backup; make one with deniable-collector backup")
            if file.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise StoreError(f"{path}: is damaged; take another backup")
            with _current(path, file) as connection:
                yield Reading(connection)
    except sqlite3.Error as exc:
        if exc.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
            raise StoreError(f"{path}: {exc}; {_GIVE_ONE}") from exc
        if exc.sqlite_errorcode == sqlite3.SQLITE_CORRUPT:
            raise StoreError(f"{path}: is damaged; take another backup") from exc
        raise wrapped(path, exc) from exc


def copy_records(views: Views, tx: Transaction) -> Copied:
    """Copy what a backup holds into an empty store; questions get new numbers.

    Every scope that ever held rows becomes a closed one. They are read first, and each view is
    short, for one that lingers holds up a collector's commits: what is released meanwhile may be
    copied too, from a period that stays closed.
    """
    with views() as source:
        known, surveys, tokens = source.questions(), source.surveys(), source.tokens()
        gone = list(source.destroyed())
        scopes = [*source.closed_scopes(), *source.open_scopes()]
        tx.raise_watermark(source.watermark())
    for entry in known:
        tx.put_question(entry.question)
    for survey in surveys:
        tx.put_survey(newest_edition(survey), survey.segments)
    for scope in scopes:
        tx.close_scope(scope)
    for name, token in tokens.items():
        tx.put_token(name, token)
    numbers = {_name(entry): entry.id for entry in tx.questions()}
    moved = {entry.id: numbers[_name(entry)] for entry in known}
    for tally in gone:
        place = tally.place._replace(question=moved[tally.place.question])
        tx.put_destroyed(replace(tally, place=place))
    names = dict.fromkeys((survey, question) for survey, question, _ in numbers)
    tallies = sum(_copy_tallies(views, tx, numbers, *name) for name in names)
    parts = sum(_copy_batches(views, tx, numbers, *name) for name in names)
    return Copied(tallies, parts, len(known), len(tokens))


def _copy_tallies(
    views: Views, tx: Transaction, numbers: Numbers, survey: str, question: str
) -> int:
    """Copy the released tallies of a question, of every version; return how many."""
    with views() as source:
        documents = source.tallies(survey, question)
    for text in documents:
        tally = json.loads(text)
        number = numbers[survey, question, tally["question"]["version"]]
        place = Settled(number, tally["period"], tally["batch"], tally["segment"])
        tx.put_released(Released(place, tally["n"], text))
    return len(documents)


def _copy_batches(
    views: Views, tx: Transaction, numbers: Numbers, survey: str, question: str
) -> int:
    """Copy the parts of a question's released batches, one at a time; return how many."""
    with views() as source:
        entries = source.batches(survey, question)
    for entry in sorted(entries, key=lambda entry: entry.id):
        with views() as source:
            text = source.batch(survey, question, entry.id)
        if text is None:
            raise StoreError("batches: one that was released is not there")
        number = numbers[survey, question, entry.version]
        place = Settled(number, entry.period, entry.batch, entry.segment)
        tx.put_batch(BatchPart(place, entry.n, entry.part, entry.parts, text))
    return len(entries)


def _name(entry: Registered) -> Name:
    question = entry.question
    return question.survey, question.id, question.version


def _fill(draft: Path, store: Store) -> Copied:
    with closing(SQLiteStore.open(draft, create=True)) as new, new.transaction() as tx:
        copied = copy_records(store.read, tx)
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
