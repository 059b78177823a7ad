"""Maximum likelihood against expectation maximisation itself, and against its own conditions."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import conformance
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from survey_documents import choice_table, make_survey
from tally_places import tally

from deniable.analysis import debias, estimate_tallies, post_process
from deniable.analysis.decode import Supports
from deniable.analysis.em import COMPOSITE, EXACT, composite, fill, maximum_likelihood
from deniable.analysis.em_cells import GAP, Likelihood, climb
from deniable.analysis.em_supports import supporters
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle, Mechanism, build
from deniable.protocol.response import Response

Floats = npt.NDArray[np.float64]

SYMBOLS = [("grr", 5, "1"), ("olh", 5, "1"), ("olh", 9, "2"), ("hr", 5, "1"), ("hr", 9, "3")]


def oracle(name: str, k: int, epsilon: str, first: str | None = None) -> FrequencyOracle:
    made = build(name, k, Decimal(epsilon), None if first is None else Decimal(first))
    assert isinstance(made, FrequencyOracle)
    return made


def law(mechanism: Mechanism) -> Floats:
    """P(cell | value), values by cells, by enumeration of every law."""
    shape = mechanism.shape
    table = np.zeros((mechanism.k, shape.cells))
    for weight, given_value in conformance.reports(mechanism):
        for value, each in enumerate(given_value):
            for response, mass in each.items():
                table[value, response.row * shape.width + response.out] += float(weight * mass)
    return table


def by_iteration(table: Floats, cells: Floats, rounds: int) -> Floats:
    """The published algorithm: responsibilities, then their means."""
    f = np.full(len(table), 1 / len(table))
    for _ in range(rounds):
        f = f * (table @ (cells / (f @ table))) / cells.sum()
    return f


def log_likelihood(table: Floats, cells: Floats, f: Floats) -> float:
    return float(cells @ np.log(f @ table))


@pytest.mark.parametrize("settings_", SYMBOLS, ids=str)
@pytest.mark.parametrize("n", [30, 5000])
def test_it_is_what_expectation_maximisation_converges_to(
    settings_: tuple[str, int, str], n: int
) -> None:
    mechanism = oracle(*settings_)
    table = law(mechanism)
    f = np.array([0.6, 0.4] + [0.0] * (mechanism.k - 2))
    cells = np.random.default_rng(7).multinomial(n, f @ table)
    made, remark = maximum_likelihood(mechanism, cells.tolist())
    assert remark == EXACT
    assert math.fsum(made) == pytest.approx(1, abs=1e-12)
    assert min(made) >= 0
    slow = by_iteration(table, cells.astype(float), 30_000)
    ours = log_likelihood(table, cells.astype(float), np.array(made))
    # The certificate promises GAP; the iteration is as far from the top as it happens to be.
    assert ours >= log_likelihood(table, cells.astype(float), slow) - GAP
    # GAP below a maximum whose curvature is 1/SE^2 is at most sqrt(2 GAP) < 0.05 SE away.
    error = math.sqrt(mechanism.worst_variance_iid()[0] / n)
    assert np.abs(np.array(made) - slow).max() < 0.05 * error + 1e-3


def test_with_a_second_round_the_law_is_that_of_one_report() -> None:
    mechanism = oracle("olh", 5, "2", "1")
    table = law(mechanism)
    cells = np.random.default_rng(8).multinomial(4000, table[1])
    made = np.array(climb(mechanism, cells.tolist()))
    slow = by_iteration(table, cells.astype(float), 20_000)
    assert np.abs(made - slow).max() < 0.01


@pytest.mark.parametrize("settings_", [("olh", 9, "1"), ("olh", 40, "3"), ("hr", 9, "1")], ids=str)
def test_sums_over_supports_are_those_of_the_mechanism(settings_: tuple[str, int, str]) -> None:
    mechanism = oracle(*settings_)
    shape = mechanism.shape
    outputs = [Response(out, row) for row in range(shape.rows) for out in range(shape.width)]
    matrix = np.array(
        [[mechanism.supports(v, y) for y in outputs] for v in range(mechanism.k)], dtype=float
    )
    made = supporters(mechanism)
    rng = np.random.default_rng(3)
    frequencies, weights = rng.random(mechanism.k), rng.random(shape.cells)
    assert made.spread(frequencies) == pytest.approx(frequencies @ matrix)
    assert made.gather(weights) == pytest.approx(matrix @ weights)


@pytest.mark.parametrize(
    ("name", "k", "epsilon", "n"),
    [("hr", 1000, "1", 10**5), ("olh", 300, "1", 10**5), ("olh", 300, "4", 10**7)],
)
def test_large_domains_end_with_a_certificate(name: str, k: int, epsilon: str, n: int) -> None:
    mechanism = oracle(name, k, epsilon)
    flat = Likelihood.of(mechanism, [1] * mechanism.shape.cells)
    f = np.arange(1, k + 1) ** -1.2
    chances = flat.outside + (flat.inside - flat.outside) * flat.supports.spread(f / f.sum())
    assert chances.sum() == pytest.approx(1)
    cells = np.random.default_rng(5).multinomial(n, chances / chances.sum()).tolist()
    made = climb(mechanism, cells)
    _, slope = Likelihood.of(mechanism, cells).at(np.array(made))
    assert n * (slope.max() - 1) <= GAP
    assert np.abs(np.array(made) - f / f.sum()).max() < 0.05


counts = st.lists(st.integers(0, 10**6), min_size=2, max_size=30)


@given(counts.filter(any), st.floats(0.01, 8))
def test_filling_meets_the_conditions_of_a_maximum(counted: list[int], epsilon: float) -> None:
    """C/g is one multiplier where f > 0, and no larger where f = 0."""
    mechanism = oracle("grr", len(counted), f"{epsilon:.6f}")
    p, q = float(mechanism.p), float(mechanism.q)
    made = fill(counted, mechanism.p, mechanism.q)
    assert math.fsum(made) == pytest.approx(1, abs=1e-9)
    slopes = [c / (q + f * (p - q)) for c, f in zip(counted, made, strict=True)]
    held = [slope for slope, f in zip(slopes, made, strict=True) if f > 1e-9]
    assert max(held) == pytest.approx(min(held), rel=1e-6)
    assert max(slopes) <= max(held) * (1 + 1e-6)


@given(counts, st.floats(0.05, 8), st.integers(0, 5))
@settings(deadline=None)
def test_composite_meets_the_conditions_of_a_maximum(
    counted: list[int], epsilon: float, more: int
) -> None:
    mechanism = oracle("oue", len(counted), f"{epsilon:.6f}")
    p, q = float(mechanism.p), float(mechanism.q)
    n = max(counted) + more + 1
    made = composite(Supports(counted, [n] * len(counted)), p, q)
    assert math.fsum(made) == pytest.approx(1, abs=1e-9)
    assert min(made) >= 0
    shares = [q + f * (p - q) for f in made]
    slopes = [c / g - (n - c) / (1 - g) for c, g in zip(counted, shares, strict=True)]
    held = [slope for slope, f in zip(slopes, made, strict=True) if f > 1e-6]
    assert max(held) - min(held) < 1e-4 * n
    assert max(slopes) <= max(held) + 1e-4 * n


@pytest.mark.parametrize("counted", [[0, 0, 0], [9, 9, 9], [0, 0, 9], [9, 0, 0], [1, 0, 0]])
def test_whatever_is_counted_it_is_a_distribution(counted: list[int]) -> None:
    """All raw estimates may be negative, or all 1."""
    for name in ("oue", "sue", "ss"):
        mechanism = oracle(name, 3, "1")
        made, remark = maximum_likelihood(mechanism, Supports(counted, [9] * 3))
        assert remark == COMPOSITE
        assert math.fsum(made) == pytest.approx(1)
        assert made.index(max(made)) == counted.index(max(counted))


def test_no_counts_say_nothing() -> None:
    assert fill([0, 0, 0, 0], Fraction(1, 2), Fraction(1, 6)) == (0.25,) * 4


def test_a_minute_epsilon_is_no_division_by_zero() -> None:
    q = Fraction(1, 3)
    assert fill([10**15, 1, 0], q + Fraction(1, 10**19), q) == (1.0, 0.0, 0.0)


def test_debias_works_from_supports() -> None:
    made = debias([900, 60, 40], mechanism="grr", epsilon="1", post_process="em")
    assert [one.frequency for one in made.estimates] == [1.0, 0.0, 0.0]
    assert [one.frequency for one in debias([900, 60, 40], mechanism="grr", epsilon=1).estimates][
        1
    ] < 0
    assert made.notes == (EXACT,)
    bits = debias([60, 30, 20], mechanism="oue", epsilon="1", n=100, post_process="em")
    assert math.fsum(one.frequency for one in bits.estimates) == pytest.approx(1)
    assert bits.notes == (COMPOSITE,)


@pytest.mark.parametrize("mechanism", ["grr", "sue", "oue", "ss", "hr", "olh", "dbitflip"])
def test_every_mechanism_of_choices_has_it(mechanism: str) -> None:
    table = choice_table(mechanism=mechanism, period="week")
    asked = make_survey({"q": table}, max_epsilon=16, linkable=True).questions["q"]
    shape = asked.mechanism.shape
    cells = [5] * shape.cells
    if shape.kind == "bits":
        for row in range(shape.rows):
            cells[row * (shape.width + 1) + shape.width] = 9
    made = estimate_tallies([tally(asked, cells, "2026-W49")], post_process="em")
    assert math.fsum(one.frequency for one in made.estimates) == pytest.approx(1)
    raw = estimate_tallies([tally(asked, cells, "2026-W49")])
    assert [one.low for one in made.estimates] == [one.low for one in raw.estimates]


def test_it_needs_the_counts() -> None:
    with pytest.raises(ParameterError, match="em needs the counts"):
        post_process([0.5, 0.5], "em")


def test_a_mechanism_of_numbers_has_none() -> None:
    with pytest.raises(ParameterError, match="no likelihood of 1bitmean"):
        maximum_likelihood(build("1bitmean", 5, Decimal(1)), [1, 2])
