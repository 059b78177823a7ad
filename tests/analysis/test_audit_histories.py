"""The audit of questions with a horizon: what devices go through, and what may be said of it."""

from __future__ import annotations

from datetime import date
from itertools import pairwise
from pathlib import Path

import pytest
from client_kit import question, survey, survey_file

from deniable.analysis import audit
from deniable.analysis.auditing.devices import Devices
from deniable.analysis.auditing.histories import audit_histories, plans
from deniable.protocol.question import Question

LONG = {
    "day": {"start": "2026-11-30", "periods": 1024, "changes": 20},
    "week": {"start": "2026-11-30", "periods": 200, "changes": 2},
    "month": {"start": "2026-11-30", "periods": 700, "changes": 1},
}
ASKED = survey(
    {"linkable": True},
    **{kind: question(period=kind, horizon=horizon, grace=20) for kind, horizon in LONG.items()},
    rising=question(
        type="number",
        range={"low": 0, "high": 100},
        horizon={"start": "2026-11-30", "periods": 400},
    ),
    past=question(horizon={"start": "2018-01-30", "periods": 30, "changes": 2}),
)


def moments(asked: Question, periods: list[int]) -> list[int]:
    """The days since the horizon began."""
    assert asked.horizon is not None
    starts = [asked.horizon.period(asked.period, t).start for t in periods]
    return [(start - starts[0]).days for start in starts]


@pytest.mark.parametrize("name", ASKED.questions)
def test_no_device_leaps_further_than_a_clock_is_believed(name: str) -> None:
    asked = ASKED.questions[name]
    assert asked.horizon is not None
    planned = plans(asked, asked.horizon, 30)
    assert len({tuple(plan) for plan in planned}) > 20
    for plan in planned:
        days = moments(asked, [t for t, _ in plan])
        assert all(0 < later - before <= 366 for before, later in pairwise(days))
        assert plan[0][0] <= 2
        assert plan[-1][0] <= asked.horizon.periods


def test_devices_of_long_horizons_report_what_their_secrets_give(tmp_path: Path) -> None:
    path = survey_file(tmp_path / "survey.json", ASKED)
    with Devices(path, workers=1) as devices:
        found = {each.question: each for each in audit_histories(devices, ASKED, 12)}
    assert {name: each.kept for name, each in found.items()} == {
        **dict.fromkeys([*LONG, "rising"], True),
        "past": None,
    }
    assert "not audited" in found["past"].line
    assert " of 11 levels" in found["day"].line


def test_periods_after_the_question_expires_are_none_of_a_device(tmp_path: Path) -> None:
    """A horizon may outlast its question: in a period begun by then it is asked, later in none."""
    short = {"horizon": {"start": "2026-11-30", "periods": 12}, "expires": date(2026, 12, 5)}
    number = {"type": "number", "range": {"low": 0, "high": 100}}
    asked = survey(
        {"linkable": True},
        **{kind: question(period=kind, **number, **short) for kind in ("day", "week", "month")},
    )
    last = {
        name: {plan[-1][0] for plan in plans(each, each.horizon, 30)}
        for name, each in asked.questions.items()
        if each.horizon is not None
    }
    assert last == {"day": {6}, "week": {1}, "month": {2}}
    with Devices(survey_file(tmp_path / "survey.json", asked), workers=1) as devices:
        found = audit_histories(devices, asked, 12)
    assert [each.kept for each in found] == [True] * 3


def test_a_horizon_is_walked_and_gone_through_and_not_sampled(tmp_path: Path) -> None:
    asked = survey(dark=question(horizon={"start": "2026-11-30", "periods": 8, "changes": 2}))
    found = audit(survey_file(tmp_path / "survey.json", asked), trials=100, seed=1)
    (dark,) = found.questions
    assert not found.violation
    assert dark.verdict.text.startswith("inconclusive: not sampled")
    assert dark.promise.proved()
    (row,) = found.sections()[0].rows
    assert row[-4:] == ("-", "-", "-", "-")
    assert [each.check for each in found.checks if each.question == "dark"] == ["history"]


def test_another_edition_of_a_question_is_said_and_not_gone_through(tmp_path: Path) -> None:
    path = survey_file(tmp_path / "survey.json", ASKED)
    other = survey(day=question(horizon={**LONG["day"], "changes": 3}))
    with Devices(path, workers=1) as devices:
        (found,) = audit_histories(devices, other, 2)
    assert (found.check, found.question, found.kept) == ("hash", "day", False)
