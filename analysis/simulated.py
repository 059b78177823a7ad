"""What a rehearsal shows: each estimate beside the truth, and the tallies it rests on.

What must never change within a major version: the field names of ``document()`` and
``records()``; analysts' programs read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, ClassVar

from deniable.protocol.question import Value
from deniable.protocol.tally import Tally

from .render import Record, Section
from .results import decimals, text


@dataclass(frozen=True, slots=True)
class SimulatedValue:
    """One value of a question in one period: its estimate in the first run, and all runs' errors.

    Attributes
    ----------
    question, period : str
    n : int
        Devices that answer.
    mechanism : str
    value : bool, str or "mean"
        Of a set question each item, then ``size 0`` and so on, and ``mean size``.
    truth : float
        Frequency by the weights of the truth, among those who answer; or the mean of their
        numbers, each at the nearest point of its grid.
    drawn : float
        The same, among the devices that were drawn.
    estimate, standard_error, low, high : float
    sigmas : float
        The error, ``(estimate - truth) / standard_error``.
    covered : bool
        Whether the truth is in the interval.
    coverage : float
        Share of all runs in which it is.
    mean_error, rms_error : float
        Mean of ``estimate - truth`` over all runs, and square root of the mean of its square.
    """

    question: str
    period: str
    n: int
    mechanism: str
    value: Value | int
    truth: float
    drawn: float
    estimate: float
    standard_error: float
    low: float
    high: float
    sigmas: float
    covered: bool
    coverage: float
    mean_error: float
    rms_error: float


@dataclass(frozen=True)
class Simulation:
    """A rehearsal of a survey.

    Attributes
    ----------
    survey : str
    devices : int
        Drawn from the rows of the truth.
    periods, runs : int
    seed : int
        The same seed gives the same numbers, with the same release of numpy.
    confidence : float
        Of each interval by itself, or of all of a question together if ``simultaneous``.
    simultaneous : bool
    values : tuple of SimulatedValue
        By question, period and value.
    tallies : tuple of Tally
        Of the first run.
    notes : tuple of str
        What a reader must know besides.
    """

    survey: str
    devices: int
    periods: int
    runs: int
    seed: int
    confidence: float
    simultaneous: bool
    values: tuple[SimulatedValue, ...]
    tallies: tuple[Tally, ...]
    notes: tuple[str, ...] = ()

    columns: ClassVar[tuple[str, ...]] = (
        "survey", "devices", "runs", "seed", "confidence", "simultaneous",
        *SimulatedValue.__dataclass_fields__,
    )  # fmt: skip

    def _how(self) -> Record:
        names = ("survey", "devices", "runs", "seed", "confidence", "simultaneous")
        return {name: getattr(self, name) for name in names}

    def records(self) -> list[Record]:
        """Return one flat row for each value of each question and period."""
        return [self._how() | asdict(value) for value in self.values]

    def document(self) -> dict[str, Any]:
        """Return the rehearsal as JSON, without its tallies."""
        values = [asdict(value) for value in self.values]
        return {**self._how(), "periods": self.periods, "notes": list(self.notes), "values": values}

    def tally_documents(self) -> dict[str, Any]:
        """Return the tallies of the first run, as :func:`deniable.analysis.open_source` reads."""
        return {"tallies": [tally.document() for tally in self.tallies]}

    def sections(self) -> tuple[Section, ...]:
        """Return each question and period for people."""
        found = []
        for (question, period), group in groupby(self.values, lambda v: (v.question, v.period)):
            values = list(group)
            title = f"{question}, {period}, n = {values[0].n:,} devices, {values[0].mechanism}"
            rows = [self._row(value) for value in values]
            found.append(Section(title, tuple(rows[0]), [tuple(row.values()) for row in rows]))
        return (*found, Section(f"Rehearsal of {self.survey}", (), (), tuple(self._legend())))

    def _row(self, value: SimulatedValue) -> dict[str, str]:
        """Return the cells by column: one run in full, or what several have in common."""
        error = value.standard_error
        row = {
            "value": text(value.value),
            "truth": _rounded(value.truth, error),
            "drawn": _rounded(value.drawn, error),
            "estimate": _rounded(value.estimate, error),
            "standard error": _rounded(error, error),
        }
        if self.runs == 1:
            return row | {
                "low": _rounded(value.low, error),
                "high": _rounded(value.high, error),
                "sigmas": f"{value.sigmas:z.2f}",
                "covered": "yes" if value.covered else "no",
            }
        return row | {
            "sigmas": f"{value.sigmas:z.2f}",
            "coverage %": f"{100 * value.coverage:.1f}",
            "mean error": _rounded(value.mean_error, error / 10),
            "rms error": _rounded(value.rms_error, error),
        }

    def _legend(self) -> Iterator[str]:
        together = "all of a question at once" if self.simultaneous else "each by itself"
        yield (
            f"{self.devices:,} devices drawn from the truth, seed {self.seed}; sigmas are errors "
            f"in standard errors; {100 * self.confidence:g} % intervals, {together}."
        )
        if self.runs > 1:
            yield f"Coverage and mean errors over {self.runs} runs, each of other devices."
        yield from self.notes


def _rounded(number: float, error: float) -> str:
    """Round to two significant digits of the error."""
    return f"{number:z.{decimals(error)}f}"
