"""Warnings of fake or broken reports: how often they are false, and what they find.

Odds are computed exactly wherever the test is a count; simulations are seeded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from survey_documents import boolean_table, choice_table, make_survey
from tally_places import tally, write_store

from deniable.analysis import Estimates, estimate, estimate_numbers, estimate_tallies
from deniable.analysis.cli import main
from deniable.analysis.decode import Supports
from deniable.analysis.estimators import Level, estimate_supports
from deniable.analysis.simulation import draw_tallies
from deniable.analysis.suspicion.drift import LEAST_DRIFT, MISS
from deniable.analysis.suspicion.noise import in_one_period
from deniable.analysis.suspicion.tails import at_most, off_the_mean, too_few
from deniable.analysis.suspicion.warned import with_warnings
from deniable.analysis.suspicion.warning import ODDS, TESTED, Suspicion
from deniable.protocol.mechanisms import MECHANISMS, FrequencyOracle, Mechanism, build, named
from deniable.protocol.mechanisms.rappor import Rappor
from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.tally import Tally

N = 100_000
FAKES = N // 20


def asked(
    k: int = 16, mechanism: object = "grr", epsilon: object = 1, **changes: object
) -> Question:
    """A daily question of k choices."""
    table = choice_table(
        choices=[f"c{i}" for i in range(k)],
        mechanism=mechanism,
        epsilon=epsilon,
        period="day",
        **changes,
    )
    return make_survey({"one": table}, max_epsilon=16, linkable=True).questions["one"]


def drawn(
    question: Question, population: Sequence[int], seed: int, periods: int = 1
) -> list[Tally]:
    rng = np.random.default_rng(seed)
    tallies = draw_tallies(question.mechanism, np.array(population), rng, periods)
    return [
        tally(question, cells.tolist(), f"2026-11-{day + 1:02}")
        for day, cells in enumerate(tallies)
    ]


def with_fakes(honest: Tally, response: Response, fakes: int = FAKES) -> Tally:
    """The tally with so many more reports, all alike."""
    shape = honest.question.mechanism.shape
    lie = [0] * shape.cells
    shape.fold(lie, response)
    cells = tuple(cell + fakes * more for cell, more in zip(honest.cells, lie, strict=True))
    return replace(honest, n=honest.n + fakes, cells=cells)


def warned(*tallies: Tally) -> list[tuple[Suspicion, ...]]:
    """The warnings of each of several periods."""
    chosen = [[one] for one in tallies]
    if tallies[0].question.range is not None:
        return [one.warnings for one in with_warnings(tuple(map(estimate_numbers, chosen)), chosen)]
    return [one.warnings for one in with_warnings(tuple(map(estimate_tallies, chosen)), chosen)]


def kinds(*tallies: Tally) -> list[list[str]]:
    return [[one.kind for one in found] for found in warned(*tallies)]


def spread(k: int, n: int = N - FAKES, absent: int = 1) -> list[int]:
    """n devices over k values, of which the last so many are nobody's."""
    there = k - absent
    return [n // there + (i < n % there) for i in range(there)] + [0] * absent


# Odds of a false warning


def binomial(n: int, chance: Fraction) -> list[int]:
    """P(Bin(n, chance) = c) for c = 0..n, exactly, in units of 1 / chance.denominator^n."""
    set_, unset = chance.numerator, chance.denominator - chance.numerator
    return [math.comb(n, i) * set_**i * unset ** (n - i) for i in range(n + 1)]


def below(n: int, chance: Fraction) -> list[Fraction]:
    """P(Bin(n, chance) <= c) for c = 0..n, exactly."""
    return [Fraction(one, chance.denominator**n) for one in accumulate(binomial(n, chance))]


@pytest.mark.parametrize("chance", [Fraction(1, 3), Fraction(1, 1000)])
def test_tails_are_binomial(chance: Fraction) -> None:
    exact = [float(one) for one in below(60, chance)]
    assert at_most(range(61), 60, float(chance)) == pytest.approx(exact, rel=1e-9)


def test_both_tails_count() -> None:
    """Of equal bits the bound is twice the exact tail, on either side."""
    mean, exact = Fraction(200) / 3, below(200, Fraction(1, 3))
    for total in (45, 90):
        tail = exact[total] if total < mean else 1 - exact[total - 1]
        assert off_the_mean(total, 200, mean) == pytest.approx(float(2 * tail), rel=1e-9)
    assert off_the_mean(70, 200, mean) == 1


def test_there_is_room_for_the_responses_that_are_refused() -> None:
    """Up to 10^11 devices: all that are left are honest but for their popcount."""
    assert 0.8 * ODDS < TESTED < TESTED * math.exp(1e11 / 1e12) < ODDS


@pytest.mark.parametrize(("k", "n"), [(2, 60), (16, 60), (16, 300)])
def test_few_counts_are_rarely_taken_for_fake(k: int, n: int) -> None:
    """Whatever the population, a count is at least one of Bin(n, q): the exact odds of k of them.

    And the limit is the right one: a warning at one count more would be too likely.
    """
    mechanism = build("grr", k, Decimal(1))
    assert isinstance(mechanism, FrequencyOracle)
    odds = [too_few([count] + [n] * (k - 1), [n] * k, float(mechanism.q))[0] for count in range(n)]
    exact = below(n, mechanism.q)
    warned = [count for count in range(n) if odds[count] < TESTED]
    chance = exact[warned[-1]] if warned else Fraction(0)
    assert k * chance < ODDS
    assert k * exact[len(warned)] > TESTED * 0.999
    assert bool(warned) == (k == 2 or n == 300)


UNARY = [("sue", {}), ("oue", {}), ("dbitflip", {"bits": 4}), ("dbitflip", {"bits": 2})]
UNARY += [("rappor", {"bits": 6, "hashes": 2, "cohorts": 3})]


@pytest.mark.parametrize(("name", "options"), [("grr", {}), UNARY[-1]])
def test_a_warning_begins_where_the_odds_say(name: str, options: dict[str, int]) -> None:
    """At the last count that is rare enough, and not at the next one."""
    n, question = 300, asked(4, {"name": name, **options}, 2)
    mechanism = question.mechanism
    assert isinstance(mechanism, FrequencyOracle | Rappor)
    bloom = isinstance(mechanism, Rappor)
    exact = below(n, mechanism.q)
    counts = mechanism.shape.rows * mechanism.shape.width if bloom else 4
    last = max(count for count in range(n) if counts * exact[count] < TESTED)
    for count, seen in ((last, True), (last + 1, False)):
        cells = [count, 100, 100, 100 - count]
        if bloom:
            cells = ([n // 2] * mechanism.shape.width + [n]) * mechanism.shape.rows
            cells[0] = count
        found = in_one_period([tally(question, cells, "2026-11-01")])
        assert ("negative" in [one.kind for one in found]) == seen


@pytest.mark.parametrize(("name", "options"), UNARY)
def test_popcounts_are_rarely_taken_for_fake(name: str, options: dict[str, int]) -> None:
    """The sum of all bits of 25 reports, exactly: Bin(25 a, p) and Bin(25 (w - a), q)."""
    n, mechanism = 25, build(name, 4, Decimal(2), Decimal(1), options)
    assert isinstance(mechanism, FrequencyOracle | Rappor)
    width, p, q = mechanism.shape.width, mechanism.p, mechanism.q
    ones = options.get("hashes", 1)
    own = p
    if options.get("bits") == 2:  # half of the devices are asked about their value
        own = (p + q) / 2
    law = [0] * (n * width + 1)
    for i, set_ in enumerate(binomial(n * ones, own)):
        for j, others in enumerate(binomial(n * (width - ones), q)):
            law[i + j] += set_ * others
    whole = sum(law)
    mean = mechanism.mean_popcount
    assert mean is not None
    assert sum(total * mass for total, mass in enumerate(law)) == n * mean * whole
    false = sum(
        mass for total, mass in enumerate(law) if off_the_mean(total, n * width, n * mean) < TESTED
    )
    assert 1e-9 < false / whole < ODDS


@pytest.mark.parametrize("frequency", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("n", [1_000, 20_000, 200_000])
@pytest.mark.parametrize("name", ["grr", "oue"])
def test_drift_is_rarely_seen_where_nothing_moved(name: str, n: int, frequency: float) -> None:
    """The intervals of two periods part only if one misses: twice the exact odds of that."""
    from scipy.stats import binom

    mechanism = build(name, 4, Decimal(1))
    assert isinstance(mechanism, FrequencyOracle)
    gamma = float(mechanism.q) + frequency * float(mechanism.p - mechanism.q)
    counts = np.arange(n + 1)
    raws = estimate_supports(mechanism, Supports(counts, np.full(n + 1, n)), Level(MISS, 4))
    missed = (raws.low > frequency) | (raws.high < frequency)
    odds = float(binom.pmf(counts[missed], n, gamma).sum())
    assert 2 * 4 * odds < ODDS


@pytest.mark.parametrize("name", [*named("choice"), *named("number")])
def test_honest_crowds_are_let_be(name: str) -> None:
    """Of the same people in five periods, some values nobody's; ten seeds."""
    question = asked(16, name, 2) if MECHANISMS[name].asks == "choice" else number(name)
    for seed in range(10):
        tallies = drawn(question, spread(16, 5_000, 6), seed, 5)
        assert kinds(*tallies) == [[]] * 5


def number(mechanism: str) -> Question:
    table = boolean_table(
        type="number",
        range={"low": 0, "high": 15, "steps": 15},
        mechanism=mechanism,
        epsilon=2,
    )
    for name in ("default", "epsilon_first"):
        del table[name]
    return make_survey({"one": table}, max_epsilon=16, linkable=True).questions["one"]


# What is found: 5 % of fake devices among 100 000


def sigmas(mechanism: Mechanism) -> float:
    """By how many standard errors the count of a value nobody has falls short."""
    assert isinstance(mechanism, FrequencyOracle)
    q = float(mechanism.q)
    return FAKES * q / math.sqrt((N - FAKES) * q * (1 - q))


@pytest.mark.parametrize(("k", "seen"), [(2, True), (4, True), (16, False)])
def test_one_symbol_of_grr_is_found_while_noise_allows(k: int, seen: bool) -> None:
    """9.6, 7.4 and 4 standard errors; 16 values need 5.3."""
    question = asked(k)
    honest = drawn(question, spread(k), 3)[0]
    assert kinds(honest) == [[]]
    assert (sigmas(question.mechanism) > 5.5) == seen
    assert kinds(with_fakes(honest, Response(0))) == [["negative"] if seen else []]


def test_a_lie_that_could_be_the_truth_is_not_found() -> None:
    """Every value has devices enough: it is one of the populations there may be."""
    question = asked(4)
    honest = drawn(question, spread(4, absent=0), 3)[0]
    assert kinds(with_fakes(honest, Response(0))) == [[]]


def test_one_bucket_of_olh_is_found() -> None:
    question = asked(64, "olh")
    honest = drawn(question, spread(64), 4)[0]
    assert sigmas(question.mechanism) > 7
    assert kinds(honest) == [[]]
    assert kinds(with_fakes(honest, Response(0, 1))) == [["negative"]]


@pytest.mark.parametrize("bits", ["all", "one", "none"])
@pytest.mark.parametrize("name", ["oue", "sue", "rappor", "dbitflip"])
def test_bits_that_no_device_sets_are_found(name: str, bits: str) -> None:
    """Whoever the devices are: 102 standard errors of all bits of OUE, 28 of one bit alone."""
    question = asked(16, {"name": name, "bits": 16} if name == "dbitflip" else name)
    honest = drawn(question, spread(16, absent=0), 5)[0]
    assert kinds(honest) == [[]]
    out = {"all": (1 << question.mechanism.shape.width) - 1, "one": 1, "none": 0}[bits]
    found = kinds(with_fakes(honest, Response(out)))[0]
    assert "popcount" in found


def test_as_few_as_the_maths_says() -> None:
    """All bits of OUE: each fake adds 11.5 to a sum with a standard error of 1.7 sqrt(n)."""
    question = asked(16, "oue")
    mean, q = question.mechanism.mean_popcount, 0.2689
    assert mean is not None
    honest = drawn(question, spread(16, N, 0), 6)[0]
    error = math.sqrt(N * (15 * q * (1 - q) + 0.25))
    enough = math.ceil(7 * error / (16 - float(mean)))
    assert enough < N / 250
    assert kinds(with_fakes(honest, Response((1 << 16) - 1), enough)) == [["popcount"]]
    assert kinds(with_fakes(honest, Response((1 << 16) - 1), enough // 3)) == [[]]


@pytest.mark.parametrize("mechanism", ["piecewise", "square-wave", "1bitmean"])
def test_one_output_of_a_number_is_found(mechanism: str) -> None:
    question = number(mechanism)
    honest = drawn(question, spread(16, N - FAKES, 15), 7)[0]
    assert kinds(honest) == [[]]
    last = question.mechanism.shape.width - 1
    assert kinds(with_fakes(honest, Response(0), 10 * FAKES)) == [["negative"]]
    assert kinds(with_fakes(honest, Response(last), 10 * FAKES))[0] in ([], ["negative"])


def test_what_is_said() -> None:
    question = asked(4)
    honest = drawn(question, spread(4), 3)[0]
    (found,) = in_one_period([with_fakes(honest, Response(0))])
    assert found.period == "2026-11-01"
    assert found.text == (
        f"2026-11-01: c3 is counted {honest.cells[3]:,} times in 100,000 reports, and noise alone "
        "gives 17,488 on average, so that what is estimated from it is more negative than noise "
        "allows (odds below 1e-06): fake or broken reports, or devices that randomize in another "
        "way."
    )
    question = asked(16, "oue")
    honest = drawn(question, spread(16, absent=0), 5)[0]
    (found,) = in_one_period([with_fakes(honest, Response((1 << 16) - 1))])
    assert "reports have 5.101 bits set on average, and 4.534 if each" in found.text


# From one period to the next


def yes_no(share: float, n: int, period: str) -> Tally:
    """The expected tally, without noise."""
    mechanism = YES_NO.mechanism
    assert isinstance(mechanism, FrequencyOracle)
    yes = round(n * float(mechanism.q + Fraction(share) * (mechanism.p - mechanism.q)))
    return tally(YES_NO, [n - yes, yes], period)


YES_NO = make_survey(
    {"one": boolean_table(epsilon=2, epsilon_first=1)}, max_epsilon=16, linkable=True
).questions["one"]


@pytest.mark.parametrize(
    ("before", "now", "n", "seen"),
    [
        (0.30, 0.45, 20_000, True),
        (0.45, 0.30, 20_000, True),
        (0.30, 0.45, 1_000, False),
        (0.30, 0.34, 10_000_000, False),
        (0.30, 0.36, 10_000_000, True),
    ],
)
def test_drift_is_large_and_beyond_noise(before: float, now: float, n: int, seen: bool) -> None:
    assert LEAST_DRIFT == 0.05
    found = kinds(yes_no(before, n, "2026-11-01"), yes_no(now, n, "2026-11-02"))
    assert found == [[], ["drift"] if seen else []]


@pytest.mark.parametrize(
    ("before", "now", "seen"),
    [(1000, 2000, False), (1000, 2001, True), (1000, 500, False), (1000, 499, True)],
)
def test_crowds_may_double_and_halve(before: int, now: int, seen: bool) -> None:
    found = kinds(yes_no(0.5, before, "2026-11-01"), yes_no(0.5, now, "2026-11-02"))
    assert found == [[], ["crowd"] if seen else []]


def test_what_is_said_of_changes() -> None:
    pair = yes_no(0.3, 20_000, "2026-11-01"), yes_no(0.5, 90_000, "2026-11-02")
    crowd, drift = warned(*pair)[1]
    assert crowd.text == (
        "2026-11-02: 90,000 devices, more than twice the 20,000 of 2026-11-01: a launch or a "
        "campaign, or one party posing as many."
    )
    assert drift.text == (
        "2026-11-02: true moved from 0.300 to 0.500 since 2026-11-01, by more than noise can "
        "(odds below 1e-06) and more than 0.05: what devices answer changed, or who answers, or "
        "reports are fake or broken."
    )


def test_means_drift_by_a_share_of_the_range() -> None:
    question = number("1bitmean")
    low = drawn(question, [N] + [0] * 15, 1)[0]
    high = replace(drawn(question, [0] * 15 + [N], 1)[0], period="2026-11-02")
    (found,) = warned(low, high)[1]
    assert "the mean as a share of its range moved from " in found.text


@pytest.mark.parametrize("mechanism", ["oue", "rappor"])
def test_answers_drift_together(mechanism: str) -> None:
    question = asked(16, mechanism, 4)
    before = drawn(question, [N, *[0] * 15], 1)[0]
    now = replace(drawn(question, [0, N // 2, N // 2, *[0] * 13], 1)[0], period="2026-11-02")
    (found,) = warned(before, now)[1]
    assert "c0 moved from 1.0" in found.text.replace("0.99", "1.00")
    assert "since 2026-11-01, and 2 more answers did, by more" in found.text


# Where they are shown


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two periods, the second whole and the first not."""
    question = asked(16, "oue", min_crowd=10)
    first, second = drawn(question, spread(16, 20_000, 0), 5, 2)
    return write_store(
        tmp_path / "collector.db", [with_fakes(first, Response((1 << 16) - 1), 1000), second]
    )


def test_estimates_stay_as_they_are(store: Path) -> None:
    series = estimate("one", store, every=True)
    assert [[one.kind for one in period.warnings] for period in series] == [["popcount"], []]
    bare = [replace(period, warnings=()) for period in series.frequencies]
    assert [period.records() for period in series] == [period.records() for period in bare]
    first = estimate("one", store, period="2026-11-01")[0]
    assert first == series[0]


def test_a_mean_of_periods_keeps_them(store: Path) -> None:
    (pooled,) = estimate("one", store, every=True, pool="mean")
    assert isinstance(pooled, Estimates)
    assert [(one.kind, one.period) for one in pooled.warnings] == [("popcount", "2026-11-01")]


@pytest.mark.parametrize("form", ["table", "csv"])
def test_people_read_them_beside_the_result(store: Path, form: str) -> None:
    words = ["estimate", "one", "--from", str(store), "--format", form]
    result = CliRunner().invoke(main, [*words, "--all"])
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: 2026-11-01: reports have ")
    assert "Warning" not in result.stdout
    quiet = CliRunner().invoke(main, words)
    assert quiet.stderr == ""


def test_programs_read_them_in_the_document(store: Path) -> None:
    words = ["estimate", "one", "--from", str(store), "--all", "--format", "json"]
    result = CliRunner().invoke(main, words)
    assert result.stderr == ""
    first, second = json.loads(result.stdout)
    assert second["warnings"] == []
    (found,) = first["warnings"]
    assert found.keys() == {"kind", "period", "text"}
    assert (found["kind"], found["period"]) == ("popcount", "2026-11-01")
