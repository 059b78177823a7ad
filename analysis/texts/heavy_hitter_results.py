"""The frequent strings of a question as they are handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``; analysts' programs read them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from deniable.protocol.mechanisms.base import described

from ..context import Context
from ..estimators import FAKE_SHARE
from ..render import Record, Section
from ..results import accounted, decimals, with_units

if TYPE_CHECKING:
    from ..shuffling.crowd import ReleasedCrowd
    from ..suspicion.warning import Suspicion


_MANY = 1000
"""Reports of whole texts from which on a string of twice ``smallest`` is likely to be found."""


@dataclass(frozen=True, slots=True)
class HeavyHitter:
    """A string that stands out, and its frequency.

    Attributes
    ----------
    value : str
        As devices normalise it; or a name such as ``(other)``, for all that do not fit.
    count : float
        Estimated devices, ``frequency * n``.
    frequency : float
        Raw, as if the string had been named beforehand.
    standard_error : float
    low, high : float
        Interval of the frequency.
    p_value : float
        A bound on the probability that any string that no device has stands out as much.
    """

    value: str
    count: float
    frequency: float
    standard_error: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class HeavyHitters(Context):
    """The frequent strings of one question in one period, and what they rest on.

    Attributes
    ----------
    question, version, period, segment, segments, batches, pooled, shuffled, warnings
        As of :class:`deniable.analysis.Estimates`.
    n : int
        Devices that reported.
    reports : int
        Those of them that reported of whole texts; the others told where to look.
    mechanism : str
    epsilon, epsilon_first : Decimal
        Loss of one device: of all reports about one unchanging answer, and of one report (None
        without a second round).
    false_positives : float
        Of the strings listed, the share that no device has, on average at most. Where no string
        is frequent, the probability that any is listed.
    breadth : int
        Prefixes looked at in each level, or little more.
    candidates : int
        Strings that were tested.
    smallest : float
        A string of a lower frequency is not likely to be listed, one of twice this is, if there
        are 1,000 reports of whole texts or more.
    confidence : float
        Of each interval by itself, or of all together if ``simultaneous``.
    fake_bias : float
        By how much 1 % of fake devices could move any of the frequencies.
    notes : tuple of str
    options : mapping of str to int
        Of the mechanism, those in force.
    hitters : tuple of HeavyHitter
        The most frequent first.
    """

    n: int
    reports: int
    mechanism: str
    epsilon: Decimal
    epsilon_first: Decimal | None
    false_positives: float
    breadth: int
    candidates: int
    smallest: float
    confidence: float
    simultaneous: bool
    fake_bias: float
    hitters: tuple[HeavyHitter, ...]
    question: str | None = None
    version: int | None = None
    period: str | None = None
    segment: str | None = None
    segments: tuple[str | None, ...] = ()
    batches: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    options: Mapping[str, int] = field(default_factory=dict)
    pooled: tuple[str, ...] = ()
    shuffled: ReleasedCrowd | None = None
    warnings: tuple[Suspicion, ...] = ()

    NAMES: ClassVar[tuple[str, ...]] = (
        "question", "version", "period", "segment", "n", "mechanism", "epsilon", "epsilon_first",
        "confidence", "simultaneous", "reports", "false_positives", "breadth", "candidates",
        "smallest", "value", "count", "frequency", "standard_error", "low", "high", "p_value",
    )  # fmt: skip

    def records(self) -> list[Record]:
        """Return one flat row for each string."""
        context = self.which() | self._how()
        return [{**context, **asdict(hitter)} for hitter in self.hitters]

    def document(self) -> dict[str, Any]:
        """Return the strings as JSON."""
        return {
            **self.which(),
            **self.parts(),
            **self._how(),
            **accounted(self.epsilon, self.epsilon_first),
            "options": dict(self.options),
            "fake_bias": self.fake_bias,
            "notes": list(self.notes),
            "hitters": [asdict(hitter) for hitter in self.hitters],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the strings for people, rounded to two digits of their errors."""
        columns = ("string", "count", "frequency", "standard error", "low", "high", "p-value")
        rows = [_row(hitter, self.n) for hitter in self.hitters]
        title = self.title() if rows else f"{self.title()}: no string stands out"
        return (Section(title, columns, rows, (*self._legend(), *self.notes)),)

    def _how(self) -> Record:
        return {
            **self.how(),
            "reports": self.reports,
            "false_positives": self.false_positives,
            "breadth": self.breadth,
            "candidates": self.candidates,
            "smallest": self.smallest,
        }

    def _legend(self) -> Iterator[str]:
        yield (
            f"Of the strings listed, at most {100 * self.false_positives:g} % on average are of "
            "no device; if none is frequent, any is listed with that probability at most. "
            f"{self.candidates:,} candidates were tested by {self.reports:,} devices' reports of "
            "whole texts; the other devices' reports proposed them, from a look at "
            f"{self.breadth:,} beginnings of each length."
        )
        likely = f"; one of {2 * self.smallest:.2g} or more is" if self.reports >= _MANY else ""
        yield (
            f"A string with a frequency below {self.smallest:.2g} is not likely to be listed"
            f"{likely}. A frequent one may be missing."
        )
        yield (
            "p-value: a bound on the probability that any string of no device stands out as much."
        )
        together = "all at once" if self.simultaneous else "each by itself"
        yield (
            f"Frequencies raw; {100 * self.confidence:g} % intervals, {together}, as of strings "
            "named beforehand: those that are barely listed tend to be overestimated."
        )
        how = described(self.mechanism, self.options)
        yield f"{how}, epsilon {with_units(self.epsilon, self.epsilon_first)}."
        yield (
            f"{100 * FAKE_SHARE:g} % fake devices could move a frequency by {self.fake_bias:.2g}, "
            "and so put any string on this list."
        )


def _row(hitter: HeavyHitter, n: int) -> tuple[str, ...]:
    """Round to two significant digits of the standard error."""
    places = decimals(hitter.standard_error)
    of_count = decimals(hitter.standard_error * n)
    frequencies = (hitter.frequency, hitter.standard_error, hitter.low, hitter.high)
    return (
        hitter.value,
        f"{hitter.count:z,.{of_count}f}",
        *(f"{number:z.{places}f}" for number in frequencies),
        f"{hitter.p_value:.1g}",
    )
