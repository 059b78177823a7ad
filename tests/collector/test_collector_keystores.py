"""Key stores: one suite over a directory, Valkey and PostgreSQL, all of them real."""

from __future__ import annotations

import logging
import os
import re
import secrets
import socket
import stat
import string
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from key_places import (
    PLACES,
    Place,
    cut_once,
    program,
    read_line,
    running_valkey,
    until,
    valkey_files,
    write_line,
)
from servers import Postgres

from deniable.collector.keystore import KeyStore, open_keystore
from deniable.collector.places import same_place, without_password
from deniable.protocol.errors import MissingExtraError, ParameterError, StoreError

NAME = "acme-editor.2026-W49"
LOUD = {
    "log_statement": "all",
    "log_min_duration_statement": "0",
    "log_parameter_max_length": "-1",
    "log_parameter_max_length_on_error": "-1",
}
HOSTILE = ["", ".", "..", "../x", "a/b", ".x", "-x", "a\0", "a\n", "a b", "*", "A", "ü", "a" * 201]


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    with PLACES[request.param]() as found:
        yield found


@pytest.fixture
def keys(place: Place) -> Iterator[KeyStore]:
    """The place, emptied."""
    store = open_keystore(place.location)
    for name in store.names():
        store.delete(name)
    yield store
    store.close()


def test_a_key_is_kept_listed_and_deleted(keys: KeyStore, place: Place) -> None:
    key = os.urandom(32)
    assert (keys.get(NAME), keys.names()) == (None, set())
    assert keys.put_if_absent(NAME, key) == key
    again = open_keystore(place.location)
    assert (again.get(NAME), again.names()) == (key, {NAME})
    keys.delete(NAME)
    assert (again.get(NAME), again.names()) == (None, set())
    keys.delete(NAME)
    again.close()


def test_the_first_key_stays(keys: KeyStore) -> None:
    first = keys.put_if_absent(NAME, os.urandom(32))
    assert keys.put_if_absent(NAME, os.urandom(32)) == first
    assert keys.put_if_absent(NAME, first) == first
    keys.delete(NAME)
    assert keys.put_if_absent(NAME, bytes([1]) * 32) == bytes([1]) * 32


def test_names_are_apart(keys: KeyStore) -> None:
    names = ["a.2026-11-30", "a.2026-12-01", "a.once.q.1", "a.once.q.12", "w" * 200, "_a", "a..b"]
    held = {name: keys.put_if_absent(name, os.urandom(32)) for name in names}
    assert len(set(held.values())) == len(names)
    assert {name: keys.get(name) for name in keys.names()} == held
    keys.delete("a.once.q.1")
    assert keys.names() == {*names} - {"a.once.q.1"}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name(keys: KeyStore, name: str) -> None:
    for use in (keys.get, keys.delete, lambda name: keys.put_if_absent(name, bytes(32))):
        with pytest.raises(ParameterError, match="key name must be"):
            use(name)
    assert keys.names() == set()


@pytest.mark.parametrize("size", [0, 31, 33])
def test_a_key_of_an_odd_length(keys: KeyStore, size: int) -> None:
    with pytest.raises(ParameterError, match="must be 32 bytes"):
        keys.put_if_absent(NAME, bytes(size))


RACE = """
import os, sys, threading
from deniable.collector.keystore import open_keystore
keys = open_keystore(sys.argv[1])
keys.names()
gate = threading.Barrier(4)
got = [[] for _ in range(4)]
def race(mine):
    for number in range(8):
        gate.wait()
        mine.append(keys.put_if_absent(f"race.{number}", os.urandom(32)).hex())
threads = [threading.Thread(target=race, args=(mine,)) for mine in got]
print("ready", flush=True)
sys.stdin.readline()
for thread in threads: thread.start()
for thread in threads: thread.join()
for mine in got: print(*mine, flush=True)
"""


def test_of_sixteen_that_race_one_wins(keys: KeyStore, place: Place) -> None:
    with ExitStack() as stack:
        racers = [stack.enter_context(program(RACE, place.location)) for _ in range(4)]
        for racer in racers:
            write_line(racer)
        seen = [read_line(racer).split() for racer in racers for _ in range(4)]
    kept = [keys.get(f"race.{number}") for number in range(8)]
    assert len(set(kept)) == 8
    assert seen == [[key.hex() for key in kept if key]] * 16


