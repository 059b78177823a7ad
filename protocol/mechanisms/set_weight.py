"""How large the responses about sets are: the weight of least variance, and the chance to meet.

For responses of w of d = k + m symbols to sets of m of them, see :mod:`.privset`.

What must never change: which weight is the best.
"""

from __future__ import annotations

import math
from fractions import Fraction

from ..exact import Enclosure, floor_threshold


def chance_to_meet(k: int, items: int, weight: int, e: Enclosure) -> int:
    """Return the threshold of ``E M / (E M + N)``, rounded down."""
    misses = math.comb(k, weight)
    meets = e * (math.comb(k + items, weight) - misses)
    return floor_threshold(meets / (meets + misses))


def best_weight(k: int, items: int, e: Fraction) -> int:
    """Return the w of least variance for a frequency of m/d; of two as good, the smaller.

    For a fixed population n Var = ``w(d-w)/(d(p-q))^2 - km/d^2``, in which
    ``p-q = w(E-1) / (k(Eu - E + 1))`` with u = (M+N)/N. It falls with w and then rises.
    """
    low, high = 1, k
    while low < high:
        middle = (low + high) // 2
        if _noise(k, items, middle + 1, e) < _noise(k, items, middle, e):
            low = middle + 1
        else:
            high = middle
    return low


def _noise(k: int, items: int, weight: int, e: Fraction) -> Fraction:
    """Return what the variance grows with, ``(d-w)/w (Eu - E + 1)^2``."""
    d = k + items
    u = Fraction(math.comb(d, weight), math.comb(k, weight))
    return Fraction(d - weight, weight) * (e * u - e + 1) ** 2
