"""Bits that are kept or turned over, each on its own and all alike, in one round or two.

Two values whose bits differ in at most m places are told apart by a factor of at most
``(p/q)^m`` if a bit is kept with probability p and turned over with q = 1 - p. So the permanent
bit is kept with p1 = r/(r+1), r = e^{eps_inf/m}, and a report's bit is the permanent one with
``p2 = (r s - 1) / ((r - 1)(s + 1))``, s = e^{eps_1/m}: then p = p1 p2 + q1 q2 has p/q = s.

For m = 2 this is SUE and L-SUE; for m = 1 it is randomized response and the exact L-GRR of two
symbols. What must never change: p1 and p2 are rounded down, and bits are drawn lowest first.

References
----------
Erlingsson, Pihur, Korolova. RAPPOR: randomized aggregatable privacy-preserving ordinal
response. CCS 2014.
Arcolezi et al. Improving the utility of locally differentially private protocols for
longitudinal and multidimensional frequency estimates. 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from ..draws import Draws
from ..exact import SCALE, exp_quotient, floor_threshold
from .base import Mechanism


class KeptBits(Mechanism):
    """What mechanisms of such bits have in common: a bit is kept, or kept and kept again.

    Attributes
    ----------
    keep : int
        Threshold of p1, rounded down.
    keep_again : int or None
        Threshold of p2, rounded down; None without a second round.
    """

    __slots__ = ()

    two_rounds: ClassVar[bool] = True
    keep: int
    keep_again: int | None

    @property
    def thresholds(self) -> Mapping[str, int]:
        """``keep`` and, with a second round, ``keep_again``."""
        named = {"keep": self.keep}
        if self.keep_again is not None:
            named["keep_again"] = self.keep_again
        return named

    @cached_property
    def first(self) -> tuple[Fraction, Fraction]:
        """(p1, q1): a permanent bit is set, if it should be and if not."""
        p1 = kept(self.keep, None)
        return p1, 1 - p1

    @cached_property
    def second(self) -> tuple[Fraction, Fraction] | None:
        """(p2, q2)."""
        if self.keep_again is None:
            return None
        p2 = kept(self.keep_again, None)
        return p2, 1 - p2

    @cached_property
    def p(self) -> Fraction:
        """P(a bit of a report is set), if it should be."""
        return kept(self.keep, self.keep_again)

    @cached_property
    def q(self) -> Fraction:
        """P(a bit of a report is set), if it should not be."""
        return 1 - self.p

    @property
    def tells(self) -> bool:
        """Whether p > q."""
        return self.p > self.q


def keep_thresholds(
    differ: int, epsilon: Decimal, epsilon_first: Decimal | None
) -> tuple[int, int | None]:
    """Return the thresholds of p1 and p2; the second is None without a second round.

    Parameters
    ----------
    differ : int
        In how many bits m two values can differ.
    epsilon, epsilon_first : Decimal
        eps_inf and eps_1.
    """
    root = exp_quotient(epsilon, differ)
    keep = floor_threshold(root / (root + 1))
    if epsilon_first is None:
        return keep, None
    one = exp_quotient(epsilon_first, differ)
    return keep, floor_threshold((root * one - 1) / ((root - 1) * (one + 1)))


def kept(keep: int, keep_again: int | None) -> Fraction:
    """Return p of a report's bit: kept, or turned over twice."""
    p1 = Fraction(keep, SCALE)
    if keep_again is None:
        return p1
    p2 = Fraction(keep_again, SCALE)
    return p1 * p2 + (1 - p1) * (1 - p2)


def perturb(mask: int, width: int, threshold: int, draws: Draws) -> int:
    """Keep each of ``width`` bits with probability ``threshold`` / 2^64, or turn it over."""
    other, out = SCALE - threshold, 0
    for bit in range(width):
        if draws.chance(threshold if mask >> bit & 1 else other):
            out |= 1 << bit
    return out


def perturbed(mask: int, width: int, p: Fraction) -> dict[int, Fraction]:
    """Return the distribution over all 2^width masks: so many bits kept, the others not."""
    masses = [p ** (width - turned) * (1 - p) ** turned for turned in range(width + 1)]
    return {out: masses[(out ^ mask).bit_count()] for out in range(1 << width)}
