"""The rows of ``total-epsilon`` of a mechanism with one epsilon for all periods.

Whatever is protected is part of the whole trajectory, so no row exceeds the epsilon of that.
"""

from __future__ import annotations

from collections.abc import Iterator

from deniable.protocol.mechanisms.dyadic import Dyadic

from ..totals.longitudinal import Bound
from ..totals.results import CHANGED_DAY, ONE_REPORT, PUBLIC_CHANGES, TRAJECTORY, UNCHANGING, Row
from .words import whole


def rows_of_horizon(mechanism: Dyadic, devices: int, alone: Bound, every: Bound) -> Iterator[Row]:
    """Yield the five rows in their order.

    Parameters
    ----------
    mechanism : Dyadic
    devices : int
        Of one person, all with the same answers.
    alone, every : Bound
        One report, and all of them, of each device with fresh noise.
    """
    epsilon = float(mechanism.epsilon * devices)
    each = "" if devices == 1 else f", of one person's {devices:,} devices together"
    covered = f"memoized: one epsilon of the {whole(mechanism)}{each}; fresh by "
    told = (
        (ONE_REPORT, "epsilon of one report by itself, whichever it is", alone),
        (UNCHANGING, "epsilon of all reports about one answer", every),
        (PUBLIC_CHANGES, "epsilon of all reports, whoever knows when the answer changes", every),
        (CHANGED_DAY, "epsilon between two histories that differ in one period", alone),
        (TRAJECTORY, "epsilon between any two histories", every),
    )
    for protects, unit, fresh in told:
        failing = f", except with probability delta = {fresh.delta:g}" if fresh.delta else ""
        yield Row(protects, epsilon, None, fresh, f"{unit}; {covered}{fresh.name}{failing}")
