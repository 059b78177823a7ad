"""Simulated tallies against exact distributions, and against what real clients draw.

Everything follows from fixed seeds and secrets, so nothing fails by chance twice; the tolerances
hold for any, with odds of failure below 1e-9 for the whole module.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from conformance import memo, setups

from deniable.analysis.simulation import Reports, crowds, draw_reports, draw_tallies, fold
from deniable.analysis.simulation.coins import toss
from deniable.analysis.simulation.olh import SimulatedOLH
from deniable.analysis.simulation.registry import SIMULATORS
from deniable.analysis.simulation.reports import Counted
from deniable.protocol.draws import FreshDraws, KeyedDraws
from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import SCALE
from deniable.protocol.mechanisms import MECHANISMS, Mechanism, build, named
from deniable.protocol.mechanisms.olh import OLH
from deniable.protocol.proofs.branches import outcomes
from deniable.protocol.response import Response

Setting = tuple[str, str | None, tuple[tuple[str, int], ...]]

SMALL: dict[str, tuple[tuple[str, int], ...]] = {
    "rappor": (("bits", 5), ("hashes", 2), ("cohorts", 2)),
    "dbitflip": (("bits", 2),),
    "ss": (("weight", 2),),
    "olh": (("g", 2),),
}
K = 5
SIGMAS = 7.5
"""Two-sided odds of 6e-14 for a normal error; over at most 1000 cells below 1e-10."""

SETTINGS: list[Setting] = [
    (name, first, SMALL.get(name, ()))
    for name, cls in MECHANISMS.items()
    for first in (None, "1")
    if cls.asks in ("choice", "number") and (first is None or cls.two_rounds)
]


def label(setting: Setting) -> str:
    return "-".join(filter(None, setting[:2]))


@cache
def make(setting: Setting, k: int = K) -> Mechanism:
    name, first, options = setting
    return build(name, k, Decimal(2), None if first is None else Decimal(first), dict(options))


def folded(mechanism: Mechanism, response: Response) -> list[int]:
    """The tally of one response, as collectors count it."""
    cells = [0] * mechanism.shape.cells
    mechanism.shape.fold(cells, response)
    return cells


@cache
def moments(setting: Setting) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each symbol: what one device adds to the cells, the mean and two covariances.

    The second is within one period, the third between two: that of the means given what is
    remembered.
    """
    mechanism = make(setting)
    again = cache(lambda y: outcomes(partial(mechanism.instant, y)))
    means, within, between = [], [], []
    for value in range(mechanism.k):
        mean, square, shared = 0.0, 0.0, 0.0
        for setup, weight in setups(mechanism).items():
            for permanent, mass in mechanism.law(setup, memo(mechanism, setup, value), 1).items():
                odds = float(weight * mass)
                given = [
                    (float(chance), np.array(folded(mechanism, report), dtype=float))
                    for report, chance in again(permanent).items()
                ]
                expected = sum(chance * cells for chance, cells in given)
                mean = mean + odds * expected
                shared = shared + odds * np.outer(expected, expected)
                square = square + odds * sum(c * np.outer(x, x) for c, x in given)
        means.append(mean)
        within.append(square - np.outer(mean, mean))
        between.append(shared - np.outer(mean, mean))
    return np.array(means), np.array(within), np.array(between)


def near(found: np.ndarray, expected: np.ndarray, deviation: np.ndarray) -> None:
    """Within the tolerance, plus one: counts are whole, and some cells never vary."""
    assert np.all(np.abs(found - expected) <= SIGMAS * deviation + 1)


def test_every_mechanism_can_be_simulated() -> None:
    """But for those of whole histories, which are simulated as such."""
    changing = {name for asks in ("trajectory", "counter") for name in named(asks)}
    assert set(SIMULATORS) == set(MECHANISMS) - changing


@pytest.mark.parametrize("share", ["0", "1", "1/256", "1/2", "0.26894142136999512", "1/7"])
def test_coins_are_exact(share: str) -> None:
    """Also where the first eight bits say nothing: a threshold of a multiple of 2^-8."""
    threshold = int(Fraction(share) * SCALE)
    n = 1 << 22
    coins = toss(np.random.default_rng(5), threshold, n)
    p = threshold / SCALE
    near(coins.sum(), n * p, math.sqrt(n * p * (1 - p)))
    pairs = (coins[1:] & coins[:-1]).sum()
    near(pairs, n * p * p, math.sqrt(2 * n * p * p))


