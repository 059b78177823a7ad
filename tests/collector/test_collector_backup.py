"""Backups: what is in them and what never is; restored, nothing that was ever open opens again."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result
from collector_kit import (
    FAR,
    Clock,
    InProcess,
    Server,
    make_survey,
    new_device,
    request_body,
    serving,
    today,
)
from servers import Postgres

from deniable.analysis import cli as analysis
from deniable.collector.app import close_app, create_app
from deniable.collector.backup import open_backup, write_backup
from deniable.collector.cli import main
from deniable.collector.config import Config
from deniable.collector.restore import open_scopes, restore_backup
from deniable.collector.store import open_store
from deniable.collector.store.base import (
    BatchPart,
    Destroyed,
    Device,
    Pending,
    PendingKey,
    Reader,
    Released,
    Scope,
    Settled,
    Store,
    Token,
)
from deniable.protocol.errors import StoreError
from deniable.protocol.periods import ONCE, period_at
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

Start = Callable[..., InProcess]

DAY = "2026-11-30"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SURVEY = make_survey({"yes": {}, "weekly": {"period": "week"}, "ever": {"period": "once"}})
SEGMENTED = make_survey({"yes": {}, "also": {"version": 3}}, segments=["a"], name="second")
INDEX = "sqlite_autoindex_questions_2"
SECRETS = {name: os.urandom(40) for name in ("cells", "tag", "sealed")}


def fill(store: Store) -> None:
    """Put one of everything into a store; the questions of two surveys alternate."""
    with store.transaction() as tx:
        for question in (SURVEY.questions["yes"], SEGMENTED.questions["also"]):
            tx.put_question(question)
        for question in (*SURVEY.questions.values(), *SEGMENTED.questions.values()):
            tx.put_question(question)
        numbers = {(e.question.survey, e.question.id): e.id for e in tx.questions()}
        yes, also = numbers["test", "yes"], numbers["second", "also"]
        tx.put_survey(SURVEY, [])
        tx.put_survey(SEGMENTED, ["old", "a"])
        tx.close_scope(Scope("test", "2026-11-20"))
        row = tx.add_scope(Scope("test", DAY), b"12345678")
        tx.put_ledger({Device(row.id, SECRETS["tag"][:16]): 1}, {row.id: 1})
        tx.put_pending({PendingKey(yes, DAY, None): Pending(7, SECRETS["cells"])})
        tx.add_sealed({PendingKey(also, DAY, "a"): [SECRETS["sealed"]]})
        for number, question, segment in (
            (yes, SURVEY.questions["yes"], None),
            (also, SEGMENTED.questions["also"], "a"),
            (also, SEGMENTED.questions["also"], None),
        ):
            tally = Tally(question, "2026-11-20", segment, 5, (3, 2))
            place = Settled(number, "2026-11-20", None, segment)
            tx.put_released(Released(place, 5, json.dumps(tally.document())))
        for index in range(2):
            place = Settled(also, "once", "2026-W47", "a")
            tx.put_batch(BatchPart(place, 11, index, 2, f'{{"part": {index}}}'))
        tx.put_destroyed(Destroyed(Settled(also, "2026-11-21", None, None), 9))
        tx.put_token("ann", Token(b"h" * 32, ("analyst", "metrics")))
        tx.raise_watermark(NOON)


def contents(reader: Reader) -> dict[str, Any]:
    """What must be the same after a backup and a restore."""
    names = {
        e.id: (e.question.survey, e.question.id, e.question.version) for e in reader.questions()
    }

    def placed(records: Any) -> list[Any]:
        return sorted(
            (names[r.place.question], *(str(field) for field in r.place[1:]), *_rest(r))
            for r in records
        )

    return {
        "surveys": reader.surveys(),
        "questions": sorted((e.question.survey, e.question.id, e.bit) for e in reader.questions()),
        "definitions": {e.question.hash: e.question.document() for e in reader.questions()},
        "released": placed(reader.released()),
        "batches": placed(reader.released_batches()),
        "destroyed": placed(reader.destroyed()),
        "tokens": dict(reader.tokens()),
    }


def _rest(record: Any) -> list[Any]:
    return [getattr(record, name) for name in record.__slots__ if name != "place"]


def counting(reader: Reader) -> set[str]:
    return {state.state for state in reader.states()}


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store may be."""
    if request.param == "sqlite":
        return str(tmp_path / "elsewhere.db")
    server: Postgres = request.getfixturevalue("postgres")
    return server.fresh_database()


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "today.backup"


def run(*arguments: str, stdin: str = "") -> Result:
    """Run a command of the collector, in this process."""
    return CliRunner().invoke(main, arguments, input=stdin)


def cli(*arguments: str) -> str:
    """Run a command, which must succeed, and return what it printed."""
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    return done.stdout


# What is in a backup


