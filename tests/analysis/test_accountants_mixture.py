"""Sums of different losses: against the lattice, brute force, and an independent library."""

from __future__ import annotations

import math
import time
from decimal import Decimal

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld

from deniable.analysis.accountants.compositions import compositions, least
from deniable.analysis.accountants.lattice import exact
from deniable.analysis.accountants.laws import Law, composed
from deniable.analysis.accountants.losses import Losses, randomized_response, reported
from deniable.analysis.accountants.mixture import epsilon_of, mixture
from deniable.analysis.accountants.parts import Part, merged
from deniable.protocol.mechanisms import build


def losses_of(name: str, k: int, epsilon: str) -> Losses:
    losses = reported(build(name, k, Decimal(epsilon)))
    assert losses is not None
    return losses


@pytest.mark.parametrize("delta", [1e-100, 1e-15, 1e-6, 0.1, 0.999])
@pytest.mark.parametrize("reports", [1, 2, 30, 365, 20_000])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1234567", "2", "44"])
def test_equal_reports_agree_with_the_lattice(epsilon: str, reports: int, delta: float) -> None:
    """Above it by no more than the grid's step squared; below by its floating-point slack."""
    losses = losses_of("oue", 4, epsilon)
    found, known = mixture({losses: reports}, delta), exact(losses, reports, delta)
    assert found is not None
    span = 2 * reports * losses.epsilon
    assert known * (1 - 1e-9) - 1e-12 <= found <= known * (1 + 1e-6) + 1e-4 * min(span, 1 + known)


def test_five_questions() -> None:
    parts = [Part(build("grr", 2, Decimal(e)), n) for e, n in (("0.5", 1), ("1", 2), ("2", 1))]
    parts.append(Part(build("grr", 2, Decimal("0.3")), 1))
    assert mixture(merged(parts), 1e-6) == pytest.approx(4.799994058945505, abs=0.001)
    assert compositions(parts, 1e-6)[-1].epsilon == pytest.approx(4.799994058945505, abs=1e-9)


LIBRARY = [
    # kinds of report (mechanism, k, epsilon, reports), delta
    ([("grr", 2, "0.1", 100)], 1e-6),
    ([("grr", 2, "0.2", 200)], 1e-5),
    ([("grr", 2, "1", 30)], 1e-6),
    ([("grr", 16, "1", 30)], 1e-6),
    ([("grr", 100, "2", 365)], 1e-6),
    ([("oue", 2, "1", 30)], 1e-6),
    ([("oue", 8, "0.5", 365)], 1e-8),
    ([("sue", 2, "1", 30)], 1e-6),
    ([("sue", 9, "2", 100)], 1e-6),
    ([("olh", 64, "1", 52)], 1e-7),
    ([("grr", 2, "0.5", 1), ("grr", 2, "1", 2), ("grr", 2, "2", 1), ("grr", 2, "0.3", 1)], 1e-6),
    ([("grr", 2, "0.1", 300), ("oue", 8, "0.7", 52), ("sue", 5, "1.3", 12)], 1e-6),
    ([("grr", 7, "0.25", 365), ("grr", 3, "1.1", 12), ("olh", 32, "2", 3)], 1e-9),
    ([("oue", 4, "0.01", 5000), ("sue", 4, "0.02", 3000)], 1e-5),
]


@pytest.mark.parametrize(("kinds", "delta"), LIBRARY)
def test_an_independent_library_agrees(
    kinds: list[tuple[str, int, str, int]], delta: float
) -> None:
    parts = [Part(build(name, k, Decimal(e)), n) for name, k, e, n in kinds]
    theirs = None
    for part in parts:
        one = library_pld(part).self_compose(part.reports)
        theirs = one if theirs is None else theirs.compose(one)
    assert theirs is not None
    ours = compositions(parts, delta)[-1].epsilon
    assert ours == pytest.approx(theirs.get_epsilon_for_delta(delta), abs=1e-3)


