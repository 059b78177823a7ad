"""Numbers as people say them. What must never change: what is said to be a most is rounded up."""

from __future__ import annotations

import math
from decimal import Decimal

from deniable.protocol.limits import EPSILON_MAX, EPSILON_SUM

MEANINGLESS = 10
"""An epsilon above this is no meaningful guarantee."""


def odds(epsilon: Decimal) -> str:
    """Return e^epsilon, rounded up to three digits; no client spends more than EPSILON_MAX."""
    if epsilon > EPSILON_MAX:
        return f"{min(epsilon, EPSILON_SUM).exp():.2e}"
    return _up(math.exp(epsilon))


def success(epsilon: Decimal) -> str:
    """Return in how many of 100 cases a guess between two answers can be right, rounded up."""
    return _up(100 / (1 + math.exp(-min(epsilon, EPSILON_MAX))))


def cases(probability: float) -> str:
    """Return how often something happens: `73 of 100`."""
    for among in (100, 1000, 10_000, 100_000):
        count = round(probability * among)
        if 2 <= count <= among - 2:
            return f"{count:,} of {among:,}".replace(",", " ")
    return "nearly none" if probability < 0.5 else "nearly all"


def _up(number: float) -> str:
    """Return a positive number, rounded up to three digits."""
    places = 2 - math.floor(math.log10(number))
    scaled = math.ceil(round(number * 10**places, 6))
    if places <= 0:
        return f"{scaled * 10**-places:,}".replace(",", " ")
    return f"{scaled / 10**places:.{places}f}".rstrip("0").rstrip(".")
