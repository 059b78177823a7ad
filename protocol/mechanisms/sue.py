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

from ..exact import SCALE
from .base import NO_OPTIONS, Options, require_epsilons, require_k
from .symmetric import keep_thresholds
from .unary import Unary


class SUE(Unary):
    """Every bit tells the truth about itself with the same probability."""

    name: ClassVar[str] = "sue"

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> SUE:
        """Compute the thresholds of p1 = 1 - q1 and p2."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        true_bit, again = keep_thresholds(2, epsilon, epsilon_first)
        return cls(k, epsilon, epsilon_first, true_bit, SCALE - true_bit, again)
