"""What a store's ledger tells of a question, read with care: a store's file can hold anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as its person knows it; what is not known of it is None.

    Attributes
    ----------
    ask : str or None
        The question in its words; None if it was answered by a version of the library that noted
        nothing.
    classes : int or None
        How many different permanent responses there can be.
    epsilon_first : Decimal or None
        Of one report; None without a second round.
    p, q : float or None
        How likely a report supports the true answer, and any other one.
    kind : str or None
        The type of the question.
    max_items : int or None
        Of a set, how many choices count.
    periods, changes : int or None
        Over how many periods its epsilon holds, whatever becomes of the answer, and how many
        changes of it are reported; a number has no such limit.
    """

    ask: str | None = None
    mechanism: str | None = None
    period: str | None = None
    classes: int | None = None
    epsilon_first: Decimal | None = None
    p: float | None = None
    q: float | None = None
    kind: str | None = None
    max_items: int | None = None
    periods: int | None = None
    changes: int | None = None

    @classmethod
    def read(cls, about: Mapping[str, Any]) -> Asked:
        """Return what can be read of it."""
        return cls(
            ask=_text(about.get("ask")),
            mechanism=_text(about.get("mechanism")),
            period=_text(about.get("period")),
            classes=_count(about.get("classes")),
            epsilon_first=_epsilon(about.get("epsilon_first")),
            p=_probability(about.get("p")),
            q=_probability(about.get("q")),
            kind=_text(about.get("type")),
            max_items=_count(about.get("max_items")),
            periods=_count(about.get("periods")),
            changes=_count(about.get("changes")),
        )


def printable(text: object) -> str:
    """Return a text without what a terminal would obey instead of showing it."""
    shown = str(text)
    return shown if shown.isprintable() else ascii(shown)[1:-1]


def _text(value: object) -> str | None:
    return printable(value) if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _probability(value: object) -> float | None:
    return value if isinstance(value, float) and 0 <= value <= 1 else None


def _epsilon(value: object) -> Decimal | None:
    try:
        epsilon = Decimal(value) if isinstance(value, str) else Decimal("NaN")
    except InvalidOperation:
        return None
    return epsilon if epsilon.is_finite() and epsilon > 0 else None
