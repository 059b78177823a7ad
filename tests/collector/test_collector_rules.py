"""The rules in their order; each case breaks every later rule too, so that order decides."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from collector_kit import make_survey

from deniable.collector.catalogue import Catalogue
from deniable.collector.rules import Rules
from deniable.collector.store.base import KnownSurvey, Registered, Scope
from deniable.collector.wire import Report
from deniable.protocol.periods import parse_period

SURVEY = make_survey(
    {
        "daily": {"expires": "2026-12-02"},
        "weekly": {"period": "week"},
        "once": {"period": "once", "version": 4},
    },
    segments=["a"],
)
NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
CATALOGUE = Catalogue(
    [KnownSurvey("test", "", ("a",))],
    [Registered(n, n, question) for n, question in enumerate(SURVEY.questions.values())],
)
OPEN = datetime(2026, 11, 1, tzinfo=UTC)


def report(name: str = "daily", **changes: Any) -> Report:
    question = SURVEY.questions[name]
    fields = {
        "question": name,
        "version": question.version,
        "hash": question.wire_hash,
        "response": 1,
    }
    return Report(**(fields | changes))


def judge(
    one: Report | None,
    period: str = "2026-11-30",
    segment: str | None = None,
    now: datetime = NOW,
    watermark: datetime = OPEN,
) -> str:
    """The code of a report, or ok."""
    rules = Rules(CATALOGUE, "test", parse_period(period))
    entries, rejections = rules.judge([one], segment, now, watermark)
    assert len(entries) + len(rejections) == 1
    return rejections[0].code if rejections else "ok"


LATE = datetime(2099, 1, 1, tzinfo=UTC)
EARLY = datetime(2026, 1, 1, tzinfo=UTC)
BAD: dict[str, Any] = {"segment": "nope", "now": EARLY, "watermark": LATE}


@pytest.mark.parametrize(
    ("code", "one", "rest"),
    [
        (
            "unknown_question",
            report(question="nope", version=9, hash="", response=None),
            {**BAD, "period": "2026-12-05"},
        ),
        (
            "wrong_version",
            report(version=9, hash="", response=None),
            {**BAD, "period": "2026-12-05"},
        ),
        ("wrong_hash", report(hash="0" * 32, response=None), {**BAD, "period": "2026-12-05"}),
        ("wrong_hash", report(hash=SURVEY.questions["daily"].hash, response=None), BAD),
        ("wrong_period", report("weekly", response=None), {**BAD, "period": "2026-12-05"}),
        ("wrong_period", report("once", response=None), BAD),
        ("wrong_period", report(response=None), {**BAD, "period": "once"}),
        ("expired", report(response=None), {**BAD, "period": "2026-12-03"}),
        ("period_future", report(response=None), BAD),
        ("period_closed", report(response=None), {**BAD, "now": NOW}),
        ("segment", report(response=None), {"segment": "nope"}),
        ("segment", report(), {"segment": ""}),
        ("bad_response", report(response=None), {}),
        ("bad_response", report(response=2), {}),
        ("bad_response", report(response=True), {}),
        ("bad_response", None, BAD),
        ("ok", report(), {}),
        ("ok", report(), {"segment": "a"}),
        ("ok", report("weekly"), {"period": "2026-W49"}),
        ("ok", report("once"), {"period": "once", "now": EARLY}),
        ("ok", report(), {"period": "2026-12-02", "now": datetime(2026, 12, 2, tzinfo=UTC)}),
    ],
)
def test_the_first_rule_that_applies(code: str, one: Report | None, rest: dict[str, Any]) -> None:
    assert judge(one, **rest) == code


def test_a_period_is_open_until_its_grace_ends() -> None:
    ends = datetime(2026, 12, 1, tzinfo=UTC) + timedelta(days=3)
    assert judge(report(), watermark=ends - timedelta(microseconds=1)) == "ok"
    assert judge(report(), watermark=ends) == "period_closed"


def test_neighbours_are_judged_apart_and_keep_their_places() -> None:
    rules = Rules(CATALOGUE, "test", parse_period("2026-11-30"))
    reports = [report(), None, report(response="x"), report(response=0), report(version=2)]
    entries, rejections = rules.judge(reports, None, NOW, OPEN)
    assert [(index, response.out) for index, _, response in entries] == [(0, 1), (3, 0)]
    assert [(one.index, one.code) for one in rejections] == [
        (1, "bad_response"),
        (2, "bad_response"),
        (4, "wrong_version"),
    ]


def test_a_once_question_counts_in_a_scope_of_its_own() -> None:
    rules = Rules(CATALOGUE, "test", parse_period("once"))
    ((_, slot, _),), _ = rules.judge([report("once")], None, NOW, OPEN)
    assert slot.scope == Scope("test", "once", "once", 4)
    assert slot.closes == datetime(2099, 1, 1, tzinfo=UTC)
