"""Floods that several collectors count together, in a Valkey that comes and goes."""

from __future__ import annotations

import json
import logging
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis
from collector_kit import Clock
from key_places import cut_once, program, read_line, running_valkey, write_line
from servers import Valkey

from deniable.collector.config import Config
from deniable.collector.flood import FloodLimit, flood_key
from deniable.collector.flood_key import DailyKey, ProcessKey
from deniable.collector.flood_storage import flood_storage_persists
from deniable.collector.keys import KeyRing
from deniable.collector.keystore import open_keystore
from deniable.collector.problems import HTTPProblem
from deniable.protocol.errors import MissingExtraError, ParameterError, StoreError

DEVICE = bytes(range(16))

COUNTER = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from deniable.collector.config import Config
from deniable.collector.flood import FloodLimit, flood_key
from deniable.collector.keystore import open_keystore
from deniable.collector.problems import HTTPProblem
config = Config("unused", flood_limit="3 per minute", flood_storage=sys.argv[1])
flood = FloodLimit(config, flood_key(config, open_keystore(sys.argv[2])))
def count(_):
    try:
        flood.check("test", bytes(range(16)))
    except HTTPProblem as exc:
        return exc.status
    return 200
pool = ThreadPoolExecutor(4)
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps(sorted(pool.map(count, range(8)))), flush=True)
"""


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    with running_valkey() as server:
        yield server


def url_of(server: Valkey) -> str:
    return f"redis://127.0.0.1:{server.port}"


def limit(server: Valkey, places: str, clock: Clock, rate: str = "3 per minute") -> FloodLimit:
    config = Config("unused", flood_limit=rate, flood_storage=url_of(server), clock=clock)
    return FloodLimit(config, flood_key(config, open_keystore(places)))


def status(flood: FloodLimit) -> int:
    """What a request is answered, within a second."""
    begun, answer, headers = time.monotonic(), 200, {"Retry-After": "1"}
    try:
        flood.check("test", DEVICE)
    except HTTPProblem as exc:
        answer, headers = exc.status, exc.headers
    assert time.monotonic() - begun < 1
    assert int(headers["Retry-After"]) >= 1
    return answer


def test_two_processes_count_together(valkey: Valkey) -> None:
    places = url_of(valkey)
    storage = url_of(valkey).replace("redis://", "valkey://")
    with ExitStack() as stack:
        counters = [stack.enter_context(program(COUNTER, storage, places)) for _ in range(2)]
        for counter in counters:
            write_line(counter)
        answers = [json.loads(read_line(counter)) for counter in counters]
    assert sorted(answers[0] + answers[1]) == [200] * 3 + [429] * 13


def test_names_in_the_server_tell_nothing(valkey: Valkey, tmp_path: Path, clock: Clock) -> None:
    assert status(limit(valkey, str(tmp_path / "keys"), clock)) == 200
    with redis.Redis(port=valkey.port) as client:
        names = [name for name in client.scan_iter() if not name.startswith(b"deniable:key:")]
    assert len(names) == 1
    for secret in (DEVICE, DEVICE.hex().encode(), b"test"):
        assert secret not in names[0]


@pytest.mark.parametrize("harm", ["stopped", "frozen"])
def test_a_server_that_comes_back_is_used_again(
    valkey: Valkey, tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture, harm: str
) -> None:
    flood = limit(valkey, str(tmp_path / "keys"), clock, "100 per minute")
    assert status(flood) == 200
    assert valkey._process is not None
    pid = valkey._process.pid
    with caplog.at_level(logging.WARNING):
        if harm == "stopped":
            valkey.stop()
        else:
            os.kill(pid, signal.SIGSTOP)
        assert [status(flood) for _ in range(3)] == [503] * 3
        if harm == "stopped":
            valkey.start()
        else:
            os.kill(pid, signal.SIGCONT)
        assert [status(flood) for _ in range(3)] == [200] * 3
    assert caplog.text.count("floods cannot be counted") == 1
    assert caplog.text.count("floods are counted again") == 1


def test_a_restart_between_two_requests_is_not_noticed(
    valkey: Valkey, tmp_path: Path, clock: Clock
) -> None:
    flood = limit(valkey, str(tmp_path / "keys"), clock)
    assert status(flood) == 200
    valkey.stop()
    valkey.start()
    assert status(flood) == 200


def test_a_connection_that_is_cut_is_made_anew(
    valkey: Valkey, tmp_path: Path, clock: Clock
) -> None:
    with cut_once(valkey.port, b"LIMITS") as port:
        url = f"redis://127.0.0.1:{port}"
        config = Config("unused", flood_storage=url, clock=clock)
        flood = FloodLimit(config, flood_key(config, open_keystore(str(tmp_path / "keys"))))
        assert status(flood) == 200
        flood._limiter.storage.storage.close()  # type: ignore[attr-defined]


def test_without_the_key_store_a_new_day_waits(
    valkey: Valkey, tmp_path: Path, clock: Clock
) -> None:
    """A key in hand is enough for its day; the place it came from may be gone."""
    with running_valkey() as places:
        flood = limit(valkey, url_of(places), clock, "100 per minute")
        assert status(flood) == 200
        places.stop()
        assert status(flood) == 200
        clock.advance(days=1)
        assert [status(flood) for _ in range(2)] == [503] * 2
        places.start()
        assert status(flood) == 200


def test_each_day_has_a_key_and_leaves_none(tmp_path: Path, clock: Clock) -> None:
    places = open_keystore(str(tmp_path / "keys"))
    period_keys = {"flood.2026-11-29", "collector.2026-11-29", "collector.once.flood.1"}
    for name in period_keys:
        places.put_if_absent(name, os.urandom(32))
    one, two = DailyKey(places, clock), DailyKey(places, clock)
    first = one()
    assert two() == first == one()
    assert places.names() == period_keys | {"collector.flood.2026-11-30"}
    clock.advance(days=1)
    second = two()
    assert second != first
    assert one() == second
    assert places.names() == period_keys | {"collector.flood.2026-12-01"}
    scopes = KeyRing(places, lambda scope: None).scopes()
    assert {scope.name for scope in scopes} == period_keys


def test_a_clock_that_is_set_back_destroys_no_key_in_use(tmp_path: Path, clock: Clock) -> None:
    places = open_keystore(str(tmp_path / "keys"))
    key = DailyKey(places, clock)
    today = key()
    clock.advance(days=-1)
    assert key() != today
    clock.advance(days=1)
    assert key() == today
    assert places.names() == {"collector.flood.2026-11-30"}


def test_what_is_counted_in_memory_needs_no_shared_key(tmp_path: Path) -> None:
    places = open_keystore(str(tmp_path / "keys"))
    keys: list[Callable[[], bytes]] = [flood_key(Config("unused"), places) for _ in range(2)]
    assert all(isinstance(key, ProcessKey) for key in keys)
    assert keys[0]() == keys[0]() != keys[1]()
    assert places.names() == set()


@pytest.mark.parametrize(
    "location", ["memcached://h", "redis+cluster://h", "redis://:hunter2/x@h:port", "", "redis"]
)
def test_a_storage_that_cannot_be_used(location: str) -> None:
    config = Config("unused", flood_storage=location)
    for use in (lambda: FloodLimit(config, ProcessKey()), lambda: flood_storage_persists(location)):
        with pytest.raises(ParameterError, match="flood_storage must be") as caught:
            use()
        assert "hunter2" not in str(caught.value)


def test_a_missing_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "redis", None)
    config = Config("unused", flood_storage="valkey://h")
    for use in (
        lambda: FloodLimit(config, ProcessKey()),
        lambda: flood_storage_persists("valkey://h"),
    ):
        with pytest.raises(MissingExtraError, match=r"pip install 'deniable\[redis\]'"):
            use()


def test_whether_the_counts_reach_a_disk(valkey: Valkey) -> None:
    assert flood_storage_persists("memory://") is False
    assert flood_storage_persists(url_of(valkey)) is False
    with redis.Redis(port=valkey.port) as client:
        client.config_set("save", "3600 1")
        assert flood_storage_persists(url_of(valkey)) is True
        client.config_set("save", "")
        client.config_set("appendonly", "yes")
        assert flood_storage_persists(url_of(valkey)) is True
        client.execute_command("ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "-config")
    for user, told in {"app:pw": None, "app:hunter2": StoreError}.items():
        url = url_of(valkey).replace("redis://", f"valkey://{user}@")
        if told is None:
            assert flood_storage_persists(url) is None
            continue
        with pytest.raises(StoreError, match="refuses the password") as caught:
            flood_storage_persists(url)
        assert "hunter2" not in str(caught.value)
    url = url_of(valkey)
    valkey.stop()
    with pytest.raises(StoreError, match=f"{url}: cannot be reached"):
        flood_storage_persists(url)
