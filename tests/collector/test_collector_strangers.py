"""What requests cost that anyone can send: no more than their share, and nobody else's thread."""

from __future__ import annotations

import gzip
import json
import os
import signal
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from collector_kit import InProcess, make_survey, new_device, request_body
from key_places import running_valkey, until
from sealed_kit import key, public
from served_kit import served

from deniable.collector import catalogue, editions, rules
from deniable.collector.catalogue import register
from deniable.collector.keys import KeyRing
from deniable.collector.keystore import open_keystore
from deniable.collector.scope_key import ScopeKey
from deniable.collector.server import THREADS
from deniable.collector.store.base import Scope
from deniable.collector.tokens import create_token
from deniable.collector.wire import parse_envelope
from deniable.protocol.errors import StoreError

Start = Callable[..., InProcess]
DAY = "2026-11-30"
SURVEY = make_survey({"yes": {}})
SEALING = make_survey(
    {f"q{n}": {"epsilon_first": 1, "sealed": True} for n in range(5)},
    sealing_keys=[public(key()).document()],
)


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[None]:
    """A list that grows by one with each call of something."""
    calls: list[None] = []
    real = getattr(owner, name)

    def count(*arguments: Any, **named: Any) -> Any:
        calls.append(None)
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, count)
    return calls


def report_of(response: bytes) -> bytes:
    return b'{"question":"yes","version":1,"hash":"0","response":' + response + b"}"


@pytest.mark.parametrize(
    "response",
    [b"[" * 500 + b"]" * 500, b"[" + b"[]," * 333 + b"[]]", b'{"a":' * 166 + b"1" + b"}" * 166],
)
def test_what_a_response_cannot_be_is_not_built(response: bytes) -> None:
    """870 bytes sent were 100 000 lists, and as long as a hundred honest requests."""
    head = json.dumps(request_body(SURVEY, new_device(), questions=["yes"]))
    body = head[: head.index("[") + 1].encode() + b",".join([report_of(response)] * 195) + b"]}"
    assert len(gzip.compress(body)) < 1500
    tracemalloc.start()
    try:
        reports = parse_envelope(body).reports
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert reports == [None] * 195
    assert peak < 2 * len(body)


PERIODS = {
    "period_closed": "2026-11-{:02}",
    "period_future": "2027-01-{:02}",
    "expired": "2999-01-{:02}",
}


