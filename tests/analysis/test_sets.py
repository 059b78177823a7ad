"""Set questions at the analyst's: exact by enumeration where small, seeded where large.

Tolerances of seeded runs hold for any seed, with odds of failure below 1e-9 for the whole module.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from survey_documents import ABSENT, boolean_table, make_survey
from tally_places import tally, write_store

from deniable.analysis import (
    SetEstimates,
    difference,
    estimate,
    estimate_sets,
    estimate_tallies,
    plot,
    simulate,
    trend,
)
from deniable.analysis.cli import main
from deniable.analysis.correlation import of_values
from deniable.analysis.estimators import Level, Raw
from deniable.analysis.sets.estimates import estimate_symbols
from deniable.analysis.sets.sizes import estimate_sizes
from deniable.analysis.simulation import Population, draw_tallies
from deniable.analysis.suspicion.noise import in_one_period
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.privset import PrivSet
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally, parse_tally

LEVEL = Level(0.05)
CROWD = {0: 2, 0b1: 1, 0b10: 3, 0b11: 4, 0b110: 1, 0b1001: 2, 0b1011: 5, 0b1111: 3}
"""Devices by their sets of four items, some with three and four where two count."""


@cache
def small(items: int = 2, weight: int = 2) -> PrivSet:
    made = build("privset", 4, Decimal(1), options={"items": items, "weight": weight})
    assert isinstance(made, PrivSet)
    return made


def expected_cells(mechanism: PrivSet, crowd: Mapping[int, int]) -> list[float]:
    """What the tally is on average, from the law of each response."""
    cells = np.zeros(mechanism.shape.cells)
    for mask, people in crowd.items():
        for y, mass in mechanism.law(0, b"%x" % mask, 1).items():
            one = [0] * mechanism.shape.cells
            mechanism.shape.fold(one, y)
            cells += people * float(mass) * np.array(one)
    return [float(cell) for cell in cells]


def true_item(item: int, items: int, crowd: Mapping[int, int]) -> float:
    """The frequency of an item: with m/s of a larger set."""
    held = [
        people * min(1, items / mask.bit_count())
        for mask, people in crowd.items()
        if mask >> item & 1
    ]
    return sum(held) / sum(crowd.values())


def true_sizes(items: int, crowd: Mapping[int, int]) -> list[float]:
    sizes = [0.0] * (items + 1)
    for mask, people in crowd.items():
        sizes[min(items, mask.bit_count())] += people / sum(crowd.values())
    return sizes


@pytest.mark.parametrize("weight", [1, 2, 3, 4])
@pytest.mark.parametrize("items", [1, 2, 3, 4])
def test_items_and_sizes_are_unbiased_exactly(items: int, weight: int) -> None:
    """The estimates are linear in the cells, so those of the mean cells are their mean."""
    mechanism = small(items, weight)
    cells = expected_cells(mechanism, CROWD)
    each, dummies = estimate_symbols(mechanism, cells, LEVEL)  # type: ignore[arg-type]
    sizes = estimate_sizes(mechanism, dummies)
    wanted = [true_item(item, items, CROWD) for item in range(4)]
    assert [raw.frequency for raw in each] == pytest.approx(wanted, abs=1e-10)
    assert [raw.frequency for raw in sizes.each] == pytest.approx(
        true_sizes(items, CROWD), abs=1e-10
    )
    mean = sum(size * share for size, share in enumerate(true_sizes(items, CROWD)))
    assert sizes.mean.frequency == pytest.approx(mean, abs=1e-10)
    assert sum(wanted) == pytest.approx(mean, abs=1e-10), "the items of all sets are as many"


@pytest.mark.parametrize(("items", "weight"), [(1, 2), (2, 1), (2, 3), (3, 2), (4, 4)])
def test_errors_of_sizes_are_those_of_the_law(items: int, weight: int) -> None:
    """Per report: the variance of a sum of dummies, over devices drawn at random."""
    mechanism, scale = small(items, weight), 10**6
    n = scale * sum(CROWD.values())
    cells = [scale * cell for cell in expected_cells(mechanism, CROWD)]
    _, dummies = estimate_symbols(mechanism, cells, LEVEL)  # type: ignore[arg-type]
    made = estimate_sizes(mechanism, dummies)
    for size in range(items + 1):
        of_size = [float(i == size) - float(i == size - 1) for i in range(items)]
        require_error(made.each[size], deviation(mechanism, of_size) / math.sqrt(n))
    require_error(made.mean, deviation(mechanism, [1.0] * items) / math.sqrt(n))


def require_error(raw: Raw, error: float) -> None:
    """The standard error, and both ends of a normal interval."""
    assert raw.standard_error == pytest.approx(error, rel=1e-9)
    assert raw.high - raw.frequency == pytest.approx(LEVEL.z * error, rel=1e-8)
    assert raw.frequency - raw.low == pytest.approx(LEVEL.z * error, rel=1e-8)


def deviation(mechanism: PrivSet, coefficients: Sequence[float]) -> float:
    """The standard deviation of such a sum over the dummies of one response, over p - q."""
    first = second = 0.0
    for mask, people in CROWD.items():
        share = people / sum(CROWD.values())
        for y, mass in mechanism.law(0, b"%x" % mask, 1).items():
            value = sum(
                c for i, c in enumerate(coefficients) if mechanism.supports(mechanism.k + i, y)
            )
            first += share * float(mass) * value
            second += share * float(mass) * value**2
    return math.sqrt(second - first**2) / float(mechanism.p - mechanism.q)


def test_two_items_are_never_more_alike_than_is_assumed() -> None:
    """The true correlation of their supports is at least the one that errors rest on."""
    for items, weight in ((1, 2), (2, 2), (3, 3), (4, 2)):
        mechanism = small(items, weight)
        crowd = {mask: n for mask, n in CROWD.items() if mask.bit_count() <= items}
        cells = [round(10**9 * cell) for cell in expected_cells(mechanism, crowd)]
        for one, two in combinations(range(4), 2):
            assumed = of_values(mechanism, cells, one, two).coefficient
            found = correlation(mechanism, crowd, one, two)
            assert found >= assumed - 1e-6
            if items == 1:
                assert found == pytest.approx(assumed, abs=1e-6)
    nested = {0: 3, 0b1: 4, 0b11: 2, 0b101: 1}
    cells = [round(10**9 * cell) for cell in expected_cells(small(), nested)]
    found = correlation(small(), nested, 0, 1)
    assert of_values(small(), cells, 0, 1).coefficient == pytest.approx(found, abs=1e-6)


def correlation(mechanism: PrivSet, crowd: Mapping[int, int], one: int, two: int) -> float:
    sums = np.zeros(3)
    for mask, people in crowd.items():
        for y, mass in mechanism.law(0, b"%x" % mask, 1).items():
            named = [mechanism.supports(item, y) for item in (one, two)]
            sums += people * float(mass) * np.array([*named, all(named)])
    a, b, both = sums / sum(crowd.values())
    return float((both - a * b) / math.sqrt(a * (1 - a) * b * (1 - b)))


def set_table(**changes: object) -> dict[str, Any]:
    fields: dict[str, object] = {
        "type": "set",
        "ask": "Which of these did you use?",
        "choices": [f"tool {at}" for at in range(12)],
        "max_items": 4,
        "epsilon": 2,
        "epsilon_first": ABSENT,
        "default": [],
    }
    return boolean_table(**(fields | changes))


@cache
def asked(**changes: Any) -> Question:
    return make_survey({"tools": set_table(**changes)}, max_epsilon=16, linkable=True).questions[
        "tools"
    ]


@cache
def crowd_of(n: int) -> dict[int, int]:
    """Devices with sets of 0 to 7 of twelve tools, drawn once."""
    rng = np.random.default_rng(7)
    counted: dict[int, int] = {}
    for bits in rng.random((n, 12)) < np.linspace(0.02, 0.5, 12):
        mask = sum(1 << int(at) for at in np.flatnonzero(bits))
        counted[mask] = counted.get(mask, 0) + 1
    return counted


def counted(n: int = 20_000, day: str = "2026-11-30", seed: int = 1, **kw: Any) -> Tally:
    """A tally as devices would give it, read back from its document."""
    question = asked()
    rng = np.random.default_rng(seed)
    (cells,) = draw_tallies(question.mechanism, Population.of(crowd_of(n)), rng)
    return parse_tally(tally(question, cells.tolist(), day, **kw).document())


def test_estimates_of_many_devices_are_within_their_errors() -> None:
    """100 000 devices, all estimates within 6.5 standard errors: odds of a miss below 1e-10 each.

    The errors are as large as they should be: the squares of these sigmas average near 1.
    """
    n = 100_000
    made, crowd = estimate_sets([counted(n)]), crowd_of(n)
    assert (made.n, made.max_items) == (n, 4)
    truth = [true_item(item, 4, crowd) for item in range(12)] + true_sizes(4, crowd)
    sigmas = [
        (one.frequency - true) / one.standard_error
        for one, true in zip((*made.items, *made.sizes), truth, strict=True)
    ]
    mean = made.mean_size
    sigmas.append((mean.estimate - sum(truth[:12])) / mean.standard_error)
    assert max(map(abs, sigmas)) < 6.5
    assert max(map(abs, sigmas)) > 0.5
    assert mean.estimate == pytest.approx(sum(one.frequency for one in made.items))
    assert sum(one.frequency for one in made.sizes) == pytest.approx(1)
    assert all(one.standard_error < 0.03 for one in (*made.items, *made.sizes))


def test_intervals_cover_as_often_as_they_say() -> None:
    """250 crowds of 1 500 devices: at 95 %, at least 213 hold each size and the mean size.

    Of 250, 237.5 are expected with a deviation of 3.4 or less; 24.5 fewer are 7 of them.
    """
    mechanism, runs, n = small(3, 2), 250, 1500
    rng = np.random.default_rng(11)
    weights = np.array(list(CROWD.values())) / sum(CROWD.values())
    truth = true_sizes(3, CROWD)
    truth.append(sum(size * share for size, share in enumerate(truth)))
    held = np.zeros(len(truth))
    for _ in range(runs):
        people = rng.multinomial(n, weights).tolist()
        population = Population.of(dict(zip(CROWD, people, strict=True)))
        (cells,) = draw_tallies(mechanism, population, rng)
        _, dummies = estimate_symbols(mechanism, cells.tolist(), LEVEL)
        sizes = estimate_sizes(mechanism, dummies)
        raws = (*sizes.each, sizes.mean)
        held += [raw.low <= true <= raw.high for raw, true in zip(raws, truth, strict=True)]
    assert held.min() >= 213
    assert held.max() < runs


def test_few_devices_have_intervals_all_the_same() -> None:
    question = asked()
    rng = np.random.default_rng(2)
    (cells,) = draw_tallies(question.mechanism, Population.of({0: 2}), rng)
    made = estimate_sets([tally(question, cells.tolist())])
    ends = [(one.low, one.high) for one in (*made.items, *made.sizes)]
    assert all(low < high for low, high in ends)
    assert made.mean_size.low < made.mean_size.estimate < made.mean_size.high
    assert json.dumps(made.document(), allow_nan=False)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="deniable")


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "collector.db"
    write_store(path, [counted(day="2026-11-29", seed=2), counted()])
    return str(path)


def test_items_and_sizes_are_shown_together(store: str) -> None:
    shown = call("estimate", "tools", "--from", store)
    assert shown.exit_code == 0
    items, sizes = shown.stdout.split("Items in a set\n")
    assert "tool 11" in items
    assert "A set of more than 4 items counts as 4 of its own" in items.replace("\n  ", " ")
    assert [line.split()[0] for line in sizes.splitlines()[3:8]] == list("01234")
    assert "items on average, standard error 0." in sizes


def test_documents_and_rows_have_both(store: str) -> None:
    document = json.loads(call("estimate", "tools", "--from", store, "--format", "json").stdout)
    made = estimate("tools", store)[0]
    assert isinstance(made, SetEstimates)
    assert document == json.loads(json.dumps(made.document()))
    assert [one["value"] for one in document["sizes"]] == [0, 1, 2, 3, 4]
    assert set(document["mean_size"]) == {"estimate", "standard_error", "low", "high"}
    text = call("estimate", "tools", "--from", store, "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["statistic"] for row in rows] == ["item"] * 12 + ["size"] * 5 + ["mean size"]
    assert float(rows[0]["estimate"]) == made.items[0].frequency
    assert float(rows[-1]["estimate"]) == made.mean_size.estimate
    assert rows[-1]["value"] == rows[-1]["count"] == ""


def test_all_intervals_at_once_are_wider(store: str) -> None:
    alone, together = (estimate("tools", store, simultaneous=each)[0] for each in (False, True))
    for one, other in zip(
        (*alone.items, *alone.sizes, alone.mean_size),
        (*together.items, *together.sizes, together.mean_size),
        strict=True,
    ):
        assert other.high - one.high == pytest.approx(
            (Level(0.05, 18).z / LEVEL.z - 1) * LEVEL.z * one.standard_error, rel=1e-6
        )


def test_only_clipping_makes_sense_of_items(store: str) -> None:
    clipped = estimate("tools", store, post_process="clip")[0]
    raw = estimate("tools", store)[0]
    assert [one.frequency for one in clipped.items] == [
        min(1.0, max(0.0, one.frequency)) for one in raw.items
    ]
    assert clipped.mean_size == raw.mean_size
    for step in ("norm-sub", "simplex", "em", "nnls"):
        done = call("estimate", "tools", "--from", store, "--post-process", step)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr == (
            "Error: tools asks for a set, whose items do not add up to one; post_process must be "
            f"one of none, clip: {step}\n"
        )


def test_the_mean_of_periods_has_sizes_too(store: str) -> None:
    both = estimate("tools", store, every=True)
    pooled = estimate("tools", store, every=True, pool="mean")[0]
    for name in ("items", "sizes"):
        for at, one in enumerate(getattr(pooled, name)):
            parts = [getattr(period, name)[at] for period in both]
            assert one.frequency == pytest.approx(sum(p.frequency for p in parts) / 2)
            assert one.standard_error == pytest.approx(sum(p.standard_error for p in parts) / 2)
    means = [period.mean_size.low for period in both]
    assert pooled.mean_size.low == pytest.approx(sum(means) / 2)


def test_items_can_be_compared_followed_and_drawn(store: str, tmp_path: Path) -> None:
    periods = difference("tools", store, periods=("2026-11-29", "2026-11-30"))
    assert len(periods.differences) == 12
    values = difference("tools", store, values=("tool 0", "tool 11"))
    (one,) = values.differences
    assert values.correlation.startswith("conservative: both items are of one tally")
    made = {each.value: each for each in estimate("tools", store)[0].items}
    apart = made["tool 11"].frequency - made["tool 0"].frequency
    assert one.difference == pytest.approx(apart)
    least = math.hypot(made["tool 0"].standard_error, made["tool 11"].standard_error)
    assert least / 2 < one.standard_error < 1.2 * least, "far less than the sum of both"
    assert {point.value for point in trend("tools", store).points} == set(made)
    plot(estimate("tools", store), tmp_path / "tools.svg")
    assert "tool 11" in (tmp_path / "tools.svg").read_text("utf-8")


@pytest.mark.parametrize("value", ["tool 99", ("tool 0",), ["tool 1"], ["tool 0", "tool 11"], []])
def test_a_whole_set_is_no_item(store: str, value: Any) -> None:
    """Else the mask of a collection would pass for the place of an item."""
    with pytest.raises(ParameterError, match="tools: the value must be one of its items: tool 0,"):
        difference("tools", store, values=("tool 5", value))
    with pytest.raises(ParameterError, match="one of its items"):
        difference("tools", store, periods=("2026-11-29", "2026-11-30"), value=value)


def test_other_questions_and_other_estimators_are_refused(store: str) -> None:
    with pytest.raises(ParameterError, match=r"^tools asks for a set; use estimate_sets$"):
        estimate_tallies([counted()])
    with pytest.raises(ParameterError, match=r"^tools: the tallies of 2026-11-30 count no device$"):
        estimate_sets([tally(asked(), [0] * 17)])
    other = make_survey({"dark": boolean_table()}).questions["dark"]
    with pytest.raises(ParameterError, match=r"^dark does not ask for a set; use estimate_tall"):
        estimate_sets([tally(other, [5, 5])])
    done = call("estimate", "tools", "--from", store, "--quantiles", "0.5")
    assert done.stderr == "Error: tools does not ask for a number; leave out quantiles\n"


def test_a_crowd_of_sets_has_a_bound(store: str) -> None:
    shuffled = estimate("tools", store, shuffle_delta="1e-8")[0].shuffled
    assert shuffled is not None
    assert 0 < shuffled.upper < 0.2
    assert shuffled.method == "clones, for any randomizer"


def test_sizes_rarer_than_noise_are_suspicious() -> None:
    """Nobody names the last dummy: as many devices would have more than four items as none has."""
    one = counted()
    assert list(in_one_period([one])) == []
    cells = list(one.cells)
    cells[0] += cells[15]
    cells[15] = 0
    (found,) = in_one_period([tally(asked(), cells)])
    assert found.kind == "negative"
    assert "a size of at most 3 is counted 0 times in 20,000 reports" in found.text


TRUTH = """tools,weight
tool 0|tool 1,2
[],1
"[""tool 2""]",1
tool 0 | tool 1 | tool 2 | tool 3 | tool 4,1
,1
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    table = set_table(period="week")
    lines = "\n".join(f"{name} = {toml(value)}" for name, value in table.items())
    head = '[survey]\nformat = 1\nid = "acme-editor"\nmax_epsilon = 8\nlinkable = true\n'
    path = tmp_path / "survey.toml"
    path.write_text(f"{head}[questions.tools]\n{lines}\n", "utf-8")
    return path


