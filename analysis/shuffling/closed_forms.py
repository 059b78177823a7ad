"""Published closed forms of amplification by shuffling, each with where it was proven.

Sanity caps beside the numerical bounds, which are several times tighter. Outside its conditions
a form gives nothing.

References
----------
Erlingsson, Feldman, Mironov, Raghunathan, Talwar, Thakurta. Amplification by shuffling: from
local to central differential privacy via anonymity. SODA 2019, theorem 7.
Feldman, McMillan, Talwar. Hiding among the clones. FOCS 2021 (arXiv 2020), theorem 3.1.
Feldman, McMillan, Talwar. Stronger privacy amplification by shuffling for Rényi and approximate
differential privacy. SODA 2023 (arXiv 2022); with the erratum it is certain for randomized
response only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from deniable.protocol import amplification
from deniable.protocol.mechanisms import Mechanism

_ROUNDED_UP = 1 + 2.0**-46


@dataclass(frozen=True, slots=True)
class ClosedForm:
    """A published bound.

    Attributes
    ----------
    name : str
    epsilon : float or None
        Rounded up; None where the theorem does not apply.
    valid : str
        Its conditions.
    """

    name: str
    epsilon: float | None
    valid: str


def closed_forms(
    mechanism: Mechanism, epsilon: float, crowd: int, delta: float
) -> Iterator[ClosedForm]:
    """Yield every closed form there is for one report of a mechanism."""
    yield ClosedForm(
        "Feldman, McMillan, Talwar 2020",
        amplification.amplified(epsilon, crowd, delta),
        f"{amplification.VALID}; any randomizer",
    )
    if mechanism.name == "grr":
        yield ClosedForm(
            "Feldman, McMillan, Talwar 2022",
            fmt22(epsilon, crowd, delta),
            "epsilon <= ln(n / (8 ln(2/delta)) - 1); grr",
        )
    yield ClosedForm(
        "Erlingsson et al. 2019",
        efmrtt19(epsilon, crowd, delta),
        "epsilon < 1/2, n > 1000, delta < 0.01; any randomizer",
    )


def fmt22_limit(crowd: int, delta: float) -> float:
    """Return the largest epsilon of :func:`fmt22`: ``ln(n / (8 ln(2/delta)) - 1)``."""
    inside = crowd / (8 * math.log(2 / delta)) - 1
    return math.log(inside) if inside > 0 else -math.inf


def fmt22(epsilon: float, crowd: int, delta: float) -> float | None:
    """Return ``ln(1 + (E-1)(4 sqrt(2 ln(4/delta)/((E+1)n)) + 4/n))``; for grr only."""
    if epsilon > fmt22_limit(crowd, delta):
        return None
    e = math.exp(epsilon)
    spread = 4 * math.sqrt(2 * math.log(4 / delta) / ((e + 1) * crowd)) + 4 / crowd
    return math.log1p(math.expm1(epsilon) * spread) * _ROUNDED_UP


def efmrtt19(epsilon: float, crowd: int, delta: float) -> float | None:
    """Return ``12 epsilon sqrt(ln(1/delta)/n)``."""
    if epsilon >= 0.5 or crowd <= 1000 or delta >= 0.01:
        return None
    return 12 * epsilon * math.sqrt(-math.log(delta) / crowd) * _ROUNDED_UP
