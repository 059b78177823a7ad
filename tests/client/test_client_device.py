"""`deniable-device`, the door of the person whose device it is."""

from __future__ import annotations

import io
import json
import os
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
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
    survey,
)

from deniable.client.device import main

SIDES = [f"side {number}" for number in range(256)]
WIDE = choice(*SIDES, mechanism="oue", ask="Which side is up?")
ASKED = survey(
    {"linkable": True},
    bits=WIDE,
    dark=question(period="once", epsilon_first=Decimal(1)),
)
BITS = {"survey": "acme", "question": "bits", "version": 1}
DARK = {"survey": "acme", "question": "dark", "version": 1}


@pytest.fixture
def used(start: Any, heard: Collector, store: Path, clock: Clock) -> Path:
    """A store with two reports sent and one waiting."""
    with start(ASKED, heard.url, consent="on") as client:
        client._engine._uploader.stop(5)
        client.record("bits", SIDES[7])
        client.record("dark", True)
        client.flush(force=True)
        clock.advance(DAY)
        client.record("bits", SIDES[7])
        client._engine.refuse("ceiling")
    return store


def test_show_tells_everything_but_answers(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--store", str(used)]) == 0
    out = capsys.readouterr().out
    ((leaves,),) = rows(used, "SELECT not_before FROM queue")
    moment = f"{datetime.fromtimestamp(leaves, UTC):%Y-%m-%d %H:%M}"
    assert out.splitlines() == [
        str(used),
        "  consent   not decided: this app sends reports until you say no",
        f"  reports   2 sent, 1 waiting, the next may leave from {moment} UTC",
        "            1 went nowhere: it would have passed the ceiling of epsilon",
        "  epsilon   4 spent for good, of at most 100 in the life of this store",
        "  question      asked  answers  last        mechanism  epsilon          odds",
        "  acme/bits v1  day    2        2026-12-01  oue        2                x7.39",
        "    “Which side is up?”",
        "  acme/dark v1  once   1        once        grr        2, one report 1  x7.39",
        "    “Is the dark theme on?”",
        "  journal, newest first:",
        "    2026-12-01  waiting: acme/bits v1",
        "    2026-11-30  sent: acme/bits v1",
        "    once  sent: acme/dark v1",
        "  epsilon: bounds what all reports ever sent about one answer that never changes give "
        "away.",
        "  odds: whoever sees them all may hold that answer at most so many times likelier than "
        "before,",
        "  against any other. `deniable-device explain` says it in more words.",
    ]
    (response,) = responses(used, "bits")
    assert response not in out


def test_show_as_json(used: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--store", str(used), "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    (bits, dark) = told.pop("questions")
    ((leaves,),) = rows(used, "SELECT not_before FROM queue")
    assert told == {
        "store": str(used),
        "state": "on",
        "reason": "",
        "consent": "on",
        "decided_on": None,
        "environment": None,
        "erased": False,
        "born": "2026-11-30",
        "keeps_responses": False,
        "epsilon_unit": "of one device, from all its reports about one unchanging answer",
        "epsilon_spent": "4",
        "epsilon_ceiling": "100",
        "sent": 2,
        "queued": 1,
        "keeps_answers": 0,
        "next_departure": datetime.fromtimestamp(leaves, UTC).isoformat(),
        "failures": 0,
        "resume": None,
        "dropped": {"ceiling": 1},
        "journal": [
            {"period": "2026-12-01", **BITS, "state": "waiting"},
            {"period": "2026-11-30", **BITS, "state": "sent"},
            {"period": "once", **DARK, "state": "sent"},
        ],
    }
    about = bits.pop("about")
    assert about["ask"] == "Which side is up?"
    assert (about["mechanism"], about["k"], about["classes"]) == ("oue", 256, 256)
    assert about["epsilon_first"] is None
    assert dark.pop("about")["epsilon_first"] == "1"
    same = {"epsilon": "2", "erased": False, "sealed_for": None, "keeps_answer": False}
    assert bits == {**BITS, **same, "answers": 2, "last": "2026-12-01"}
    assert dark == {**DARK, **same, "answers": 1, "last": "once"}


@pytest.mark.parametrize(
    ("consent", "acts", "words"),
    [
        ("ask", [], "not decided: what waits is for you to look at, and never sent"),
        ("on", [], "not decided: this app sends reports until you say no"),
        ("off", [], "not decided: this app records and sends nothing until you say yes"),
        ("ask", ["on"], "yes, since "),
        ("on", ["off"], "no, since "),
        ("on", ["erase"], "no; secret, queue and journal were erased on "),
        ("on", ["erase", "on"], "yes, since "),
    ],
)
def test_consent_in_words(
    start: Any, store: Path, consent: str, acts: list[str], words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    start(consent=consent).close()
    for act in acts:
        main([act, "--store", str(store), *(["--yes"] if act == "erase" else [])])
    capsys.readouterr()
    assert main(["show", "--store", str(store)]) == 0
    assert f"  consent   {words}" in capsys.readouterr().out


def test_off_erases_what_waits_and_holds(used: Path, start: Any, heard: Collector) -> None:
    (response,) = responses(used, "bits")
    assert main(["off", "--store", str(used)]) == 0
    assert response.encode() not in bytes_of(used.parent)
    client = start(ASKED, heard.url, consent="on")
    client.record("bits", SIDES[7])
    assert client.status().state == "off"
    assert client.flush(force=True).sent == 0
    assert len(heard.requests) == 2


def test_on_lets_an_app_that_asks_send_from_now_on(
    start: Any, store: Path, heard: Collector, clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with start(ASKED, heard.url) as client:
        client.record("bits", SIDES[7])
    assert main(["on", "--store", str(store)], _clock=clock) == 0
    assert capsys.readouterr().out == (
        f"{store}: yes, since 2026-11-30: what is recorded from now on may be sent, each at its "
        "time; what was recorded before is thrown away (1 waited)\n"
    )
    client = start(ASKED, heard.url)
    assert client.flush(force=True).sent == 0
    client.record("bits", SIDES[7])
    assert client.flush(force=True).sent == 1


def test_erase_destroys_the_secret_and_keeps_the_tombstones(
    used: Path, start: Any, heard: Collector, clock: Clock
) -> None:
    ((secret,),) = rows(used, "SELECT secret FROM device")
    (response,) = responses(used, "bits")
    assert secret in bytes_of(used.parent)
    assert main(["erase", "--yes", "--store", str(used)]) == 0
    assert secret not in bytes_of(used.parent)
    assert response.encode() not in bytes_of(used.parent)
    assert rows(used, "SELECT question, epsilon, erased FROM ledger ORDER BY question") == [
        ("bits", "2", 1),
        ("dark", "2", 1),
    ]
    with start(ASKED, consent="on") as client:
        client.record("bits", SIDES[7])
        status = client.status()
    assert (status.state, status.queued, status.epsilon_spent) == ("off", 0, 4)
    assert rows(used, "SELECT secret FROM device") == [(None,)]


def test_an_erasure_leaves_no_wish_and_no_day(start: Any, store: Path) -> None:
    start(survey(dark=question(default=False))).close()
    for command in (["journal", "keep"], ["erase", "--yes"]):
        assert main([*command, "--store", str(store)]) == 0
    assert rows(store, "SELECT * FROM seen") == []
    assert rows(store, "SELECT keep_responses FROM device") == [(0,)]


def test_after_an_erasure_a_yes_answers_new_questions_only(
    used: Path, start: Any, clock: Clock
) -> None:
    ((old,),) = rows(used, "SELECT secret FROM device")
    main(["erase", "--yes", "--store", str(used)])
    assert main(["on", "--store", str(used)]) == 0
    ((new,),) = rows(used, "SELECT secret FROM device")
    assert len(new) == 32
    assert new != old
    client = start(survey({"linkable": True}, bits=WIDE, new=question()))
    clock.advance(DAY)
    client.record("bits", SIDES[7])
    client.record("new", True)
    assert responses(used, "bits") == []
    assert len(responses(used, "new")) == 1
    assert client.status().dropped == {"ceiling": 1, "erased": 1}
    assert client.status().epsilon_spent == 6


def test_after_an_erasure_and_a_yes_it_is_said_what_stays_silent(
    used: Path, capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    words = "2 questions answered before the erasure stay silent for good"
    main(["erase", "--yes", "--store", str(used)])
    assert main(["show", "--store", str(used)]) == 0
    assert f"  erased    {words}\n" in capsys.readouterr().out
    assert main(["on", "--store", str(used)], _clock=clock) == 0
    said = "yes, since 2026-12-01: what is recorded from now on may be sent, each at its time"
    assert capsys.readouterr().out == f"{used}: {said}; {words}\n"
    assert main(["show", "--store", str(used)]) == 0
    assert f"  erased    {words}\n" in capsys.readouterr().out


def test_a_yes_without_an_erasure_speaks_of_none(
    used: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["on", "--store", str(used)]) == 0
    assert main(["show", "--store", str(used)]) == 0
    assert "silent" not in capsys.readouterr().out


def test_an_app_that_runs_obeys_an_erasure(start: Any, store: Path, heard: Collector) -> None:
    client = start(ASKED, heard.url, consent="on")
    client.record("bits", SIDES[7])
    assert main(["erase", "--yes", "--store", str(store)]) == 0
    client.record("dark", True)
    assert client.flush(force=True).sent == 0
    assert client.status().state == "off"
    assert client.status().queued == 0


@pytest.mark.parametrize(
    ("said", "status"), [("y\n", 0), ("YES\n", 0), ("n\n", 1), ("\n", 1), ("", 1)]
)
def test_erase_asks_first(
    used: Path, monkeypatch: pytest.MonkeyPatch, said: str, status: int,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    assert main(["erase", "--store", str(used)]) == status
    assert rows(used, "SELECT secret IS NULL FROM device") == [(1 - status,)]
    assert "[y/N]" in capsys.readouterr().err


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The default folder, of somebody who has none yet."""
    from deniable.client.places import default_folder

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return default_folder()


def test_without_a_path_every_store_is_meant(
    start: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        start(survey({"id": name}), store=None).close()
    assert main(["off"]) == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [
        str(folder / "one.db"),
        str(folder / "two.db"),
    ]
    assert main(["show", "--format", "json"]) == 0
    assert [each["state"] for each in json.loads(capsys.readouterr().out)] == ["off", "off"]


def test_without_stores_there_is_nothing_to_show(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show"]) == 0
    assert "nothing was answered, nothing sent" in capsys.readouterr().out
    for command in ("on", "off", "erase"):
        assert main([command]) == 1
        assert "there are no stores in" in capsys.readouterr().err


def test_a_store_that_was_set_aside_is_shown(
    start: Any, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("fine", "harmed"):
        start(survey({"id": name}), store=None).close()
    harmed = folder / "harmed.db"
    harmed.write_bytes(harmed.read_bytes()[:4196])
    start(survey({"id": "harmed"}), store=None).close()
    assert main(["show"]) == 1
    out = capsys.readouterr().out
    assert f"{folder / 'fine.db'}\n  consent" in out
    assert f"{folder / 'harmed.db'}\n  silent: the store was unreadable and was renamed to" in out
    assert main(["off"]) == 1
    captured = capsys.readouterr()
    assert "fine.db: no, since " in captured.out
    assert captured.err.startswith(f"Error: {folder / 'harmed.db'}: the store was unr")


PROGRAM = "from deniable.client.device import main; raise SystemExit(main())"


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["show", "--store", "/no/such/store.db"], 1, "there is no such store; check the path"),
        (["show", "--store", "/proc/version"], 1, "silent: "),
        (["off", "--store", "/proc/version"], 1, "Error: /proc/version: version is "),
        ([], 2, "usage: "),
        (["burn"], 2, "Error: argument COMMAND: invalid choice: 'burn'"),
        (["show", "--format", "xml"], 2, "Error: argument --format: invalid choice: 'xml'"),
        (["--version"], 0, f"deniable-device {version('deniable')}\n"),
        (["--help"], 0, "See what apps report about this device"),
    ],
)
def test_exit_status_and_one_line(arguments: list[str], status: int, words: str) -> None:
    with python(PROGRAM, *arguments) as process:
        out, error = process.communicate(timeout=30)
    assert process.returncode == status
    assert words in out + error
    assert "Traceback" not in error
    assert "deniable-device: " not in error
    if status == 1:
        assert len((out + error).splitlines()) <= 2


def test_a_reader_that_goes_away_is_no_error(used: Path) -> None:
    with python(PROGRAM, "show", "--store", used) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_erase_tells_of_a_damaged_copy_that_may_hold_the_secret(
    start: Any, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start().close()
    store.with_name("acme.db.unreadable").write_bytes(store.read_bytes())
    assert main(["erase", "--yes", "--store", str(store)]) == 1
    assert "acme.db.unreadable: a damaged copy" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["/", ".", "a" * 300])
@pytest.mark.parametrize("command", ["erase --yes", "off", "show", "status", "preview"])
def test_a_path_that_can_be_no_store_is_told(
    path: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), "--store", path]) == 1
    captured = capsys.readouterr()
    words = "cannot be read: File name too long" if "a" in path else "is no file; name the store"
    assert words in captured.out + captured.err
    assert len((captured.out + captured.err).splitlines()) <= 2


UNWRITABLE: dict[str, tuple[Any, str]] = {
    "full": (lambda: os.dup2(os.open("/dev/full", os.O_WRONLY), 1), "cannot be written: "),
    "closed": (lambda: os.close(1), "is closed; let it go somewhere"),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(("spoil", "words"), UNWRITABLE.values(), ids=UNWRITABLE)
@pytest.mark.parametrize("command", ["show", "off", "--version"])
def test_an_output_that_takes_nothing_is_told(
    used: Path, spoil: Any, words: str, command: str
) -> None:
    """And what was to be done is done."""
    named = [] if command == "--version" else ["--store", used, "--store", used.with_name("b.db")]
    with python(PROGRAM, command, *named, preexec_fn=spoil) as process:
        out, error = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    line = error.splitlines()[-1]
    assert line.startswith("Error: standard output ")
    assert words in line
    assert "Traceback" not in error
    assert rows(used, "SELECT consent FROM device") == [("off" if command == "off" else None,)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_without_anybody_to_ask_nothing_is_erased(used: Path) -> None:
    with python(PROGRAM, "erase", "--store", used, preexec_fn=lambda: os.close(0)) as process:
        out, error = process.communicate(timeout=30)
    assert (process.returncode, out) == (1, "")
    assert error == "Error: nothing was erased; answer y, or use --yes\n"
    assert rows(used, "SELECT secret IS NULL FROM device") == [(0,)]
