"""A store of an earlier format becomes one of today's: nothing lost, nothing drawn again."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import stores_of_version_2
from client_kit import (
    DAY,
    NOON,
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
from stores_of_version_1 import SEALED, SECRET, TABLES, make
from stores_of_version_2 import make_old

from deniable.client import migration
from deniable.client.device import main
from deniable.client.tables import NAMES, PAGE_BYTES, VERSION
from deniable.protocol.derivation import permanent_response

SIDES = [f"side {number}" for number in range(64)]
ASKED = survey(
    {"linkable": True},
    bits=choice(*SIDES, mechanism="oue"),
    dark=question(),
    more=question(),
)
ANSWERS = {"bits": 7, "dark": 1}


def expected(name: str) -> Any:
    own = ASKED.questions[name]
    permanent = permanent_response(SECRET, own, ANSWERS[name])
    assert permanent is not None
    return own.mechanism.shape.pack(permanent)


def test_the_old_tables_are_those_of_the_first_release() -> None:
    """What is tested here is worth nothing if it changes."""
    assert "PRIMARY KEY (survey, question, version, period)" in TABLES
    assert " number " not in TABLES


@pytest.mark.parametrize("mode", ["on", "ask"])
def test_everything_comes_through(start: Any, store: Path, mode: str) -> None:
    make(store, ASKED, mode, ANSWERS)
    rows(store, SEALED)
    rows(store, "INSERT INTO sealed VALUES ('acme', 'bits', 1, 'k1')")
    rows(store, "INSERT INTO seen VALUES ('acme', 'dark', 1, 1700000000)")
    with start(ASKED, consent=mode) as client:
        status = client.status()
        assert (status.state, status.queued) == ({"on": "on", "ask": "local"}[mode], 2)
        assert (status.sent, status.epsilon_spent, status.epsilon_ceiling) == (2, 4, 100)
        entries = [(entry.question, entry.period, entry.state) for entry in client.sent()]
        assert sorted(entries) == [
            ("bits", "2026-11-29", "gone"),
            ("bits", "2026-11-30", "waiting"),
            ("dark", "2026-11-29", "gone"),
            ("dark", "2026-11-30", "waiting"),
        ]
    assert rows(store, "PRAGMA user_version") == [(VERSION,)]
    tables = {name for (name,) in rows(store, "SELECT name FROM sqlite_master WHERE type='table'")}
    assert tables == NAMES
    assert rows(store, "SELECT secret FROM device") == [(SECRET,)]
    assert rows(store, "SELECT question, answers, erased FROM ledger ORDER BY 1") == [
        ("bits", 2, 0),
        ("dark", 2, 0),
    ]
    assert rows(store, "SELECT DISTINCT local FROM queue") == [(mode == "ask",)]
    assert rows(store, "SELECT question, key FROM sealed JOIN ledger USING (number)") == [
        ("bits", "k1")
    ]
    assert rows(store, "SELECT question, since FROM seen") == [("dark", 1_700_000_000)]
    for name in ANSWERS:
        assert responses(store, name) == [expected(name)]


def test_the_same_answer_is_the_same_response(start: Any, store: Path, clock: Clock) -> None:
    """And a period that was answered is not answered again."""
    make(store, ASKED, "on", ANSWERS)
    client = start(ASKED, consent="on")
    client.record("bits", SIDES[9])
    clock.advance(DAY)
    client.record("bits", SIDES[7])
    assert responses(store, "bits") == [expected("bits")] * 2
    clock.now = NOON - DAY + DAY / 2  # yesterday's last moment: that period is answered, too
    client.record("bits", SIDES[9])
    assert len(responses(store, "bits")) == 2


def test_what_waited_with_consent_is_sent(
    start: Any, store: Path, heard: Collector, clock: Clock
) -> None:
    make(store, ASKED, "on", ANSWERS)
    clock.advance(2 * DAY)
    client = start(ASKED, heard.url, consent="on")
    client.flush()
    heard.wait_for(1)
    assert heard.reports == [("2026-11-30", name, expected(name)) for name in ("bits", "dark")]


def test_what_waited_for_consent_is_never_sent(
    start: Any, store: Path, heard: Collector, clock: Clock
) -> None:
    make(store, ASKED, "ask", ANSWERS)
    client = start(ASKED, heard.url)
    assert client.flush(force=True).kept == 2
    client.opt_in()
    assert (client.status().queued, client.flush(force=True).sent) == (0, 0)
    client.record("dark", True)
    assert client.flush(force=True).sent == 1
    assert heard.reports == [("2026-11-30", "dark", expected("dark"))]


@pytest.mark.parametrize("consent", ["ask", "on", "off"])
def test_a_no_stays_a_no(start: Any, store: Path, heard: Collector, consent: str) -> None:
    make(store, ASKED, "on", ANSWERS)
    rows(store, "DELETE FROM queue")
    rows(store, "UPDATE device SET consent = 'off', consent_on = '2026-10-01'")
    client = start(ASKED, heard.url, consent=consent)
    client.record("more", True)
    assert client.flush(force=True).sent == 0
    status = client.status()
    assert (status.state, status.decided_on, status.queued) == ("off", "2026-10-01", 0)
    assert rows(store, "SELECT count(*) FROM ledger") == [(2,)]
    assert heard.requests == []


def test_a_spent_ceiling_stays_spent(start: Any, store: Path, clock: Clock) -> None:
    make(store, ASKED, "on", ANSWERS, ceiling=5)
    client = start(ASKED, consent="on")
    client.record("more", True)
    status = client.status()
    assert status.dropped == {"ceiling": 1}
    assert (status.epsilon_spent, status.epsilon_ceiling) == (Decimal(4), Decimal(5))
    clock.advance(DAY)
    client.record("dark", True)
    assert client.status().queued == 3


def test_what_was_erased_stays_erased(start: Any, store: Path, clock: Clock) -> None:
    make(store, ASKED, "on", ANSWERS)
    for table in ("queue", "answered"):
        rows(store, f"DELETE FROM {table}")
    rows(store, "UPDATE ledger SET erased = 1")
    rows(store, "UPDATE device SET secret = NULL, consent = 'off', consent_on = '2026-10-01'")
    client = start(ASKED, consent="on")
    assert client.status().state == "off"
    client.opt_in()
    client.record("dark", True)
    client.record("more", True)
    assert client.status().dropped == {"erased": 1}
    assert rows(store, "SELECT secret FROM device") not in ([(SECRET,)], [(None,)])
    assert rows(store, "SELECT question FROM queue JOIN ledger USING (number)") == [("more",)]


def test_what_is_thrown_away_leaves_no_byte(start: Any, store: Path) -> None:
    """Old rows, and the pages they lay on."""
    make(store, ASKED, "ask", ANSWERS)
    response = str(expected("bits")).encode()
    assert response in bytes_of(store.parent)
    with start(ASKED) as client:
        client.opt_in()
    assert response not in bytes_of(store.parent)


def test_a_look_changes_nothing(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(store, ASKED, "on", ANSWERS)
    before = store.read_bytes()
    assert main(["show", "--store", str(store)]) == 1
    assert "was written by an older deniable" in capsys.readouterr().out
    assert store.read_bytes() == before


def test_the_persons_command_migrates_too(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(store, ASKED, "on", ANSWERS)
    assert main(["off", "--store", str(store)]) == 0
    assert rows(store, "SELECT consent FROM device") == [("off",)]
    assert rows(store, "SELECT * FROM queue") == []
    assert rows(store, "SELECT count(*) FROM ledger") == [(2,)]


def test_a_damaged_old_store_is_set_aside_as_it_was(start: Any, store: Path) -> None:
    make(store, ASKED, "on", ANSWERS)
    rows(store, "DROP TABLE ledger")
    before = store.read_bytes()
    client = start(ASKED, consent="on")
    assert client.status().state == "silent"
    assert "acme.db.unreadable" in client.status().reason
    assert store.with_name("acme.db.unreadable").read_bytes() == before


MIGRATE = """
import sys
from datetime import UTC, datetime
from deniable.client import Client
noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
print("ready", flush=True)
sys.stdin.readline()
with Client(*sys.argv[1:], "ask", strict=True, _clock=lambda: noon) as client:
    client.record("more", True)
    status = client.status()
