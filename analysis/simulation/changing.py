"""The tallies of devices whose answers change, under one epsilon for all of their periods.

The joint distribution over all periods is that of real devices: one level and one set of bits
drawn in advance for each, coins that compare 64 random bits with the mechanism's thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import comb
from typing import TYPE_CHECKING

from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import SCALE
from deniable.protocol.mechanisms.counter import Counter
from deniable.protocol.mechanisms.dyadic import Dyadic
from deniable.protocol.mechanisms.trajectory import Future, Trajectory

from .coins import toss

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Bits = NDArray[np.int8]

UNRECORDED = -1
"""In place of a symbol: nothing was recorded in that period."""

_HALF = SCALE // 2


def draw_changing(
    mechanism: Dyadic, answers: NDArray[np.integer], rng: np.random.Generator
) -> Integers:
    """Return the tallies of all periods of devices whose answers may change.

    Parameters
    ----------
    mechanism : Dyadic
    answers : array of int, shape (devices, periods)
        What each device records in each period, a symbol, or :data:`UNRECORDED`: then it goes on
        with the answer before, and keeps silent before the first.
    rng : Generator

    Returns
    -------
    array of int, shape (periods, cells)
        As the mechanism's shape lays cells out.

    Raises
    ------
    ParameterError
        If there are not as many periods as the mechanism has, or a symbol is out of range.
    """
    import numpy as np

    if answers.ndim != 2 or answers.shape[1] != mechanism.periods:
        raise ParameterError(
            f"answers must have a column for each of the {mechanism.periods} periods: "
            f"{answers.shape}"
        )
    if answers.size and (answers.min() < UNRECORDED or answers.max() >= mechanism.k):
        raise ParameterError(f"answers must be in 0..{mechanism.k - 1}, or {UNRECORDED}")
    tallies = np.zeros((mechanism.periods, mechanism.shape.cells), dtype=np.int64)
    levels = rng.integers(0, mechanism.levels, len(answers))
    for level in range(mechanism.levels):
        own = answers[levels == level]
        for t, outs in _reports(mechanism, level, own, rng):
            tallies[t - 1, 2 * level : 2 * level + 2] = np.bincount(outs, minlength=2)
    return tallies


def _reports(
    mechanism: Dyadic, level: int, answers: NDArray[np.integer], rng: np.random.Generator
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Yield the reports of the devices of one level in each of its periods."""
    import numpy as np

    said = _said(mechanism, level, len(answers), rng)
    bits = _bits_of(mechanism, answers, rng)
    base = latest = np.full(len(answers), UNRECORDED, dtype=np.int8)
    for node in range(1, mechanism.nodes(level) + 1):
        end = node << level
        for column in range(end - (1 << level), end):
            latest = np.where(answers[:, column] < 0, latest, bits(column, latest))
        speaks = latest >= 0 if node == 1 else base >= 0
        yield end, said(base, latest, speaks)[speaks]
        base = latest


def _bits_of(
    mechanism: Dyadic, answers: NDArray[np.integer], rng: np.random.Generator
) -> Callable[[int, Bits], Bits]:
    """Return what makes bits of what is recorded in a period; those of a counter never fall."""
    import numpy as np

    if not isinstance(mechanism, Counter):
        return lambda column, latest: answers[:, column].astype(np.int8)
    points = rng.integers(0, mechanism.k - 1, len(answers))
    return lambda column, latest: np.maximum(answers[:, column] > points, latest).astype(np.int8)


def _said(
    mechanism: Dyadic, level: int, devices: int, rng: np.random.Generator
) -> Callable[[Bits, Bits, NDArray[np.bool_]], NDArray[np.bool_]]:
    """Return what draws the reports from base, latest, and who has something to compare.

    It is to be called for one period after the other.
    """
    import numpy as np

    used = np.zeros(devices, dtype=np.int64)
    if isinstance(mechanism, Counter):
        other = mechanism.other_bit

        def rose(base: Bits, latest: Bits, speaks: NDArray[np.bool_]) -> NDArray[np.bool_]:
            first = speaks & (latest > np.maximum(base, 0)) & (used == 0)
            used[first] += 1
            return np.where(first, toss(rng, _HALF, devices), toss(rng, other, devices))

        return rose
    if not isinstance(mechanism, Trajectory):
        raise ParameterError(f"{mechanism.name} cannot be simulated")
    future = _drawn(mechanism.futures[level], devices, rng)

    def changed(base: Bits, latest: Bits, speaks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        tells = speaks & (latest != base) & (used < future.shape[1])
        turned = future[np.arange(devices), np.minimum(used, future.shape[1] - 1)]
        used[tells] += 1
        return np.where(tells, (latest == 1) ^ turned, toss(rng, _HALF, devices))

    return changed


def _drawn(future: Future, devices: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw the bits of each device in advance, shape (devices, bits)."""
    import numpy as np

    few = toss(rng, future.few, devices)
    ways = np.array([comb(future.bits, ones) for ones in range(future.bits + 1)])
    split = future.turned + 1
    ones = np.empty(devices, dtype=np.int64)
    for kind, start, end in ((True, 0, split), (False, split, future.bits + 1)):
        ends = np.cumsum(ways[start:end])
        own = few == kind
        drawn = rng.integers(0, ends[-1], int(own.sum()))
        ones[own] = start + np.searchsorted(ends, drawn, side="right")
    every: NDArray[np.bool_] = np.arange(future.bits) < ones[:, np.newaxis]
    return rng.permuted(every, axis=1)


def draw_unchanging(
    mechanism: Dyadic, population: Integers, rng: np.random.Generator, periods: int
) -> list[Integers]:
    """Return the tallies of the first ``periods`` periods of devices whose answers do not change.

    The first report of each is about its answer, all others say nothing: any number of devices
    takes the same time.

    Parameters
    ----------
    mechanism : Dyadic
    population : array of int, shape (k,)
        How many devices have each symbol.
    rng : Generator
    periods : int
        At most as many as the mechanism has.
    """
    import numpy as np

    if not isinstance(mechanism, Counter | Trajectory):
        raise ParameterError(f"{mechanism.name} cannot be simulated")
    yes, no = _bits(mechanism, population, rng)
    tallies = [np.zeros(mechanism.shape.cells, dtype=np.int64) for _ in range(periods)]
    shares = np.full(mechanism.levels, 1 / mechanism.levels)
    at_level = zip(rng.multinomial(yes, shares), rng.multinomial(no, shares), strict=True)
    for level, (up, down) in enumerate(at_level):
        one, other, silent = _odds(mechanism, level)
        for t in range(1 << level, periods + 1, 1 << level):
            if t == 1 << level:
                ones = rng.binomial(up, one) + rng.binomial(down, other)
            else:
                ones = rng.binomial(up + down, silent)
            tallies[t - 1][2 * level : 2 * level + 2] = up + down - ones, ones
    return tallies


def _bits(
    mechanism: Counter | Trajectory, population: Integers, rng: np.random.Generator
) -> tuple[int, int]:
    """Return how many devices say yes and no, their numbers rounded at their points."""
    import numpy as np

    share = np.arange(mechanism.k) / (mechanism.k - 1)
    yes = int(rng.binomial(population, share).sum())
    return yes, int(population.sum()) - yes


def _odds(mechanism: Counter | Trajectory, level: int) -> tuple[float, float, float]:
    """Return P(a report is 1): the first, of a yes and of a no, and each that says nothing."""
    if isinstance(mechanism, Counter):
        q = float(mechanism.q)
        return float(mechanism.p), q, q
    half = float(mechanism.gap(level) / 2)
    return 0.5 + half, 0.5 - half, 0.5
