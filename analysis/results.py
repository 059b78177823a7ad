"""Estimates as they are handed out: frozen, labelled, and printable in three forms.

What must never change within a major version: the field names of ``document()`` and
``records()``; analysts' programs read them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical
from deniable.protocol.mechanisms.base import described
from deniable.protocol.question import Value

from .context import Context
from .estimators import FAKE_SHARE
from .reading import beyond, read
from .render import Record, Section

if TYPE_CHECKING:
    from .number_results import NumberEstimates
    from .shuffling.crowd import ReleasedCrowd
    from .suspicion.warning import Suspicion

EPSILON_UNIT = "of one device, from all its reports about one unchanging answer"
FIRST_UNIT = "of one device, from one report"


def units(epsilon_first: Decimal | None, unit: str = EPSILON_UNIT) -> dict[str, str]:
    """Return what the epsilons of a document are of."""
    first = {} if epsilon_first is None else {"epsilon_first_unit": FIRST_UNIT}
    return {"epsilon_unit": unit, **first}


def accounted(
    epsilon: Decimal, epsilon_first: Decimal | None, unit: str = EPSILON_UNIT
) -> dict[str, str]:
    """Return :func:`units`, and the verdict on the epsilon of all reports about one answer."""
    return {**units(epsilon_first, unit), "epsilon_verdict": read(float(epsilon)).verdict}


def with_units(epsilon: Decimal, epsilon_first: Decimal | None, unit: str = EPSILON_UNIT) -> str:
    """Write epsilons with what they are of, and what is to be said of a large one, for people."""
    first = "" if epsilon_first is None else f"; {canonical(epsilon_first)} {FIRST_UNIT}"
    verdict = beyond(epsilon)
    warned = f"; {verdict}" if verdict else ""
    return f"{canonical(epsilon)} {unit}{first}{warned}"


@dataclass(frozen=True, slots=True)
class Estimate:
    """One value's frequency.

    Attributes
    ----------
    value : bool, str or int
        The answer; the symbol's index where the question is not known.
    count : float
        Estimated devices, ``frequency * n``.
    frequency : float
        Raw: unbiased, may be negative or exceed 1. Or post-processed, if the result says so.
    standard_error : float
        Of the raw frequency.
    low, high : float
        Interval of the raw frequency.
    """

    value: Value | int
    count: float
    frequency: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimates(Context):
    """The frequencies of one question in one period, and what they rest on.

    Attributes
    ----------
    question, version, period, segment
        Which counts; None where they came from elsewhere. ``segment`` is None as well where
        several were added up; ``segments`` then names them (None: devices that named none).
    batches : tuple of str
        Of a ``once`` question: the weeks whose batches were added up.
    pooled : tuple of str
        The periods of which this is the mean, if it is one.
    n : int
        Devices that reported.
    mechanism : str
    epsilon, epsilon_first : Decimal
        Loss of one device: of all reports about one unchanging answer, and of one report (None
        without a second round).
    confidence : float
        Of each interval by itself, or of all together if ``simultaneous``.
    post_process : str
        What was done to ``frequency`` and ``count``; never to errors and intervals.
    fake_bias : float
        By how much 1 % of fake devices could move any of the frequencies.
    notes : tuple of str
        What a reader must know besides.
    options : mapping of str to int
        Of the mechanism, those in force.
    shuffled : ReleasedCrowd or None
        What the crowd adds to the noise, if it was asked for.
    warnings : tuple of Suspicion
        Signs of fake or broken reports, and of abrupt changes; they change no number.
    epsilon_unit : str
        What ``epsilon`` is of, in words.
    estimates : tuple of Estimate
    """

    n: int
    mechanism: str
    epsilon: Decimal
    epsilon_first: Decimal | None
    confidence: float
    simultaneous: bool
    post_process: str
    fake_bias: float
    estimates: tuple[Estimate, ...]
    question: str | None = None
    version: int | None = None
    period: str | None = None
    segment: str | None = None
    segments: tuple[str | None, ...] = ()
    batches: tuple[str, ...] = ()
    pooled: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    options: Mapping[str, int] = field(default_factory=dict)
    shuffled: ReleasedCrowd | None = None
    warnings: tuple[Suspicion, ...] = ()
    epsilon_unit: str = EPSILON_UNIT

    NAMES: ClassVar[tuple[str, ...]] = (
        "question", "version", "period", "segment", "n", "mechanism", "epsilon", "epsilon_first",
        "confidence", "simultaneous", "post_process",
        "value", "count", "frequency", "standard_error", "low", "high",
    )  # fmt: skip

    def records(self) -> list[Record]:
        """Return one flat row for each estimate."""
        context = self.which() | self._how()
        crowd = self.of_crowd()
        return [{**context, **asdict(estimate), **crowd} for estimate in self.estimates]

    def document(self) -> dict[str, Any]:
        """Return the estimates as JSON."""
        return {
            **self.which(),
            **self.parts(),
            **self._how(),
            **accounted(self.epsilon, self.epsilon_first, self.epsilon_unit),
            "options": dict(self.options),
            "fake_bias": self.fake_bias,
            "notes": list(self.notes),
            "warnings": [warning.record() for warning in self.warnings],
            "estimates": [asdict(estimate) for estimate in self.estimates],
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the estimates for people, rounded to two digits of their errors."""
        columns = ("value", "count", "frequency", "standard error", "low", "high")
        rows = [row(estimate, self.n) for estimate in self.estimates]
        return (Section(self.title(), columns, rows, (*self._legend(), *self.notes)),)

    def _how(self) -> Record:
        return {**self.how(), "post_process": self.post_process}

    def _legend(self) -> Iterator[str]:
        kind = "raw (unbiased, may be below 0 or above 1)"
        if self.post_process != "none":
            kind = f"after {self.post_process} (biased); errors and intervals of the raw ones"
        together = "all at once" if self.simultaneous else "each by itself"
        yield f"Frequencies {kind}; {100 * self.confidence:g} % intervals, {together}."
        how = described(self.mechanism, self.options)
        yield f"{how}, epsilon {with_units(self.epsilon, self.epsilon_first, self.epsilon_unit)}."
        yield f"{100 * FAKE_SHARE:g} % fake devices could move a frequency by {self.fake_bias:.2g}."


