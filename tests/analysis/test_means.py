"""The mean of a number: unbiased, with errors and intervals that hold for any population."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from number_populations import POPULATIONS, chances

from deniable.analysis.estimators import Level, clopper_pearson
from deniable.analysis.means import estimate_mean
from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.scale import Scale

NUMBERS = ("1bitmean", "piecewise", "square-wave")
LEVEL = Level(0.05)


def mechanism(name: str, k: int = 41, epsilon: str = "1", first: str | None = None) -> Scale:
    built = build(name, k, Decimal(epsilon), None if first is None else Decimal(first))
    assert isinstance(built, Scale)
    return built


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("name", NUMBERS)
def test_unbiased_with_an_error_that_is_true(name: str, population: str) -> None:
    """2000 tallies of 2000 devices; sampling errors of mean and spread, six of each allowed."""
    built = mechanism(name)
    frequencies = POPULATIONS[population](built.k)
    truth = float(frequencies @ np.arange(built.k)) / (built.k - 1)
    rng = np.random.default_rng(1)
    tallies = rng.multinomial(2000, chances(built, frequencies), size=2000)
    found = [estimate_mean(built, cells.tolist(), LEVEL) for cells in tallies]
    means = np.array([one.frequency for one in found])
    spread = means.std()
    assert abs(means.mean() - truth) < 6 * spread / math.sqrt(2000)
    # A standard deviation of 2000 draws has the relative error 1/sqrt(4000) = 0.016.
    error = np.mean([one.standard_error for one in found])
    assert error == pytest.approx(spread, rel=6 * 0.016)
    held = np.mean([one.low <= truth <= one.high for one in found])
    assert abs(held - 0.95) < 6 * math.sqrt(0.95 * 0.05 / 2000)


@pytest.mark.parametrize("name", ["piecewise", "square-wave"])
def test_the_score_of_every_cell_counts(name: str) -> None:
    built = mechanism(name)
    cells = list(range(built.shape.width))
    exact = sum(count * built.score(out) for out, count in enumerate(cells)) / sum(cells)
    assert estimate_mean(built, cells, LEVEL).frequency == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_single_report_claims_no_certainty(name: str) -> None:
    built = mechanism(name)
    for out in (0, built.shape.width // 2, built.shape.width - 1):
        cells = [0] * built.shape.cells
        cells[out] = 1
        found = estimate_mean(built, cells, LEVEL)
        assert found.standard_error > 0.25
        assert found.high - found.low > 1


@pytest.mark.parametrize("first", [None, "0.5"])
def test_one_bit_has_the_interval_of_a_yes_no(first: str | None) -> None:
    built = mechanism("1bitmean", first=first)
    found = estimate_mean(built, [3, 12], LEVEL)
    low, high = clopper_pearson(12, 15, 0.025)
    q, gap = 1 - probability(built), 2 * probability(built) - 1
    assert found.low == pytest.approx((low - q) / gap)
    assert found.high == pytest.approx((high - q) / gap)
    assert found.frequency == pytest.approx(float((3 * built.score(0) + 12 * built.score(1)) / 15))
    large = estimate_mean(built, [30_000, 50_000], LEVEL)
    assert large.high - large.frequency == pytest.approx(1.959963984540054 * large.standard_error)


def probability(built: Scale) -> float:
    """P(the bit is kept): the scores of the bits are 1/(2p-1) apart."""
    return (1 + 1 / float(built.score(1) - built.score(0))) / 2


@pytest.mark.parametrize("name", ["piecewise", "square-wave"])
@pytest.mark.parametrize("epsilon", ["1", "8", "16"])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.01])
def test_a_few_at_the_other_end_are_allowed_for(name: str, epsilon: str, share: float) -> None:
    """2000 tallies of 1000 devices: 93 % at least, 4.5 deviations of 0.49 % below 95."""
    mechanism = build(name, 21, Decimal(epsilon))
    assert isinstance(mechanism, Scale)
    laws = [mechanism.law(0, str(symbol).encode(), 1) for symbol in (0, 20)]
    outs = [
        (1 - share) * float(laws[0][y]) + share * float(laws[1][y])
        for y in sorted(laws[0], key=lambda response: response.out)
    ]
    rng = np.random.default_rng(3)
    drawn = rng.multinomial(1000, np.array(outs) / sum(outs), size=2000)
    means = [estimate_mean(mechanism, cells, Level(0.05)) for cells in drawn]
    assert np.mean([one.low <= share <= one.high for one in means]) > 0.928


def test_scores_that_no_population_has_do_not_widen_the_error() -> None:
    """Half of the reports at either end vary more than any population's could on average."""
    mechanism = build("piecewise", 21, Decimal(4))
    assert isinstance(mechanism, Scale)
    cells = [50, *[0] * (mechanism.shape.width - 2), 50]
    worst, _ = mechanism.worst_variance_iid()
    assert estimate_mean(mechanism, cells, Level(0.05)).standard_error == pytest.approx(
        math.sqrt(worst / 100)
    )
