"""A question with a horizon at the collector: who may report when, and what a tally holds then."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from collector_kit import InProcess, make_survey, new_device

from deniable.protocol.derivation import next_response
from deniable.protocol.mechanisms.dyadic import Dyadic, Memory
from deniable.protocol.report import report_document, request_document

START = date(2026, 12, 1)
HORIZON = {"start": START, "periods": 8}
SURVEY = make_survey(
    {
        "dark": {"horizon": {**HORIZON, "changes": 2}},
        "launches": {
            "type": "number",
            "range": {"low": 0, "high": 4, "steps": 4},
            "horizon": HORIZON,
        },
    }
)
DARK = SURVEY.questions["dark"]

Start = Callable[..., InProcess]


def day(t: int) -> str:
    return (START + timedelta(days=t - 1)).isoformat()


def post(collector: InProcess, t: int, *responses: Any, name: str = "dark") -> list[str]:
    """Send responses of as many devices; return what became of each."""
    own = SURVEY.questions[name]
    found = []
    for response in responses:
        reports = [report_document(name, own.version, own.wire_hash, response)]
        reply = collector.post(request_document("test", day(t), None, new_device(), reports)).json
        found += [one["code"] for one in reply["rejected"]] or ["ok"] * reply["accepted"]
    return found


@pytest.mark.parametrize("name", ["dark", "launches"])
@pytest.mark.parametrize("t", range(1, 9))
def test_only_levels_that_report_in_a_period_count(start: Start, t: int, name: str) -> None:
    collector = start(SURVEY)
    collector.clock.advance(days=t)
    levels = [[level, 1] for level in range(4)]
    due = ["ok" if t % (1 << level) == 0 else "bad_response" for level in range(4)]
    assert post(collector, t, *levels, name=name) == due
    assert post(collector, t, [4, 1], [0, 2], [0, True], 1, name=name) == ["bad_response"] * 4


def test_the_reason_is_said(start: Start) -> None:
    collector = start(SURVEY)
    collector.clock.advance(days=1)
    reports = [report_document("dark", 1, DARK.wire_hash, [1, 0])]
    reply = collector.post(request_document("test", day(1), None, new_device(), reports))
    assert reply.json["rejected"] == [
        {
            "index": 0,
            "code": "bad_response",
            "detail": "response must be of a level that reports then",
        }
    ]


@pytest.mark.parametrize(
    ("t", "now", "code"),
    [
        (0, 1, "expired"),
        (9, 9, "expired"),
        (9, 1, "expired"),
        (8, 7, "period_future"),
        (8, 8, "ok"),
        (1, 4, "ok"),
        (1, 5, "period_closed"),
    ],
)
def test_a_period_outside_the_horizon_is_no_period_of_the_question(
    start: Start, t: int, now: int, code: str
) -> None:
    collector = start(SURVEY)
    collector.release(days=now)
    assert post(collector, t, [0, 1]) == [code]


def test_what_devices_send_is_what_tallies_hold(start: Start) -> None:
    """Every device's reports of eight days count, each in its level's row."""
    collector = start(SURVEY)
    mechanism = DARK.mechanism
    assert isinstance(mechanism, Dyadic)
    expected = {day(t): [0] * mechanism.shape.cells for t in range(1, 9)}
    devices = [os.urandom(32) for _ in range(40)]
    memories: dict[bytes, Memory | None] = dict.fromkeys(devices)
    for t in range(1, 9):
        collector.release(days=1)
        for number, secret in enumerate(devices):
            symbol = int(t > number % 9)
            response, memories[secret] = next_response(secret, DARK, memories[secret], symbol, t)
            if response is not None:
                mechanism.shape.fold(expected[day(t)], response)
                assert post(collector, t, mechanism.shape.pack(response)) == ["ok"]
    collector.release(days=4)
    found = {one["period"]: one["cells"] for one in collector.documents("test", "dark")}
    assert found == expected
    assert len(found) == 8
