"""Small simulations with fixed keys: estimates are unbiased and vary as they are said to.

Everything here follows from fixed secrets, so nothing can fail by chance twice; the tolerances
still hold for any secrets, with odds of failure below 1e-9 for the whole module.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from itertools import islice

import pytest

from deniable.protocol.draws import KeyedDraws
from deniable.protocol.mechanisms import MECHANISMS, FrequencyOracle, build

K = 4
REPORTS = 3000

CONFIGURATIONS = [
    (name, first)
    for name, cls in MECHANISMS.items()
    for first in (None, Decimal(1))
    if cls.asks == "choice" and issubclass(cls, FrequencyOracle)
    if first is None or cls.two_rounds
]
"""Others have simulations of their own."""


def make(name: str, first: Decimal | None) -> FrequencyOracle:
    mechanism = build(name, K, Decimal(2), first)
    assert isinstance(mechanism, FrequencyOracle)
    return mechanism


def supports(mechanism: FrequencyOracle, value: int, purpose: str) -> Iterator[list[bool]]:
    """For one new device after another: which symbols its one report supports."""
    device = 0
    while True:
        secret = device.to_bytes(32, "big")
        setup = mechanism.assign(KeyedDraws(secret, b"setup", purpose.encode()))
        memo = mechanism.memo(setup, mechanism.symbol(value))
        assert memo is not None
        keyed = KeyedDraws(secret, b"permanent", purpose.encode(), memo)
        permanent = mechanism.permanent(setup, memo, keyed)
        report = mechanism.instant(permanent, KeyedDraws(secret, b"instant", purpose.encode()))
        yield [mechanism.supports(symbol, report) for symbol in range(mechanism.k)]
        device += 1


@cache
def counts(name: str, first: Decimal | None, value: int) -> list[int]:
    """How many of so many devices that hold ``value`` send a report that supports each symbol."""
    reports = islice(supports(make(name, first), value, f"bias {value}"), REPORTS)
    return [sum(column) for column in zip(*reports, strict=True)]


@pytest.mark.parametrize("value", range(K))
@pytest.mark.parametrize(("name", "first"), CONFIGURATIONS)
def test_estimates_are_unbiased(name: str, first: Decimal | None, value: int) -> None:
    """192 counts are binomial: |z| >= 7.5 has odds of 2e-10 for all of them, skew included."""
    mechanism = make(name, first)
    for symbol, count in enumerate(counts(name, first, value)):
        chance = float(mechanism.coverage * (mechanism.p if symbol == value else mechanism.q))
        deviation = math.sqrt(REPORTS * chance * (1 - chance))
        assert abs(count - REPORTS * chance) < 7.5 * deviation
        share, gap = float(mechanism.coverage), float(mechanism.p - mechanism.q)
        estimate = (count / REPORTS / share - float(mechanism.q)) / gap
        error = deviation / REPORTS / share / gap
        assert abs(estimate - (symbol == value)) < 7.5 * error


@pytest.mark.parametrize(("name", "first"), CONFIGURATIONS)
def test_estimates_vary_as_stated(name: str, first: Decimal | None) -> None:
    """400 populations of ten: 5, 3, 2 and none of the four values.

    The mean square of 400 nearly normal errors is within 7 sqrt(2/400) = 0.495 of their
    variance, in proportion, with odds of failure below 1e-11 each.
    """
    mechanism = make(name, first)
    if mechanism.coverage < 1:
        pytest.skip("its estimate is a ratio, and simulated where it is decoded")
    population = (5, 3, 2, 0)
    streams = [supports(mechanism, value, f"variance {value}") for value in range(K)]
    squares = [0.0] * K
    for _ in range(400):
        reports = [
            report for v, people in enumerate(population) for report in islice(streams[v], people)
        ]
        for symbol in range(K):
            share = sum(report[symbol] for report in reports) / 10
            estimate = (share - float(mechanism.q)) / float(mechanism.p - mechanism.q)
            squares[symbol] += (estimate - population[symbol] / 10) ** 2
    for symbol in range(K):
        stated = mechanism.variance(population[symbol] / 10) / 10
        assert abs(squares[symbol] / 400 / stated - 1) < 0.495


@pytest.mark.parametrize(("name", "first"), CONFIGURATIONS)
def test_another_value_would_be_seen(name: str, first: Decimal | None) -> None:
    """The tolerances above can fail: taking another value for the true one breaks both."""
    mechanism = make(name, first)
    chance = float(mechanism.coverage * mechanism.p)
    count = counts(name, first, 1)[0]
    assert abs(count - REPORTS * chance) > 7.5 * math.sqrt(REPORTS * chance * (1 - chance))