PUTTER = """
import os, sys
from deniable.collector.keystore import open_keystore
keys = open_keystore(sys.argv[1])
print("ready", flush=True)
for number in range(100_000):
    key = os.urandom(32)
    print(number, keys.put_if_absent(f"{sys.argv[2]}.{number}", key).hex(), flush=True)
"""


def test_a_kill_leaves_whole_keys(keys: KeyStore, place: Place) -> None:
    acknowledged: dict[str, str] = {}
    for turn in range(3):
        with program(PUTTER, place.location, f"kill{turn}") as putter:
            for _ in range(7 * turn + 5):
                number, key = read_line(putter).split()
                acknowledged[f"kill{turn}.{number}"] = key
    kept = {name: keys.get(name) for name in keys.names()}
    assert {len(key) for key in kept.values() if key} == {32}
    assert {name: (kept.get(name) or b"").hex() for name in acknowledged} == acknowledged
    keys.put_if_absent("kill0.100000", bytes(32))


def test_nobody_reads_a_key_that_is_being_destroyed(keys: KeyStore) -> None:
    key, stop = os.urandom(32), threading.Event()
    seen: set[object] = set()

    def look() -> None:
        while not stop.is_set():
            try:
                seen.add(keys.get(NAME))
            except StoreError as exc:
                seen.add(str(exc))

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(25):
        keys.put_if_absent(NAME, key)
        keys.delete(NAME)
    stop.set()
    thread.join()
    assert seen <= {None, key}


def test_a_deleted_key_is_in_no_file(keys: KeyStore, place: Place) -> None:
    gone, kept = os.urandom(32), os.urandom(32)
    keys.put_if_absent("a.before", kept)
    keys.put_if_absent(NAME, gone)
    assert place.holds(gone)
    keys.delete(NAME)
    assert not place.holds(gone)
    assert place.holds(kept)
    assert keys.get("a.before") == kept


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def refusal(location: str) -> str:
    """Why a place cannot be used, said in less than five seconds."""
    begun = time.monotonic()
    with pytest.raises(StoreError) as caught:
        open_keystore(location).names()
    assert time.monotonic() - begun < 5
    return str(caught.value)


def test_an_unreachable_server() -> None:
    with silent_port() as silent, ThreadPoolExecutor() as pool:
        places = [
            f"{scheme}://user{password}@127.0.0.1:{port}/0"
            for scheme in ("redis", "postgresql")
            for password in (":hunter2", "")
            for port in (silent, 1)
        ]
        for location, said in zip(places, pool.map(refusal, places), strict=True):
            assert said.startswith(f"{location.replace(':hunter2', '')}: cannot be used (")
            assert "hunter2" not in said
            assert "\n" not in said


def test_an_unknown_kind_of_place() -> None:
    for location, why in {
        "": "keys: empty",
        "mysql://u:hunter2@h/d": "unknown kind mysql://",
    }.items():
        with pytest.raises(ParameterError, match=re.escape(why)) as caught:
            open_keystore(location)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["redis://:hunter2/x@h:port", "postgresql://u:hunter2%zz@h/d"])
def test_a_url_that_cannot_be_read(url: str) -> None:
    with pytest.raises(ParameterError, match=r"cannot be read; .*%") as caught:
        open_keystore(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("module", "url"), [("redis", "valkey://h"), ("psycopg", "postgres://h/d")]
)
def test_a_missing_client(monkeypatch: pytest.MonkeyPatch, module: str, url: str) -> None:
    kind = "valkey" if module == "redis" else "postgres"
    monkeypatch.setitem(__import__("sys").modules, module, None)
    monkeypatch.delitem(__import__("sys").modules, f"deniable.collector.keystore.{kind}", False)
    with pytest.raises(MissingExtraError, match=f"{module} is not installed; pip install"):
        open_keystore(url)


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("keys/of@day", "keys/of@day"),
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("redis://:hunter2@h:6379/0", "redis://@h:6379/0"),
        ("redis://u:hunt/er2@h/0", "redis://u@h/0"),
        ("redis://u:hunt@er2@h/0", "redis://u@h/0"),
        ("redis://u:hunt?er2@h/0", "redis://"),
        ("redis://u:hunt#er2@h/0", "redis://"),
        ("postgresql:///d?host=/run&password=hunter2", "postgresql:///d?host=/run"),
        ("postgresql://u@/d?password=hunter2&host=%2Frun", "postgresql://u@/d?host=/run"),
        ("postgresql:///d?host=hunter2", "postgresql:///d"),
    ],
)
def test_a_location_without_its_password(url: str, safe: str) -> None:
    assert without_password(url) == safe


