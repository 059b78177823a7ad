"""Without a yes nothing leaves: no socket, no thread, no name looked up."""

from __future__ import annotations

import socket
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from client_kit import (
    DAY,
    Clock,
    Collector,
    accept,
    choice,
    question,
    rows,
    run,
    survey,
    survey_file,
)

from deniable.client.bodies import compress
from deniable.client.transport import Transport, _Exchange

WATCHED = """
import sys, threading
seen = []
def hook(event, arguments):
    if event.startswith("socket."):
        seen.append(event)
sys.addaudithook(hook)
from deniable.client import Client
path, url, store, consent = sys.argv[1:]
with Client(path, url, store, consent=consent.replace("off", "on"), strict=True) as client:
    if consent == "off":
        client.opt_out()
        seen.clear()
    client.record("dark", True)
    threads = [each.name for each in threading.enumerate()]
    client.flush()
    flushed = client.flush(force=True)
    state = client.status().state
print(state, flushed.sent, bool(seen), "requests" in sys.modules, len(threads))
"""


@pytest.mark.parametrize(
    ("consent", "seen"),
    [
        ("ask", "local 0 False False 1"),
        ("off", "off 0 False False 1"),
        ("on", "on 1 True True 2"),
    ],
)
def test_sockets_and_threads(
    heard: Collector, tmp_path: Path, store: Path, consent: str, seen: str
) -> None:
    """With a yes the same program is seen to use them: the watch works."""
    path = survey_file(tmp_path / "survey.json", survey())
    assert run(WATCHED, path, heard.url, store, consent).strip() == seen
    assert len(heard.requests) == (consent == "on")


def test_local_answers_are_thrown_away_by_the_yes(
    start: Any, heard: Collector, store: Path, clock: Clock
) -> None:
    """And their periods may be answered again, `once` too, at no further cost."""
    client = start(survey(dark=question(), once=question(period="once")), heard.url)
    client.record_many({"dark": True, "once": True})
    assert (client.status().state, client.flush(force=True).kept) == ("local", 2)
    client.opt_in()
    assert (client.status().state, client.flush(force=True).kept) == ("on", 0)
    assert rows(store, "SELECT * FROM answered") == []
    client.record_many({"dark": True, "once": True})
    assert client.flush(force=True).sent == 2
    assert client.status().epsilon_spent == 4
    assert len(heard.reports) == 2


def test_a_yes_lets_the_thread_be_started(start: Any, heard: Collector, clock: Clock) -> None:
    client = start(survey(), heard.url)
    client.opt_in()
    client.record("dark", True)
    assert client._engine._uploader._thread.is_alive()
    clock.advance(2 * DAY)
    client._engine._uploader.wake()
    heard.wait_for(1)


def test_local_answers_do_not_pile_up(start: Any, clock: Clock) -> None:
    client = start()
    for _ in range(20):
        client.record("dark", True)
        clock.advance(DAY)
    status = client.status()
    assert status.queued == 4
    assert status.dropped == {"period_closed": 16}


@pytest.mark.parametrize("decision", ["on", "off"])
@pytest.mark.parametrize("consent", ["on", "ask"])
def test_a_stored_decision_wins(start: Any, decision: str, consent: str) -> None:
    with start(consent="ask" if consent == "on" else "on") as client:
        (client.opt_in if decision == "on" else client.opt_out)()
    assert start(consent=consent).status().state == decision


def test_without_a_decision_the_app_asks_anew(start: Any) -> None:
    for consent, state in (("on", "on"), ("ask", "local"), ("on", "on")):
        with start(consent=consent) as client:
            assert client.status().state == state


def test_a_no_erases_the_queue_and_stops(start: Any, heard: Collector, store: Path) -> None:
    client = start(survey(), heard.url, consent="on")
    client.record("dark", True)
    thread = client._engine._uploader._thread
    assert thread.is_alive()
    client.opt_out()
    assert not thread.is_alive()
    assert rows(store, "SELECT * FROM queue") == []
    client.record("dark", True)
    assert client.flush(force=True).sent == 0
    assert client.status().state == "off"
    assert "2026-11-30" in client.status().reason
    assert heard.requests == []


def test_a_yes_after_a_no_does_not_answer_a_period_twice(
    start: Any, heard: Collector, clock: Clock
) -> None:
    client = start(survey(), heard.url, consent="on")
    client.record("dark", True)
    client.opt_out()
    client.opt_in()
    client.record("dark", False)
    assert client.status().queued == 0
    clock.advance(DAY)
    client.record("dark", False)
    assert client.flush(force=True).sent == 1
    assert client.status().epsilon_spent == 2


def test_a_no_said_elsewhere_is_obeyed(start: Any, heard: Collector, store: Path) -> None:
    """`deniable-device off` while the app runs."""
    asked = survey(a=question(), b=question())
    client = start(asked, heard.url, consent="on")
    client.record("a", True)
    with start(asked, heard.url) as other:
        other.opt_out()
    client.record("b", True)
    assert rows(store, "SELECT question FROM answered JOIN ledger USING (number)") == [("a",)]
    assert client.flush(force=True).sent == 0
    assert client.status().state == "off"
    assert client._engine._uploader._thread is None
    assert heard.requests == []


