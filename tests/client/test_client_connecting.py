"""While a connection is made: a no of another process, a store in use, and no `requests` at all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import urllib3.util.connection
from client_kit import HOLD, Collector, bytes_of, python, rows, run, survey, survey_file

from deniable.client import outbox
from deniable.client.device import main

DECIDE = """
import sys
from deniable.client.device import main
path, *decisions = sys.argv[1:]
for decision in decisions:
    assert main([decision, "--store", path]) == 0
"""


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Let something happen just before the network gives the next connection."""
    connect = urllib3.util.connection.create_connection

    def arrange(act: Callable[[], object]) -> None:
        def slowly(*arguments: Any, **options: Any) -> Any:
            monkeypatch.setattr(urllib3.util.connection, "create_connection", connect)
            act()
            return connect(*arguments, **options)

        monkeypatch.setattr(urllib3.util.connection, "create_connection", slowly)

    return arrange


@pytest.mark.parametrize("way", ["flush", "background"])
def test_a_no_of_another_process_is_the_last_word(
    start: Any, heard: Collector, store: Path, meanwhile: Any, way: str
) -> None:
    """No body begins after it, and nothing is noted of the attempt."""
    client = start(consent="on", url=heard.url)
    client._engine._uploader.stop(5)
    client.record("dark", True)
    after: list[bytes] = []

    def say_no() -> None:
        run(DECIDE, store, "off")
        after.append(store.read_bytes())

    meanwhile(say_no)
    if way == "flush":
        assert client.flush(force=True).sent == 0
    else:
        client._clock.now = client._clock.now.replace(year=2026, month=12, day=2)
        client._engine._outbox.send_one()
    assert heard.requests == []
    assert after == [store.read_bytes()]
    assert client.status().state == "off"


def test_what_was_recorded_before_another_yes_stays_here(
    start: Any, heard: Collector, store: Path, meanwhile: Any
) -> None:
    client = start(consent="on", url=heard.url)
    client._engine._uploader.stop(5)
    client.record("dark", True)
    meanwhile(lambda: run(DECIDE, store, "off", "on"))
    assert client.flush(force=True).sent == 0
    assert heard.requests == []
    assert rows(store, "SELECT * FROM queue") == []
    assert client.status().state == "on"


def test_where_the_answer_cannot_be_read_nothing_leaves_before_it_can(
    start: Any,
    heard: Collector,
    store: Path,
    meanwhile: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox, "PATIENCE", 0.05)
    client = start(consent="on", url=heard.url)
    client._engine._uploader.stop(5)
    client.record("dark", True)
    holders: list[Any] = []

    def hold() -> None:
        holders.append(python(HOLD, store))
        assert holders[0].stdout.readline() == "held\n"

    meanwhile(hold)
    assert client.flush(force=True).sent == 0
    with holders[0] as process:
        process.communicate("\n", timeout=20)
    assert heard.requests == []
    assert client.flush(force=True).sent == 1


def test_a_failure_is_noted_only_without_a_no(start: Any, store: Path) -> None:
    client = start(consent="on")
    client._engine._uploader.stop(5)
    client._engine._store.note_uploads(1, None)
    assert rows(store, "SELECT failures FROM device") == [(1,)]
    assert main(["off", "--store", str(store)]) == 0
    before = bytes_of(store.parent)
    client._engine._store.note_uploads(2, None)
    assert bytes_of(store.parent) == before


# --- `requests` itself


def test_a_warning_of_requests_is_no_error(heard: Collector, tmp_path: Path) -> None:
    """It warns of a neighbour that it does not know, and the app makes errors of warnings."""
    program = """
import sys, types, warnings
sys.modules["chardet"] = neighbour = types.ModuleType("chardet")
neighbour.__version__ = "99.0"
warnings.simplefilter("error")
from deniable.client import Client
with Client(*sys.argv[1:], consent="on", _environ={}) as client:
    client.record("dark", True)
    print(client.flush(force=True).sent, client.status().state, warnings.filters[0][0])
"""
    asked = survey_file(tmp_path / "survey.json", survey())
    assert run(program, asked, heard.url, tmp_path / "acme.db") == "1 on error\n"


def test_without_requests_the_client_says_so_and_goes_on(
    start: Any, heard: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(consent="on", url=heard.url)
    client._engine._uploader.stop(5)
    client.record("dark", True)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "requests", None)
        assert client.flush(force=True).sent == 0
        status = client.status()
        assert status.state == "on"
        assert "(`requests` is of no use (ModuleNotFoundError))" in status.reason
    assert client.flush(force=True).sent == 1
    assert client.status().reason == ""
