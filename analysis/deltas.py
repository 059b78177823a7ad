"""When a probability of failure is no promise any more, said in one way."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal


def too_large(delta: float, people: int) -> bool:
    """Return whether ``delta >= 1/people``; a float means the shortest decimal that denotes it."""
    return Decimal(repr(delta)) * people >= 1


def delta_caveats(delta: float, people: int) -> Iterator[str]:
    """Warn of a delta that would let a mechanism publish what somebody answered."""
    if too_large(delta, people):
        yield (
            f"delta = {delta:g} is not below 1/{people:,}: a mechanism that publishes the true "
            "answer of somebody chosen at random would pass"
        )
