"""Every decoder against a loop over reports, and every mechanism's estimates from its tallies.

Nothing fails by chance twice: draws are keyed and generators are seeded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg

from deniable.analysis.decode import DECODERS, Supports, decode
from deniable.analysis.estimators import Level, estimate_supports
from deniable.analysis.hadamard import walsh_hadamard
from deniable.protocol.draws import KeyedDraws
from deniable.protocol.mechanisms import MECHANISMS, FrequencyOracle, build, named
from deniable.protocol.mechanisms.base import Rounds
from deniable.protocol.response import Response

Case = tuple[str, str | None, tuple[tuple[str, int], ...]]

CASES: list[Case] = [
    (name, first, ())
    for name, cls in MECHANISMS.items()
    for first in (None, "1")
    if cls.asks == "choice" and issubclass(cls, FrequencyOracle)
    if first is None or cls.two_rounds
]
CASES += [("ss", None, (("weight", 2),)), ("ss", None, (("weight", 3),))]
CASES += [("dbitflip", first, (("bits", d),)) for d in (2, 3, 4) for first in (None, "1")]


def label(case: Case) -> str:
    name, first, options = case
    return "-".join([name, *(["twice"] if first else []), *(f"{o}{n}" for o, n in options)])


each_case = pytest.mark.parametrize("case", CASES, ids=label)


@cache
def made(case: Case, k: int, epsilon: str = "2") -> FrequencyOracle:
    name, first, options = case
    second = None if first is None else Decimal(first)
    mechanism = build(name, k, Decimal(epsilon), second, dict(options))
    assert isinstance(mechanism, FrequencyOracle)
    return mechanism


def report(mechanism: FrequencyOracle, value: int, device: int) -> Response:
    secret = device.to_bytes(32, "big")
    setup = mechanism.assign(KeyedDraws(secret, b"setup"))
    memo = mechanism.memo(setup, mechanism.symbol(value))
    assert memo is not None
    permanent = mechanism.permanent(setup, memo, KeyedDraws(secret, b"permanent", memo))
    return mechanism.instant(permanent, KeyedDraws(secret, b"fresh"))


def folded(mechanism: FrequencyOracle, responses: Sequence[Response]) -> list[int]:
    cells = [0] * mechanism.shape.cells
    for response in responses:
        mechanism.shape.fold(cells, response)
    return cells


def lists(supports: Supports) -> tuple[list[int], list[int]]:
    return list(supports.counts), list(supports.trials)


def test_every_mechanism_has_a_decoder() -> None:
    """Of named symbols: texts are decoded by the names that are asked for."""
    asked = [MECHANISMS[name] for name in (*named("choice"), *named("set"))]
    oracles = {cls for cls in asked if issubclass(cls, FrequencyOracle)}
    assert {cls.decoder for cls in oracles} == DECODERS.keys()


@pytest.mark.parametrize("k", [4, 5, 37])
@each_case
def test_a_decoder_counts_what_the_reports_support(case: Case, k: int) -> None:
    mechanism = made(case, k)
    responses = [report(mechanism, device % k, device) for device in range(300)]
    counts, trials = lists(decode(mechanism, folded(mechanism, responses)))
    assert counts == [sum(mechanism.supports(v, y) for y in responses) for v in range(k)]
    assert trials == [sum(mechanism.covers(v, y) for y in responses) for v in range(k)]


def naive(mechanism: FrequencyOracle, cells: Sequence[int]) -> tuple[list[int], list[int]]:
    """Cell by cell: a symbol's cell holds its reports; a bit's, those of its row that set it."""
    shape = mechanism.shape
    stride = shape.cells // shape.rows
    counts, trials = [0] * mechanism.k, [0] * mechanism.k
    for at, count in enumerate(cells):
        row, column = divmod(at, stride)
        for value in range(mechanism.k):
            if shape.kind == "symbol":
                counts[value] += count * mechanism.supports(value, Response(column, row))
                trials[value] += count * mechanism.covers(value, Response(column, row))
            elif column < shape.width:
                counts[value] += count * mechanism.supports(value, Response(1 << column, row))
            else:
                trials[value] += count * mechanism.covers(value, Response(0, row))
    return counts, trials


@pytest.mark.parametrize("k", [4, 5, 37])
@each_case
def test_counts_of_any_size_are_exact(case: Case, k: int) -> None:
    """A trillion in a cell, and odd ones, which no float of 53 bits would add up."""
    mechanism = made(case, k)
    generator = np.random.default_rng(k)
    for high in (3, 10**12):
        cells = generator.integers(0, high, mechanism.shape.cells, endpoint=True).tolist()
        found = lists(decode(mechanism, cells))
        assert found == naive(mechanism, cells)
        assert all(isinstance(count, int | np.int64) for count in (*found[0], *found[1]))


@each_case
def test_an_empty_tally_supports_nothing(case: Case) -> None:
    mechanism = made(case, 5)
    assert lists(decode(mechanism, [0] * mechanism.shape.cells)) == ([0] * 5, [0] * 5)


@pytest.mark.parametrize("size", [1, 2, 4, 64, 256])
def test_the_fast_transform_multiplies_by_the_matrix(size: int) -> None:
    column = np.random.default_rng(size).integers(-(10**12), 10**12, size)
    kept = column.copy()
    expected = scipy.linalg.hadamard(size, dtype=np.int64) @ column
    assert walsh_hadamard(column).tolist() == expected.tolist()
    assert column.tolist() == kept.tolist()


def test_the_largest_domain_is_decoded_exactly() -> None:
    """Rows of 8192 columns by hand."""
    mechanism = made(("hr", None, ()), 4096)
    cells = np.random.default_rng(1).integers(0, 10**12, mechanism.shape.cells)
    supports = decode(mechanism, cells.tolist())
    columns = np.arange(mechanism.shape.cells)
    for value in (0, 1, 2, 1000, 4094, 4095):
        parity = np.zeros_like(columns)
        for bit in range(13):
            parity ^= ((value + 1) & columns) >> bit & 1
        assert supports.counts[value] == cells[parity == 0].sum()
        assert supports.trials[value] == cells.sum()


# Estimates from tallies that follow the exact law of the mechanism.

K = 4
N = 2000
POPULATIONS = [[N, 0, 0, 0], [0, N, 0, 0], [0, 0, N, 0], [0, 0, 0, N], [1000, 600, 400, 0]]


@cache
def outputs(mechanism: FrequencyOracle, value: int) -> tuple[list[Response], list[float]]:
    """All responses to a value with their probabilities, over all rows."""
    rounds: Rounds = 1 if mechanism.epsilon_first is None else 2
    rows = mechanism.shape.rows
    law: dict[Response, float] = {}
    for row in range(rows):
        memo = mechanism.memo(row, value) or b""
        for y, mass in mechanism.law(row, memo, rounds).items():
            law[y] = law.get(y, 0.0) + float(mass) / rows
    return list(law), list(law.values())


def tallies(
    mechanism: FrequencyOracle, population: Sequence[int], times: int
) -> npt.NDArray[np.int64]:
    """Independent tallies of one population, one in each row."""
    generator = np.random.default_rng(sum(population[1:]) + times)
    cells = np.zeros((times, mechanism.shape.cells), dtype=np.int64)
    for value, people in enumerate(population):
        responses, chances = outputs(mechanism, value)
        drawn = generator.multinomial(people, np.array(chances) / sum(chances), size=times)
        layout = np.array([folded(mechanism, [y]) for y in responses])
        cells += drawn @ layout
    return cells


def errors(mechanism: FrequencyOracle, population: Sequence[int], times: int) -> list[list[float]]:
    """What the estimates of the K frequencies are off by, in each of many tallies."""
    level = Level(0.05)
    found = []
    for cells in tallies(mechanism, population, times):
        raw = estimate_supports(mechanism, decode(mechanism, cells.tolist()), level)
        found.append([raw[v].frequency - population[v] / N for v in range(K)])
    return found


@pytest.mark.parametrize("population", POPULATIONS, ids=lambda each: "-".join(map(str, each)))
@each_case
def test_estimates_are_unbiased_and_vary_as_stated(case: Case, population: list[int]) -> None:
    """400 tallies of 2000 devices: for each true value alone, and for a mixed population.

    The mean of 400 errors is normal, so |z| < 4.5; the mean square is within
    7 sqrt(2/400) = 0.495 of the variance in proportion, with odds of failure below 1e-11.
    """
    mechanism = made(case, K)
    found = np.array(errors(mechanism, population, 400))
    for value in range(K):
        variance = mechanism.variance(population[value] / N) / N
        z = found[:, value].mean() / math.sqrt(variance / 400)
        assert abs(z) < 4.5
        assert abs(np.mean(found[:, value] ** 2) / variance - 1) < 0.495


@pytest.mark.parametrize("name", ["hr", "dbitflip"])
def test_a_decoder_that_is_off_by_one_would_be_seen(name: str) -> None:
    """Taking each value for its neighbour leaves no estimate within the bounds above."""
    mechanism = made((name, None, ()), K)
    level, population = Level(0.05), [1000, 600, 400, 0]
    found = []
    for cells in tallies(mechanism, population, 400):
        supports = decode(mechanism, cells.tolist())
        wrong = Supports(
            [*supports.counts[1:], supports.counts[0]], [*supports.trials[1:], supports.trials[0]]
        )
        raw = estimate_supports(mechanism, wrong, level)
        found.append([raw[v].frequency - population[v] / N for v in range(K)])
    biases = np.array(found).mean(axis=0)
    for value in range(K):
        error = math.sqrt(mechanism.variance(population[value] / N) / N / 400)
        assert abs(biases[value]) > 4.5 * error
