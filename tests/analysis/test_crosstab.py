"""Cross tables: covariances by enumeration, tests and intervals by simulation, what is refused."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import conformance
import numpy as np
import pytest
from click.testing import CliRunner
from survey_documents import boolean_table, make_question, make_survey
from tally_places import tally, write_store

from deniable.analysis import Crosstab, crosstab, crosstab_tallies, difference, estimate_tallies
from deniable.analysis.cli import main
from deniable.analysis.crosstabs.association import FEWEST, Association, Table, associate
from deniable.analysis.crosstabs.conditionals import ratio
from deniable.analysis.crosstabs.covariance import covariance, least_support
from deniable.analysis.estimators import Level
from deniable.analysis.frequencies import estimate_cells
from deniable.analysis.render import render
from deniable.analysis.simulation import draw_tallies
from deniable.analysis.truth import read_truth
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle, Mechanism, build
from deniable.protocol.question import Question

PARTS = {"theme": ["dark", "light"], "plan": ["free", "pro", "team"]}


TABLE: dict[str, object] = {
    "version": 1,
    "ask": "Which theme, on which plan?",
    "type": "joint",
    "parts": PARTS,
    "epsilon": Decimal(2),
    "period": "week",
    "owner": "nobody",
    "expires": date(2027, 6, 30),
}


def joint(mechanism: object = "grr", epsilon: str = "2", **changes: object) -> Question:
    return make_question({**TABLE, "epsilon": Decimal(epsilon), "mechanism": mechanism, **changes})


# Covariances, exactly


def oracle(
    name: str, k: int, epsilon: str, first: str | None = None, /, **options: int
) -> Mechanism:
    return build(name, k, Decimal(epsilon), Decimal(first) if first else None, options)


ORACLES = [
    oracle("grr", 4, "1"),
    oracle("grr", 4, "2", "1"),
    oracle("sue", 4, "1"),
    oracle("oue", 4, "2", "1"),
    oracle("ss", 6, "1", weight=2),
    oracle("hr", 6, "1"),
    oracle("olh", 6, "1", g=2),
    oracle("olh", 6, "2", "1", g=3),
    oracle("dbitflip", 4, "1", bits=1),
    oracle("dbitflip", 4, "1", bits=3),
    oracle("dbitflip", 4, "1", bits=4),
]


def enumerated(mechanism: FrequencyOracle, f: list[Fraction]) -> Any:
    """n times the covariance of the estimates, from every response of every value.

    An estimate is a ratio of sums over the devices that cover its value: its linear part is
    ``covers (supports - g) / (coverage (p-q))``.
    """
    p, q, k = mechanism.p, mechanism.q, mechanism.k
    found = np.zeros((k, k))
    for weight, laws in conformance.reports(mechanism):
        for value, law in enumerate(laws):
            for response, mass in law.items():
                parts = [
                    mechanism.covers(v, response)
                    * (mechanism.supports(v, response) - q - f[v] * (p - q))
                    / (mechanism.coverage * (p - q))
                    for v in range(k)
                ]
                line = np.array([float(part) for part in parts])
                found += float(weight * mass * f[value]) * np.outer(line, line)
    return found


@pytest.mark.parametrize(
    "mechanism", ORACLES, ids=lambda m: f"{m.name}-{m.k}-{m.epsilon}-{m.epsilon_first}"
)
def test_covariances_are_as_enumerated(mechanism: FrequencyOracle) -> None:
    n, shape = 10**6, mechanism.shape
    f = [Fraction(v + 1, mechanism.k * (mechanism.k + 1) // 2) for v in range(mechanism.k)]
    cells = [0] * shape.cells
    if shape.kind == "bits":
        cells[shape.width :: shape.width + 1] = [n // shape.rows] * shape.rows
    else:
        cells[0] = n
    made = covariance(mechanism, cells, np.array([float(each) for each in f]))
    assert made * n == pytest.approx(enumerated(mechanism, f), rel=1e-9, abs=1e-9)


def test_covariances_of_bloom_filters_agree_with_their_standard_errors() -> None:
    """The errors of :mod:`deniable.analysis.bloom` have a simulation of their own."""
    mechanism = oracle("rappor", 6, "3", bits=16, hashes=2, cohorts=4)
    rng = np.random.default_rng(5)
    (cells,) = draw_tallies(mechanism, rng.multinomial(10**5, [1 / 6] * 6), rng)
    raw = estimate_cells(mechanism, cells.tolist(), Level(0.05))
    f = np.array([one.frequency for one in raw])
    made = covariance(mechanism, cells.tolist(), f / f.sum())
    errors = [one.standard_error for one in raw]
    assert np.sqrt(made.diagonal()) == pytest.approx(errors, rel=1e-3)
    assert np.linalg.eigvalsh(made).min() > 0


def test_a_mechanism_without_a_known_covariance_is_refused() -> None:
    with pytest.raises(ParameterError, match="1bitmean have no known covariance"):
        covariance(oracle("1bitmean", 4, "1"), [5, 5], np.full(4, 0.25))
    with pytest.raises(ParameterError, match="1bitmean have no known covariance"):
        least_support(oracle("1bitmean", 4, "1"))


# The test of association


def independent(a: int, b: int) -> Any:
    rows, columns = np.arange(1.0, a + 1), np.arange(float(b), 0, -1)
    return np.outer(rows / rows.sum(), columns / columns.sum())


def associated(mechanism: Mechanism, table: Any, n: int, rng: Any) -> Association:
    (cells,) = draw_tallies(mechanism, rng.multinomial(n, table.ravel()), rng)
    listed = cells.tolist()
    raw = [one.frequency for one in estimate_cells(mechanism, listed, Level(0.05))]
    return associate(
        np.array(raw).reshape(table.shape),
        lambda f: covariance(mechanism, listed, f.ravel()),
        n,
        least_support(mechanism),
        0.95,
    )


RUNS = 120

CALIBRATED = [
    ("grr", {}, (2, 2), 1_000),
    ("grr", {}, (3, 4), 5_000),
    ("oue", {}, (2, 3), 2_000),
    ("ss", {}, (4, 4), 3_000),
    ("olh", {"g": 3}, (3, 3), 5_000),
    ("hr", {}, (2, 3), 5_000),
    ("dbitflip", {"bits": 3}, (2, 3), 20_000),
    ("rappor", {"bits": 16, "hashes": 2, "cohorts": 2}, (2, 3), 3_000),
]


@pytest.mark.parametrize(("name", "options", "sides", "n"), CALIBRATED, ids=lambda v: str(v))
def test_p_values_of_independent_parts_are_uniform(
    name: str, options: dict[str, int], sides: tuple[int, int], n: int
) -> None:
    """Of 120 p-values, those below a level are binomial: within 6.2 deviations, odds 1e-9."""
    mechanism = oracle(name, sides[0] * sides[1], "2", **options)
    rng = np.random.default_rng(7)
    found = [associated(mechanism, independent(*sides), n, rng).p_value for _ in range(RUNS)]
    assert None not in found
    values = np.array(found, dtype=float)
    for level in (0.05, 0.25, 0.5, 0.75):
        allowed = 6.2 * math.sqrt(RUNS * level * (1 - level))
        assert abs((values < level).sum() - RUNS * level) < allowed, level


def test_a_test_that_knows_of_no_noise_would_show_it() -> None:
    """Pearson's own: with the covariance of true answers it nearly always finds something."""
    mechanism = oracle("grr", 4, "1")
    rng, table, rejected = np.random.default_rng(7), independent(2, 2), 0
    for _ in range(50):
        (cells,) = draw_tallies(mechanism, rng.multinomial(5000, table.ravel()), rng)
        raw = [one.frequency for one in estimate_cells(mechanism, cells.tolist(), Level(0.05))]
        made = associate(
            np.array(raw).reshape(2, 2),
            lambda f: (np.diag(f.ravel()) - np.outer(f, f)) / 5000,
            5000,
            least_support(mechanism),
            0.95,
        )
        rejected += made.p_value is not None and made.p_value < 0.05
    assert rejected > 50 * 0.05 + 6.2 * math.sqrt(50 * 0.05 * 0.95)


