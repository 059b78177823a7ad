"""What trials prove: bounds, the choice of events, verdicts, and histories of many reports."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import pytest
from client_kit import choice, question, survey
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniable.analysis.auditing.bounds import (
    ceiling,
    could_have_seen,
    epsilon_lower,
    lower_limit,
    trials_needed,
    trials_to_refute,
    upper_limit,
)
from deniable.analysis.auditing.devices import Devices
from deniable.analysis.auditing.events import choose
from deniable.analysis.auditing.longitudinal import Longitudinal, longitudinal
from deniable.analysis.auditing.promise import epsilon_of, within
from deniable.analysis.auditing.samples import Sample
from deniable.analysis.auditing.sharing import compared, devices_taken
from deniable.analysis.auditing.trials import Measured, Trials
from deniable.analysis.auditing.verdicts import Promise, judge
from deniable.analysis.totals.longitudinal import unchanging
from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import SCALE, exp
from deniable.protocol.mechanisms import Mechanism, build
from deniable.protocol.response import Response
from deniable.protocol.survey import Survey

# Bounds.


@pytest.mark.parametrize(
    ("trials", "alpha", "expected"),
    [(500, 0.05, 4.905594210033939), (10_000, 0.05, 7.904833181370236)],
)
def test_the_ceiling_of_so_many_trials(trials: int, alpha: float, expected: float) -> None:
    assert ceiling(trials, alpha) == pytest.approx(expected, abs=1e-9)
    assert epsilon_lower(trials, 0, trials, alpha) == pytest.approx(expected, abs=1e-9)


def test_limits_and_bounds_as_computed_elsewhere() -> None:
    assert upper_limit(0, 500, 0.025) == pytest.approx(0.007350610051907784, abs=1e-9)
    bound = epsilon_lower(73106, 26894, 100_000, 0.05)
    assert bound == pytest.approx(0.9860150393469611, abs=1e-6)
    bound = epsilon_lower(7311, 2689, 10_000, 0.05)
    assert bound == pytest.approx(0.9558656878582026, abs=1e-6)
    assert trials_needed(8, 0.05) == 10999


@pytest.mark.parametrize(
    ("true", "claim", "expected"), [(1.2, 1.0, 533), (1.05, 1.0, 8118), (2.5, 2.0, 234)]
)
def test_trials_that_refute_a_claim(true: float, claim: float, expected: int) -> None:
    assert trials_to_refute(true, claim, 0.05) == pytest.approx(expected, rel=0.05)


COUNTS = st.integers(1, 10**9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
ALPHAS = st.floats(1e-12, 0.5)


@given(COUNTS, ALPHAS)
def test_limits_are_wrong_no_more_often_than_they_may(
    counts: tuple[int, int], alpha: float
) -> None:
    hits, trials = counts
    low, high = lower_limit(hits, trials, alpha), upper_limit(hits, trials, alpha)
    assert 0 <= low <= hits / trials <= high <= 1
    # 1e-7: of tails of 1e-12, computed by another routine.
    assert stats.binom.sf(hits - 1, trials, low) <= alpha * (1 + 1e-7) or low == 0
    assert stats.binom.cdf(hits, trials, high) <= alpha * (1 + 1e-7) or high == 1


@given(st.floats(0, 700), ALPHAS)
def test_trials_needed_reach_the_ceiling_and_one_fewer_does_not(eps: float, alpha: float) -> None:
    needed = trials_needed(eps, alpha)
    slack = 1e-9 * max(1, eps)
    assert ceiling(needed, alpha) >= eps - slack
    assert needed == 1 or ceiling(needed - 1, alpha) <= eps + slack


@given(COUNTS, COUNTS, ALPHAS, st.floats(0, 0.9))
def test_bounds_are_finite_and_fall_with_delta(
    true: tuple[int, int], false: tuple[int, int], alpha: float, delta: float
) -> None:
    trials = min(true[1], false[1])
    hits, misses = min(true[0], trials), min(false[0], trials)
    bound = epsilon_lower(hits, misses, trials, alpha)
    assert 0 <= bound <= ceiling(trials, alpha)
    assert epsilon_lower(hits, misses, trials, alpha, delta) <= bound
    assert hits > misses or bound == 0


def test_extremes_have_answers() -> None:
    assert ceiling(0, 0.05) == ceiling(1, 0.05) == 0
    assert ceiling(10**9, 1e-15) == pytest.approx(17.16, abs=0.01)
    assert epsilon_lower(0, 0, 10, 0.05) == 0
    assert trials_to_refute(1, 1, 0.05) is None
    assert trials_to_refute(60, 59, 0.05) is None
    assert could_have_seen(0, 1, 100, 0.05) is None
    with pytest.raises(ParameterError, match=r"epsilon must be in 0\.\.700: 701"):
        trials_needed(701, 0.05)


@pytest.mark.parametrize(("rate", "claim"), [(0.73, 1.0), (0.4, 2.0), (0.9, 0.5)])
def test_what_could_have_been_seen_is_seen_in_nine_audits_of_ten(rate: float, claim: float) -> None:
    trials, alpha, runs = 2000, 1e-3, 400
    visible = could_have_seen(rate, claim, trials, alpha)
    assert visible is not None
    assert visible > claim
    hits: Any = stats.binom.rvs(trials, rate, size=runs, random_state=1)
    misses: Any = stats.binom.rvs(trials, rate * math.exp(-visible), size=runs, random_state=2)
    shown = sum(
        epsilon_lower(a, b, trials, alpha) > claim for a, b in zip(hits, misses, strict=True)
    )
    # At least 0.9 by construction; 4 standard errors of 400 runs are 0.06.
    assert shown / runs > 0.9 - 0.06


# Exact ratios.


def test_a_ratio_is_compared_with_rationals() -> None:
    bound = exp(Decimal(2))
    assert within(bound.low, Decimal(2)) is True
    assert within(bound.high + Fraction(1, 10**50), Decimal(2)) is False
    assert within((bound.low + bound.high) / 2, Decimal(2)) is None


@given(st.fractions(1, 10**6))
def test_a_logarithm_is_rounded_up_and_close(ratio: Fraction) -> None:
    shown = epsilon_of(ratio)
    assert shown == 0 or within(ratio, Decimal(shown)) is True
    assert shown == pytest.approx(math.log(ratio), abs=1e-12)


def test_a_logarithm_of_what_no_float_holds() -> None:
    assert epsilon_of(Fraction(10**5000)) == pytest.approx(5000 * math.log(10))
    assert 1e-40 <= epsilon_of(1 + Fraction(1, 10**40)) <= 1.001e-40


# Events, on responses of devices whose draws are seeded.


class Seeded:
    """Draws that a test repeats."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, threshold: int) -> bool:
        return self._random.randrange(SCALE) < threshold

    def below(self, n: int) -> int:
        return self._random.randrange(n)


