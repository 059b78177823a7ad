"""When reports leave, and in whose company."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, NOON, Clock, Collector, choice, question, rows, survey

from deniable.client import pacing
from deniable.client.pacing import backoff, later, uniform

MIDNIGHT = datetime(2026, 12, 1, tzinfo=UTC)


def departures(store: Path) -> dict[str, datetime]:
    found = rows(store, "SELECT question, not_before FROM queue JOIN ledger USING (number)")
    return {name: datetime.fromtimestamp(seconds, UTC) for name, seconds in found}


@pytest.mark.parametrize(("grace", "hours"), [(1, 12), (3, 24), (60, 24)])
def test_a_departure_is_uniform_after_the_period(
    start: Any, tmp_path: Path, grace: int, hours: int
) -> None:
    """Of 60 uniform draws one is in the first and one in the last half, but for odds of 2e-18."""
    found = []
    for device in range(60):
        place = tmp_path / f"{device}.db"
        with start(survey(dark=question(grace=grace)), store=place) as client:
            client.record("dark", True)
        found += departures(place).values()
    window = timedelta(hours=hours)
    assert all(MIDNIGHT <= moment <= MIDNIGHT + window for moment in found)
    assert min(found) < MIDNIGHT + window / 2 < max(found)


def test_a_departure_does_not_depend_on_when_the_answer_came(start: Any, store: Path) -> None:
    """All of one period leave together: the second does not draw anew."""
    asked = survey(a=question(), b=question(), c=question(period="week"))
    with start(asked) as client:
        client.record("a", True)
    with start(asked) as client:
        client.record("b", True)
        client.record("c", True)
    leaves = departures(store)
    assert leaves["a"] == leaves["b"]
    assert leaves["c"] >= datetime(2026, 12, 7, tzinfo=UTC)


def test_a_group_does_not_leave_with_what_travels_alone(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an edition that batched by question, on the day the app was upgraded."""
    names, drawn = ("a", "b", "c"), iter(range(3))
    monkeypatch.setattr(pacing, "uniform", lambda _: timedelta(hours=next(drawn)))
    for head, asked in (({"batch": "question"}, names[:1]), ({}, names[1:])):
        with start(survey(head, **{name: question() for name in names})) as client:
            client.record_many(dict.fromkeys(asked, True))
    leaves = departures(store)
    assert [leaves[name] - MIDNIGHT for name in names] == [timedelta(hours=n) for n in (0, 1, 1)]


def test_a_group_leaves_in_time_for_its_shortest_grace(start: Any, tmp_path: Path) -> None:
    """60 draws over a whole day would all fall in its first half with odds of 1e-18."""
    asked = survey(a=question(grace=60), b=question(grace=1))
    for device in range(60):
        place = tmp_path / f"{device}.db"
        with start(asked, store=place) as client:
            client.record("a", True)
        assert departures(place)["a"] <= MIDNIGHT + timedelta(hours=12)


def test_a_once_answer_leaves_within_a_day_and_before_it_closes(
    start: Any, store: Path, clock: Clock
) -> None:
    asked = survey(a=question(period="once"), b=question(period="once", expires=date(2026, 11, 30)))
    clock.advance(-DAY)
    start(asked).close()
    clock.advance(DAY)
    start(asked).record("a", True)
    start(asked).record("b", True)
    leaves = departures(store)
    assert NOON <= leaves["a"] <= NOON + DAY
    assert NOON <= leaves["b"] <= MIDNIGHT


def test_a_once_answer_does_not_leave_on_the_day_the_store_was_made(
    start: Any, store: Path
) -> None:
    start(survey(a=question(period="once"))).record("a", True)
    assert MIDNIGHT <= departures(store)["a"] <= MIDNIGHT + DAY


def test_flush_sends_what_is_due(start: Any, clock: Clock, heard: Collector) -> None:
    client = start(survey(a=question(), b=question(period="week")), heard.url)
    client.opt_in()
    client._engine._uploader.stop(5)
    client.record("a", True)
    client.record("b", True)
    assert (client.flush().sent, client.flush().kept) == (0, 2)
    clock.now = MIDNIGHT - timedelta(seconds=1)
    assert client.flush().sent == 0
    clock.now = MIDNIGHT + DAY
    assert (client.flush().sent, client.flush().kept) == (1, 1)
    assert [request.document["period"] for request in heard.requests] == ["2026-11-30"]


def test_force_sends_everything(start: Any, heard: Collector) -> None:
    client = start(survey(a=question(), b=question(period="week")), heard.url, consent="on")
    client.record("a", True)
    client.record("b", True)
    assert client.flush(force=True).sent == 2
    assert client.status().sent == 2
    assert client.status().queued == 0


@pytest.mark.parametrize(("force", "sent"), [(True, 2), (False, 0)])
def test_force_takes_as_long_as_it_takes(
    start: Any, clock: Clock, heard: Collector, force: bool, sent: int
) -> None:
    """A timeout is one for what is due."""
    client = start(survey(a=question(), b=question(period="once")), heard.url, consent="on")
    client._engine._uploader.stop(5)
    client.record_many({"a": True, "b": True})
    clock.now = MIDNIGHT + DAY
    flushed = client.flush(force=force, timeout=0)
    assert (flushed.sent, flushed.kept) == (sent, 2 - sent)