print(status.state, status.reason, status.queued, status.epsilon_spent, status.dropped)
"""


def test_processes_that_migrate_at_once(quick_store: Path, tmp_path: Path) -> None:
    """One does it, and the others wait for that."""
    make(quick_store, ASKED, "ask", ANSWERS)
    path = survey_file(tmp_path / "survey.json", ASKED)
    processes = [python(MIGRATE, path, "http://127.0.0.1:9", quick_store) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ends = [process.communicate(timeout=60) for process in processes]
    assert ends == [("local nobody has said yes yet 3 6 {}\n", "")] * 4
    assert rows(quick_store, "SELECT secret FROM device") == [(SECRET,)]
    assert rows(quick_store, "SELECT question, answers FROM ledger ORDER BY 1") == [
        ("bits", 2),
        ("dark", 2),
        ("more", 1),
    ]


FULL = """
import resource, signal, sys
from deniable.client import Client
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
with Client(*sys.argv[1:4], "on", strict=True) as client:
    print(client.status().state, client.status().reason)
"""


def test_a_disk_that_is_full_leaves_the_old_store(start: Any, store: Path, tmp_path: Path) -> None:
    make(store, ASKED, "on", ANSWERS)
    size = store.stat().st_size
    path = survey_file(tmp_path / "survey.json", ASKED)
    out = run(FULL, path, "http://127.0.0.1:9", store, size)
    assert out.startswith("silent the disk ")
    assert rows(store, "PRAGMA user_version") == [(1,)]
    assert start(ASKED, consent="on").status().queued == 2


def test_a_migrated_store_and_a_new_one_are_used_alike(start: Any, store: Path) -> None:
    """Only the size of the pages is the file's own for ever."""
    make(store, ASKED, "on", ANSWERS)
    start(ASKED, consent="on").close()
    new = store.with_name("new.db")
    start(ASKED, consent="on", store=new).close()
    schema = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    assert rows(store, schema) == rows(new, schema)
    assert rows(new, "PRAGMA page_size") == [(PAGE_BYTES,)]