Devise = Callable[[Mechanism, int, Seeded], Response]


def healthy(mechanism: Mechanism, symbol: int, draws: Seeded) -> Response:
    setup = mechanism.assign(draws)
    memo = mechanism.memo(setup, mechanism.symbol(symbol))
    assert memo is not None
    return mechanism.instant(mechanism.permanent(setup, memo, draws), draws)


def wire(mechanism: Mechanism, response: Response) -> Hashable:
    packed = mechanism.shape.pack(response)
    return tuple(packed) if isinstance(packed, list) else packed


def sample(
    mechanism: Mechanism, symbol: int, seed: int, count: int = 1500, devise: Devise = healthy
) -> Sample:
    draws = Seeded(seed)
    responses = [devise(mechanism, symbol, draws) for _ in range(count)]
    return Sample(mechanism, [wire(mechanism, response) for response in responses])


def proved(mechanism: Mechanism, one: int, other: int, devise: Devise = healthy) -> float:
    first = [sample(mechanism, v, 10 + i, devise=devise) for i, v in enumerate((one, other))]
    choice_ = choose(first[0], first[1], (one, other), 1e-4)
    tests = [sample(mechanism, v, 20 + i, devise=devise) for i, v in enumerate((one, other))]
    if choice_.reverse:
        tests.reverse()
    hits, misses = (choice_.event.count(each) for each in tests)
    return epsilon_lower(hits, misses, 1500, 1e-4)


