"""What a collector asks of a database: the records, and the steps of one transaction.

The rules of counting and closing are written once, over this interface, in ``shuffler`` and
``release``; a store only keeps rows. What must never change: a transaction is all or nothing and
durable before it returns; a counting one sees either the whole of a release or none of it, and
never counts a device twice, however many processes count. No record here holds a pseudonym, an
address, the time of a report or its response: what a store is given of a tally that still takes
reports, or of a sealed report, is encrypted under a key that the store does not have.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from deniable.protocol.errors import StoreError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey

OLDER_IN_USE = (
    "is in use by a collector of an older deniable, and this one would change its schema;"
    " stop the running collector first"
)
"""Why a store is not brought forward, after its name."""


BEGINNING = datetime.min.replace(tzinfo=UTC)
"""The watermark of a new store."""


class ConflictError(StoreError):
    """Another process counted the same device at the same moment: count again from the start."""


class Scope(NamedTuple):
    """Within what a device counts once: a survey's period, or one version of a once question."""

    survey: str
    period: str
    question: str = ""
    version: int = 0

    @classmethod
    def of(cls, question: Question, period: str) -> Scope:
        """Return within what a device answers a question once."""
        if question.period == "once":
            return cls(question.survey, period, question.id, question.version)
        return cls(question.survey, period)

    @property
    def name(self) -> str:
        """The scope as one word, such as ``acme-editor.2026-11-30``."""
        once = [self.question, str(self.version)] if self.question else []
        return ".".join([self.survey, self.period, *once])


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """What a store knows about a scope; ``closed`` is for good.

    ``check`` tells the scope's key from any other; empty if the row is older than that.
    """

    id: int
    devices: int
    closed: bool
    check: bytes


@dataclass(frozen=True, slots=True)
class Registered:
    """A question version that was loaded once and never forgotten; ``bit`` is its ledger bit."""

    id: int
    bit: int
    question: Question


@dataclass(frozen=True, slots=True)
class KnownSurvey:
    """A survey's newest edition as compiled JSON, and every segment it ever had."""

    id: str
    document: str
    segments: tuple[str, ...]


class Device(NamedTuple):
    """A device as the ledger knows it: a scope's id, and a tag that no one can undo."""

    scope: int
    tag: bytes


class PendingKey(NamedTuple):
    """Which tally: a registered question, a period, a segment."""

    question: int
    period: str
    segment: str | None


class Pending(NamedTuple):
    """A tally that still takes reports: how many, its cells, encrypted, and which shard it is.

    Of a sealed question the cells are empty and the reports are rows of their own.
    """

    n: int
    cells: bytes
    shard: int = 0


class Left(NamedTuple):
    """What left the shuffler at once: a registered question, a period, a batch; every segment."""

    question: int
    period: str
    batch: str | None


class Settled(NamedTuple):
    """Which tally left the shuffler: a registered question, a period, a batch, a segment."""

    question: int
    period: str
    batch: str | None
    segment: str | None


@dataclass(frozen=True, slots=True)
class Released:
    """A tally that was released, as JSON."""

    place: Settled
    n: int
    document: str


@dataclass(frozen=True, slots=True)
class Destroyed:
    """A tally that was destroyed, and the crowd it would have needed; 0: its key was lost."""

    place: Settled
    min_crowd: int


@dataclass(frozen=True, slots=True)
class BatchPart:
    """One part of a batch of sealed reports that was released, as JSON; ``n`` is the batch's."""

    place: Settled
    n: int
    part: int
    parts: int
    document: str


@dataclass(frozen=True, slots=True)
class BatchEntry:
    """Where one part of a released batch is found."""

    id: int
    version: int
    period: str
    batch: str | None
    segment: str | None
    n: int
    part: int
    parts: int


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token: its hash, and which doors it opens."""

    digest: bytes
    scopes: tuple[str, ...]


class Reader(Protocol):
    """What can be read beside a running transaction."""

    def identity(self) -> str:
        """Return what tells this store from any other: 32 hexadecimal digits.

        Drawn when it was made; a copy of the database has the same, a restored store its own.
        """

    def watermark(self) -> datetime:
        """Return the moment up to which periods are closed for good."""

    def edition(self) -> int:
        """Return a number that rises whenever a survey is loaded."""

    def surveys(self) -> list[KnownSurvey]:
        """Return every survey ever loaded."""

    def questions(self) -> list[Registered]:
        """Return every question version ever loaded, in order of their ids."""

    def scope(self, scope: Scope) -> ScopeRow | None:
        """Return a scope, or None if no report ever came for it."""

    def open_scopes(self) -> list[Scope]:
        """Return the scopes that hold ledger rows."""

    def closed_scopes(self) -> list[Scope]:
        """Return the scopes that were closed."""

    def left(self, places: Collection[tuple[int, str]]) -> set[Left]:
        """Return what of these questions and periods was released or destroyed."""

    def tallies(self, survey: str, question: str) -> list[str]:
        """Return the documents of a question's released tallies, oldest first."""

    def batches(self, survey: str, question: str) -> list[BatchEntry]:
        """Return the parts of a question's released batches, oldest period first."""

    def batch(self, survey: str, question: str, id: int) -> str | None:  # noqa: A002
        """Return the document of one part, None if the question has none of that id."""

    def states(self, survey: str | None = None) -> list[PeriodState]:
        """Return where every tally stands, by survey, question and period."""

    def pending_crowds(self) -> dict[tuple[str, str], int]:
        """Return, by survey and power of ten, how many tallies wait with such a crowd."""

    def released(self) -> Iterator[Released]:
        """Yield every released tally."""

    def released_batches(self) -> Iterator[BatchPart]:
        """Yield every part of every released batch."""

    def destroyed(self) -> Iterator[Destroyed]:
        """Yield every destroyed tally."""

    def tokens(self) -> Mapping[str, Token]:
        """Return what is kept of every token, by name."""


