"""A question over time, as it is handed out: frozen, labelled, and printable in three forms.

What must never change within a major version: the field names of ``document()`` and
``records()``; analysts' programs read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, ClassVar

from deniable.protocol.question import Value

from .estimators import FAKE_SHARE
from .measured import Quantity
from .render import Record, Section
from .results import EPSILON_UNIT, accounted, decimals, text, with_units

SHARED = (
    "The noise of remembered answers is shared by the periods: steps between neighbours are more "
    "certain than the intervals suggest, levels are not, and a mean over periods is no surer."
)


@dataclass(frozen=True, slots=True)
class Point:
    """One answer's frequency in one period, or the mean of a number.

    Attributes
    ----------
    value : bool, str or int
        The answer; "mean" of a number question.
    period : str
    n : int
        Devices that reported.
    estimate : float
        Raw: unbiased, may be negative or exceed 1.
    standard_error, low, high : float
    """

    value: Value | int
    period: str
    n: int
    estimate: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Trend:
    """One series of points for each answer, oldest first; nothing is pooled.

    Attributes
    ----------
    question : str
    version : int
    segment : str or None
    mechanism : str
    epsilon, epsilon_first : Decimal
        Of one device, over all its periods while its answer does not change, and of one report.
    confidence : float
        Of each interval by itself.
    quantity : "frequency" or "mean"
        What is estimated; a mean is in the question's own units.
    fake_bias : float
        By how much 1 % of fake devices could move a point.
    notes : tuple of str
    points : tuple of Point
        Answer by answer, and in each by time.
    epsilon_unit : str
        What ``epsilon`` is of, in words.
    correlation : str
        How the errors of periods hang together, in words.
    """

    question: str
    version: int
    segment: str | None
    mechanism: str
    epsilon: Decimal
    epsilon_first: Decimal | None
    confidence: float
    quantity: Quantity
    fake_bias: float
    notes: tuple[str, ...]
    points: tuple[Point, ...]
    epsilon_unit: str = EPSILON_UNIT
    correlation: str = SHARED

    columns: ClassVar[tuple[str, ...]] = (
        "question", "version", "segment", "mechanism", "epsilon", "epsilon_first", "confidence",
        "quantity", "value", "period", "n", "estimate", "standard_error", "low", "high",
    )  # fmt: skip

    @property
    def series(self) -> dict[Value | int, list[Point]]:
        """The points of each answer, oldest first."""
        found: dict[Value | int, list[Point]] = {}
        for point in self.points:
            found.setdefault(point.value, []).append(point)
        return found

    def _context(self) -> Record:
        return {
            "question": self.question,
            "version": self.version,
            "segment": self.segment,
            "mechanism": self.mechanism,
            "epsilon": float(self.epsilon),
            "epsilon_first": None if self.epsilon_first is None else float(self.epsilon_first),
            "confidence": self.confidence,
            "quantity": self.quantity,
        }

    def records(self) -> list[Record]:
        """Return one flat row for each point."""
        return [{**self._context(), **asdict(point)} for point in self.points]

    def document(self) -> dict[str, Any]:
        """Return the series as JSON."""
        return {
            **self._context(),
            **accounted(self.epsilon, self.epsilon_first, self.epsilon_unit),
            "fake_bias": self.fake_bias,
            "notes": [self.correlation, *self.notes],
            "points": [asdict(point) for point in self.points],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the series for people, rounded to two digits of their errors."""
        columns = ("value", "period", "n", self.quantity, "standard error", "low", "high")
        rows = [_row(point) for point in self.points]
        return (
            Section(self.title(), columns, rows, (*self._legend(), self.correlation, *self.notes)),
        )

    def title(self) -> str:
        """Name what is shown, and of how many devices."""
        ns = [point.n for point in self.points]
        n = f"{min(ns):,}" if min(ns) == max(ns) else f"{min(ns):,} to {max(ns):,}"
        head = [f"{self.question} version {self.version}"]
        return ", ".join([*head, *filter(None, [self.segment]), f"n = {n} devices a period"])

    def _legend(self) -> Iterator[str]:
        kind = "Means (unbiased, may lie outside the range)"
        if self.quantity == "frequency":
            kind = "Frequencies raw (unbiased, may be below 0 or above 1)"
        yield f"{kind}; {100 * self.confidence:g} % intervals, each by itself."
        spent = with_units(self.epsilon, self.epsilon_first, self.epsilon_unit)
        yield f"{self.mechanism}, epsilon {spent}."
        fakes = f"{100 * FAKE_SHARE:g} % fake devices"
        yield f"{fakes} could move a {self.quantity} by {self.fake_bias:.2g}."


def _row(point: Point) -> tuple[str, ...]:
    shown = decimals(point.standard_error)
    numbers = (point.estimate, point.standard_error, point.low, point.high)
    written = (f"{number:z.{shown}f}" for number in numbers)
    return (text(point.value), point.period, f"{point.n:,}", *written)
