"""Differences as they are handed out: frozen, labelled, and printable in three forms.

What must never change within a major version: the field names of ``document()`` and
``records()``; analysts' programs read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, ClassVar, Literal

from deniable.protocol.question import Value

from .estimators import FAKE_SHARE
from .measured import Quantity
from .render import Record, Section
from .results import EPSILON_UNIT, accounted, decimals, text, with_units

Compare = Literal["periods", "segments", "values"]

LEAST_P = 1e-300
"""What is said of a p-value that is smaller still."""


@dataclass(frozen=True, slots=True)
class Difference:
    """B minus A.

    Attributes
    ----------
    value : bool, str, int or None
        The answer whose frequencies are compared, or the statistic of a number question; None
        where two answers are compared with each other.
    estimate_a, estimate_b : float
        Raw and unbiased.
    difference : float
        ``estimate_b - estimate_a``.
    standard_error : float
        Under the stated correlation.
    low, high : float
        Interval of the difference.
    p_value : float
        P(a difference as large as this, either way, if there is none); at least 1e-300.
    """

    value: Value | int | None
    estimate_a: float
    estimate_b: float
    difference: float
    standard_error: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Differences:
    """What differs between two periods, two segments or two answers of one question.

    Attributes
    ----------
    question : str
    version : int
    compare : "periods", "segments" or "values"
        What ``a`` and ``b`` name.
    a, b : str
    period, segment : str or None
        Which counts, where they are not what is compared.
    n_a, n_b : int
        Devices that reported.
    mechanism : str
    epsilon, epsilon_first : Decimal
        Of one device; as in :class:`~deniable.analysis.results.Estimates`.
    confidence : float
        Of each interval by itself, or of all together if ``simultaneous``; the p-values are then
        adjusted for their number too.
    simultaneous : bool
    quantity : "frequency" or "mean"
        What is compared; a mean is in the question's own units.
    correlation : str
        What is assumed of the errors of A and B, in words.
    fake_bias : float
        By how much 1 % of fake devices could move a difference.
    notes : tuple of str
    differences : tuple of Difference
    epsilon_unit : str
        What ``epsilon`` is of, in words.
    """

    question: str
    version: int
    compare: Compare
    a: str
    b: str
    period: str | None
    segment: str | None
    n_a: int
    n_b: int
    mechanism: str
    epsilon: Decimal
    epsilon_first: Decimal | None
    confidence: float
    simultaneous: bool
    quantity: Quantity
    correlation: str
    fake_bias: float
    notes: tuple[str, ...]
    differences: tuple[Difference, ...]
    epsilon_unit: str = EPSILON_UNIT

    columns: ClassVar[tuple[str, ...]] = (
        "question", "version", "compare", "a", "b", "period", "segment", "n_a", "n_b",
        "mechanism", "epsilon", "epsilon_first", "confidence", "simultaneous",
        "quantity", "value", "estimate_a", "estimate_b", "difference", "standard_error",
        "low", "high", "p_value",
    )  # fmt: skip

    def _context(self) -> Record:
        first = self.epsilon_first
        return {
            "question": self.question,
            "version": self.version,
            "compare": self.compare,
            "a": self.a,
            "b": self.b,
            "period": self.period,
            "segment": self.segment,
            "n_a": self.n_a,
            "n_b": self.n_b,
            "mechanism": self.mechanism,
            "epsilon": float(self.epsilon),
            "epsilon_first": None if first is None else float(first),
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "quantity": self.quantity,
        }

    def records(self) -> list[Record]:
        """Return one flat row for each difference."""
        context = self._context()
        return [{**context, **asdict(one)} for one in self.differences]

    def document(self) -> dict[str, Any]:
        """Return the differences as JSON."""
        return {
            **self._context(),
            **accounted(self.epsilon, self.epsilon_first, self.epsilon_unit),
            "correlation": self.correlation,
            "fake_bias": self.fake_bias,
            "notes": list(self.notes),
            "differences": [asdict(one) for one in self.differences],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the differences for people, rounded to two digits of their errors."""
        names = ("value", "A", "B", "B - A", "standard error", "low", "high", "p-value")
        unnamed = int(self.compare == "values")
        columns = names[unnamed:]
        rows = [_row(one)[unnamed:] for one in self.differences]
        return (Section(self.title(), columns, rows, (*self._legend(), *self.notes)),)

    def title(self) -> str:
        """Name what is compared, and of how many devices."""
        where = [part for part in (self.period, self.segment) if part is not None]
        n = f"n = {self.n_a:,} and {self.n_b:,} devices"
        if self.compare == "values":
            n = f"n = {self.n_a:,} devices"
        head = [f"{self.question} version {self.version}", *where]
        return ", ".join([*head, f"A = {self.a}, B = {self.b}", n])

    def _legend(self) -> Iterator[str]:
        together = "all at once (Bonferroni)" if self.simultaneous else "each by itself"
        kind = "Raw frequencies" if self.quantity == "frequency" else "Means"
        yield f"{kind}; {100 * self.confidence:g} % intervals of B - A, {together}."
        adjusted = " (Holm)" if self.simultaneous else ""
        yield (
            f"p-value{adjusted}: two-sided, of no difference, as the intervals have it. "
            f"Errors {self.correlation}"
        )
        spent = with_units(self.epsilon, self.epsilon_first, self.epsilon_unit)
        yield f"{self.mechanism}, epsilon {spent}."
        fakes = f"{100 * FAKE_SHARE:g} % fake devices"
        yield f"{fakes} could move a difference by {self.fake_bias:.2g}."


def p_text(p_value: float) -> str:
    """Write a p-value with two digits."""
    return f"<{LEAST_P:g}" if p_value <= LEAST_P else f"{p_value:.2g}"


def _row(one: Difference) -> tuple[str, ...]:
    shown = decimals(one.standard_error)
    numbers = (
        one.estimate_a, one.estimate_b, one.difference, one.standard_error, one.low, one.high,
    )  # fmt: skip
    value = "" if one.value is None else text(one.value)
    return (value, *(f"{number:z.{shown}f}" for number in numbers), p_text(one.p_value))
