"""What an operator mistypes is one line: what was given, what is wrong with it, and the fix."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from collector_kit import Clock, InProcess, make_survey, save
from servers import Postgres

from deniable.collector.app import close_app
from deniable.collector.cli import main
from deniable.collector.config import Config
from deniable.collector.flood_storage import open_limiter
from deniable.collector.server import listen
from deniable.collector.store import open_store
from deniable.collector.store.sqlite_errors import wrapped
from deniable.protocol.errors import ParameterError

SECRET = "hunter2"
SURVEY = make_survey({"yes": {"min_crowd": 2}})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a store, a damaged one, a text and a survey are; commands run there."""
    open_store(str(tmp_path / "good.db")).close()
    content = bytearray((tmp_path / "good.db").read_bytes())
    content[100:8192] = os.urandom(8092)
    (tmp_path / "damaged.db").write_bytes(content)
    (tmp_path / "text").write_text("nothing of the kind\n" * 100, encoding="utf-8")
    save(SURVEY, tmp_path / "s.json")
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    yield tmp_path
    assert set(tmp_path.iterdir()) == before


def said(*arguments: str, status: int = 1) -> str:
    """Run a command that must fail; return its line."""
    done = CliRunner().invoke(main, arguments)
    assert (done.exit_code, done.stdout) == (status, ""), done.stderr
    assert status == 2 or done.stderr.count("\n") == 1, done.stderr
    assert SECRET not in done.stderr
    return done.stderr


SERVE = ("serve", "--survey", "s.json", "--port", "0", "--store")
PATH_OR_URL = "; give the path of an SQLite file, or postgresql://USER@HOST/DATABASE"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["status", "--store", ""], f"store: names no file{PATH_OR_URL}"),
        (["status", "--store", "."], ".: is a directory; give the path of a file, such as"),
        ([*SERVE, "."], ".: is a directory; give the path of a file, such as ./collector.db"),
        (
            [*SERVE, "none/x.db"],
            "cannot be created (No such file or directory); make the directory",
        ),
        ([*SERVE, "text/x.db"], "text is no directory, check --store"),
        (["status", "--store", "text"], "text: file is not a database; check --store"),
        (["status", "--store", "s.json"], "s.json: file is not a database; check --store"),
        (["status", "--store", "damaged.db"], "malformed; stop serve, keep the file, and restore"),
        ([*SERVE, "postgresql:deniable"], f"postgresql: is neither file nor URL{PATH_OR_URL}"),
        ([*SERVE, "postgres:x"], f"postgres: is neither file nor URL{PATH_OR_URL}"),
        ([*SERVE, ":memory:"], f": is neither file nor URL{PATH_OR_URL}"),
        ([*SERVE, "file:x?mode=memory"], f"file: is neither file nor URL{PATH_OR_URL}"),
        ([*SERVE, "sqlite://x.db"], f"store: names no file{PATH_OR_URL}"),
        ([*SERVE, "mysql://h/d"], f"store: unknown kind mysql://{PATH_OR_URL}"),
        (
            ["release", "--store", "good.db", "--keys", "text"],
            "text: is a file; --keys takes a directory",
        ),
        (
            ["release", "--store", "good.db", "--keys", f"redis://:{SECRET}@h/notadb"],
            "redis:// URL cannot be read; write it like redis://USER:PASSWORD@HOST:6379/0",
        ),
        (
            ["release", "--store", "good.db", "--keys", f"postgresql://u:{SECRET}@h:port/d"],
            "postgresql:// URL cannot be read; write it like postgresql://USER@HOST/DATABASE",
        ),
        (["restore", "nothere.db", "--store", "new.db"], "nothere.db: there is no such file; give"),
        (["restore", "text", "--store", "new.db"], "file is not a database; give a file that"),
        (["restore", "good.db", "--store", "new.db"], "is no backup; make one with"),
        (
            ["status", "--store", f"postgresql://u:{SECRET}@h:port/d"],
            "store: the postgresql:// URL cannot be read; write it like",
        ),
        (["status", "--store", f"postgresql://u:{SECRET}@h:99999/d"], "HOST:5432"),
        (
            ["status", "--store", f"postgresql://u:{SECRET}@127.0.0.1:1/d"],
            "the server is not running there; start it, or check the URL",
        ),
        (
            ["status", "--store", f"postgresql://u:{SECRET}@nowhere.invalid/d"],
            "the host's name is not known; check the URL",
        ),
    ],
)
def test_a_place_that_cannot_be_meant(folder: Path, command: list[str], problem: str) -> None:
    assert problem in said(*command)


