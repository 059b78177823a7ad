"""What `deniable-device` says of stores in every state, and what it says of randomization."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from client_kit import (
    DAY,
    Clock,
    Collector,
    bytes_of,
    choice,
    question,
    reply,
    responses,
    rows,
    survey,
)
from stores_of_version_1 import TABLES

from deniable.client.database import Database
from deniable.client.device import main
from deniable.client.faults import BusyStore
from deniable.client.store import Store
from deniable.protocol.survey import Survey

Tell = Callable[..., str]
HEALTH = choice("good", "fair", "bad", ask="How are you?", period="once")
ASKED = survey(dark=question(epsilon_first=Decimal(1)), health=HEALTH)


@pytest.fixture
def tell(store: Path, clock: Clock, capsys: pytest.CaptureFixture[str]) -> Tell:
    """Runs a command on the store; returns what it prints."""

    def tell(*words: str, status: int = 0, error: str = "") -> str:
        assert main([*words, "--store", str(store)], _clock=clock) == status
        captured = capsys.readouterr()
        assert captured.err == error
        return captured.out

    return tell


def leaves(store: Path, which: str = "1") -> str:
    """When the first report that waits may leave, as it is printed."""
    ((moment,),) = rows(store, f"SELECT min(not_before) FROM queue WHERE {which}")
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:%M} UTC"


# status


def test_status_of_every_state(start: Any, store: Path, heard: Collector, tell: Tell) -> None:
    with start(ASKED, consent="off") as client:
        client.record("dark", True)
    off = "not decided: this app records and sends nothing until you say yes"
    assert tell("status") == f"{store}: {off}; 0 sent, 0 waiting\n"
    with start(ASKED) as client:
        client.record("dark", True)
    local = "not decided: what waits is for you to look at, and never sent; a yes begins anew"
    assert tell("status") == f"{store}: {local}; 0 sent, 1 waiting\n"
    tell("on")
    assert tell("status") == f"{store}: yes, since 2026-11-30; 0 sent, 0 waiting\n"
    with start(ASKED, heard.url) as client:
        client._engine._uploader.stop(5)
        client.record("dark", True)
        client.flush(force=True)
        client.record("health", "good")
    waiting = f"1 sent, 1 waiting, the next may leave from {leaves(store)}"
    assert tell("status") == f"{store}: yes, since 2026-11-30; {waiting}\n"
    tell("off")
    no = "no, since 2026-11-30: nothing is recorded or sent"
    assert tell("status") == f"{store}: {no}; 1 sent, 0 waiting\n"
    tell("erase", "--yes")
    erased = "no; secret, queue and journal were erased on 2026-11-30; what was spent stays"
    assert f"{erased}; 1 sent, 0 waiting\n" in tell("status")


def test_uploads_that_fail_are_told(start: Any, store: Path, heard: Collector, tell: Tell) -> None:
    heard.answer = lambda handler, _: reply(handler, 503)
    with start(ASKED, heard.url, consent="on") as client:
        client._engine._uploader.stop(5)
        client.record("dark", True)
        client.flush(force=True)
        client.flush(force=True)
    ((resume,),) = rows(store, "SELECT resume FROM device")
    moment = f"{datetime.fromtimestamp(resume, UTC):%Y-%m-%d %H:%M} UTC"
    notice = f"  the last 2 uploads failed; the next is tried after {moment}"
    assert tell("status").splitlines()[1] == notice
    (told,) = json.loads(tell("status", "--format", "json"))
    assert (told["failures"], told["state"]) == (2, "on")
    assert told["reason"] == notice.strip()


def test_a_clock_that_is_held_is_told(start: Any, clock: Clock, tell: Tell) -> None:
    client = start(ASKED, consent="on")
    clock.advance(-2 * DAY)
    client.record("dark", True)
    (_, notice) = tell("status").splitlines()
    assert notice == (
        "  the clock showed a time that cannot be, 2026-11-28 12:00 UTC: nothing is recorded or "
        "sent until it has gone on for a day"
    )


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this machine has its id."""
    place = tmp_path / "machine-id"
    place.write_text("one")
    monkeypatch.setattr("deniable.client.machine.PLACES", (place,))
    return place


