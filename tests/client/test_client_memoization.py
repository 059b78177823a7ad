"""The same answer is the same permanent response for ever, and averaging reveals nothing more."""

from __future__ import annotations

import hashlib
import math
import shutil
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, Clock, choice, question, responses, rows, run, survey, survey_file

from deniable.protocol.derivation import instantaneous_response, permanent_response
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey

SIDES = [f"side {number}" for number in range(256)]
WIDE = survey({"linkable": True}, bits=choice(*SIDES, mechanism="oue", grace=1))
"""One response of `bits` has 256 bits: two independent ones are equal with odds below 1e-60."""


def answer_daily(client: Any, clock: Clock, days: int, name: str, value: Any) -> list[Any]:
    """The response of each day, read before its period closes."""
    found = []
    for _ in range(days):
        client.record(name, value)
        found.append(responses(client._path, name)[-1])
        clock.advance(DAY)
    return found


def test_a_thousand_reports_of_one_answer_are_one_response(
    start: Any, clock: Clock, quick_store: Path
) -> None:
    client = start(WIDE, store=quick_store)
    assert len(set(answer_daily(client, clock, 1000, "bits", SIDES[7]))) == 1
    assert rows(quick_store, "SELECT answers FROM ledger") == [(1000,)]
    client.record("bits", SIDES[8])
    assert len(set(responses(quick_store, "bits"))) == 2


def test_a_second_round_makes_reports_differ(start: Any, clock: Clock) -> None:
    asked = choice(*SIDES, mechanism="oue", grace=1, epsilon_first=Decimal(1))
    client = start(survey({"linkable": True}, bits=asked))
    assert len(set(answer_daily(client, clock, 20, "bits", SIDES[7]))) == 20


def test_a_restart_gives_the_same_response(start: Any, clock: Clock, store: Path) -> None:
    for _ in range(3):
        with start(WIDE) as client:
            answer_daily(client, clock, 1, "bits", SIDES[7])
    assert len(set(responses(store, "bits"))) == 1


def test_a_new_process_gives_the_same_response(start: Any, store: Path, tmp_path: Path) -> None:
    with start(WIDE) as client:
        client.record("bits", SIDES[7])
    program = """
import sys
from datetime import UTC, datetime
from deniable.client import Client
clock = lambda: datetime(2026, 12, 1, tzinfo=UTC)
with Client(sys.argv[1], "http://127.0.0.1:9", sys.argv[2], strict=True, _clock=clock) as client:
    client.record("bits", "side 7")
"""
    run(program, survey_file(tmp_path / "survey.json", WIDE), store)
    sent = responses(store, "bits")
    assert len(sent) == 2
    assert len(set(sent)) == 1


def test_a_copied_store_gives_the_same_response(start: Any, store: Path, tmp_path: Path) -> None:
    start(survey()).close()
    copy = tmp_path / "copy.db"
    shutil.copy(store, copy)
    for place in (store, copy):
        with start(WIDE, store=place) as client:
            client.record("bits", SIDES[7])
    assert responses(store, "bits") == responses(copy, "bits")


def test_a_rolled_back_disk_gives_the_same_response(start: Any, store: Path) -> None:
    with start(WIDE):
        pass
    before = store.read_bytes()
    found = []
    for _ in range(2):
        store.write_bytes(before)
        with start(WIDE) as client:
            client.record("bits", SIDES[7])
        found += responses(store, "bits")
    assert len(found) == 2
    assert len(set(found)) == 1


def test_two_devices_differ(start: Any, tmp_path: Path) -> None:
    found = []
    for name in ("one.db", "two.db"):
        with start(WIDE, store=tmp_path / name) as client:
            client.record("bits", SIDES[7])
        found += responses(tmp_path / name, "bits")
    assert len(set(found)) == 2


# The averaging attack. The attacker sees every report of devices whose answer never changes, and
# guesses the symbol that is reported most often.

ASKED: Survey = survey(coin=question(epsilon_first=Decimal(1), grace=1))
COIN: Question = ASKED.questions["coin"]


