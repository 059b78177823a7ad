"""The lock of the one process that sends: where nobody can take it, the app is told."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from client_kit import Collector, survey

from deniable.client.lock import StoreLock

fcntl = pytest.importorskip("fcntl")
CODES = [errno.ENOTSUP, errno.ENOLCK, errno.EINVAL]


def refuse(monkeypatch: pytest.MonkeyPatch, code: int) -> str:
    """Let every lock be refused as a file system does that knows none; return its words."""

    def flock(handle: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    return os.strerror(code)


@pytest.mark.parametrize("code", CODES)
def test_a_disk_without_locks_is_told(
    start: Any, heard: Collector, store: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    client = start(survey(), heard.url, consent="on")
    client._engine._uploader.stop(5)
    client.record("dark", True)
    words = refuse(monkeypatch, code)
    assert client.flush(force=True).kept == 1
    status = client.status()
    assert (status.state, status.queued) == ("on", 1)
    assert status.reason.startswith("nothing is sent: the lock beside the store cannot be taken")
    assert words in status.reason
    assert str(store.parent) not in status.reason
    monkeypatch.undo()
    assert client.flush(force=True).sent == 1
    assert client.status().reason == ""


def test_a_lock_file_that_cannot_be_opened_is_told(
    start: Any, heard: Collector, store: Path
) -> None:
    client = start(survey(), heard.url, consent="on")
    client._engine._uploader.stop(5)
    client.record("dark", True)
    place = store.with_name("acme.db.lock")
    place.unlink()
    place.mkdir()
    assert client.flush(force=True).kept == 1
    assert client.status().reason.startswith("nothing is sent: the lock beside the store cannot")
    place.rmdir()
    assert client.flush(force=True).sent == 1
    assert client.status().reason == ""


def test_a_lock_that_another_process_holds_is_no_fault(
    start: Any, heard: Collector, store: Path
) -> None:
    client = start(survey(), heard.url, consent="on")
    client._engine._uploader.stop(5)
    client.record("dark", True)
    other = StoreLock(store)
    assert other.acquire()
    assert client.flush(force=True).kept == 1
    assert client.status().reason == ""
    other.release()


@pytest.mark.parametrize("code", CODES)
def test_no_store_is_made_where_none_could_be_sent_from(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    words = refuse(monkeypatch, code)
    status = start(survey(), consent="on").status()
    assert status.state == "silent"
    assert words in status.reason
    assert not [path for path in store.parent.iterdir() if path.suffix != ".lock"]
    monkeypatch.undo()
    assert start(survey(), consent="on").status().state == "on"


def test_a_lock_is_free_though_a_child_has_a_copy_of_its_handle(store: Path) -> None:
    """As a fork without hooks leaves one."""
    store.parent.mkdir()
    held, other = StoreLock(store), StoreLock(store)
    assert held.acquire()
    assert held._handle is not None
    copy = os.dup(held._handle)
    try:
        assert not other.acquire()
        held.release()
        assert other.acquire()
        other.release()
    finally:
        os.close(copy)


def test_a_child_closes_its_copy_of_the_handle_and_leaves_the_lock(store: Path) -> None:
    store.parent.mkdir()
    held, copied = StoreLock(store), StoreLock(store)
    assert held.acquire()
    assert held._handle is not None
    copied._handle = copy = os.dup(held._handle)
    copied.after_fork()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        os.fstat(copy)
    assert not StoreLock(store).acquire()
    held.release()