def library_pld(part: Part) -> pld.PrivacyLossDistribution:
    """Of the two distributions themselves, with losses just below multiples of a hundredth.

    The library rounds the losses of each report up to a multiple, and so hardly at all.
    """
    losses = reported(part.mechanism)
    assert losses is not None
    each = {1: losses.gain, 0: losses.none, -1: losses.loss}
    upper = {sign: math.log(mass) for sign, mass in each.items() if mass > 1e-15}
    lower = {sign: log - sign * losses.epsilon + 1e-11 for sign, log in upper.items()}
    return pld.from_two_probability_mass_functions(lower, upper, value_discretization_interval=0.01)


def test_a_law_counts_what_it_loses() -> None:
    law = composed(losses_of("oue", 4, "1"), 1000, 1e-3, 1e-3)
    assert 0 < law.lost < 20 * 1e-3
    assert law.masses.sum() < 1 < law.masses.sum() + law.lost * (1 + 1e-9) < 1.0001
    assert 0 < law.error < 1e-6


def test_laws_are_trinomial() -> None:
    losses = Losses(1.0, 0.5, 0.3, 0.2, 1.0)
    law = composed(losses, 3, 0.0, 0.0)
    assert law.low == -3
    expected = np.convolve(np.convolve([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]), [0.2, 0.3, 0.5])
    assert law.masses == pytest.approx(expected, abs=1e-15)


def test_trimming_moves_the_lower_tail_up_and_loses_the_upper_one() -> None:
    law = Law(-2, np.array([0.01, 0.09, 0.4, 0.4, 0.07, 0.03]), 0.001, 0.0).trimmed(0.05, 0.1001)
    assert law.low == 0
    assert law.masses == pytest.approx([0.5, 0.4, 0.07])
    assert law.lost == pytest.approx(0.031 + 0.0)
    unchanged = Law(0, np.array([0.25, 0.5, 0.25]), 0.0, 0.0).trimmed(0.0, 0.0)
    assert unchanged.masses.tolist() == [0.25, 0.5, 0.25]


def test_long_laws_are_convolved_as_short_ones_are() -> None:
    rng = np.random.default_rng(4)
    one, other = rng.random(9001), rng.random(4999)
    found = Law(0, one, 0.0, 0.0).plus(Law(0, other, 0.0, 0.0))
    assert found.masses == pytest.approx(np.convolve(one, other), rel=1e-12)


def test_quantile_of_a_sum_of_losses() -> None:
    """The 99.9 % quantile of 200 losses of 0.2 is 12.4."""
    law = composed(randomized_response(0.2), 200, 0.0, 0.0)
    reached = np.cumsum(law.masses)
    assert 0.2 * (law.low + int(np.searchsorted(reached, 0.999))) == pytest.approx(12.4)


def test_where_there_is_no_answer_it_says_so() -> None:
    parts = [Part(build("grr", 2, Decimal(1)), 3), Part(build("oue", 2, Decimal(2)), 3)]
    found = compositions(parts, 1e-120)
    assert found[-1].epsilon is None
    assert "floating-point" in found[-1].why
    assert least(parts, 1e-120).method == "basic"
    lossy = Law(0, np.array([0.5, 0.5]), 1e-3, 0.0)
    assert epsilon_of(lossy, np.array([0.0, 1.0]), 1e-3) is None
    assert epsilon_of(lossy, np.array([0.0, 1.0]), 0.4) is not None
    wrong = Law(0, np.array([0.5, 0.5]), 0.0, 0.1)
    assert epsilon_of(wrong, np.array([0.0, 1.0]), 0.4) is None


def test_sixty_four_questions_for_years_take_no_time() -> None:
    """Less than a second on a quiet machine."""
    parts = [Part(build("oue", 8, Decimal(i) / 1000), 15_000) for i in range(1, 65)]
    begun = time.process_time()
    found = compositions(parts, 1e-15)[-1].epsilon
    assert time.process_time() - begun < 4
    assert found is not None
