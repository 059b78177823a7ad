"""A no holds: over upgrades of package and survey, over restarts, and said by the environment."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from client_kit import Collector, bytes_of, question, rows, run, survey, survey_file
from stores_of_version_1 import TABLES

from deniable.client.environment import veto
from deniable.client.tables import VERSION
from deniable.protocol.survey import Survey

WATCHED = """
import socket, sys, threading
seen = []
sys.addaudithook(lambda event, _: seen.append(event) if event.startswith("socket.") else None)

class Refused(socket.socket):
    def __init__(self, *arguments, **options):
        raise AssertionError("a socket")

socket.socket = Refused

from deniable.client import Client

path, url, store, consent = sys.argv[1:]
most = 0
for restart in range(2):
    client = Client(path, url, store, consent=consent, strict=True)
    acts = [
        lambda: client.record("dark", True),
        lambda: client.record("dark", True, wait=False),
        lambda: client.record_many({"dark": True, "new": True}),
        lambda: client.preview("dark", True),
        lambda: client.sent(),
        lambda: client.flush(),
        lambda: client.flush(force=True),
        lambda: client.status(),
    ]
    for act in acts:
        act()
        most = max(most, threading.active_count())
    status = client.status()
    client.close()
print(status.state, status.queued, status.sent, seen, most, "requests" in sys.modules)
"""
SILENT = "off 0 0 [] 1 False"


def first_store(path: Path, asked: Survey, consent: str) -> None:
    """A store of the first release, whose person decided and had answered `dark` once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    dark = asked.questions["dark"]
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(TABLES)
        device = (os.urandom(32), consent)
        db.execute("INSERT INTO device VALUES (1, ?, ?, '2026-11-01', 'on', '100')", device)
        db.execute("INSERT INTO ledger VALUES ('acme', 'dark', 1, ?, '2', 0)", (dark.hash,))
        db.execute("INSERT INTO answered VALUES ('acme', 'dark', 1, '2026-11-01')")


OLD = survey(dark=question())
NEW = survey(dark=question(version=2, default=False), new=question(default=False))


@pytest.mark.parametrize("consent", ["ask", "on", "off"])
@pytest.mark.parametrize("made_by", ["the first release", "this one"])
def test_a_no_outlives_upgrades_and_restarts(
    start: Any, heard: Collector, tmp_path: Path, store: Path, made_by: str, consent: str
) -> None:
    if made_by == "this one":
        with start(OLD, heard.url, consent="on") as client:
            client.record("dark", True)
            client.opt_out()
    else:
        first_store(store, OLD, "off")
    path = survey_file(tmp_path / "survey.json", NEW)
    assert run(WATCHED, path, heard.url, store, consent).strip() == SILENT
    assert heard.requests == []
    assert rows(store, "SELECT question, version FROM ledger") == [("dark", 1)]
    assert rows(store, "SELECT * FROM queue") == []
    assert rows(store, "PRAGMA user_version") == [(VERSION,)]


def test_the_same_program_is_seen_to_use_sockets_and_threads(
    start: Any, heard: Collector, tmp_path: Path, store: Path
) -> None:
    """So that the watch works: with a yes, a socket is tried and refused."""
    path = survey_file(tmp_path / "survey.json", NEW)
    state, queued, sent, *seen = run(WATCHED, path, heard.url, store, "on").split()
    assert (state, queued, sent) == ("on", "2", "0")
    assert "socket." in seen[0]
    assert int(seen[-2]) > 1


def test_a_fresh_store_that_is_off_is_silent(heard: Collector, tmp_path: Path, store: Path) -> None:
    path = survey_file(tmp_path / "survey.json", NEW)
    assert run(WATCHED, path, heard.url, store, "off").strip() == SILENT
    assert rows(store, "SELECT * FROM ledger") == []


@pytest.mark.parametrize("variable", ["DO_NOT_TRACK=1", "CI=true", "DENIABLE=off"])
def test_an_environment_that_says_no_is_heard(
    heard: Collector, tmp_path: Path, store: Path, variable: str
) -> None:
    """No store comes into being either, hence no secret."""
    path = survey_file(tmp_path / "survey.json", NEW)
    name, value = variable.split("=")
    environment = {**os.environ, name: value}
    program = run(WATCHED, path, heard.url, store, "on", env=environment)
    assert program.strip() == SILENT
    assert not store.parent.exists()
    assert heard.requests == []


MEANT = ["1", "true", "TRUE", "yes", "on", "2", " 1 ", "whatever", "\N{SNOWMAN}"]
NOT_MEANT = ["", " ", "0", " 0\t", "false", "False", "no", "NO", "off"]


@pytest.mark.parametrize("name", ["DO_NOT_TRACK", "CI"])
@pytest.mark.parametrize("value", MEANT)
def test_what_is_set_is_meant(name: str, value: str) -> None:
    assert veto({name: value, "DENIABLE": "on"}) == f"{name} is set in the environment"


@pytest.mark.parametrize("value", NOT_MEANT)
def test_what_says_no_is_not_meant(value: str) -> None:
    assert veto({"DO_NOT_TRACK": value, "CI": value}) == ""


def test_nothing_set_says_nothing() -> None:
    assert veto({"CI_SERVER": "1", "do_not_track": "1"}) == ""


@pytest.mark.parametrize("value", ["off", "OFF", " off ", "0", "false", "no"])
def test_deniable_off_is_a_no(value: str) -> None:
    assert veto({"DENIABLE": value}) == "DENIABLE is off in the environment"


@pytest.mark.parametrize("value", ["", "  ", "on", "1", "yes", "whatever"])
def test_deniable_on_is_no_yes_and_no_no(value: str) -> None:
    assert veto({"DENIABLE": value}) == ""
    assert veto({"DENIABLE": value, "DO_NOT_TRACK": "1"})


@pytest.mark.parametrize("named", ["DO_NOT_TRACK", "CI", "DENIABLE"])
@pytest.mark.parametrize(("decision", "state"), [("opt_in", "on"), ("opt_out", "off")])
def test_a_decision_in_such_an_environment_is_stored_and_holds_later(
    start: Any, heard: Collector, store: Path, named: str, decision: str, state: str
) -> None:
    environment = {named: "off" if named == "DENIABLE" else "1"}
    with start(OLD, heard.url, _environ=environment) as client:
        assert getattr(client, decision)() is True
        client.record("dark", True)
        assert (client.status().state, client.status().queued) == ("off", 0)
        assert named in client.status().reason
        assert client.flush(force=True).sent == 0
    assert rows(store, "SELECT consent FROM device") == [(state,)]
    later = start(OLD, heard.url)
    assert later.status().state == state
    later.record("dark", True)
    assert later.flush(force=True).sent == (state == "on")


def test_such_an_environment_changes_no_store(start: Any, heard: Collector, store: Path) -> None:
    """What waits, waits on; the app's mode and the survey's ceiling are not noted either."""
    with start(OLD, heard.url, consent="on") as client:
        client._engine._uploader.stop(5)
        client.record("dark", True)
    before = bytes_of(store.parent)
    for consent in ("ask", "on", "off"):
        with start(NEW, heard.url, consent=consent, _environ={"CI": "1"}) as client:
            client.record("new", True)
            assert client.preview("new", True).example
            client.flush(force=True)
    assert bytes_of(store.parent) == before
    assert heard.requests == []
