"""Least squares over Bloom filters: unbiased, with honest errors, and refused where it cannot be.

The tallies here are made from the public positions by an own simulation, whose matrices are dense;
everything follows from fixed seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls

from deniable.analysis.bloom import NONNEGATIVE, estimate_bloom, require_told_apart, worst_lie
from deniable.analysis.decode import Supports
from deniable.analysis.estimators import Level
from deniable.analysis.frequencies import estimate_cells
from deniable.analysis.postprocess import process
from deniable.protocol.draws import KeyedDraws
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.bloom import positions
from deniable.protocol.mechanisms.rappor import Rappor

LEVEL = Level(0.05)
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


def make(k: int, epsilon: str = "2", first: str | None = None, **options: int) -> Rappor:
    made = build("rappor", k, Decimal(epsilon), None if first is None else Decimal(first), options)
    assert isinstance(made, Rappor)
    return made


CONFIGURATIONS = [
    make(4),
    make(4, "2", "1"),
    make(6, "3", hashes=2, bits=8, cohorts=12),
    make(5, "4", "2.5", hashes=3, bits=11, cohorts=7),
]


def label(mechanism: Rappor) -> str:
    return (
        f"k{mechanism.k}-bits{mechanism.bits}-hashes{mechanism.hashes}-{mechanism.second is None}"
    )


def filters(mechanism: Rappor) -> Counts:
    """Cohorts x bits x k."""
    made = np.zeros((mechanism.cohorts, mechanism.bits, mechanism.k), dtype=np.int64)
    for cohort in range(mechanism.cohorts):
        for symbol in range(mechanism.k):
            found = positions(cohort, symbol, mechanism.bits, mechanism.hashes)
            made[cohort, list(found), symbol] = 1
    return made


def tallies(
    mechanism: Rappor, truth: Sequence[float], n: int, many: int, seed: int
) -> list[list[int]]:
    """Reports of n devices sampled from ``truth``, many times; bits of a filter are independent."""
    rng = np.random.default_rng(seed)
    cohorts, k, p = mechanism.cohorts, mechanism.k, float(mechanism.p)
    people = rng.multinomial(n, np.outer(np.full(cohorts, 1 / cohorts), truth).ravel(), size=many)
    people = people.reshape(many, cohorts, k)
    having = np.einsum("cbk,rck->rcb", filters(mechanism), people)
    reports = people.sum(axis=2)[:, :, None]
    counts = rng.binomial(having, p) + rng.binomial(reports - having, 1 - p)
    return np.concatenate([counts, reports], axis=2).reshape(many, -1).tolist()


def rows(mechanism: Rappor, cells: Sequence[int]) -> tuple[Floats, Floats]:
    """The weighted least squares problem, dense: sqrt(n_c) B_c f = sqrt(n_c) y_c."""
    table = np.asarray(cells, dtype=np.float64).reshape(mechanism.cohorts, -1)
    n, p, q = table[:, -1:], float(mechanism.p), float(mechanism.q)
    left = np.sqrt(n)[:, :, None] * filters(mechanism)
    right = (table[:, :-1] - n * q) / (p - q) / np.sqrt(n)
    return left.reshape(-1, mechanism.k), right.ravel()


# From devices.


@pytest.mark.parametrize("mechanism", CONFIGURATIONS, ids=label)
def test_devices_reports_are_decoded_without_bias(mechanism: Rappor) -> None:
    """Each value in turn is that of all 1500 devices; 4.5 errors have odds of 7e-6 each."""
    for value in range(mechanism.k):
        cells = [0] * mechanism.shape.cells
        for device in range(1500):
            name = f"{value} {device}".encode()
            cohort = mechanism.assign(KeyedDraws(bytes(32), b"setup", name))
            key = mechanism.memo(cohort, value)
            assert key is not None
            permanent = mechanism.permanent(cohort, key, KeyedDraws(bytes(32), b"permanent", name))
            report = mechanism.instant(permanent, KeyedDraws(bytes(32), b"instant", name))
            mechanism.shape.fold(cells, report)
        for symbol, raw in enumerate(estimate_cells(mechanism, cells, LEVEL)):
            assert abs(raw.frequency - (symbol == value)) < 4.5 * raw.standard_error


# From many tallies.

MANY = 500


@pytest.mark.parametrize("mechanism", CONFIGURATIONS, ids=label)
@pytest.mark.parametrize("skewed", [False, True])
def test_errors_and_intervals_are_honest(mechanism: Rappor, skewed: bool) -> None:
    """Over 500 tallies of 3000 devices.

    The mean is within 4.5 errors of itself; the mean square error over all values within
    7 sqrt(2/500) = 0.443 of the stated variance for each value; 95 % intervals miss 25 times,
    give or take 4.5 sqrt(500 x 0.05 x 0.95) = 22.
    """
    weights = np.arange(mechanism.k, dtype=np.float64) ** (3 if skewed else 1)
    truth = weights / weights.sum()
    made = [
        estimate_bloom(mechanism, cells, LEVEL)
        for cells in tallies(mechanism, truth.tolist(), 3000, MANY, seed=7)
    ]
    for symbol, f in enumerate(truth):
        found = np.array([one[symbol].frequency for one in made])
        stated = np.mean([one[symbol].standard_error ** 2 for one in made])
        assert abs(found.mean() - f) < 4.5 * math.sqrt(stated / MANY)
        assert abs(np.mean((found - f) ** 2) / stated - 1) < 0.443
        missed = sum(not one[symbol].low <= f <= one[symbol].high for one in made)
        assert abs(missed - 0.05 * MANY) < 22


def test_a_larger_domain_is_told_as_well() -> None:
    """256 values: the mean of 256 nearly independent squares is 1, give or take 7 sqrt(2/256)."""
    mechanism = make(256)
    truth = np.random.default_rng(1).dirichlet(np.full(256, 0.1))
    (cells,) = tallies(mechanism, truth.tolist(), 10**6, 1, seed=2)
    raw = estimate_cells(mechanism, cells, LEVEL)
    squares = [
        ((one.frequency - f) / one.standard_error) ** 2 for one, f in zip(raw, truth, strict=True)
    ]
    assert abs(np.mean(squares) - 1) < 0.62


@pytest.mark.parametrize(
    ("mechanism", "within"),
    [
        (make(16, "1"), 0.05),
        (make(64, "4"), 0.02),
        (make(64, "4", hashes=2), 0.02),
        (make(256, "3", "2"), 0.01),
        (make(300, "4", bits=16, cohorts=30), 0.06),
    ],
    ids=["small", "collisions", "two hashes", "two rounds", "little room"],
)
def test_the_planned_variance_is_nearly_that_of_the_filters(
    mechanism: Rappor, within: float
) -> None:
    """The ideal formula, against the stated errors averaged over values: no chance is left."""
    k, n = mechanism.k, 10**7
    truth = np.full(k, 1 / k)
    (cells,) = tallies(mechanism, truth.tolist(), n, 1, seed=3)
    raw = estimate_bloom(mechanism, cells, LEVEL)
    stated = n * np.mean([one.standard_error**2 for one in raw])
    assert stated == pytest.approx(mechanism.variance_iid(1 / k), rel=within)


# Against other solvers.


@pytest.mark.parametrize("mechanism", CONFIGURATIONS, ids=label)
def test_estimates_are_those_of_weighted_least_squares(mechanism: Rappor) -> None:
    truth = [1 / mechanism.k] * mechanism.k
    (cells,) = tallies(mechanism, truth, 2000, 1, seed=4)
    left, right = rows(mechanism, cells)
    expected = np.linalg.lstsq(left, right, rcond=None)[0]
    found = [one.frequency for one in estimate_bloom(mechanism, cells, LEVEL)]
    assert found == pytest.approx(expected, abs=1e-12)


def least(mechanism: Rappor, cells: Sequence[int]) -> tuple[float, ...]:
    raw = [one.frequency for one in estimate_bloom(mechanism, cells, LEVEL)]
    made, remarks = process(mechanism, cells, raw, "nnls")
    assert remarks == (NONNEGATIVE,)
    return made


@pytest.mark.parametrize("mechanism", [*CONFIGURATIONS, make(100, "1")], ids=label)
@pytest.mark.parametrize("n", [60, 5000])
def test_nnls_is_that_of_lawson_and_hanson(mechanism: Rappor, n: int) -> None:
    truth = np.random.default_rng(5).dirichlet(np.full(mechanism.k, 0.1)).tolist()
    many = [
        c
        for c in tallies(mechanism, truth, n, 10, seed=6)
        if min(c[mechanism.bits :: mechanism.bits + 1])
    ]
    assert many or n == 60
    for cells in many:
        made = least(mechanism, cells)
        assert min(made) >= 0
        assert made == pytest.approx(nnls(*rows(mechanism, cells))[0], abs=1e-9)


def test_nnls_is_nearer_to_the_truth_and_sums_to_about_one() -> None:
    mechanism = make(64)
    truth = np.random.default_rng(8).dirichlet(np.full(64, 0.1))
    (cells,) = tallies(mechanism, truth.tolist(), 200_000, 1, seed=9)
    raw = np.array([one.frequency for one in estimate_bloom(mechanism, cells, LEVEL)])
    made = np.array(least(mechanism, cells))
    assert raw.min() < 0 <= made.min()
    assert np.linalg.norm(made - truth) < np.linalg.norm(raw - truth)
    assert made.sum() == pytest.approx(1, abs=0.05)


def test_nnls_of_nothing_but_noise_is_zero() -> None:
    """Fewer bits than even noise would set: every estimate is negative."""
    mechanism = make(4)
    cells = ([0] * mechanism.bits + [100]) * mechanism.cohorts
    assert max(one.frequency for one in estimate_bloom(mechanism, cells, LEVEL)) < 0
    assert least(mechanism, cells) == (0.0,) * 4


def test_nnls_is_for_bloom_filters() -> None:
    with pytest.raises(ParameterError, match="nnls fits Bloom filters, and grr has none"):
        process(build("grr", 3, Decimal(1)), [5, 6, 7], [0.1, 0.2, 0.7], "nnls")
    with pytest.raises(ParameterError, match="nnls fits Bloom filters"):
        process(make(3), Supports([5, 6, 7], [9, 9, 9]), [0.1, 0.2, 0.7], "nnls")


# What cannot be told.


def alike() -> Rappor:
    """Two symbols that share their filter in the only cohort."""
    for k in range(2, 9):
        mechanism = make(k, bits=16, cohorts=1, hashes=1)
        if len({positions(0, symbol, 16, 1) for symbol in range(k)}) < k:
            return mechanism
    raise AssertionError


def test_filters_that_are_alike_are_refused() -> None:
    mechanism = alike()
    message = rf"do not tell {mechanism.k} values apart; set more bits \(16\) or cohorts \(1\)"
    with pytest.raises(ParameterError, match=message):
        estimate_bloom(mechanism, [100] * 17, LEVEL)
    with pytest.raises(ParameterError, match=f"^colour: the Bloom filters .* {message}"):
        require_told_apart("colour", mechanism)


def test_cohorts_without_reports_are_left_out() -> None:
    mechanism = make(4)
    (cells,) = tallies(mechanism, [0.25] * 4, 4000, 1, seed=10)
    row = mechanism.bits + 1
    some = [*cells[: 4 * row], *[0] * (len(cells) - 4 * row)]
    few = estimate_bloom(mechanism, some, LEVEL)
    assert all(abs(one.frequency - 0.25) < 4.5 * one.standard_error for one in few)
    with pytest.raises(ParameterError, match="the cohorts that report do not tell 4 values apart"):
        estimate_bloom(mechanism, [0] * len(cells), LEVEL)


@pytest.mark.parametrize("k", [*range(2, 41), 100, 256, 500, 1000])
def test_chosen_sizes_tell_every_value_apart(k: int) -> None:
    for epsilon in ("1", "8"):
        require_told_apart("any", make(k, epsilon))


def test_the_worst_lie_moves_an_estimate_as_far_as_is_said() -> None:
    """A report more, of each cohort and bits in turn, against the linear map of the tally."""
    mechanism = make(6, "2", bits=5, hashes=1, cohorts=4)
    n = 1000
    base = np.array([[200] * 5 + [n // 4]] * 4)
    before = np.array([one.frequency for one in estimate_bloom(mechanism, base.ravel(), LEVEL)])
    most = 0.0
    for cohort in range(4):
        for mask in range(32):
            lied = base.copy()
            lied[cohort] += [*(mask >> bit & 1 for bit in range(5)), 0]
            honest = base.astype(float)
            honest[cohort, :5] += float(mechanism.q)
            after, fair = (
                np.array([one.frequency for one in estimate_bloom(mechanism, cells.ravel(), LEVEL)])
                for cells in (lied, honest)
            )
            most = max(most, float(np.abs(after - fair).max()) * n)
    assert before.shape == (6,)
    assert most == pytest.approx(worst_lie(mechanism), rel=1e-6)
