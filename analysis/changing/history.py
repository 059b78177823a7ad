"""All released tallies of one question with a horizon, and what follows from them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from deniable.protocol.errors import DocumentError, ParameterError, SourceError
from deniable.protocol.mechanisms.dyadic import Dyadic
from deniable.protocol.periods import parse_period
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

from ..decode import add
from ..estimators import FAKE_SHARE
from ..tallies import check_same
from .levels import Levels, levels_of
from .rows import rows_of
from .words import horizon_of


@dataclass(frozen=True)
class History:
    """One question, in the periods that are released of it.

    Attributes
    ----------
    question : Question
    tallies : mapping of int to tuple of Tally
        By period t of 1..T: of different segments, and so of different devices.
    """

    question: Question
    tallies: Mapping[int, tuple[Tally, ...]]

    @property
    def mechanism(self) -> Dyadic:
        """Of the question."""
        if not isinstance(self.question.mechanism, Dyadic):
            raise DocumentError(
                f"{self.question.id}: {self.question.mechanism.name} has no horizon; upgrade "
                "deniable to read it"
            )
        return self.question.mechanism

    @cached_property
    def levels(self) -> Levels:
        """The estimates of all periods."""
        cells = {t: add([tally.cells for tally in own]) for t, own in self.tallies.items()}
        return levels_of(self.mechanism, rows_of(self.mechanism, cells))

    def index(self, period: str) -> int:
        """Return the number t of a period that can be estimated.

        Raises
        ------
        SourceError
            If it cannot.
        """
        t = horizon_of(self.question).index(parse_period(period))
        if t is None:
            raise SourceError(f"{self.question.id}: {period} is no period of its horizon")
        if t not in self.levels.places:
            raise SourceError(
                f"{self.question.id}: {period} cannot be estimated, for periods before it are not "
                "released, and what is released tells only of changes since them"
            )
        return t

    def devices(self, t: int) -> int:
        """Return how many devices report, from those of the levels that have reported by t.

        Of each its last report counts, for levels report in different periods.
        """
        rows = self.levels.rows
        seen = {
            int(level): float(reports)
            for level, period, reports in zip(rows.level, rows.period, rows.reports, strict=True)
            if period <= t
        }
        return round(sum(seen.values()) / len(seen) * self.mechanism.levels) if seen else 0

    def fake_bias(self, shares: Mapping[int, float]) -> float:
        """Return by how much 1 % of fake devices could move a sum of estimates.

        If they all claim the level, and report the bits, that move it most.
        """
        rows = self.levels.rows
        reach = abs(self.levels.weights_of(shares)) * self.levels.signal.reach(rows) / rows.reports
        worst = max(float(reach[rows.level == level].sum()) for level in set(rows.level.tolist()))
        return FAKE_SHARE * max(self.devices(t) for t in shares) * worst


def history_of(periods: Sequence[Sequence[Tally]]) -> History:
    """Return the history of released tallies.

    Parameters
    ----------
    periods : sequence of sequence of Tally
        Of one question and version; each inner one of one period.

    Raises
    ------
    ParameterError
        If tallies do not belong together.
    DocumentError
        If one is of no period of the horizon.
    """
    if not periods or not all(periods):
        raise ParameterError("tallies must hold at least one period, and one tally of each")
    question = periods[0][0].question
    found = {}
    for tallies in periods:
        check_same(tallies)
        if tallies[0].question.hash != question.hash:
            raise ParameterError("tallies must be of one question and version")
        t = horizon_of(question).index(parse_period(tallies[0].period))
        if t is None or t in found:
            raise DocumentError(
                f"{question.id}: {tallies[0].period} is no period of its horizon, or is there twice"
            )
        found[t] = tuple(tallies)
    return History(question, found)
