"""What memoization with a second round promises about a trajectory: exactly, and at its best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise, product

import pytest

from deniable.analysis.changing.comparison import asked_epsilon
from deniable.analysis.changing.memoized import Memoized, best_memoized, trajectory_epsilon
from deniable.protocol.mechanisms import build


def likelihood(reports: Sequence[int], answers: Sequence[int], right: float, keep: float) -> float:
    """P(reports | answers): a permanent bit for each answer, kept with ``keep`` in each period."""
    total = 1.0
    for value in (0, 1):
        seen = [y for y, x in zip(reports, answers, strict=True) if x == value]
        total *= sum(
            (right if bit == value else 1 - right)
            * math.prod(keep if y == bit else 1 - keep for y in seen)
            for bit in (0, 1)
        )
    return total


@pytest.mark.parametrize("periods", [2, 3, 5])
@pytest.mark.parametrize(("permanent", "ratio"), [(2.0, 1.4), (0.3, 2.0), (3.0, 0.2)])
@pytest.mark.parametrize("changes", [1, 2, None])
def test_it_is_the_largest_over_all_trajectories_and_reports(
    periods: int, permanent: float, ratio: float, changes: int | None
) -> None:
    """Whether the answer changes once, twice, or only from no to yes."""
    right, keep = (1 / (1 + math.exp(-epsilon)) for epsilon in (permanent, ratio))
    every = [
        answers
        for answers in product((0, 1), repeat=periods)
        if (list(answers) == sorted(answers))
        or (changes is not None and sum(a != b for a, b in pairwise(answers)) <= changes)
    ]
    largest = 0.0
    for reports in product((0, 1), repeat=periods):
        found = [likelihood(reports, answers, right, keep) for answers in every]
        largest = max(largest, math.log(max(found) / min(found)))
    rising = changes is None
    assert trajectory_epsilon(permanent, ratio, periods, rising=rising) == pytest.approx(largest)


@pytest.mark.parametrize("rising", [False, True])
@pytest.mark.parametrize(("epsilon", "periods"), [(1.0, 4), (2.0, 30), (4.0, 100)])
def test_the_best_settings_keep_the_promise_and_none_is_better(
    epsilon: float, periods: int, rising: bool
) -> None:
    best = best_memoized(epsilon, periods, rising=rising)
    ratio = 2 * math.atanh(best.gap / math.tanh(best.permanent / 2))
    spent = trajectory_epsilon(best.permanent, ratio, periods, rising=rising)
    assert spent == pytest.approx(epsilon, rel=1e-6)
    report = 2 * math.atanh(best.gap)
    assert best.first == pytest.approx(report)
    for permanent in (0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 6, 9):
        low, high = 0.0, 60.0
        for _ in range(60):
            middle = (low + high) / 2
            over = trajectory_epsilon(permanent, middle, periods, rising=rising) > epsilon
            low, high = (low, middle) if over else (middle, high)
        assert math.tanh(permanent / 2) * math.tanh(low / 2) <= best.gap * 1.001


def test_settings_are_those_of_a_question() -> None:
    """As ``epsilon`` and ``epsilon_first`` of a yes/no they cost what they are said to cost."""
    best = best_memoized(2.0, 30)
    assert isinstance(best, Memoized)
    made = build("grr", 2, _decimal(best.permanent), _decimal(best.first))
    assert asked_epsilon(made, 30, 2) == pytest.approx(2, rel=1e-4)
    assert asked_epsilon(build("grr", 2, _decimal(2.0)), 30, 2) is None


def _decimal(number: float) -> Decimal:
    return Decimal(f"{number:.6f}")
