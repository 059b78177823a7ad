"""The store as a file: how it is made, what breaks it, and that nothing true ever lies in it."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import threading
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from client_kit import (
    DAY,
    Clock,
    Collector,
    bytes_of,
    choice,
    python,
    question,
    responses,
    rows,
    run,
    survey,
    survey_file,
)

from deniable.client import schema
from deniable.client.tables import VERSION

SIDES = [f"side {number}" for number in range(256)]
WIDE = survey({"linkable": True}, bits=choice(*SIDES, mechanism="oue"), dark=question())


# How it is made


def test_only_its_person_can_read_it(start: Any, heard: Collector, store: Path) -> None:
    old = os.umask(0)
    try:
        client = start(survey(), heard.url, consent="on")
        client.record("dark", True)
        client.flush(force=True)
    finally:
        os.umask(old)
    assert stat.S_IMODE(store.parent.stat().st_mode) == 0o700
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in store.parent.iterdir()}
    assert files == {"acme.db": 0o600, "acme.db-journal": 0o600, "acme.db.lock": 0o600}


def test_a_copy_that_others_could_read_is_closed_to_them(start: Any, store: Path) -> None:
    start().close()
    store.chmod(0o644)
    start().close()
    assert stat.S_IMODE(store.stat().st_mode) == 0o600


def test_the_settings_that_leave_nothing_behind(start: Any) -> None:
    database = start()._engine._db
    for pragma, value in (("journal_mode", "truncate"), ("secure_delete", 1), ("synchronous", 2)):
        assert database.rows(f"PRAGMA {pragma}") == [(value,)]


def test_two_devices_have_two_secrets_of_32_bytes(start: Any, tmp_path: Path) -> None:
    secrets = set()
    for name in ("a.db", "b.db"):
        start(store=tmp_path / name).close()
        secrets.update(rows(tmp_path / name, "SELECT secret FROM device"))
    assert [len(secret) for (secret,) in secrets] == [32, 32]


def test_the_default_folder_is_for_state(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from platformdirs import user_state_path

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    start(store=None).close()
    assert (user_state_path("deniable", appauthor=False) / "acme.db").is_file()
    assert list(tmp_path.rglob("acme.db"))


def test_awkward_paths_are_only_paths(
    start: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a b?mode=memory#x%41.db", "ünïcode.db"):
        with start(store=name) as client:
            client.record("dark", True)
        assert len(responses(tmp_path / name, "dark")) == 1


@pytest.mark.parametrize("links", [True, False])
def test_two_first_starts_at_once_draw_one_secret(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Also on a file system without links, where the second would replace the first's store."""
    second: list[Any] = []
    threads: list[threading.Thread] = []
    link, rename = os.link, Path.rename

    def meanwhile() -> None:
        if not threads:
            threads.append(threading.Thread(target=lambda: second.append(start())))
            threads[0].start()
            threads[0].join(0.3)  # it waits for the lock; without one it would be the first

    def slow_link(*names: Any) -> None:
        meanwhile()
        if not links:
            raise OSError(errno.ENOTSUP, "no links")
        link(*names)

    def slow_rename(draft: Path, target: Path) -> Path:
        meanwhile()
        return rename(draft, target)

    monkeypatch.setattr(schema, "PATIENCE", 60)
    monkeypatch.setattr(os, "link", slow_link)
    monkeypatch.setattr(Path, "rename", slow_rename)
    first = start()
    threads[0].join(20)
    secrets = {client._engine._store.device().secret for client in (first, *second)}
    assert len(second) == 1
    assert [(secret,) for secret in secrets] == rows(store, "SELECT secret FROM device")
    first.record("dark", True)
    assert second[0].status().queued == 1


