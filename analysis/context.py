"""What every kind of estimates says about where it comes from; the names are those of the JSON."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

from .render import Record

if TYPE_CHECKING:
    from .shuffling.crowd import ReleasedCrowd
    from .suspicion.warning import Suspicion


class Context:
    """Which question, of which devices, randomized how. Mixed into frozen results."""

    question: str | None
    version: int | None
    period: str | None
    segment: str | None
    segments: tuple[str | None, ...]
    batches: tuple[str, ...]
    pooled: tuple[str, ...]
    n: int
    mechanism: str
    epsilon: Decimal
    epsilon_first: Decimal | None
    confidence: float
    simultaneous: bool
    shuffled: ReleasedCrowd | None
    warnings: tuple[Suspicion, ...]

    NAMES: ClassVar[tuple[str, ...]]
    """Of the flat rows; a crowd's, if it was asked for, come after them."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the flat rows."""
        return (*self.NAMES, *self.of_crowd())

    def of_crowd(self) -> Record:
        """Return what the crowd adds, for flat rows; nothing if it was not asked for."""
        return {} if self.shuffled is None else self.shuffled.flat()

    def which(self) -> Record:
        """Return the question and its tallies."""
        return {
            "question": self.question,
            "version": self.version,
            "period": self.period,
            "segment": self.segment,
        }

    def parts(self) -> Record:
        """Return what was added up or averaged, where something was, and the crowd if asked for."""
        crowd = {} if self.shuffled is None else {"shuffle": self.shuffled.record()}
        parts = {"segments": self.segments, "batches": self.batches, "periods": self.pooled}
        return {name: list(part) for name, part in parts.items() if part} | crowd

    def how(self) -> Record:
        """Return the randomization and what intervals mean."""
        return {
            "n": self.n,
            "mechanism": self.mechanism,
            "epsilon": float(self.epsilon),
            "epsilon_first": None if self.epsilon_first is None else float(self.epsilon_first),
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
        }

    def title(self) -> str:
        """Name what was estimated, and of how many devices."""
        names = [] if self.question is None else [f"{self.question} version {self.version}"]
        names += [name for name in (self.period, self.segment) if name is not None]
        if self.segments:
            names.append(f"segments {', '.join(name or 'none' for name in self.segments)}")
        return ", ".join([*names, f"n = {self.n:,} devices"])
