"""A cross table as it is handed out: frozen, labelled, and printable in three forms.

What must never change within a major version: the field names of ``document()`` and
``records()``; analysts' programs read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Literal

from deniable.protocol.mechanisms.base import described

from ..context import Context
from ..difference_results import p_text
from ..estimators import FAKE_SHARE
from ..render import Record, Section
from ..results import accounted, decimals, with_units
from .association import Association

Kind = Literal["pair", "marginal", "conditional"]
_ALL = "(all)"
_UNTOLD = "–"


@dataclass(frozen=True, slots=True)
class CrosstabCell:
    """One frequency of a cross table.

    Attributes
    ----------
    kind : "pair", "marginal" or "conditional"
    given : str or None
        Of a conditional: the part whose choice is given.
    first, second : str or None
        Choices of the first and the second part; one of them is None in a marginal.
    frequency : float or None
        Raw: unbiased, may be negative or exceed 1. None, as what follows is, of a conditional
        whose given choice is too rare.
    standard_error : float or None
    low, high : float or None
        Interval.
    """

    kind: Kind
    given: str | None
    first: str | None
    second: str | None
    frequency: float | None
    standard_error: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Crosstab(Context):
    """The two parts of a joint question in one period: pairs, marginals, conditionals, association.

    Attributes
    ----------
    question, version, period, segment, segments, batches
        Which counts; as in :class:`~deniable.analysis.results.Estimates`.
    first_part, second_part : str
        Names of the parts.
    n : int
        Devices that reported.
    mechanism : str
    epsilon, epsilon_first : Decimal
        Of one device; as in :class:`~deniable.analysis.results.Estimates`.
    confidence : float
        Of each interval by itself.
    fake_bias : float
        By how much 1 % of fake devices could move the frequency of a pair.
    cells : tuple of CrosstabCell
        Every pair, every choice of either part, and either part given the other.
    association : Association
    notes : tuple of str
    options : mapping of str to int
        Of the mechanism, those in force.
    """

    question: str
    version: int
    period: str
    segment: str | None
    segments: tuple[str | None, ...]
    batches: tuple[str, ...]
    first_part: str
    second_part: str
    n: int
    mechanism: str
    epsilon: Decimal
    epsilon_first: Decimal | None
    confidence: float
    fake_bias: float
    cells: tuple[CrosstabCell, ...]
    association: Association
    notes: tuple[str, ...] = ()
    options: Mapping[str, int] = field(default_factory=dict)
    simultaneous: bool = field(default=False, init=False)
    pooled: tuple[str, ...] = field(default=(), init=False)
    shuffled: None = field(default=None, init=False)

    NAMES: ClassVar[tuple[str, ...]] = (
        "question", "version", "period", "segment", "n", "mechanism", "epsilon", "epsilon_first",
        "confidence", "first_part", "second_part",
        "chi_square", "degrees_of_freedom", "p_value", "cramers_v", "cramers_v_low",
        "cramers_v_high", "kind", "given", "first", "second",
        "frequency", "standard_error", "low", "high",
    )  # fmt: skip

    def records(self) -> list[Record]:
        """Return one flat row for each frequency."""
        tested = self._tested()
        tested.pop("devices_needed")
        context = {**self.which(), **self._how(), **tested}
        return [{**context, **asdict(cell)} for cell in self.cells]

    def document(self) -> dict[str, Any]:
        """Return the table as JSON."""
        return {
            **self.which(),
            **self.parts(),
            **self._how(),
            **accounted(self.epsilon, self.epsilon_first),
            "options": dict(self.options),
            "fake_bias": self.fake_bias,
            "notes": list(self.notes),
            "association": self._tested(),
            "cells": [asdict(cell) for cell in self.cells],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the tables for people, rounded to two digits of their errors."""
        one, two = self.first_part, self.second_part
        columns = (one, two, "frequency", "standard error", "low", "high")
        joint = [_row(cell) for cell in self.cells if cell.kind != "conditional"]
        title = f"{self.title()}: {one} and {two}"
        of_second, of_first = (
            [_row(cell) for cell in self.cells if cell.given == part] for part in (one, two)
        )
        return (
            Section(title, columns, joint, tuple(self._legend())),
            Section(f"{two} among those of each {one}", columns, of_second),
            Section(f"{one} among those of each {two}", columns, of_first, tuple(self._tells())),
        )

    def _how(self) -> Record:
        how = self.how()
        how.pop("simultaneous")
        return {**how, "first_part": self.first_part, "second_part": self.second_part}

    def _tested(self) -> Record:
        test = asdict(self.association)
        return {
            "chi_square": test["chi_square"],
            "degrees_of_freedom": test["degrees_of_freedom"],
            "p_value": test["p_value"],
            "cramers_v": test["cramers_v"],
            "cramers_v_low": test["low"],
            "cramers_v_high": test["high"],
            "devices_needed": test["devices_needed"],
        }

    def _legend(self) -> Iterator[str]:
        yield (
            "Frequencies raw (unbiased, may be below 0 or above 1); "
            f"{100 * self.confidence:g} % intervals, each by itself."
        )
        how = described(self.mechanism, self.options)
        yield f"{how}, epsilon {with_units(self.epsilon, self.epsilon_first)}."
        fakes = f"{100 * FAKE_SHARE:g} % fake devices"
        yield f"{fakes} could move the frequency of a pair by {self.fake_bias:.2g}."

    def _tells(self) -> Iterator[str]:
        if any(cell.frequency is None for cell in self.cells):
            yield f"{_UNTOLD}: too few devices to tell, for the choice that is given may have none."
        test, names = self.association, f"{self.first_part} and {self.second_part}"
        several = "" if test.degrees_of_freedom == 1 else "s"
        freedom = f"{test.degrees_of_freedom} degree{several} of freedom"
        if test.chi_square is None or test.p_value is None:
            yield (
                f"No test of whether {names} are independent ({freedom}): too few devices for a "
                f"p-value that holds; about {test.devices_needed:,} would do."
            )
        else:
            yield (
                f"If {names} are independent: chi-square {test.chi_square:.4g}, {freedom}, with "
                f"the covariance of sampling and noise; p-value {p_text(test.p_value)}."
            )
        if test.cramers_v is None or test.low is None or test.high is None:
            yield "Cramér's V cannot be told: a choice may have no devices."
        else:
            yield (
                f"Cramér's V {test.cramers_v:.2g}, {100 * self.confidence:g} % interval "
                f"{test.low:.2g} to {test.high:.2g} (conservative): 0 if independent, 1 if the "
                "one decides the other."
            )
        yield from self.notes


def _row(cell: CrosstabCell) -> tuple[str, ...]:
    names = (cell.first or _ALL, cell.second or _ALL)
    if cell.standard_error is None:
        return (*names, *(_UNTOLD,) * 4)
    places = decimals(cell.standard_error)
    numbers = (cell.frequency, cell.standard_error, cell.low, cell.high)
    return (*names, *(f"{number:z.{places}f}" for number in numbers))
