"""A store that was copied to another machine is silent there: two devices would be one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, Clock, Collector, bytes_of, rows, survey

from deniable.client import machine
from deniable.client.database import Database
from deniable.client.person.portrait import summarized
from deniable.client.store import Store
from deniable.protocol.digests import HMAC

ID = b"0123456789abcdef0123456789abcdef"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which this machine's id is."""
    if not hasattr(machine, "PLACES"):
        pytest.skip("this system keeps the id elsewhere")
    file = tmp_path / "machine-id"
    file.write_bytes(ID + b"\n")
    monkeypatch.setattr(machine, "PLACES", (tmp_path / "none", file))
    return file


def test_a_copy_on_another_machine_is_silent(
    start: Any, store: Path, place: Path, heard: Collector, clock: Clock
) -> None:
    with start(survey(), heard.url, consent="on") as client:
        client.record("dark", True)
    copy = store.with_name("copy.db")
    shutil.copy(store, copy)
    place.write_bytes(b"f" * 32)
    before = copy.read_bytes()
    with start(survey(), heard.url, consent="on", store=copy) as client:
        clock.advance(2 * DAY)
        client.record("dark", True)
        assert client.flush(force=True).sent == 0
        status = client.status()
        assert status.state == "silent"
        assert status.reason.startswith("the store was made on another machine")
        assert "`deniable-device on`" in status.reason
    assert copy.read_bytes() == before
    assert heard.requests == []
    place.write_bytes(ID)
    client = start(survey(), heard.url, consent="on")
    client.flush(force=True)  # or its thread, if that is faster
    assert client.status().sent == 1


def test_a_no_is_stored_in_a_copy_too(start: Any, store: Path, place: Path) -> None:
    start(consent="on").close()
    place.write_bytes(b"f" * 32)
    client = start(consent="on")
    assert client.opt_out() is True
    assert rows(store, "SELECT consent FROM device") == [("off",)]
    assert client.status().state == "silent"


def test_a_store_in_the_same_machine_is_moved_freely(start: Any, store: Path, place: Path) -> None:
    start().close()
    moved = store.with_name("moved.db")
    store.rename(moved)
    assert start(store=moved).status().state == "local"


@pytest.mark.parametrize("content", [None, b"", b"\n", b"uninitialized\n"])
def test_a_machine_without_an_id_says_nothing(
    start: Any, store: Path, place: Path, content: bytes | None
) -> None:
    """Neither of a store made elsewhere, nor, later, of one made there."""
    start().close()
    (known,) = rows(store, "SELECT machine FROM device")
    if content is None:
        place.unlink()
    else:
        place.write_bytes(content)
    assert start().status().state == "local"
    assert rows(store, "SELECT machine FROM device") == [known]
    other = store.with_name("other.db")
    start(store=other).close()
    assert rows(other, "SELECT machine FROM device") == [(None,)]
    place.write_bytes(ID)
    assert start(store=other).status().state == "local"
    assert len(rows(other, "SELECT machine FROM device")[0][0]) == machine.MARK_BYTES


def test_the_id_is_in_no_store_and_its_mark_is_of_one_store_only(
    start: Any, store: Path, place: Path
) -> None:
    marks = set()
    for name in ("a.db", "b.db"):
        start(store=store.with_name(name)).close()
        marks.update(rows(store.with_name(name), "SELECT machine FROM device"))
    assert len(marks) == 2
    content = bytes_of(store.parent)
    assert ID not in content
    assert bytes.fromhex(ID.decode()) not in content


def test_an_erased_store_forgets_its_machine(start: Any, store: Path, place: Path) -> None:
    client = start(consent="on")
    client._engine._store.erase(client._setting.clock())
    client.close()
    assert rows(store, "SELECT machine FROM device") == [(None,)]
    place.write_bytes(b"f" * 32)
    client = start(consent="on")
    assert client.status().state == "off"
    assert client.opt_in()
    client.close()
    assert start().status().state == "on"
    assert rows(store, "SELECT machine FROM device") != [(None,)]
    place.write_bytes(ID)
    assert start().status().state == "silent"


def test_a_container_whose_id_is_made_at_its_start_is_silent_but_tells(
    start: Any, store: Path, place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """No warning in the host's log, one reason in its status, whatever it asks."""
    start().close()
    place.write_bytes(b"e" * 32)
    client = start()
    client.record("dark", True, wait=False)
    client.record_many({"dark": True})
    assert client.sent() == []
    assert client.status().reason.count("another machine") == 1
    assert [record.levelname for record in caplog.records if record.levelno > 10] == []


def test_a_machine_that_is_being_installed_has_no_id_yet(tmp_path: Path, place: Path) -> None:
    (tmp_path / "none").write_text("uninitialized\n", encoding="utf-8")
    assert machine.machine_id() == ID


def test_the_mark_of_a_machine_is_in_a_domain_of_its_own() -> None:
    """Keyed with the secret that draws responses: never the same bytes as any other use of it."""
    mark = machine.mark(bytes(32), b"one")
    assert mark != HMAC(bytes(32), b"one").digest()[: machine.MARK_BYTES]


def test_a_copy_whose_person_said_no_is_off_and_not_silent(
    start: Any, store: Path, place: Path
) -> None:
    start().opt_out()
    place.write_bytes(b"f" * 32)
    with Database(store, look=True) as db:
        found = summarized(Store(db), db)
    assert (found["state"], found["reason"]) == ("off", "")
