"""A period that had its answer has no second one, whatever the journal forgot of it since."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, Clock, Collector, question, rows, survey

from deniable.client import journal
from deniable.protocol.survey import Survey

SECOND_ROUND = {"epsilon_first": 1, "default": False}
NAMES = ("a", "b")


def edition(grace: int, last: date) -> Survey:
    """An edition of one survey: grace and expiry are no part of a question's hash."""
    return survey(
        {"linkable": True},
        **{name: question(grace=grace, **SECOND_ROUND) for name in NAMES},
        once=question(period="once", expires=last, epsilon_first=1),
    )


def assert_each_once(heard: Collector) -> None:
    """No pseudonym reported twice on a question in a period."""
    counts = Counter(
        (request.document["device"], request.document["period"], name)
        for request in heard.requests
        for name in request.questions
    )
    assert counts.most_common(1)[0][1] == 1


def test_an_edition_with_more_grace_does_not_open_what_was_closed(
    start: Any, clock: Clock, heard: Collector, quick_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their answers would be drawn anew: a second report on a day, and a default over an answer."""
    monkeypatch.setattr(journal, "MOST", 3)
    old, new = edition(1, date(2026, 12, 2)), edition(60, date(2027, 12, 31))
    assert [q.hash for q in old.questions.values()] == [q.hash for q in new.questions.values()]
    client = start(old, heard.url, store=quick_store, consent="on")
    client._engine._uploader.stop(5)
    client.record("once", True)
    for _ in range(8):
        client.record_many(dict.fromkeys(NAMES, True))
        clock.advance(DAY)
        client.flush(force=True)
    client.close()
    assert len(heard.reports) == 17
    sql = "SELECT count(*) FROM answered WHERE period < '2026-12-04'"
    assert rows(quick_store, sql) == [(0,)], "the journal forgot them"
    later = start(new, heard.url, store=quick_store, consent="on")
    later._engine._uploader.stop(5)
    later.record_many(dict.fromkeys([*NAMES, "once"], True))
    later.flush(force=True)
    assert_each_once(heard)
    assert [report[:2] for report in heard.reports[17:]] == [
        (clock.now.date().isoformat(), name) for name in NAMES
    ]


def test_a_clock_that_was_far_ahead_opens_no_day_and_leaves_none_out(
    start: Any, clock: Clock, heard: Collector, quick_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was still open closes by it and is forgotten; then the clock is right again."""
    monkeypatch.setattr(journal, "MOST", 12)
    asked = edition(14, date(2990, 1, 1))
    client = start(asked, heard.url, store=quick_store, consent="on")
    client._engine._uploader.stop(5)
    for _ in range(10):
        client.record_many(dict.fromkeys(NAMES, True))
        clock.advance(DAY)
        client.flush(force=True)
    right = clock.now
    clock.advance(300 * DAY)
    client.record("a", True)
    for step in (DAY, -301 * DAY + timedelta(hours=1), timedelta(hours=12), timedelta(hours=13)):
        client.flush(force=True)
        clock.advance(step)
    client.flush(force=True)
    unanswered = {(right.date().isoformat(), name) for name in NAMES}
    assert unanswered <= {report[:2] for report in heard.reports}, "decided by the same process"
    client.close()
    start(asked, heard.url, store=quick_store, consent="on").flush(force=True)
    assert_each_once(heard)
