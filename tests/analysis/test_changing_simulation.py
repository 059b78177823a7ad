"""Simulated devices whose answers change report as real ones do, over all periods together."""

from __future__ import annotations

import hashlib
from collections import Counter as Tallied

import numpy as np
import pytest
from changing_kit import counter, flipping, joint, said, tallies_of, trajectory
from scipy.stats import binom

from deniable.analysis.changing.levels import levels_of
from deniable.analysis.changing.rows import rows_of
from deniable.analysis.simulation import draw_changing, draw_tallies
from deniable.analysis.simulation.changing import UNRECORDED, _reports
from deniable.protocol.derivation import next_response
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms.dyadic import Dyadic, Memory

SIGMAS = 6.5
"""Of a normal number, missed once in 10^10."""


@pytest.mark.parametrize(
    ("changes", "answers"),
    [(1, [0, 0, 1, 1]), (2, [1, 0, 0, 1]), (2, [1, 0, 1, 0]), (3, [0, 1, 0, 1])],
)
def test_all_reports_of_a_device_have_the_exact_joint_law(changes: int, answers: list[int]) -> None:
    """Changes beyond the most that are reported: a coin, as on the device."""
    tree, devices, rng = trajectory(4, changes), 40_000, np.random.default_rng(1)
    for level in range(tree.levels):
        given = np.tile(np.array(answers, dtype=np.int8), (devices, 1))
        outs = np.array([out for _, out in _reports(tree, level, given, rng)]).T
        drawn = Tallied(map(tuple, (2 * outs.astype(int) - 1).tolist()))
        says = said(tree, level, answers)
        told = [i for i, one in enumerate(says) if one][: tree.futures[level].bits]
        law: Tallied[tuple[int, ...]] = Tallied()
        heard = [one if i in told else 0 for i, one in enumerate(says)]
        for out, mass in joint(tree, level, heard):
            law[out] += mass
        assert sum(law.values()) == pytest.approx(1)
        for out, mass in law.items():
            spread = np.sqrt(devices * mass * (1 - mass))
            assert abs(drawn[out] - devices * mass) <= SIGMAS * spread + 1


@pytest.mark.parametrize("name", ["dark", "launches"])
def test_simulated_devices_are_like_real_ones(name: str) -> None:
    """Devices that join late, have periods without a record, and numbers that fall for a while."""
    rng = np.random.default_rng(2)
    (tally, *_) = tallies_of(name, np.zeros((16, 10), dtype=np.int64))
    question, devices = tally.question, 1500
    tree = question.mechanism
    assert isinstance(tree, Dyadic)
    answers = rng.integers(0, tree.k, (devices, 16))
    answers[rng.random(answers.shape) < 0.4] = UNRECORDED
    real = np.zeros((16, tree.shape.cells), dtype=np.int64)
    for number, given in enumerate(answers.tolist()):
        secret, memory = hashlib.sha256(b"%d" % number).digest(), None
        for t, symbol in enumerate(given, 1):
            recorded = None if symbol == UNRECORDED else symbol
            response, memory = next_response(secret, question, memory, recorded, t)
            if response is not None:
                real[t - 1, 2 * response.row + response.out] += 1
    many = 40
    drawn = draw_changing(tree, np.tile(answers, (many, 1)), rng) / many
    # A cell is a sum of independent 0s and 1s: its variance is at most its mean.
    spread = np.sqrt((real + 1) * (1 + 1 / many))
    assert (abs(real - drawn) <= SIGMAS * spread + 2).all()
    assert ((real == 0) == (drawn == 0)).all()