EVERY: list[tuple[str, int, str, str | None, dict[str, int]]] = [
    ("grr", 2, "2", "1", {}),
    ("grr", 12, "2", None, {}),
    ("sue", 6, "2", None, {}),
    ("oue", 64, "2", None, {}),
    ("oue", 8, "3", "2", {}),
    ("olh", 64, "2", None, {}),
    ("ss", 16, "2", None, {}),
    ("hr", 16, "2", None, {}),
    ("rappor", 8, "3", "2", {"bits": 16, "hashes": 1, "cohorts": 4}),
    ("dbitflip", 16, "2", None, {"bits": 8}),
    ("1bitmean", 9, "2", None, {}),
    ("piecewise", 9, "2", None, {}),
    ("square-wave", 9, "2", None, {}),
]


def made(name: str, k: int, epsilon: str, first: str | None, options: dict[str, int]) -> Mechanism:
    return build(name, k, Decimal(epsilon), None if first is None else Decimal(first), options)


@pytest.mark.parametrize(
    ("name", "k", "epsilon", "first", "options"), EVERY, ids=lambda value: str(value)
)
def test_an_event_is_found_for_every_mechanism(
    name: str, k: int, epsilon: str, first: str | None, options: dict[str, int]
) -> None:
    mechanism = made(name, k, epsilon, first, options)
    bound = proved(mechanism, 0, k - 1)
    declared = float(first or epsilon)
    # Of 1500 tests at alpha 1e-4, an event of probability 0.3 against 0.3/E^2 shows 0.65 of 2;
    # the alpha of the upper side is 1e-4, and seeds are fixed.
    assert 0.5 * declared < bound <= declared


def test_the_same_answer_on_both_sides_shows_nothing() -> None:
    for seed in range(12):  # each with odds of 1e-3 at most, and seeds are fixed
        name, k, epsilon, first, options = EVERY[seed]
        mechanism = made(name, k, epsilon, first, options)
        pair = [sample(mechanism, 1, 100 * seed + i, 600) for i in range(4)]
        found = choose(pair[0], pair[1], (0, 1), 1e-3)
        hits, misses = (found.event.count(each) for each in pair[2:])
        assert epsilon_lower(hits, misses, 600, 1e-3) == 0
        assert epsilon_lower(misses, hits, 600, 1e-3) == 0


def never_cleared(mechanism: Mechanism, symbol: int, draws: Seeded) -> Response:
    """The bit of the true symbol is always set: a zero is proof."""
    return Response(healthy(mechanism, symbol, draws).out | 1 << symbol)


def shared_words(mechanism: Mechanism, symbol: int, draws: Seeded) -> Response:
    """Bits 2i and 2i + 1 are decided by one word, each with its own, right probability."""
    oracle = cast("Any", mechanism)
    mask = word = 0
    for bit in range(mechanism.k):
        word = word if bit % 2 else draws.below(SCALE)
        mask |= (word < (oracle.true_bit if bit == symbol else oracle.other_bit)) << bit
    return Response(mask)


@pytest.mark.parametrize("devise", [never_cleared, shared_words])
@pytest.mark.parametrize("k", [4, 30])
def test_leaks_are_seen_though_no_single_bit_is_wrong(devise: Devise, k: int) -> None:
    mechanism = build("oue", k, Decimal("1.5"))
    assert proved(mechanism, 0, k - 1) <= 1.5
    assert proved(mechanism, 0, k - 1, devise) > 1.5


def test_each_bit_that_shares_a_word_has_its_own_probability() -> None:
    mechanism = build("oue", 4, Decimal("1.5"))
    bits = sample(mechanism, 0, 1, devise=shared_words).bits.mean(0)
    q = float(mechanism.q)  # type: ignore[attr-defined]
    # 4 standard errors of 1500 coins are 0.05.
    assert bits == pytest.approx([0.5, q, q, q], abs=0.05)