def test_a_no_said_elsewhere_ends_the_thread(start: Any, heard: Collector) -> None:
    """At the latest when it next looks at the clock, though the app does nothing."""
    client = start(survey(), heard.url, consent="on")
    client.record("dark", True)
    thread = client._engine._uploader._thread
    with start(survey(), heard.url) as other:
        other.opt_out()
    client._engine._uploader.wake()
    thread.join(20)
    assert not thread.is_alive()
    with start(survey(), heard.url) as other:
        other.opt_in()
    client.record("dark", True)
    assert client.status().state == "on"


def test_a_yes_said_elsewhere_is_heard(start: Any, heard: Collector) -> None:
    client = start(survey(), heard.url)
    client.record("dark", True)
    with start(survey(), heard.url) as other:
        other.opt_in()
    client.record("dark", True)
    assert client.status().state == "on"
    assert client.flush(force=True).sent == 1


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("before", ["ask", "on"])
def test_an_answer_that_waited_for_the_disk_is_from_before_the_yes(
    start: Any, heard: Collector, before: str, elsewhere: bool
) -> None:
    """Given while nobody had said yes, or under an earlier yes, and stored under the new one."""
    client = start(survey(), heard.url, consent=before)
    write, begun, go_on = client._engine._writer._write, threading.Event(), threading.Event()
    client._engine._writer._write = lambda answers: (begun.set(), go_on.wait(20), write(answers))
    client.record("dark", True, wait=False)
    assert begun.wait(20)
    with start(survey(), heard.url, consent=before) as other:
        decider = other if elsewhere else client
        if before == "on":
            decider.opt_out()
        decider.opt_in()
    go_on.set()
    client._engine._writer.drain(20)
    assert client.flush(force=True).sent == 0
    assert client.status().dropped == {"before_consent": 1}
    client.record("dark", False)
    assert client.flush(force=True).sent == 1


def test_a_no_said_elsewhere_stops_a_parcel_between_two_requests(
    start: Any, heard: Collector
) -> None:
    """Two segments of one period travel one after the other; a yes after the no changes nothing."""
    asked = survey({"segments": ["x", "y"]}, a=question(), b=question())
    for segment, name in (("x", "a"), ("y", "b")):
        with start(asked, heard.url, consent="on", segment=segment) as client:
            client._engine._uploader.stop(5)
            client.record(name, True)
    client, other = start(asked, heard.url, consent="on"), start(asked, heard.url, consent="on")
    for each in (client, other):
        each._engine._uploader.stop(5)

    def decide_meanwhile(handler: Any, count: int) -> None:
        other.opt_out()
        other.opt_in()
        accept(handler, count)

    heard.answer = decide_meanwhile
    client.flush(force=True)
    assert [request.questions for request in heard.requests] == [["a"]]


