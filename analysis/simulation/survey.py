"""The devices of a survey: drawn from a truth, and answering all of its questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING

from deniable.protocol.periods import Period, midnight, period_at
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey
from deniable.protocol.tally import Tally

from ..truth import ABSENT, Truth
from .crowds import draw_tallies
from .reports import Population

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Crowd:
    """How devices are drawn, and what they are asked.

    Attributes
    ----------
    survey : Survey
    truth : Truth
        Kinds of people, and the questions to ask.
    devices : int
    periods : int
        Of each question; a ``once`` question has one, and one with a horizon its first so many.
    start : date
        In the first period.
    rng : Generator
    """

    survey: Survey
    truth: Truth
    devices: int
    periods: int
    start: date
    rng: np.random.Generator

    def draw(self) -> Iterator[tuple[Tally, dict[int, int]]]:
        """Draw devices, and yield each tally beside how many of those counted have which symbol.

        All tallies are of the same devices; given those, questions are independent, for no two
        share any randomness. A question that no device answers has none.
        """
        import numpy as np

        weights = np.array(self.truth.weights)
        people = self.rng.multinomial(self.devices, weights / weights.sum())
        for name, symbols in self.truth.symbols.items():
            question = self.survey.questions[name]
            counted = _counted(symbols, people.tolist())
            if not counted:
                continue
            periods = tuple(self._periods(question))
            population = Population.of(counted)
            drawn = draw_tallies(question.mechanism, population, self.rng, len(periods))
            for period, cells in zip(periods, drawn, strict=True):
                yield self._tally(question, period, cells), counted

    def _periods(self, question: Question) -> Iterator[Period]:
        horizon = question.horizon
        start = self._moment if horizon is None else midnight(horizon.start)
        most = self.periods if horizon is None else min(self.periods, horizon.periods)
        period = period_at(question.period, start)
        yield period
        for _ in range(0 if period.kind == "once" else most - 1):
            period = period.next()
            yield period

    @property
    def _moment(self) -> datetime:
        return datetime.combine(self.start, time(), UTC)

    def _tally(self, question: Question, period: Period, cells: NDArray[np.int64]) -> Tally:
        batch = period_at("week", self._moment).key if period.kind == "once" else None
        counted = tuple(cells.tolist())
        n = question.mechanism.shape.reports(counted)
        return Tally(question, period.key, None, n, counted, batch)


def _counted(symbols: Sequence[int], people: Sequence[int]) -> dict[int, int]:
    """Return how many of those who answer have which symbol."""
    counted: dict[int, int] = {}
    for symbol, number in zip(symbols, people, strict=True):
        if number and symbol != ABSENT:
            counted[symbol] = counted.get(symbol, 0) + number
    return counted