def test_the_thread_sends_what_is_due(start: Any, clock: Clock, heard: Collector) -> None:
    client = start(survey(), heard.url, consent="on")
    client.record("dark", True)
    clock.now = MIDNIGHT + DAY
    client._engine._uploader.wake()
    heard.wait_for(1)
    assert heard.reports[0][:2] == ("2026-11-30", "dark")


def test_the_thread_sends_what_is_overdue_at_the_start(
    start: Any, clock: Clock, heard: Collector
) -> None:
    with start(survey(), heard.url, consent="on") as client:
        client.record("dark", True)
    clock.now = MIDNIGHT + DAY
    start(survey(), heard.url, consent="on")
    heard.wait_for(1)


def test_a_request_is_one_device_in_one_period(start: Any, heard: Collector, clock: Clock) -> None:
    asked = survey(
        {"segments": ["beta"]},
        zeta=question(),
        alpha=choice("x", "y", "z"),
        week=question(period="week"),
        once=question(period="once"),
        only=question(period="once"),
    )
    client = start(asked, heard.url, segment="beta", consent="on")
    client._engine._uploader.stop(5)
    for name in ("zeta", "week", "only", "once"):
        client.record(name, True)
    client.record("alpha", "y")
    client.flush(force=True)
    seen = {tuple(request.questions): request for request in heard.requests}
    assert set(seen) == {("alpha", "zeta"), ("week",), ("once",), ("only",)}
    day = seen["alpha", "zeta"]
    assert day.path == "/v1/reports"
    assert set(day.document) == {"survey", "period", "segment", "device", "reports"}
    assert day.document["survey"] == "acme"
    assert day.document["segment"] == "beta"
    assert day.document["period"] == "2026-11-30"
    own = asked.questions["zeta"]
    assert day.document["reports"][1] == {
        "question": "zeta",
        "version": 1,
        "hash": own.hash[:32],
        "response": day.document["reports"][1]["response"],
    }
    assert len({request.document["device"] for request in heard.requests}) == 4
    assert len({request.port for request in heard.requests}) == 4


def test_the_pseudonym_changes_with_the_period(start: Any, heard: Collector, clock: Clock) -> None:
    client = start(survey(), heard.url, consent="on")
    for _ in range(3):
        client.record("dark", True)
        client.flush(force=True)
        clock.advance(DAY)
    names = [request.document["device"] for request in heard.requests]
    assert len(set(names)) == 3
    assert all(len(name) == 22 for name in names)


def test_a_retry_has_the_same_pseudonym(start: Any, heard: Collector) -> None:
    asked = survey(a=question(), b=question())
    client = start(asked, heard.url, consent="on")
    for name in ("a", "b"):
        client.record(name, True)
        client.flush(force=True)
    assert len({request.document["device"] for request in heard.requests}) == 1


def test_questions_that_are_batched_alone_share_nothing(
    start: Any, heard: Collector, store: Path
) -> None:
    asked = survey({"batch": "question"}, **{f"q{n}": question() for n in range(6)})
    client = start(asked, heard.url, consent="on")
    for name in asked.questions:
        client.record(name, True)
    assert len(set(departures(store).values())) > 1
    client.flush(force=True)
    assert sorted(request.questions for request in heard.requests) == [
        [name] for name in asked.questions
    ]
    assert len({request.document["device"] for request in heard.requests}) == 6
    assert len({request.port for request in heard.requests}) == 6


def test_requests_keep_the_limits(start: Any, heard: Collector) -> None:
    """70 KB of responses that no compression shortens do not fit into one request."""
    from dataclasses import replace

    sides = [f"side {number}" for number in range(4096)]
    head = {"linkable": True, "max_epsilon": Decimal(2)}
    details = {"mechanism": "oue", "epsilon": Decimal("0.01")}
    whole = survey(head, q=choice(*sides, **details))
    names = [f"q{number}" for number in range(140)]
    copies = {name: replace(whole.questions["q"], id=name) for name in names}
    client = start(replace(whole, questions=copies), heard.url, consent="on")
    for name in names:
        client.record(name, sides[1])
    assert client.flush(force=True).sent == 140
    sizes = [int(request.headers["Content-Length"]) for request in heard.requests]
    assert len(sizes) == 2
    assert max(sizes) <= 64 * 1024
    assert sorted(name for request in heard.requests for name in request.questions) == sorted(names)
    assert len({request.document["device"] for request in heard.requests}) == 1


def test_a_uniform_duration_reaches_both_ends() -> None:
    """300 draws of 0..3 ms miss one of the four with odds below 4 * 0.75^300 < 1e-36."""
    drawn = {uniform(timedelta(milliseconds=3)) for _ in range(300)}
    assert drawn == {timedelta(milliseconds=number) for number in range(4)}
    assert uniform(-DAY) == timedelta(0)


def test_a_moment_that_is_over_is_now() -> None:
    assert later(NOON - DAY, NOON, NOON + DAY) >= NOON


def test_backoff_grows_with_full_jitter_and_has_a_limit() -> None:
    """60 draws stay all below half the limit with odds of 2^-60."""
    for failures, limit in ((0, 5), (1, 10), (4, 80), (10, 3600), (10_000, 3600)):
        drawn = [backoff(failures).total_seconds() for _ in range(60)]
        assert limit / 2 < max(drawn) <= limit
        assert min(drawn) < limit / 2
