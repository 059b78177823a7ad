"""95 % intervals cover 95 % of 10 000 seeded surveys, for every mechanism.

The supports of a value among n sampled devices are binomial, with the chances that the
conformance suite proves; so surveys of any size are drawn exactly. What remains is the interval's
own error: 10 000 surveys have a standard error of 0.22 %, and the seeds are fixed.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from conformance import memo, setups
from instances import usual
from numpy.typing import NDArray

from deniable.analysis.decode import Supports
from deniable.analysis.estimators import Level, estimate_supports
from deniable.analysis.frequencies import estimate_cells
from deniable.analysis.means import estimate_mean
from deniable.analysis.simulation import draw_tallies
from deniable.protocol.mechanisms import MECHANISMS, FrequencyOracle, Scale, build, named

SURVEYS = 10_000
K = 8

ORACLES = [
    (name, first)
    for name, cls in MECHANISMS.items()
    for first in (None, Decimal(1))
    if issubclass(cls, FrequencyOracle) and (first is None or cls.two_rounds)
]


def surveys(
    mechanism: FrequencyOracle, n: int, frequency: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Supports of one value, and the reports that say anything about it, in each survey."""
    rng = np.random.default_rng(seed)
    trials = rng.binomial(n, float(mechanism.coverage), SURVEYS)
    gamma = float(mechanism.q) + frequency * float(mechanism.p - mechanism.q)
    return rng.binomial(trials, gamma), trials


def covered(mechanism: FrequencyOracle, n: int, frequency: float, seed: int) -> float:
    """The share of surveys whose interval holds the frequency."""
    drawn, times = np.unique(
        np.stack(surveys(mechanism, n, frequency, seed)), axis=1, return_counts=True
    )
    raw = estimate_supports(mechanism, Supports(*drawn.tolist()), Level(0.05))
    held = np.array([one.low <= frequency <= one.high for one in raw])
    return float(times[held].sum() / SURVEYS)


@pytest.mark.parametrize("frequency", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("n", [1_000, 100_000])
@pytest.mark.parametrize(("name", "first"), ORACLES)
def test_intervals_cover(name: str, first: Decimal | None, n: int, frequency: float) -> None:
    mechanism = usual(name, K, Decimal(1) if first is None else Decimal(2), first)
    assert isinstance(mechanism, FrequencyOracle)
    assert 0.94 <= covered(mechanism, n, frequency, seed=20261130) <= 0.965


@pytest.mark.parametrize(("name", "first"), ORACLES)
def test_another_error_would_be_seen(name: str, first: Decimal | None) -> None:
    """An interval a tenth too narrow or wide does not cover 94 to 96.5 %."""
    mechanism = usual(name, K, Decimal(1) if first is None else Decimal(2), first)
    assert isinstance(mechanism, FrequencyOracle)
    counts, trials = surveys(mechanism, 100_000, 0.3, seed=1)
    raw = estimate_supports(mechanism, Supports(counts.tolist(), trials.tolist()), Level(0.05))
    for factor, bounds in product((0.9, 1.1), ((0.94, 0.965),)):
        held = np.mean([abs(r.frequency - 0.3) <= factor * (r.high - r.low) / 2 for r in raw])
        assert not bounds[0] <= held <= bounds[1]


@pytest.mark.parametrize("frequency", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("n", [1_000, 100_000])
@pytest.mark.parametrize("name", named("number"))
def test_intervals_of_a_mean_cover(name: str, n: int, frequency: float) -> None:
    """A share of the devices is at the upper end of the range, the others at the lower one.

    So the mean is that share, and the outputs of a survey are multinomial.
    """
    mechanism = build(name, 21, Decimal(1))
    assert isinstance(mechanism, Scale)
    outs = np.zeros(mechanism.shape.width)
    for symbol, share in ((20, frequency), (0, 1 - frequency)):
        for setup, chance in setups(mechanism).items():
            law = mechanism.law(setup, memo(mechanism, setup, symbol), 1)
            for response, mass in law.items():
                outs[response.out] += share * float(chance * mass)
    drawn, times = np.unique(
        np.random.default_rng(7).multinomial(n, outs / outs.sum(), SURVEYS),
        axis=0,
        return_counts=True,
    )
    means = [estimate_mean(mechanism, cells, Level(0.05)) for cells in drawn]
    held = np.array([mean.low <= frequency <= mean.high for mean in means])
    assert 0.94 <= times[held].sum() / SURVEYS <= 0.965


@pytest.mark.parametrize("frequency", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("n", [1_000, 100_000])
def test_intervals_of_least_squares_cover(n: int, frequency: float) -> None:
    """200 surveys through RAPPOR's filters: within 4.5 standard errors of 94 to 96.5 %."""
    rng = np.random.default_rng(11)
    mechanism = build("rappor", K, Decimal(1))
    shares = [frequency, *[(1 - frequency) / (K - 1)] * (K - 1)]
    held = 0
    for _ in range(200):
        (cells,) = draw_tallies(mechanism, rng.multinomial(n, shares), rng)
        one = estimate_cells(mechanism, cells, Level(0.05))[0]
        held += one.low <= frequency <= one.high
    assert 0.94 - 4.5 * 0.0154 <= held / 200 <= 1
