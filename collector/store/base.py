"""What a collector asks of a database: the records, and the steps of one transaction.

The rules of counting and closing are written once, over this interface, in ``shuffler`` and
``release``; a store only keeps rows. What must never change: a transaction is all or nothing,
durable before it returns, and serialised against every other that writes, so that a commit sees
either the whole of a release or none of it. No record here holds a pseudonym, an address, the
time of a report or its response.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from deniable.protocol.period_state import PeriodState
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey
from deniable.protocol.tally import Tally


class Scope(NamedTuple):
    """Within what a device counts once: a survey's period, or one version of a once question."""

    survey: str
    period: str
    question: str = ""
    version: int = 0

    @property
    def name(self) -> str:
        """The scope as one word, such as ``acme-editor.2026-11-30``."""
        once = [self.question, str(self.version)] if self.question else []
        return ".".join([self.survey, self.period, *once])


@dataclass(frozen=True, slots=True)
class ScopeRow:
    """What a store knows about a scope; ``closed`` is for good."""

    id: int
    devices: int
    closed: bool


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
    """A tally that still takes reports; ``cells`` are 64-bit integers, little-endian."""

    n: int
    cells: bytes


class Reader(Protocol):
    """What can be read beside a running transaction."""

    def watermark(self) -> datetime:
        """Return the moment up to which periods are closed for good."""

    def surveys(self) -> list[KnownSurvey]:
        """Return every survey ever loaded."""

    def questions(self) -> list[Registered]:
        """Return every question version ever loaded, in order of their ids."""

    def scope(self, scope: Scope) -> ScopeRow | None:
        """Return a scope, or None if no report ever came for it."""

    def open_scopes(self) -> list[Scope]:
        """Return the scopes that hold ledger rows."""

    def tallies(self, survey: str, question: str) -> list[str]:
        """Return the documents of a question's released tallies, oldest first."""

    def states(self, survey: str | None = None) -> list[PeriodState]:
        """Return where every tally stands, by survey, question and period."""

    def tokens(self) -> Mapping[str, bytes]:
        """Return the hash of every token, by name."""


class Transaction(Reader, Protocol):
    """The steps of one transaction. Nothing else writes while it is open."""

    def raise_watermark(self, moment: datetime) -> None:
        """Move the watermark forward; never back."""

    def probe(self) -> None:
        """Write something that means nothing, so that the commit has to reach the disk."""

    def put_survey(self, survey: Survey, segments: Sequence[str]) -> None:
        """Keep a survey's newest edition."""

    def put_question(self, question: Question) -> None:
        """Add a question version, or replace what its hash does not cover."""

    def add_scope(self, scope: Scope) -> ScopeRow:
        """Add an open scope without devices."""

    def close_scope(self, scope: Scope) -> None:
        """Delete a scope's ledger rows and mark it closed for good."""

    def answered(self, devices: Collection[Device]) -> dict[Device, int]:
        """Return the ledger bits of those devices that have a row."""

    def put_ledger(self, bits: Mapping[Device, int], added: Mapping[int, int]) -> None:
        """Write the ledger bits of devices; ``added`` tells how many of a scope's are new."""

    def settled(self, keys: Collection[PendingKey]) -> set[PendingKey]:
        """Return the keys whose question and period were released or destroyed in part."""

    def pending(self, keys: Collection[PendingKey]) -> dict[PendingKey, Pending]:
        """Return those of the tallies that there are."""

    def all_pending(self) -> dict[PendingKey, Pending]:
        """Return every pending tally."""

    def put_pending(self, tallies: Mapping[PendingKey, Pending]) -> None:
        """Write pending tallies."""

    def drop_pending(self, key: PendingKey) -> None:
        """Delete a pending tally."""

    def put_released(self, question: int, tally: Tally) -> None:
        """Keep a released tally, for ever."""

    def put_destroyed(self, key: PendingKey, batch: str | None, min_crowd: int) -> None:
        """Keep that a tally was too small to be released, and nothing of it."""

    def put_token(self, name: str, digest: bytes) -> bool:
        """Keep a token's hash; False if the name is taken."""

    def drop_token(self, name: str) -> bool:
        """Forget a token; False if there is none of that name."""


class Store(Protocol):
    """A database that holds one collector's state."""

    @property
    def location(self) -> str:
        """What the store was opened by."""

    @property
    def keys(self) -> Path | None:
        """Where its period keys are kept unless told otherwise; None: it must be told."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open a transaction: committed durably at the end, undone by an exception.

        Raises
        ------
        StoreError
            If it cannot be begun or committed; then nothing of it is stored.
        """

    def read(self) -> AbstractContextManager[Reader]:
        """Open a view of what is committed; for short reads, from any thread."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold the store as the one process that counts into it; freed by a crash.

        Raises
        ------
        StoreError
            If another process holds it.
        """

    def free_bytes(self) -> int | None:
        """Return the room left to grow, or None if that cannot be known."""

    def close(self) -> None:
        """Let go of the database."""
