"""Subset selection: its published formulas, the set size of least variance, and its faults."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import conformance
import pytest
from enumeration import WORDS, exp_between

from deniable.protocol.draws import Draws, KeyedDraws
from deniable.protocol.errors import ParameterError, ReportError
from deniable.protocol.mechanisms import Law, Mechanism, build
from deniable.protocol.mechanisms.subset import SubsetSelection
from deniable.protocol.response import Response

EPSILONS = ("0.01", "0.5", "1", "1.0986122886681098", "2", "4", "8", "16")


def made(k: int, epsilon: str, weight: int | None = None) -> SubsetSelection:
    options = {} if weight is None else {"weight": weight}
    mechanism = build("ss", k, Decimal(epsilon), None, options)
    assert isinstance(mechanism, SubsetSelection)
    return mechanism


def e(epsilon: str) -> Fraction:
    low, high = exp_between(Fraction(epsilon))
    return (low + high) / 2


def published(k: int, epsilon: str, w: int) -> tuple[Fraction, Fraction]:
    """p and q as Ye and Barg have them."""
    E = e(epsilon)
    total = w * E + k - w
    return w * E / total, ((w - 1) * w * E + (k - w) * w) / ((k - 1) * total)


@pytest.mark.parametrize("k", [2, 3, 10, 100, 4096])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_probabilities_are_the_published_ones_rounded_to_the_safe_side(
    k: int, epsilon: str
) -> None:
    for weight in {1, k // 2, k - 1, made(k, epsilon).weight}:
        mechanism = made(k, epsilon, weight)
        p, q = published(k, epsilon, weight)
        assert mechanism.thresholds == {"inside": math.floor(p * WORDS)}
        assert 0 <= mechanism.q - q < Fraction(1, WORDS)


@pytest.mark.parametrize("k", [2, 3, 10, 100, 4096])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_largest_domain_keeps_its_epsilon(k: int, epsilon: str) -> None:
    """Of the C(k, w) sets, all with the true symbol are alike, and all without it."""
    mechanism = made(k, epsilon)
    w, p = mechanism.weight, mechanism.p
    ratio = p * (k - w) / ((1 - p) * w)
    assert ratio <= exp_between(Fraction(epsilon))[0]
    assert ratio >= exp_between(Fraction(epsilon) * (1 - conformance.BILLIONTH))[1]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_every_set_size_conforms(epsilon: str) -> None:
    for k in (2, 3, 4, 5):
        for weight in range(1, k):
            mechanism = made(k, epsilon, weight)
            assert list(conformance.faults(mechanism)) == []
            conformance.check_tightness(mechanism)


def test_values_of_the_literature() -> None:
    mechanism = made(100, "1")
    assert mechanism.weight == 27
    assert round(float(mechanism.p), 6) == 0.501344
    assert round(float(mechanism.q), 6) == 0.267663
    assert round(mechanism.variance(0), 6) == 3.58965


def noise(k: int, epsilon: str, w: int) -> Fraction:
    """n Var at f = 1/k, from the published p and q."""
    p, q = published(k, epsilon, w)
    return q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / k


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_no_other_set_size_has_less_variance(epsilon: str) -> None:
    for k in (*range(2, 33), 100):
        best = min(range(1, k), key=lambda w: noise(k, epsilon, w))
        assert made(k, epsilon).weight == best, k


def test_rounding_the_set_size_costs_accuracy() -> None:
    """The other neighbour of k/(E+1) may have a sixth more variance than the best."""
    costs = {}
    for k, epsilon in product(range(2, 40), ("0.5", "1", "2", "3")):
        near = k / (math.exp(float(epsilon)) + 1)
        sizes = {w for w in (math.floor(near), math.ceil(near)) if 1 <= w < k}
        found = [float(noise(k, epsilon, w)) for w in sizes]
        costs[k, epsilon] = max(found) / float(noise(k, epsilon, made(k, epsilon).weight))
    assert max(costs.values()) > 1.15


def test_a_set_of_one_is_randomized_response() -> None:
    for k, epsilon in product((2, 3, 10, 100), EPSILONS):
        grr, ss = build("grr", k, Decimal(epsilon)), made(k, epsilon, 1)
        assert (ss.p, ss.q) == (grr.p, grr.q)  # type: ignore[attr-defined]
        assert ss.losses == grr.losses
        assert ss.fingerprint_bits == grr.fingerprint_bits


def test_it_has_no_more_variance_than_grr_and_oue() -> None:
    """Ye and Barg: nothing of one round has less."""
    for k, epsilon in product((2, 5, 20, 100), ("0.5", "1", "2", "4")):
        others = [build(name, k, Decimal(epsilon)) for name in ("grr", "oue", "sue", "hr")]
        best = min(other.variance(1 / k) for other in others)
        assert made(k, epsilon).variance(1 / k) <= best * (1 + 1e-12)


def test_a_large_set_has_its_size_and_no_favourites() -> None:
    """2000 sets of 27 in 100: counts are binomial, within 7 deviations with odds above 1 - 3e-10.

    The 100 values are symbols' counts; 7 deviations of 2000 draws are 7 sqrt(2000 q (1-q)).
    """
    mechanism = made(100, "1")
    counts = [0] * 100
    for device in range(2000):
        response = mechanism.permanent(0, b"40", KeyedDraws(bytes(32), str(device).encode()))
        assert response.out.bit_count() == 27
        assert mechanism.shape.unpack(mechanism.shape.pack(response)) == response
        for symbol in range(100):
            counts[symbol] += mechanism.supports(symbol, response)
    for symbol, count in enumerate(counts):
        chance = float(mechanism.p if symbol == 40 else mechanism.q)
        assert abs(count - 2000 * chance) < 7 * math.sqrt(2000 * chance * (1 - chance))


def test_a_report_of_another_size_is_refused() -> None:
    shape = made(100, "1").shape
    for mask in (0, 1, (1 << 28) - 1, (1 << 100) - 1):
        with pytest.raises(ReportError, match="exactly 27 bits"):
            shape.unpack(shape.pack(Response(mask)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": 5}, "weight must be less than the 5 values there are: 5"),
        ({"weight": 0}, r"weight must be a whole number in 1\.\.4095: 0"),
        ({"weight": -1}, "weight must be a whole number"),
        ({"weight": 4096}, "weight must be a whole number"),
        ({"weight": True}, "weight must be a whole number"),
        ({"bits": 2}, "ss has no option of that name; it has weight: bits"),
    ],
)
def test_a_set_size_that_cannot_be_is_refused(options: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}"):
        build("ss", 5, Decimal(1), None, options)


def test_parameters_out_of_range_are_refused() -> None:
    with pytest.raises(ParameterError, match="ss has no second round; leave out epsilon_first"):
        build("ss", 5, Decimal(2), Decimal(1))
    for k in (2, 5, 4096):
        with pytest.raises(ParameterError, match="too small to say anything"):
            build("ss", k, Decimal("1e-25"))
    with pytest.raises(ParameterError, match="k must be at least 2: 1"):
        build("ss", 1, Decimal(1))


def test_the_options_are_those_in_force() -> None:
    assert made(100, "1").chosen == {"weight": 27}
    assert made(100, "1", 27) == made(100, "1")


# Faults, each put in on purpose.


class NeverCleared(SubsetSelection):
    """The true symbol is always in the set, so its absence is proof."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        certain = SubsetSelection(self.k, self.epsilon, None, self.weight, WORDS)
        return certain.permanent(setup, memo, keyed)


