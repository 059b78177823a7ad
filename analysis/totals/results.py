"""The five rows of ``total-epsilon`` as they are handed out.

What must never change within a major version: the field names of ``document()`` and
``records()``, and that a column is absent rather than empty where it does not apply.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from deniable.protocol.exact import canonical

from ..accountants.compositions import Composition
from ..reading import Reading, both, read
from ..render import Record, Section
from .longitudinal import Bound

ONE_REPORT = "one report"
UNCHANGING = "a value that never changes"
PUBLIC_CHANGES = "the values, change times public"
CHANGED_DAY = "one changed day, the rest known"
TRAJECTORY = "the whole trajectory, change times secret"

NO_BOUND = "no bound"

NOISE = ("memoized", "memoized_second_round", "fresh")
"""The columns that hold an epsilon."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is protected, and the epsilon that protects it; None where there is no bound."""

    protects: str
    memoized: float | None
    second_round: float | None
    fresh: Bound
    unit: str

    def epsilon(self, noise: str) -> float | None:
        """Return the epsilon in one of the columns :data:`NOISE`."""
        found = {
            "memoized": self.memoized,
            "memoized_second_round": self.second_round,
            "fresh": self.fresh.epsilon,
        }
        return found[noise]

    def reading(self, noise: str) -> Reading | None:
        """Return what that epsilon means; None where there is no bound.

        Of fresh noise figure by figure the better of what its bound means and what that means
        which never fails.
        """
        epsilon = self.epsilon(noise)
        if epsilon is None:
            return None
        if noise != "fresh":
            return read(epsilon)
        reading = read(epsilon, self.fresh.delta)
        surely = self.fresh.surely
        return reading if surely is None else both(reading, read(surely))

    def verdict(self, noise: str) -> str:
        """Return nothing, or what is to be said of that column."""
        reading = self.reading(noise)
        return NO_BOUND if reading is None else reading.verdict

    def record(self, noises: tuple[str, ...]) -> Record:
        """Return the flat row, of some of the columns."""
        return {
            "protects": self.protects,
            **{noise: self.epsilon(noise) for noise in noises},
            "unit": self.unit,
            "fresh_by": self.fresh.name,
            **{f"{noise}_verdict": self.verdict(noise) for noise in noises},
        }

    def document(self, noises: tuple[str, ...]) -> dict[str, Any]:
        """Return the row as JSON, with what each of its epsilons means."""
        readings = {noise: _reading(self.reading(noise)) for noise in noises}
        return {**self.record(noises), "readings": readings}


def _reading(reading: Reading | None) -> dict[str, Any]:
    if reading is not None:
        return reading.document()
    nothing = {"odds_factor": None, "success_cap": 1.0, "advantage_cap": 1.0}
    return {**nothing, "true_positive_cap": 1.0, "meaningful": False, "verdict": NO_BOUND}


def flat_columns(noises: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in a flat row."""
    verdicts = tuple(f"{noise}_verdict" for noise in noises)
    return ("protects", *noises, "unit", "fresh_by", *verdicts)


def composition_document(one: Composition) -> dict[str, Any]:
    """Return a composition as JSON."""
    return {
        "method": one.method,
        "epsilon": one.epsilon,
        "delta": one.delta,
        "winner": one.winner,
        "name": one.name,
        "why": one.why,
    }


@dataclass(frozen=True)
class TotalEpsilon:
    """The five rows of one question.

    Attributes
    ----------
    epsilon, epsilon_first : Decimal
    days : int
        T, reports of each device: one a day, or one in each of the question's periods.
    values : int
    mechanism : str
    domain : str
        What the mechanism is over, in words.
    covered : str
        What epsilon is of, in words.
    changes : int or None
        How often the answer changes at most, if that is assumed.
    delta : float or None
        Probability with which the fresh column's compositions may fail.
    devices_per_person : int
        How many devices, with the same answers, every epsilon covers together.
    devices : int or None
        How many there are in all, if that was told.
    rows : tuple of Row
    compositions : tuple of Composition
        All reports about one answer, each drawn with fresh noise, by every method.
    warnings : tuple of str
    """

    epsilon: Decimal
    epsilon_first: Decimal | None
    days: int
    values: int
    mechanism: str
    domain: str
    covered: str
    changes: int | None
    delta: float | None
    devices_per_person: int
    devices: int | None
    rows: tuple[Row, ...]
    compositions: tuple[Composition, ...]
    warnings: tuple[str, ...]

    @property
    def noises(self) -> tuple[str, ...]:
        """The columns that apply; the second round's only if there is one."""
        return NOISE if self.epsilon_first is not None else (NOISE[0], NOISE[2])

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the flat rows."""
        return flat_columns(self.noises)

    def records(self) -> list[Record]:
        """Return the five flat rows; None is no bound."""
        return [row.record(self.noises) for row in self.rows]

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
            "devices_per_person": self.devices_per_person,
            "devices": self.devices,
            "rows": [row.document(self.noises) for row in self.rows],
            "compositions": [composition_document(one) for one in self.compositions],
            "warnings": list(self.warnings),
        }

    def sections(self) -> tuple[Section, ...]:
        """Return the table for people, what its epsilons mean, and the compositions."""
        from .sections import sections_of_one

        return sections_of_one(self)

    @property
    def described(self) -> str:
        """The mechanism and its epsilons, with their units."""
        first = self.epsilon_first
        one = "" if first is None else f", {canonical(first)} of one report"
        return (
            f"{self.mechanism} {self.domain}, epsilon {canonical(self.epsilon)} of "
            f"{self.covered}{one}"
        )
