"""Bounds of a queue, a disk that fills up under a running app, and two versions of an app."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from client_kit import (
    DAY,
    Clock,
    Collector,
    choice,
    question,
    responses,
    rows,
    run,
    survey,
    survey_file,
)

from deniable.client import Client, pending

SIDES = [f"side {number}" for number in range(256)]
NAMES = [f"q{number}" for number in range(100)]


def test_two_thousand_reports_wait_and_no_more(start: Any, clock: Clock, quick_store: Path) -> None:
    asked = survey({"linkable": True}, **{n: question(epsilon=1, grace=60) for n in NAMES})
    client = start(asked, store=quick_store)
    for _ in range(21):
        client.record_many(dict.fromkeys(NAMES, True))
        clock.advance(DAY)
    status = client.status()
    assert (status.queued, status.dropped) == (pending.MOST_REPORTS, {"full": 100})
    assert quick_store.stat().st_size < 512 * 1024
    clock.advance(45 * DAY)  # the reports of the first days close
    client.record_many(dict.fromkeys(NAMES, True))
    status = client.status()
    assert status.dropped["full"] == 100
    assert status.queued + status.dropped["period_closed"] == pending.MOST_REPORTS + 100


def test_what_is_acknowledged_makes_room(
    start: Any, heard: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which was refused may be answered again, in the same period."""
    monkeypatch.setattr(pending, "MOST_REPORTS", 2)
    asked = survey({"linkable": True}, **{name: question() for name in "abc"})
    client = start(asked, heard.url, consent="on")
    for name in "abc":
        client.record(name, True)
    assert client.status().dropped == {"full": 1}
    assert client.status().epsilon_spent == 4
    assert client.flush(force=True).sent == 2
    client.record("c", True)
    assert client.flush(force=True).sent == 1