DEPENDENT = np.array([[0.30, 0.20, 0.10], [0.10, 0.10, 0.20]])
STRENGTH = math.sqrt(((DEPENDENT - 0.0) ** 2 / np.outer([0.6, 0.4], [0.4, 0.3, 0.3])).sum() - 1)
"""Cramer's V of that: phi^2 = sum of f^2 / (r c) - 1."""


def test_association_is_found_and_measured() -> None:
    """Intervals of V are conservative; of 100 at 95 % at most 18 miss, odds of more 1e-9 each."""
    mechanism = oracle("grr", 6, "2")
    rng = np.random.default_rng(3)
    made = [associated(mechanism, DEPENDENT, 4000, rng) for _ in range(100)]
    assert all(one.p_value is not None and one.p_value < 1e-6 for one in made)
    ends = [(one.low, one.high) for one in made if one.low is not None and one.high is not None]
    inside = [1 for low, high in ends if low <= STRENGTH <= high]
    assert len(inside) >= 82
    mean = sum(one.cramers_v for one in made if one.cramers_v is not None) / 100
    # The standard error of one V is about 0.026; of the mean of 100 a tenth of that.
    assert mean == pytest.approx(STRENGTH, abs=0.017)


def test_cramers_v_of_independent_parts_is_often_nothing() -> None:
    """More than half of 40 are 0: three or fewer have odds below 1e-9. Their intervals begin at 0,
    of all but one in 20 at most: above 10 of 40 has odds below 1e-4, and it is conservative."""
    mechanism = oracle("grr", 16, "2")
    rng = np.random.default_rng(4)
    made = [associated(mechanism, independent(4, 4), 20_000, rng) for _ in range(40)]
    assert sum(one.cramers_v == 0 for one in made) > 3
    assert sum(one.low != 0 for one in made) <= 10