@dataclass(frozen=True)
class EstimateSeries:
    """The estimates of one or several periods, oldest first; never pooled.

    Attributes
    ----------
    periods : tuple of Estimates or of NumberEstimates
        All of one kind, one at least.
    listed : bool
        Whether several periods were asked for; the JSON is then an array, whatever its length.
    """

    periods: tuple[Estimates, ...] | tuple[NumberEstimates, ...]
    listed: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the flat rows, which depend on the kind of question."""
        return self.periods[0].columns

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd about the periods, in words; each names its own."""
        return tuple(warning.text for period in self.periods for warning in period.warnings)

    @property
    def frequencies(self) -> tuple[Estimates, ...]:
        """The periods of a question that is not for a number.

        Raises
        ------
        ParameterError
            If it is for a number, and so has no frequencies.
        """
        found = tuple(period for period in self.periods if isinstance(period, Estimates))
        if not found:
            raise ParameterError(
                f"{self.periods[0].question} asks for a number, and has no frequencies"
            )
        return found

    @property
    def numbers(self) -> tuple[NumberEstimates, ...]:
        """The periods of a question for a number.

        Raises
        ------
        ParameterError
            If it is for something else.
        """
        found = tuple(period for period in self.periods if not isinstance(period, Estimates))
        if not found:
            raise ParameterError(f"{self.periods[0].question} does not ask for a number")
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.periods)

    def __len__(self) -> int:
        return len(self.periods)

    def __getitem__(self, index: int) -> Any:
        return self.periods[index]

    def records(self) -> list[Record]:
        """Return one flat row for each estimate of each period."""
        return [record for period in self.periods for record in period.records()]

    def document(self) -> dict[str, Any] | list[dict[str, Any]]:
        """Return one object, or an array of them if several periods were asked for."""
        documents = [period.document() for period in self.periods]
        return documents if self.listed else documents[0]

    def sections(self) -> tuple[Section, ...]:
        """Return every period for people, one after the other."""
        return tuple(section for period in self.periods for section in period.sections())


def text(value: object) -> str:
    """Write a value as JSON does, but texts without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def row(estimate: Estimate, n: int) -> tuple[str, ...]:
    """Write one of n devices, rounded to two significant digits of the standard error."""
    places = decimals(estimate.standard_error)
    of_count = decimals(estimate.standard_error * n)
    frequencies = (estimate.frequency, estimate.standard_error, estimate.low, estimate.high)
    count = f"{estimate.count:z,.{of_count}f}"
    return (text(estimate.value), count, *(f"{number:z.{places}f}" for number in frequencies))


def decimals(error: float) -> int:
    """Return the decimal places that show two significant digits of a standard error."""
    return 4 if error <= 0 else min(12, max(0, 1 - math.floor(math.log10(error))))
