"""Requests that wait for their commit hold no thread, and each is answered exactly once."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from collector_kit import InProcess, make_survey, new_device
from key_places import until
from served_kit import Client, served

from deniable.collector.server import THREADS
from deniable.collector.tickets import Ticket
from deniable.protocol.errors import StoreError

Start = Callable[..., InProcess]
DAY = "2026-11-30"
SURVEY = make_survey({"yes": {}})


@contextmanager
def held_up(collector: InProcess, first: Client) -> Iterator[None]:
    """Hold up every commit, with that of the first client's request under way."""
    store: Any = collector.collector.store
    with closing(sqlite3.connect(collector.collector.config.store)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        first.report(SURVEY, period=DAY)
        until(store._lock.locked)
        yield
        connection.rollback()


def accepted(reply: tuple[int, bytes]) -> tuple[int, int, int]:
    outcome = json.loads(reply[1])
    return reply[0], outcome["accepted"], outcome["duplicate"]


def test_more_requests_wait_than_there_are_threads(start: Start) -> None:
    collector = start(SURVEY)
    writer = collector.collector.writer
    with served(collector) as connect:
        first, *clients = [connect() for _ in range(3 * THREADS)]
        with held_up(collector, first):
            for client in clients:
                client.report(SURVEY, period=DAY)
            until(lambda: writer.waiting() == len(clients))
            other = connect()
            other.send("GET", "/livez")
            assert other.reply()[0] == 200
        for client in (first, *clients):
            assert accepted(client.reply()) == (200, 1, 0)


def test_requests_on_one_connection_are_answered_in_order(start: Start) -> None:
    collector = start(SURVEY)
    device = new_device()
    with served(collector) as connect:
        client = connect()
        with held_up(collector, client):
            client.report(SURVEY, device, period=DAY)
            client.report(SURVEY, device, period=DAY)
            client.send("GET", "/livez")
        assert accepted(client.reply()) == (200, 1, 0)
        assert accepted(client.reply()) == (200, 1, 0)
        assert accepted(client.reply()) == (200, 0, 1)
        assert client.reply() == (200, b"ok\n")


def test_patience_ends_without_a_thread_too(start: Start) -> None:
    """The commit that comes later answers nothing a second time."""
    collector = start(SURVEY, commit_timeout=0.2)
    device = new_device()
    with served(collector) as connect:
        first, client = connect(), connect()
        with held_up(collector, first):
            client.report(SURVEY, device, period=DAY)
            status, body = client.reply()
            assert first.reply()[0] == 503
        assert status == 503
        assert json.loads(body)["detail"] == "the reports cannot be stored now"
        until(lambda: collector.collector.writer.waiting() == 0)
        client.report(SURVEY, device, period=DAY)
        status, one, again = accepted(client.reply())
        assert (status, one + again) == (200, 1)
        client.send("GET", "/livez")
        assert client.reply() == (200, b"ok\n")


def test_a_client_that_left_is_counted(start: Start) -> None:
    collector = start(SURVEY)
    device = new_device()
    with served(collector) as connect:
        first, second = connect(), connect()
        with held_up(collector, first):
            second.report(SURVEY, device, period=DAY)
            until(lambda: collector.collector.writer.waiting() == 1)
            second.close()
        assert accepted(first.reply()) == (200, 1, 0)
        last = connect()
        last.report(SURVEY, device, period=DAY)
        assert accepted(last.reply()) == (200, 0, 1)


def test_a_refusal_is_told_by_the_application(start: Start) -> None:
    collector = start(SURVEY)
    with served(collector) as connect:
        client = connect()
        client.send("POST", "/v1/reports", {"survey": "test"})
        status, body = client.reply()
        assert (status, json.loads(body)["status"]) == (422, 422)
        client.report(SURVEY, period=DAY)
        assert accepted(client.reply()) == (200, 1, 0)


def test_a_call_is_made_once() -> None:
    calls: list[str] = []
    early, late = Ticket(None, None, 0.0), Ticket(None, None, 60.0)
    early.when_settled(lambda: calls.append("early"))
    late.when_settled(lambda: calls.append("late"))
    late.check_patience()
    assert calls == []
    for ticket in early, late:
        ticket.check_patience()
        ticket.settle(None)
        ticket.check_patience()
    assert calls == ["early", "late"]
    late.when_settled(lambda: calls.append("at once"))
    assert calls == ["early", "late", "at once"]
    late.wait()


def test_what_was_in_the_way_is_raised() -> None:
    ticket = Ticket(None, None, 60.0)
    ticket.settle(StoreError("the commit failed"))
    with pytest.raises(StoreError, match="the commit failed"):
        ticket.wait()
    with pytest.raises(StoreError, match="takes too long"):
        Ticket(None, None, 0.0).wait()