@pytest.mark.parametrize(("n", "epsilon"), [(300, "0.2"), (30, "8"), (1, "2")])
def test_few_devices_have_no_p_value(n: int, epsilon: str) -> None:
    mechanism = oracle("grr", 6, epsilon)
    made = associated(mechanism, independent(2, 3), n, np.random.default_rng(1))
    assert (made.chi_square, made.p_value) == (None, None)
    assert made.devices_needed is not None
    assert made.devices_needed > n
    assert made.devices_needed * least_support(mechanism) >= FEWEST


def test_so_many_devices_as_are_said_to_do_would_do() -> None:
    mechanism = oracle("grr", 6, "1")
    rng = np.random.default_rng(2)
    short = associated(mechanism, independent(2, 3), 300, rng)
    assert short.devices_needed is not None
    again = associated(mechanism, independent(2, 3), 2 * short.devices_needed, rng)
    assert again.p_value is not None


def test_a_choice_that_nobody_gives_has_no_effect_size() -> None:
    table = np.array([[0.4, 0.3, 0.3], [0.0, 0.0, 0.0]])
    made = associated(oracle("grr", 6, "2"), table, 10_000, np.random.default_rng(1))
    assert (made.cramers_v, made.low, made.high) == (None, None, None)
    assert made.p_value is not None


def test_estimates_that_sum_to_one_stay() -> None:
    raw = np.array([[0.5, 0.2], [0.2, 0.1]])
    spread = np.eye(4) - 0.25
    assert Table.summing_to_one(raw, spread).frequencies is raw
    moved = Table.summing_to_one(raw + 0.1, np.eye(4))
    assert moved.frequencies == pytest.approx(raw)
    assert moved.covariance == pytest.approx(spread)


def test_the_bias_of_a_product_of_two_estimates_is_taken_out() -> None:
    """Of a table whose row sum has the covariance 0.01 - 0.03 with its column sum."""
    spread = np.diag([0.01, 0.02, 0.03, 0.04])
    spread[1, 2] = spread[2, 1] = -0.03
    t, covariances = Table(np.array([[0.4, 0.1], [0.2, 0.3]]), spread).associated()
    assert t[0, 0] == pytest.approx(0.4 - 0.5 * 0.6 + 0.01 - 0.03)
    # t_00 moves with the four frequencies by these, and all rows and columns of t sum to 0.
    slopes = np.outer([0.5, -0.5], [0.4, -0.6]).ravel()
    assert covariances[0, 0] == pytest.approx(slopes @ spread @ slopes)
    assert covariances.reshape(2, 2, 2, 2).sum(axis=(0, 2)) == pytest.approx(np.zeros((2, 2)))


# Conditionals