def test_a_backup_holds_what_was_released_and_nothing_that_waits(
    location: str, backup: Path
) -> None:
    with closing(open_store(location)) as store:
        fill(store)
        copied = write_backup(store, backup)
        with store.read() as reader, open_backup(backup) as kept:
            assert contents(kept) == contents(reader)
            assert kept.watermark() == NOON
            assert counting(reader) == {"pending", "released", "destroyed"}
            assert counting(kept) == {"released", "destroyed"}
            assert set(kept.closed_scopes()) == {Scope("test", "2026-11-20"), Scope("test", DAY)}
            assert kept.open_scopes() == []
    assert str(copied) == ("3 released tallies, 2 parts of sealed batches, 5 questions, 1 token")
    everything = backup.read_bytes()
    assert [name for name, secret in SECRETS.items() if secret[:16] in everything] == []
    assert b"12345678" not in everything
    with closing(sqlite3.connect(backup)) as db:
        for table in ("pending", "pending_plain", "sealed", "ledger"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_a_backup_is_private_and_leaves_nothing_beside_it(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    before = os.umask(0)
    try:
        with closing(open_store(str(tmp_path / "collector.db"))) as store:
            write_backup(store, tmp_path / "made" / "b")
    finally:
        os.umask(before)
    (file,) = (tmp_path / "made").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_backup_overwrites_nothing(backup: Path, tmp_path: Path) -> None:
    backup.write_text("precious")
    with closing(open_store(str(tmp_path / "collector.db"))) as store:
        with pytest.raises(StoreError, match=r"today\.backup: exists; .* choose another name"):
            write_backup(store, backup)
        assert backup.read_text() == "precious"
        backup.unlink()
        backup.symlink_to("nowhere")
        with pytest.raises(StoreError, match="exists"):
            write_backup(store, backup)
        with pytest.raises(StoreError, match="cannot be written"):
            write_backup(store, tmp_path / "missing" / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "collector.db", "collector.db-journal", "today.backup",
    ]  # fmt: skip


def test_a_file_that_appears_meanwhile_is_not_overwritten(backup: Path, tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "collector.db"))) as store:

        class Rival:
            """The store, beside another program that takes the name while it is read."""

            def read(self) -> AbstractContextManager[Reader]:
                backup.write_text("precious")
                return store.read()

        with pytest.raises(StoreError, match="exists; a backup never overwrites"):
            write_backup(cast("Store", Rival()), backup)
    assert backup.read_text() == "precious"


def test_nobody_counts_into_a_backup(backup: Path, tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "collector.db"))) as store:
        fill(store)
        write_backup(store, backup)
    before = backup.read_bytes()
    with pytest.raises(StoreError, match=r"today\.backup: is a backup; make a store of it with"):
        create_app(Config(str(backup), (SURVEY,)))
    for command in (["release"], ["token", "create", "eve"]):
        done = run(*command, "--store", str(backup))
        assert (done.exit_code, done.stdout) == (1, "")
        assert "is a backup" in done.stderr
    assert backup.read_bytes() == before


# Restoring


@pytest.fixture
def start(tmp_path: Path, clock: Clock) -> Iterator[Start]:
    """Start a collector on any store; what still runs is closed at the end."""
    with ExitStack() as stack:

        def begin(store: str | None = None, keys: str | None = None) -> InProcess:
            location = store or str(tmp_path / "collector.db")
            config = Config(location, (SURVEY,), keys=keys, release_every=0, clock=clock)
            app = create_app(config)
            stack.callback(close_app, app)
            return InProcess(app, clock)

        yield begin


@pytest.fixture
def taken(start: Start, backup: Path) -> InProcess:
    """A collector that released a day, has others open, and was backed up."""
    collector = start()
    for period, names in ((DAY, ["yes"]), ("2026-W49", ["weekly"]), ("once", ["ever"])):
        for _ in range(3):
            body = request_body(SURVEY, new_device(), period=period, questions=names)
            assert collector.post(body).json["accepted"] == 1
    collector.release(days=8)
    for period, name in (("2026-12-08", "yes"), ("once", "ever")):
        body = request_body(SURVEY, new_device(), period=period, questions=[name])
        assert collector.post(body).json["accepted"] == 1
    write_backup(collector.collector.store, backup)
    return collector


def answers(
    collector: InProcess, periods: tuple[str, ...], survey: Any = SURVEY
) -> dict[str, str | int]:
    """What becomes of a new device's report for each period."""
    names = {"2026-W49": "weekly", "2026-W50": "weekly", "once": "ever"}
    found: dict[str, str | int] = {}
    for period in periods:
        name = names.get(period, "yes")
        body = request_body(survey, new_device(), period=period, questions=[name])
        reply = collector.post(body).json
        found[period] = reply["accepted"] or reply["rejected"][0]["code"]
    return found


