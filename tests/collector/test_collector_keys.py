"""Period keys: private, durable, never replaced while rows remain, and gone for good."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from pathlib import Path

import pytest
from servers import Postgres

from deniable.collector.keys import ClosedScopeError, KeyRing, MissingKeyError, open_keys
from deniable.collector.keystore import open_keystore
from deniable.collector.scope_key import KEY_BYTES, Place, ScopeKey, UnreadableError
from deniable.collector.store import open_store
from deniable.collector.store.base import Scope, ScopeRow
from deniable.protocol.errors import StoreError

DAY = Scope("test", "2026-11-30")
WEEK = Scope("test", "2026-W49")
ONCE = Scope("test", "once", "dark_mode", 12)
DEVICE = bytes(range(16))


COUNTING = ScopeRow(1, 1, closed=False, check=b"")
CLOSED = ScopeRow(1, 1, closed=True, check=b"")


def ring(folder: Path, row: ScopeRow | None = None) -> KeyRing:
    return KeyRing(open_keystore(str(folder / "keys")), lambda scope: row)


def tag(keys: KeyRing, scope: Scope, device: bytes) -> bytes:
    return keys.of(scope).tag(device)


def key_file(folder: Path, scope: Scope) -> Path:
    return folder / "keys" / f"{scope.name}.key"


def test_a_tag_is_the_same_while_the_key_lives(tmp_path: Path) -> None:
    first = tag(ring(tmp_path), DAY, DEVICE)
    assert len(first) == 16
    assert tag(ring(tmp_path, COUNTING), DAY, DEVICE) == first


def test_tags_differ_by_device_scope_and_key(tmp_path: Path) -> None:
    keys = ring(tmp_path)
    tags = {
        tag(keys, scope, device) for scope in (DAY, WEEK, ONCE) for device in (DEVICE, bytes(16))
    }
    assert len(tags) == 6
    assert DEVICE not in tags
    keys.destroy(DAY)
    assert tag(keys, DAY, DEVICE) not in tags


def test_a_missing_key_is_not_replaced_while_rows_remain(tmp_path: Path) -> None:
    tag(ring(tmp_path), DAY, DEVICE)
    key_file(tmp_path, DAY).unlink()
    keys = ring(tmp_path, COUNTING)
    assert keys.missing(DAY)
    with pytest.raises(MissingKeyError, match=r"key of test\.2026-11-30 is missing"):
        tag(keys, DAY, DEVICE)
    assert not key_file(tmp_path, DAY).exists()


def test_another_key_is_as_good_as_none(tmp_path: Path) -> None:
    key = ring(tmp_path).of(DAY)
    fits = ScopeRow(1, 1, closed=False, check=key.check)
    assert tag(ring(tmp_path, fits), DAY, DEVICE) == key.tag(DEVICE)
    key_file(tmp_path, DAY).write_bytes(os.urandom(KEY_BYTES))
    keys = ring(tmp_path, fits)
    assert keys.missing(DAY)
    with pytest.raises(MissingKeyError, match="is another than the one"):
        keys.of(DAY)


def test_a_key_in_memory_is_put_back(tmp_path: Path) -> None:
    rows: dict[Scope, ScopeRow | None] = {DAY: None, WEEK: None}
    keys = KeyRing(open_keystore(str(tmp_path / "keys")), rows.get)
    before = [tag(keys, scope, DEVICE) for scope in rows]
    for scope in rows:
        key_file(tmp_path, scope).unlink()
    rows[DAY], rows[WEEK] = COUNTING, CLOSED
    keys.restore()
    assert ring(tmp_path).scopes() == {DAY}
    assert tag(ring(tmp_path, COUNTING), DAY, DEVICE) == before[0]


def test_a_closed_scope_gets_no_key(tmp_path: Path) -> None:
    with pytest.raises(ClosedScopeError):
        tag(ring(tmp_path, CLOSED), DAY, DEVICE)
    assert ring(tmp_path).scopes() == set()


def test_scopes_are_read_from_the_files(tmp_path: Path) -> None:
    keys = ring(tmp_path)
    for scope in (DAY, WEEK, ONCE):
        tag(keys, scope, DEVICE)
    (tmp_path / "keys" / "notes.txt").write_text("not a key")
    assert ring(tmp_path).scopes() == {DAY, WEEK, ONCE}


def test_threads_make_one_key(tmp_path: Path) -> None:
    keys = ring(tmp_path)
    gate = threading.Barrier(8)
    tags = []

    def make() -> None:
        gate.wait()
        tags.append(tag(keys, DAY, DEVICE))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tags) == 8
    assert len(set(tags)) == 1


def test_a_tally_opens_as_itself_alone() -> None:
    key = ScopeKey(DAY, bytes(32))
    place = Place("a" * 64, DAY.period, None)
    sealed = key.seal_tally(place, 1, 3, b"cells")
    assert key.open_tally(place, 1, 3, sealed) == b"cells"
    others = [place._replace(question_hash="b" * 64), place._replace(period="2026-12-01")]
    wrong = [
        *((key, other, 1, 3) for other in [*others, place._replace(segment="a")]),
        (key, place, 1, 4),
        (key, place, 2, 3),
        (ScopeKey(DAY, bytes(31) + b"1"), place, 1, 3),
    ]
    for opener, where, shard, n in wrong:
        with pytest.raises(UnreadableError):
            opener.open_tally(where, shard, n, sealed)
    for damaged in (b"", sealed[:11], sealed[:-1], bytes(len(sealed))):
        with pytest.raises(UnreadableError, match="does not open"):
            key.open_tally(place, 1, 3, damaged)
    with pytest.raises(UnreadableError):
        key.report_opener(place)(sealed)


def test_every_encryption_is_another() -> None:
    key = ScopeKey(DAY, bytes(32))
    place = Place("a" * 64, DAY.period, "a")
    sealed = {key.seal_tally(place, 0, 3, b"cells") for _ in range(50)}
    reports = key.seal_reports(place, [b"report"] * 50)
    assert len({text[:12] for text in [*sealed, *reports]}) == 100
    assert {key.report_opener(place)(report) for report in reports} == {b"report"}


def test_the_bytes_of_a_period_key_are_frozen() -> None:
    """What an upgrade must not change while a period is open."""
    key = ScopeKey(ONCE, bytes(range(32)))
    assert key.tag(DEVICE).hex() == "8cee13d11fcccec8d2ebee23fc2362c4"
    assert key.check.hex() == "d62eab6ceeb8c04c"
    place = Place("a" * 64, "once", "beta")
    sealed = bytes.fromhex("fe5e9dfb28c72cadeacc78c929b525c81ad369202fc40c6a3825c0da289a16badf")
    assert key.open_tally(place, 5, 7, sealed) == b"cells"
    report = bytes.fromhex("927424de326451f5201958affa831d7ff8abe65aada125117f1dc7331378423c21e0")
    assert key.report_opener(place)(report) == b"report"


def test_keys_are_not_kept_in_the_store(postgres: Postgres) -> None:
    database = postgres.fresh_database()
    with closing(open_store(database)) as store:
        with pytest.raises(StoreError, match="the store's own database"):
            open_keys(store, database)
        with pytest.raises(StoreError, match="give one with --keys"):
            open_keys(store)
