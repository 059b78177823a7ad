"""What a device has given away after T reports: five answers, for there is no single one.

What an epsilon bounds depends on what is to be protected. Each row of the result protects
something else, and each column is another way to draw the noise; a number without its row and
column means nothing, so none is printed alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import SupportsIndex

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import NO_OPTIONS, Options

from .. import inputs
from ..deltas import too_large
from ..domains import over
from ..inputs import Number
from ..planning import resolve
from .five_rows import Assumed, FiveRows
from .results import TotalEpsilon

MAX_DEVICES_PER_PERSON = 1000


def total_epsilon(
    *,
    epsilon: Number,
    days: SupportsIndex,
    epsilon_first: Number | None = None,
    values: SupportsIndex = 2,
    mechanism: str = "auto",
    options: Options = NO_OPTIONS,
    changes: SupportsIndex | None = None,
    delta: Number | None = None,
    devices_per_person: SupportsIndex = 1,
    devices: SupportsIndex | None = None,
) -> TotalEpsilon:
    """Return what T reports of one device reveal, for each thing one may want to protect.

    With r = p2/q2 of the second round, and (a, b) the chains in which the permanent responses of
    two values differ (``Mechanism.chains``):

    one report
        memoized epsilon; second round epsilon_first; fresh epsilon.
    a value that never changes
        epsilon; ``sum over (a, b) of ln((a r^T + 1-a) / (b r^T + 1-b))``, which tends to
        epsilon; the least composition of T fresh reports, ``T epsilon`` without a delta.
    the values, change times public
        ``d epsilon`` for at most d different answers, with a second round the whole trajectory's
        bound if that is less; fresh as before. Where answers share what is remembered of them
        (``Mechanism.merges``), the times are those at which that changes.
    one changed day, the rest known
        memoized none: a report unlike the day before proves a change; second round
        ``flips ln r``, flips being the bits in which two permanent responses can differ.
    the whole trajectory, change times secret
        memoized none; second round the less of ``T flips ln r`` and, for at most d different
        answers and s = ceil(T/d), ``(T - s) flips ln r + min(d, s) epsilon``.

    A person with M devices that give the same answers gives M times as much: every device has a
    secret of its own. Memoized and second round are multiplied by M, and M T fresh reports are
    composed.

    Parameters
    ----------
    epsilon, epsilon_first : Decimal, int, float or str
        Of the permanent response; of one report, if there is a second round.
    days : int
        T, reports of one device, at most a million.
    values : int
        Domain size k.
    mechanism : str
        Any of a survey's; ``auto`` is what a survey would choose for a choice.
    options : mapping of str to int
        Of the mechanism, such as ``{"g": 4}``; what is left out, it chooses.
    changes : int, optional
        How often the answer changes at most; otherwise as often as it likes.
    delta : Decimal, float or str, optional
        In (0, 1): the fresh column may then be the least of several (epsilon, delta) bounds.
    devices_per_person : int
        M, of one person who gives the same answers on each, 1..1000; M T is at most a million.
    devices : int, optional
        All that report; a delta that is not below 1/devices is warned of.

    Returns
    -------
    TotalEpsilon

    Raises
    ------
    ParameterError
        If a parameter is out of range.

    References
    ----------
    Erlingsson, Pihur, Korolova. RAPPOR: randomized aggregatable privacy-preserving ordinal
    response. CCS 2014.
    Arcolezi et al. Improving the utility of locally differentially private protocols for
    longitudinal and multidimensional frequency estimates. 2022.

    Examples
    --------
    >>> table = total_epsilon(epsilon=2, days=365)
    >>> [(row.memoized, row.fresh.epsilon) for row in table.rows]
    [(2.0, 2.0), (2.0, 730.0), (4.0, 730.0), (None, 2.0), (None, 730.0)]
    """
    first = None if epsilon_first is None else inputs.epsilon("epsilon_first", epsilon_first)
    k = inputs.integer("values", values, 2, inputs.MAX_VALUES)
    built = resolve(mechanism, k, inputs.epsilon("epsilon", epsilon), first, options)
    reports = inputs.integer("days", days, 1, inputs.MAX_DAYS)
    assumed = assumptions(changes, delta, devices_per_person, reports)
    crowd = number_of(devices)
    table = FiveRows(built, reports, assumed)
    return TotalEpsilon(
        epsilon=built.epsilon,
        epsilon_first=built.epsilon_first,
        days=reports,
        values=built.k,
        mechanism=built.described(),
        domain=over(built),
        covered=table.covered,
        changes=assumed.changes,
        delta=assumed.delta,
        devices_per_person=assumed.devices,
        devices=crowd,
        rows=table.rows(),
        compositions=table.compositions,
        warnings=tuple(delta_warnings(assumed.delta, crowd)),
    )


def assumptions(
    changes: SupportsIndex | None,
    delta: Number | None,
    devices_per_person: SupportsIndex,
    reports: int,
) -> Assumed:
    """Return what is assumed of one person who sends so many reports from each device.

    Raises
    ------
    ParameterError
        If something is out of range.
    """
    most = None if changes is None else inputs.integer("changes", changes, 0, inputs.MAX_DAYS)
    fail = None if delta is None else float(inputs.between("delta", delta, "1e-100", "1"))
    many = inputs.integer("devices_per_person", devices_per_person, 1, MAX_DEVICES_PER_PERSON)
    if many * reports > inputs.MAX_DAYS:
        raise ParameterError(
            f"devices_per_person x days must be at most {inputs.MAX_DAYS}: {many} x {reports}"
        )
    return Assumed(most, fail, many)


def number_of(devices: SupportsIndex | None) -> int | None:
    """Return how many devices there are, if that is told."""
    return None if devices is None else inputs.integer("devices", devices, 1, inputs.MAX_REPORTS)


def delta_warnings(delta: float | None, devices: int | None) -> Iterator[str]:
    """Warn of a delta that lets a bound fail for somebody."""
    if delta is not None and devices is not None and too_large(delta, devices):
        yield (
            f"delta = {delta:g} is not below 1/devices = {1 / devices:.3g}: among {devices:,} "
            f"{'person' if devices == 1 else 'people'} the fresh bounds can fail for "
            f"{delta * devices:,.0f}"
        )