class Transaction(Reader, Protocol):
    """The steps of one transaction."""

    @property
    def shard(self) -> int:
        """Which shard of the pending tallies it writes; 0 if there is one only."""

    def raise_watermark(self, moment: datetime) -> None:
        """Move the watermark forward; never back."""

    def set_back_watermark(self, moment: datetime) -> None:
        """Move the watermark back; only where nothing was ever counted, released or closed."""

    def probe(self) -> None:
        """Write something that means nothing, so that the commit has to reach the disk."""

    def put_survey(self, survey: Survey, segments: Sequence[str]) -> None:
        """Keep a survey's newest edition, and raise the edition's number."""

    def put_question(self, question: Question) -> None:
        """Add a question version, or replace what its hash does not cover."""

    def add_scope(self, scope: Scope, check: bytes) -> ScopeRow:
        """Add an open scope without devices, or return the one that another process added."""

    def close_scope(self, scope: Scope) -> None:
        """Mark a scope closed for good, one that never had a report too; see :meth:`sweep`."""

    def sweep(self, limit: int) -> int:
        """Delete ledger rows of closed scopes, so many at most; return how many."""

    def answered(self, devices: Collection[Device]) -> dict[Device, int]:
        """Return the ledger bits of those devices that have a row."""

    def put_ledger(self, bits: Mapping[Device, int], added: Mapping[int, int]) -> None:
        """Write the ledger bits of devices; ``added`` tells how many of a scope's are new.

        Raises
        ------
        ConflictError
            If a row is no longer what :meth:`answered` told.
        """

    def settled(self, keys: Collection[PendingKey]) -> set[PendingKey]:
        """Return the keys whose question and period were released or destroyed in part."""

    def pending(self, keys: Collection[PendingKey]) -> dict[PendingKey, Pending]:
        """Return those of the tallies that this transaction may add to: its own shards."""

    def all_pending(self) -> dict[PendingKey, list[Pending]]:
        """Return every shard of every pending tally."""

    def put_pending(self, tallies: Mapping[PendingKey, Pending]) -> None:
        """Write pending tallies: its own shards."""

    def add_sealed(self, reports: Mapping[PendingKey, Sequence[bytes]]) -> None:
        """Add encrypted sealed reports, where nothing tells their order."""

    def sealed(self, key: PendingKey) -> Iterator[bytes]:
        """Yield the encrypted sealed reports of a tally."""

    def drop_pending(self, key: PendingKey) -> None:
        """Delete a pending tally, every shard and sealed report of it."""

    def put_released(self, tally: Released) -> None:
        """Keep a released tally, for ever."""

    def put_batch(self, part: BatchPart) -> None:
        """Keep a part of a released batch, for ever."""

    def put_destroyed(self, tally: Destroyed) -> None:
        """Keep that a tally was destroyed, and nothing of it."""

    def put_token(self, name: str, token: Token) -> bool:
        """Keep a token's hash; False if the name is taken."""

    def drop_token(self, name: str) -> bool:
        """Forget a token; False if there is none of that name."""

    def plain(self) -> dict[PendingKey, Pending]:
        """Return the tallies that an older deniable left unencrypted; ``cells`` are plain."""

    def drop_plain(self, key: PendingKey) -> None:
        """Delete such a tally."""


class Store(Protocol):
    """A database that holds the state of one collector, be it one process or several."""

    @property
    def location(self) -> str:
        """What the store was opened by, without a password."""

    @property
    def keys(self) -> str | None:
        """Where its period keys are kept unless told otherwise; None: it must be told."""

    def is_at(self, location: str) -> bool:
        """Return whether keys kept at this place would be in the store itself."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction beside which no other writes.

        It is committed durably at the end, and undone by an exception.

        Raises
        ------
        StoreError
            If it cannot be begun or committed; then nothing of it is stored, unless the
            connection was lost in the commit itself.
        """

    def counting(self) -> AbstractContextManager[Transaction]:
        """Open a transaction that counts reports; several processes may at once.

        Raises
        ------
        ConflictError
            If it must be run again.
        StoreError
            As above.
        """

    def read(self) -> AbstractContextManager[Reader]:
        """Open a view of what is committed; for short reads, from any thread."""

    def attend(self) -> AbstractContextManager[None]:
        """Be a process that counts into the store, until a crash at the latest.

        Raises
        ------
        StoreError
            If the store takes one process only and has it, or another holds it alone.
        """

    def alone(self) -> AbstractContextManager[None]:
        """Hold the store so that no process counts into it; freed by a crash.

        Raises
        ------
        StoreError
            If one does.
        """

    def free_bytes(self) -> int | None:
        """Return the room left to grow, or None if that cannot be known."""

    def close(self) -> None:
        """Let go of the database."""
