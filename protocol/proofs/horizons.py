"""One epsilon for all periods: what a device's reports reveal together, of every history.

There are too many histories of a long horizon to walk. The same code over a few periods is walked
instead, with all of its levels, all histories and all reports, whether or not the answer changes
more often than it may. What must never change: over how many periods is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from ..mechanisms.dyadic import Dyadic
from ..mechanisms.trajectory import Trajectory
from .trajectories import history_ratio
from .walks import Leakage

_PERIODS, _VALUES = 4, 3


def walk_horizon(mechanism: Dyadic) -> Leakage:
    """Return what all reports of a device reveal together; and so what one of them does at most."""
    few = _over_few_periods(mechanism)
    histories = [
        dict(enumerate(symbols, start=1)) for symbols in product(range(few.k), repeat=few.periods)
    ]
    ratio = history_ratio(few, histories)
    by = f"every branch of the code, for all histories of {few.periods} periods together"
    if few.k < mechanism.k:
        by += f", over {few.k} values"
    return Leakage(ratio, ratio, by)


def _over_few_periods(mechanism: Dyadic) -> Dyadic:
    periods = min(mechanism.periods, _PERIODS)
    options: Mapping[str, int] = {"periods": periods}
    if isinstance(mechanism, Trajectory):
        options = {**options, "changes": min(mechanism.changes, periods - 1)}
    k = min(mechanism.k, _VALUES)
    return type(mechanism).resolve(k, mechanism.epsilon, None, options)  # type: ignore[return-value]
