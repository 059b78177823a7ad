"""How much epsilon each report may have if every report is drawn anew, by each composition theorem.

What must never change: an epsilon returned has been composed forward, and the bound on all
reports was at most what was allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import Mechanism

from ..accountants.closed_forms import advanced, basic, kov
from ..accountants.lattice import exact
from ..accountants.parts import Part
from ..accountants.renyi import rdp, zcdp
from ..inputs import EPSILON_RANGE
from .digits import GRID, Grid, rounded_down

Bound = Callable[[Part, float], float]

MOST_EXACT = 1_000_000
"""Reports beyond which the exact composition is not tried: it takes a step for each."""

_STRIDE = Fraction(9, 8)


@dataclass(frozen=True, slots=True)
class FreshShare:
    """What one report may have by one method.

    Attributes
    ----------
    method : str
        ``basic``, ``advanced``, ``kov``, ``zcdp``, ``rdp`` or ``exact``.
    epsilon : Decimal or None
        Of one report, the largest of four digits; None if there is none.
    delta : float
        With which the total may fail.
    winner : bool
        Whether it is the largest.
    why : str
        Why there is none.
    """

    method: str
    epsilon: Decimal | None
    delta: float
    winner: bool = False
    why: str = ""


BOUNDS: dict[str, Bound] = {
    "basic": lambda part, _: basic([part]),
    "advanced": lambda part, delta: advanced([part], delta),
    "kov": lambda part, delta: kov([part], delta),
    "zcdp": lambda part, delta: zcdp([part], delta),
    "rdp": lambda part, delta: rdp([part], delta),
    "exact": lambda part, delta: min(
        basic([part]),
        exact(part.losses, part.reports, delta),  # rounded up, it may be above
    ),
}


def fresh_shares(
    at: Callable[[Decimal], Mechanism], allowed: Decimal, reports: int, delta: float | None
) -> tuple[FreshShare, ...]:
    """Return for each method the largest epsilon of one report.

    Parameters
    ----------
    at : callable
        The mechanism, of one round, of an epsilon.
    allowed : Decimal
        Epsilon of all reports together.
    reports : int
        Of one person, over all questions and devices.
    delta : float or None
        In (0, 1); None for basic composition alone.
    """
    found = list(_shares(at, allowed, reports, delta))
    best = max((each.epsilon for each in found if each.epsilon is not None), default=None)
    for place, each in enumerate(found):
        if best is not None and each.epsilon == best:
            found[place] = replace(each, winner=True)
            break
    return tuple(found)


def _shares(
    at: Callable[[Decimal], Mechanism], allowed: Decimal, reports: int, delta: float | None
) -> Iterator[FreshShare]:
    yield _share("basic", at, allowed, reports, 0.0)
    if delta is None:
        return
    best = None
    for method in list(BOUNDS)[1:-1]:
        found = _share(method, at, allowed, reports, delta)
        best = max(best or found.epsilon, found.epsilon) if found.epsilon else best
        yield found
    if reports > MOST_EXACT:
        yield FreshShare("exact", None, delta, why=f"not for more than {MOST_EXACT:,} reports")
    else:
        yield _share("exact", at, allowed, reports, delta, best)


def _share(
    method: str,
    at: Callable[[Decimal], Mechanism],
    allowed: Decimal,
    reports: int,
    delta: float,
    known: Decimal | None = None,
) -> FreshShare:
    try:
        found = share(BOUNDS[method], at, allowed, reports, delta, known=known)
    except ParameterError as exc:
        return FreshShare(method, None, delta, why=str(exc))
    why = f"less than {EPSILON_RANGE[0]:f}" if found is None else ""
    return FreshShare(method, found, delta, why=why)


def share(
    bound: Bound,
    at: Callable[[Decimal], Mechanism],
    allowed: Decimal,
    reports: int,
    delta: float,
    *,
    known: Decimal | None = None,
    grid: Grid = GRID,
) -> Decimal | None:
    """Return the largest epsilon of one report for which a bound on all is at most ``allowed``.

    No method allows one report more than all of them together.

    Parameters
    ----------
    known : Decimal, optional
        An epsilon that is allowed, found by a looser bound: the search starts there.
    """
    low, high = EPSILON_RANGE
    high = min(high, allowed)

    def composed(epsilon: Decimal) -> float:
        return bound(Part(at(epsilon), reports), delta)

    if known is not None:
        low, near = known, rounded_down(Fraction(known) * _STRIDE)
        while near < high and Fraction(composed(near)) <= Fraction(allowed):
            low, near = near, rounded_down(Fraction(near) * _STRIDE)
        high = min(near, high)
    return grid.crossing(composed, allowed, low, high) if low <= high else None
