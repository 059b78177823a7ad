"""doctor: each check is right about a sound collector, and sees the real thing broken."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from collector_kit import (
    Clock,
    InProcess,
    make_survey,
    new_device,
    period_keys,
    request_body,
    save,
    serving,
)
from key_places import running_valkey, until
from servers import Postgres, Valkey

from deniable.collector.app import close_app, create_app
from deniable.collector.backup import write_backup
from deniable.collector.catalogue import register
from deniable.collector.cli import main
from deniable.collector.config import Config
from deniable.collector.doctor import Case, Finding, examine
from deniable.collector.doctor import postgres as server_checks
from deniable.collector.doctor.endpoints import encryption
from deniable.collector.doctor.files import file_system
from deniable.collector.store import open_store
from deniable.collector.store.base import Token
from deniable.protocol.survey import Survey

DAY = "2026-11-30"
SURVEY = make_survey({"yes": {"min_crowd": 2}})
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def case(tmp_path: Path, clock: Clock) -> Case:
    """A sound collector, stopped, with an open period; the keys are where no copy goes."""
    (tmp_path / "store").mkdir(mode=0o700)
    made = Case(str(tmp_path / "store" / "collector.db"), str(tmp_path / "keys"), now=clock())
    run_collector(made, clock)
    with closing(open_store(made.store)) as store, store.transaction() as tx:
        tx.put_token("ann", Token(b"1" * 32, ("analyst",)))
    return made


def run_collector(case: Case, clock: Clock, **settings: Any) -> None:
    """Count two devices and stop."""
    config = Config(case.store, (SURVEY,), keys=case.keys, release_every=0, clock=clock, **settings)
    app = create_app(config)
    try:
        for _ in range(2):
            body = request_body(SURVEY, new_device(), period=DAY)
            assert InProcess(app, clock).post(body).json["accepted"] == 1
    finally:
        close_app(app)


def found(case: Case, check: str) -> list[Finding]:
    return [finding for finding in examine(case) if finding.check == check]


def one(case: Case, check: str) -> tuple[str, str]:
    (finding,) = found(case, check)
    assert finding.status == "ok" or finding.fix
    return finding.status, finding.detail


def file(case: Case) -> Path:
    assert case.path is not None
    return case.path


def key_file(case: Case) -> Path:
    assert case.keys_directory is not None
    (path,) = period_keys(case.keys_directory)
    return path


@contextmanager
def database(case: Case) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(file(case), isolation_level=None)) as connection:
        yield connection


# As a whole


def test_a_sound_collector_has_no_fault(case: Case, tmp_path: Path) -> None:
    case = replace(case, surveys=(str(save(SURVEY, tmp_path / "survey.json")),))
    findings = list(examine(case))
    faults = [f for f in findings if f.status != "ok" and not f.check.endswith("file system")]
    assert faults == []
    assert len(findings) >= 15


def test_nothing_is_touched_and_a_running_collector_goes_on(tmp_path: Path) -> None:
    with serving(SURVEY, tmp_path) as server:
        server.post(request_body(SURVEY, new_device()))
        before = snapshot(tmp_path)
        case = Case(str(server.store), surveys=(str(server.surveys[0]),))
        findings = {finding.check: finding for finding in examine(case)}
        assert snapshot(tmp_path) == before
        assert findings["in use"].detail == f"by process {server.pid}"
        assert [f for f in findings.values() if f.status == "fault"] == []
        assert server.post(request_body(SURVEY, new_device())).json["accepted"] == 1


def snapshot(folder: Path) -> dict[str, Any]:
    """Every file with its bytes, mode and time; but what was read last, and the log."""
    return {
        str(path): (path.is_file() and path.read_bytes(), path.stat().st_mode, path.stat().st_mtime)
        for path in [folder, *folder.rglob("*")]
        if path.suffix != ".log"
    }


def test_what_is_not_there_is_not_made(tmp_path: Path) -> None:
    case = Case(str(tmp_path / "none.db"), str(tmp_path / "keys"))
    faults = [finding for finding in examine(case) if finding.status == "fault"]
    absent = Finding(
        "store", "fault", f"{tmp_path}/none.db: there is no such store", "check --store"
    )
    assert faults == [absent]
    assert list(tmp_path.iterdir()) == []


def test_the_command(case: Case) -> None:
    arguments = ["doctor", "--store", case.store, "--keys", str(case.keys)]
    good = CliRunner().invoke(main, [*arguments, "--format", "json"])
    assert good.exit_code == 0, good.stdout
    assert {"check", "status", "detail", "fix"} == set(json.loads(good.stdout)[0])
    file(case).chmod(0o644)
    bad = CliRunner().invoke(main, arguments)
    assert bad.exit_code == 1
    assert f"fault    permissions        {case.store}: others can read it\n" in bad.stdout
    assert f"→ chmod 600 {case.store}\n" in bad.stdout
    assert "\n1 fault, " in bad.stdout


# Files


@pytest.mark.parametrize("end", ["", "-journal", ".lock"])
def test_files_that_others_can_read(case: Case, end: str) -> None:
    assert one(case, "permissions")[0] == "ok"
    Path(case.store + end).chmod(0o640)
    assert one(case, "permissions") == ("fault", f"{case.store}{end}: others can read it")


def test_a_folder_that_others_can_write_to(case: Case) -> None:
    file(case).parent.chmod(0o770)
    assert one(case, "permissions")[0] == "warning"


def test_keys_that_others_can_read(case: Case) -> None:
    assert one(case, "key permissions")[0] == "ok"
    key_file(case).chmod(0o604)
    assert one(case, "key permissions") == ("fault", f"{case.keys}: others can read 1 key")
    key_file(case).parent.chmod(0o711)
    assert one(case, "key permissions") == ("fault", f"{case.keys}: others can enter it")


def test_keys_that_a_copy_takes_along(case: Case, tmp_path: Path) -> None:
    assert one(case, "keys apart")[0] == "ok"
    assert one(replace(case, keys=None), "keys apart")[0] == "warning"
    (tmp_path / "link").symlink_to(tmp_path / "store")
    assert one(replace(case, keys=str(tmp_path / "link" / "keys")), "keys apart")[0] == "warning"


def test_a_disk_that_forgets(case: Case) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir():
        pytest.skip("no file system in memory here")
    status, detail = one(replace(case, keys=str(memory / "keys")), "keys file system")
    assert (status, "in memory (tmpfs)" in detail) == ("warning", True)


def test_a_network_file_system_is_known() -> None:
    mounts = (
        "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "23 22 0:44 / /srv/a\\040b rw,relatime shared:1 - nfs4 server:/x rw\n"
        "24 22 0:45 / /srv/a\\040b/local rw - xfs /dev/sdb rw\n"
    )
    assert file_system(Path("/srv/a b/store"), mounts) == "nfs4"
    assert file_system(Path("/srv/a b/local/x"), mounts) == "xfs"
    assert file_system(Path("/srv/a bc"), mounts) == "ext4"
    assert file_system(Path("/srv"), "") is None


def test_a_full_disk(case: Case) -> None:
    free = shutil.disk_usage(file(case).parent).free
    assert one(case, "free space")[0] in ("ok", "warning")
    assert one(replace(case, min_free_bytes=free * 2), "free space")[0] == "fault"
    assert one(replace(case, min_free_bytes=free // 4), "free space")[0] == "warning"


# SQLite


def test_who_uses_the_store(case: Case) -> None:
    assert one(case, "in use") == ("ok", "no process is seen to count")
    with closing(open_store(case.store)) as store, store.alone():
        assert one(case, "in use") == ("ok", f"by process {os.getpid()}")


def test_an_interrupted_commit(case: Case, tmp_path: Path) -> None:
    """The files as they are in the middle of one."""
    copy = tmp_path / "store" / "copy.db"
    with database(case) as db:
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN")
        db.execute("CREATE TABLE large (x)")
        db.executemany("INSERT INTO large VALUES (?)", [(os.urandom(3000),)] * 50)
        for end in ("", "-journal"):
            shutil.copy(case.store + end, str(copy) + end)
    before = snapshot(copy.parent)
    findings = list(examine(replace(case, store=str(copy))))
    assert [f.status for f in findings if f.check == "in use"] == ["warning"]
    assert [(f.check, f.fix) for f in findings if f.status == "fault"] == [
        ("store", "a commit was interrupted; deniable-collector status undoes it")
    ]
    assert snapshot(copy.parent) == before  # SQLite would undo the commit, if it were let


def test_a_file_in_wal_mode(case: Case) -> None:
    assert one(case, "pragmas")[0] == "ok"
    with database(case) as db:
        db.execute("PRAGMA journal_mode = WAL")
    assert one(case, "pragmas")[0] == "fault"


def test_a_damaged_file(case: Case) -> None:
    assert one(case, "integrity") == ("ok", "the file is sound")
    content = bytearray(file(case).read_bytes())
    for at in range(4096, len(content), 4096):
        content[at : at + 64] = os.urandom(64)
    file(case).write_bytes(content)
    (finding,) = (f for f in examine(case) if f.status == "fault")
    assert finding.detail.endswith("malformed")
    assert "restore the newest backup" in finding.fix


def test_schemas_of_others(case: Case, tmp_path: Path) -> None:
    assert one(case, "schema")[0] == "ok"
    with database(case) as db:
        db.execute("INSERT INTO _sqlite_migrations SELECT 99, migration_set, 'm999_later', ''"
                   " FROM _sqlite_migrations LIMIT 1")  # fmt: skip
    assert one(case, "schema") == ("fault", "was written by a newer deniable")
    assert [f.check for f in examine(case) if f.status == "fault"] == ["schema"]
    file(case).unlink()
    with database(case) as db:
        db.executescript(Path(__file__).with_name("schemas").joinpath("schema1.sql").read_text())
    assert one(case, "schema")[0] == "warning"
    assert [f for f in examine(case) if f.status == "fault" and f.check != "permissions"] == []
    file(case).unlink()
    with database(case) as db:
        db.execute("CREATE TABLE recipes (name)")
    assert one(case, "schema")[0] == "fault"


def test_a_backup_is_not_a_store(case: Case, tmp_path: Path) -> None:
    with closing(open_store(case.store)) as store:
        write_backup(store, tmp_path / "backup")
    status, detail = one(replace(case, store=str(tmp_path / "backup")), "store")
    assert (status, "is a backup" in detail) == ("fault", True)


@pytest.mark.parametrize(
    ("store", "detail", "fix"),
    [
        ("none.db", "none.db: there is no such store", "check --store"),
        ("text", "text: file is not a database", "check --store"),
        ("postgresql:x", "store: what begins with postgresql: is neither file nor URL", "@HOST/"),
        ("postgresql://a@/b?host=/nowhere", "the server is not running there", "check the URL"),
    ],
)
def test_one_cause_is_one_fault(
    case: Case, tmp_path: Path, store: str, detail: str, fix: str
) -> None:
    """With its own fix; and a survey that is wrong is told beside it."""
    (tmp_path / "text").write_text("nothing of the kind" * 100, encoding="utf-8")
    (tmp_path / "text").chmod(0o600)
    (tmp_path / "broken.toml").write_text("[survey", encoding="utf-8")
    location = store if ":" in store else str(tmp_path / store)
    wrong = replace(case, store=location, surveys=(str(tmp_path / "broken.toml"),))
    faults = [finding for finding in examine(wrong) if finding.status == "fault"]
    assert [finding.check for finding in faults if finding.check != "survey"] in (
        ["store"], ["server"],
    )  # fmt: skip
    assert (detail in faults[0].detail, fix in faults[0].fix) == (True, True), faults[0]
    assert [finding.check for finding in faults][-1] == "survey"


def test_a_store_that_cannot_be_written() -> None:
    """Nobody is kept from anything who is root, so it is looked at as another user."""
    with TemporaryDirectory(prefix="deniable-doctor-") as folder:
        path = Path(folder) / "collector.db"
        open_store(str(path)).close()
        path.chmod(0o400)
        with nobody(Path(folder), path):
            assert one(Case(str(path)), "store") == (
                "fault",
                f"{path}: this user may not write to it",
            )
            path.chmod(0o600)
            assert one(Case(str(path)), "store")[0] == "ok"
            Path(folder).chmod(0o500)
            detail = f"{folder}: this user may not write to it"
            assert one(Case(str(path)), "store") == ("fault", detail)


@contextmanager
def nobody(*places: Path) -> Iterator[None]:
    """Be another user than root for a while, who owns the places."""
    if os.geteuid():
        yield
        return
    for place in places:
        os.chown(place, 65534, 65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


# What the store holds


def test_a_clock_that_is_wrong(case: Case) -> None:
    assert one(case, "clock")[0] == "ok"
    assert one(replace(case, now=NOON - timedelta(hours=1)), "clock")[0] == "fault"
    assert one(replace(case, now=NOON + timedelta(days=20)), "clock")[0] == "warning"


@pytest.mark.parametrize(
    ("questions", "status", "detail"),
    [
        ({"yes": {"min_crowd": 2}}, "ok", "is what the store has; every hash is the same"),
        ({"yes": {"min_crowd": 3}}, "ok", "would load, every hash is the store's; would change"),
        (
            {"yes": {"min_crowd": 2}, "new": {}},
            "ok",
            "some questions are new; would change new",
        ),
        ({"yes": {"min_crowd": 1}}, "fault", "question yes: min_crowd fell from 2 to 1"),
        ({"yes": {"epsilon": 1}}, "fault", "question yes: changed under version 1"),
    ],
)
def test_survey_files(
    case: Case, tmp_path: Path, questions: dict[str, Any], status: str, detail: str
) -> None:
    path = save(make_survey(questions), tmp_path / "survey.json")
    told, text = one(replace(case, surveys=(str(path),)), "survey")
    assert (told, detail in text) == (status, True), text


def test_survey_files_that_cannot_be_read(case: Case, tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[survey")
    assert one(replace(case, surveys=(str(broken),)), "survey")[0] == "fault"
    other = save(make_survey({"yes": {}}, name="other"), tmp_path / "other.json")
    assert one(replace(case, surveys=(str(other),)), "survey") == (
        "ok", f"{other}: other is new to the store and would load",
    )  # fmt: skip


def test_a_survey_file_that_brings_an_expired_key_back(case: Case, tmp_path: Path) -> None:
    def edition(state: str, other: str) -> Survey:
        keys = [
            {"id": name, "suite": "x25519", "public": letter * 42 + "A", "state": state}
            for name, letter, state in (("old", "A", state), ("new", "B", other))
        ]
        questions = {"yes": {"sealed": True, "epsilon_first": 1}}
        return make_survey(questions, name="second", sealing_keys=keys)

    with closing(open_store(case.store)) as store, store.transaction() as tx:
        register(tx, edition("expired", "active"))
    path = save(edition("active", "pending"), tmp_path / "survey.json")
    status, text = one(replace(case, surveys=(str(path),)), "survey")
    assert status == "fault"
    assert f"{path}: sealing_keys: old is active here and expired" in text


def test_questions_that_expired(case: Case) -> None:
    assert one(case, "expired questions")[0] == "ok"
    late = replace(case, now=datetime(2099, 1, 1, tzinfo=UTC))
    assert one(late, "expired questions") == (
        "warning", "still in the survey, expired: test: yes on 2098-12-31",
    )  # fmt: skip


def test_keys_that_are_missing_or_others(case: Case) -> None:
    assert one(case, "keys") == ("ok", "1 open period, each with its key")
    key = key_file(case)
    key.write_bytes(os.urandom(32))
    assert one(case, "keys") == (
        "fault", f"{case.keys}: test.{DAY} is another than its rows were named by",
    )  # fmt: skip
    key.unlink()
    assert one(case, "keys") == ("fault", f"{case.keys}: test.{DAY} is missing")


def test_tallies_that_wait(case: Case, clock: Clock) -> None:
    assert one(case, "waiting tallies") == ("ok", "none is due")
    late = replace(case, now=NOON + timedelta(days=5))
    assert one(late, "waiting tallies")[0] == "warning"
    key = key_file(case)
    kept = key.read_bytes()
    key.unlink()
    release = ["release", "--store", case.store, "--keys", str(case.keys), "--yes"]
    assert CliRunner().invoke(main, [*release, "--as-of", "2026-12-05"]).exit_code == 0
    assert one(late, "waiting tallies") == (
        "fault", f"test.{DAY} is closed and its tallies do not open",
    )  # fmt: skip
    key.write_bytes(kept)
    assert CliRunner().invoke(main, [*release, "--as-of", "2026-12-06"]).exit_code == 0
    assert one(late, "waiting tallies") == ("ok", "none is due")


def test_tokens(case: Case) -> None:
    assert one(case, "tokens") == ("ok", "ann (analyst)")
    with closing(open_store(case.store)) as store, store.transaction() as tx:
        tx.put_token("old", Token(b"2" * 32, ("analyst", "metrics")))
    assert one(case, "tokens")[0] == "warning"
    with closing(open_store(case.store)) as store, store.transaction() as tx:
        tx.drop_token("ann")
        tx.drop_token("old")
    assert one(case, "tokens")[0] == "warning"


# Servers


def test_flood_counts_that_are_written_down(case: Case, valkey: Valkey) -> None:
    assert found(case, "flood storage") == []
    assert one(replace(case, flood_storage=valkey.fresh_database()), "flood storage")[0] == "ok"
    with running_valkey(appendonly="yes") as server:
        persistent = replace(case, flood_storage=server.fresh_database())
        assert one(persistent, "flood storage")[0] == "fault"
        url = server.fresh_database()
    assert one(replace(case, flood_storage=url), "flood server")[0] == "fault"


def test_keys_on_a_server_that_forgets(case: Case, valkey: Valkey) -> None:
    location = valkey.fresh_database()
    forgetful = replace(case, keys=location)
    assert one(forgetful, "key place") == (
        "fault",
        f"{location}: forgets every key when it restarts",
    )
    assert one(forgetful, "keys") == ("fault", f"{location}: test.{DAY} is missing")
    with running_valkey(appendonly="yes") as server:
        assert one(replace(case, keys=server.fresh_database()), "key place")[0] == "ok"


def test_a_postgres_store(postgres: Postgres, tmp_path: Path, clock: Clock) -> None:
    url, keys = postgres.fresh_database(), postgres.fresh_database()
    case = Case(url, keys, now=clock())
    assert [f.status for f in examine(case) if f.check == "schema"] == ["fault"]
    run_collector(case, clock)
    findings = {finding.check: finding for finding in examine(case)}
    warned = {name for name, finding in findings.items() if finding.status == "warning"}
    assert warned == {"role", "tokens", "key place"}  # one server for both
    faults = [finding.detail for finding in findings.values() if finding.status == "fault"]
    assert faults == ["fsync is off: a power cut loses acknowledged reports"]  # as tests run it
    assert findings["keys"].detail == "1 open period, each with its key"
    assert one(replace(case, keys=url), "key place")[0] == "fault"
    assert one(replace(case, keys=None), "keys")[0] == "fault"
    empty = replace(case, keys=postgres.fresh_database())
    assert [f.status for f in examine(empty) if f.check in ("keys", "fitting")] == ["fault"]


def test_what_a_postgres_server_logs(postgres: Postgres, tmp_path: Path, clock: Clock) -> None:
    url = postgres.fresh_database()
    name = url.partition("@/")[2].partition("?")[0]
    postgres.execute(f"CREATE ROLE plain_{name} LOGIN; ALTER DATABASE {name} OWNER TO plain_{name}")
    case = Case(postgres.url(name, f"plain_{name}"), str(tmp_path / "keys"), now=clock())
    run_collector(case, clock)
    assert (one(case, "role")[0], one(case, "server log")[0]) == ("ok", "ok")
    for setting in ("log_statement = 'all'", "log_min_duration_statement = 0"):
        postgres.execute(f"ALTER DATABASE {name} SET {setting}")
        assert one(case, "server log")[0] == "fault"
        postgres.execute(f"ALTER DATABASE {name} RESET ALL")
    postgres.execute(f"ALTER DATABASE {name} SET log_statement = 'mod'")
    postgres.execute(f"GRANT SET ON PARAMETER log_parameter_max_length TO plain_{name}")
    assert one(case, "server log")[0] == "ok"


def test_a_postgres_server_that_forgets() -> None:
    server = Postgres({"fsync": "on", "archive_mode": "on", "archive_command": "true"})
    url = server.fresh_database()
    assert [f.status for f in durability(url)] == ["ok"]
    archive = server_checks.archive(server_checks.ask_server(url))
    assert [f.status for f in archive] == ["warning"]
    server.execute("ALTER SYSTEM SET full_page_writes = off")
    server.execute("SELECT pg_reload_conf()")
    until(lambda: [f.status for f in durability(url)] == ["fault"])
    assert durability(url)[0].detail == "full_page_writes is off: a power cut may tear pages"
    server.close()


def durability(url: str) -> list[Finding]:
    return list(server_checks.durability(server_checks.ask_server(url)))


def test_what_a_server_that_runs_cannot_be_made_to_say(postgres: Postgres) -> None:
    server = server_checks.ask_server(postgres.fresh_database())
    far = replace(server, local=False, encrypted=False, settings=server.settings | {
        "pgaudit.log": "write", "pgaudit.log_parameter": "on",
    }, asked=server.asked - timedelta(minutes=2), step=99)  # fmt: skip
    for check, good, bad in (
        (server_checks.link, "ok", "warning"),
        (server_checks.server_log, "ok", "fault"),
        (server_checks.server_clock, "ok", "warning"),
        (server_checks.schema, "fault", "fault"),
    ):
        assert [f.status for f in (*check(server), *check(far))] == [good, bad]


def test_a_postgres_server_that_is_down(postgres: Postgres) -> None:
    postgres.stop()
    case = Case(postgres.url("secret", "ann:hunter2"), "redis://127.0.0.1:1/0")
    findings = list(examine(case))
    assert {f.check for f in findings if f.status == "fault"} == {"server", "key server"}
    assert "hunter2" not in repr(findings)


# Endpoints


class Chatty(BaseHTTPRequestHandler):
    """Answers all to everyone, and names its version."""

    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


class Broken(Chatty):
    status = 503

    def end_headers(self) -> None:
        self.send_header("Set-Cookie", "a=b")
        super().end_headers()


@contextmanager
def answering(handler: type[Chatty]) -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def doors(case: Case, url: str) -> dict[str, str]:
    names = ("endpoint", "encryption", "headers", "access")
    findings = examine(replace(case, url=url))
    return {f.check: f.status for f in findings if f.check.startswith(names)}


def test_what_a_collector_shows(case: Case, tmp_path: Path) -> None:
    with serving(SURVEY, tmp_path) as server:
        told = doors(case, f"http://127.0.0.1:{server.port}/")
    assert set(told.values()) == {"ok"}
    assert len(told) == 8


@pytest.mark.parametrize(
    ("scheme", "host", "status"),
    [
        ("https", "telemetry.example", "ok"),
        ("http", "telemetry.example", "fault"),
        ("http", "192.0.2.1", "fault"),
        ("http", "::1", "ok"),
    ],
)
def test_the_way_to_a_collector(scheme: str, host: str, status: str) -> None:
    assert encryption(scheme, host).status == status


def test_what_others_show(case: Case) -> None:
    with answering(Chatty) as url:
        told = doors(case, url)
        assert told["endpoint /metrics"] == told["endpoint /v1/periods"] == "fault"
        assert (told["headers"], told["endpoint /livez"]) == ("warning", "ok")
        (finding,) = found(replace(case, url=url.replace("http:", "https:")), "endpoints")
        assert finding.detail.endswith("its certificate or TLS is not good")
    with answering(Broken) as url:
        told = doors(case, url)
        assert told["endpoint /readyz"] == told["headers"] == "fault"
        assert told["endpoint /metrics"] == "warning"
    (finding,) = found(replace(case, url=url), "endpoints")
    assert (finding.status, "cannot be reached" in finding.detail) == ("fault", True)
    assert one(replace(case, url="ftp://x"), "endpoints")[0] == "fault"