def test_a_body_does_not_leave_when_the_no_comes_while_the_connection_is_made(
    start: Any, heard: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while a name is being looked up, which nothing can interrupt."""
    client = start(survey(), heard.url, consent="on")
    client.record("dark", True)
    look_up, decided = socket.getaddrinfo, threading.Event()

    def slowly(*arguments: Any, **options: Any) -> Any:
        client.opt_out()
        decided.set()
        return look_up(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    client.flush(force=True)
    assert decided.wait(20)
    client._engine._transport._exchange.join(20)
    assert heard.requests == []


def test_a_no_gives_up_the_request_under_way(start: Any, heard: Collector) -> None:
    over = threading.Event()
    heard.answer = lambda handler, count: (over.wait(20), None)[1]
    client = start(survey(), heard.url, consent="on")
    client.record("dark", True)
    flushing = threading.Thread(target=client.flush, kwargs={"force": True})
    flushing.start()
    heard.wait_for(1)
    client.opt_out()
    flushing.join(5)
    assert not flushing.is_alive()
    over.set()


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("moment", [(Transport, "connection"), (_Exchange, "start")])
def test_a_no_stops_a_request_that_is_about_to_begin(
    start: Any, heard: Collector, monkeypatch: pytest.MonkeyPatch, moment: Any, again: bool
) -> None:
    """As while `requests` is being loaded; what was erased is not sent after a new yes either."""
    client = start(survey(), heard.url, consent="on")
    client.record("dark", True)
    go_on = getattr(*moment)

    def decide_meanwhile(whose: Any) -> Any:
        assert client.opt_out()
        if again:
            assert client.opt_in()
        return go_on(whose)

    monkeypatch.setattr(*moment, decide_meanwhile)
    assert client.flush(force=True).sent == 0
    exchange = client._engine._transport._exchange
    if exchange is not None:
        exchange.join(20)
    assert heard.requests == []
    monkeypatch.undo()
    client.opt_in()
    client._engine._clock.advance(DAY)
    client.record("dark", True)
    assert client.flush(force=True).sent == 1


def test_what_waits_does_not_leave_when_the_app_begins_to_ask(start: Any, heard: Collector) -> None:
    """An older process of the app sends, a newer one asks: until the yes, nothing is sent."""
    older = start(survey(), heard.url, consent="on")
    older.record("dark", True)
    start(survey(), heard.url, consent="ask")
    assert older._engine._outbox.flush(force=True).sent == 0
    assert older.status().state == "local"
    assert heard.requests == []


def test_answers_thrown_away_at_the_yes_are_not_counted(start: Any, store: Path) -> None:
    client = start(survey(dark=question(), font=choice("a", "b")))
    client.record("dark", True)
    client.opt_in()
    client.record("dark", True)
    client.record("font", "a")
    counted = rows(store, "SELECT question, answers FROM ledger ORDER BY question")
    assert counted == [("dark", 1), ("font", 1)]


@pytest.mark.parametrize("act", ["record", "record_many"])
def test_an_answer_on_its_way_to_the_disk_is_from_before_the_yes(
    start: Any, heard: Collector, store: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    """The yes is stored, by another process, after the call and before the answer."""
    client, other = start(survey(), heard.url), start(survey(), heard.url)
    stores = client._engine._recorder.record

    def decide_first(answers: Any) -> Any:
        monkeypatch.undo()
        assert other.opt_in()
        return stores(answers)

    monkeypatch.setattr(client._engine._recorder, "record", decide_first)
    if act == "record":
        client.record("dark", True)
    else:
        client.record_many({"dark": True})
    assert rows(store, "SELECT * FROM queue") == []
    assert client.status().dropped == {"before_consent": 1}
    assert client.flush(force=True).sent == 0
    client.record("dark", True)
    assert client.flush(force=True).sent == 1


def test_leave_to_send_that_was_had_before_the_no_was_stored_is_void(
    start: Any, heard: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a thread that asked everything just before, and sends when the no was stored."""
    client = start(survey(), heard.url, consent="on")
    engine, transport = client._engine, client._engine._transport
    body = compress(b'{"reports": []}')
    with closing(transport.connection()) as connection:
        assert transport.post(connection, body, transport.ticket(), 20).status == 200
        tickets, store_it = [], engine._save_no

        def ask_just_before() -> None:
            tickets.append(transport.ticket())
            assert engine._store.device().consent == "on"
            store_it()

        monkeypatch.setattr(engine, "_save_no", ask_just_before)
        assert client.opt_out()
        assert transport.post(connection, body, tickets[0], 20).status == 0
    assert len(heard.requests) == 1


# Which yes a report belongs to


def test_a_second_yes_throws_nothing_away(start: Any, heard: Collector, store: Path) -> None:
    """An app may repeat the yes at every start of its dialog."""
    client = start(survey(), heard.url)
    client.opt_in()
    client.record("dark", True)
    client.opt_in()
    assert rows(store, "SELECT begun FROM device") == [(1,)]
    assert client.flush(force=True).sent == 1


def test_an_app_that_asks_no_more_keeps_what_a_person_agreed_to(
    start: Any, heard: Collector
) -> None:
    """Also with an edition that has a lower ceiling, which is noted with what the app asks for."""
    with start(survey(), heard.url) as client:
        client.opt_in()
        client.record("dark", True)
    client = start(survey({"max_epsilon": 9}), heard.url, consent="on")
    assert client.status().queued == 1
    assert client.flush(force=True).sent == 1


def test_an_app_that_asks_goes_on_asking_beside_one_that_does_not(
    start: Any, heard: Collector
) -> None:
    """Of two processes the one that sends started last; it does not take the other's answers."""
    first = start(survey(), heard.url, consent="ask")
    second = start(survey(), heard.url, consent="on")
    first.record("dark", True)
    assert (first.status().state, second.status().state) == ("local", "on")
    assert second._engine._queue.next_departure() is None
    for each in (first, second):
        assert each.flush(force=True).sent == 0
    assert heard.requests == []


def test_an_answer_right_after_the_yes_is_after_it(start: Any, heard: Collector) -> None:
    """Also by a thread that does not wait, with no other call between."""
    client = start(survey(), heard.url)
    client.opt_in()
    client.record("dark", True, wait=False)
    assert client.flush(force=True).sent == 1
    assert client.status().dropped == {}


def test_what_is_settled_is_not_after_a_yes(start: Any, heard: Collector) -> None:
    """`record` remembers which questions have their answer; the yes threw those away."""
    client = start(survey(), heard.url)
    for decide in (client.flush, client.opt_in):
        client.record("dark", True)
        decide()
    client.record("dark", True)
    assert client.flush(force=True).sent == 1


def test_an_app_that_only_records_hears_a_yes_said_elsewhere(start: Any, heard: Collector) -> None:
    """By `deniable-device on`: no status, no flush and no restart is needed."""
    client = start(survey(), heard.url)
    with start(survey(), heard.url) as other:
        other.opt_in()
    client.record("dark", True)
    thread = client._engine._uploader._thread
    assert thread is not None
    assert thread.is_alive()
