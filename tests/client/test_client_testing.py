"""The client that apps test with, and the examples in the docstrings of both clients."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from client_kit import DAY, choice, question, survey

from deniable.client import Client
from deniable.client.bodies import compress
from deniable.client.replies import Reply
from deniable.client.testing import MONDAY, MemoryClient, Recorded
from deniable.client.testing.shelf import Shelf
from deniable.protocol.errors import DeniableError, ParameterError
from deniable.protocol.survey import Survey

ROOT = Path(__file__).resolve().parents[2]
SURVEY = ROOT / "examples" / "apps" / "survey.toml"
NOWHERE = "http://127.0.0.1:9"


def asked() -> Survey:
    return survey(dark=question(), theme=choice("red", "green", "blue", period="week"))


@pytest.fixture
def client() -> Iterator[MemoryClient]:
    with MemoryClient(asked(), consent="on") as opened:
        yield opened


def test_it_has_every_method_of_a_client() -> None:
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        if not name.startswith("_"):
            own = inspect.signature(getattr(MemoryClient, name))
            assert own == inspect.signature(method), name
    assert issubclass(MemoryClient, Client)


def test_right_answers_are_recorded_in_their_order(client: MemoryClient) -> None:
    client.record("dark", True, wait=False)
    client.record_many({"theme": "red"})
    client.record("dark", False)
    assert client.recorded == [("dark", True), ("theme", "red"), ("dark", False)]
    assert client.recorded[1] == Recorded(question="theme", value="red")
    assert client.status().queued == 2  # the first of a period counts


@pytest.mark.parametrize(("name", "value"), [("dark", "yes"), ("theme", "pink"), ("dork", True)])
def test_a_mistake_of_the_app_raises(client: MemoryClient, name: str, value: bool | str) -> None:
    for wait in (True, False):
        with pytest.raises(ParameterError):
            client.record(name, value, wait=wait)
    with pytest.raises(ParameterError):
        client.record_many([(name, value), ("theme", "blue")])
    assert client.recorded == [("theme", "blue")]


def test_using_it_after_its_end_raises(client: MemoryClient) -> None:
    client.close()
    with pytest.raises(DeniableError):
        client.record("dark", True)


def test_what_is_due_leaves_as_time_passes(client: MemoryClient) -> None:
    client.record_many({"dark": True, "theme": "red"})
    assert client.requests() == []
    client.advance(hours=11)
    assert client.reports() == []  # the day is not over
    client.advance(hours=25)
    assert [report[:2] for report in client.reports()] == [("2026-01-05", "dark")]
    client.advance(days=7)
    (day, week) = client.requests()
    assert week["period"] == "2026-W02"
    assert day["device"] != week["device"]  # another pseudonym in each
    assert client.status().sent == 2
    assert [entry.state for entry in client.sent()] == ["sent", "sent"]


def test_every_day_of_a_month_is_sent(client: MemoryClient) -> None:
    for _ in range(31):
        client.record("dark", True)
        client.advance(days=1)
    client.advance(days=2)
    assert len({report.period for report in client.reports()}) == 31
    assert client.status().dropped == {}


def test_a_long_time_passes_as_in_an_app_that_runs_on(client: MemoryClient) -> None:
    client.record("dark", True)
    client.advance(days=30)
    assert client.status().sent == 1
    assert client.status().dropped == {}


def test_a_device_that_was_off_is_too_late(client: MemoryClient) -> None:
    client.record("dark", True)
    client.set_clock(MONDAY + 30 * DAY)
    client.flush()
    assert client.requests() == []
    assert client.status().dropped == {"period_closed": 1}


def test_time_goes_on_and_has_a_zone(client: MemoryClient) -> None:
    with pytest.raises(ParameterError, match="set_clock"):
        client.advance(days=-1)
    with pytest.raises(ParameterError, match="zone"):
        client.set_clock(datetime(2026, 1, 5))  # noqa: DTZ001
    with pytest.raises(ParameterError, match="zone"):
        MemoryClient(asked(), now=datetime(2026, 1, 5))  # noqa: DTZ001
    with MemoryClient(asked(), now=datetime(2027, 5, 1, tzinfo=UTC)) as later:
        later.record("dark", True)
        assert later.sent()[0].period == "2027-05-01"


def test_nothing_from_before_a_yes_is_sent() -> None:
    with MemoryClient(asked()) as client:
        assert client.status().state == "local"
        client.record("theme", "red")
        client.advance(days=1)
        client.opt_in()
        client.record("dark", True)
        client.advance(days=9)
        assert [report.question for report in client.reports()] == ["dark"]
        client.opt_out()
        client.record("dark", True)
        assert client.recorded == [("theme", "red"), ("dark", True)]
        assert client.status().state == "off"


def test_a_no_voids_the_leave_to_send_that_was_given_before_it() -> None:
    """As for a carrier over HTTP: what was about to leave does not, also after a new yes."""
    shelf = Shelf()
    body = compress(b'{"reports": []}')
    ticket = shelf.ticket()
    assert shelf.post(shelf.connection(), body, ticket, 1).status == 200
    shelf.abandon()
    assert shelf.post(shelf.connection(), body, ticket, 1) == Reply()
    assert shelf.post(shelf.connection(), body, shelf.ticket(), 1).status == 200
    shelf.close()
    assert shelf.post(shelf.connection(), body, shelf.ticket(), 1) == Reply()
    assert len(shelf.requests()) == 2


def test_consent_can_be_off_from_the_start() -> None:
    with MemoryClient(asked(), consent="off") as client:
        client.record("dark", True)
        client.flush(force=True)
        assert (client.recorded, client.requests()) == ([], [])


def test_it_leaves_no_file_opens_no_socket_and_starts_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("CI", "true"), ("DO_NOT_TRACK", "1"), ("DENIABLE", "off")):
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(socket, "socket", None)
    started: list[object] = []
    monkeypatch.setattr(threading.Thread, "start", started.append)
    with MemoryClient(asked(), consent="on") as client:
        client.record("dark", True, wait=False)
        client.advance(days=2)
        client.record("dark", False)
        client.opt_out()
        client.opt_in()
        client.record("theme", "red", wait=False)
        assert client.flush(force=True).sent == 1
        assert len(client.reports()) == 2
    assert started == []
    assert list(tmp_path.iterdir()) == []


APP = """
from deniable.client import Client