@pytest.mark.parametrize("width", [2, 3, 8])
def test_events_are_of_two_different_bits_and_hold_for_some_only(width: int) -> None:
    """Two samples of the same law: whatever is chosen is a proper event."""
    mechanism = build("oue", width, Decimal(1))
    for seed in range(8):
        samples = [sample(mechanism, 0, 2 * seed + side, 60) for side in range(2)]
        event = choose(samples[0], samples[1], (0, 1), 0.01).event
        together = sum(event.count(each) for each in samples)
        assert 0 < together < 120
        if event.name.startswith("bits "):
            _, left, _, right, *_ = event.name.split()
            assert left != right


def test_responses_that_are_all_alike_make_no_event() -> None:
    for name, out in (("grr", 0), ("oue", 5)):
        mechanism = build(name, 4, Decimal(1))
        alike = Sample(mechanism, [wire(mechanism, Response(out))] * 20)
        silent = Sample(mechanism, [None] * 20)
        for same in (alike, silent):
            event = choose(same, same, (0, 1), 0.01).event
            assert event.name == "none: all responses were alike"
            assert event.count(same) == 0
        told = choose(silent, alike, (0, 1), 0.01)
        assert told.score > 0
        assert {told.event.count(alike), told.event.count(silent)} == {0, 20}


def test_a_response_of_no_meaning_tells_devices_apart() -> None:
    mechanism = build("oue", 4, Decimal(1))
    strange, sound = Sample(mechanism, ["nonsense"] * 400), sample(mechanism, 0, 1, 400)
    found = choose(strange, sound, (0, 1), 1e-3)
    assert found.event.count(strange) == 400 * (not found.reverse)
    assert found.score > 2


# Trials, of devices that a test makes up.


@dataclass
class MadeUp:
    """Devices that answer as the mechanism says, or as ``devise`` does."""

    survey: Survey
    devise: Devise = healthy
    made: int = 0

    def describe(self) -> Any:
        asked = [
            SimpleNamespace(id=name, values=tuple(range(q.mechanism.k)))
            for name, q in self.survey.questions.items()
        ]
        return SimpleNamespace(questions=asked)

    def sample(
        self,
        count: int,
        values: Mapping[str, int],
        *,
        broken: bool = False,
        progress: Callable[[int], None],
    ) -> dict[str, list[Hashable]]:
        progress(count)
        self.made += count
        draws = Seeded(self.made)
        said: dict[str, list[Hashable]] = {}
        for name, symbol in values.items():
            mechanism = self.survey.questions[name].mechanism
            clear = wire(mechanism, Response(symbol if name == "dark" else 1 << symbol))
            said[name] = [
                clear if broken else wire(mechanism, self.devise(mechanism, symbol, draws))
                for _ in range(count)
            ]
        return said


ASKED = survey(
    {"linkable": True},
    dark=question(epsilon=1),
    font=choice(*"abcdef", mechanism="oue", epsilon=2),
)


def run(made_up: MadeUp, half: int = 400) -> tuple[dict[str, Measured], int]:
    told: list[int] = []
    trials = Trials(
        cast("Devices", made_up),
        list(made_up.survey.questions.values()),
        half=half,
        alpha=1e-4,
        seed=5,
        progress=told.append,
    )
    return trials.run(), sum(told)


def test_trials_of_a_sound_client() -> None:
    made_up = MadeUp(ASKED)
    found, told = run(made_up)
    assert told == made_up.made == devices_taken(ASKED.questions, 400)
    for name, measured in found.items():
        declared = float(ASKED.questions[name].epsilon)
        assert 0 < measured.lower_bound <= declared
        assert measured.null_control == 0
        assert measured.positive_control == pytest.approx(ceiling(400, 1e-4), abs=1e-9)
        assert measured.visible is not None
        assert declared < measured.visible < measured.positive_control + 2


