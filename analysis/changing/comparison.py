"""A horizon beside memoization with a second round, at one promise about the whole trajectory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, ClassVar

from deniable.protocol.mechanisms import Mechanism, build
from deniable.protocol.mechanisms.dyadic import Dyadic
from deniable.protocol.question import Question

from ..render import Section
from ..totals.longitudinal import trajectory
from .memoized import best_memoized, trajectory_epsilon

DEVICES = 10**6
"""For which standard errors are told."""

CHANGES = 2
"""Of a yes/no that has no horizon yet."""

SPANS = {"day": (30, 365), "week": (12, 52), "month": (12, 36), "once": ()}
"""Periods that a question without a horizon is looked at over."""


@dataclass(frozen=True, slots=True)
class ChangingComparison:
    """What one epsilon of the whole trajectory buys, either way.

    Attributes
    ----------
    question : str
    periods : int
        T.
    changes : int or None
        At most so many in them; None of a number that only rises.
    epsilon : float
        Of all reports of one device together, about the whole trajectory.
    horizon_error : float
        Standard error with a horizon, of :data:`DEVICES` devices, in the newest period where it is
        largest; of a mean in the question's own units.
    memoized_epsilon, memoized_epsilon_first : float
        Those of memoization with a second round that promise as much of the whole trajectory, of
        least error.
    memoized_error : float
        Its standard error, in every period alike.
    better : "horizon" or "second round"
    asked_epsilon : float or None
        What the question, as the survey asks it, reveals of a trajectory with that many changes;
        None is unbounded.
    """

    question: str
    periods: int
    changes: int | None
    epsilon: float
    horizon_error: float
    memoized_epsilon: float
    memoized_epsilon_first: float
    memoized_error: float
    better: str
    asked_epsilon: float | None

    columns: ClassVar[tuple[str, ...]] = (
        "question", "periods", "changes", "epsilon", "error, horizon", "error, second round",
        "second round", "better", "as asked",
    )  # fmt: skip

    def record(self) -> dict[str, Any]:
        """Return one flat row."""
        return asdict(self)

    def row(self) -> tuple[str, ...]:
        """Return the row for people."""
        errors = self.horizon_error, self.memoized_error
        asked = self.asked_epsilon
        return (
            self.question,
            f"{self.periods:,}",
            "only rises" if self.changes is None else f"{self.changes}",
            f"{self.epsilon:g}",
            *(f"{error:.2g}" for error in errors),
            f"{self.memoized_epsilon:.2f}, {self.memoized_epsilon_first:.2g}",
            f"{self.better}, x {max(errors) / min(errors):.3g}",
            "no bound" if asked is None else f"{asked:.4g}",
        )


def changing_comparisons(question: Question) -> Iterator[ChangingComparison]:
    """Yield the comparison for the horizon of a question, or for some that it could have.

    Nothing for a question that could have none: not of a yes/no or a number, or asked once.

    Parameters
    ----------
    question : Question
    """
    if question.type not in ("boolean", "number"):
        return
    if question.horizon is not None:
        yield _compared(question, question.horizon.periods, question.horizon.changes)
        return
    for periods in SPANS[question.period]:
        yield _compared(question, periods, CHANGES if question.type == "boolean" else None)


def changing_section(found: tuple[ChangingComparison, ...]) -> Section:
    """Return the table of comparisons for people."""
    notes = (
        "epsilon: of one device, all its reports together, about its whole trajectory: how often "
        "and when the answer changes is covered too.",
        f"error, horizon: standard error with {DEVICES:,} devices in the newest period, where it "
        "is largest, of a question with that horizon (a yes/no) or of a number that only rises; "
        "older periods are more certain.",
        "error, second round: of memoization that promises the same of the whole trajectory; "
        "second round: its epsilon, of all reports about one unchanging answer, and its "
        "epsilon_first, of one report.",
        "as asked: epsilon of all reports of one device about the whole trajectory, of the "
        "question as it is, in so many periods. Without a horizon a change shows: memoization is "
        "made for answers that stay.",
    )
    title = "Answers that change: a horizon, or memoization with a second round"
    return Section(title, ChangingComparison.columns, [one.row() for one in found], notes)


def _compared(question: Question, periods: int, changes: int | None) -> ChangingComparison:
    epsilon = float(question.epsilon)
    mechanism = _horizon(question.mechanism, periods, changes)
    unit = 1.0 if question.range is None else float(question.range.width)
    variance, _ = mechanism.worst_variance_iid()
    ours = math.sqrt(variance / DEVICES)
    other = best_memoized(epsilon, periods, rising=changes is None)
    theirs = 1 / (2 * other.gap * math.sqrt(DEVICES))
    return ChangingComparison(
        question=question.id,
        periods=periods,
        changes=changes,
        epsilon=epsilon,
        horizon_error=unit * ours,
        memoized_epsilon=other.permanent,
        memoized_epsilon_first=other.first,
        memoized_error=unit * theirs,
        better="horizon" if ours <= theirs else "second round",
        asked_epsilon=asked_epsilon(question.mechanism, periods, changes),
    )


@lru_cache(maxsize=64)
def _horizon(mechanism: Mechanism, periods: int, changes: int | None) -> Mechanism:
    """Return what a horizon would make of a mechanism with the same epsilon."""
    if changes is None:
        return build("counter", mechanism.k, mechanism.epsilon, options={"periods": periods})
    options = {"periods": periods, "changes": changes}
    return build("trajectory", 2, mechanism.epsilon, options=options)


def asked_epsilon(mechanism: Mechanism, periods: int, changes: int | None) -> float | None:
    """Return what a mechanism reveals of a trajectory as it is; None is unbounded.

    Exact for one bit that is memoized by randomized response, however often it changes; for
    others a bound.

    Parameters
    ----------
    mechanism : Mechanism
    periods : int
        T.
    changes : int or None
        At most so many; None of any number.
    """
    if isinstance(mechanism, Dyadic):
        return float(mechanism.epsilon)
    if mechanism.second is None:
        return None
    if mechanism.name == "1bitmean" or (mechanism.name, mechanism.k) == ("grr", 2):
        p2, q2 = mechanism.second
        ratio = math.log1p(float((p2 - q2) / q2))
        return trajectory_epsilon(float(mechanism.epsilon), ratio, periods)
    limits = [periods, periods if changes is None else changes + 1]
    if mechanism.classes is not None:
        limits.append(mechanism.classes)
    return trajectory(mechanism, periods, min(limits)).epsilon