class NeverClearedAndSaysSo(NeverCleared):
    """The same with a distribution to match."""

    def law(self, setup: int, memo: bytes, rounds: int) -> Law:
        law = super().law(setup, memo, 1)
        there = {y: mass for y, mass in law.items() if self.supports(int(memo), y)}
        total = sum(there.values())
        return {y: mass / total for y, mass in there.items()}


class DrawnBy(SubsetSelection):
    """Other ways to take ``size`` of the other symbols."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        value, true = int(memo), keyed.chance(self.inside)
        mask = int(true) << value
        for other in self.others(self.weight - true, keyed):
            mask |= 1 << other + (other >= value)
        return Response(mask)

    def others(self, size: int, keyed: Draws) -> set[int]:
        raise NotImplementedError


class WithReplacement(DrawnBy):
    """A symbol drawn twice counts once, so sets are too small."""

    def others(self, size: int, keyed: Draws) -> set[int]:
        return {keyed.below(self.k - 1) for _ in range(size)}


class NextFree(DrawnBy):
    """A symbol drawn twice gives way to the next, which is likelier then."""

    def others(self, size: int, keyed: Draws) -> set[int]:
        taken: set[int] = set()
        for _ in range(size):
            drawn = keyed.below(self.k - 1)
            while drawn in taken:
                drawn = (drawn + 1) % (self.k - 1)
            taken.add(drawn)
        return taken


class ModuloBias(DrawnBy):
    """Floyd's algorithm over words of too few values."""

    def others(self, size: int, keyed: Draws) -> set[int]:
        taken: set[int] = set()
        for last in range(self.k - 1 - size, self.k - 1):
            drawn = keyed.below(8) % (last + 1)
            taken.add(last if drawn in taken else drawn)
        return taken


class DecodedAsIndependentBits(SubsetSelection):
    """Bits of one set are not independent: a set of fixed size that has one lacks another."""

    @property
    def joint(self) -> tuple[Fraction, Fraction]:
        return self.p * self.q, self.q**2


class HalfAsMuchLoss(SubsetSelection):
    """Losses that leave out half of the sets that tell."""

    @property
    def losses(self) -> tuple[Fraction, Fraction]:
        a, b = super().losses
        return a / 2, b / 2


def mutant(cls: type[SubsetSelection], k: int, weight: int) -> Mechanism:
    honest = made(k, "1", weight)
    return cls(k, honest.epsilon, None, weight, honest.inside)


@pytest.mark.parametrize(
    ("cls", "red"),
    [
        (NeverCleared, {"check_draws"}),
        (NeverClearedAndSaysSo, {"check_laws", "check_epsilons", "check_estimates"}),
        (WithReplacement, {"check_draws"}),
        (NextFree, {"check_draws"}),
        (ModuloBias, {"check_draws"}),
        (DecodedAsIndependentBits, {"check_estimates"}),
        (HalfAsMuchLoss, {"check_losses"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_fault_is_caught(cls: type[SubsetSelection], red: set[str]) -> None:
    assert list(conformance.faults(mutant(SubsetSelection, 5, 3))) == []
    assert red <= set(conformance.faults(mutant(cls, 5, 3)))


def one_unit_more(mechanism: SubsetSelection) -> SubsetSelection:
    return replace(mechanism, inside=mechanism.inside + 1)


def in_floats(mechanism: SubsetSelection) -> SubsetSelection:
    big_e, k, w = math.exp(mechanism.epsilon), mechanism.k, mechanism.weight
    return replace(mechanism, inside=int(w * big_e / (w * big_e + k - w) * WORDS))


@pytest.mark.parametrize("fault", [one_unit_more, in_floats])
def test_rounding_carelessly_exceeds_epsilon(
    fault: Callable[[SubsetSelection], SubsetSelection],
) -> None:
    honest = [made(4, epsilon, 2) for epsilon in EPSILONS]
    assert not any("check_epsilons" in conformance.faults(one) for one in honest)
    assert any("check_epsilons" in conformance.faults(fault(one)) for one in honest)