def test_trials_of_a_leaking_client() -> None:
    def leak(mechanism: Mechanism, symbol: int, draws: Seeded) -> Response:
        if mechanism.shape.kind == "symbol":
            return healthy(mechanism, symbol, draws)
        return never_cleared(mechanism, symbol, draws)

    found, _ = run(MadeUp(ASKED, leak))
    assert found["dark"].lower_bound <= 1
    assert found["font"].lower_bound > 2
    assert found["font"].null_control == 0


def test_sides_that_differ_without_a_reason_are_noticed() -> None:
    class Drifting(MadeUp):
        calls = 0

        def sample(
            self,
            count: int,
            values: Mapping[str, int],
            *,
            broken: bool = False,
            progress: Callable[[int], None],
        ) -> dict[str, list[Hashable]]:
            """Answer something else in the later groups that choose, and in the last that tests."""
            Drifting.calls += 1
            if Drifting.calls in {3, 4, 7}:
                values = {name: 1 - symbol % 2 for name, symbol in values.items()}
            return super().sample(count, values, broken=broken, progress=progress)

    found, _ = run(Drifting(survey(dark=question(epsilon=3), font=choice(*"abcd"))))
    assert found["dark"].null_control > 1
    assert found["dark"].lower_bound <= 3


def test_answers_are_compared_each_with_each_where_there_are_few() -> None:
    asked = survey(
        {"linkable": True}, dark=question(), four=choice(*"abcd"), many=choice(*"abcdefghij")
    ).questions
    found = compared(asked, 1)
    assert found == compared(asked, 1)
    assert set(found["dark"]) == {0, 1}
    assert set(found["four"]) == {0, 1, 2, 3}
    assert found["many"][:2] == (0, 9)
    assert len(set(found["many"])) == 4
    assert {compared(asked, seed)["many"] for seed in range(20)} != {found["many"]}


# Verdicts.


def measured(**changes: Any) -> Measured:
    fields: dict[str, Any] = {
        "one": 0, "other": 1, "event": "bits 0 and 1 are 10", "hits": 300, "misses": 100,
        "tests": 1000, "lower_bound": 0.9, "null_control": 0.0, "positive_control": 5.0,
        "visible": 1.3001,
    }  # fmt: skip
    return Measured(**(fields | changes))


def promise(report: Fraction | None, permanent: Fraction | None, by: str = "every") -> Promise:
    return Promise(Decimal(1), Decimal(2), report, permanent, by)


OK = promise(Fraction(2), Fraction(7))


@pytest.mark.parametrize(
    ("promised", "seen", "stays", "text"),
    [
        (OK, measured(), True, "no violation found, could have seen ≥ 1.31"),
        (OK, measured(), None, "no violation found, could have seen ≥ 1.31"),
        (OK, measured(), False, "violation: repeated reports about one unchanging answer"),
        (
            promise(Fraction(3), Fraction(7)), measured(), True,
            "violation: one report reveals epsilon 1.09861229, more than the declared 1",
        ),
        (
            promise(Fraction(2), Fraction(8)), measured(), True,
            "violation: all reports about one unchanging answer reveal epsilon 2.07944154",
        ),
        (promise(None, None), measured(), True, "violation: one report reveals the answer for"),
        (
            OK, measured(lower_bound=1.00010009), True,
            "violation: one report reveals epsilon 1.0001 at least, more than the declared 1 "
            "(bits 0 and 1 are 10: 300 against 100 of 1,000)",
        ),
        (promise(None, None, "not found: why"), measured(), True, "inconclusive: the exact"),
        (promise(Fraction(3), Fraction(8), "; at most"), measured(), True, "inconclusive: the"),
        (OK, measured(null_control=0.1), True, "inconclusive: the same answer on both sides"),
        (OK, measured(positive_control=1.0), True, "inconclusive: a randomizer that is broken"),
        (OK, measured(visible=None), True, "inconclusive: the event that was found is too rare"),
    ],
)  # fmt: skip
def test_verdicts(promised: Promise, seen: Measured, stays: bool | None, text: str) -> None:
    verdict = judge(promised, seen, 5.0, 1e-3, stays)
    assert verdict.text.startswith(text)
    assert verdict.violation == text.startswith("violation")
    assert "certified" not in verdict.text