@pytest.mark.parametrize(
    "tree", [trajectory(16, 2, "16"), counter(16, 2, "16")], ids=Dyadic.described
)
def test_reports_follow_the_device_step_by_step(tree: Dyadic) -> None:
    """With hardly any noise (one report in a million), so that what is said can be read.

    Devices that join late keep silent until there is something to compare with; a yes/no that
    says something says the truth, and a rounded bit that did not rise says 0. What is left is
    coins.
    """
    rng = np.random.default_rng(8)
    answers = rng.integers(0, 2, (400, 16))
    answers[rng.random(answers.shape) < 0.7] = UNRECORDED
    coins: list[bool] = []
    for level in range(tree.levels):
        memories: list[Memory | None] = [None] * len(answers)
        drawn = dict(_reports(tree, level, answers, rng))
        for t in range(1, 17):
            outs = iter(drawn.get(t, np.zeros(0, dtype=bool)).tolist())
            for device, symbol in enumerate(answers[:, t - 1].tolist()):
                recorded = None if symbol == UNRECORDED else symbol
                key, memories[device] = tree.step(level, memories[device], recorded, t)
                if key is None:
                    continue
                sure = {b"+": True, b"-": False, b"0": False}.get(key.partition(b" ")[2])
                out = next(outs)
                if sure is None:
                    coins.append(out)
                else:
                    assert out == sure
            assert list(outs) == []
    assert len(coins) > 300
    assert abs(sum(coins) - len(coins) / 2) < SIGMAS * np.sqrt(len(coins)) / 2


@pytest.mark.parametrize("tree", [trajectory(16, 2), counter(16)], ids=Dyadic.described)
def test_answers_that_stay_are_drawn_by_the_number(tree: Dyadic) -> None:
    """As one by one, but for any number of devices."""
    rng = np.random.default_rng(3)
    population = np.zeros(tree.k, dtype=np.int64)
    population[[0, tree.k - 1]] = 30_000, 10_000
    answers = np.repeat([0, tree.k - 1], population[[0, -1]])[:, np.newaxis]
    one_by_one = draw_changing(tree, np.tile(answers, (1, 16)), rng)
    at_once = np.array(draw_tallies(tree, population, rng, 16))
    assert (abs(one_by_one - at_once) <= SIGMAS * np.sqrt(2 * (at_once + 1)) + 2).all()
    assert sum(draw_tallies(tree, population * 10**7, rng, 1)[0]) > 10**10


def test_errors_are_as_large_as_they_are_said_to_be() -> None:
    """Over 100 runs, the mean of (error / standard error)^2 over runs and periods.

    It is at most 1, and of the counter exactly 1; its own standard deviation is at most
    sqrt(2/100), if all periods of a run had the same error.
    """
    runs, periods, devices = 100, 16, 1000
    slack = SIGMAS * np.sqrt(2 / runs)
    rng = np.random.default_rng(4)
    for tree, least in ((trajectory(periods, 2), 0.5), (counter(periods), 1.0)):
        ratios = np.zeros(periods)
        for _ in range(runs):
            if tree.k == 2:
                answers = flipping(devices, periods, 2, rng)
                truth = _share(periods)
            else:
                answers = np.sort(rng.integers(0, tree.k, (devices, periods), dtype=np.int8))
                truth = _ranked(tree.k, periods)
            tallies = dict(enumerate(draw_changing(tree, answers, rng).tolist(), 1))
            made = levels_of(tree, rows_of(tree, tallies))
            ratios += ((made.estimates - truth) / made.standard_errors) ** 2 / runs
        assert least - slack < ratios.mean() < 1 + slack
        assert ratios.mean() > 0.5


def _share(periods: int) -> np.ndarray:
    """The expected share of yes of :func:`changing_kit.flipping`, with two changes."""
    come = np.arange(periods) / (periods + periods // 4)
    odd = 2 * come * (1 - come)
    return 0.3 * (1 - odd) + 0.7 * odd


def _ranked(k: int, periods: int) -> np.ndarray:
    """The expected place of the i-th smallest of so many uniform symbols."""
    above = np.arange(1, k)
    chances = [binom.sf(periods - i, periods, 1 - above / k) for i in range(1, periods + 1)]
    return np.array(chances).sum(axis=1) / (k - 1)


def test_answers_that_do_not_fit_are_one_line() -> None:
    rng = np.random.default_rng(5)
    for shape, value in (((3, 4), 0), ((3, 16), 2), ((3, 16), -2)):
        with pytest.raises(ParameterError, match="answers must"):
            draw_changing(trajectory(16, 2), np.full(shape, value), rng)
    assert not draw_changing(trajectory(16, 2), np.zeros((0, 16), dtype=np.int8), rng).any()