def test_half_a_megabyte_waits_and_no_more(
    start: Any, clock: Clock, quick_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the survey asks: a response is counted as the most it can take."""
    monkeypatch.setattr(pending, "MOST_BYTES", 4000)
    asked = survey({"linkable": True}, bits=choice(*SIDES, mechanism="oue", grace=60))
    client = start(asked, store=quick_store)
    for _ in range(50):
        client.record("bits", SIDES[7])
        clock.advance(DAY)
    (count, size, taken) = rows(
        quick_store, "SELECT count(*), total(size), total(length(response)) FROM queue"
    )[0]
    assert 10 < count < 50
    assert taken <= size <= 4000
    assert client.status().dropped["full"] == 50 - count


def test_the_bounds_hold_over_all_surveys_of_a_store(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "MOST_REPORTS", 1)
    start(survey()).record("dark", True)
    other = start(survey({"id": "other"}))
    other.record("dark", True)
    assert (other.status().queued, other.status().dropped) == (0, {"full": 1})


def test_a_default_that_finds_no_room_is_counted(
    start: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "MOST_REPORTS", 1)
    client = start(survey(dark=question(), left=question(default=True)))
    client.record("dark", True)
    clock.advance(DAY)
    client.flush()
    assert client.status().dropped == {"full": 1}


def test_refused_forms_are_as_few_in_the_file_as_in_the_status(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pending, "MOST_REPORTS", 0)
    with start() as client:
        client.record("dark", True)
        client.record("dark", True, wait=False)
    assert rows(store, "SELECT name, n FROM counters") == [("full", 2)]
    assert rows(store, "SELECT * FROM ledger") == []


# A disk that fills up while the app runs

FILLED = """
import resource, signal, sys
from deniable.client import Client
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def leave(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
with Client(*sys.argv[1:4], "on", strict=True) as client:
    client.record("q0", True)
    leave(1024)
    for number in range(1, 9):
        client.record(f"q{number}", True, wait=number % 2)
    print(client.status().state, "disk" in client.status().reason, client.opt_out())
    leave(resource.RLIM_INFINITY)
    client.record("q9", True)
    print(client.status().state, client.opt_out() if sys.argv[4] == "no" else None)
"""


@pytest.mark.parametrize("decision", ["no", "none"])
def test_a_disk_that_fills_up_silences_until_the_next_start(
    start: Any, store: Path, tmp_path: Path, decision: str
) -> None:
    """The app goes on; what is stored stays; a no is taken as soon as there is room for it."""
    asked = survey({"linkable": True}, **{name: question(epsilon=1) for name in NAMES[:10]})
    path = survey_file(tmp_path / "survey.json", asked)
    out = run(FILLED, path, "http://127.0.0.1:9", store, decision)
    said = {"no": True, "none": None}[decision]
    assert out.splitlines() == ["silent True False", f"silent {said}"]
    assert rows(store, "PRAGMA integrity_check") == [("ok",)]
    client = start(asked, consent="on")
    if decision == "no":
        assert (client.status().state, client.status().queued) == ("off", 0)
    else:
        assert (client.status().state, client.status().queued) == ("on", 1)
        client.record("q1", True)
        assert client.status().queued == 2


# A survey that changes under a running process, and two versions of an app on one store


def test_a_survey_file_is_read_once(start: Any, store: Path, tmp_path: Path) -> None:
    path = survey_file(tmp_path / "survey.json", survey())
    client = start(str(path))
    survey_file(path, survey(dark=question(version=2), more=question()))
    client.record("dark", True)
    assert rows(store, "SELECT question, version FROM ledger") == [("dark", 1)]
    path.unlink()
    client.record("dark", True)
    assert client.status().state == "local"


OLD = survey(a=question(), b=question(), same=question())
NEW = survey(
    {"max_epsilon": Decimal(9)},
    a=question(version=2),
    c=question(),
    same=question(ask="Is it something else?"),
)


def test_two_versions_of_an_app_share_a_store(
    start: Any, store: Path, heard: Collector, tmp_path: Path, clock: Clock
) -> None:
    """Each answers its own questions, either sends for both, and the lower ceiling is for both."""
    old = start(OLD, heard.url, consent="on")
    old.record("a", True)
    old.record("same", True)
    clock.advance(DAY)
    program = """
import sys
from datetime import UTC, datetime
from deniable.client import Client
noon = datetime(2026, 12, 1, 12, tzinfo=UTC)
with Client(*sys.argv[1:], "on", strict=True, _clock=lambda: noon) as client:
    for name in ("a", "c", "same"):
        client.record(name, True)
    print(client.status().dropped)
"""
    path = survey_file(tmp_path / "survey.json", NEW)
    assert run(program, path, heard.url, store) == "{'changed': 1}\n"
    old.record("b", True)  # would be the tenth epsilon
    status = old.status()
    assert (status.epsilon_spent, status.epsilon_ceiling) == (8, 9)
    assert status.dropped == {"changed": 1, "ceiling": 1}
    old.flush(force=True)
    assert old.status().sent == 4
    sent = {
        (request.document["period"], report["question"], report["version"])
        for request in heard.requests
        for report in request.document["reports"]
    }
    days = ("2026-11-30", "2026-12-01")
    assert sent == {
        (days[0], "a", 1),
        (days[0], "same", 1),
        (days[1], "a", 2),
        (days[1], "c", 1),
    }


def test_a_version_that_asks_holds_back_one_that_does_not(
    start: Any, store: Path, heard: Collector, clock: Clock
) -> None:
    """What the last start asked for holds for the store, while nobody has decided."""
    first: Client = start(OLD, heard.url, consent="on")
    first.record("a", True)
    second: Client = start(NEW, heard.url, consent="ask")
    assert first.flush(force=True).sent == 0
    assert (first.status().state, second.status().state) == ("local", "local")
    assert heard.requests == []
    second.opt_in()
    first.record("b", True)
    assert first.flush(force=True).sent == 1
    assert [name for _, name, _ in heard.reports] == ["b"]
    assert responses(store, "a") == []


def test_a_client_that_is_off_stays_off_beside_one_that_is_not(
    start: Any, store: Path, heard: Collector, clock: Clock
) -> None:
    """Until the person decides, each does the less of what it asks for and the last start did."""
    off: Client = start(OLD, heard.url, consent="off")
    on: Client = start(OLD, heard.url, consent="on")
    on._engine._uploader.stop(5)
    on.record("a", True)
    clock.advance(2 * DAY)
    off.record("b", True)
    assert off.flush(force=True).sent == 0
    assert off.status().state == "off"
    assert off._engine._uploader._thread is None
    assert heard.requests == []
    assert on.flush(force=True).sent == 1
    assert [name for _, name, _ in heard.reports] == ["a"]
