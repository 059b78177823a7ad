"""Named strings are estimated without bias, and their errors hold noise and collisions.

Everything follows from fixed seeds and secrets; tolerances are such that others would fail with
odds below 1e-9.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from scipy.stats import binom, chi2
from text_questions import answered, epsilons, text_question, zipf

from deniable.analysis import estimate_tallies, estimate_texts
from deniable.analysis.estimators import Level, estimate_supports
from deniable.analysis.simulation import Population, draw_tallies
from deniable.analysis.supports import Supports
from deniable.analysis.suspicion.noise import in_one_period
from deniable.analysis.texts.estimates import JOINT, Fit, estimate_codes, fit
from deniable.analysis.texts.hash_rows import residues
from deniable.analysis.texts.tables import Table, table_of
from deniable.protocol.errors import ParameterError
from deniable.protocol.mechanisms import FrequencyOracle, build
from deniable.protocol.tally import Tally

LEVEL = Level(0.05)
SIGMAS = 6.5
"""Two-sided odds of 8e-11 for a normal error."""


def sketch(name: str, **options: int) -> FrequencyOracle:
    made = build(name, 2, Decimal(4), None, options)
    assert isinstance(made, FrequencyOracle)
    return made


def tabulated(
    mechanism: FrequencyOracle,
    first: int,
    codes: list[int],
    people: np.ndarray,
    rng: np.random.Generator,
) -> Table:
    """What a crowd answers to a CMS whose hash rows begin at another number."""
    rows, width = mechanism.shape.rows, mechanism.shape.width
    p, q = mechanism.p, 1 - mechanism.p
    none = np.zeros(rows, dtype=np.int64)
    where = Table("cms", first, p, q, none, np.zeros((rows, width), np.int64)).places(
        residues(codes)
    )
    spread = rng.multinomial(people, np.full(rows, 1 / rows)).T
    held = np.zeros((rows, width), dtype=np.int64)
    np.add.at(held, (np.arange(rows)[:, None], where), spread)
    n = held.sum(axis=1)
    ones = rng.binomial(held, float(p)) + rng.binomial(n[:, None] - held, float(q))
    return Table("cms", first, p, q, n, ones)


@pytest.mark.parametrize("named", [1, 4])
def test_over_all_rows_estimates_are_unbiased_and_errors_true(named: int) -> None:
    """The numbers of these texts follow one another, and in few rows they collide often.

    The heaviest string, which is not named, makes most of the error.
    """
    rng, runs = np.random.default_rng(3), 500
    mechanism = sketch("cms", rows=12, width=16)
    codes = list(range(1000, 1040))
    shares = np.array([0.02, 0.05, 0.1, 0.01, 0.4, *[0.42 / 35] * 35])
    errors, stated = np.empty((runs, named)), np.empty((runs, named))
    for run in range(runs):
        people = rng.multinomial(4000, shares)
        table = tabulated(mechanism, 12 * run, codes, people, rng)
        found = fit(mechanism, table, codes[:named], LEVEL)
        assert found.joint
        errors[run] = found.raws.frequency - shares[:named]
        stated[run] = found.raws.standard_error**2
    spread = errors.std(axis=0)
    assert np.all(np.abs(errors.mean(axis=0)) < SIGMAS * spread / math.sqrt(runs))
    squares = errors**2
    off = np.abs(squares.mean(axis=0) - stated.mean(axis=0))
    assert np.all(off < SIGMAS * squares.std(axis=0) / math.sqrt(runs))
    noise = estimate_supports(mechanism, Supports([500], [4000]), LEVEL).standard_error
    assert np.all(spread > 1.2 * noise), "collisions are no part of this error"


def test_collisions_of_named_strings_with_each_other_are_taken_out() -> None:
    rng = np.random.default_rng(4)
    mechanism = sketch("cms", rows=12, width=16)
    codes, shares = list(range(70, 76)), np.array([0.6, 0.2, 0.1, 0.05, 0.05, 0.0])
    table = tabulated(mechanism, 0, codes, rng.multinomial(200_000, shares), rng)
    together = fit(mechanism, table, codes, LEVEL)
    alone = [fit(mechanism, table, [code], LEVEL) for code in codes]
    off = np.abs(together.raws.frequency - shares)
    assert np.all(off < SIGMAS * together.raws.standard_error)
    assert max(abs(one.raws.frequency[0] - f) for one, f in zip(alone, shares, strict=True)) > 0.02
    assert together.raws.standard_error.max() < 0.004 < alone[1].raws.standard_error[0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cms", {"rows": 60, "width": 16}),
        ("hcms", {"rows": 60, "width": 16}),
        ("pem", {"letters": 26, "length": 1, "rows": 60, "g": 16}),
    ],
)
def test_what_others_collide_with_is_estimated_without_bias(
    name: str, options: dict[str, int]
) -> None:
    """One string of 0.7 and many rare ones: the sum of squares is 0.49, whatever the rows.

    Few devices a row, so that what noise adds to squares is not small. The rows in use add
    2 * 0.7 sqrt(300e-6 / 16) / sqrt(60) to the error, below 0.001.
    """
    mechanism, rng = sketch(name, **options), np.random.default_rng(12)
    shares = np.array([0.7, *[0.001] * 300])
    expected = float((shares**2).sum())
    sums = []
    for _ in range(200):
        counted = dict(enumerate(rng.multinomial(1200, shares).tolist(), start=1))
        (cells,) = draw_tallies(mechanism, Population.of(counted), rng)
        found = estimate_codes(mechanism, cells.tolist(), [1000], LEVEL)
        reports = table_of(mechanism, cells.tolist()).reports
        uneven = float(((reports / reports.sum()) ** 2).sum()) / 15
        sums.append(found.collisions**2 / uneven)
    assert min(sums) > 0.2
    assert max(sums) < 0.95, "clipped"
    error = float(np.std(sums)) / math.sqrt(len(sums)) + 0.001
    assert abs(np.mean(sums) - expected) < SIGMAS * error < 0.04


def z_scores(found: Fit, shares: np.ndarray) -> np.ndarray:
    raws = found.raws
    return (raws.frequency[: len(shares)] - shares) / raws.standard_error[: len(shares)]


@pytest.mark.parametrize("name", ["cms", "hcms"])
def test_the_top_hundred_of_a_hundred_thousand_strings(name: str) -> None:
    """A million devices at epsilon 4: nearly all within three errors, and the errors not bloated.

    The sum of squares of 200 standard normal errors has a chi-squared distribution.
    """
    mechanism = sketch(name)
    squares, covered = 0.0, 0
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        population, shares = zipf(100_000, 1_000_000, rng)
        (cells,) = draw_tallies(mechanism, population, rng)
        top = population.symbols[:100].tolist()
        found = estimate_codes(mechanism, cells.tolist(), top, LEVEL)
        scores = z_scores(found, shares[:100])
        assert (np.abs(scores) <= 3).sum() >= 95
        squares += float((scores**2).sum())
        inside = (found.raws.low[:100] <= shares[:100]) & (shares[:100] <= found.raws.high[:100])
        covered += int(inside.sum())
    assert chi2.ppf(5e-10, 200) < squares < chi2.isf(5e-10, 200)
    assert covered >= binom.ppf(1e-9, 200, 0.95)


@pytest.mark.parametrize("first", [None, "2"])
@pytest.mark.parametrize("name", ["cms", "hcms", "pem"])
def test_what_real_devices_send_is_estimated(name: str, first: str | None) -> None:
    question = text_question(name, **epsilons("4", first))
    people = {"apple": 700, "PEAR ": 400, "fig": 200, "no fit!": 200}
    tally = answered(question, people)
    made = estimate_texts([tally], ["Apple", "pear", "zebra", "fig"], confidence=0.9)
    assert [one.value for one in made.estimates] == ["apple", "pear", "zebra", "fig", "(other)"]
    shares = [700 / 1500, 400 / 1500, 0, 200 / 1500, 200 / 1500]
    for one, share in zip(made.estimates, shares, strict=True):
        assert abs(one.frequency - share) < SIGMAS * one.standard_error < 0.5
        assert one.low < one.frequency < one.high
        assert one.count == pytest.approx(one.frequency * 1500)
    assert (made.n, made.mechanism, made.confidence) == (1500, name, 0.9)
    assert (made.question, made.period) == ("word", "2026-W49")
    assert list(in_one_period([tally])) == []


def test_the_last_level_of_pem_alone_is_about_whole_texts() -> None:
    question = text_question("pem")
    tally = answered(question, {"apple": 300})
    table = table_of(question.mechanism, tally.cells)
    last = tally.cells[table.first * question.mechanism.k :]
    assert table.n == sum(last) < tally.n
    found = estimate_codes(question.mechanism, tally.cells, [question.encode("apple")], LEVEL)
    assert found.raws.standard_error[0] > 0


def test_tallies_of_several_segments_add_up() -> None:
    question = text_question("cms")
    one, two = (answered(question, {"apple": n, "pear": 40}) for n in (60, 20))
    cells = tuple(a + b for a, b in zip(one.cells, two.cells, strict=True))
    tallies = [replace(one, segment="a"), replace(two, segment="b")]
    whole = Tally(question, "2026-W49", None, one.n + two.n, cells)
    apart, together = estimate_texts(tallies, ["apple"]), estimate_texts([whole], ["apple"])
    assert apart.estimates == together.estimates
    assert apart.segments == ("a", "b")


def test_too_many_strings_are_each_by_itself() -> None:
    """No more than one for eight buckets; what is by itself is a plain frequency oracle's."""
    question = text_question({"name": "cms", "rows": 10, "width": 17})
    tally = answered(question, {"apple": 200, "pear": 100})
    crowd = [question.encode("c" * n + "d" * m) for n in range(1, 5) for m in range(5)]
    at_most = estimate_codes(question.mechanism, tally.cells, crowd, LEVEL)
    more = estimate_codes(question.mechanism, tally.cells, [*crowd, 77], LEVEL)
    assert (at_most.joint, more.joint) == (True, False)
    table = table_of(question.mechanism, tally.cells)
    counts = [
        sum(int(table.supports[row, at]) for row, at in enumerate(where))
        for where in table.places(residues([*crowd, 77])).T.tolist()
    ]
    plain = estimate_supports(question.mechanism, Supports(counts, [300] * 21), LEVEL)
    assert more.raws.frequency.tolist() == plain.frequency.tolist()
    assert np.all(more.raws.standard_error >= plain.standard_error)


