"""What a check found: whether a promise was kept, in one line.

What must never change: a finding that is no violation says what was looked at, never that a
client is sound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ODDS = 1e-9
"""With which probability a sound client fails a statistical check."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check.

    Attributes
    ----------
    check : str
        Its name.
    question : str or None
        Which question it is about; None for the client as a whole.
    kept : bool or None
        False for a violation; None for an observation that violates no promise.
    line : str
        What was seen, in words.
    """

    check: str
    question: str | None
    kept: bool | None
    line: str


def surprise(successes: int, trials: int, chance: float) -> float:
    """Return the probability of so many successes or more, or so many or fewer, whichever is less.

    Binomial tails, in log space; multiplied by two, since either side would have surprised.

    >>> round(surprise(10, 10, 0.5), 6)
    0.001953
    """
    if successes <= trials * chance:
        successes, chance = trials - successes, 1 - chance
    return min(1.0, 2 * _at_least(successes, trials, chance))


def surprise_of(successes: int, chances: Sequence[float]) -> float:
    """Return the same of independent trials that succeed with a probability of their own each.

    >>> round(surprise_of(10, [0.5] * 10), 6)
    0.001953
    """
    law = [1.0]
    for chance in chances:
        missed = [mass * (1 - chance) for mass in law]
        hit = [mass * chance for mass in law]
        law = [a + b for a, b in zip([*missed, 0.0], [0.0, *hit], strict=True)]
    return min(1.0, 2 * min(math.fsum(law[successes:]), math.fsum(law[: successes + 1])))


def _at_least(successes: int, trials: int, chance: float) -> float:
    """Return P(X >= successes) above the mean, where terms fall at least geometrically."""
    if chance <= 0:
        return 1.0 if successes == 0 else 0.0
    if chance >= 1:
        return 1.0
    log = math.lgamma(trials + 1) - math.lgamma(successes + 1)
    log += successes * math.log(chance) - math.lgamma(trials - successes + 1)
    log += (trials - successes) * math.log1p(-chance)
    total = term = 1.0
    for at in range(successes, trials):
        term *= (trials - at) / (at + 1) * chance / (1 - chance)
        total += term
        if term < 1e-17 * total:
            break
    return min(1.0, math.exp(log) * total)
