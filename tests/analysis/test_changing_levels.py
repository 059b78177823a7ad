"""Least squares over a dyadic tree: right weights, honest errors, and never worse than one path."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
import pytest
from changing_kit import counter, joint, said, trajectory, with_ones

from deniable.analysis.changing.levels import (
    expected_errors,
    levels_of,
    newest_errors,
)
from deniable.analysis.changing.network import solve
from deniable.analysis.changing.rows import Rows, expected_rows, rows_of
from deniable.analysis.changing.signals import signal_of
from deniable.protocol.mechanisms.dyadic import Dyadic
from deniable.protocol.mechanisms.trajectory import Trajectory

TREES = [trajectory(13, 2), trajectory(16, 1), counter(13), counter(32)]
MANY = 1e12
"""So many devices that what is added to a share before it is plugged in does not matter."""


def kept(rows: Rows, chosen: np.ndarray) -> Rows:
    return Rows(rows.level[chosen], rows.period[chosen], rows.reports[chosen], rows.ones[chosen])


def design(rows: Rows, periods: int) -> np.ndarray:
    """What each row tells, in terms of the periods."""
    found = np.zeros((len(rows), periods + 1))
    found[np.arange(len(rows)), rows.period] += 1
    found[np.arange(len(rows)), rows.since] -= 1
    return found[:, 1:]


@pytest.mark.parametrize("tree", TREES, ids=Dyadic.described)
def test_the_weights_are_those_of_least_squares(tree: Dyadic) -> None:
    """With rows of unequal size, and a fifth of them missing: some periods have no path left."""
    rng = np.random.default_rng(5)
    rows = expected_rows(tree, 1000)
    rows = kept(rows, rng.random(len(rows)) > 0.2)
    rows = Rows(rows.level, rows.period, rng.integers(5, 90, len(rows)).astype(float), rows.ones)
    conductance = signal_of(tree).conductance(rows)
    made = solve(rows, conductance, tree.periods)
    matrix = design(rows, tree.periods)
    normal = matrix.T @ (conductance[:, np.newaxis] * matrix)
    inverse = np.linalg.pinv(normal, hermitian=True)
    known = np.isclose(np.diag(inverse @ normal), 1)
    assert (np.flatnonzero(known) + 1).tolist() == made.periods.tolist()
    expected = (inverse @ (matrix.T * conductance))[known]
    np.testing.assert_allclose(made.weights, expected, atol=1e-9)


@pytest.mark.parametrize("tree", TREES, ids=Dyadic.described)
def test_estimates_are_unbiased_whatever_is_missing(tree: Dyadic) -> None:
    """Where every row tells exactly what happened, so does every estimate."""
    rng = np.random.default_rng(6)
    shares = np.sort(rng.random(tree.periods))
    rows = expected_rows(tree, 1000)
    rows = kept(rows, rng.random(len(rows)) > 0.2)
    signal = signal_of(tree)
    told = shares[rows.period - 1] - np.where(rows.first, signal.centre, shares[rows.since - 1])
    slope = signal.scores(with_ones(rows, rows.reports)) - signal.scores(
        with_ones(rows, 0 * rows.ones)
    )
    ones = rows.reports * (told - signal.scores(with_ones(rows, 0 * rows.ones))) / slope
    made = levels_of(tree, with_ones(rows, ones))
    assert len(made.estimates) >= tree.periods // 2
    np.testing.assert_allclose(made.estimates, shares[made.solution.periods - 1], atol=1e-12)


@pytest.mark.parametrize("tree", [*TREES, trajectory(365, 2), counter(365)], ids=Dyadic.described)
def test_it_is_never_worse_than_a_sum_over_stretches(tree: Dyadic) -> None:
    """Nor than what was known when the period was the newest."""
    least, newest = expected_errors(tree, 1000), newest_errors(tree, 1000)
    plain = expected_errors(tree, 1000, plain=True)
    assert (least <= newest * (1 + 1e-9)).all()
    assert (newest <= plain * (1 + 1e-9)).all()
    assert least.max() < 0.9 * plain.max()


@pytest.mark.parametrize("tree", TREES, ids=Dyadic.described)
def test_the_newest_period_is_as_certain_as_the_mechanism_says(tree: Dyadic) -> None:
    """Resistance, squares of first currents and the reach of a lie, against the whole system."""
    signal, rows = signal_of(tree), expected_rows(tree, tree.levels)
    network = signal.mechanism.network
    for t in range(1, tree.periods + 1):
        own = kept(rows, rows.period <= t)
        currents = solve(own, signal.conductance(own), tree.periods).weights[-1]
        variance = (currents**2 / signal.conductance(own)).sum()
        assert network.resistance(t) == pytest.approx(variance)
        assert network.squares(t) == pytest.approx((currents[own.first] ** 2).sum())
        moves = signal.reach(expected_rows(tree, tree.levels))
        first = tuple(moves[rows.first])
        later = tuple(
            moves[(rows.level == h) & (~rows.first | (tree.nodes(h) == 1))][-1]
            for h in range(tree.levels)
        )
        reach = abs(currents) * signal.reach(own)
        worst = max(reach[own.level == h].sum() for h in range(tree.levels))
        assert network.reach(t, first, later) == pytest.approx(worst)


def test_two_periods_by_hand() -> None:
    """One wire of level 1 beside two of level 0 in series."""
    tree = trajectory(2, 1)
    r0, r1 = (float(1 / tree.gap(level) ** 2) for level in (0, 1))
    variance = 2 / (1 / (r1 / 4) + 1 / (r0 / 4 + r0))
    assert expected_errors(tree, 1)[1] ** 2 == pytest.approx(variance)


def test_the_error_is_a_bound_for_every_trajectory_and_mixture() -> None:
    """Exactly, from the joint law of all reports of a device; and nearly attained by some.

    Half of the devices with a trajectory and half with its opposite: their means cancel, so
    nothing is left of the answers but what the noise drawn in advance has in common.
    """
    periods, tightest = 8, 0.0
    for tree in (trajectory(periods, 1), trajectory(periods, 2), trajectory(periods, 3, "1")):
        laws = [exact_level(tree, level) for level in range(tree.levels)]
        for answers in product((0, 1), repeat=periods):
            if sum(a != b for a, b in pairwise(answers)) > tree.changes:
                continue
            opposite = tuple(1 - one for one in answers)
            for mixture in ([answers], [answers, opposite]):
                ratio = of_truth(tree, laws, mixture)
                assert (ratio <= 1 + 1e-9).all()
                tightest = max(tightest, float(ratio.max()))
    assert tightest > 0.99


Law = dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]


def exact_level(tree: Trajectory, level: int) -> Law:
    """Mean and second moments of a device's reports, by its answers at the ends of stretches."""
    found: Law = {}
    for ends in product((0, 1), repeat=tree.nodes(level)):
        answers = [bit for bit in ends for _ in range(1 << level)]
        answers += [ends[-1]] * (tree.periods - len(answers))
        says = said(tree, level, answers)
        if sum(map(abs, says)) > tree.changes + 1:
            continue
        outs, masses = map(np.array, zip(*joint(tree, level, says), strict=True))
        mean, moments = masses @ outs, outs.T @ (masses[:, np.newaxis] * outs)
        found[ends] = mean, moments
    return found


