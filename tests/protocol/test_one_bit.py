"""1BitMean: what is rounded, what is remembered, and the published values."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import conformance
import pytest
from enumeration import exp_between

from deniable.protocol.draws import Draws, KeyedDraws
from deniable.protocol.exact import ceil_threshold, exp
from deniable.protocol.mechanisms.one_bit import OneBitMean
from deniable.protocol.proofs.branches import outcomes
from deniable.protocol.response import Response


def resolve(k: int, epsilon: str, first: str | None = None) -> OneBitMean:
    return OneBitMean.resolve(k, Decimal(epsilon), None if first is None else Decimal(first))


def test_the_published_values_are_reproduced() -> None:
    """Ding et al. with x = 3 of m = 10 at epsilon 1, to all printed digits."""
    mechanism = resolve(11, "1")
    one = Response(1)
    chance = sum(
        mass * mechanism.law(setup, mechanism.memo(setup, 3) or b"", 1)[one]
        for setup, mass in outcomes(mechanism.assign).items()
    )
    at = Fraction(3, 10)
    assert round(float(chance), 6) == 0.407577
    assert round(float(100 * mechanism.score_variance(at)), 6) == 113.067359
    assert round(float(10 * mechanism.score(1)), 6) == 15.819767
    assert round(float(10 * mechanism.score(0)), 6) == -5.819767


@pytest.mark.parametrize("first", [None, "0.1", "1", "2.9"])
@pytest.mark.parametrize("k", [2, 3, 10, 20])
def test_one_bit_conforms(k: int, first: str | None) -> None:
    mechanism = resolve(k, "3", first)
    assert list(conformance.faults(mechanism)) == []
    conformance.check_tightness(mechanism)


def test_the_rounding_point_is_uniform_and_never_sent() -> None:
    """Symbol i is rounded up on i of k-1 devices; both ends always go to themselves."""
    mechanism = resolve(6, "1")
    points = outcomes(mechanism.assign)
    assert points == {point: Fraction(1, 5) for point in range(5)}
    for symbol in range(6):
        up = sum(mass for t, mass in points.items() if mechanism.memo(t, symbol) == b"1")
        assert up == Fraction(symbol, 5)
    assert mechanism.shape.rows == 1


def test_a_number_that_moves_costs_two_epsilon_at_most() -> None:
    """Two memo keys on every device, whatever the number does."""
    mechanism = resolve(101, "1")
    assert mechanism.classes == 2
    for point in range(100):
        assert {mechanism.memo(point, symbol) for symbol in range(101)} == {b"0", b"1"}


def test_on_one_side_of_the_rounding_point_nothing_changes() -> None:
    mechanism = resolve(101, "1")
    keyed = [KeyedDraws(bytes(32), b"same") for _ in range(2)]
    low, high = (mechanism.memo(40, symbol) or b"" for symbol in (41, 100))
    assert low == high
    assert mechanism.permanent(40, low, keyed[0]) == mechanism.permanent(40, high, keyed[1])


def test_two_rounds_are_one_epsilon_each() -> None:
    """One report is worth epsilon_first, and any number of them no more than epsilon."""
    mechanism = resolve(5, "2", "1")
    p2, q2 = mechanism.second or (Fraction(0), Fraction(1))
    (p1, q1), r = mechanism.first, p2 / q2
    low, high = exp_between(Fraction(1))
    assert low * (1 - Fraction(1, 10**9)) < mechanism.p / (1 - mechanism.p) <= high
    for reports in (1, 7, 1000):
        odds = (p1 * r**reports + q1) / (q1 * r**reports + p1)
        assert odds < exp_between(Fraction(2))[0]


class RoundsTheMiddleOnly(OneBitMean):
    """The nearer end instead of a random one: biased everywhere but at the ends."""

    def memo(self, setup: int, symbol: int) -> bytes:
        return b"1" if 2 * symbol >= self.k else b"0"


class PointDrawnFromTooFew(OneBitMean):
    """The rounding point misses the last step."""

    def assign(self, keyed: Draws) -> int:
        return keyed.below(max(1, self.k - 2))


class PointIncluded(OneBitMean):
    """A number at the rounding point is rounded up, so that the lower end may be, too."""

    def memo(self, setup: int, symbol: int) -> bytes:
        return b"1" if symbol >= setup else b"0"


@pytest.mark.parametrize("mutant", [RoundsTheMiddleOnly, PointDrawnFromTooFew, PointIncluded])
def test_a_faulty_rounding_is_caught(mutant: type[OneBitMean]) -> None:
    faults = set(conformance.faults(mutant.resolve(5, Decimal(2), None)))
    assert "check_estimates" in faults


def test_rounding_a_threshold_to_the_other_side_exceeds_epsilon() -> None:
    for epsilon in map(Decimal, ("0.1", "1", "4")):
        up = ceil_threshold(exp(epsilon) / (exp(epsilon) + 1))
        wrong = OneBitMean(3, epsilon, None, up, None)
        assert "check_epsilons" in set(conformance.faults(wrong))