def test_a_restored_store_releases_nothing_twice(
    taken: InProcess, start: Start, location: str, backup: Path, clock: Clock, tmp_path: Path
) -> None:
    taken.release(days=10)  # what was open when the backup was taken leaves the old store
    old = {(doc["period"], doc["batch"]): doc for doc in everything(taken)}
    kept = [(DAY, None), ("once", "2026-W49")]
    assert set(old) == {*kept, ("2026-12-08", None), ("2026-W49", None), ("once", "2026-W50")}
    taken.collector.close()
    before = backup.read_bytes()
    done = restore_backup(backup, location, clock())
    assert backup.read_bytes() == before
    keys = str(tmp_path / "new-keys")
    restored = start(location, keys)
    assert everything(restored) == [old[place] for place in kept]
    periods = (DAY, "2026-12-08", "2026-12-17", "2026-12-18", "2026-W49", "2026-W50", "once")
    assert answers(restored, periods) == dict.fromkeys(periods, "period_closed")
    clock.advance(days=1)
    assert answers(restored, ("2026-12-18", "2026-12-19")) == {
        "2026-12-18": "period_closed", "2026-12-19": 1,
    }  # fmt: skip
    restored.release(days=13)
    assert [doc["period"] for doc in everything(restored)] == [DAY, "2026-12-19", "once"]
    assert done.watermark == clock() - timedelta(days=14)


def everything(collector: InProcess) -> list[Any]:
    return [doc for name in SURVEY.questions for doc in collector.documents("test", name)]


def test_a_once_question_is_asked_again_under_a_new_version(
    taken: InProcess, start: Start, backup: Path, clock: Clock, tmp_path: Path
) -> None:
    taken.collector.close()
    restore_backup(backup, str(tmp_path / "new.db"), clock())
    newer = make_survey({"ever": {"period": "once", "version": 2}})
    restored = start(str(tmp_path / "new.db"))
    assert answers(restored, ("once",)) == {"once": "period_closed"}
    restored.collector.load([newer])
    assert answers(restored, ("once",), newer) == {"once": 1}


def test_a_restore_wants_an_empty_store(location: str, backup: Path, tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "collector.db"))) as store:
        fill(store)
        write_backup(store, backup)
    restore_backup(backup, location, NOON)
    with pytest.raises(StoreError, match="is not empty; restore into a new store"):
        restore_backup(backup, location, NOON)
    with (
        closing(open_store(location)) as store,
        store.read() as reader,
        open_backup(backup) as kept,
    ):
        assert contents(reader) == contents(kept)
    with pytest.raises(StoreError, match="is a backup"):
        restore_backup(backup, str(backup), NOON)
    token_only = str(tmp_path / "token.db")
    cli("token", "create", "ann", "--store", token_only)
    with pytest.raises(StoreError, match="is not empty"):
        restore_backup(backup, token_only, NOON)


def test_a_restore_waits_for_a_collector(location: str, backup: Path, tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "collector.db"))) as store:
        write_backup(store, backup)
    other = open_store(location)
    refused = pytest.raises(StoreError, match="in use by a running collector")
    with closing(other), other.attend(), refused:
        restore_backup(backup, location, NOON)


def test_a_clock_before_the_backup_is_refused(backup: Path, tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "collector.db"))) as store:
        fill(store)
        write_backup(store, backup)
    with pytest.raises(StoreError, match=r"the clock says 2026-11-30 11:59 UTC, .* set this"):
        restore_backup(backup, str(tmp_path / "new.db"), NOON - timedelta(seconds=1))
    assert not (tmp_path / "new.db").exists()


def test_what_is_no_backup_is_refused(backup: Path, tmp_path: Path) -> None:
    store_path = tmp_path / "collector.db"
    with closing(open_store(str(store_path))) as store:
        fill(store)
        write_backup(store, backup)
    newer = tmp_path / "newer"
    shutil.copy(backup, newer)
    with closing(sqlite3.connect(newer)) as db, db:
        db.execute("INSERT INTO _sqlite_migrations SELECT 99, migration_set, 'm999_later', ''"
                   " FROM _sqlite_migrations LIMIT 1")  # fmt: skip
    with closing(sqlite3.connect(backup)) as db:
        ((index,),) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (INDEX,))
    damaged, unsorted = tmp_path / "damaged", tmp_path / "unsorted"
    spoil(backup, damaged, 2)
    spoil(backup, unsorted, index)  # which nothing reads
    text = tmp_path / "text"
    text.write_text("nothing of the kind" * 100)
    for path, message in {
        store_path: "is no backup; make one with",
        newer: "newer deniable",
        damaged: "is damaged",
        unsorted: "is damaged",
        text: "not a database",
        tmp_path / "absent": "no such file",
        tmp_path: "no such file",
    }.items():
        with pytest.raises(StoreError, match=message):
            restore_backup(path, str(tmp_path / "new.db"), NOON)
    assert not (tmp_path / "new.db").exists()


