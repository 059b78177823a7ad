"""What differences and trends need of an estimate, whatever kind of question it is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deniable.protocol.mechanisms import Scale
from deniable.protocol.question import Question, Value
from deniable.protocol.tally import Tally

from .estimation import estimate_tallies
from .estimators import Level
from .frequencies import estimate_cells
from .inputs import Number
from .means import estimate_mean
from .number_estimation import estimate_numbers
from .number_results import NumberEstimates
from .results import Estimates
from .sets.estimates import estimate_sets

Quantity = Literal["frequency", "mean"]
"""What is compared: how many gave an answer, or the mean of a number in its own units."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One raw estimate: what it is of, and its error and interval."""

    value: Value | int | None
    estimate: float
    standard_error: float
    low: float
    high: float


def quantity(made: Estimates | NumberEstimates) -> Quantity:
    """Return what ``made`` measures."""
    return "frequency" if isinstance(made, Estimates) else "mean"


def measured(made: Estimates | NumberEstimates) -> list[Measured]:
    """Return every frequency; of a number the mean, for quantiles have no standard error."""
    if isinstance(made, Estimates):
        return [
            Measured(one.value, one.frequency, one.standard_error, one.low, one.high)
            for one in made.estimates
        ]
    mean = made.mean
    return [Measured("mean", mean.estimate, mean.standard_error or 0.0, mean.low, mean.high)]


def measure(question: Question, cells: Sequence[int], level: Level) -> list[Measured]:
    """Return what :func:`measured` would, from the cells and at any level."""
    if question.range is not None and isinstance(question.mechanism, Scale):
        place, grid = estimate_mean(question.mechanism, cells, level), question.range
        low, width = float(grid.low), float(grid.width)
        mean, left, right = (low + width * x for x in (place.frequency, place.low, place.high))
        return [Measured("mean", mean, width * place.standard_error, left, right)]
    raw = estimate_cells(question.mechanism, cells, level)
    return [
        Measured(value, one.frequency, one.standard_error, one.low, one.high)
        for value, one in zip(question.values, raw, strict=True)
        if value is not False
    ]


def estimated(
    tallies: Sequence[Tally], confidence: Number, simultaneous: bool
) -> Estimates | NumberEstimates:
    """Estimate frequencies, or a number's mean alone, as the question asks."""
    if tallies[0].question.range is None:
        usual = estimate_sets if tallies[0].question.type == "set" else estimate_tallies
        return usual(tallies, confidence=confidence, simultaneous=simultaneous)
    return estimate_numbers(tallies, quantiles=(), confidence=confidence)