@pytest.mark.parametrize("threshold", [1 << 55, (1 << 56) + (1 << 55)])
def test_coins_read_the_bits_behind_the_first_eight(threshold: int) -> None:
    n = 1 << 22
    p = threshold / SCALE
    found = toss(np.random.default_rng(6), threshold, n).sum()
    near(found, n * p, math.sqrt(n * p * (1 - p)))
    assert abs(found - n * (threshold >> 56) / 256) > 50 * math.sqrt(n * p)


@pytest.mark.parametrize("by_report", [False, True], ids=["tallies", "reports"])
@pytest.mark.parametrize("setting", SETTINGS, ids=label)
def test_tallies_have_the_exact_means(setting: Setting, by_report: bool) -> None:
    """Of millions of devices, and report by report: every cell is where the law says."""
    mechanism = make(setting)
    rng = np.random.default_rng(7)
    slow = not issubclass(SIMULATORS[mechanism.name], Counted)
    scale = 50_000 if by_report or slow else 1_000_000
    population = scale * np.array([3, 2, 0, 1, 1])
    if by_report:
        symbols = rng.permutation(np.repeat(np.arange(K), population))
        cells = fold(mechanism, draw_reports(mechanism, symbols, rng))
    else:
        (cells,) = draw_tallies(mechanism, population, rng)
    means, within, _ = moments(setting)
    deviation = np.sqrt(np.maximum(np.einsum("v,vcc->c", population, within), 0))
    near(cells, population @ means, deviation)
    assert mechanism.shape.reports(cells.tolist()) == population.sum()


@pytest.mark.parametrize("setting", SETTINGS, ids=label)
def test_tallies_of_several_periods_vary_together_as_they_must(setting: Setting) -> None:
    """3000 crowds of forty: covariances within a period and between two, against enumeration.

    A sample covariance of R pairs has the standard error sqrt((v w + c^2)/R) for normal pairs;
    forty devices leave an excess of at most 1/10, which the tolerance has room for.
    """
    mechanism = make(setting)
    rng = np.random.default_rng(8)
    population = np.array([15, 10, 0, 10, 5])
    runs = 3000
    drawn = np.array([draw_tallies(mechanism, population, rng, 2) for _ in range(runs)])
    means, within, between = moments(setting)
    first, second = drawn[:, 0] - population @ means, drawn[:, 1] - population @ means
    inside = np.einsum("v,vcd->cd", population, within)
    across = np.einsum("v,vcd->cd", population, between)
    variances = np.diag(inside)
    for found, expected in (
        (first.T @ first / runs, inside),
        (second.T @ second / runs, inside),
        (first.T @ second / runs, across),
    ):
        error = np.sqrt((np.outer(variances, variances) + expected**2) / runs)
        assert np.all(np.abs(found - expected) <= SIGMAS * 1.1 * error + 1e-9)
    if mechanism.epsilon_first is None:
        assert np.array_equal(drawn[:, 0], drawn[:, 1])


def clients(mechanism: Mechanism, population: np.ndarray) -> Iterator[Response]:
    """One report of each of so many real devices, each with a secret of its own."""
    device = 0
    for value, people in enumerate(population.tolist()):
        for _ in range(people):
            secret = device.to_bytes(32, "big")
            setup = mechanism.assign(KeyedDraws(secret, b"setup"))
            key = memo(mechanism, setup, value)
            keyed = KeyedDraws(secret, b"permanent", str(setup).encode(), key)
            yield mechanism.instant(mechanism.permanent(setup, key, keyed), FreshDraws())
            device += 1


@pytest.mark.parametrize("setting", SETTINGS, ids=label)
def test_tallies_are_those_of_real_clients(setting: Setting) -> None:
    """4000 real devices against 400 000 simulated ones: each cell within its error.

    The second round of real clients is fresh, so this alone is not the same twice; the odds of
    failure are those of the tolerance, for normal errors of cells that expect 100 reports or so.
    """
    mechanism = make(setting)
    population = np.array([1500, 1000, 0, 1000, 500])
    real = np.zeros(mechanism.shape.cells, dtype=np.int64)
    for response in clients(mechanism, population):
        real += folded(mechanism, mechanism.shape.unpack(mechanism.shape.pack(response)))
    (drawn,) = draw_tallies(mechanism, population * 100, np.random.default_rng(9))
    expected = drawn / 100
    deviation = np.sqrt(1.01 * np.maximum(expected * (1 - expected / population.sum()), 1))
    near(real, expected, deviation)


