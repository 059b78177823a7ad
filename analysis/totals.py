"""The five rows of ``total-epsilon`` as they are handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``, and that a column is absent rather than empty where it does not apply.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from deniable.protocol.exact import canonical

from .composition import Bound
from .render import Record, Section

COLUMNS = (
    "memoized: the answer is randomized once, and the same permanent response is sent every day.",
    "memoized_second_round: each report is the permanent response, randomized anew.",
    "fresh: each report is the answer, randomized anew with the whole epsilon.",
)


@dataclass(frozen=True, slots=True)
class Row:
    """What is protected, and the epsilon that protects it; None where there is no bound."""

    protects: str
    memoized: float | None
    second_round: float | None
    fresh: Bound
    unit: str


@dataclass(frozen=True)
class TotalEpsilon:
    """The five rows.

    Attributes
    ----------
    epsilon, epsilon_first : Decimal
    days : int
        T, one report on each.
    values : int
    mechanism : str
    changes : int or None
        How often the answer changes at most, if that is assumed.
    delta : float or None
        Probability with which the fresh column's compositions may fail.
    rows : tuple of Row
    """

    epsilon: Decimal
    epsilon_first: Decimal | None
    days: int
    values: int
    mechanism: str
    changes: int | None
    delta: float | None
    rows: tuple[Row, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the flat rows; the second round's only if there is one."""
        second = () if self.epsilon_first is None else ("memoized_second_round",)
        return ("protects", "memoized", *second, "fresh", "unit", "fresh_by")

    def records(self) -> list[Record]:
        """Return the five flat rows; None is no bound."""
        return [
            {
                name: value
                for name, value in (
                    ("protects", row.protects),
                    ("memoized", row.memoized),
                    ("memoized_second_round", row.second_round),
                    ("fresh", row.fresh.epsilon),
                    ("unit", row.unit),
                    ("fresh_by", row.fresh.name),
                )
                if name in self.columns
            }
            for row in self.rows
        ]

    def document(self) -> dict[str, Any]:
        """Return the table and its parameters as JSON."""
        return {
            "epsilon": float(self.epsilon),
            "epsilon_first": None if self.epsilon_first is None else float(self.epsilon_first),
            "days": self.days,
            "values": self.values,
            "mechanism": self.mechanism,
            "changes": self.changes,
            "delta": self.delta,
            "rows": self.records(),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the table for people, then what its columns and rows mean."""
        second = self.epsilon_first is not None
        names = self.columns[: 4 if second else 3]
        rows = [
            (row.protects, *(_shown(record[name]) for name in names[1:]))
            for row, record in zip(self.rows, self.records(), strict=True)
        ]
        first = "" if self.epsilon_first is None else f" ({canonical(self.epsilon_first)} a report)"
        title = (
            f"Epsilon of one device after {self.days:,} reports, one a day: "
            f"{self.mechanism} over {self.values} values, epsilon {canonical(self.epsilon)}{first}"
        )
        columns = [line for line in COLUMNS if second or "second_round" not in line]
        units = [f"{row.protects}: {row.unit}." for row in self.rows]
        return (Section(title, names, rows, (*columns, "", *units)),)


def _shown(value: float | None) -> str:
    return "no bound" if value is None else f"{value:,.6g}"
