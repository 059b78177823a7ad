"""Discovery finds what is frequent, and says how often it reports what is not there.

Everything follows from fixed seeds; tolerances are such that others would fail with odds below
1e-9. ``python -m benchmarks.discovery`` does the same at full size, many times.
"""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from deniable.analysis.simulation import Population, draw_tallies
from deniable.analysis.texts.branches import Branches, Tree
from deniable.analysis.texts.discovery import BREADTH, BREADTHS, Discovery, discover
from deniable.analysis.texts.hash_rows import places, residues, summed
from deniable.analysis.texts.levels import Level
from deniable.analysis.texts.placements import log_p_values, log_tails
from deniable.analysis.texts.significance import listed, weights
from deniable.protocol.mechanisms.pem import PEM
from deniable.protocol.text_form import base_of

SMALL = {"letters": 5, "length": 4, "first": 2, "rows": 6}
RUNS, RATE = 200, 0.05


def pem(epsilon: str = "4", **options: int) -> PEM:
    return PEM.resolve(2, Decimal(epsilon), None, options)


def codes_of(words: np.ndarray, letters: int) -> list[int]:
    """The numbers of texts, given by their digits, one row for each."""
    return (words @ base_of(letters) ** np.arange(words.shape[1])[::-1]).tolist()


def found_among(mechanism: PEM, people: dict[int, int], seed: int, alpha: float) -> Discovery:
    (cells,) = draw_tallies(mechanism, Population.of(people), np.random.default_rng(seed))
    return discover(mechanism, cells.tolist(), alpha)


def test_most_of_the_frequent_strings_are_found_and_few_false_ones() -> None:
    """45 at least of the top 50 of 100 000 Zipf strings, by a million devices at epsilon 4.

    The share of false strings is one in twenty on average; with 60 strings the tolerance is that
    of a binomial count.
    """
    rng, size = np.random.default_rng(101), 5
    words = rng.integers(1, 27, (100_000, size))
    words[np.arange(size) >= rng.integers(4, size + 1, len(words))[:, None]] = 0
    shares = 1 / np.arange(1, len(words) + 1)
    people = rng.multinomial(10**6, shares / shares.sum())
    codes = codes_of(words, 26)
    population: dict[int, int] = {}
    for code, count in zip(codes, people.tolist(), strict=True):
        population[code] = population.get(code, 0) + count
    found = found_among(pem(letters=26, length=size), population, 1, RATE)
    assert len(set(found.codes) & set(codes[:50])) >= 45
    false = [code for code in found.codes if not population.get(code)]
    assert len(false) <= binom.isf(1e-9, len(found.codes), RATE)
    assert population[found.codes[0]] == max(population.values())
    assert list(found.p_values) == sorted(found.p_values)
    assert shares[50] / shares.sum() < found.smallest < shares[30] / shares.sum()


def noise(alpha: float) -> tuple[int, int]:
    """In how many of the runs on uniform noise there are false strings, and how many in all."""
    mechanism, runs, strings = pem(**SMALL), 0, 0
    for seed in range(RUNS):
        words = np.random.default_rng(seed).integers(1, 6, (300, 4))
        codes, people = np.unique(codes_of(words, 5), return_counts=True)
        population = dict(zip(codes.tolist(), people.tolist(), strict=True))
        found = found_among(mechanism, population, 1000 + seed, alpha)
        false = len(set(found.codes) - set(population))
        runs, strings = runs + (false > 0), strings + false
    return runs, strings


def test_uniform_noise_is_reported_no_more_often_than_stated() -> None:
    """With 135 reports of whole texts, of which a bucket has two: tails must be exact."""
    runs, strings = noise(RATE)
    assert runs <= binom.isf(1e-9, RUNS, RATE)
    assert 0 < runs <= strings


