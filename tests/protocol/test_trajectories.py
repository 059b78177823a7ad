"""One epsilon for everything a device ever reports, whatever became of its answer: proved exactly.

By enumeration: all histories, every level, all outputs, from the draws that the device's code asks
for. Memoization fails the same test, so the test can fail.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest
from client_kit import question, survey
from enumeration import exp_between

from deniable.protocol import derivation
from deniable.protocol.derivation import next_response
from deniable.protocol.draws import Draws
from deniable.protocol.errors import ParameterError
from deniable.protocol.horizon import Horizon
from deniable.protocol.mechanisms import build
from deniable.protocol.mechanisms.counter import Counter
from deniable.protocol.mechanisms.dyadic import START, Memory
from deniable.protocol.mechanisms.trajectory import Trajectory
from deniable.protocol.periods import parse_period
from deniable.protocol.proofs.branches import outcomes
from deniable.protocol.proofs.trajectories import (
    History,
    Reports,
    Tape,
    history_ratio,
    joint_law,
    memo_keys,
)
from deniable.protocol.proofs.walks import Unclear
from deniable.protocol.question import Question
from deniable.protocol.response import Response

ON, WENT_ON, OFF = "recorded", "on, nothing recorded", "off"


def trajectory(periods: int, changes: int, epsilon: Decimal = Decimal(1)) -> Trajectory:
    return Trajectory.resolve(2, epsilon, None, {"periods": periods, "changes": changes})


def counter(k: int, periods: int, epsilon: Decimal = Decimal(1)) -> Counter:
    return Counter.resolve(k, epsilon, None, {"periods": periods})


def histories(pattern: Sequence[str], k: int = 2) -> Iterator[History]:
    """Every history of a device that recorded, went on and was off in these periods."""
    for symbols in product(range(k), repeat=list(pattern).count(ON)):
        symbol = iter(symbols)
        yield {
            t: next(symbol) if state == ON else None
            for t, state in enumerate(pattern, 1)
            if state != OFF
        }


def changes(history: History) -> int:
    symbols = [symbol for symbol in history.values() if symbol is not None]
    return sum(one != two for one, two in pairwise(symbols))


def assert_tight(ratio: Fraction | None, epsilon: Decimal) -> None:
    """At most e^epsilon, and no further from it than 1e-9 of it."""
    low, _ = exp_between(Fraction(epsilon))
    assert ratio is not None
    assert low * (1 - Fraction(1, 10**9)) <= ratio <= low


@pytest.mark.parametrize("epsilon", [Decimal("0.5"), Decimal(2)])
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("periods", [4, 8])
def test_no_two_trajectories_are_told_apart(periods: int, most: int, epsilon: Decimal) -> None:
    mechanism = trajectory(periods, most, epsilon)
    every = [one for one in histories([ON] * periods) if changes(one) <= most]
    assert len(every) == {(4, 1): 8, (4, 2): 14, (8, 1): 16, (8, 2): 58}[periods, most]
    assert_tight(history_ratio(mechanism, every), epsilon)


@pytest.mark.parametrize(("periods", "most"), [(4, 1), (4, 2), (8, 1)])
def test_more_changes_than_declared_reveal_no_more(periods: int, most: int) -> None:
    """All 2^T trajectories, so that a device that lies about c is protected, too."""
    assert_tight(history_ratio(trajectory(periods, most), histories([ON] * periods)), Decimal(1))


@pytest.mark.parametrize("most", [1, 2, 3])
def test_who_comes_late_or_is_off_is_protected_alike(most: int) -> None:
    """Every pattern there is of four periods, each recorded, gone on with or missed."""
    mechanism = trajectory(4, most)
    patterns = product((ON, WENT_ON, OFF), repeat=4)
    every = [history for pattern in patterns for history in histories(pattern)]
    assert len(every) == 256
    assert_tight(history_ratio(mechanism, every), Decimal(1))


@pytest.mark.parametrize(
    "pattern",
    [
        (OFF, OFF, ON, ON, ON, ON, ON, ON),
        (ON, ON, OFF, ON, WENT_ON, ON, ON, OFF),
        (WENT_ON, ON, ON, OFF, OFF, ON, WENT_ON, ON),
    ],
)
def test_some_patterns_of_eight_periods(pattern: Sequence[str]) -> None:
    ratio = history_ratio(trajectory(8, 2), histories(pattern))
    assert_tight(ratio, Decimal(1))


@pytest.mark.parametrize(("k", "periods"), [(3, 4), (4, 4), (2, 8)])
def test_no_two_histories_of_a_number_are_told_apart(k: int, periods: int) -> None:
    """Rising ones, and all others, at every rounding point."""
    mechanism = counter(k, periods)
    every = list(histories([ON] * periods, k))
    rising = [one for one in every if list(one.values()) == sorted(v or 0 for v in one.values())]
    assert len(rising) == math.comb(periods + k - 1, k - 1)
    assert_tight(history_ratio(mechanism, rising), Decimal(1))
    assert_tight(history_ratio(mechanism, every), Decimal(1))


def test_who_counts_late_or_is_off_is_protected_alike() -> None:
    patterns = product((ON, WENT_ON, OFF), repeat=4)
    every = [history for pattern in patterns for history in histories(pattern, 3)]
    assert_tight(history_ratio(counter(3, 4), every), Decimal(1))


def few(periods: int, most: int) -> list[History]:
    return [one for one in histories([ON] * periods) if changes(one) <= most]


@pytest.mark.parametrize("periods", [4, 8])
def test_memoization_fails(periods: int) -> None:
    """One change of a memoized yes/no proves itself; a second round only hides it for a while.

    An answer that never changes is protected as declared. With fresh noise the reports of T
    periods tell a change ever better: 2.03 at T = 4 and 4.33 at T = 8, declared 1.
    """
    once, twice = build("grr", 2, Decimal(1)), build("grr", 2, Decimal(1), Decimal("0.5"))
    low, _ = exp_between(Fraction(1))
    assert_tight(history_ratio(once, few(periods, 0)), Decimal(1))
    unchanged = history_ratio(twice, few(periods, 0))
    assert unchanged is not None
    assert unchanged <= low
    assert history_ratio(once, few(periods, 1)) is None
    changed = history_ratio(twice, few(periods, 1))
    assert changed is not None
    expected = {4: 2.0344, 8: 4.3332}[periods]
    assert math.log(changed) == pytest.approx(expected, abs=1e-4)


# The law is that of the device's own code


def asked(horizon: Horizon, **changed: Any) -> Question:
    details = {key: value for key, value in horizon.document().items() if value is not None}
    details["start"] = horizon.start
    own = question(horizon=details, epsilon=Decimal(1), **changed)
    return survey({"linkable": True}, changing=own).questions["changing"]


START_DAY = date(2026, 11, 30)
DARK = asked(Horizon(START_DAY, 4, 1))
LAUNCHES = asked(
    Horizon(START_DAY, 4, None), type="number", range={"low": 0, "high": 2, "steps": 2}
)
HISTORIES: list[History] = [
    {1: 0, 2: 1, 3: 1, 4: 0},
    {1: 1, 2: 1, 3: None, 4: None},
    {2: 0, 3: 1, 4: 1},
    {1: 0, 4: 1},
    {3: 1, 4: 0},
]


def lived(own: Question, history: History) -> Reports:
    """What a device reports that goes through a history."""
    memory: Memory | None = None
    reports = []
    for t, symbol in history.items():
        response, memory = next_response(b"", own, memory, symbol, t)
        reports.append(response)
    return tuple(reports)


@pytest.mark.parametrize("own", [DARK, LAUNCHES], ids=["trajectory", "counter"])
@pytest.mark.parametrize("history", HISTORIES)
def test_the_device_has_the_law_that_was_proved(
    own: Question, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every branch of :func:`next_response`, the setup included; each keyed stream is a tape."""

    def life(draws: Draws) -> Reports:
        tapes: dict[tuple[bytes, ...], Tape] = {}

        def keyed(_: bytes, purpose: bytes, asked: Question, setup: bytes, stream: bytes) -> Tape:
            return tapes.setdefault((purpose, setup, stream), Tape(draws)).rewound()

        monkeypatch.setattr(derivation, "_draws", keyed)
        return lived(own, history)

    mechanism = own.mechanism
    expected: dict[Reports, Fraction] = defaultdict(Fraction)
    for setup, share in outcomes(mechanism.assign).items():
        law = joint_law(mechanism, setup, memo_keys(mechanism, setup, history))
        for reports, mass in law.items():
            expected[reports] += share * mass
    assert sum(expected.values()) == 1
    assert outcomes(life) == expected