@pytest.mark.parametrize(
    ("store", "keys", "same"),
    [
        ("postgresql://a:b@h/d", "postgresql://c@H:5432/d", True),
        ("postgres://localhost/d", "postgresql://127.0.0.1/d", True),
        ("postgresql:///d", "postgresql://[::1]/d", True),
        ("postgresql:///d?host=/run/pg", "postgresql://localhost/d", True),
        ("postgresql:///d?host=/run/pg", "postgresql:///d?host=/run/pg", True),
        ("postgresql://h1,h2/d", "postgresql://h2/d", True),
        ("postgresql://d@h", "postgresql://h/d", True),
        ("postgresql:///d?host=/run/pg", "postgresql:///d?host=/run/other", False),
        ("postgresql://h/d", "postgresql://h/e", False),
        ("postgresql://h/d", "postgresql://h:5433/d", False),
        ("postgresql://h/d", "postgresql://g/d", False),
        ("postgresql://h/d", "redis://h/d", False),
        ("collector.db", "collector.db-keys", False),
    ],
)
def test_whether_the_keys_are_beside_the_counts(store: str, keys: str, same: bool) -> None:
    assert same_place(store, keys) is same
    assert same_place(keys, store) is same


def both_uses(keys: KeyStore) -> list[Callable[[], object]]:
    return [lambda: keys.get(NAME), lambda: keys.put_if_absent(NAME, bytes(32))]