def toml(value: object) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else json.dumps(value)


def test_a_rehearsal_compares_items_and_sizes(survey: Path, tmp_path: Path) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(TRUTH, "utf-8")
    made = simulate(survey, truth, devices=60_000, periods=2, seed=5)
    values = {one.value: one for one in made.values if one.period == "2026-W01"}
    assert [str(value) for value in values] == [
        *(f"tool {at}" for at in range(12)),
        *(f"size {size}" for size in range(5)),
        "mean size",
    ]
    assert values["tool 0"].truth == pytest.approx((2 + 0.8) / 6)
    assert values["tool 4"].truth == pytest.approx(0.8 / 6)
    assert values["size 0"].truth == pytest.approx(2 / 6), "an empty field is the default"
    assert values["size 4"].truth == pytest.approx(1 / 6)
    assert values["mean size"].truth == pytest.approx((4 + 1 + 4) / 6)
    assert all(abs(one.sigmas) < 7 for one in values.values())
    assert made.tallies[0].cells == made.tallies[1].cells, "answers are remembered"


@pytest.mark.parametrize("field", ["tool 99", "tool 0||tool 1", "[1]", "[", "[" * 9999, '"{}"'])
def test_a_field_that_is_no_set_is_refused(survey: Path, tmp_path: Path, field: str) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(f"tools\n{field}\n", "utf-8")
    with pytest.raises(ParameterError) as caught:
        simulate(survey, truth, devices=10)
    assert str(caught.value) == (
        f"{truth}: row 2, column tools: no answer to the question; write its choices like a|b, or "
        "[] for none, or a JSON array"
    )


