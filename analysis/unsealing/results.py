"""What ``deniable unseal`` says of each batch.

What must never change within a major version: the field names of ``document()`` and
``records()``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ..render import Record, Section
from .opening import REASONS
from .places import BatchName
from .store import Settled


@dataclass(frozen=True)
class BatchResult:
    """What became of one batch.

    Attributes
    ----------
    name : BatchName
    settled : Settled or None
        None if the batch was refused, and nothing of it was written.
    new : bool
        Whether this was decided now, not by an earlier call.
    why : str
        Of a batch that was refused: the reason, and what to do; else empty.
    """

    name: BatchName
    settled: Settled | None
    new: bool = True
    why: str = ""

    @property
    def lonely(self) -> dict[str, int]:
        """Return the keys for which fewer than ``min_crowd`` reports opened, and how many."""
        if self.settled is None:
            return {}
        needed = self.settled.min_crowd
        return {key: n for key, n in sorted(self.settled.by_key.items()) if n < needed}

    @property
    def state(self) -> str:
        """Return "released", "destroyed" or "refused"."""
        return self.settled.state if self.settled else "refused"

    def record(self) -> Record:
        """Return one flat row."""
        settled = self.settled
        return {
            "version": self.name.version,
            "period": self.name.period,
            "batch": self.name.batch,
            "segment": self.name.segment,
            "state": self.state,
            "new": self.new,
            "n": settled.n if settled else None,
            "opened": settled.opened if settled else None,
            "opened_by_key": _by_key(settled.by_key) if settled else None,
            **{reason: settled.dropped[reason] if settled else None for reason in REASONS},
            "why": self.why,
        }

    def document(self) -> Record:
        """Return the same with a list of keys."""
        if self.settled is None:
            return self.record()
        by_key = self.settled.by_key
        listed = [{"key": key, "opened": by_key[key]} for key in sorted(by_key)]
        return {**self.record(), "opened_by_key": listed}


@dataclass(frozen=True)
class Unsealed:
    """What became of every batch of a question.

    Attributes
    ----------
    survey, question : str
    to : Path
        The file that holds the tallies.
    batches : tuple of BatchResult
        By time.
    """

    survey: str
    question: str
    to: Path
    batches: tuple[BatchResult, ...]

    columns: ClassVar[tuple[str, ...]] = (
        "version", "period", "batch", "segment", "state", "new", "n", "opened", "opened_by_key",
        *REASONS, "why",
    )  # fmt: skip

    @property
    def refused(self) -> bool:
        """Whether a batch was refused."""
        return any(batch.settled is None for batch in self.batches)

    def records(self) -> list[Record]:
        """Return one flat row for each batch."""
        return [batch.record() for batch in self.batches]

    def document(self) -> dict[str, Any]:
        """Return the batches as JSON."""
        return {
            "survey": self.survey,
            "question": self.question,
            "to": str(self.to),
            "batches": [batch.document() for batch in self.batches],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the batches for people."""
        columns = (
            "period", "batch", "segment", "reports", "opened", "by key", "other key", "unopened",
            "malformed", "repeated", "",
        )  # fmt: skip
        rows = [tuple(_row(batch)) for batch in self.batches]
        title = f"Batches of {self.question} ({self.survey})"
        return (Section(title, columns, rows, tuple(self._notes())),)

    def _notes(self) -> Iterator[str]:
        yield f"Tallies are in {self.to}, which every command takes after --from."
        if any(b.settled and b.settled.opened < b.settled.n for b in self.batches):
            yield (
                "Dropped: sealed for a key that was not given (other key); does not open "
                "(unopened); opens, but to no response (malformed); its encapsulation was seen "
                "before (repeated)."
            )
        if any(b.settled and b.settled.dropped["unknown_key"] for b in self.batches):
            yield (
                "What was sealed for another key is lost to its tally. If you have that key, "
                "unseal again with every key into a new file."
            )
        for batch in self.batches:
            yield from _crowd_notes(batch)
            if batch.why:
                yield f"{batch.name.period}: {batch.why}."


def _by_key(counts: Mapping[str, int]) -> str:
    return " ".join(f"{key}={counts[key]}" for key in sorted(counts))


def _crowd_notes(batch: BatchResult) -> Iterator[str]:
    """Warn of keys that single out a few devices: a report names its key in the clear."""
    for key, n in batch.lonely.items():
        needed = batch.settled.min_crowd if batch.settled else 0
        yield (
            f"{batch.name.period}: only {n} of the reports that opened are sealed for {key}, fewer "
            f"than min_crowd ({needed}). The tally is of all keys together, but each report names "
            "its key, so these few stand apart in the batch: keep few keys in use, and the batch "
            "from others."
        )


def _row(batch: BatchResult) -> Iterator[str]:
    record = batch.record()
    yield record["period"]
    for name in ("batch", "segment", "n", "opened", "opened_by_key", *REASONS):
        yield "" if record[name] is None else str(record[name])
    if batch.settled is None:
        yield "REFUSED"
    elif batch.state == "destroyed":
        before = "" if batch.new else ", earlier"
        yield f"destroyed: fewer than {batch.settled.min_crowd} opened{before}"
    else:
        yield "folded" if batch.new else "folded earlier"
