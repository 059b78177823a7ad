"""What changed from one period to the next by more than noise, and by more than people do.

Of each period an interval is taken that misses with odds of 2.5e-7, over all values at once.
Where two do not overlap, the change is more than noise, whatever the correlation of the periods'
errors: memoized answers need no assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.mechanisms.scale import Scale
from deniable.protocol.mechanisms.sketch import Sketch
from deniable.protocol.tally import Tally

from ..decode import add
from ..estimators import Level, Raw
from ..frequencies import estimate_cells
from ..means import estimate_mean
from ..number_results import NumberEstimates
from ..results import Estimate, Estimates, text
from .warning import ODDS, Suspicion

LEAST_DRIFT: Final = 0.05
"""A smaller change of a frequency, or of a mean as a share of its range, is not worth a warning."""

MOST_GROWTH: Final = 2
"""A crowd that grows or shrinks by a larger factor is."""

MISS: Final = 2.5e-7
"""Of one period; normal intervals may miss 1.65 times as often, and there are two periods."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One period: its tallies, and what was estimated from them."""

    tallies: Sequence[Tally]
    made: Estimates | NumberEstimates

    @property
    def period(self) -> str:
        """Its name."""
        return self.tallies[0].period


def between_periods(before: Seen, now: Seen) -> Iterator[Suspicion]:
    """Yield what is odd about the change from one period to a later one of the same question."""
    crowd, drift = _crowd(before, now), _drift(before, now)
    if crowd:
        yield Suspicion("crowd", now.period, f"{now.period}: {crowd}")
    if drift:
        yield Suspicion("drift", now.period, f"{now.period}: {drift}")


def _crowd(before: Seen, now: Seen) -> str:
    old, new = before.made.n, now.made.n
    if max(old, new) <= MOST_GROWTH * min(old, new):
        return ""
    how, means = "fewer than half", "an outage, a release or a change of consent"
    if new > old:
        how, means = "more than twice", "a launch or a campaign, or one party posing as many"
    return f"{new:,} devices, {how} the {old:,} of {before.period}: {means}."


def _drift(before: Seen, now: Seen) -> str:
    moved = [
        (abs(new.frequency - old.frequency), name, old.frequency, new.frequency)
        for (name, old), (_, new) in zip(_intervals(before), _intervals(now), strict=True)
        if new.low > old.high or new.high < old.low
    ]
    large = [one for one in moved if one[0] > LEAST_DRIFT]
    if not large:
        return ""
    _, name, old_, new_ = max(large)
    others = f", and {len(large) - 1:,} more answers did" if large[1:] else ""
    return (
        f"{name} moved from {old_:.3f} to {new_:.3f} since {before.period}{others}, by more than "
        f"noise can (odds below {ODDS:g}) and more than {LEAST_DRIFT:g}: what devices answer "
        "changed, or who answers, or reports are fake or broken."
    )


def _intervals(seen: Seen) -> list[tuple[str, Raw]]:
    """Return the name and the interval of each frequency, or of the mean."""
    question = seen.tallies[0].question
    mechanism = question.mechanism
    cells = add([tally.cells for tally in seen.tallies])
    if isinstance(mechanism, Scale):
        return [("the mean as a share of its range", estimate_mean(mechanism, cells, Level(MISS)))]
    level = Level(MISS, mechanism.k)
    again = isinstance(mechanism, Rappor | Sketch)  # least squares
    if again and isinstance(seen.made, Estimates):
        return [(text(one.value), _widened(one, level)) for one in seen.made.estimates]
    raws = estimate_cells(mechanism, cells, level)
    first = int(question.type == "boolean")  # of a yes/no, true alone
    return [(text(question.values[i]), raws[i]) for i in range(first, mechanism.k)]


def _widened(one: Estimate, level: Level) -> Raw:
    """Return a normal interval at another level, without least squares done again."""
    centre, reach = (one.low + one.high) / 2, level.z * one.standard_error
    return Raw(centre, one.standard_error, centre - reach, centre + reach)