def test_a_store_that_another_made_without_a_lock_is_not_replaced(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an older version does."""
    start(store=store.with_name("older.db")).close()
    older = store.with_name("older.db").read_bytes()
    link = os.link

    def slow_link(*names: Any) -> None:
        store.write_bytes(older)
        link(*names)

    monkeypatch.setattr(os, "link", slow_link)
    start().close()
    secret = "SELECT secret FROM device"
    assert rows(store, secret) == rows(store.with_name("older.db"), secret)


def test_the_journal_of_a_deleted_store_is_not_taken_for_that_of_the_new_one(
    start: Any, store: Path, clock: Clock
) -> None:
    """A killed process leaves one, with which SQLite would bring back parts of the old store."""
    names = [f"q{number}" for number in range(30)]
    asked = survey({"linkable": True}, **{name: question(epsilon=1) for name in names})
    with start(asked) as client:
        client.record_many(dict.fromkeys(names, True))
    old = rows(store, "SELECT secret FROM device")
    journal = store.with_name("acme.db-journal")
    with closing(sqlite3.connect(store, isolation_level=None)) as db:
        for statement in ("PRAGMA journal_mode = TRUNCATE", "PRAGMA cache_size = 1", "BEGIN"):
            db.execute(statement)
        for table in ("device SET begun = begun", "ledger SET about = about", "queue SET size = 1"):
            db.execute(f"UPDATE {table}")
        left = journal.read_bytes()
        db.execute("ROLLBACK")
    assert left.startswith(bytes.fromhex("d9d505f920a163d7")), "it is one to be played back"
    store.unlink()
    journal.write_bytes(left)
    for day in range(3):
        with start(asked) as client:
            client.record_many(dict.fromkeys(names, True))
            status = client.status()
        assert (status.reason, status.epsilon_spent) == ("nobody has said yes yet", 30)
        assert status.queued == 30 * (day + 1)
        clock.advance(DAY)
    assert rows(store, "SELECT secret FROM device") != old
    assert rows(store, "PRAGMA integrity_check") == [("ok",)]


# What breaks it


def damage_sql(*statements: str) -> Any:
    def damage(store: Path) -> None:
        for statement in statements:
            rows(store, statement)

    return damage


def half(store: Path) -> None:
    os.truncate(store, 4096 + 100)


def scramble(store: Path) -> None:
    content = bytearray(store.read_bytes())
    content[4096:] = bytes(255 - byte for byte in content[4096:])
    store.write_bytes(content)


DAMAGES = {
    "half": half,
    "scrambled": scramble,
    "no device": damage_sql("DELETE FROM device"),
    "no table": damage_sql("DROP TABLE ledger"),
    "no version": damage_sql("PRAGMA user_version = 0"),
    "no secret": damage_sql("UPDATE device SET secret = NULL"),
    "short secret": damage_sql("UPDATE device SET secret = x'00'"),
    "long secret": damage_sql("UPDATE device SET secret = zeroblob(33)"),
    "text secret": damage_sql("UPDATE device SET secret = '0123456789012345678901234567890x'"),
    "no ceiling": damage_sql("UPDATE device SET ceiling = 'much'"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_store_is_set_aside_and_never_replaced(
    start: Any, store: Path, damage: Any
) -> None:
    start().close()
    damage(store)
    before = store.read_bytes()
    aside = store.with_name("acme.db.unreadable")
    for _ in range(2):
        with start(consent="on") as client:
            client.record("dark", True)
            client.opt_in()
            assert client.flush(force=True).sent == 0
            assert client.status().state == "silent"
            assert "acme.db.unreadable" in client.status().reason
        assert not store.exists()
        assert aside.read_bytes() == before


def test_whoever_deletes_what_was_set_aside_starts_over(start: Any, store: Path) -> None:
    start().close()
    scramble(store)
    start().close()
    store.with_name("acme.db.unreadable").unlink()
    assert start().status().state == "local"


def test_whoever_puts_back_a_copy_goes_on(start: Any, store: Path) -> None:
    with start(WIDE) as client:
        client.record("bits", SIDES[7])
    copy, before = store.read_bytes(), responses(store, "bits")
    scramble(store)
    scrambled = store.read_bytes()
    with start(WIDE) as client:
        reason = client.status().reason
        assert "what it did since may be spent and reported again" in reason
    store.write_bytes(copy)
    with start(WIDE) as client:
        assert client.status().state == "local"
    assert responses(store, "bits") == before
    half(store)
    with start(WIDE) as client:
        assert "acme.db.unreadable-2" in client.status().reason
    assert store.with_name("acme.db.unreadable").read_bytes() == scrambled


def test_damage_while_it_runs_is_noticed(start: Any, store: Path) -> None:
    client = start(WIDE)
    client.record("dark", True)
    with store.open("r+b") as file:
        file.write(b"\xff" * store.stat().st_size)
    client.record("bits", SIDES[7])
    assert client.status().state == "silent"
    assert not store.exists()
    client.record("bits", SIDES[7])
    assert not store.exists()


def test_a_newer_store_is_left_alone(start: Any, store: Path) -> None:
    start().close()
    rows(store, f"PRAGMA user_version = {VERSION + 1}")
    rows(store, "PRAGMA journal_mode = WAL")
    before = store.read_bytes()
    client = start()
    assert client.status().state == "silent"
    assert "newer deniable" in client.status().reason
    assert store.read_bytes() == before


def test_a_place_where_no_store_can_be_is_told(start: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "folder.db").mkdir()
    for place in (tmp_path / "file" / "acme.db", tmp_path / "folder.db"):
        with start(store=place, strict=False) as client:
            client.record("dark", True)
            assert client.status().state == "silent"
            assert client.status().reason


READ_ONLY = """
import os, sys
from pathlib import Path
from tempfile import TemporaryDirectory
from deniable.client import Client
from deniable.client.engine import Engine  # loaded before the rights to read it are given up
import deniable.protocol.survey, deniable.client.places, platformdirs
path, store, user = sys.argv[1:]
survey = deniable.protocol.survey.load_survey(path)
if os.geteuid() == 0:
    os.setuid(int(user))
with Client(survey, "http://127.0.0.1:9", store, strict=True) as client:
    client.record("dark", True)
    print(client.status().state, client.status().reason)
"""


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="there are no such users here")
@pytest.mark.parametrize("made", [True, False])
def test_a_read_only_place_silences(start: Any, tmp_path: Path, made: bool) -> None:
    """Run by somebody who may read the store and its folder but write neither."""
    path = survey_file(tmp_path / "survey.json", survey())
    with TemporaryDirectory() as folder:
        store = Path(folder) / "acme.db"
        if made:
            start(store=store).close()
            for file in Path(folder).iterdir():
                file.chmod(0o444)
        Path(folder).chmod(0o555)
        before = {file: file.read_bytes() for file in Path(folder).iterdir()}
        with python(READ_ONLY, path, store, 65534) as process:
            out, error = process.communicate(timeout=30)
        assert {file: file.read_bytes() for file in Path(folder).iterdir()} == before
        Path(folder).chmod(0o755)
    assert error == ""
    assert out.startswith("silent the store cannot be ")


def test_a_full_disk_silences_and_harms_nothing(store: Path, tmp_path: Path, start: Any) -> None:
    """The limit on the size of files stops writes as a full disk does."""
    asked = survey({"linkable": True}, **{f"q{n}": choice(*SIDES, epsilon=1) for n in range(90)})
    program = """
import resource, signal, sys
from deniable.client import Client
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Client(*sys.argv[1:], strict=True) as client:
    resource.setrlimit(resource.RLIMIT_FSIZE, (40960, 40960))
    for number in range(90):
        client.record(f"q{number}", "side 1")
    print(client.status().state, client.status().reason)
"""
    path = survey_file(tmp_path / "survey.json", asked)
    out = run(program, path, "http://127.0.0.1:9", store)
    assert out.startswith("silent the disk ")
    answered = len(rows(store, "SELECT * FROM answered"))
    assert 0 < answered < 90
    with start(asked) as client:
        assert client.status().queued == answered
        for name in asked.questions:
            client.record(name, "side 1")
        assert client.status().queued == 90


# What lies in it

TRUE = "Xq7-the-true-answer"


def test_no_true_value_is_ever_written(
    start: Any, heard: Collector, store: Path, clock: Clock
) -> None:
    asked = survey(
        word=choice(TRUE, "another", mechanism="sue"),
        once=choice(TRUE, "another", period="once"),
        left=choice(TRUE, "another", default=TRUE),
    )
    client = start(asked, heard.url)
    for consent in ("ask", "on"):
        if consent == "on":
            client.opt_in()
            client._engine._uploader.stop(5)
        for _ in range(3):
            client.record("word", TRUE)
            client.record("once", TRUE, wait=False)
            client.status()  # waits until it is stored
            clock.advance(DAY)
        assert client.status().queued == 6
        assert b"word" in bytes_of(store.parent)
        assert TRUE.encode() not in bytes_of(store.parent)
    client.flush(force=True)
    assert client.status().sent == 7
    client.opt_out()
    client.close()
    assert TRUE.encode() not in bytes_of(store.parent)
    assert TRUE not in str([request.document for request in heard.requests])


def test_acknowledged_responses_are_overwritten(start: Any, heard: Collector, store: Path) -> None:
    client = start(WIDE, heard.url, consent="on")
    client.record("bits", SIDES[7])
    (response,) = responses(store, "bits")
    assert response.encode() in bytes_of(store.parent)
    client.flush(force=True)
    assert heard.reports[0][2] == response
    assert response.encode() not in bytes_of(store.parent)


def test_a_no_overwrites_what_waited(start: Any, store: Path) -> None:
    client = start(WIDE)
    client.record("bits", SIDES[7])
    (response,) = responses(store, "bits")
    client.opt_out()
    assert response.encode() not in bytes_of(store.parent)


def test_no_pseudonym_is_kept(start: Any, heard: Collector, store: Path) -> None:
    client = start(WIDE, heard.url, consent="on")
    client.record("bits", SIDES[7])
    client.flush(force=True)
    name = heard.requests[0].document["device"]
    assert name.encode() not in bytes_of(store.parent)


def test_the_queue_does_not_tell_the_order_of_answers(start: Any, store: Path) -> None:
    """Rows lie in the order of numbers drawn at random: never the same in 30 stores of 31, but
    with odds of 6^-30.
    """
    asked = survey(**{name: question(epsilon=Decimal(1)) for name in ("a", "b", "c")})
    orders = set()
    for number in range(31):
        place = store.with_name(f"{number}.db")
        with start(asked, store=place) as client:
            for name in ("c", "a", "b"):
                client.record(name, True)
        found = rows(place, "SELECT number FROM queue")
        assert found == sorted(found)
        by_number = rows(place, "SELECT question FROM ledger ORDER BY number")
        orders.add(tuple(name for (name,) in by_number))
        assert rows(place, "SELECT count(DISTINCT not_before) FROM queue") == [(1,)]
    assert len(orders) > 1
    start(asked).close()
    for table in ("queue", "answered"):
        ((sql,),) = rows(store, "SELECT sql FROM sqlite_master WHERE name = ?", table)
        assert "WITHOUT ROWID" in sql


def test_the_log_tells_no_answer(start: Any, heard: Collector, tmp_path: Path) -> None:
    program = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
from deniable.client import Client
path, url, store, answer = sys.argv[1:]
with Client(path, url, store, consent="on") as client:
    client.record("word", answer)
    client.record("bits", "side 7")
    client.record("bits", answer)
    client.record("no such question", answer)
    assert client.flush(force=True).sent == 2
"""
    asked = survey(
        {"linkable": True},
        word=choice(TRUE, "another"),
        bits=choice(*SIDES, mechanism="oue"),
    )
    path = survey_file(tmp_path / "survey.json", asked)
    out = run(program, path, heard.url, tmp_path / "a.db", TRUE)
    assert "deniable.client" in out
    assert TRUE not in out
    sent = {name: response for _, name, response in heard.reports}
    assert sent["bits"] not in out
    assert heard.requests[0].document["device"] not in out


def test_a_client_says_nothing_on_its_own(store: Path, tmp_path: Path) -> None:
    program = """
import sys
from deniable.client import Client
client = Client(*sys.argv[1:], consent="on")
client.record("dark", "no answer")
client.record("dark", True)
client.flush(force=True)
client.close()
Client("/no/such/file.toml", "nowhere").record("dark", True)
"""
    path = survey_file(tmp_path / "survey.json", survey())
    with python(program, path, "http://127.0.0.1:9", store) as process:
        assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 0