@pytest.mark.parametrize(("items", "weight"), [(1, 3), (2, 2), (3, 4), (4, 1)])
def test_simulated_tallies_have_the_means_and_covariances_of_the_law(
    items: int, weight: int
) -> None:
    """400 crowds, all cells: means within 7 deviations, variances within 7 of theirs."""
    mechanism, runs = small(items, weight), 400
    rng = np.random.default_rng(13)
    population = Population.of({mask: 4 * people for mask, people in CROWD.items()})
    drawn = np.array([draw_tallies(mechanism, population, rng)[0] for _ in range(runs)], float)
    width = mechanism.shape.cells - 1
    covariance = np.zeros((width, width))
    for mask, people in CROWD.items():
        mean, square = np.zeros(width), np.zeros((width, width))
        for y, mass in mechanism.law(0, b"%x" % mask, 1).items():
            bits = np.array([y.out >> at & 1 for at in range(width)], float)
            mean += float(mass) * bits
            square += float(mass) * np.outer(bits, bits)
        covariance += 4 * people * (square - np.outer(mean, mean))
    means = 4 * np.array(expected_cells(mechanism, CROWD))
    deviations = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(drawn[:, :-1].mean(0) - means[:-1]) < 7 * deviations / math.sqrt(runs))
    assert np.all(drawn[:, -1] == 4 * sum(CROWD.values()))
    found = np.cov(drawn[:, :-1].T)
    tolerance = 7 * np.sqrt(2 / runs) * np.outer(deviations, deviations)
    assert np.all(np.abs(found - covariance) < tolerance)


def test_sets_are_drawn_from_a_population_only() -> None:
    with pytest.raises(ParameterError, match=r"^privset takes a Population: its symbols are no"):
        draw_tallies(small(), np.array([1, 2, 3, 4]), np.random.default_rng(1))
    with pytest.raises(ParameterError, match=r"^privset is drawn report by report; ask for 1000"):
        draw_tallies(small(), Population.of({0: 2 * 10**9}), np.random.default_rng(1))
