"""Period keys: private, durable, never replaced while rows remain, and gone for good."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from deniable.collector.keys import ClosedScopeError, KeyRing, MissingKeyError, ScopeState
from deniable.collector.store.base import Scope
from deniable.protocol.errors import StoreError

DAY = Scope("test", "2026-11-30")
WEEK = Scope("test", "2026-W49")
ONCE = Scope("test", "once", "dark_mode", 12)
DEVICE = bytes(range(16))


def ring(folder: Path, state: ScopeState = "empty") -> KeyRing:
    return KeyRing(folder / "keys", lambda scope: state)


def key_file(folder: Path, scope: Scope) -> Path:
    return folder / "keys" / f"{scope.name}.key"


def test_a_tag_is_the_same_while_the_key_lives(tmp_path: Path) -> None:
    tag = ring(tmp_path).tag(DAY, DEVICE)
    assert len(tag) == 16
    assert ring(tmp_path, "counting").tag(DAY, DEVICE) == tag


def test_tags_differ_by_device_scope_and_key(tmp_path: Path) -> None:
    keys = ring(tmp_path)
    tags = {
        keys.tag(scope, device) for scope in (DAY, WEEK, ONCE) for device in (DEVICE, bytes(16))
    }
    assert len(tags) == 6
    assert DEVICE not in tags
    keys.destroy(DAY)
    assert keys.tag(DAY, DEVICE) not in tags


def test_files_are_private_and_random(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        keys = ring(tmp_path)
        for scope in (DAY, ONCE):
            keys.tag(scope, DEVICE)
    finally:
        os.umask(before)
    directory = tmp_path / "keys"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert sorted(path.name for path in directory.iterdir()) == [
        "test.2026-11-30.key",
        "test.once.dark_mode.12.key",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    assert len({path.read_bytes() for path in directory.iterdir()}) == 2
    assert {len(path.read_bytes()) for path in directory.iterdir()} == {32}


def test_a_directory_that_was_open_to_others_is_closed(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir(mode=0o755)
    ring(tmp_path)
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_a_destroyed_key_was_overwritten(tmp_path: Path) -> None:
    keys = ring(tmp_path)
    keys.tag(DAY, DEVICE)
    path = key_file(tmp_path, DAY)
    witness = tmp_path / "witness"
    os.link(path, witness)
    keys.destroy(DAY)
    assert not path.exists()
    assert witness.read_bytes() == bytes(32)
    keys.destroy(DAY)


def test_a_missing_key_is_not_replaced_while_rows_remain(tmp_path: Path) -> None:
    ring(tmp_path).tag(DAY, DEVICE)
    key_file(tmp_path, DAY).unlink()
    keys = ring(tmp_path, "counting")
    assert keys.missing(DAY)
    with pytest.raises(MissingKeyError, match=r"key of test\.2026-11-30 is missing"):
        keys.tag(DAY, DEVICE)
    assert not key_file(tmp_path, DAY).exists()


def test_half_a_key_is_as_good_as_none(tmp_path: Path) -> None:
    ring(tmp_path)
    key_file(tmp_path, DAY).write_bytes(b"short")
    with pytest.raises(MissingKeyError):
        ring(tmp_path, "counting").tag(DAY, DEVICE)
    ring(tmp_path, "empty").tag(DAY, DEVICE)
    assert len(key_file(tmp_path, DAY).read_bytes()) == 32


def test_a_closed_scope_gets_no_key(tmp_path: Path) -> None:
    with pytest.raises(ClosedScopeError):
        ring(tmp_path, "closed").tag(DAY, DEVICE)
    assert list((tmp_path / "keys").iterdir()) == []


def test_scopes_are_read_from_the_files(tmp_path: Path) -> None:
    keys = ring(tmp_path)
    for scope in (DAY, WEEK, ONCE):
        keys.tag(scope, DEVICE)
    (tmp_path / "keys" / "notes.txt").write_text("not a key")
    assert ring(tmp_path).scopes() == {DAY, WEEK, ONCE}


def test_threads_make_one_key(tmp_path: Path) -> None:
    keys = ring(tmp_path)
    gate = threading.Barrier(8)
    tags = []

    def make() -> None:
        gate.wait()
        tags.append(keys.tag(DAY, DEVICE))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tags) == 8
    assert len(set(tags)) == 1


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("in the way")
    with pytest.raises(StoreError, match="cannot be made"):
        ring(tmp_path)
