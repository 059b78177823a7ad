"""The distribution by maximum likelihood: what the steps are, where they end, and how fast."""

from __future__ import annotations

import time
from decimal import Decimal

import numpy as np
import pytest
from number_populations import POPULATIONS, chances

from deniable.analysis import distribution as module
from deniable.analysis.bands import BandLaw
from deniable.analysis.distribution import BINS, FINE, bins, distribution, quantile, smoothed
from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.band import Band


def band(name: str, k: int, epsilon: str) -> Band:
    built = build(name, k, Decimal(epsilon))
    assert isinstance(built, Band)
    return built


GRID = [
    (name, k, epsilon)
    for name in ("piecewise", "square-wave")
    for k in (2, 3, 17, 40)
    for epsilon in ("0.2", "1", "4")
]


@pytest.mark.parametrize(("name", "k", "epsilon"), GRID)
def test_sums_over_bands_are_those_of_the_law(name: str, k: int, epsilon: str) -> None:
    built = band(name, k, epsilon)
    law = BandLaw.of(built)
    matrix = np.array([chances(built, row) for row in np.eye(k)])
    rng = np.random.default_rng(2)
    frequencies, weights = rng.dirichlet(np.ones(k)), rng.random(law.width)
    assert law.spread(frequencies) == pytest.approx(frequencies @ matrix, rel=1e-12)
    assert law.gather(weights) == pytest.approx(matrix @ weights, rel=1e-12)


@pytest.mark.parametrize("name", ["piecewise", "square-wave"])
def test_it_climbs_to_the_maximum(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No distribution is likelier by more than n (max_i M_i - 1), M being the EM multipliers."""
    law = BandLaw.of(band(name, 12, "2"))
    rng = np.random.default_rng(3)
    counts = rng.multinomial(5000, law.spread(POPULATIONS["visits"](12)))

    def short_of(found: np.ndarray) -> float:
        assert found.sum() == pytest.approx(1)
        assert found.min() >= 0
        return float(5000 * (law.gather(counts / 5000 / law.spread(found)).max() - 1))

    stopped = distribution(law, counts)
    blurred = distribution(law, counts, smooth=True)
    monkeypatch.setattr(module, "GAIN", 1e-8)
    patient = distribution(law, counts)
    assert short_of(patient) < 0.05
    assert short_of(patient) < short_of(stopped) < short_of(blurred)
    likelihood = [float(counts @ np.log(law.spread(one))) for one in (patient, stopped)]
    assert 0 <= likelihood[0] - likelihood[1] < 0.5


@pytest.mark.parametrize("k", [41, 1001])
@pytest.mark.parametrize(("epsilon", "most"), [("1", 0.02), ("4", 0.006)])
@pytest.mark.parametrize("population", POPULATIONS)
def test_it_is_near_the_truth(population: str, epsilon: str, most: float, k: int) -> None:
    """The area between the distribution functions, of a range of 1, for 100 000 devices.

    It shrinks with their number: smoothing on the coarse grid would leave 0.05 for ever.
    """
    law = BandLaw.of(band("square-wave", k, epsilon))
    truth = POPULATIONS[population](k)
    rng = np.random.default_rng(4)
    found = distribution(law, rng.multinomial(100_000, law.spread(truth)))
    assert np.abs(np.cumsum(found) - np.cumsum(truth)).mean() < most


def test_only_fine_grids_are_smoothed() -> None:
    rng = np.random.default_rng(5)
    for k in (FINE - 1, FINE):
        law = BandLaw.of(band("square-wave", k, "2"))
        counts = rng.multinomial(1000, law.spread(POPULATIONS["uniform"](k)))
        made = distribution(law, counts)
        assert (made == distribution(law, counts, smooth=k == FINE)).all()
        assert (made != distribution(law, counts, smooth=k < FINE)).any()


def test_smoothing_keeps_the_sum_and_a_level() -> None:
    assert smoothed(np.full(7, 1 / 7)) == pytest.approx(np.full(7, 1 / 7))
    assert smoothed(np.array([0, 0, 1.0, 0, 0])).tolist() == [0, 0.25, 0.5, 0.25, 0]
    assert smoothed(np.array([1.0, 0, 0])).tolist() == [0.75, 0.25, 0]


@pytest.mark.parametrize("out", [0, 5, -1])
def test_tallies_of_one_output_divide_by_nothing(out: int) -> None:
    for name, k, epsilon in GRID:
        law = BandLaw.of(band(name, k, epsilon))
        counts = np.zeros(law.width, dtype=np.int64)
        counts[min(out, law.width - 1)] = 7
        for smooth in (False, True):
            found = distribution(law, counts, smooth=smooth)
            assert np.isfinite(found).all()
            assert found.sum() == pytest.approx(1)


def test_the_first_point_of_a_quantile() -> None:
    frequencies = np.array([0.25, 0.25, 0.0, 0.5])
    levels = (0.1, 0.25, 0.26, 0.5, 0.51, 0.999999)
    assert [quantile(frequencies, share) for share in levels] == [0, 0, 1, 1, 3, 3]


@pytest.mark.parametrize("k", [2, 19, 20, 21, 101, 4096])
def test_bins_cover_the_grid_once(k: int) -> None:
    made = bins(np.full(k, 1 / k))
    assert len(made) == min(k, BINS)
    assert [one.first for one in made] == [0, *(one.last + 1 for one in made[:-1])]
    assert made[-1].last == k - 1
    sizes = {one.last - one.first + 1 for one in made}
    assert max(sizes) - min(sizes) <= 1
    assert sum(one.frequency for one in made) == pytest.approx(1)


def test_a_grid_of_4096_points_takes_seconds_at_most() -> None:
    law = BandLaw.of(band("square-wave", 4096, "1"))
    rng = np.random.default_rng(5)
    counts = rng.multinomial(10**7, law.spread(POPULATIONS["two hills"](4096)))
    start = time.process_time()
    distribution(law, counts)
    assert time.process_time() - start < 5
