"""Band mechanisms: proved by enumeration, held against the published ones and against rivals."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product

import conformance
import pytest
from enumeration import WORDS, exp_between

from deniable.protocol.draws import Draws, KeyedDraws
from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import ceil_threshold, exp
from deniable.protocol.mechanisms import Scale, build
from deniable.protocol.mechanisms.band import Band
from deniable.protocol.mechanisms.piecewise import Piecewise
from deniable.protocol.mechanisms.square_wave import SquareWave, half_width
from deniable.protocol.question import mechanism_document
from deniable.protocol.response import Response

BANDS = (Piecewise, SquareWave)
EPSILONS = ("0.01", "0.3", "1", "2", "4", "8", "16")

Kind = type[Band]


def resolve(cls: Kind, k: int, epsilon: str) -> Band:
    mechanism = build(cls.name, k, Decimal(epsilon))
    assert isinstance(mechanism, cls)
    return mechanism


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 4, 9, 16])
@pytest.mark.parametrize("cls", BANDS)
def test_bands_conform(cls: Kind, k: int, epsilon: str) -> None:
    mechanism = resolve(cls, k, epsilon)
    assert list(conformance.faults(mechanism)) == []
    if Decimal(epsilon) <= 8:
        conformance.check_tightness(mechanism)


@pytest.mark.parametrize("width", range(1, 9))
def test_every_width_conforms(width: int) -> None:
    """The family does not depend on how a member chooses c: narrow, as wide as k, wider."""
    assert list(conformance.faults(Piecewise.of_width(5, Decimal("1.5"), width))) == []


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cls", BANDS)
def test_the_threshold_is_the_last_within_epsilon(cls: Kind, epsilon: str) -> None:
    mechanism = resolve(cls, 7, epsilon)
    c, bound = mechanism.width_of_band, exp_between(Fraction(epsilon))

    def odds(inside: int) -> Fraction:
        return Fraction(inside, c) / Fraction(WORDS - inside, 6)

    assert mechanism.a / mechanism.b == odds(mechanism.inside) <= bound[0]
    assert odds(mechanism.inside + 1) > bound[1]


def test_what_leaves_the_device_is_said_in_the_document() -> None:
    """c is one more than the cells that are not in a band, and those are k-1."""
    mechanism = resolve(Piecewise, 101, "2")
    document = mechanism_document(mechanism)
    assert document["shape"]["width"] - (document["k"] - 1) == mechanism.width_of_band
    assert document["thresholds"] == {"inside": str(mechanism.inside)}
    assert [mechanism.classes, mechanism.second, mechanism.options] == [101, None, {}]
    assert mechanism.fingerprint_bits == math.log2(mechanism.shape.width)


@pytest.mark.parametrize("cls", BANDS)
def test_no_second_round(cls: Kind) -> None:
    with pytest.raises(ParameterError, match=r"has no second round.* use one of 1bitmean"):
        build(cls.name, 5, Decimal(2), Decimal(1))


@pytest.mark.parametrize("cls", BANDS)
def test_large_grids_are_quick(cls: Kind) -> None:
    """50 ms is ten times what they take; the median of several, for other programs run too."""
    taken = []
    for attempt in range(9):
        begun = time.perf_counter()
        mechanism = build(cls.name, 4096, Decimal("1.25"))
        mechanism.permanent(0, b"4095", KeyedDraws(bytes(32), str(attempt).encode()))
        taken.append(time.perf_counter() - begun)
    assert sorted(taken)[4] < 0.05


# The mean.


def published(k: int, epsilon: str) -> Band:
    """The piecewise mechanism with its published band: c/(k-1) = 1/sqrt(E)."""
    return Piecewise.of_width(k, Decimal(epsilon), round((k - 1) / math.exp(float(epsilon) / 2)))


def on_minus_one_to_one(mechanism: Band, t: Fraction) -> dict[str, Fraction]:
    """C, l, r, p_in and the variance in the terms of Wang et al., from a mechanism on a grid.

    A cell reaches half a cell to both sides of its score.
    """
    i, c = (t + 1) / 2 * (mechanism.k - 1), mechanism.width_of_band
    assert i.denominator == 1
    half_cell = (mechanism.score(1) - mechanism.score(0)) / 2
    first, last = mechanism.score(int(i)), mechanism.score(int(i) + c - 1)
    return {
        "C": 2 * (mechanism.score(mechanism.shape.width - 1) + half_cell) - 1,
        "l": 2 * (first - half_cell) - 1,
        "r": 2 * (last + half_cell) - 1,
        "p_in": c * mechanism.a,
        "var": 4 * mechanism.score_variance((t + 1) / 2),
    }


CONTINUOUS = {"C": 4.082988, "l": -0.779046, "r": 2.303942, "p_in": 0.622459, "var": 3.820838}


def test_fine_grids_reproduce_the_published_mechanism() -> None:
    """Wang et al. at t = 0.3, epsilon 1, to all printed digits."""
    found = on_minus_one_to_one(published(10**8 + 1, "1"), Fraction(3, 10))
    assert {name: round(float(value), 6) for name, value in found.items()} == CONTINUOUS


def test_the_grid_costs_no_more_than_one_part_in_its_steps() -> None:
    """c is rounded to within half a cell, and each quantity has a slope in c/n below 7 here.

    |d var/dx| at x = 1/sqrt(e), the steepest but C, is 2.4; |dC/dx| is 6.8.
    """
    root = math.exp(0.5)
    exact = {
        "C": (root + 1) / (root - 1),
        "l": ((root + 1) / (root - 1) + 1) * 0.15 - ((root + 1) / (root - 1) - 1) / 2,
        "p_in": root / (root + 1),
        "var": 0.09 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2),
    }
    for steps in (20, 100, 1000, 10**4, 10**5):
        found = on_minus_one_to_one(published(steps + 1, "1"), Fraction(3, 10))
        for name, value in exact.items():
            assert abs(float(found[name]) - value) < 7 / 2 / steps + 8 / steps**2, (steps, name)


def worst(mechanism: Scale) -> Fraction:
    return max(mechanism.score_variance(Fraction(x, 2)) for x in range(3))


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "2", "3.3", "5", "8", "12"])
def test_piecewise_has_the_width_of_least_worst_variance(epsilon: str) -> None:
    """Against every width up to 2k, one after the other."""
    for k in (2, 3, 4, 5, 8, 13, 50):
        chosen = resolve(Piecewise, k, epsilon)
        assert chosen.width_of_band <= max(1, k - 1)
        every = [worst(Piecewise.of_width(k, Decimal(epsilon), c)) for c in range(1, 2 * k)]
        assert worst(chosen) == min(every)


@pytest.mark.parametrize("k", [3, 4, 5])
def test_piecewise_changes_its_width_at_the_right_epsilon(k: int) -> None:
    """On coarse grids every term of the difference decides for some of these."""
    widths = set()
    for epsilon in (Decimal(n) / 40 for n in range(1, 201)):
        chosen = Piecewise.resolve(k, epsilon, None)
        widths.add(chosen.width_of_band)
        every = [worst(Piecewise.of_width(k, epsilon, c)) for c in range(1, k + 1)]
        assert worst(chosen) == min(every)
    assert widths == set(range(1, k))


@pytest.mark.parametrize(("epsilon", "ratio"), [("1", 1.031), ("2", 1.124), ("4", 1.491)])
def test_the_published_width_is_worse_where_variance_is_largest(epsilon: str, ratio: float) -> None:
    chosen, narrow = resolve(Piecewise, 4096, epsilon), published(4096, epsilon)
    assert float(worst(narrow) / worst(chosen)) == pytest.approx(ratio, abs=1e-3)


def test_the_best_width_of_fine_grids_is_a_root() -> None:
    for epsilon in ("0.2", "1", "3", "7"):
        e, x = math.exp(float(epsilon)), resolve(Piecewise, 10**6 + 1, epsilon).width_of_band / 1e6
        terms = [e**2 * x**4, 2 * e * x**3, -2 * e * x, -1]
        assert abs(sum(terms)) < 1e-5 * sum(map(abs, terms))


@pytest.mark.parametrize("epsilon", ["0.05", "1", "3", "6"])
@pytest.mark.parametrize("name", ["1bitmean", "piecewise", "square-wave"])
def test_populations_at_the_ends_vary_most(name: str, epsilon: str) -> None:
    """``exact_variance`` of sampled users is the largest of any population with that mean.

    The mean square of a score is convex in the place, so that moving people outwards, their mean
    unchanged, adds to it; and a mixture of pairs of points reaches every population.
    """
    mechanism = build(name, 9, Decimal(epsilon))
    assert isinstance(mechanism, Scale)
    grid = [Fraction(i, 8) for i in range(9)]
    square = [mechanism.score_variance(x) + x**2 for x in grid]
    steps = [after - before for before, after in pairwise(square)]
    assert all(later >= earlier for earlier, later in pairwise(steps))
    for (i, low), (j, high) in product(enumerate(grid), repeat=2):
        for share in (Fraction(1, 3), Fraction(1, 2)):
            mean = share * low + (1 - share) * high
            spread = share * square[i] + (1 - share) * square[j] - mean**2
            assert spread <= mechanism.exact_variance(mean, sampled=True)
            if {low, high} == {Fraction(0), Fraction(1)}:
                assert spread == mechanism.exact_variance(mean, sampled=True)


# The square wave.


def test_the_published_square_wave_is_reproduced() -> None:
    """Li et al. at epsilon 1: b, and the densities on a fine grid, to all printed digits."""
    b = half_width(Decimal(1))
    assert b.high - b.low < Fraction(1, 10**50)
    assert round(float(b.low), 6) == 0.256083
    fine = resolve(SquareWave, 10**8 + 1, "1")
    assert round(float(fine.a * 10**8), 6) == 1.136305
    assert round(float(fine.b * 10**8), 6) == 0.418023


def b_by_hand(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """b between two rationals: its series, in which nothing cancels.

    Above and below the line, divided by epsilon^2: the sums of u (j+1) and of 2E u, where
    u = epsilon^j / (j+2)!. From j >= 2 epsilon on each term is at most half the one before, so
    that all the rest together is at most twice the first one left out.
    """
    above = below = Fraction(0)
    u, j = Fraction(1, 2), 0
    while j < 2 * epsilon or u * 10**60 > below:
        above, below = above + u * (j + 1), below + u
        j += 1
        u *= epsilon / (j + 2)
    rest = 2 * u * (j + 1)
    low, high = exp_between(epsilon)
    return above / (2 * high * (below + rest)), (above + rest) / (2 * low * below)


@pytest.mark.parametrize(
    "epsilon", ["1e-19", "1e-12", "1e-6", "0.01", "0.1", "1", "2.5", "7", "16", "44"]
)
def test_the_square_wave_has_the_published_width(epsilon: str) -> None:
    """Where E - 1 - epsilon cancels, too: b tends to 1/2 from below, and k/2 is never reached."""
    low, high = b_by_hand(Fraction(epsilon))
    assert Fraction(0) < low <= high < Fraction(1, 2)
    assert high - low < Fraction(1, 10**30)
    for k in (2, 3, 10, 101, 1000, 4096):
        assert math.floor(low * k) == math.floor(high * k)
        c = SquareWave.choose_width(k, Decimal(epsilon))
        assert c == 2 * math.floor(low * k) + 1 <= k


def test_an_epsilon_without_digits_is_as_the_least_with_some() -> None:
    for k in (2, 3, 4096):
        assert SquareWave.choose_width(k, Decimal("1e-55")) == (k - 1) // 2 * 2 + 1


# Faults, put in on purpose.


class FirstOthersLikelier(Piecewise):
    """The cell outside the band by a modulus."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        if keyed.chance(self.inside):
            return super().permanent(setup, memo, Always(keyed))
        first, other = int(memo), keyed.below(self.k) % (self.k - 1)
        return Response(other + self.width_of_band if other >= first else other)