def test_one_report_by_itself_has_the_law_that_is_stated() -> None:
    for mechanism in (trajectory(8, 2), counter(3, 8)):
        for setup in outcomes(mechanism.assign):
            for history in (dict.fromkeys(range(1, 9), 0), {t: int(t > 3) for t in range(1, 9)}):
                keys = memo_keys(mechanism, setup, history)
                law = joint_law(mechanism, setup, keys)
                for place, key in enumerate(keys):
                    if key is not None:
                        assert _marginal(law, place) == mechanism.law(setup, key, 1)


def _marginal(law: dict[Reports, Fraction], place: int) -> dict[Response | None, Fraction]:
    found: dict[Response | None, Fraction] = {}
    for reports, mass in law.items():
        found[reports[place]] = found.get(reports[place], Fraction(0)) + mass
    return found


def test_a_mean_of_reports_is_what_estimates_are_made_of() -> None:
    """First a half and half a gap of yes or no, then a gap of the change."""
    mechanism = trajectory(8, 2)
    history = {t: int(3 <= t <= 6) for t in range(1, 9)}
    for level in range(mechanism.levels):
        law = joint_law(mechanism, level, memo_keys(mechanism, level, history))
        gap, base = mechanism.gap(level), None
        for t, bit in history.items():
            if not mechanism.due(level, t):
                continue
            mean = sum(
                (mass * (2 * reports[t - 1].out - 1) for reports, mass in law.items()),
                start=Fraction(0),
            )
            assert mean == gap * (2 * bit - 1 if base is None else bit - base)
            base = bit


