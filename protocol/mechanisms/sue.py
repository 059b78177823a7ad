"""Symmetric unary encoding (basic RAPPOR), and L-SUE, its two-round form.

p1 = √E/(√E+1), q1 = 1 - p1, and p2 = (e^{(eps_inf+eps_1)/2} - 1) /
((e^{eps_inf/2} - 1)(e^{eps_1/2} + 1)).

References
----------
Erlingsson, Pihur, Korolova. RAPPOR: randomized aggregatable privacy-preserving ordinal
response. CCS 2014.
Arcolezi et al. 2022 (L-SUE).
"""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from ..exact import SCALE, exp, floor_threshold, half, total
from .base import require_epsilons, require_k
from .unary import Unary


class SUE(Unary):
    """Every bit tells the truth about itself with the same probability."""

    name: ClassVar[str] = "sue"

    @classmethod
    def resolve(cls, k: int, epsilon: Decimal, epsilon_first: Decimal | None) -> SUE:
        """Compute the thresholds of p1 = 1 - q1 and p2."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        root = exp(half(epsilon))
        true_bit = floor_threshold(root / (root + 1))
        again = None
        if epsilon_first is not None:
            both = exp(half(total((epsilon, epsilon_first))))
            one = exp(half(epsilon_first))
            again = floor_threshold((both - 1) / ((root - 1) * (one + 1)))
        return cls(k, epsilon, epsilon_first, true_bit, SCALE - true_bit, again)
