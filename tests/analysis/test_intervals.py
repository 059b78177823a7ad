"""Coverage of the intervals: exactly, over every count, and in simulated surveys."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pytest
from scipy.stats import beta, binom

from deniable.analysis.decode import Supports
from deniable.analysis.estimators import Level, Raw, clopper_pearson, estimate_supports
from deniable.protocol.mechanisms import FrequencyOracle, build

CLIENTS = 10**6


def made(name: str, k: int, epsilon: Decimal) -> FrequencyOracle:
    mechanism = build(name, k, epsilon)
    assert isinstance(mechanism, FrequencyOracle)
    return mechanism


def estimated(
    mechanism: FrequencyOracle, counts: Sequence[int], n: int, level: Level
) -> Sequence[Raw]:
    return estimate_supports(mechanism, Supports(counts, (n,) * len(counts)), level)


def coverage(mechanism: FrequencyOracle, n: int, frequency: float, level: Level) -> float:
    """P(the interval holds the frequency), summed over all counts that matter."""
    gamma = float(mechanism.q) + frequency * float(mechanism.p - mechanism.q)
    low, high = (int(x) for x in binom.ppf([1e-13, 1 - 1e-13], n, gamma))
    counts = range(max(0, low - 1), min(n, high + 1) + 1)
    raw = estimated(mechanism, counts, n, level)
    held = [one.low <= frequency <= one.high for one in raw]
    return float(binom.pmf(counts, n, gamma)[held].sum())


@pytest.mark.parametrize(
    ("name", "k", "n", "frequency"),
    [
        ("grr", 4096, 1000, 0.0),  # the plug-in alone covers 22 % here
        ("grr", 4096, 1000, 0.01),
        ("grr", 1000, 500, 0.001),
        ("grr", 16, 50, 0.02),
        ("grr", 2, 20, 0.0),
        ("grr", 2, 5, 1.0),
        ("oue", 64, 10, 0.0),
        ("oue", 64, 40, 1.0),
        ("sue", 8, 3, 0.5),
        ("grr", 2, 400, 0.3),
        ("grr", 4, 10_000, 0.25),
        ("oue", 16, 10_000, 0.05),
    ],
)
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001])
@pytest.mark.parametrize("family", [1, 16])
def test_coverage(name: str, k: int, n: int, frequency: float, alpha: float, family: int) -> None:
    """A normal interval misses at most half as often again as it says; an exact one never does."""
    level = Level(alpha, family)
    mechanism = made(name, k, Decimal(2))
    gamma = float(mechanism.q) + frequency * float(mechanism.p - mechanism.q)
    slack = 1.5 if min(n * gamma, n - n * gamma) >= level.fewest / 2 else 1.0
    missed = 1 - coverage(mechanism, n, frequency, level)
    assert missed <= slack * alpha / family + 1e-12


@pytest.mark.parametrize(("n", "frequency"), [(40, 0.5), (400, 0.05)])
def test_what_a_normal_interval_may_miss(n: int, frequency: float) -> None:
    """As docs/decisions.md says: at 95 % with twice the fewest counts, the worst of a fine grid."""
    mechanism = made("grr", 2, Decimal(16))
    missed = 1 - coverage(mechanism, n, frequency, Level(0.05))
    assert 0.05 < missed <= 1.65 * 0.05


@pytest.mark.parametrize(("k", "frequency"), [(100, 0.0076), (2, 0.9924)])
def test_a_normal_interval_would_not_do(k: int, frequency: float) -> None:
    """What the exact interval is for: where either answer is rare the plug-in misses often."""
    mechanism = made("grr", k, Decimal(10))
    n, level = 400, Level(0.05)
    gamma = float(mechanism.q) + frequency * float(mechanism.p - mechanism.q)
    counts = range(n + 1)
    raw = estimated(mechanism, counts, n, level)
    held = [abs(r.frequency - frequency) <= level.z * r.standard_error for r in raw]
    assert binom.pmf(counts, n, gamma)[held].sum() < 0.85
    assert coverage(mechanism, n, frequency, level) >= 0.95


@pytest.mark.parametrize(("name", "n", "k"), [("grr", 2000, 8), ("oue", 2000, 8), ("grr", 200, 40)])
def test_simulated_surveys(name: str, n: int, k: int) -> None:
    """3000 surveys of sampled devices: each interval by itself, and all at once.

    The coverage of 3000 surveys has a standard error of at most 0.004 at 95 %; 6 of them and the
    half again that a normal interval may miss bound it from below, 6 of them and 1 from above.
    """
    rng = np.random.default_rng(20261130)
    surveys = 3000
    truth = rng.dirichlet(np.full(k, 0.5))
    mechanism = made(name, k, Decimal("2.5"))
    p, q = float(mechanism.p), float(mechanism.q)
    holders = rng.multinomial(n, truth, size=surveys)
    if name == "grr":
        counts = rng.binomial(holders, p)
        moved = rng.multinomial(
            (holders - counts).reshape(-1), np.full(k - 1, 1 / (k - 1))
        ).reshape(surveys, k, k - 1)
        for value in range(k):
            counts[:, np.arange(k) != value] += moved[:, value]
        assert (counts.sum(axis=1) == n).all()
    else:
        counts = rng.binomial(holders, p) + rng.binomial(n - holders, q)
    for level, all_at_once in ((Level(0.05), False), (Level(0.05, k), True)):
        known = {
            int(count): (one.low, one.high)
            for count, one in zip(
                np.unique(counts),
                estimated(mechanism, np.unique(counts).tolist(), n, level),
                strict=True,
            )
        }
        ends = np.array([[known[int(c)] for c in row] for row in counts])
        held = (ends[..., 0] <= truth) & (truth <= ends[..., 1])
        found = held.all(axis=1).mean() if all_at_once else held.mean()
        assert 1 - 1.5 * 0.05 - 6 * 0.004 <= found <= 1


@pytest.mark.parametrize("count", [0, 1, 7, 250, 499, 500])
@pytest.mark.parametrize("tail", [0.025, 1e-9])
def test_clopper_pearson_is_the_beta_quantile(count: int, tail: float) -> None:
    low, high = clopper_pearson(count, 500, tail)
    assert low == (0 if count == 0 else pytest.approx(beta.ppf(tail, count, 501 - count)))
    assert high == (count == 500 or pytest.approx(beta.isf(tail, count + 1, 500 - count)))


def test_published_clopper_pearson() -> None:
    assert clopper_pearson(0, 500, 0.025)[1] == pytest.approx(0.007350610051907784, abs=1e-9)


def test_a_small_share_of_very_many_keeps_its_digits() -> None:
    _, high = clopper_pearson(0, 10**15, 0.025)
    assert high == pytest.approx(3.688879454e-15, rel=1e-6)
