"""Intervals of quantiles cover, whatever the population; and are no wider than they need be."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pytest
from number_populations import POPULATIONS

from deniable.analysis import quantiles as module
from deniable.analysis.bands import BandLaw
from deniable.analysis.estimators import Level
from deniable.analysis.quantiles import quantile_interval, windows
from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.band import Band

LEVEL = Level(0.05)
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def law(name: str, k: int, epsilon: str) -> BandLaw:
    built = build(name, k, Decimal(epsilon))
    assert isinstance(built, Band)
    return BandLaw.of(built)


def true_quantile(frequencies: np.ndarray, share: float) -> int:
    return int(np.searchsorted(np.cumsum(frequencies), share - 1e-12))


@pytest.mark.parametrize(
    ("name", "epsilon", "n", "population"),
    list(product(("piecewise", "square-wave"), ("1", "4"), (1000, 100_000), POPULATIONS)),
)
def test_intervals_cover(name: str, epsilon: str, n: int, population: str) -> None:
    """Each of 40 intervals misses with 5 % at most; six standard errors of that are allowed."""
    band = law(name, 41, epsilon)
    truth = POPULATIONS[population](41)
    rng = np.random.default_rng(6)
    chances = band.spread(truth)
    tallies = rng.multinomial(n, chances / chances.sum(), size=40)
    for share in LEVELS:
        at = true_quantile(truth, share)
        missed = 0
        for counts in tallies:
            low, high = quantile_interval(band, counts, share, LEVEL)
            missed += not low <= at <= high
        assert missed / 40 <= 0.05 + 6 * math.sqrt(0.05 * 0.95 / 40)


@pytest.mark.parametrize(("share", "side"), list(product(LEVELS, (0, 1))))
def test_each_bound_is_exact(share: float, side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one window of one point a bound misses almost as often as it may, and no more.

    The population holds exactly ``share`` at and below a point; 2000 bounds of 2.5 % have a
    standard error of 0.35 %, of which six are allowed.
    """
    monkeypatch.setattr(module, "windows", lambda *_: (1,))
    band = law("square-wave", 11, "3")
    truth = np.full(11, 0.0)
    truth[:5], truth[5:] = share / 5, (1 - share) / 6
    chances = band.spread(truth)
    rng = np.random.default_rng(7)
    missed = 0
    for counts in rng.multinomial(3000, chances / chances.sum(), size=2000):
        below, above = module._bounds(band, counts, share, LEVEL, 1)
        missed += below[4] > share if side else above[4] < share
    assert 0.012 < missed / 2000 <= 0.025 + 6 * 0.0035


@pytest.mark.parametrize("name", ["piecewise", "square-wave"])
def test_windows_hold_the_truth_without_noise(name: str) -> None:
    """Counts that are exactly what is expected: every bound is on its side of F's mean."""
    band = law(name, 40, "1")
    truth = POPULATIONS["visits"](40)
    counts = np.round(band.spread(truth) * 10**12).astype(np.int64)
    total = np.cumsum(truth)
    for h, share in product((1, 2, 7, band.c), LEVELS):
        below, above = module._bounds(band, counts, share, LEVEL, h)
        for end in range(band.width):
            window = [0.0 if y < 0 else total[min(y, 39)] for y in range(end - h + 1, end + 1)]
            assert below[end] - 1e-9 <= np.mean(window) <= above[end] + 1e-9
            assert above[end] - below[end] < 1e-3


def test_more_devices_tell_more() -> None:
    band = law("square-wave", 101, "2")
    truth = POPULATIONS["uniform"](101)
    widths = []
    for n in (1000, 10_000, 100_000, 10**8):
        counts = np.random.default_rng(8).multinomial(n, band.spread(truth))
        low, high = quantile_interval(band, counts, 0.5, LEVEL)
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[2] <= 12
    assert widths[-1] <= 3


def test_surer_is_wider() -> None:
    band = law("square-wave", 101, "2")
    counts = np.random.default_rng(9).multinomial(10_000, band.spread(POPULATIONS["visits"](101)))
    for share in LEVELS:
        low, high = quantile_interval(band, counts, share, LEVEL)
        lower, higher = quantile_interval(band, counts, share, Level(0.05, family=6))
        assert lower <= low <= high <= higher


def test_windows_depend_on_no_count_and_fit_a_band() -> None:
    for k, epsilon, n in product((2, 3, 101, 4096), ("0.1", "1", "8"), (1, 1000, 10**9)):
        band = law("square-wave", k, epsilon)
        used = windows(band, n, 0.5, LEVEL)
        assert list(used) == sorted(set(used))
        assert 1 <= used[0] <= used[-1] == band.c


def test_windows_share_the_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    band = law("square-wave", 101, "1")
    counts = np.random.default_rng(10).multinomial(10_000, band.spread(np.full(101, 1 / 101)))
    tails: list[float] = []
    possible = module._possible

    def watched(*arguments: Any) -> Any:
        tails.append(arguments[3].tail)
        return possible(*arguments)

    monkeypatch.setattr(module, "_possible", watched)
    quantile_interval(band, counts, 0.5, Level(0.05, family=2))
    assert len(tails) > 1
    assert sum(tails) == pytest.approx(0.0125)


@pytest.mark.parametrize("out", [0, 3, -1])
def test_a_single_report_tells_nothing_and_fails_at_nothing(out: int) -> None:
    band = law("square-wave", 20, "1")
    counts = np.zeros(band.width, dtype=np.int64)
    counts[out] = 1
    for share in (1e-6, 0.5, 1 - 1e-6):
        low, high = quantile_interval(band, counts, share, LEVEL)
        assert 0 <= low <= high <= 19
        assert high - low > 10