@pytest.mark.parametrize("of_both", [-0.001, 0.0, 0.001])
def test_the_ends_of_a_ratio_are_z_errors_from_nothing(of_both: float) -> None:
    x, y, of_x, of_y, z = 0.3, 0.6, 0.002, 0.004, 1.959964
    made = ratio(x, y, of_x, of_y, of_both, z)
    assert made is not None
    for rho, away in ((made.low, z), (made.estimate, 0.0), (made.high, -z)):
        error = math.sqrt(of_x - 2 * rho * of_both + rho * rho * of_y)
        assert (x - rho * y) / error == pytest.approx(away, abs=1e-9)
    own = of_x - 2 * made.estimate * of_both + made.estimate**2 * of_y
    assert made.standard_error == pytest.approx(math.sqrt(own) / y)


def test_ratios_are_within_their_intervals() -> None:
    """Fieller's interval, of normal estimates: 95 % within 6.2 deviations of 2000 runs."""
    rng = np.random.default_rng(9)
    spread = np.array([[0.01, 0.004], [0.004, 0.02]])
    drawn = rng.multivariate_normal([0.3, 0.6], spread, 2000)
    made = [ratio(x, y, 0.01, 0.02, 0.004, 1.959964) for x, y in drawn.tolist()]
    bounded = [one for one in made if one is not None]
    assert 1900 < len(bounded) < 2000
    inside = sum(one.low <= 0.5 <= one.high for one in bounded)
    # A ratio without a bounded interval has one that holds 0.5 or is the outside of one.
    assert 0.95 * 2000 - 6.2 * math.sqrt(2000 * 0.95 * 0.05) - (2000 - len(bounded)) < inside
    assert inside < 0.95 * 2000 + 6.2 * math.sqrt(2000 * 0.95 * 0.05)


# The whole table


def counted(question: Question, table: Any, n: int, seed: int = 1) -> Any:
    rng = np.random.default_rng(seed)
    (cells,) = draw_tallies(question.mechanism, rng.multinomial(n, table.ravel()), rng)
    return tally(question, cells.tolist(), "2026-W49")


def test_marginals_and_conditionals_have_the_errors_they_say() -> None:
    """z-scores of 100 tables: their mean square is 1 within 6.2 sqrt(2/100) per frequency."""
    question = joint()
    truth: dict[tuple[str | None, str | None, str | None], float] = {}
    for (i, theme), (j, plan) in product(enumerate(PARTS["theme"]), enumerate(PARTS["plan"])):
        f, row, column = DEPENDENT[i, j], DEPENDENT[i].sum(), DEPENDENT[:, j].sum()
        truth |= {
            (None, theme, plan): f,
            (None, theme, None): row,
            (None, None, plan): column,
            ("theme", theme, plan): f / row,
            ("plan", theme, plan): f / column,
        }
    scores: dict[tuple[str | None, str | None, str | None], list[float]] = {
        key: [] for key in truth
    }
    for seed in range(100):
        made = crosstab_tallies([counted(question, DEPENDENT, 50_000, seed)])
        assert len(made.cells) == len(truth)
        for cell in made.cells:
            key = (cell.given, cell.first, cell.second)
            assert cell.frequency is not None
            assert cell.standard_error is not None
            scores[key].append((cell.frequency - truth[key]) / cell.standard_error)
    for key, found in scores.items():
        assert abs(np.mean(np.square(found)) - 1) < 6.2 * math.sqrt(2 / 100), key
        assert abs(np.mean(found)) < 6.2 / 10, key


def test_pairs_are_those_of_estimate() -> None:
    question = joint("oue")
    one = counted(question, DEPENDENT, 5000)
    pairs = [cell for cell in crosstab_tallies([one]).cells if cell.kind == "pair"]
    listed = estimate_tallies([one]).estimates
    assert [each.value for each in listed] == [f"{c.first} / {c.second}" for c in pairs]
    for cell, each in zip(pairs, listed, strict=True):
        told = (cell.frequency, cell.standard_error, cell.low, cell.high)
        assert told == (each.frequency, each.standard_error, each.low, each.high)


def test_a_pair_is_compared_by_the_text_that_estimate_shows(tmp_path: Path) -> None:
    store = write_store(tmp_path / "t.db", [counted(joint(), DEPENDENT, 9000)])
    made = difference("asked", store, values=("dark / free", "light / team"))
    assert (made.a, made.b) == ("dark / free", "light / team")
    by_parts: Any = (("dark", "free"), {"theme": "light", "plan": "team"})
    assert difference("asked", store, values=by_parts) == made
    with pytest.raises(ParameterError, match="one of its pairs: dark / free, dark / pro"):
        difference("asked", store, values=("dark/free", "light / team"))