class TestDirectory:
    """What only files can get wrong."""

    def test_files_are_private(self, tmp_path: Path) -> None:
        folder = tmp_path / "deep" / "keys"
        before = os.umask(0)
        try:
            open_keystore(str(folder)).put_if_absent(NAME, bytes(32))
        finally:
            os.umask(before)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [path.name for path in folder.iterdir()] == [f"{NAME}.key"]
        assert stat.S_IMODE((folder / f"{NAME}.key").stat().st_mode) == 0o600

    def test_a_directory_that_others_may_read_is_closed(self, tmp_path: Path) -> None:
        (tmp_path / "keys").mkdir()
        (tmp_path / "keys").chmod(0o755)
        open_keystore(str(tmp_path / "keys"))
        assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700

    @pytest.mark.parametrize("mode", [0o770, 0o702])
    def test_a_directory_that_others_may_write_is_refused(self, tmp_path: Path, mode: int) -> None:
        (tmp_path / "keys").mkdir()
        (tmp_path / "keys").chmod(mode)
        with pytest.raises(StoreError, match=r"others can write to it; .* chmod 700 .*/keys$"):
            open_keystore(str(tmp_path / "keys"))

    def test_a_directory_that_cannot_be_made(self, tmp_path: Path) -> None:
        (tmp_path / "keys").write_text("in the way")
        for path, problem in (
            (tmp_path / "keys", "is a file; --keys takes a directory"),
            (tmp_path / "keys" / "below", "cannot be used .*; let the user that serve runs as"),
        ):
            with pytest.raises(StoreError, match=problem):
                open_keystore(str(path))

    @pytest.mark.parametrize("content", [b"", b"short", bytes(33)])
    def test_a_file_of_the_wrong_length_is_named(self, tmp_path: Path, content: bytes) -> None:
        keys = open_keystore(str(tmp_path / "keys"))
        path = tmp_path / "keys" / f"{NAME}.key"
        path.write_bytes(content)
        for use in both_uses(keys):
            with pytest.raises(StoreError, match=re.escape(f"{path}: must hold 32 bytes")):
                use()
        keys.delete(NAME)
        assert keys.get(NAME) is None

    def test_a_link_is_not_followed(self, tmp_path: Path) -> None:
        keys = open_keystore(str(tmp_path / "keys"))
        (tmp_path / "elsewhere").write_bytes(bytes(32))
        (tmp_path / "keys" / f"{NAME}.key").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="cannot be read"):
            keys.get(NAME)

    def test_a_key_is_not_read_while_it_is_overwritten(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        keys, open_file = open_keystore(str(tmp_path / "keys")), os.fdopen
        keys.put_if_absent(NAME, os.urandom(32))

        def late(descriptor: int, mode: str) -> Any:
            if mode == "rb":
                keys.delete(NAME)
            return open_file(descriptor, mode)

        monkeypatch.setattr(os, "fdopen", late)
        assert keys.get(NAME) is None

    def test_other_files_are_no_keys(self, tmp_path: Path) -> None:
        keys = open_keystore(str(tmp_path / "keys"))
        for name in ("notes.txt", "A.key", ".hidden.key", ".a.0123.new"):
            (tmp_path / "keys" / name).write_bytes(bytes(32))
        assert keys.names() == set()

    def test_a_deleted_key_was_overwritten(self, tmp_path: Path) -> None:
        keys = open_keystore(str(tmp_path / "keys"))
        keys.put_if_absent(NAME, os.urandom(32))
        witness = tmp_path / "witness"
        os.link(tmp_path / "keys" / f"{NAME}.key", witness)
        keys.delete(NAME)
        assert witness.read_bytes() == bytes(32)

    def test_what_a_crash_left_is_tidied(self, tmp_path: Path) -> None:
        """A draft whose link is in use is unlinked as it is; an old key is erased."""
        folder = tmp_path / "keys"
        keys = open_keystore(str(folder))
        key = keys.put_if_absent(NAME, os.urandom(32))
        linked, fresh, going = (folder / f".x.{n}" for n in ("1.new", "2.new", "3.old"))
        os.link(folder / f"{NAME}.key", linked)
        fresh.write_bytes(b"half")
        going.write_bytes(os.urandom(32))
        witness = tmp_path / "witness"
        os.link(going, witness)
        os.utime(linked, (time.time() - 61,) * 2)
        again = open_keystore(str(folder))
        assert {path.name for path in folder.iterdir()} == {f"{NAME}.key", fresh.name}
        assert again.get(NAME) == key
        assert witness.read_bytes() == bytes(32)


def read(path: Path) -> bytes:
    """A file, which a server may just have deleted."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


class TestValkey:
    """What only a Valkey can get wrong."""

    def test_a_restart_is_survived_without_hands(self) -> None:
        with running_valkey(appendonly="yes", appendfsync="always") as server:
            keys = open_keystore(f"valkey://127.0.0.1:{server.port}")
            key = keys.put_if_absent(NAME, os.urandom(32))
            server.stop()
            with pytest.raises(StoreError, match="cannot be used"):
                keys.get(NAME)
            server.start()
            assert keys.get(NAME) == key
            server.stop()
            server.start()  # the connection is dead, and no call has noticed
            assert keys.put_if_absent(NAME, os.urandom(32)) == key
            keys.close()

    def test_a_connection_that_is_cut_is_made_anew(self) -> None:
        with running_valkey() as server, cut_once(server.port, b"NX") as port:
            keys, key = open_keystore(f"valkey://127.0.0.1:{port}"), os.urandom(32)
            assert keys.names() == set()
            assert keys.put_if_absent(NAME, key) == key
            keys.close()

    def test_databases_are_apart(self) -> None:
        with running_valkey() as server:
            one, two = (open_keystore(f"valkey://127.0.0.1:{server.port}/{n}") for n in (1, 2))
            one.put_if_absent(NAME, bytes(32))
            assert (one.names(), two.names()) == ({NAME}, set())

    def test_a_wrong_password_is_not_repeated(self) -> None:
        with running_valkey() as server, redis.Redis(port=server.port) as client:
            client.config_set("requirepass", "sesame")
            url = f"redis://:hunter2@127.0.0.1:{server.port}"
            with pytest.raises(StoreError, match="cannot be used") as caught:
                open_keystore(url).names()
            assert "hunter2" not in str(caught.value)
            assert open_keystore(url.replace("hunter2", "sesame")).names() == set()

    @pytest.mark.parametrize("refusal", ["unknown", "forbidden", "full"])
    def test_a_refusal_is_not_quoted(
        self, refusal: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A server quotes what it does not know, and that may be a key."""
        (tmp_path / "conf").write_text('rename-command SET ""\n')
        hidden = {"include": str(tmp_path / "conf")} if refusal == "unknown" else {}
        key = secrets.choice(string.ascii_letters).join(["KEY"] * 11)[:32].encode()
        with running_valkey(**hidden) as server, redis.Redis(port=server.port) as client:
            if refusal == "forbidden":
                client.execute_command("ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "-set")
            if refusal == "full":
                client.config_set("maxmemory", 1)
            user = "app:pw@" if refusal == "forbidden" else ""
            keys = open_keystore(f"redis://{user}127.0.0.1:{server.port}/0")
            with pytest.raises(StoreError, match="cannot be used") as caught:
                keys.put_if_absent(NAME, key)
            keys.close()
        told = "".join(traceback.format_exception(caught.value)) + caplog.text
        assert key.decode() not in told
        assert NAME not in str(caught.value)
        name = {"unknown": "ResponseError", "forbidden": "NoPermissionError"}
        assert name.get(refusal, "OutOfMemoryError") in str(caught.value)

    def test_a_value_that_is_no_key(self) -> None:
        with running_valkey() as server, redis.Redis(port=server.port) as client:
            client.set(f"deniable:key:{NAME}", b"short")
            keys = open_keystore(f"valkey://127.0.0.1:{server.port}")
            for use in both_uses(keys):
                with pytest.raises(StoreError, match=f"deniable:key:{NAME} must hold 32 bytes"):
                    use()

    def test_many_keys_deleted_at_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """A rewrite that began before a deletion is followed by another."""
        with running_valkey(appendonly="yes") as server:
            keys = open_keystore(f"valkey://127.0.0.1:{server.port}")
            many = {f"many.{n}": keys.put_if_absent(f"many.{n}", os.urandom(32)) for n in range(20)}

            def left() -> int:
                content = b"".join(map(read, valkey_files(server)))
                return sum(key in content for key in many.values())

            assert left() == 20
            with caplog.at_level(logging.WARNING):
                for name in many:
                    keys.delete(name)
                until(lambda: keys.names() == set() and left() == 0)
            assert caplog.text == ""
            keys.close()

    def test_a_rewrite_that_is_not_permitted_is_owed(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        """It is said once, and done as soon as it may be."""
        with (
            running_valkey(appendonly="yes", save="3600 1000") as server,
            redis.Redis(port=server.port) as client,
        ):
            client.execute_command("ACL", "SETUSER", "app", "on", ">pw", "~*", "+@all", "-config")
            keys = open_keystore(f"redis://app:pw@127.0.0.1:{server.port}")
            key = keys.put_if_absent(NAME, os.urandom(32))
            client.bgsave()
            keys.put_if_absent("other", os.urandom(32))

            def in_files() -> set[str]:
                return {path.suffix for path in valkey_files(server) if key in read(path)}

            until(lambda: in_files() == {".aof", ".rdb"})
            with caplog.at_level(logging.WARNING):
                keys.delete(NAME)
                keys.delete("other")
            assert caplog.text.count("deleted keys may be in its files") == 1
            assert in_files() >= {".aof", ".rdb"}
            client.execute_command("ACL", "SETUSER", "app", "+config")
            until(lambda: keys.names() == in_files() == set())


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_postgresql_crashes_and_is_found_again(keys: KeyStore, postgres: Postgres) -> None:
    key = keys.put_if_absent(NAME, os.urandom(32))
    postgres.kill()
    with pytest.raises(StoreError, match="cannot be used"):
        keys.get(NAME)
    postgres.start()
    assert keys.get(NAME) == key


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_postgresql_keeps_no_statistics_and_no_dead_rows_for_old_snapshots(
    keys: KeyStore, place: Place
) -> None:
    key = os.urandom(32)
    keys.put_if_absent("a.kept", os.urandom(32))
    with psycopg.connect(place.location) as old, psycopg.connect(place.location) as other:
        old.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        old.execute("SELECT 1")
        keys.put_if_absent(NAME, key)
        other.autocommit = True
        other.execute("ANALYZE deniable_keys.keys")
        assert other.execute(
            "SELECT attname FROM pg_stats WHERE schemaname = 'deniable_keys'"
        ).fetchall() == [("name",)]
        assert place.holds(key)
        keys.delete(NAME)
        assert not place.holds(key)
    assert keys.names() == {"a.kept"}


def test_postgresql_logs_no_parameters_if_the_role_may_forbid_it(postgres: Postgres) -> None:
    url = postgres.fresh_database()
    database = url.split("/")[3].split("?")[0]
    for name, value in LOUD.items():
        postgres.execute(f"ALTER DATABASE {database} SET {name} = '{value}'")
    before = postgres.log.stat().st_size
    keys, key = open_keystore(url), os.urandom(32)
    keys.put_if_absent(NAME, key)
    assert keys.get(NAME) == key
    keys.delete(NAME)
    log = postgres.log.read_bytes()[before:]
    assert b"SELECT key FROM deniable_keys.keys" in log
    assert not any(text in log for text in (NAME.encode(), key.hex().encode()))