class Always:
    """Draws whose next chance comes true."""

    def __init__(self, draws: Draws) -> None:
        self._draws = draws

    def chance(self, threshold: int) -> bool:
        return True

    def below(self, n: int) -> int:
        return self._draws.below(n)


class AnyCell(Piecewise):
    """Outside the band means anywhere, the band included."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        if keyed.chance(self.inside):
            return Response(int(memo) + keyed.below(self.width_of_band))
        return Response(keyed.below(self.shape.width))


class CutAtTheEnds(Piecewise):
    """Reports past the ends of the range are moved to them: biased, and mass gathers there."""

    def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
        return Response(min(super().permanent(setup, memo, keyed).out, self.k - 1))


class DecodedByAnotherNumber(Piecewise):
    """The scores are those of the continuous mechanism."""

    def score(self, out: int) -> Fraction:
        root = Fraction(math.exp(float(self.epsilon) / 2))
        reach = (root + 1) / (root - 1)
        w = self.shape.width
        return Fraction(1, 2) + reach * Fraction(2 * out - w + 1, w) / 2


class OffCentre(Piecewise):
    """Scores that forget that the band begins with the symbol's own cell."""

    def score(self, out: int) -> Fraction:
        return super().score(out + 1)


class BentAlike(Piecewise):
    """The variance of the middle, everywhere."""

    def score_variance(self, at: Fraction) -> Fraction:
        return super().score_variance(Fraction(1, 2))


