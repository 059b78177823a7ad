"""A store whose person said no is written by nobody but the person."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, Clock, Collector, bytes_of, question, rows, survey

from deniable.client import machine
from deniable.protocol.survey import Survey

QUIET = question(default=False)
OLD = survey(dark=question())


def asked(**head: Any) -> Survey:
    """A later edition, with questions that are answered for whoever is silent."""
    return survey(head, dark=QUIET, new=QUIET)


def use(client: Any) -> None:
    """All that an app does, but for asking."""
    for wait in (True, False):
        client.record("dark", True, wait=wait)
    client.record_many({"dark": True})
    client.preview("dark", True)
    client.flush()
    client.flush(force=True)
    client.sent()
    assert client.status().state == "off"


@pytest.fixture(autouse=True)
def _known_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets its id only after the store was made, where that is a file."""
    place = tmp_path / "machine-id"
    monkeypatch.setattr(machine, "PLACES", (place,), raising=False)


@pytest.mark.parametrize("consent", ["ask", "on", "off"])
def test_days_and_starts_after_a_no_leave_no_trace(
    start: Any, heard: Collector, clock: Clock, store: Path, tmp_path: Path, consent: str
) -> None:
    """Not even the day on which the app was used, which would tell that it was."""
    with start(OLD, heard.url) as client:
        client.record("dark", True)
        client.opt_out()
    (tmp_path / "machine-id").write_bytes(b"f" * 32)
    before, written = bytes_of(store.parent), store.stat().st_mtime_ns
    for step in (DAY, 40 * DAY, 500 * DAY, -3 * DAY):
        clock.advance(step)
        with start(asked(), heard.url, consent=consent) as client:
            use(client)
            clock.advance(DAY)
            use(client)
    assert (bytes_of(store.parent), store.stat().st_mtime_ns) == (before, written)
    assert heard.requests == []


@pytest.mark.parametrize("erased", [False, True])
def test_a_no_said_elsewhere_ends_all_notes(
    start: Any, heard: Collector, clock: Clock, store: Path, erased: bool
) -> None:
    """Of an app that runs on, and has not heard it yet."""
    client = start(asked(), heard.url, consent="on")
    client._engine._uploader.stop(5)
    with start(OLD, heard.url, consent="on") as other:
        other.opt_out()
        if erased:
            other._engine._store.erase(clock.now)
    before = bytes_of(store.parent)
    clock.advance(DAY)
    use(client)
    assert bytes_of(store.parent) == before


def test_an_app_that_is_off_until_somebody_asks_notes_no_day(
    start: Any, clock: Clock, store: Path
) -> None:
    client = start(asked(), consent="off")
    before = bytes_of(store.parent)
    clock.advance(DAY)
    use(client)
    assert bytes_of(store.parent) == before


def test_a_lower_ceiling_is_noted_all_the_same(start: Any, store: Path) -> None:
    """It protects whoever says yes later, to a survey that would raise it again."""
    start(OLD).opt_out()
    start(asked(max_epsilon=Decimal(9))).close()
    start(asked()).opt_in()
    assert rows(store, "SELECT ceiling FROM device") == [("9",)]


def test_what_was_not_noted_is_after_a_yes(start: Any, clock: Clock, store: Path) -> None:
    start(OLD).opt_out()
    clock.advance(40 * DAY)
    client = start(asked())
    client.opt_in()
    client.record("dark", True)
    assert client.status().queued == 1
    ((latest,),) = rows(store, "SELECT latest FROM device")
    assert latest == clock.now.replace(hour=0).timestamp()


def test_what_was_refused_before_a_no_elsewhere_is_not_noted_after_it(
    start: Any, store: Path
) -> None:
    client = start(survey(dark=question()), strict=False)
    client.record("dark", "neither")
    with start(survey(dark=question())) as other:
        other.opt_out()
    before = bytes_of(store.parent)
    client.close()
    assert bytes_of(store.parent) == before