telemetry = Client("survey.toml", "http://127.0.0.1:9")

def switch(dark):
    telemetry.record("dark_mode", dark, wait=False)

def broken():
    telemetry.record("dark_mood", True)
"""

CONFTEST = """
import pytest

pytest_plugins = ["deniable.client.testing.fixtures"]

@pytest.fixture
def deniable_survey():
    return "survey.toml"

@pytest.fixture(autouse=True)
def telemetry(deniable_client, monkeypatch):
    monkeypatch.setattr("app.telemetry", deniable_client)
    return deniable_client
"""

TESTS = """
import app

def test_switching_is_recorded(telemetry):
    app.switch(True)
    assert telemetry.recorded == [("dark_mode", True)]

def test_nothing_is_sent_unasked(telemetry):
    app.switch(True)
    telemetry.advance(days=3)
    assert telemetry.requests() == []

def test_after_a_yes_it_is_sent(deniable_client):
    deniable_client.opt_in()
    app.switch(False)
    deniable_client.advance(days=2)
    assert [report.question for report in deniable_client.reports()] == ["dark_mode"]

def test_a_mistake_is_seen():
    app.broken()
"""


def pytest_run(folder: Path, **files: str) -> str:
    """What an app's own test run prints, on a service that sets CI."""
    shutil.copy(SURVEY, folder / "survey.toml")
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if name[:6] != "PYTEST"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"],
        cwd=folder,
        env={**inherited, "CI": "true", "HOME": str(folder), "XDG_STATE_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr


def test_an_app_tests_itself_with_the_fixture(tmp_path: Path) -> None:
    out = pytest_run(tmp_path, app=APP, conftest=CONFTEST, test_app=TESTS)
    assert "1 failed, 3 passed" in out
    assert "the survey has no such question" in out
    assert not list(tmp_path.rglob("*.db"))


def test_an_app_that_names_no_survey_is_told(tmp_path: Path) -> None:
    lazy = 'pytest_plugins = ["deniable.client.testing.fixtures"]\n'
    out = pytest_run(tmp_path, conftest=lazy, test_app="def test(deniable_client): pass\n")
    assert "write a fixture of this name" in out
    assert "1 error" in out


def test_an_app_that_runs_loads_nothing_of_its_tests() -> None:
    program = "import sys, deniable.client.testing; sys.exit('pytest' in sys.modules)"
    subprocess.run([sys.executable, "-P", "-c", program], check=True)


def examples() -> Iterator[doctest.DocTest]:
    """The examples in the docstrings of both clients."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ("client.client", "client.testing.memory"):
        yield from finder.find(importlib.import_module(f"deniable.{name}"))


@pytest.mark.parametrize("example", [e for e in examples() if e.examples], ids=lambda e: e.name)
def test_documented_examples_run(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    shutil.copy(SURVEY, tmp_path / "survey.toml")
    with Client("survey.toml", NOWHERE, tmp_path / "example.db", strict=True) as client:
        example.globs.setdefault("client", client)
        failed, _ = doctest.DocTestRunner(verbose=False).run(example)
    assert failed == 0


@pytest.mark.parametrize("kind", [Client, MemoryClient])
def test_every_public_method_has_an_example(kind: type[Client]) -> None:
    methods = {
        f"{kind.__module__}.{kind.__name__}.{name}"
        for name, _ in inspect.getmembers(kind, inspect.isfunction)
        if name in vars(kind) and not name.startswith("_")
    }
    assert methods <= {example.name for example in examples() if example.examples}
