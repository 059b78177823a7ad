"""Keys belong to one store: no other destroys them, and nothing is given up in a wrong place."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import pytest
from collector_kit import (
    FAR,
    cli,
    make_survey,
    new_device,
    period_keys,
    request_body,
    run_cli,
    serving,
)

from deniable.collector.keys import open_keys
from deniable.collector.keystore import KeyStore, open_keystore
from deniable.collector.ownership import PREFIX, claim, owners
from deniable.collector.store import open_store
from deniable.protocol.errors import StoreError

SURVEY = make_survey({"yes": {}})
FOREIGN = "keys: this place belongs to another store; give one of its own with --keys"


def test_a_place_is_claimed_once(tmp_path: Path) -> None:
    keys = str(tmp_path / "keys")
    with (
        closing(open_store(str(tmp_path / "a.db"))) as store,
        closing(open_store(str(tmp_path / "b.db"))) as other,
    ):
        with closing(open_keys(store, keys)) as ring, store.read() as reader:
            assert ring.places.names() == {PREFIX + reader.identity()}
            assert ring.scopes() == set()
        for claiming in (True, False):
            with pytest.raises(StoreError, match=re.escape(FOREIGN)):
                open_keys(other, keys, claiming=claiming)
        open_keys(store, keys).close()
        open_keys(other, str(tmp_path / "others")).close()


def test_of_two_that_claim_at_once_one_at_most_does(tmp_path: Path) -> None:
    class Slow:
        """A key store to which another process comes between the look and the mark."""

        def __init__(self, places: KeyStore) -> None:
            self._places = places

        def __getattr__(self, name: str) -> object:
            return getattr(self._places, name)

        def put_if_absent(self, name: str, key: bytes) -> bytes:
            claim(self._places, "b" * 32)
            return self._places.put_if_absent(name, key)

    with closing(open_keystore(str(tmp_path / "keys"))) as places:
        with pytest.raises(StoreError, match="another store"):
            claim(Slow(places), "a" * 32)  # type: ignore[arg-type]
        assert owners(places) == {"b" * 32}


def test_another_serve_and_release_leave_the_keys_alone(tmp_path: Path) -> None:
    keys = str(tmp_path / "keys")
    with serving(SURVEY, tmp_path, "--keys", keys) as server:
        assert server.post(request_body(SURVEY, new_device())).json["accepted"] == 1
        before = period_keys(keys)
        staging = ["--store", str(tmp_path / "staging.db"), "--keys", keys]
        served = run_cli("serve", "--survey", str(tmp_path / "survey.json"), *staging, "--port=0")
        released = run_cli("release", *staging, "--as-of", FAR, "--yes")
        for done in (served, released):
            assert (done.returncode, done.stderr) == (1, f"Error: {FOREIGN}\n")
        assert period_keys(keys) == before
        assert len(before) == 1


def test_a_restored_store_is_told_of_the_old_ones_keys(tmp_path: Path) -> None:
    with serving(SURVEY, tmp_path) as server:
        server.post(request_body(SURVEY, new_device()))
        cli("backup", str(tmp_path / "b.db"), "--store", str(server.store))
        keys = f"{server.store}-keys"
        restore = ["restore", str(tmp_path / "b.db"), "--store", str(tmp_path / "drill.db")]
        done = run_cli(*restore, "--keys", keys)
        assert done.returncode == 0
        assert f"{keys} holds the keys of another store" in done.stderr
        assert len(period_keys(keys)) == 1
    with (
        closing(open_store(str(server.store))) as old,
        closing(open_store(str(tmp_path / "drill.db"))) as new,
        old.read() as one,
        new.read() as other,
    ):
        assert one.identity() != other.identity()


def test_nothing_is_given_up_in_a_place_without_keys(tmp_path: Path) -> None:
    """Who forgot --keys is told, and what could be read is there still."""
    keys = str(tmp_path / "elsewhere")
    with serving(SURVEY, tmp_path, "--keys", keys) as server:
        server.post(request_body(SURVEY, new_device()))
        server.stop()
    release = ["release", "--store", str(tmp_path / "collector.db"), "--as-of", FAR, "--yes"]
    assert cli(*release).startswith("released 0, destroyed 0, waiting for 1 key;")
    for _ in range(2):
        done = run_cli(*release, "--destroy-unreadable")
        assert done.returncode == 1
        assert "has no key of this store; give the --keys of serve" in done.stderr
    assert cli(*release, "--keys", keys).startswith("released 1, destroyed 0;")


def test_what_would_be_given_up_is_named_before(tmp_path: Path) -> None:
    with serving(SURVEY, tmp_path) as server:
        server.post(request_body(SURVEY, new_device()))
        server.stop()
    (lost,) = period_keys(f"{tmp_path / 'collector.db'}-keys")
    lost.unlink()
    release = ["release", "--store", str(tmp_path / "collector.db")]
    cli(*release, "--as-of", FAR, "--yes")
    asked = run_cli(*release, "--destroy-unreadable", stdin="n\n")
    assert asked.returncode == 1
    assert f"Destroy what waits and does not open of {lost.stem}, for good?" in asked.stderr
    done = run_cli(*release, "--destroy-unreadable", stdin="y\n")
    assert done.stdout.startswith("released 0, destroyed 1;")
    nothing = run_cli(*release, "--destroy-unreadable")
    assert nothing.stdout.startswith("released 0, destroyed 0;")
