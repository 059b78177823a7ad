"""A report whose bits no device would set does not count, and its neighbours do."""

from __future__ import annotations

from datetime import UTC, datetime

from collector_kit import make_survey

from deniable.collector.catalogue import Catalogue
from deniable.collector.rules import Rules
from deniable.collector.store.base import KnownSurvey, Registered
from deniable.collector.wire import Report
from deniable.protocol.periods import parse_period
from deniable.protocol.response import Response

MANY = {
    "type": "choice",
    "choices": [f"c{i}" for i in range(100)],
    "mechanism": "oue",
    "epsilon": 1,
}
SURVEY = make_survey({"many": MANY}, linkable=True)
ASKED = SURVEY.questions["many"]
CATALOGUE = Catalogue([KnownSurvey("test", "", ())], [Registered(1, 1, ASKED)])


def report(bits: int) -> Report:
    wire = ASKED.mechanism.shape.pack(Response((1 << bits) - 1))
    return Report("many", ASKED.version, ASKED.wire_hash, wire)


def test_only_what_a_device_could_send_counts() -> None:
    rules = Rules(CATALOGUE, "test", parse_period("2026-11-30"))
    now = datetime(2026, 12, 1, 9, tzinfo=UTC)
    reports = [report(bits) for bits in (30, 100, 61, 62, 2, 1)]
    entries, rejections = rules.judge(reports, None, now, datetime(2026, 11, 1, tzinfo=UTC))
    assert [index for index, _, _ in entries] == [0, 2, 4]
    assert [(one.index, one.code) for one in rejections] == [
        (1, "bad_response"),
        (3, "bad_response"),
        (5, "bad_response"),
    ]
    assert {one.detail for one in rejections} == {
        "response must have 2 to 61 bits set, as devices' have"
    }, "the same for all: nothing of the report"