@pytest.mark.parametrize("code", PERIODS)
def test_a_period_that_takes_no_reports_is_not_laid_out(
    start: Start, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    collector = start(SEALING)
    slots = counted(monkeypatch, rules, "_slot")
    for day in range(1, 21):
        request = request_body(SEALING, new_device(), period=PERIODS[code].format(day))
        rejected = collector.post(request).json["rejected"]
        assert [one["code"] for one in rejected] == [code] * 5
    assert slots == []


def test_a_survey_is_parsed_once_for_its_keys(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = start(SEALING)
    editions_parsed = counted(monkeypatch, catalogue, "newest_edition")
    for day in ("2026-11-28", "2026-11-29", "2026-11-30"):
        rejected = collector.post(request_body(SEALING, new_device(), period=day)).json["rejected"]
        assert [one["code"] for one in rejected] == ["bad_response"] * 5  # nothing is sealed
    assert len(editions_parsed) <= 1


def test_a_flood_makes_no_rules(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    collector = start(SURVEY, flood_limit="1 per minute")
    device = new_device()
    made = counted(monkeypatch, editions, "Rules")
    statuses = [
        collector.post(request_body(SURVEY, device, period=f"2026-11-{day}")).status
        for day in range(10, 30)
    ]
    assert statuses == [200] + [429] * 19
    assert len(made) == 1


def test_who_has_no_token_does_not_reach_the_store(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = start(SURVEY)
    token = create_token(collector.collector.store, "ann", ["operator"])
    reads = counted(monkeypatch, collector.collector.store, "read")
    texts = [
        "",
        "Bearer",
        "Bearer ",
        token,
        f"Basic {token}",
        f"Bearer {token}=",
        f"Bearer {token[1:]}",
    ]
    for path in ("/metrics", "/v1/periods", "/v1/tallies/test/yes", "/v1/batches/test/yes/1"):
        for text in texts:
            assert collector.ask("GET", path, headers={"Authorization": text}).status == 401
        assert collector.ask("GET", path).status == 401
    assert reads == []
    for text, status in ((f"Bearer {token}", 200), (f"bearer  {token[::-1]}", 401)):
        before = len(reads)
        assert collector.ask("GET", "/v1/periods", headers={"Authorization": text}).status == status
        assert len(reads) > before


def test_strange_surveys_are_asked_about_in_measure(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No 404 is said without a look, for a device would throw its reports away."""
    collector = start(SURVEY)
    other = make_survey({"yes": {}}, name="other")
    ticks = [float(int(time.monotonic()) + 10)]

    def monotonic() -> float:
        ticks[0] += 1e-4
        return ticks[0]

    monkeypatch.setattr(editions, "time", SimpleNamespace(monotonic=monotonic))
    reads = counted(monkeypatch, collector.collector.store, "read")

    def ask(seconds: float = 0) -> int:
        ticks[0] += seconds
        return collector.post(request_body(other, new_device(), period=DAY)).status

    statuses = [ask() for _ in range(50)]
    assert statuses == [404] * len(reads) + [429] * (50 - len(reads))
    assert 0 < len(reads) <= 10
    collector.collector.writer.run(lambda tx: register(tx, other))
    assert collector.post(request_body(SURVEY, new_device(), period=DAY)).json["accepted"] == 1
    assert [ask(), ask(1.0), ask()] == [429, 200, 200]


def test_one_thread_waits_for_a_place_of_keys_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = open_keystore(str(tmp_path / "keys"))
    keys = KeyRing(places, lambda scope: None)
    day, week, month = (Scope("test", name) for name in (DAY, "2026-W49", "2026-11"))
    held = keys.of(day)
    entered, answered = threading.Event(), threading.Event()
    real = places.put_if_absent

    def hang(name: str, new: bytes) -> bytes:
        entered.set()
        answered.wait()
        return real(name, new)

    monkeypatch.setattr(places, "put_if_absent", hang)
    made: list[ScopeKey] = []
    times: list[float] = []
    first = threading.Thread(target=lambda: made.append(keys.of(week)))

    def ask() -> None:
        begun = time.monotonic()
        with pytest.raises(StoreError, match="does not answer"):
            keys.of(month)
        times.append(time.monotonic() - begun)

    def ask_on() -> None:
        for _ in range(200):
            ask()

    others = threading.Thread(target=ask_on, daemon=True)
    try:
        first.start()
        assert entered.wait(30)
        others.start()
        others.join(30)
        assert len(times) == 200
        assert sum(times[1:]) < 20 * times[0]
        assert keys.of(day) is held
    finally:
        answered.set()
        first.join()
    assert keys.of(week) is made[0]
    assert keys.of(month).tag(bytes(16))


def test_one_thread_waits_for_a_store_that_hangs(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = start(SURVEY)
    store = collector.collector.store
    other = make_survey({"yes": {}}, name="other")
    entered, answered = threading.Event(), threading.Event()
    real = store.read

    def hang() -> Any:
        entered.set()
        assert answered.wait(60)
        return real()

    with served(collector) as connect:
        clients = [connect() for _ in range(2 * THREADS)]
        last = connect()
        last.report(SURVEY, period=DAY)
        assert last.reply()[0] == 200
        monkeypatch.setattr(store, "read", hang)
        try:
            for client in clients:
                client.report(other, period=DAY)
            assert entered.wait(30)
            last.send("GET", "/livez")
            assert last.reply()[0] == 200
            last.report(SURVEY, period=DAY)
            assert last.reply()[0] == 200
        finally:
            answered.set()
        assert {client.reply()[0] for client in clients} <= {404, 429, 503}


def test_health_is_told_while_the_count_of_floods_hangs(start: Start) -> None:
    """Once it is known to hang, one request at a time waits for it."""
    with running_valkey() as server:
        assert server._process is not None
        pid = server._process.pid
        collector = start(SURVEY, flood_storage=f"redis://127.0.0.1:{server.port}")
        with served(collector) as connect:
            lone, *clients, other = [connect() for _ in range(2 + 10 * THREADS)]
            lone.report(SURVEY, period=DAY)
            assert lone.reply()[0] == 200
            os.kill(pid, signal.SIGSTOP)
            try:
                begun = time.monotonic()
                lone.report(SURVEY, period=DAY)
                assert lone.reply()[0] == 503
                patience = time.monotonic() - begun
                begun = time.monotonic()
                for client in clients:
                    client.report(SURVEY, period=DAY)
                other.send("GET", "/livez")
                assert other.reply()[0] == 200
                assert time.monotonic() - begun < 4 * patience
                assert {client.reply()[0] for client in clients} == {503}
            finally:
                os.kill(pid, signal.SIGCONT)

            def answered() -> bool:
                lone.report(SURVEY, period=DAY)
                return lone.reply()[0] == 200

            until(answered)
