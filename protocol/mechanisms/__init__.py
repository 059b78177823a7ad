"""The mechanisms of the field, one module each, and the rule that picks one.

To add a mechanism: write its module, add its class to ``MECHANISMS``. Wire form, folding,
collection and proofs come with its shape; a new decoder goes to the analysis.
"""

from __future__ import annotations

from decimal import Decimal

from ..errors import ParameterError
from ..limits import MAX_FINGERPRINT_BITS
from .base import Law, Mechanism
from .grr import GRR
from .oue import OUE
from .sue import SUE

__all__ = ["MECHANISMS", "Law", "Mechanism", "build", "choose"]

MECHANISMS: dict[str, type[Mechanism]] = {cls.name: cls for cls in (GRR, SUE, OUE)}
"""Every mechanism a survey may name."""


def build(name: str, k: int, epsilon: Decimal, epsilon_first: Decimal | None = None) -> Mechanism:
    """Return the mechanism ``name`` with its exact thresholds.

    Parameters
    ----------
    name : str
        One of :data:`MECHANISMS`.
    k : int
        Domain size, at least 2.
    epsilon : Decimal
        Permanent loss for an unchanging value, positive and at most 44.
    epsilon_first : Decimal, optional
        Loss of one report, less than ``epsilon``; adds a second, fresh round.

    Raises
    ------
    ParameterError
        For an unknown name or a parameter out of range.

    Examples
    --------
    >>> warner = build("grr", 2, Decimal("1.0986122886681098"))
    >>> round(float(warner.p), 6), round(float(warner.q), 6)
    (0.75, 0.25)
    """
    if name not in MECHANISMS:
        raise ParameterError(f"mechanism must be one of {', '.join(MECHANISMS)}: {name}")
    mechanism = MECHANISMS[name].resolve(k, epsilon, epsilon_first)
    if mechanism.p <= mechanism.q:
        raise ParameterError(f"epsilon is too small to say anything about {k} values")
    return mechanism


def choose(
    k: int, epsilon: Decimal, epsilon_first: Decimal | None = None, *, linkable: bool = False
) -> Mechanism:
    """Return what ``mechanism = "auto"`` means; frozen for survey format 1.

    The least ``variance(1/k)`` among the mechanisms that are no worse in what they give away:
    whose permanent response carries at most :data:`MAX_FINGERPRINT_BITS`, and, with a second
    round, of which one changed day reveals no more than ``ln(p2/q2)`` (``flips`` is 1). With
    ``linkable`` the author accepts both, and the variance alone decides. Ties, and domains too
    large for every mechanism, fall to the first in :data:`MECHANISMS`, generalised randomized
    response. Lifetime loss for changing answers is k * epsilon for all three.
    """
    candidates = [build(name, k, epsilon, epsilon_first) for name in MECHANISMS]
    if not linkable:
        candidates = [m for m in candidates if _gives_away_little(m)] or candidates[:1]
    return min(candidates, key=lambda mechanism: mechanism.variance(1 / k))


def _gives_away_little(mechanism: Mechanism) -> bool:
    """Whether neither a fingerprint nor a change speaks against a mechanism."""
    quiet = mechanism.fingerprint_bits <= MAX_FINGERPRINT_BITS
    return quiet and (mechanism.second is None or mechanism.flips == 1)