def test_a_number_that_falls_stays_where_it_was() -> None:
    mechanism = counter(2, 4)
    for setup in outcomes(mechanism.assign):
        rising = memo_keys(mechanism, setup, {1: 0, 2: 1, 3: 1, 4: 1})
        assert memo_keys(mechanism, setup, {1: 0, 2: 1, 3: 0, 4: 0}) == rising
        assert memo_keys(mechanism, setup, {1: 0, 2: 1, 3: 0, 4: 1}) == rising


# What the device remembers


def test_a_period_without_record_goes_on_with_the_answer_before() -> None:
    mechanism = trajectory(4, 2)
    for setup in range(mechanism.levels):
        assert memo_keys(mechanism, setup, {1: 1, 2: None, 3: 0, 4: None}) == memo_keys(
            mechanism, setup, {1: 1, 2: 1, 3: 0, 4: 0}
        )


def test_who_comes_late_is_silent_until_there_is_something_to_compare_with() -> None:
    mechanism = trajectory(8, 2)
    keys = memo_keys(mechanism, 0, {3: 0, 4: 0, 5: 1, 6: 1})
    assert keys == (None, b"4", b"0 +", b"6")
    assert memo_keys(mechanism, 1, {3: 0, 4: 1, 5: 1, 6: 0}) == (None, None, None, b"0 -")
    assert memo_keys(mechanism, 3, {3: 0, 8: 1}) == (None, b"0 +")


def test_a_report_that_was_missed_is_not_made_up_for() -> None:
    """The change of a stretch whose end the device missed is lost, and no later report has it."""
    mechanism = trajectory(4, 2)
    assert memo_keys(mechanism, 0, {1: 0, 2: 0, 4: 1}) == (b"0 -", b"2", b"1 +")
    assert memo_keys(mechanism, 1, {1: 0, 3: 1, 4: 1}) == (None, None, b"0 +")
    assert memo_keys(mechanism, 1, {1: 1, 3: 1, 4: 1}) == (None, None, b"4")
    longer = trajectory(8, 2)
    assert memo_keys(longer, 1, {2: 0, 3: 1, 6: 1, 8: 0}) == (b"0 -", None, b"6", b"1 -")


@pytest.mark.parametrize("t", [0, 5, -1])
def test_periods_are_those_of_the_horizon(t: int) -> None:
    with pytest.raises(ParameterError, match=r"period must be in 1\.\.4: "):
        trajectory(4, 1).step(0, None, 1, t)