def test_trials_that_cannot_see_say_how_many_could() -> None:
    verdict = judge(OK, measured(), 0.9, 1e-3, stays=True)
    needed = 2 * trials_needed(1.5, 1e-3)
    assert verdict.text.startswith("inconclusive: 1,000 tests a side can show an epsilon of one")
    assert verdict.text.endswith(f"it takes --trials {needed}")


# Histories.


@pytest.mark.parametrize(
    ("name", "k", "first"), [("grr", 2, "1"), ("grr", 3, "0.5"), ("oue", 2, "1"), ("sue", 2, "1.9")]
)
def test_an_unchanging_answer_is_as_the_formula_says(name: str, k: int, first: str) -> None:
    mechanism = build(name, k, Decimal(2), Decimal(first))
    found = history(mechanism)
    assert not found.reduced
    for reports, ratio in found.unchanging:
        assert ratio is not None
        assert unchanging(mechanism, reports) == pytest.approx(math.log(ratio), abs=1e-12)
    assert found.stays_within


@pytest.mark.parametrize("first", [None, Decimal(1)])
def test_histories_are_of_the_answers_and_the_setup_that_tell_most(first: Decimal | None) -> None:
    """In the first row of buckets the last value has no bit; in others it has."""
    mechanism = build("dbitflip", 3, Decimal(2), first, {"bits": 2})
    for reports, ratio in history(mechanism).unchanging:
        expected = 2 if first is None else unchanging(mechanism, reports)
        assert ratio is not None
        assert math.log(ratio) == pytest.approx(expected, abs=1e-12)


def history(mechanism: Mechanism) -> Longitudinal:
    found = longitudinal(mechanism)
    assert found is not None
    return found


def likelihood(mechanism: Mechanism, values: Sequence[int], reports: Sequence[int]) -> Fraction:
    """Randomized response twice, written out: a sum over both permanent responses."""
    (p1, _), second = mechanism.first, mechanism.second  # type: ignore[attr-defined]
    p2 = Fraction(1) if second is None else second[0]
    whole = Fraction(0)
    for kept in product((0, 1), repeat=2):
        mass = Fraction(1)
        for value, permanent in enumerate(kept):
            mass *= p1 if permanent == value else 1 - p1
        for value, report in zip(values, reports, strict=True):
            mass *= p2 if report == kept[value] else 1 - p2
        whole += mass
    return whole


def test_a_change_is_as_likely_as_it_is_said_to_be() -> None:
    mechanism = build("grr", 2, Decimal(2), Decimal(1))
    found = history(mechanism)
    assert found.changed_days == 4
    pairs = [
        (likelihood(mechanism, (0, 0, 1, 1), reports), likelihood(mechanism, (0,) * 4, reports))
        for reports in product((0, 1), repeat=4)
    ]
    assert found.changed == max(max(a / b, b / a) for a, b in pairs)
    assert within(found.changed, Decimal(2)) is False


@pytest.mark.parametrize(("name", "k", "epsilon", "first", "options"), EVERY, ids=str)
def test_every_mechanism_has_a_history(
    name: str, k: int, epsilon: str, first: str | None, options: dict[str, int]
) -> None:
    mechanism = made(name, k, epsilon, first, options)
    found = history(mechanism)
    assert found.stays_within
    assert found.reduced == (k > 3)
    assert found.changed_days is not None
    if first is None:
        assert (found.changed_days, found.changed) == (2, None)
        assert {epsilon_of(ratio) for _, ratio in found.unchanging if ratio} <= {float(epsilon)}
    else:
        assert found.changed is not None
        assert within(found.changed, Decimal(epsilon)) is False
    assert found.document()["stays_within"] is True


def test_a_permanent_response_that_tells_for_sure_has_no_bound() -> None:
    leaking = replace(build("grr", 2, Decimal(2)), keep=SCALE)  # type: ignore[type-var]
    found = history(leaking)
    assert [ratio for _, ratio in found.unchanging] == [None, None, None]
    assert found.stays_within is False
    assert found.document()["unchanging"][0] == {"reports": 1, "epsilon": None}
