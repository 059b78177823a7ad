"""The hash decoder against the definition of a support, and estimates from simulated devices."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from deniable.analysis.decode import decode
from deniable.analysis.estimators import Level, estimate_supports
from deniable.analysis.hashing import hashed
from deniable.protocol.draws import KeyedDraws
from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.base import Rounds
from deniable.protocol.mechanisms.olh import OLH
from deniable.protocol.proofs.branches import outcomes

SECRET = bytes(range(32))


def olh(k: int, epsilon: str, first: str | None = None, g: int | None = None) -> OLH:
    options = {} if g is None else {"g": g}
    made = build("olh", k, Decimal(epsilon), None if first is None else Decimal(first), options)
    assert isinstance(made, OLH)
    return made


DOMAINS = [(2, 2), (3, 2), (37, 2), (64, 2), (5, 3), (80, 3), (4, 4), (5, 4), (64, 4), (100, 4),
           (30, 5), (60, 7), (65, 8), (40, 9), (100, 16), (100, 37), (7, 49), (60, 49)]  # fmt: skip


@pytest.mark.parametrize(("k", "g"), DOMAINS)
def test_supports_are_counted_by_the_definition(k: int, g: int) -> None:
    """Cells of up to 10^12 reports, no two alike, so that a misplaced one is found."""
    mechanism = olh(k, "1", g=g)
    rng = np.random.default_rng(k * 100 + g)
    cells = rng.integers(0, 10**12, mechanism.shape.cells, endpoint=True).tolist()
    supports = hashed(mechanism, cells)
    assert list(supports.trials) == [sum(cells)] * k
    assert list(supports.counts) == [
        sum(cells[row * g + mechanism.bucket(row, v)] for row in range(mechanism.rows))
        for v in range(k)
    ]
    assert all(isinstance(count, int | np.int64) for count in supports.counts)


@pytest.mark.parametrize(("k", "g"), [(5, 2), (20, 4), (30, 9)])
def test_each_report_counts_for_what_it_supports(k: int, g: int) -> None:
    """Reports of devices with every value, folded into a tally as the collector does."""
    mechanism = olh(k, "2", "1", g)
    cells = [0] * mechanism.shape.cells
    expected = [0] * k
    for device in range(300):
        setup = mechanism.assign(KeyedDraws(SECRET, b"setup", str(device).encode()))
        key = mechanism.memo(setup, device % k)
        assert key is not None
        permanent = mechanism.permanent(setup, key, KeyedDraws(SECRET, str(device).encode()))
        report = mechanism.instant(permanent, KeyedDraws(SECRET, b"2", str(device).encode()))
        mechanism.shape.fold(cells, report)
        for v in range(k):
            expected[v] += mechanism.supports(v, report)
    supports = decode(mechanism, cells)
    assert list(supports.counts) == expected
    assert list(supports.trials) == [300] * k


def test_counts_near_the_largest_integer_are_exact() -> None:
    mechanism = olh(4096, "1")
    cells = [0] * mechanism.shape.cells
    cells[0], cells[-1] = 2**62, 2**62 - 1
    last = mechanism.rows - 1
    supports = hashed(mechanism, cells)
    assert set(supports.trials) == {2**63 - 1}
    for v in (0, 1, 2, 2025, 4094, 4095):
        by_hand = (mechanism.bucket(0, v) == 0) * cells[0]
        by_hand += (mechanism.bucket(last, v) == mechanism.g - 1) * cells[-1]
        assert supports.counts[v] == by_hand


@pytest.mark.parametrize(
    ("epsilon", "g", "within"), [("1", 4, 0.06), ("4", 64, 0.06), ("6", 179, 0.3)]
)
def test_the_largest_domain_is_decoded_at_once(epsilon: str, g: int, within: float) -> None:
    """The fastest of five: 1, 1 and 10 ms; a count by definition takes minutes."""
    mechanism = olh(4096, epsilon)
    assert mechanism.g == g
    cells = list(range(mechanism.shape.cells))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        hashed(mechanism, cells)
        times.append(time.perf_counter() - start)
    assert min(times) < within


def tallies(
    mechanism: OLH, value: int, n: int, times: int, rng: np.random.Generator
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Tallies of n devices with one value, from the exact law of a report."""
    rounds: Rounds = 1 if mechanism.epsilon_first is None else 2
    chances = np.zeros(mechanism.shape.cells)
    for setup, weight in outcomes(mechanism.assign).items():
        key = mechanism.memo(setup, value)
        assert key is not None
        for response, mass in mechanism.law(setup, key, rounds).items():
            chances[response.row * mechanism.g + response.out] = float(weight * mass)
    return rng.multinomial(n, chances / chances.sum(), size=times)


@pytest.mark.parametrize(
    ("k", "epsilon", "first", "g"),
    [(2, "1", None, 2), (7, "1", None, 2), (9, "1", None, 4), (12, "2", "1", 3), (20, "3", "2", 9)],
)
def test_estimates_are_unbiased_and_vary_as_they_say(
    k: int, epsilon: str, first: str | None, g: int
) -> None:
    """All devices have one value, and four are tried; 1500 tallies of 500 devices.

    Standard deviations from the exact variance: z stays below 6.5 with odds of 1 - 1e-10 each.
    A sample variance has a relative one of sqrt(2/1499) = 0.0365 if normal, and that of nearly
    normal counts hardly more: 0.26 is 7 of them.
    """
    mechanism = olh(k, epsilon, first, g)
    rng = np.random.default_rng(2026)
    n, times = 500, 1500
    for value in sorted({0, 1, k // 2, k - 1}):
        drawn = tallies(mechanism, value, n, times, rng).tolist()
        found = np.array([hashed(mechanism, cells).counts for cells in drawn])
        p, q = float(mechanism.p), float(mechanism.q)
        estimates = (found / n - q) / (p - q)
        for asked in range(k):
            f = int(asked == value)
            variance = float(mechanism.exact_variance(Fraction(f), sampled=False)) / n
            z = (estimates[:, asked].mean() - f) / np.sqrt(variance / times)
            assert abs(z) < 6.5
            assert abs(estimates[:, asked].var(ddof=1) / variance - 1) < 0.26


def test_one_value_among_four_thousand_is_found() -> None:
    """5000 devices with the client's own draws: 40 % have value 7, none has 8 or 4095."""
    mechanism = olh(4096, "4", "3")
    cells = [0] * mechanism.shape.cells
    n = 5000
    for device in range(n):
        value = 7 if device % 5 < 2 else 100 + device % 3000
        name = str(device).encode()
        setup = mechanism.assign(KeyedDraws(SECRET, b"setup", name))
        key = mechanism.memo(setup, value)
        assert key is not None
        permanent = mechanism.permanent(setup, key, KeyedDraws(SECRET, b"permanent", key, name))
        mechanism.shape.fold(
            cells, mechanism.instant(permanent, KeyedDraws(SECRET, b"report", name))
        )
    raw = estimate_supports(mechanism, decode(mechanism, cells), Level(0.05))
    for symbol, truth in ((7, 0.4), (8, 0.0), (4095, 0.0)):
        error = (mechanism.variance(truth) / n) ** 0.5
        assert abs(raw[symbol].frequency - truth) < 6.5 * error
        assert raw[symbol].standard_error == pytest.approx(error, rel=0.25)
