"""Optimised unary encoding, and L-OSUE, its two-round form.

p1 = 1/2, q1 = 1/(E+1), and p2 = (e^{eps_inf+eps_1} - 1)/((e^{eps_inf} - 1)(e^{eps_1} + 1)).

References
----------
Wang, Blocki, Li, Jha. Locally differentially private protocols for frequency estimation.
USENIX Security 2017.
Arcolezi et al. 2022 (L-OSUE).
"""

from __future__ import annotations

from decimal import Decimal
from typing import ClassVar

from ..exact import SCALE, ceil_threshold, exp, floor_threshold, total
from .base import NO_OPTIONS, Options, require_epsilons, require_k
from .unary import Unary


class OUE(Unary):
    """A fair coin for the true bit, and as few other bits as epsilon allows."""

    name: ClassVar[str] = "oue"

    @classmethod
    def resolve(
        cls,
        k: int,
        epsilon: Decimal,
        epsilon_first: Decimal | None,
        options: Options = NO_OPTIONS,
    ) -> OUE:
        """Compute the thresholds of q1, rounded up, and p2, rounded down."""
        require_k(k)
        require_epsilons(epsilon, epsilon_first)
        e = exp(epsilon)
        again = None
        if epsilon_first is not None:
            both, one = exp(total((epsilon, epsilon_first))), exp(epsilon_first)
            again = floor_threshold((both - 1) / ((e - 1) * (one + 1)))
        return cls(k, epsilon, epsilon_first, SCALE // 2, ceil_threshold(1 / (e + 1)), again)