@pytest.mark.parametrize(("day", "sent"), [("2026-11-29", 2), ("2026-11-30", 0), ("2026-12-01", 0)])
def test_only_what_was_recorded_after_the_day_of_the_yes_is_sent(
    start: Any, store: Path, heard: Collector, clock: Clock, day: str, sent: int
) -> None:
    """The first release kept what waited when the yes came."""
    make(store, ASKED, "ask", ANSWERS)
    rows(store, "UPDATE device SET consent = 'on', consent_on = ?", day)
    client = start(ASKED, heard.url)
    client._engine._uploader.stop(5)
    assert client.status().queued == 2
    clock.advance(2 * DAY)
    assert client.flush(force=True).sent == sent
    assert len(heard.reports) == sent


def test_which_periods_are_after_the_yes() -> None:
    """Of the day itself nobody knows, and of a once answer neither."""
    assert [
        migration._after("2026-11-30", period)
        for period in ("2026-11-30", "2026-12-01", "2026-11", "2026-12", "2026-W49", "once")
    ] == [False, True, False, True, False, False]


# The second format, in which no question had a horizon


HORIZON = {"start": NOON.date(), "periods": 4, "changes": 1}
CHANGING = survey({"linkable": True}, dark=question(), changing=question(horizon=HORIZON))


def everything(store: Path) -> dict[str, list[Any]]:
    return {name: rows(store, f"SELECT * FROM {name} ORDER BY 1, 2") for name in NAMES - {"memory"}}


@pytest.mark.parametrize("consent", ["on", "ask"])
def test_the_second_format_comes_through_as_it_was(start: Any, store: Path, consent: str) -> None:
    with start(survey(dark=question()), consent=consent) as client:
        client.record("dark", True)
    before = everything(store)
    make_old(store)
    assert "memory" not in stores_of_version_2.TABLES
    assert rows(store, "PRAGMA user_version") == [(2,)]
    start(survey(dark=question()), consent=consent).close()
    assert everything(store) == before
    assert rows(store, "PRAGMA user_version") == [(VERSION,)]
    with start(CHANGING, consent=consent) as client:
        client.record("changing", True)
        assert client.status().queued in (1, 2)
    assert rows(store, "SELECT latest, local FROM memory") == [(1, consent == "ask")]


def test_a_store_of_the_second_format_and_a_new_one_are_alike(start: Any, store: Path) -> None:
    start(ASKED).close()
    schema = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    new = rows(store, schema)
    make_old(store)
    start(ASKED).close()
    assert rows(store, schema) == new


@pytest.mark.parametrize("command", ["status", "off"])
def test_a_look_at_the_second_format_changes_nothing_and_a_decision_does(
    start: Any, store: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start(ASKED, consent="on").close()
    make_old(store)
    before = store.read_bytes()
    assert main([command, "--store", str(store)]) == (1 if command == "status" else 0)
    told = "was written by an older deniable" in capsys.readouterr().out
    assert (told, store.read_bytes() == before) == (
        (True,) * 2 if command == "status" else (False,) * 2
    )


def test_a_damaged_store_of_the_second_format_is_set_aside(start: Any, store: Path) -> None:
    start(ASKED, consent="on").close()
    make_old(store)
    rows(store, "DROP TABLE sealed")
    client = start(ASKED, consent="on")
    assert "acme.db.unreadable" in client.status().reason


def test_a_disk_that_is_full_leaves_the_second_format(
    start: Any, store: Path, tmp_path: Path
) -> None:
    start(ASKED, consent="on").close()
    make_old(store)
    path = survey_file(tmp_path / "survey.json", ASKED)
    out = run(FULL, path, "http://127.0.0.1:9", store, store.stat().st_size)
    assert out.startswith("silent the disk ")
    assert rows(store, "PRAGMA user_version") == [(2,)]
    assert start(ASKED, consent="on").status().state == "on"
