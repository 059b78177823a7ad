"""Several tallies of memoized answers: what a second round of noise lets a crowd add.

The permanent response of an answer is the same in every period, so amplified epsilons of whole
reports must not be composed: their randomness is reused. Given all permanent responses, only the
second round is random, and fresh in each report; that part is amplified for each period and then
composed. For two answers the permanent responses are coupled: they differ in one symbol, or in
the bits of these answers (all others are equally distributed, independent, and counted apart),
so one report moves by ``c ln(p2/q2)``: c is 1 for a symbol, 2 for unary bits, and 2h for Bloom
filters of h hashes (``Mechanism.chains``), but never more than bits can differ (``flips``).

What must never change: this is for mechanisms whose reports have no row. A device's row stays the
same and hides it among those in that row only. With several bits it is a bound on the counts of
each bit, which is what a tally holds, and not on shuffled reports, whose other bits recognise a
device.

References
----------
Feldman, McMillan, Talwar. Hiding among the clones. FOCS 2021.
Kairouz, Oh, Viswanath. The composition theorem for differential privacy. ICML 2015, theorem 3.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import canonical
from deniable.protocol.mechanisms import Mechanism

from ..accountants.lattice import exact
from ..accountants.losses import randomized_response
from ..totals.longitudinal import unchanging
from .bounds import clones_bound

_ROUNDED_UP = 1 + 2.0**-46


@dataclass(frozen=True, slots=True)
class DaysBound:
    """The epsilon of T tallies about one unchanging answer, and where it comes from."""

    epsilon: float
    method: str


def require_days(mechanism: Mechanism, days: int) -> None:
    """Refuse several days of a mechanism for which nothing is known to amplify.

    Raises
    ------
    ParameterError
        Naming what holds instead.
    """
    if days == 1:
        return
    holds = (
        f"over {days:,} days only epsilon holds, {canonical(mechanism.epsilon)} from all reports "
        "about one unchanging answer"
    )
    if mechanism.second is None:
        raise ParameterError(
            "days must be 1 without epsilon_first: memoized reports repeat the same noise every "
            f"day, so what a crowd adds to one must not be composed; {holds}"
        )
    if mechanism.shape.rows > 1:
        raise ParameterError(
            f"days must be 1 for {mechanism.name}: a device's row stays the same and hides it "
            f"among those in that row only; {holds}"
        )


def days_bound(mechanism: Mechanism, crowd: int, days: int, delta: float) -> DaysBound:
    """Return the least bound on T tallies about one answer that stays the same.

    ``min(T e(delta/T), C_T(e(delta/2T), delta/2), U_T)``, where e(d) is the epsilon of one
    shuffled L-LDP report (clones), C_T the exact composition of T of them, and U_T what all
    reports reveal unshuffled (:func:`deniable.analysis.totals.longitudinal.unchanging`).

    Parameters
    ----------
    mechanism : Mechanism
        As :func:`require_days` allows, with a second round.
    crowd : int
        Honest devices, in every period the same number at least.
    days : int
        T.
    delta : float
        In (0, 1), for all T together.
    """
    bounds = [DaysBound(unchanging(mechanism, days), "all reports unshuffled: the crowd adds none")]
    p2, q2 = mechanism.second or (1, 1)
    places = min(mechanism.flips, len(mechanism.chains))
    moved = places * math.log1p(float((p2 - q2) / q2)) * _ROUNDED_UP
    daily = clones_bound(moved, crowd, delta / days)
    by = "clones on the second round's " + ("ln(p2/q2)" if places == 1 else f"{places} ln(p2/q2)")
    bounds.append(DaysBound(days * daily * _ROUNDED_UP, f"{by}, basic composition"))
    daily = clones_bound(moved, crowd, delta / (2 * days))
    if daily > 0:
        composed = exact(randomized_response(daily), days, delta / 2)
        bounds.append(DaysBound(composed, f"{by}, exact composition"))
    return min(bounds, key=lambda bound: bound.epsilon)
