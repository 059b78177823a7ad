"""What ``mechanism = "auto"`` means, and what the others would lose; frozen for survey format 1.

The least variance wins among the mechanisms whose variance is exact (``automatic``) and that give
away no more than they must:

- lifetime: a device has at most k permanent responses, and at most two for a number, for numbers
  change as a matter of course (``classes``);
- linkability: the setup and the permanent response carry at most :data:`MAX_FINGERPRINT_BITS`,
  or, where the choices alone have more, at most one bit more than a symbol of them; of texts at
  most :data:`TEXT_BITS`, for their hash rows alone have many;
- with a second round: of what one changed day reveals no more than ``ln(p2/q2)`` (``flips`` is 1).

A mechanism whose own setting shows too much is taken with the best of its settings that does
not. With ``linkable`` the author accepts the last two, and only the lifetime counts. Variance is
that of a frequency of 1/k, of a text that nobody has, or of the mean of numbers where they are
worst, for a fixed population. Ties go to the first in :data:`MECHANISMS`. For sets, and for answers
that change under one epsilon, there is one mechanism, and the rule is to take it.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from ..errors import ParameterError
from ..limits import MAX_FINGERPRINT_BITS
from .base import NO_OPTIONS, Asks, Mechanism, Options, require_epsilons, require_k
from .registry import MECHANISMS, build, named

TEXT_BITS = 16
"""What a hash row and a column take where collisions are spread over enough of them, and a bit."""

_ONLY_ONES = ("set", "trajectory", "counter")
"""Asked for by questions that a single mechanism serves."""

_ROUNDING = 1e-9
"""So that where both sides are the same number no last bit of a logarithm decides."""


@dataclass(frozen=True)
class Rival:
    """A mechanism that could answer a question.

    Attributes
    ----------
    mechanism : Mechanism
    variance : Fraction
        n times the variance that the rule compares.
    against : str
        Why the rule leaves it out, in words; empty for a candidate.
    """

    mechanism: Mechanism
    variance: Fraction
    against: str


def choose(
    k: int,
    epsilon: Decimal,
    epsilon_first: Decimal | None = None,
    *,
    asks: Asks = "choice",
    linkable: bool = False,
    given: Options = NO_OPTIONS,
) -> Mechanism:
    """Return what ``mechanism = "auto"`` means; ``given`` holds what the question decides."""
    found = rivals(k, epsilon, epsilon_first, asks=asks, linkable=linkable, given=given)
    return found[0].mechanism


def rivals(
    k: int,
    epsilon: Decimal,
    epsilon_first: Decimal | None = None,
    *,
    asks: Asks = "choice",
    linkable: bool = False,
    given: Options = NO_OPTIONS,
) -> tuple[Rival, ...]:
    """Return every mechanism that could answer: candidates first, by variance; then the others."""
    require_k(k)
    require_epsilons(epsilon, epsilon_first)
    found = []
    for name in named(asks):
        if epsilon_first is not None and not MECHANISMS[name].two_rounds:
            continue
        with suppress(ParameterError):
            found.append(_rival(name, k, epsilon, epsilon_first, linkable, given))
    if not found:
        raise ParameterError(f"epsilon is too small to say anything about {k} values")
    return tuple(sorted(found, key=_order))


def _rival(
    name: str,
    k: int,
    epsilon: Decimal,
    epsilon_first: Decimal | None,
    linkable: bool,
    given: Options,
) -> Rival:
    """Return a mechanism as it is best, or as it is best among its settings that qualify."""
    own_given = {option: given[option] for option in MECHANISMS[name].given}

    def rival(options: Options = NO_OPTIONS) -> Rival:
        mechanism = build(name, k, epsilon, epsilon_first, {**options, **own_given})
        return Rival(mechanism, compared(mechanism), _against(mechanism, linkable))

    own = rival()
    if not own.against:
        return own
    others = []
    for options in MECHANISMS[name].settings(k):
        with suppress(ParameterError):
            others.append(rival(options))
    return min((one for one in others if not one.against), key=_order, default=own)


def _order(rival: Rival) -> tuple[bool, Fraction]:
    return bool(rival.against), rival.variance


def compared(mechanism: Mechanism) -> Fraction:
    """Return n times the variance by which the rule compares, for a fixed population."""
    at = Fraction(1, mechanism.k)
    if mechanism.asks in ("number", "counter"):
        at = mechanism.worst(sampled=False)
    elif mechanism.asks == "text":
        at = Fraction(0)
    return mechanism.exact_variance(at, sampled=False)


def _against(mechanism: Mechanism, linkable: bool) -> str:
    """Say what a mechanism gives away that another would not."""
    if mechanism.asks in _ONLY_ONES:
        return ""
    if not mechanism.automatic:
        text = mechanism.asks == "text"
        return "it is for texts to be found" if text else "its variance is approximate"
    most = mechanism.k if mechanism.asks in ("choice", "text") else 2
    if mechanism.classes is None or mechanism.classes > most:
        return f"a device would have more than {most} permanent responses"
    if linkable:
        return ""
    if mechanism.fingerprint_bits > _allowed_bits(mechanism) + _ROUNDING:
        return f"its reports tell devices apart by {mechanism.fingerprint_bits:.1f} bits"
    if mechanism.second is not None and mechanism.flips > 1:
        return "a changed day shows in more than one place of a report"
    return ""


def _allowed_bits(mechanism: Mechanism) -> float:
    """Return by how many bits the reports of one question may tell devices apart."""
    if mechanism.asks == "text":
        return TEXT_BITS
    alone = math.log2(mechanism.k)
    return MAX_FINGERPRINT_BITS if alone <= MAX_FINGERPRINT_BITS else alone + 1