def test_a_period_is_gone_through_once() -> None:
    mechanism = trajectory(4, 1)
    _, memory = mechanism.step(0, None, 1, 2)
    assert memory == Memory(1, 1, 0, 2)
    for t in (1, 2):
        with pytest.raises(ParameterError, match=f"period must be later than 2: {t}"):
            mechanism.step(0, memory, 0, t)
    assert mechanism.step(0, None, None, 1) == (None, None)
    assert mechanism.step(1, None, 0, 1) == (None, Memory(START, 0, 0, 1))


def test_other_mechanisms_remember_nothing() -> None:
    own = survey().questions["dark"]
    with pytest.raises(ParameterError, match="grr remembers no earlier periods"):
        next_response(b"", own, None, 1, 1)


# What must never change


def frozen(own: Question, secret: bytes, history: History) -> str:
    """The level of a device, and its bits."""
    memory: Memory | None = None
    rows, out = set(), ""
    for t, symbol in history.items():
        response, memory = next_response(secret, own, memory, symbol, t)
        if response is not None:
            rows.add(response.row)
            out += str(response.out)
    (row,) = rows
    return f"{row} {out}"


LONG = {t: int(5 <= t < 20) for t in range(1, 33)}
RISING = {t: min(t // 4, 4) for t in range(1, 33)}


def test_the_bytes_are_frozen() -> None:
    """What devices derive today they must derive for ever, or they spend their epsilon twice."""
    dark = asked(Horizon(START_DAY, 32, 2))
    horizon = Horizon(START_DAY, 32, None)
    number = asked(horizon, type="number", range={"low": 0, "high": 4, "steps": 4})
    found = {
        (name, byte): frozen(own, bytes([byte]) * 32, history)
        for name, own, history in (("dark", dark, LONG), ("number", number, RISING))
        for byte in range(8)
    }
    assert found == FROZEN


FROZEN = {
    ("dark", 0): "2 00010010",
    ("dark", 1): "1 1011001001011101",
    ("dark", 2): "5 0",
    ("dark", 3): "5 0",
    ("dark", 4): "0 01011010000110101000101101000010",
    ("dark", 5): "3 1000",
    ("dark", 6): "2 00010111",
    ("dark", 7): "5 0",
    ("number", 0): "0 10001000000101010101010001001000",
    ("number", 1): "2 10001001",
    ("number", 2): "3 1001",
    ("number", 3): "0 00101011000101010010001010000000",
    ("number", 4): "3 1000",
    ("number", 5): "3 1001",
    ("number", 6): "0 00000110000100111010000010100001",
    ("number", 7): "2 00101100",
}


def test_code_that_asks_one_stream_two_questions_is_refused() -> None:
    class Torn(Trajectory):
        def permanent(self, setup: int, memo: bytes, keyed: Draws) -> Response:
            return Response(keyed.below(2 + len(memo)), setup)

        def stream(self, memo: bytes) -> bytes:
            return b""

    torn = Torn.resolve(2, Decimal(1), None, {"periods": 2, "changes": 1})
    with pytest.raises(Unclear, match="ask them different questions"):
        joint_law(torn, 0, (b"0 +", b"2"))


def test_a_broken_bound_is_seen() -> None:
    """A mechanism that drew its bits anew for each change would spend the epsilon twice."""

    class Anew(Trajectory):
        def stream(self, memo: bytes) -> bytes:
            return memo

    anew = Anew.resolve(2, Decimal(1), None, {"periods": 4, "changes": 1})
    ratio = history_ratio(anew, few(4, 1))
    assert ratio is not None
    assert ratio > exp_between(Fraction(1))[1]


@pytest.mark.parametrize(
    ("kind", "start", "last", "outside"),
    [
        ("day", date(2027, 2, 27), "2027-03-01", ("2027-02-26", "2027-03-02")),
        ("week", date(2026, 12, 24), "2027-W01", ("2026-W51", "2027-W02")),
        ("month", date(2026, 11, 30), "2027-01", ("2026-10", "2027-02")),
    ],
)
def test_the_periods_of_a_horizon(
    kind: Any, start: date, last: str, outside: tuple[str, str]
) -> None:
    horizon = Horizon(start, 3, None)
    assert horizon.last(kind).key == last
    assert horizon.index(parse_period(last)) == 3
    assert [horizon.index(parse_period(text)) for text in outside] == [None, None]