def secret(device: int) -> bytes:
    return hashlib.sha256(b"device %d" % device).digest()


def memoized(device: int, truth: int, reports: int) -> list[int]:
    permanent = permanent_response(secret(device), COIN, truth)
    assert permanent is not None
    return [instantaneous_response(COIN, permanent).out for _ in range(reports)]


def not_memoized(device: int, truth: int, reports: int) -> list[int]:
    """The same, with a fresh permanent response in every report."""
    fresh = (secret(1_000_000 * (device + 1) + report) for report in range(reports))
    permanents = (permanent_response(each, COIN, truth) for each in fresh)
    return [instantaneous_response(COIN, p).out for p in permanents if p is not None]


def guess(reports: list[int]) -> int:
    return Counter(reports).most_common(1)[0][0]


def test_averaging_ten_thousand_reports_finds_the_permanent_response_and_no_more() -> None:
    """10 000 reports miss the permanent response with odds exp(-2 * 10000 * 0.303^2) < 1e-700.

    So the guess is a function of the permanent response, whose law given the answer is exactly
    epsilon-private: averaging adds nothing to what that one response says.
    """
    for device in range(4):
        permanent = permanent_response(secret(device), COIN, 1)
        assert permanent is not None
        assert guess(memoized(device, 1, 10_000)) == permanent.out
    law = [COIN.mechanism.law(0, str(symbol).encode(), 1) for symbol in (0, 1)]
    for response, mass in law[0].items():
        assert mass / law[1][response] < Fraction(math.exp(2)) * (1 + Fraction(1, 10**12))


def test_the_attack_is_right_no_more_often_than_epsilon_permits() -> None:
    """Right guesses are Bin(400, p1), p1 = E/(E+1) = 0.881 for E = e^2.

    6.2 standard deviations of 6.48 are passed with odds below 1e-9, and the devices' secrets
    are fixed. 300 reports miss a permanent response with odds exp(-2 * 300 * 0.303^2) < 1e-23.
    """
    devices, reports = 400, 300
    right = sum(guess(memoized(device, device % 2, reports)) == device % 2
                for device in range(devices))  # fmt: skip
    p1 = float(COIN.mechanism.first[0])
    assert abs(right - devices * p1) < 6.2 * math.sqrt(devices * p1 * (1 - p1))


def test_without_memoization_the_same_attack_succeeds() -> None:
    """P(a report is true) = 0.731: 400 reports mislead with odds exp(-800 * 0.231^2) < 1e-18."""
    devices, reports = 60, 400
    right = sum(guess(not_memoized(device, device % 2, reports)) == device % 2
                for device in range(devices))  # fmt: skip
    assert right == devices


@pytest.mark.parametrize("truth", [False, True])
def test_reports_of_a_real_client_average_to_its_permanent_response(
    start: Any, clock: Clock, quick_store: Path, truth: bool
) -> None:
    """600 reports miss it with odds exp(-2 * 600 * 0.303^2) < 1e-47."""
    sent = answer_daily(start(ASKED, store=quick_store), clock, 600, "coin", truth)
    assert len(sent) == 600
    ((own,),) = rows(quick_store, "SELECT secret FROM device")
    permanent = permanent_response(own, COIN, int(truth))
    assert permanent is not None
    assert guess(sent) == permanent.out


def test_a_known_secret_gives_known_responses(start: Any, store: Path) -> None:
    """The values are those of tests/protocol/test_derivation.py."""
    sides = SIDES[:16]
    asked = survey(
        {"id": "known", "linkable": True},
        side=choice(*sides, mechanism="grr"),
        bits=choice(*sides, mechanism="oue"),
    )
    client = start(asked)
    rows(store, "UPDATE device SET secret = ?", bytes(range(32)))
    client.record("side", sides[1])
    client.record("bits", sides[2])
    assert responses(store, "side") == [1]
    assert responses(store, "bits") == ["EQg"]  # the mask 2065