def test_a_copy_of_another_machine_is_told_and_taken_over(
    start: Any, machine: Path, heard: Collector, tell: Tell
) -> None:
    start(ASKED, consent="on").close()
    machine.write_text("two")
    assert start(ASKED, consent="on").status().state == "silent"
    (_, reason) = tell("status", status=1).splitlines()
    assert reason.startswith("  silent: the store was made on another machine")
    assert "notice    silent: the store was made on another" in tell("show", status=1)
    assert "it was made on another machine and is this one's from now on" in tell("on")
    client = start(ASKED, heard.url)
    client.record("dark", True)
    assert client.flush(force=True).sent == 1
    assert "another machine" not in tell("on")


@pytest.mark.parametrize("name", ["DO_NOT_TRACK", "CI"])
def test_what_the_environment_forbids_is_told(
    start: Any, tell: Tell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    start(ASKED, consent="on").close()
    assert "is set in the environment" not in tell("status")
    monkeypatch.setenv(name, "1")
    warning = f"{name} is set in the environment: apps that are started from here record and send"
    for command in ("status", "show", "preview", "on"):
        assert warning in tell(command).splitlines()[-1]
    (told,) = json.loads(tell("show", "--format", "json"))
    assert (told["environment"], told["state"]) == (f"{name} is set in the environment", "on")


# preview


def test_what_is_previewed_is_what_is_sent(
    start: Any, store: Path, heard: Collector, tell: Tell, clock: Clock
) -> None:
    sides = [f"side {number}" for number in range(200)]
    asked = survey(
        {"linkable": True, "segments": ["beta"]},
        dark=question(epsilon_first=Decimal(1)),
        wide=choice(*sides, mechanism="oue", epsilon=1),
        health=HEALTH,
    )
    client = start(asked, heard.url, consent="on", segment="beta")
    client._engine._uploader.stop(5)
    for _ in range(2):
        client.record_many({"dark": True, "wide": "side 7", "health": "bad"})
        clock.advance(DAY)
    (told,) = json.loads(tell("preview", "--format", "json"))
    assert [request["bytes"] for request in told["requests"]] == [1024] * 3
    client.flush(force=True)
    bodies = [request["body"] for request in told["requests"]]
    assert sorted(bodies, key=str) == sorted((r.document for r in heard.requests), key=str)
    assert {r.headers["Content-Length"] for r in heard.requests} == {"1024"}
    assert len({body["device"] for body in bodies}) == 3
    assert {body["segment"] for body in bodies} == {"beta"}


def test_a_preview_says_when(start: Any, store: Path, tell: Tell, clock: Clock) -> None:
    with start(ASKED, consent="on") as client:
        client.record("dark", True)
    (response,) = responses(store, "dark")
    clock.advance(2 * DAY)
    (_, when, body) = tell("preview").splitlines()
    assert when == "  1024 bytes, at once, when its app runs, until 2026-12-04 00:00 UTC:"
    assert json.loads(body)["reports"][0]["response"] == response
    clock.now -= 2 * DAY
    (_, when, _) = tell("preview").splitlines()
    assert when == f"  1024 bytes, from {leaves(store)}, until 2026-12-04 00:00 UTC:"
    clock.advance(4 * DAY)
    (_, when, _) = tell("preview").splitlines()
    assert when == "  1024 bytes, never, for its period was closed on 2026-12-04 00:00 UTC:"


def test_what_was_recorded_before_a_yes_is_previewed_and_never_leaves(
    start: Any, tell: Tell, heard: Collector
) -> None:
    with start(ASKED) as client:
        client.record("dark", True)
    (_, when, _) = tell("preview").splitlines()
    assert when == "  1024 bytes, never, for it was recorded before a yes:"
    (told,) = json.loads(tell("preview", "--format", "json"))
    assert told["requests"][0]["leaves"] is None
    tell("on")
    assert tell("preview").splitlines()[1:] == ["  nothing waits to be sent"]
    start(ASKED, heard.url).flush(force=True)
    assert heard.requests == []


def test_a_preview_waits_for_a_collector_that_asked_for_it(
    start: Any, store: Path, tell: Tell, clock: Clock
) -> None:
    with start(ASKED, consent="on") as client:
        client.record("dark", True)
    clock.advance(2 * DAY)
    resume = int(clock.now.timestamp()) + 3600
    rows(store, "UPDATE device SET failures = 1, resume = ?", resume)
    assert "1024 bytes, from 2026-12-02 13:00 UTC, until " in tell("preview")


def test_a_preview_of_a_silent_store(start: Any, machine: Path, tell: Tell) -> None:
    with start(ASKED, consent="on") as client:
        client.record("dark", True)
    machine.write_text("two")
    assert "1024 bytes, not while its app is silent:" in tell("preview", status=1)


# The journal


def test_the_journal_keeps_responses_only_if_asked(
    start: Any, store: Path, heard: Collector, tell: Tell, clock: Clock
) -> None:
    client = start(ASKED, heard.url, consent="on")
    client._engine._uploader.stop(5)
    client.record("health", "good")
    client.flush(force=True)
    assert "the journal keeps what is sent from now on" in tell("journal", "keep")
    client.record("dark", True)
    client.flush(force=True)
    (response,) = [sent for _, name, sent in heard.reports if name == "dark"]
    out = tell("show")
    assert "  journal, newest first; it keeps what is sent:\n" in out
    assert f"      acme/dark v1 was sent as {response}\n" in out
    assert "acme/health v1 was sent" not in out
    (told,) = json.loads(tell("show", "--format", "json"))
    assert [entry.get("response") for entry in told["journal"]] == [response, None]
    tell("journal", "forget")
    assert "was sent as" not in tell("show")
    assert rows(store, "SELECT response FROM answered") == [(None,), (None,)]


def test_the_journal_is_shown_by_period_newest_first(
    start: Any, heard: Collector, tell: Tell, clock: Clock
) -> None:
    asked = survey(
        day=question(), week=question(period="week"), b=question(), a=question(period="once")
    )
    client = start(asked, heard.url, consent="on")
    client._engine._uploader.stop(5)
    for _ in range(4):
        client.record_many(dict.fromkeys(asked.questions, True))
        client.flush(force=True)
        clock.advance(DAY)
    journal = tell("show").split("journal, newest first:\n")[1].splitlines()
    both = "acme/b v1, acme/day v1"
    assert journal[:-3] == [
        f"    2026-12-03  sent: {both}",
        f"    2026-12-02  sent: {both}",
        f"    2026-12-01  sent: {both}",
        "    2026-W49  sent: acme/week v1",
        f"    2026-11-30  sent: {both}",
        "    once  sent: acme/a v1",
    ]
    short = tell("show", "--journal", "1").split("journal, newest first:\n")[1].splitlines()
    assert short[:-3] == [journal[0], "    … and 5 more periods (--journal)"]
    assert "newest first" not in tell("show", "--journal", "0")


@pytest.mark.parametrize("number", ["-1", "many", "1.5", "²"])
def test_a_wrong_number_of_periods(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["show", f"--journal={number}"])
    error = capsys.readouterr().err.splitlines()[-1]
    assert error == ("Error: argument --journal: must be a whole number, such as 14, or 0 for none")


def test_the_journal_says_what_became_of_what_was_not_sent(
    start: Any, store: Path, heard: Collector, tell: Tell, clock: Clock
) -> None:
    with start(ASKED, consent="on") as client:
        client.record("dark", True)
    tell("off")
    assert "    2026-11-30  erased by a no: acme/dark v1\n" in tell("show")
    rows(store, "UPDATE answered SET state = 'wrong_hash'")
    words = "dropped, for the collector said: the question's definition differs from the collector"
    assert f"    2026-11-30  {words}" in tell("show")


# explain


def test_explain_says_what_p_and_q_say(start: Any, tell: Tell) -> None:
    with start(ASKED, consent="on") as client:
        client.record_many({"dark": True, "health": "good"})
    dark, health = (" ".join(tell("explain", name).split()) for name in ("dark", "acme/health"))
    assert "acme/dark v1: “Is the dark theme on?” Your device does not send your answer." in dark
    assert "It sends one of the answers: yours in about 73 of 100 cases, and any one" in dark
    assert "Chance decides twice" in dark
    assert "at most 7.39 times likelier than before" in dark
    assert "at most 2.72 times, and 73.2 of 100 cases (epsilon 1 of one report)" in dark
    assert "no single report proves it" in dark
    assert "give away at most epsilon 4, however often it changes" in dark
    assert "acme/health" not in dark
    assert "acme/health v1: “How are you?” Your device does not send your answer." in health
    assert "yours in about 79 of 100 cases, and any one other in 11 of 100." in health
    assert "Chance decides once for each answer" in health
    assert "It is asked once: a later answer is never sent." in health
    assert "What others see." in health


SIDES = [f"side {number}" for number in range(64)]
FORMS = {
    "grr": "It sends one of the answers: yours in about 10 of 100 cases, and any one other in",
    "sue": "It says yes or no to each of the answers: yes to yours in about 73 of 100 cases",
    "oue": "It says yes or no to each of the answers: yes to yours in about 50 of 100 cases",
    "ss": "It names a few of the answers: yours among them in about",
    "olh": "It sends a code that stands for some of the answers: for yours in about 51 of 100",
    "hr": "It sends a code that stands for some of the answers: for yours in about 88 of 100",
    "dbitflip": "It is asked about a few of the answers only, chosen without regard to yours.",
    "rappor": "It sends a row of yes and no, some of which stand for your answer.",
    "1bitmean": "It sends a single yes or no, drawn by lot: yes is likelier the larger",
    "piecewise": "It sends a place on the scale, drawn by lot: one near your number more often",
    "square-wave": "It sends a place on the scale, drawn by lot: one near your number more often",
    "privset": "It names a few of the choices, always as many, and some of them are mere fillers:",
    "cms": "It sends a row of yes and no, one of which stands for your text and for many others.",
    "hcms": "the one that stands for yours in about 88 of 100 cases",
    "pem": "It sends a code that stands for many texts, or for many beginnings of texts: the one",
    "trajectory": "It says something in some of the periods only, chosen without regard to your",
    "counter": "It draws a mark on the scale, without regard to your number, and says yes or no",
}
HOURS = {"type": "number", "range": {"low": Decimal(0), "high": Decimal(24)}}
HORIZON = {"start": date(2026, 11, 30), "periods": 30}
OF_KINDS: dict[str, tuple[dict[str, Any], Any]] = {
    "choice": ({"type": "choice", "choices": SIDES}, SIDES[3]),
    "number": (HOURS, 3),
    "set": ({"type": "set", "choices": SIDES, "max_items": 3}, SIDES[:2]),
    "text": ({"type": "text", "text": {"alphabet": "abc", "max_length": 9}}, "abba"),
    "trajectory": ({"horizon": HORIZON | {"changes": 2}}, True),
    "counter": (HOURS | {"horizon": HORIZON}, 3),
}


def test_explain_knows_every_mechanism(start: Any, tell: Tell) -> None:
    from deniable.protocol.mechanisms import MECHANISMS

    assert set(MECHANISMS) == set(FORMS)
    kinds = {name: OF_KINDS[mechanism.asks] for name, mechanism in MECHANISMS.items()}
    asked = {f"by-{name}": question(**kind, mechanism=name) for name, (kind, _) in kinds.items()}
    values = {f"by-{name}": value for name, (_, value) in kinds.items()}
    with start(survey({"linkable": True}, **asked), consent="on") as client:
        client.record_many(values)
    for name, form in FORMS.items():
        out = " ".join(tell("explain", f"by-{name}").split())
        assert form in out
        if name in ("trajectory", "counter"):
            assert "against any other over its 30 periods" in out
            assert "Your answer may change: that is covered." in out
        else:
            assert "as long as your answer never changes" in out
            assert "a report that differs proves that it did, and when" in out
            assert ("all of them give away together has no bound" in out) == (name == "privset")


def test_explain_of_a_name_that_was_not_asked(start: Any, tell: Tell) -> None:
    start(ASKED).close()
    assert tell("explain") == "Nothing was answered, so nothing was sent.\n"
    error = "Error: QUESTION: nothing of that name was answered here; `deniable-device show` has"
    assert tell("explain", "light", status=1, error=f"{error} the names\n") == ""


@pytest.mark.parametrize(
    ("epsilon", "odds", "success"),
    [("0.01", "1.02", "50.3"), ("0.5", "1.65", "62.3"), ("1", "2.72", "73.2"),
     ("3", "20.1", "95.3"), ("9", "8 110", "100"), ("16", "8 890 000", "100"),
     ("500", "1.40e+217", "100")],
)  # fmt: skip
def test_what_is_a_most_is_rounded_up(epsilon: str, odds: str, success: str) -> None:
    from deniable.client.person import numbers

    assert numbers.odds(Decimal(epsilon)) == odds
    assert numbers.success(Decimal(epsilon)) == success


@pytest.mark.parametrize(
    ("probability", "words"),
    [(0.731, "73 of 100"), (0.011, "11 of 1 000"), (0.9967, "997 of 1 000"),
     (0.00004, "4 of 100 000"), (0.0, "nearly none"), (1.0, "nearly all")],
)  # fmt: skip
def test_how_often(probability: float, words: str) -> None:
    from deniable.client.person.numbers import cases

    assert cases(probability) == words


def test_an_epsilon_that_protects_nobody_is_called_so(start: Any, tell: Tell) -> None:
    with start(survey(dark=question(epsilon=12)), consent="on") as client:
        client.record("dark", True)
    assert "An epsilon above 10 is no meaningful" in " ".join(tell("explain").split())


# Stores of an earlier version, damaged ones, and others

VERSION_1 = f"""{TABLES}
INSERT INTO device VALUES (1, zeroblob(32), NULL, NULL, 'on', '100');
INSERT INTO counters VALUES ('sent', 1);
INSERT INTO answered VALUES ('acme', 'dark', 1, '2026-11-29'), ('acme', 'dark', 1, '2026-11-30');
INSERT INTO queue VALUES ('acme', '2026-11-30', 'dark', 1, 0, NULL, '1', 1796083200, 1796342400);
"""


@pytest.fixture
def old(store: Path) -> Path:
    """A store of version 1, with one report sent and one waiting."""
    store.parent.mkdir()
    digits = ASKED.questions["dark"].hash
    with closing(sqlite3.connect(store)) as db, db:
        db.executescript(VERSION_1)
        db.execute("INSERT INTO ledger VALUES ('acme', 'dark', 1, ?, '2', 0)", (digits,))
    return store


@pytest.mark.parametrize("command", ["status", "show", "preview", "explain"])
def test_a_store_of_version_1_is_not_touched_by_a_look(old: Path, tell: Tell, command: str) -> None:
    before = bytes_of(old.parent)
    out = tell(command, status=1)
    reason = "not shown: the store was written by an older deniable; start its app once"
    assert out.replace("\n  ", ": ") == f"{old}: {reason}\n"
    assert bytes_of(old.parent) == before


def test_a_decision_brings_a_store_of_version_1_up_to_date(old: Path, tell: Tell) -> None:
    tell("off")
    assert tell("status") == (
        f"{old}: no, since 2026-11-30: nothing is recorded or sent; 1 sent, 0 waiting\n"
    )
    out = tell("show")
    assert "  acme/dark v1         2        2026-11-30             2        x7.39\n" in out
    assert "    2026-11-30  erased by a no: acme/dark v1\n" in out
    assert "    2026-11-29  kept by an older version, which noted no more: acme/dark v1\n" in out


def test_what_an_older_version_noted_is_explained(old: Path, start: Any, tell: Tell) -> None:
    start(ASKED, consent="on").close()
    assert "  1024 bytes, " in tell("preview")
    out = " ".join(tell("explain").split())
    assert "This was answered by an older version of the app, which noted nothing" in out
    assert "at most 7.39 times likelier than before" in out
    (told,) = json.loads(tell("show", "--format", "json"))
    assert (told["born"], told["questions"][0]["about"]) == (None, {})


def test_what_is_wrong_with_one_store_hides_no_other(
    start: Any, store: Path, tmp_path: Path, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    start(ASKED, consent="on").close()
    missing, folder, foreign = (tmp_path / name for name in ("no.db", "folder.db", "foreign.db"))
    newer, harmed = tmp_path / "newer.db", tmp_path / "harmed.db"
    folder.mkdir()
    foreign.write_text("text")
    for path, sql in ((newer, "PRAGMA user_version = 99"), (harmed, "DROP TABLE ledger")):
        path.write_bytes(store.read_bytes())
        rows(path, sql)
    paths = [missing, folder, foreign, newer, harmed, store]
    named = [word for path in paths for word in ("--store", str(path))]
    assert main(["status", *named], _clock=clock) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ", 1) for line in lines] == [
        [str(missing), "not shown: there is no such store; check the path"],
        [str(folder), "not shown: is no file; name the store itself"],
        [str(foreign), "silent: foreign.db is no store of deniable; choose another path, or put "
         "back a copy of it if it was one"],
        [str(newer), "not shown: the store was written by a newer deniable; upgrade the app"],
        [str(harmed), "silent: the store has not the tables of a store"],
        [str(store), "not decided: this app sends reports until you say no; 0 sent, 0 waiting"],
    ]  # fmt: skip
    for command in (["off"], ["on"], ["journal", "keep"], ["erase", "--yes"]):
        assert main([*command, *named], _clock=clock) == 1
        captured = capsys.readouterr()
        assert len(captured.err.splitlines()) == 5
        assert captured.out.startswith(f"{store}: ")
        assert captured.out.count("\n") == 1


NONSENSE = {
    "words": ("UPDATE ledger SET about = 'no json'", 0),
    "a list": ("UPDATE ledger SET about = '[1]'", 0),
    "numbers": ("""UPDATE ledger SET about = '{"ask": 1, "p": "x", "q": 7, "classes": "many",
        "mechanism": [], "epsilon_first": "NaN", "period": null}'""", 0),
    "no mechanism": ("""UPDATE ledger SET about = '{"mechanism": "new", "ask": "a\\tb"}'""", 0),
    "a period": ("UPDATE answered SET period = 'never'", 1),
    "bytes": ("UPDATE ledger SET survey = x'ff'", 1),
    "a moment": ("UPDATE device SET born = 1 << 62", 1),
    "an epsilon": ("UPDATE ledger SET epsilon = 'much'", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_in_a_store_is_no_traceback(
    start: Any, store: Path, tell: Tell, name: str
) -> None:
    with start(ASKED, consent="on") as client:
        client.record("dark", True)
    sql, status = NONSENSE[name]
    rows(store, sql)
    for command in ("show", "explain"):
        out = tell(command, status=status)
        assert ("silent: " in out or "not shown: " in out) == bool(status)
        assert "\t" not in out
    tell("show", "--format", "json", status=status)


def test_a_look_changes_nothing_and_an_app_goes_on(start: Any, store: Path, tell: Tell) -> None:
    client = start(ASKED, consent="on")
    client.record("dark", True)
    before = bytes_of(store.parent)
    for command in ("status", "show", "preview", "explain"):
        tell(command)
    assert bytes_of(store.parent) == before
    client.record("health", "good")
    assert client.status().queued == 2


def test_nothing_told_is_the_secret(start: Any, store: Path, heard: Collector, tell: Tell) -> None:
    with start(ASKED, heard.url, consent="on") as client:
        client.record("dark", True)
    ((secret,),) = rows(store, "SELECT secret FROM device")
    for command in ("status", "show", "preview"):
        for form in ("table", "json"):
            out = tell(command, "--format", form)
            assert secret.hex() not in out
            assert str(secret)[2:-1] not in out


def test_a_store_that_two_surveys_share(start: Any, store: Path, tell: Tell) -> None:
    for name in ("one", "two"):
        asked: Survey = survey({"id": name}, dark=question())
        with start(asked, consent="on") as client:
            client.record("dark", True)
    (told,) = json.loads(tell("preview", "--format", "json"))
    assert {request["body"]["survey"] for request in told["requests"]} == {"one", "two"}
    assert len({request["body"]["device"] for request in told["requests"]}) == 2
    assert "one/dark v1" in tell("explain", "one/dark")
    assert "two/dark v1" not in tell("explain", "one/dark")


def test_a_look_sees_one_moment(start: Any, store: Path) -> None:
    """Whoever writes waits until it is over."""
    start(ASKED, consent="on").close()
    with Database(store) as app, Database(store, look=True) as person:
        app.hurry()
        with person.snapshot():
            before = Store(person).device()
            with pytest.raises(BusyStore):
                Store(app).keep_responses(True)
            assert Store(person).device() == before
        Store(app).keep_responses(True)
        assert Store(person).device() != before


PAGE = Path(__file__).parents[2] / "docs" / "device.md"


def test_the_page_has_every_name(start: Any, tell: Tell) -> None:
    with start(survey(dark=question(mechanism="grr")), consent="on") as client:
        client.record("dark", True)
    page = PAGE.read_text(encoding="utf-8")
    for command in ("status", "show", "preview"):
        (told,) = json.loads(tell(command, "--format", "json"))
        lists = [told.get(name, [{}])[0] for name in ("questions", "journal", "requests")]
        names = set().union(told, *lists, told.get("questions", [{}])[0].get("about", {}))
        assert [name for name in names if f"`{name}" not in page] == []