@pytest.mark.parametrize("name", ["olh", "hr", "rappor", "piecewise", "ss", "dbitflip"])
def test_larger_domains_hash_as_the_client_does(name: str) -> None:
    """One symbol of 50, alone: by tally and by report, and all that some clients send occurs."""
    mechanism = build(name, 50, Decimal(4))
    rng = np.random.default_rng(10)
    for symbol in (0, 17, 49):
        reports = draw_reports(mechanism, np.full(20_000, symbol), rng)
        (tally,) = draw_tallies(mechanism, 200_000 * (np.arange(50) == symbol), rng)
        found = fold(mechanism, reports)
        expected = tally / 10
        deviation = np.sqrt(1.1 * np.maximum(expected * (1 - expected / 20_000), 1))
        near(found, expected, deviation)
        likely = np.zeros(mechanism.shape.cells, dtype=bool)
        for device in range(40):
            keyed = KeyedDraws(device.to_bytes(32, "big"))
            setup = mechanism.assign(keyed)
            key = memo(mechanism, setup, symbol)
            likely |= np.array(folded(mechanism, mechanism.permanent(setup, key, keyed))) > 0
        assert np.all(found[likely] > 0)


@pytest.mark.parametrize("setting", SETTINGS, ids=label)
def test_reports_are_counted_as_a_collector_counts_them(setting: Setting) -> None:
    mechanism = make(setting)
    rng = np.random.default_rng(11)
    drawn = draw_reports(mechanism, rng.integers(0, K, 700), rng)
    by_hand = np.zeros(mechanism.shape.cells, dtype=np.int64)
    for row, out in responses(drawn):
        response = Response(out, row)
        assert mechanism.shape.unpack(mechanism.shape.pack(response)) == response
        by_hand += folded(mechanism, response)
    assert np.array_equal(fold(mechanism, drawn), by_hand)


def responses(drawn: Reports) -> Iterator[tuple[int, int]]:
    rows = np.zeros(len(drawn.outs), dtype=np.int64) if drawn.rows is None else drawn.rows
    for row, out in zip(rows.tolist(), drawn.outs.tolist(), strict=True):
        mask: Any = sum(1 << i for i, bit in enumerate(out) if bit) if type(out) is list else out
        yield row, mask


@pytest.mark.parametrize("periods", [1, 7])
@pytest.mark.parametrize("name", ["grr", "sue", "oue"])
def test_a_billion_devices_take_no_longer_than_a_million(name: str, periods: int) -> None:
    mechanism = build(name, 4096, Decimal(2), Decimal(1))
    population = np.full(4096, 10**9 // 4096)
    tallies = draw_tallies(mechanism, population, np.random.default_rng(12), periods)
    assert len(tallies) == periods
    assert {mechanism.shape.reports(cells.tolist()) for cells in tallies} == {population.sum()}


@pytest.mark.parametrize("g", [2, 3, 4, 5, 8, 9, 25])
def test_symbols_are_hashed_as_the_client_hashes_them(g: int) -> None:
    mechanism = build("olh", 30, Decimal(1), None, {"g": g})
    assert isinstance(mechanism, OLH)
    rows, symbols = map(np.ravel, np.indices((mechanism.rows, 30)))
    found = SimulatedOLH(mechanism)._buckets(rows, symbols).tolist()
    assert found == [mechanism.bucket(row, v) for row in range(mechanism.rows) for v in range(30)]


def test_devices_are_drawn_in_parts_that_leave_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = list(crowds._chunks(np.array([3, 0, 2, 4, 0]), 4))
    assert [part.tolist() for part in parts] == [[0, 0, 0, 2], [2, 3, 3, 3], [3]]
    monkeypatch.setattr(crowds, "_CHUNK", 1 << 8)
    mechanism = build("ss", 5, Decimal(1))
    (cells,) = draw_tallies(mechanism, np.array([100, 0, 33, 7, 0]), np.random.default_rng(13))
    assert mechanism.shape.reports(cells.tolist()) == 140


def test_an_unknown_mechanism_is_refused() -> None:
    class Other:
        name = "other"

    with pytest.raises(ParameterError, match="other cannot be simulated; only grr, "):
        draw_tallies(Other(), np.array([1]), np.random.default_rng(1))  # type: ignore[arg-type]


def test_too_many_devices_to_draw_one_by_one_are_refused() -> None:
    population = np.array([10**9, 1])
    with pytest.raises(ParameterError, match="ss is drawn report by report; ask for 1000000000 d"):
        draw_tallies(build("ss", 2, Decimal(1)), population, np.random.default_rng(1))