@pytest.mark.parametrize("option", ["--release-every", "--stop-timeout"])
@pytest.mark.parametrize("seconds", ["nan", "inf", "1e10", "-1"])
def test_a_time_that_no_thread_can_wait_for(folder: Path, option: str, seconds: str) -> None:
    line = said(*SERVE, "new.db", f"{option}={seconds}", status=2)
    assert f"Invalid value for '{option}': must be in 0..86400 seconds" in line


@pytest.mark.parametrize("limit", ["0 per minute", "often", "5 per", ""])
def test_a_flood_limit_that_lets_nothing_through(folder: Path, limit: str) -> None:
    line = said(*SERVE, "new.db", "--flood-limit", limit)
    assert "flood_limit must be like '60 per minute', at least 1" in line


@pytest.mark.parametrize("url", [f"redis://:{SECRET}@h/notadb", "http://h", "redis"])
def test_a_flood_storage_that_cannot_be_meant(url: str) -> None:
    with pytest.raises(ParameterError, match=r"rediss://.*with a number for the data") as caught:
        open_limiter(url)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"surveys": ("s.toml",)},
        {"surveys": "s.toml"},
        {"surveys": Path("s.toml")},
        {"surveys": SURVEY},
        {"surveys": [SURVEY, None]},
    ],
)
def test_a_survey_that_was_not_loaded(settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"surveys .*; give Config\(surveys=\(load_survey\("):
        Config("collector.db", **settings)


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e10, -1])
@pytest.mark.parametrize("name", ["release_every", "commit_timeout"])
def test_a_setting_that_no_thread_can_wait_for(name: str, seconds: float) -> None:
    settings: dict[str, Any] = {name: seconds}
    with pytest.raises(ParameterError, match=rf"{name} must be in 0\.\.86400 seconds"):
        Config("collector.db", **settings)


def test_an_address_that_is_no_machines() -> None:
    for host in ("999.1.1.1", "192.0.2.1"):
        with pytest.raises(ParameterError, match=f"on {host}:0: .*; give an address of this"):
            listen(host, 0)


def test_a_port_that_is_taken() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ParameterError, match=f":{port}: .*; choose another --port"):
            listen("127.0.0.1", port)


def test_every_kind_of_sqlite_error_has_its_fix(tmp_path: Path) -> None:
    """A read-only file and a locked one, really."""
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with (
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection,
        pytest.raises(sqlite3.OperationalError) as read_only,
    ):
        connection.execute("INSERT INTO t VALUES (1)")
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as one,
        closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as other,
    ):
        one.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError) as busy:
            other.execute("BEGIN IMMEDIATE")
    assert "; let the user that serve runs as write" in str(wrapped(path, read_only.value))
    assert "; another process holds it" in str(wrapped(path, busy.value))
    assert str(wrapped(path, sqlite3.ProgrammingError("closed"))) == f"{path}: closed"


def test_a_role_without_rights(postgres: Postgres) -> None:
    """Its store is there, made by another role."""
    url = postgres.fresh_database()
    open_store(url).close()
    name = url.partition("@/")[2].partition("?")[0]
    postgres.execute(f"CREATE ROLE bare_{name} LOGIN")
    bare = postgres.url(name, f"bare_{name}")
    fix = "connect as the role that owns the schema deniable"
    assert fix in said("status", "--store", bare)
    done = CliRunner().invoke(main, ["doctor", "--store", bare, "--keys", "nowhere"])
    faults = [line for line in done.stdout.splitlines() if line.startswith("fault ")]
    assert len(faults) == 1, done.stdout
    assert "may not" in faults[0]
    assert fix in done.stdout


def test_a_clock_that_was_ahead_is_told_with_the_date(
    start: Callable[..., InProcess], clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    collector = start(SURVEY)
    collector.release(hours=5)
    collector.release(days=-2)
    assert (
        "the clock failed: it is behind what was closed before; reports of periods that close"
        " before 2026-11-30 17:00 UTC are refused, though that is to come"
    ) in caplog.messages


def test_the_wsgi_file_of_the_operators_page(folder: Path) -> None:
    """As it is written, but for the servers, which are not there."""
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
    text = page.partition("```py\n# wsgi.py\n")[2].partition("```")[0]
    for given, here in (
        ("postgresql://deniable@db.internal/deniable", "wsgi.db"),
        ("valkey://keys.internal", "wsgi-keys"),
        ("valkey://floods.internal", "memory://"),
        ("survey.toml", "s.json"),
        ('install_logging("text")', ""),
    ):
        assert given in text
        text = text.replace(given, here)
    names: dict[str, Any] = {}
    exec(text, names)
    assert names["app"].test_client().get("/readyz").status_code == 200
    close_app(names["app"])
    shutil.rmtree(folder / "wsgi-keys")
    for file in folder.glob("wsgi*"):
        file.unlink()
