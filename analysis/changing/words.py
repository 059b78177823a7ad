"""What is said of a question whose one epsilon covers all of its periods.

What must never change: no epsilon of such a question is shown without the trajectory it is of.
"""

from __future__ import annotations

from collections.abc import Iterator

from deniable.protocol.errors import ParameterError
from deniable.protocol.horizon import Horizon
from deniable.protocol.mechanisms.dyadic import Dyadic
from deniable.protocol.question import Question

from ..figures import counted

PERIODS = {"day": "days", "week": "weeks", "month": "months", "once": "periods"}

CORRELATED = (
    "Every period is estimated from the tallies of all of them: the errors of neighbours are "
    "correlated, and steps between them are more certain than the intervals suggest."
)


def horizon_of(question: Question) -> Horizon:
    """Return the horizon of a question that has one."""
    if question.horizon is None:
        raise ParameterError(f"{question.id} has no horizon")
    return question.horizon


def epsilon_unit(question: Question) -> str:
    """Return what the epsilon of such a question is of."""
    mechanism = question.mechanism
    if not isinstance(mechanism, Dyadic):
        raise ParameterError(f"{question.id}: {mechanism.name} has no horizon")
    covered = whole(mechanism, PERIODS[question.period])
    return f"of one device, from all its reports together: of its {covered}"


def whole(mechanism: Dyadic, periods: str = "periods") -> str:
    """Name what one epsilon covers, in so many periods of a kind."""
    span = f"{mechanism.periods:,} {periods}"
    changes = mechanism.chosen.get("changes")
    if changes is None:
        return f"whole history of {span}, in which its number only rises"
    return f"whole trajectory with at most {counted(changes, 'change')} in {span}"


def remarks(question: Question) -> Iterator[str]:
    """Yield what every estimate of such a question assumes."""
    yield (
        "Estimated from the tallies of all released periods together; those still to come make it "
        "more certain, and may move it a little."
    )
    yield (
        "Devices that join, leave or miss a report are taken to answer and to change like those "
        "that do not."
    )
    changes = horizon_of(question).changes
    if changes is None:
        yield "A number that falls counts as staying where it was."
    else:
        yield (
            f"A device reports {counted(changes, 'change')} of its answer at most; where answers "
            "change more often, the estimates lag behind."
        )