def test_segments_add_up() -> None:
    question = joint()
    whole = counted(question, DEPENDENT, 5000)
    halves = [
        tally(question, [c // 2 + odd * (c % 2) for c in whole.cells], "2026-W49", segment)
        for odd, segment in enumerate(("beta", "stable"))
    ]
    made = crosstab_tallies(halves)
    assert made.segments == ("beta", "stable")
    assert made.cells == crosstab_tallies([whole]).cells


def command(*words: str) -> Any:
    return CliRunner().invoke(main, ["crosstab", "asked", *words])


def test_the_command_says_the_same_in_three_forms(tmp_path: Path) -> None:
    store = write_store(tmp_path / "t.db", [counted(joint(), DEPENDENT, 20_000)])
    made = crosstab("asked", store)
    place = ("--from", str(store))
    document = json.loads(command(*place, "--format", "json").output)
    assert document == made.document()
    assert document["epsilon_unit"].startswith("of one device")
    assert document["association"]["degrees_of_freedom"] == 2
    rows = list(csv.DictReader(io.StringIO(command(*place, "--format", "csv").output)))
    assert tuple(rows[0]) == made.columns
    assert len(rows) == len(made.records()) == 6 + 2 + 3 + 6 + 6
    table = command(*place)
    assert table.exit_code == 0, table.output
    assert "light    (all)" in table.output
    assert "plan among those of each theme" in table.output
    assert "p-value" in table.output


def test_few_devices_are_told(tmp_path: Path) -> None:
    made = crosstab_tallies([counted(joint(epsilon="0.5"), DEPENDENT, 100)])
    assert any(cell.frequency is None for cell in made.cells)
    text = render(made, "table")
    assert "No test of whether theme and plan are independent" in text
    assert "–: too few devices to tell" in text
    assert "Cramér's V cannot be told" in text
    json.loads(render(made, "json"))


def test_a_truth_may_spell_pairs_in_any_canonical_form(tmp_path: Path) -> None:
    parts = {"theme": ["dark", "light"], "plan": ["caf\u00e9", "pro"]}
    survey = make_survey({"asked": {**TABLE, "parts": parts}}, max_epsilon=8)
    path = tmp_path / "truth.csv"
    path.write_text("asked\ndark / caf\u00e9\ndark / cafe\u0301\n", "utf-8")
    assert read_truth(path, survey).symbols == {"asked": (0, 0)}


def test_columns_stand_under_each_other_in_wide_letters_as_well() -> None:
    parts = {"theme": ["dark", "日本語"], "plan": ["무료", "cafe\u0301", "x\u0302y"]}
    made = crosstab_tallies([counted(joint(parts=parts), DEPENDENT, 20_000)])
    (pairs, *_) = render(made, "table").split("\n\nFrequencies")
    _, _, head, rule, *rows = pairs.splitlines()
    ends = [match.end() for match in re.finditer("-+", rule)]
    assert head.index("plan") == ends[0] + 2
    for row in rows:
        wide = "".join(letter + "~" * ("\u1100" < letter < "\uffff") for letter in row)
        shown = wide.replace("\u0302", "")
        assert shown[ends[0] : ends[0] + 2] == "  ", row
        assert shown[ends[0] + 2] != " ", row
        assert len(shown) == ends[-1], row
    assert "日本語   무료  " in pairs


def refused(question: Question, cells: list[int]) -> str:
    with pytest.raises(ParameterError) as refusal:
        crosstab_tallies([tally(question, cells)])
    return str(refusal.value)


def test_what_is_refused() -> None:
    assert refused(make_question(boolean_table(mechanism="grr")), [5, 5]) == (
        "asked is a boolean question; only joint ones, of two parts, are crossed"
    )
    assert "count no device" in refused(joint(), [0] * 6)
    with pytest.raises(ParameterError, match="confidence must be above 0"):
        crosstab_tallies([counted(joint(), DEPENDENT, 50)], confidence=0)
    with pytest.raises(ParameterError, match="at least one"):
        crosstab_tallies([])


def test_the_result_is_frozen() -> None:
    made = crosstab_tallies([counted(joint(), DEPENDENT, 5000)])
    assert isinstance(made, Crosstab)
    with pytest.raises(AttributeError):
        made.__setattr__("n", 3)