def of_truth(tree: Dyadic, laws: Sequence[Law], mixture: Sequence[tuple[int, ...]]) -> np.ndarray:
    """The exact variance of every period, in terms of what is computed from the tallies."""
    rows = expected_rows(tree, MANY)
    signal = signal_of(tree)
    weights = solve(rows, signal.conductance(rows), tree.periods).weights
    ones, exact = np.zeros(len(rows)), np.zeros(tree.periods)
    for level, law in enumerate(laws):
        own = rows.level == level
        each = [law[tuple(one[(1 << level) - 1 :: 1 << level])] for one in mixture]
        mean = np.mean([mean for mean, _ in each], axis=0)
        moments = np.mean([moments for _, moments in each], axis=0)
        ones[own] = rows.reports[own] * (1 + mean) / 2
        terms = weights[:, own] * signal.reach(rows)[own] / np.sqrt(rows.reports[own])
        exact += np.einsum("ti,ij,tj->t", terms, moments - np.outer(mean, mean), terms)
    return exact / signal.variances(with_ones(rows, ones), weights)


def test_the_error_of_a_counter_is_exact() -> None:
    """A share rises in each period; at most one report of a device is a yes."""
    tree = counter(8)
    p, q = float(tree.p), float(tree.q)
    rose = np.array([0.1, 0, 0.3, 0, 0.05, 0.2, 0, 0.1])
    rows = expected_rows(tree, MANY)
    signal = signal_of(tree)
    weights = solve(rows, signal.conductance(rows), tree.periods).weights
    shares = np.array([rose[s:t].sum() for s, t in zip(rows.since, rows.period, strict=True)])
    g = q + shares * (p - q)
    exact = np.zeros(tree.periods)
    for level in range(tree.levels):
        own = rows.level == level
        both = -np.outer(shares[own], shares[own]) * (p - q) ** 2
        np.fill_diagonal(both, g[own] * (1 - g[own]))
        terms = weights[:, own] / (p - q) / np.sqrt(rows.reports[own])
        exact += np.einsum("ti,ij,tj->t", terms, both, terms)
    found = signal.variances(with_ones(rows, rows.reports * g), weights)
    np.testing.assert_allclose(found, exact, rtol=1e-9)


def test_a_combination_has_the_error_of_its_weights() -> None:
    """The difference of neighbours is more certain than two independent ones; sums are linear."""
    made = levels_of(trajectory(16, 2), expected_rows(trajectory(16, 2), 1000))
    one, error = made.combined({9: 1.0})
    assert (one, error) == (
        made.estimates[made.places[9]],
        pytest.approx(made.standard_errors[made.places[9]]),
    )
    step, small = made.combined({10: 1.0, 9: -1.0})
    assert step == pytest.approx(made.estimates[made.places[10]] - one)
    assert small < 0.8 * float(np.hypot(error, made.standard_errors[made.places[10]]))


def test_a_period_that_no_row_leads_to_has_no_estimate() -> None:
    """Without the periods 1, 2, 4 and 8, nothing tells where the answers began.

    The period 4 tells how they were then, and what has become of them since 2.
    """
    tree = trajectory(8, 2)
    cells = {t: [5] * (2 * tree.levels) for t in (3, 5, 6, 7)}
    assert levels_of(tree, rows_of(tree, cells)).places == {}
    places = levels_of(tree, rows_of(tree, {**cells, 4: [5] * 8})).places
    assert list(places) == [2, 3, 4, 5, 6, 7]
    assert levels_of(tree, rows_of(tree, {})).places == {}


def test_one_report_does_not_claim_certainty() -> None:
    tree = trajectory(2, 1, "16")
    made = levels_of(tree, rows_of(tree, {1: [0, 1, 0, 0]}))
    assert made.standard_errors[0] > 0.4
