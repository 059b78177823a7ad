"""A no at a bad moment: said to a client that could not be made, was closed, or must wait."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from client_kit import Collector, bytes_of, held, python, question, rows, survey, survey_file

from deniable.client import Client, database
from deniable.client.testing import MemoryClient
from deniable.protocol.errors import DeniableError

NOWHERE = "http://127.0.0.1:9"
TYPOS: dict[str, dict[str, Any]] = {
    "segment": {"segment": "typo"},
    "survey": {"survey": "/no/such/survey.toml"},
    "no survey": {"survey": None},
    "url": {"collector_url": "collector.example"},
    "consent": {"consent": "yes"},
    "app key": {"app_key": "short"},
}


def mistaken(store: Path | None, **changes: Any) -> Client:
    usual = {"survey": survey(), "collector_url": NOWHERE, "store": store, "consent": "on"}
    return Client(**{**usual, **changes})


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("changes", TYPOS.values(), ids=TYPOS)
def test_it_is_stored_whatever_else_is_wrong(
    start: Any, heard: Collector, store: Path, changes: dict[str, Any], made: bool
) -> None:
    if made:
        with start(consent="on") as client:
            client.record("dark", True)
    with mistaken(store, **changes) as client:
        assert client.opt_out() is True
        assert client.status().state == "silent"
    assert rows(store, "SELECT consent FROM device") == [("off",)]
    assert rows(store, "SELECT * FROM queue") == []
    mended = start(survey(), heard.url, consent="on")
    mended.record("dark", True)
    assert mended.flush(force=True).sent == 0
    assert mended.status().state == "off"
    mended.opt_in()
    assert mended.status().epsilon_ceiling == 100


@pytest.mark.parametrize("changes", [TYPOS["segment"], TYPOS["url"]], ids=["segment", "url"])
def test_the_default_store_is_known_if_the_survey_could_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert mistaken(None, **changes).opt_out() is True
    assert mistaken(None).status().state == "off"


def test_without_a_path_it_is_not_stored_and_says_so() -> None:
    assert mistaken(None, survey="/no/such/survey.toml").opt_out() is False


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("a person's notes\n", encoding="utf-8")
    assert mistaken(other, segment="typo").opt_out() is False
    assert other.read_text(encoding="utf-8") == "a person's notes\n"


@pytest.mark.parametrize("strict", [False, True])
def test_it_can_be_said_after_the_end(start: Any, store: Path, strict: bool) -> None:
    with start(consent="on", strict=strict) as client:
        client.record("dark", True)
    assert client.opt_in() is False
    assert client.opt_out() is True
    assert rows(store, "SELECT consent FROM device") == [("off",)]
    assert rows(store, "SELECT * FROM queue") == []
    if strict:
        with pytest.raises(DeniableError, match="the client was closed"):
            client.record("dark", True)
    assert client.status().reason == "the client was closed"
    assert start(consent="on").status().state == "off"


def test_the_client_in_memory_makes_no_file_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with MemoryClient(survey()) as client:
        pass
    assert client.opt_out() is False
    assert list(tmp_path.iterdir()) == []


def test_it_is_obeyed_while_another_process_holds_the_store_and_stored_later(
    start: Any, heard: Collector, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    client = start(survey(a=question(), b=question()), heard.url, consent="on")
    client._engine._uploader.stop(5)
    client.record("a", True)
    with held(store):
        assert client.opt_out() is False
        client.record("b", True)
        assert client.flush(force=True).sent == 0
        status = client.status()
        assert status.state == "off"
        assert status.reason.startswith("the answer was no; it is not stored yet")
    client.close()
    assert rows(store, "SELECT consent FROM device") == [("off",)]
    assert rows(store, "SELECT * FROM queue") == []
    assert heard.requests == []


def test_a_client_that_never_got_its_store_does_not_store_it_either(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.client.schema.PATIENCE", 0.05)
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    start().close()
    before = bytes_of(store)
    with held(store):
        client = start(consent="on", strict=False)
        assert client.opt_out() is False
        assert client.status().state == "silent"
    assert bytes_of(store) == before
    assert client.opt_out() is True
    assert rows(store, "SELECT consent FROM device") == [("off",)]


@pytest.mark.parametrize("environment", [{"CI": "1"}, {}])
def test_a_survey_that_cannot_be_read_keeps_no_no_from_a_child(
    tmp_path: Path, store: Path, environment: dict[str, str]
) -> None:
    """In a process of its own, as an app runs."""
    broken = survey_file(tmp_path / "survey.json", survey())
    broken.write_text("{", encoding="utf-8")
    program = """
import sys
from deniable.client import Client
with Client(*sys.argv[1:]) as client:
    print(client.opt_out())
"""
    settings = {**os.environ, **environment}
    with python(program, broken, NOWHERE, store, env=settings) as process:
        assert process.communicate(timeout=30) == ("True\n", "")
    assert rows(store, "SELECT consent FROM device") == [("off",)]