def spoil(backup: Path, to: Path, page: int) -> None:
    """Copy a backup, but for one page."""
    content = bytearray(backup.read_bytes())
    content[4096 * (page - 1) : 4096 * page] = os.urandom(4096)
    to.write_bytes(content)


def test_closed_scopes_are_those_in_which_a_report_could_count() -> None:
    """Against every period of two years, one by one."""
    survey = make_survey(
        {
            "day": {"grace": 1},
            "late": {"grace": 20},
            "week": {"period": "week", "grace": 3},
            "month": {"period": "month", "grace": 30},
            "over": {"period": "week", "expires": "2026-11-20"},
            "ever": {"period": "once", "version": 4},
            "past": {"period": "once", "expires": "2026-11-20"},
        }
    )
    for question in survey.questions.values():
        for back in (0, 1, 9, 40):
            since = NOON - timedelta(days=back)
            assert open_scopes([question], since, NOON) == brute(question, since)


def brute(question: Question, since: datetime) -> set[Scope]:
    found = set()
    for days in range(-400, 300):
        period = ONCE
        if question.period != "once":
            period = period_at(question.period, NOON + timedelta(days=days))
        begun = period is ONCE or period.start <= NOON  # a later edition may ask for longer
        if begun and question.closes(period) > since:
            found.add(Scope.of(question, period.key))
    return found


def test_a_store_put_back_by_hand_releases_nothing_twice(
    start: Start, clock: Clock, tmp_path: Path
) -> None:
    """A plain copy of the file, taken before its periods were released and their keys destroyed."""
    collector = start()
    for _ in range(3):
        collector.post(request_body(SURVEY, new_device(), period=DAY, questions=["yes"]))
    copy = tmp_path / "copy.db"
    shutil.copy(tmp_path / "collector.db", copy)
    collector.release(days=4)
    assert [doc["n"] for doc in collector.documents("test", "yes")] == [3]
    collector.collector.close()
    shutil.copy(copy, tmp_path / "collector.db")
    back = start()
    back.release()
    assert back.documents("test", "yes") == []
    assert back.states() == {(DAY, None): "pending"}
    assert answers(back, (DAY,)) == {DAY: "period_closed"}
    back.collector.close()
    store = str(tmp_path / "collector.db")
    as_of = ["--as-of", FAR, "--yes"]
    assert "destroyed 0, waiting for 1 key;" in cli("release", "--store", store, *as_of)
    asked = run("release", "--store", store, "--destroy-unreadable", stdin="n\n")
    assert asked.exit_code == 1
    assert "nothing was closed; answer y, or use --yes" in asked.stderr
    done = cli("release", "--store", store, "--destroy-unreadable", "--yes")
    assert done.startswith("released 0, destroyed 1;")
    (state,) = json.loads(cli("status", "--store", store, "--format", "json"))
    assert (state["state"], state["crowd"]) == ("destroyed", "key lost")


# The commands


def test_a_backup_is_taken_while_reports_come_in(tmp_path: Path, backup: Path) -> None:
    survey, day = make_survey({"yes": {"grace": 1}}), today()
    with serving(survey, tmp_path) as server:
        server.post(request_body(survey, new_device(), period=day))
        assert cli("backup", str(backup), "--store", str(server.store)).startswith(
            f"wrote {backup}: 0 released tallies"
        )
        body = request_body(survey, new_device(), period=day)
        assert server.post(body).json["accepted"] == 1
    cli("release", "--store", str(server.store), "--as-of", FAR, "--yes")
    late = tmp_path / "late.backup"
    cli("backup", str(late), "--store", str(server.store))
    assert estimated(late) == estimated(server.store)
    assert estimated(late)["n"] == 2
    new = tmp_path / "new.db"
    done = run("restore", str(late), "--store", str(new))
    assert done.exit_code == 1
    assert "set this machine's clock right, or wait until then" in done.stderr
    (tmp_path / "new.db-keys").mkdir(mode=0o700)
    (tmp_path / "new.db-keys" / f"test.{day}.key").write_bytes(os.urandom(32))
    done = run("restore", str(backup), "--store", str(new))
    assert done.stdout.startswith("restored 0 released tallies"), done.stderr
    assert "closed for good: 2 periods that had begun" in done.stdout
    assert "Warning: 1 key of periods in " in done.stderr
    again = Server([tmp_path / "survey.json"], new)
    again.start()
    try:
        reply = again.post(request_body(survey, new_device(), period=day)).json
        assert reply["rejected"][0]["code"] == "period_closed"
    finally:
        again.stop()


def estimated(store: Path) -> Any:
    arguments = ["estimate", "yes", "--from", str(store), "--format", "json"]
    done = CliRunner().invoke(analysis.main, arguments)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)
