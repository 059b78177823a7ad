"""Estimates of a number question as they are handed out: frozen, labelled, printable.

What must never change within a major version: the field names of ``document()`` and
``records()``; analysts' programs read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from deniable.protocol.ranges import Range

from .context import Context
from .estimators import FAKE_SHARE
from .render import Record, Section
from .results import EPSILON_UNIT, accounted, decimals, with_units

if TYPE_CHECKING:
    from .shuffling.crowd import ReleasedCrowd
    from .suspicion.warning import Suspicion


@dataclass(frozen=True, slots=True)
class Statistic:
    """The mean or a quantile, in the question's own units.

    Attributes
    ----------
    statistic : "mean" or "quantile"
    level : float or None
        Of a quantile: the share of devices at or below it.
    estimate : float
        A mean is unbiased and may lie outside the range. A quantile is that of the most likely
        distribution, moved to the nearest end of its interval where it lies outside.
    standard_error : float or None
        Of a mean.
    low, high : float
        Of a mean a normal interval, exact for 1bitmean at small counts; of a quantile an interval
        from exact binomial bounds, see :mod:`deniable.analysis.quantiles`.
    """

    statistic: Literal["mean", "quantile"]
    level: float | None
    estimate: float
    standard_error: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class DistributionBin:
    """Points from ``low`` to ``high``, both included, and the estimated share of devices there."""

    low: float
    high: float
    frequency: float


@dataclass(frozen=True)
class NumberEstimates(Context):
    """The statistics of one number question in one period, and what they rest on.

    Attributes
    ----------
    question, version, period, segment, segments, batches, pooled
        As of :class:`~deniable.analysis.results.Estimates`.
    n : int
        Devices that reported.
    mechanism : str
    epsilon, epsilon_first : Decimal
        Loss of one device: of all reports about one unchanging answer, and of one report (None
        without a second round).
    confidence : float
        Of each interval by itself, or of all together if ``simultaneous`` (Bonferroni).
    range : Range
        Numbers outside were clipped to it on the device; inside, rounded to its grid.
    fake_bias : float
        By how much 1 % of fake devices could move the mean, in the question's units.
    statistics : tuple of Statistic
        The mean first.
    distribution : tuple of DistributionBin
        Maximum likelihood, on grids of 512 points and more with smoothing: biased and without
        errors, see :mod:`deniable.analysis.distribution`. Empty for 1bitmean, which tells the
        mean alone, and for a mean of periods.
    notes : tuple of str
    shuffled : ReleasedCrowd or None
        What the crowd adds to the noise, if it was asked for.
    warnings : tuple of Suspicion
        Signs of fake or broken reports, and of abrupt changes; they change no number.
    epsilon_unit : str
        What ``epsilon`` is of, in words.
    """

    n: int
    mechanism: str
    epsilon: Decimal
    epsilon_first: Decimal | None
    confidence: float
    simultaneous: bool
    range: Range
    fake_bias: float
    statistics: tuple[Statistic, ...]
    distribution: tuple[DistributionBin, ...] = ()
    question: str | None = None
    version: int | None = None
    period: str | None = None
    segment: str | None = None
    segments: tuple[str | None, ...] = ()
    batches: tuple[str, ...] = ()
    pooled: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    shuffled: ReleasedCrowd | None = None
    warnings: tuple[Suspicion, ...] = ()
    epsilon_unit: str = EPSILON_UNIT

    NAMES: ClassVar[tuple[str, ...]] = (
        "question", "version", "period", "segment", "n", "mechanism", "epsilon", "epsilon_first",
        "confidence", "simultaneous",
        "statistic", "level", "estimate", "standard_error", "low", "high",
    )  # fmt: skip

    @property
    def mean(self) -> Statistic:
        """The mean."""
        return self.statistics[0]

    def records(self) -> list[Record]:
        """Return one flat row for each statistic."""
        context = self.which() | self.how()
        crowd = self.of_crowd()
        return [{**context, **asdict(statistic), **crowd} for statistic in self.statistics]

    def document(self) -> dict[str, Any]:
        """Return the statistics and the distribution as JSON."""
        return {
            **self.which(),
            **self.parts(),
            **self.how(),
            **accounted(self.epsilon, self.epsilon_first, self.epsilon_unit),
            "range": {
                "low": float(self.range.low),
                "high": float(self.range.high),
                "steps": self.range.steps,
            },
            "fake_bias": self.fake_bias,
            "notes": list(self.notes),
            "warnings": [warning.record() for warning in self.warnings],
            "statistics": [asdict(statistic) for statistic in self.statistics],
            "distribution": [asdict(one) for one in self.distribution],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the statistics for people, then the distribution if there is one."""
        columns = ("statistic", "estimate", "standard error", "low", "high")
        rows = [self._row(statistic) for statistic in self.statistics]
        notes = (*self._legend(), *self.notes)
        shown = Section(self.title(), columns, rows, notes)
        return (shown, self._bins()) if self.distribution else (shown,)

    def _row(self, one: Statistic) -> tuple[str, ...]:
        """Round a mean by its error, a quantile by the grid."""
        error = one.standard_error
        step = float(self.range.width) / self.range.steps
        places = decimals(step / 2 if error is None else error)
        numbers = (f"{number:z,.{places}f}" for number in (one.low, one.high))
        name = "mean" if one.level is None else f"quantile {one.level:g}"
        shown = "–" if error is None else f"{error:.{places}f}"
        return (name, f"{one.estimate:z,.{places}f}", shown, *numbers)

    def _bins(self) -> Section:
        places = decimals(float(self.range.width) / self.range.steps / 2)
        rows = [
            (f"{one.low:z,.{places}f}", f"{one.high:z,.{places}f}", f"{one.frequency:.3f}")
            for one in self.distribution
        ]
        note = (
            "The most likely distribution: biased, and without errors; trust the intervals of "
            "quantiles. A bin holds both its ends."
        )
        return Section("Distribution", ("from", "to", "frequency"), rows, (note,))

    def _legend(self) -> Iterator[str]:
        together = "all at once" if self.simultaneous else "each by itself"
        yield (
            f"The mean is unbiased and may lie outside the range; {100 * self.confidence:g} % "
            f"intervals, {together}."
        )
        spent = with_units(self.epsilon, self.epsilon_first, self.epsilon_unit)
        yield f"{self.mechanism}, epsilon {spent}."
        yield f"{100 * FAKE_SHARE:g} % fake devices could move the mean by {self.fake_bias:.2g}."