def test_any_number_of_strings_may_be_named() -> None:
    mechanism = sketch("hcms", rows=2, width=4)
    (cells,) = draw_tallies(mechanism, zipf(50, 5000, np.random.default_rng(5))[0],
                            np.random.default_rng(6))  # fmt: skip
    found = estimate_codes(mechanism, cells.tolist(), range(5 * JOINT), LEVEL)
    assert len(found.raws) == 5 * JOINT
    assert not found.joint
    some = estimate_codes(mechanism, cells.tolist(), range(4090, 4100), LEVEL)
    assert found.raws.frequency[4090:4100].tolist() == some.raws.frequency.tolist()


def test_strings_that_no_row_tells_apart_are_each_by_itself() -> None:
    mechanism = sketch("cms", rows=1, width=40)
    places = table_of(mechanism, [0] * 41).places(residues(range(30)))[0].tolist()
    twins = next([i, places.index(at)] for i, at in enumerate(places) if places.index(at) < i)
    cells = [10] * 40 + [100]
    found = estimate_codes(mechanism, cells, twins, LEVEL)
    assert not found.joint
    assert found.raws[0] == found.raws[1]


def test_few_counts_have_exact_intervals() -> None:
    """Where a string is supported by nobody, its interval still has an upper end."""
    question = text_question("pem", epsilon=8)
    tally = answered(question, {"apple": 40})
    (zebra, _) = estimate_texts([tally], ["zebra"]).estimates
    assert zebra.frequency < zebra.high
    assert zebra.standard_error > 0
    assert zebra.high > 0.05