@pytest.mark.parametrize(
    ("mutant", "red"),
    [
        (FirstOthersLikelier, "check_draws"),
        (AnyCell, "check_draws"),
        (CutAtTheEnds, "check_draws"),
        (DecodedByAnotherNumber, "check_estimates"),
        (OffCentre, "check_estimates"),
        (BentAlike, "check_estimates"),
    ],
)
def test_a_faulty_band_is_caught(mutant: type[Piecewise], red: str) -> None:
    assert red in set(conformance.faults(mutant.resolve(5, Decimal(2), None)))


@pytest.mark.parametrize("cls", BANDS)
def test_rounding_to_the_other_side_exceeds_epsilon(cls: Kind) -> None:
    for epsilon in EPSILONS:
        mechanism = resolve(cls, 5, epsilon)
        weight = exp(Decimal(epsilon)) * mechanism.width_of_band
        up = ceil_threshold(weight / (weight + 4))
        wrong = cls(5, Decimal(epsilon), None, up, mechanism.width_of_band)
        assert "check_epsilons" in set(conformance.faults(wrong))


@pytest.mark.parametrize("cls", BANDS)
def test_floating_point_exceeds_epsilon(cls: Kind) -> None:
    exceeded = 0
    for k, epsilon in product((2, 3, 5), EPSILONS[1:]):
        c, e = resolve(cls, k, epsilon).width_of_band, math.exp(float(epsilon))
        wrong = cls(k, Decimal(epsilon), None, int(c * e / (c * e + k - 1) * WORDS), c)
        exceeded += "check_epsilons" in set(conformance.faults(wrong))
    assert exceeded >= 3


def test_reports_are_as_frequent_as_the_law_says() -> None:
    """Keyed draws of 20 000 devices against the law: chi-square of 15 degrees, below 100.

    The odds of a larger one are below 1e-13.
    """
    mechanism = Piecewise.of_width(11, Decimal(1), 6)
    counts = [0] * mechanism.shape.width
    for device in range(20_000):
        draws = KeyedDraws(bytes(32), str(device).encode())
        counts[mechanism.permanent(0, b"3", draws).out] += 1
    law = mechanism.law(0, b"3", 1)
    assert len(law) == 16
    expected = [float(law[Response(y)]) * 20_000 for y in range(16)]
    assert sum((n - m) ** 2 / m for n, m in zip(counts, expected, strict=True)) < 100
