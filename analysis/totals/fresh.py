"""What reports with fresh noise reveal together, as the rows of ``total-epsilon`` need it."""

from __future__ import annotations

from collections.abc import Sequence

from deniable.protocol.mechanisms import Mechanism, build

from ..accountants.compositions import Composition, compositions
from ..accountants.parts import Part
from .longitudinal import Bound


def one_round(mechanism: Mechanism) -> Mechanism:
    """Return a mechanism without its second round: the whole epsilon in every report."""
    m = mechanism
    return build(m.name, m.k, m.epsilon, None, m.chosen)


def composed(parts: Sequence[Part], delta: float | None) -> tuple[Composition, ...]:
    """Return every composition of the reports in ``parts``; without a delta the basic one."""
    return tuple(compositions(tuple(parts), delta))


def winner(every: Sequence[Composition]) -> Bound:
    """Return the least of some compositions; basic composition always gives one."""
    best = next(one for one in every if one.winner)
    surely = next((one.epsilon for one in every if not one.delta), None) if best.delta else None
    return Bound(best.epsilon or 0.0, best.name, best.delta, surely)