def test_simultaneous_intervals_are_wider_and_hold_for_all_strings() -> None:
    question = text_question("cms")
    tally = answered(question, {"apple": 1500})
    each = estimate_texts([tally], ["apple", "pear"]).estimates
    together = estimate_texts([tally], ["apple", "pear"], simultaneous=True).estimates
    wider = Level(0.05, 3).z / Level(0.05).z
    for one, other in zip(each, together, strict=True):
        assert other.standard_error == one.standard_error
        assert (other.high - other.low) / (one.high - one.low) == pytest.approx(wider, rel=1e-6)


def test_a_broken_bucket_is_warned_of() -> None:
    question = text_question("cms")
    tally = answered(question, {"apple": 2000, "pear": 500})
    cells = list(tally.cells)
    row = max(range(254), key=lambda j: cells[129 * j + 128])
    cells[129 * row] = 0
    broken = Tally(question, "2026-W49", None, tally.n * 200, tuple(200 * x for x in cells))
    (warning,) = [one for one in in_one_period([broken]) if one.kind == "negative"]
    assert f"bucket 0 of row {row} is counted 0 times" in warning.text


def test_a_text_question_is_not_taken_for_a_choice() -> None:
    question = text_question("hcms")
    tally = answered(question, {"apple": 3})
    with pytest.raises(ParameterError, match=r"^word asks for a text; use estimate_texts$"):
        estimate_tallies([tally])
    empty = Tally(question, "2026-W49", None, 0, (0,) * question.mechanism.shape.cells)
    with pytest.raises(ParameterError, match="count no device"):
        estimate_texts([empty], ["apple"])
