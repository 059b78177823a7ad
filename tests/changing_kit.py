"""What the tests of answers that change have in common."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise, product
from typing import Any

import numpy as np

from deniable.analysis.changing.rows import Rows
from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.counter import Counter
from deniable.protocol.mechanisms.dyadic import Dyadic
from deniable.protocol.mechanisms.trajectory import Trajectory
from deniable.protocol.periods import midnight, period_at
from deniable.protocol.survey import parse_survey
from deniable.protocol.tally import Tally

SURVEY = """
[survey]
format = 1
id = "acme"
max_epsilon = 16
linkable = true
segments = ["stable", "beta"]

[questions.dark]
version = 1
ask = "Is the dark theme on?"
type = "boolean"
horizon = { start = 2026-11-30, periods = 16, changes = 2 }
epsilon = 2.0
period = "day"
min_crowd = 1
owner = "ux@acme.example"
expires = 2027-06-30

[questions.launches]
version = 1
ask = "How many launches so far?"
type = "number"
range = { low = 10, high = 50, steps = 20 }
horizon = { start = 2026-11-30, periods = 16 }
epsilon = 2.0
period = "day"
min_crowd = 1
owner = "ux@acme.example"
expires = 2027-06-30
"""


def trajectory(periods: int, changes: int, epsilon: str = "2") -> Trajectory:
    """The mechanism of a yes/no."""
    options = {"periods": periods, "changes": changes}
    made = build("trajectory", 2, Decimal(epsilon), options=options)
    assert isinstance(made, Trajectory)
    return made


def counter(periods: int, k: int = 21, epsilon: str = "2") -> Counter:
    """The mechanism of a number."""
    made = build("counter", k, Decimal(epsilon), options={"periods": periods})
    assert isinstance(made, Counter)
    return made


def tallies_of(
    name: str, cells: Any, *, missing: Iterable[int] = (), segment: str | None = None
) -> Iterator[Tally]:
    """The released tallies of a question of :data:`SURVEY`, from the cells of all its periods."""
    question = parse_survey(tomllib.loads(SURVEY, parse_float=Decimal)).questions[name]
    assert question.horizon is not None
    period = period_at(question.period, midnight(question.horizon.start))
    for t, own in enumerate(cells.tolist(), 1):
        if t not in missing:
            yield Tally(question, period.key, segment, sum(own), tuple(own))
        period = period.next()


def flipping(devices: int, periods: int, changes: int, rng: np.random.Generator) -> Any:
    """Yes/no answers of which some change, at most so many times."""
    found = np.zeros((devices, periods), dtype=np.int8)
    found[:] = (rng.random(devices) < 0.3)[:, np.newaxis]
    for _ in range(changes):
        at = rng.integers(1, periods + periods // 4 + 1, devices)
        found ^= np.arange(periods) >= at[:, np.newaxis]
    return found


def said(mechanism: Dyadic, level: int, answers: Sequence[int]) -> list[int]:
    """What a device of a level says in each of its reports: +1, -1 or 0 for nothing."""
    ends = [answers[t - 1] for t in range(1 << level, mechanism.periods + 1, 1 << level)]
    return [2 * ends[0] - 1] + [b - a for a, b in pairwise(ends)]


def joint(
    mechanism: Trajectory, level: int, says: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield what a device that says so may report, +1 or -1 each time, and how likely that is."""
    future = mechanism.futures[level]
    masses = [float(future.mass(ones)) for ones in range(future.bits + 1)]
    silent = says.count(0)
    for vector in product((0, 1), repeat=future.bits):
        mass = masses[sum(vector)] / 2**silent
        for coins in product((-1, 1), repeat=silent):
            used, toss = iter(vector), iter(coins)
            yield tuple(next(toss) if not s else s - 2 * s * next(used) for s in says), mass


def with_ones(rows: Rows, ones: Any) -> Rows:
    """The same rows with other counts of ones."""
    return replace(rows, ones=ones)