def test_what_chance_makes_of_a_string_that_nobody_has() -> None:
    """The last level's p-values are uniform, with frequent strings beside and without."""
    rng, n, g, rows = np.random.default_rng(3), 60_000, 32, 60
    slope, strings = 0.4, residues(range(10**6, 10**6 + 4000))
    for shares in ([], [0.2, 0.1, 0.05], [0.007] * 100):
        held = np.full((rows, g), (1 - slope * sum(shares)) / g)
        frequent = residues(range(len(shares)))
        for row, at in enumerate(places("pem", range(rows), frequent, g)):
            np.add.at(held[row], at, slope * np.array(shares))
        level = Level.of("pem", 0, slope, rng.multinomial(n // rows, held))
        level = level.cleared(frequent, 4.5) if shares else level
        everyone = np.concatenate([strings, frequent])
        p_values = np.exp(log_p_values(level, everyone, np.zeros(len(everyone)), 1e-6)[:4000])
        for limit in (0.5, 0.05, 0.005):
            hits = int((p_values <= limit).sum())
            assert hits <= binom.isf(1e-10, len(p_values), limit)
            assert hits >= binom.isf(1 - 1e-10, len(p_values), 0.6 * limit)


@pytest.mark.parametrize(
    ("epsilon", "options"),
    [("8", {"length": 6}), ("8", {"length": 3, "rows": 2}), ("4", {"length": 6, "rows": 3})],
)
def test_collisions_in_few_rows_make_no_string(epsilon: str, options: dict[str, int]) -> None:
    """Zipf strings, some of them beside those that are fitted, in rows that are few for g.

    The share of false strings is one in twenty on average, and one at most in a run: the tolerance
    is Bernstein's for 12 of those.
    """
    mechanism, shares = pem(epsilon, letters=26, **options), []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        codes = codes_of(rng.integers(1, 27, (200, mechanism.length)), 26)
        sizes = 1 / np.arange(1, 201) ** 1.2
        people = dict(zip(codes, rng.multinomial(10**5, sizes / sizes.sum()), strict=True))
        found = found_among(mechanism, people, 2000 + seed, RATE)
        shares.append(sum(code not in people for code in found.codes) / max(1, len(found.codes)))
    spread = 12 * RATE  # of a share with the mean RATE, at most
    nats = math.log(1e9)
    assert sum(shares) <= 12 * RATE + nats / 3 + math.sqrt((nats / 3) ** 2 + 2 * nats * spread)


def test_frequent_prefixes_are_fitted_and_taken_away() -> None:
    rng, n, g, rows, slope = np.random.default_rng(4), 400_000, 32, 50, 0.4
    shares = np.array([0.3, 0.1, 0.05, 0.02])
    frequent = residues([7, 2**70, 81, 4])
    held = np.full((rows, g), (1 - slope * shares.sum()) / g)
    for row, at in enumerate(places("pem", range(rows), frequent, g)):
        np.add.at(held[row], at, slope * shares)
    level = Level.of("pem", 0, slope, rng.multinomial(n // rows, held))
    pool = residues([*range(1000, 2000), 7, 2**70, 81, 4])
    cleared = level.cleared(pool, 4.5)
    assert set(cleared.fitted.tolist()) == set(frequent.tolist())
    order = [cleared.fitted.tolist().index(one) for one in frequent.tolist()]
    errors = (cleared.frequencies[order] - shares) / level.error
    assert np.all(np.abs(errors) < 7.5)
    assert level.inflation > 10 > 1.2 > cleared.inflation
    scored = cleared.scores(frequent) + cleared.own(frequent)
    assert np.allclose(scored / level.unit, cleared.frequencies[order])
    assert cleared.own(pool[:1000]).tolist() == [0.0] * 1000


@pytest.mark.parametrize(
    ("letters", "length", "steps"), [(2, 3, (1, 1, 1)), (3, 4, (2, 2)), (1, 5, (5,))]
)
def test_branches_reach_every_text_once(letters: int, length: int, steps: tuple[int, ...]) -> None:
    tree = Tree(letters, length)
    branches = Branches.root(tree)
    for step in steps:
        children = branches.extended(step, 10**6)
        branches = children.kept(np.arange(len(children)), children.log_odds())
    texts = {
        sum(digit * base_of(letters) ** (length - 1 - place) for place, digit in enumerate(word))
        for size in range(length + 1)
        for word in product(range(1, letters + 1), repeat=size)
    }
    codes = [children.code(child) for child in range(len(children))]
    assert sorted(codes) == sorted(texts)
    assert math.isclose(tree.log_size, math.log(len(texts)))
    assert branches.hashed.tolist() == residues(codes).tolist()
    assert math.isclose(np.exp(tree.log_prior(branches.used, length)).sum(), 1)
    assert codes[int(children.empty[0])] == 0


def test_only_the_likeliest_go_on() -> None:
    tree = Tree(3, 4)
    children = Branches.root(tree).extended(2, 100)
    odds = np.linspace(-9, 0, len(children))
    branches = children.kept(np.arange(len(children)), odds)
    some = branches.extended(1, 8)
    best = np.flatnonzero(branches.used == 2)[-2:]
    assert set(some.going.tolist()) == {0, 1}
    assert some.parents.digits[:2].tolist() == branches.digits[best[::-1]].tolist()
    assert len(some) == 2 * 4 + int((branches.used < 2).sum())


def test_entries_are_summed_over_rows_and_neighbours() -> None:
    rng = np.random.default_rng(5)
    table, start = rng.random((7, 13)), residues([0, 27**9, 2**61 - 4, 2**200])
    found = summed("pem", 11, table, start, 9)
    for step in range(9):
        codes = (start.astype(object) + step).tolist()
        at = places("pem", range(11, 18), residues(codes), 13)
        assert np.allclose(found[step], np.take_along_axis(table, at, axis=1).sum(axis=0))


def test_a_text_has_the_same_buckets_whatever_it_is_looked_up_with() -> None:
    codes = residues(range(10**12, 10**12 + 700))
    together = places("pem", range(90), codes, 56)
    alone = [places("pem", range(90), codes[[i]], 56)[:, 0].tolist() for i in (0, 363, 364, 699)]
    assert together[:, [0, 363, 364, 699]].T.tolist() == alone


def test_a_greater_breadth_loses_fewer_strings_before_they_are_tested() -> None:
    """30 strings are barely frequent enough, beside 3000 rare ones."""
    mechanism, rng = pem("3", letters=26, length=5, rows=40), np.random.default_rng(8)
    codes = codes_of(rng.integers(1, 27, (3030, 5)), 26)
    people = dict(zip(codes, [1600] * 30 + [50] * 3000, strict=True))
    number = dict.fromkeys((BREADTHS[0], BREADTH), 0)
    for seed in range(3):
        (cells,) = draw_tallies(mechanism, Population.of(people), np.random.default_rng(seed))
        for breadth in number:
            found = discover(mechanism, cells.tolist(), RATE, breadth)
            number[breadth] += len(set(found.codes) & set(codes[:30]))
            assert breadth / 2 < found.candidates < 1.1 * breadth
    assert 0 < 1.3 * number[BREADTHS[0]] < number[BREADTH]


def distribution(table: np.ndarray) -> np.ndarray:
    """The probabilities of all sums of one whole number of each row, from the least on."""
    found = np.ones(1)
    for row in table:
        found = np.convolve(found, np.bincount(row - row.min()) / len(row))
    return found


@pytest.mark.parametrize("rows", [1, 2, 6, 31])
def test_with_few_rows_the_tail_is_a_bound(rows: int) -> None:
    rng = np.random.default_rng(rows)
    table = rng.poisson(4, (rows, 20))
    table[:, 3] += 200
    table = table * 20 - table.sum(axis=1, keepdims=True)  # so that the mean of a row is 0
    masses = distribution(table)
    scores = table.min(axis=1).sum() + np.arange(len(masses))
    exact = np.cumsum(masses[::-1])[::-1]
    found = np.exp(log_tails(table.astype(float), scores.astype(float)))
    assert np.all(found >= exact * (1 - 1e-9) - 1e-15)
    assert found[-1] == pytest.approx(20.0**-rows, rel=0.05)


def test_with_many_rows_the_tail_is_close() -> None:
    rng = np.random.default_rng(11)
    table = rng.poisson(40, (60, 20))
    table[:, 3] += 25
    table = table * 20 - table.sum(axis=1, keepdims=True)
    masses = distribution(table)
    exact = np.cumsum(masses[::-1])[::-1]
    scores = table.min(axis=1).sum() + np.arange(len(masses))
    far = (exact < 0.1) & (exact > 1e-9)
    found = np.exp(log_tails(table.astype(float), scores.astype(float)))
    assert np.all(np.abs(found[far] / exact[far] / 1.2 - 1) < 0.15)


def test_the_level_is_shared_and_the_likely_have_more() -> None:
    odds = -np.linspace(0, 40, 5000)
    share = weights(odds, 4.5, RATE)
    assert share.sum() == pytest.approx(1)
    assert np.all(np.diff(share) <= 0)
    assert share[0] < 1 / 300 < 600 * share[-1] + 1
    assert weights(np.zeros(10), 4.5, RATE).tolist() == pytest.approx([0.1] * 10)


def test_as_many_are_listed_as_the_share_of_errors_allows() -> None:
    assert listed(np.array([0.2, 0.06, 0.01, 0.14, 7.0]), 0.05).tolist() == [2, 1, 3, 0]
    assert listed(np.array([0.06, 0.11, 0.2]), 0.05).tolist() == []


def test_texts_that_do_not_fit_are_found_like_others() -> None:
    mechanism = pem(letters=5, length=5, first=2, rows=40)
    people = {0: 30_000, 6**4 * 3: 20_000, 6**5 - 1: 50_000}
    found = found_among(mechanism, people, 5, RATE)
    assert set(people) <= set(found.codes)


def test_without_reports_nothing_is_found() -> None:
    mechanism = pem(**SMALL)
    found = discover(mechanism, [0] * mechanism.shape.cells, RATE)
    assert found.codes == ()
    assert (found.reports, found.smallest) == (0, 1.0)


@pytest.mark.parametrize("options", [{"letters": 500, "length": 2}, {"letters": 1, "length": 64}])
def test_alphabets_of_any_size(options: dict[str, int]) -> None:
    mechanism = pem("8", **options, rows=4, g=64)
    base = base_of(options["letters"])
    code = sum(base**place for place in range(options["length"]))
    found = found_among(mechanism, {code: 4000}, 6, RATE)
    assert found.codes[0] == code
