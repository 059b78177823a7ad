"""What only a PostgreSQL store does: replicas that race, outages, the analysts' role, its log."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from collector_kit import make_survey
from scipy.stats import kendalltau
from servers import Postgres

from deniable.collector.store import Store, open_store, postgres_schema
from deniable.collector.store import postgres_locks as locks
from deniable.collector.store.analyst_role import analyst_role_sql, hide_sizes_sql
from deniable.collector.store.base import (
    ConflictError,
    Device,
    Pending,
    PendingKey,
    Released,
    Scope,
    Settled,
    Token,
)
from deniable.protocol.errors import ParameterError, StoreError

SURVEY = make_survey({"yes": {}})
DAY = Scope("test", "2026-11-30")
YES = PendingKey(1, "2026-11-30", None)
OPEN = "import sys; from deniable.collector.store import open_store; open_store(sys.argv[1])"
RACE = """
import os, sys
from deniable.collector.store import open_store, postgres
children = []
for _ in range(8):
    children.append(os.fork())
    if not children[-1]:
        open_store(sys.argv[1]).close()
        os._exit(0)
print(*[os.waitpid(child, 0)[1] for child in children])
"""


@pytest.fixture
def url(postgres: Postgres) -> str:
    return postgres.fresh_database()


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """With one question, whose id is 1, and one scope."""
    with closing(open_store(url)) as opened:
        with opened.transaction() as tx:
            tx.put_question(SURVEY.questions["yes"])
            tx.add_scope(DAY, b"")
        yield opened


def ask(url: str, query: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(query)
        return cursor.fetchall() if cursor.description else []


def wait_until(condition: Callable[[], object]) -> None:
    give_up = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < give_up
        time.sleep(0.005)


def count(store: Store, n: int = 1) -> None:
    """Count one new device."""
    with store.counting() as tx:
        row = tx.scope(DAY)
        assert row is not None
        tx.put_ledger({Device(row.id, os.urandom(16)): 1}, {row.id: 1})
        before = tx.pending([YES]).get(YES, Pending(0, b""))
        tx.put_pending({YES: Pending(before.n + n, os.urandom(64))})


def counted(store: Store) -> int:
    with store.transaction() as tx:
        return sum(shard.n for shard in tx.all_pending().get(YES, []))


# Opening


def test_many_processes_make_the_schema_at_once(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", RACE, url],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("0 0 0 0 0 0 0 0\n", "")
    assert ask(url, "SELECT step FROM deniable.migrations") == [(1,)]
    assert ask(url, "SELECT watermark, edition FROM deniable.clock") == [(None, 0)]


def test_the_database_may_hold_other_programs_tables(url: str) -> None:
    ask(url, "CREATE TABLE public.clock (id integer); CREATE TABLE public.ledger (id integer)")
    with closing(open_store(url)) as store, store.read() as reader:
        assert reader.edition() == 0


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("CREATE SCHEMA deniable", "another program's"),
        ("CREATE SCHEMA deniable; CREATE TABLE deniable.clock (id integer)", "another program's"),
    ],
)
def test_another_programs_schema_is_refused(url: str, statement: str, problem: str) -> None:
    ask(url, statement)
    with pytest.raises(StoreError, match=problem):
        open_store(url)


def test_a_newer_schema_is_refused(store: Store, url: str) -> None:
    ask(url, "INSERT INTO deniable.migrations VALUES (1000)")
    with pytest.raises(StoreError, match="written by a newer deniable; upgrade"):
        open_store(url)


def test_a_schema_that_fails_leaves_nothing(url: str) -> None:
    """The role may use the database and nothing else."""
    ask(url, "CREATE ROLE maker LOGIN")
    with pytest.raises(StoreError, match="may not do this"):
        open_store(url.replace("postgres@", "maker@"))
    ask(url, "DROP ROLE maker")
    open_store(url).close()


def test_no_message_holds_a_password(postgres: Postgres) -> None:
    secret = "hunter2"
    place = f"host={postgres.folder}"
    for url, problem in [
        (f"postgresql://postgres:{secret}@/nowhere?{place}", "no such database; create it"),
        (f"postgresql://nobody:{secret}@/postgres?{place}", "refuses the user or the password"),
        (f"postgresql://a:{secret}@/b?host=/nowhere", "the server is not running there"),
        (f"postgresql://a:{secret}@host:port:{secret}/%zz", "URL cannot be read; write it like"),
    ]:
        with pytest.raises(StoreError, match=problem) as caught:
            open_store(url)
        assert secret not in "".join(traceback.format_exception(caught.value))


def test_the_location_names_host_and_database_only(postgres: Postgres) -> None:
    url = postgres.fresh_database().replace("postgres@", "postgres:hunter2@")
    with closing(open_store(url)) as store:
        assert store.location == f"postgresql:///{url.split('/')[3][:-6]}?host={postgres.folder}"
        assert store.keys is None


def test_a_missing_driver_is_one_line() -> None:
    program = f"import sys; sys.modules['psycopg'] = None; {OPEN}"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, "postgresql://host/name"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    text = "psycopg is not installed; pip install 'deniable[postgres]'"
    assert done.stderr.splitlines()[-1].endswith(f"MissingExtraError: {text}")


def test_a_server_that_says_nothing_is_given_up() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        port = silent.getsockname()[1]
        started = time.monotonic()
        with pytest.raises(StoreError, match=f"127.0.0.1:{port}/a: the server does not answer"):
            open_store(f"postgresql://127.0.0.1:{port}/a?connect_timeout=2")
        assert time.monotonic() - started < 5


# Settings


def test_a_commit_is_durable_whatever_the_database_says(postgres: Postgres, url: str) -> None:
    name = ask(url, "SELECT current_database()")[0][0]
    for setting in ("synchronous_commit = off", "default_transaction_read_only = on",
                    "default_transaction_isolation = 'serializable'"):  # fmt: skip
        postgres.execute(f"ALTER DATABASE {name} SET {setting}")
    with closing(open_store(url)) as store, store.counting() as tx:
        tx.probe()
        db = tx._db  # type: ignore[attr-defined]
        for setting, value in {
            "synchronous_commit": "on",
            "application_name": "deniable-collector",
            "transaction_isolation": "read committed",
            "TimeZone": "UTC",
            "lock_timeout": "25s",
        }.items():
            assert db.execute(f"SHOW {setting}").fetchone() == (value,)


def test_a_commit_that_standbys_have_applied_may_be_asked_for(postgres: Postgres, url: str) -> None:
    """It is more than the setting of one's own, which would weaken it."""
    name = ask(url, "SELECT current_database()")[0][0]
    postgres.execute(f"ALTER DATABASE {name} SET synchronous_commit = remote_apply")
    with closing(open_store(url)) as store, store.counting() as tx:
        db = tx._db  # type: ignore[attr-defined]
        assert db.execute("SHOW synchronous_commit").fetchone() == ("remote_apply",)


def test_the_servers_log_holds_no_value(postgres: Postgres, url: str) -> None:
    """Even of a server that logs every statement and every error."""
    name = ask(url, "SELECT current_database()")[0][0]
    postgres.execute(f"ALTER DATABASE {name} SET log_statement = 'all'")
    postgres.execute(f"ALTER DATABASE {name} SET log_min_error_statement = 'debug5'")
    postgres.execute(f"ALTER DATABASE {name} SET log_parameter_max_length_on_error = -1")
    tag, digest = os.urandom(16), os.urandom(32)
    with closing(open_store(url)) as store:
        with store.transaction() as tx:
            tx.put_question(SURVEY.questions["yes"])
            tx.put_token("ann", Token(digest, ()))
            tx.put_ledger({Device(1, tag): 1}, {1: 1})
            tx.put_pending({YES: Pending(1, tag)})
        with pytest.raises(StoreError), store.transaction() as tx:
            tx.put_pending({YES._replace(question=7777): Pending(1, tag)})
    log = postgres.log.read_text(errors="replace")
    assert "INSERT INTO ledger" in log
    for value in (tag, digest):
        assert value.hex() not in log


def test_no_message_holds_a_key_or_a_value(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with store.transaction() as tx:
        tx.put_released(Released(Settled(1, "2026-11-30", None, "secret"), 1, "{}"))
    with pytest.raises(StoreError, match=r"UniqueViolation \(23505\)$") as caught:
        put_twice(store)
    said = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert "secret" not in said
    assert "Key (" not in said


def put_twice(store: Store) -> None:
    place = Settled(1, "2026-11-30", None, "".join(["sec", "ret"]))
    with store.transaction() as tx:
        tx.put_released(Released(place, 1, "{}"))


# Counting beside each other


def test_counting_transactions_never_deadlock(store: Store, url: str) -> None:
    """16 threads count the same devices in every order, known ones and new ones mixed."""
    tags = [os.urandom(16) for _ in range(64)]
    with store.counting() as tx:
        row = tx.scope(DAY)
        assert row is not None
        tx.put_ledger({Device(row.id, tag): 1 for tag in tags[::2]}, {row.id: 32})
    devices = [Device(row.id, tag) for tag in tags]
    start = threading.Barrier(16)

    def work(number: int) -> int:
        bit = 2 << number
        with closing(open_store(url)) as own:
            start.wait()
            return sum(add_bit(own, devices[at:] + devices[:at], bit) for at in (0, 21, 42))

    with ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(work, number) for number in range(16)]:
            done.result()
    with store.transaction() as tx:
        bits = tx.answered(devices)
    assert set(bits.values()) == {(2 << 16) - 1, (2 << 16) - 2}
    clients = "FROM pg_stat_activity WHERE datname = current_database()"
    wait_until(lambda: ask(url, f"SELECT count(*) {clients}") == [(2,)])  # who left has told all
    assert ask(
        url, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    ) == [(0,)]


def add_bit(store: Store, devices: list[Device], bit: int) -> int:
    """Set a bit of every device, again from the start after a conflict."""
    while True:
        try:
            with store.counting() as tx:
                known = tx.answered(devices)
                new = sum(device not in known for device in devices)
                changed = {device: known.get(device, 0) | bit for device in devices}
                tx.put_ledger(changed, {devices[0].scope: new})
        except ConflictError:
            continue
        return new


def test_a_device_that_another_counts_is_a_conflict(store: Store, url: str) -> None:
    """The second to insert it waits for the first, and then starts again."""
    with closing(open_store(url)) as other, ThreadPoolExecutor(1) as pool:
        with store.counting() as tx:
            row = tx.scope(DAY)
            assert row is not None
            device = Device(row.id, os.urandom(16))
            tx.put_ledger({device: 1}, {row.id: 1})
            second = pool.submit(insert, other, device)
            wait_until(lambda: ask(url, "SELECT 1 FROM pg_locks WHERE NOT granted"))
        with pytest.raises(ConflictError):
            second.result()
    with store.transaction() as tx:
        assert tx.answered([device]) == {device: 1}
        found = tx.scope(DAY)
        assert found is not None
        assert found.devices == 1


def insert(store: Store, *devices: Device) -> None:
    with store.counting() as tx:
        assert tx.answered(devices) == {}
        tx.put_ledger(dict.fromkeys(devices, 2), {devices[0].scope: len(devices)})


def test_new_devices_are_inserted_in_one_order(store: Store, url: str) -> None:
    """Two that insert the same three wait for one in the middle, and never for each other."""
    with store.read() as reader:
        row = reader.scope(DAY)
    assert row is not None
    devices = [Device(row.id, bytes([number] * 16)) for number in range(3)]
    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with closing(open_store(url)) as other, ThreadPoolExecutor(2) as pool:
        with psycopg.connect(url) as holder:
            holder.execute("INSERT INTO deniable.ledger VALUES (%s, %s, '')", devices[1])
            work = [
                pool.submit(insert, store, *devices),
                pool.submit(insert, other, *reversed(devices)),
            ]
            wait_until(lambda: ask(url, waiting) == [(2,)])
            holder.rollback()
        problems = [str(one.exception()) for one in work if one.exception()]
    assert problems == ["ledger: another process counted the same device"]


def test_a_transaction_that_the_server_gave_up_is_no_success(store: Store) -> None:
    """It answers COMMIT with ROLLBACK, and with no error."""
    with pytest.raises(StoreError, match="the transaction had failed"):
        fail_unheard(store)
    count(store)
    assert counted(store) == 1


def fail_unheard(store: Store) -> None:
    with store.counting() as tx, suppress(psycopg.Error):
        tx.probe()
        tx._db.execute("SELECT 1 / 0")  # type: ignore[attr-defined]


def test_a_row_that_is_held_is_swept_later(store: Store, url: str) -> None:
    with store.transaction() as tx:
        row = tx.scope(DAY)
        assert row is not None
        tx.put_ledger({Device(row.id, os.urandom(16)): 1 for _ in range(3)}, {row.id: 3})
        tx.close_scope(DAY)
    with psycopg.connect(url) as holder:
        holder.execute("SELECT 1 FROM deniable.ledger LIMIT 1 FOR UPDATE")
        assert sweep(store) == 2
    assert sweep(store) == 1
    assert ask(url, "SELECT count(*) FROM deniable.ledger") == [(0,)]


def sweep(store: Store) -> int:
    with store.transaction() as tx:
        return tx.sweep(100)


def test_sealed_reports_keep_no_order(store: Store, url: str) -> None:
    """Not where they lie within a commit, nor by their places over all.

    Kendall's tau; 6.2 standard deviations have odds < 1e-9.
    """
    commits = [[os.urandom(40) for _ in range(100)] for _ in range(2)]
    for reports in commits:
        with store.counting() as tx:
            tx.add_sealed({YES: reports})
    laid = [row for (row,) in ask(url, "SELECT body FROM deniable.sealed ORDER BY ctid")]
    with store.transaction() as tx:
        placed = list(tx.sealed(YES))
    everything = commits[0] + commits[1]
    for arrived, kept in ((commits[0], laid), (commits[1], laid), (everything, placed)):
        n = len(arrived)
        limit = 6.2 * (2 * (2 * n + 5) / (9 * n * (n - 1))) ** 0.5
        assert abs(kendalltau(range(n), [kept.index(one) for one in arrived]).statistic) < limit


def test_when_every_shard_is_taken_one_waits(store: Store, url: str) -> None:
    with psycopg.connect(url, autocommit=True) as holder, ThreadPoolExecutor(1) as pool:
        holder.execute(
            "SELECT pg_advisory_lock(%s, shard) FROM generate_series(0, %s) AS shard",
            (locks.NAMESPACE, locks.SHARDS - 1),
        )
        waiting = pool.submit(count, store)
        wait_until(lambda: ask(url, "SELECT 1 FROM pg_locks WHERE NOT granted"))
        holder.execute("SELECT pg_advisory_unlock_all()")
        waiting.result()
    assert counted(store) == 1


def test_a_release_gets_its_turn(store: Store, url: str) -> None:
    """Who comes to count while a release waits for another that counts, comes after it."""
    order: list[str] = []

    def release(own: Store) -> None:
        with own.transaction() as tx:
            tx.probe()
            order.append("released")

    def count_late(own: Store) -> None:
        count(own)
        order.append("counted")

    waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
    with (
        ThreadPoolExecutor(2) as pool,
        closing(open_store(url)) as second,
        closing(open_store(url)) as third,
    ):
        with store.counting() as tx:
            tx.probe()
            work = [pool.submit(release, second)]
            wait_until(lambda: ask(url, waiting) == [(1,)])
            work.append(pool.submit(count_late, third))
            wait_until(lambda: ask(url, waiting) == [(2,)] or order)
        for done in work:
            done.result()
    assert order == ["released", "counted"]


def test_tallies_do_not_grow_with_their_versions(store: Store, url: str) -> None:
    """The room that a table leaves in its pages takes the next version of every tally."""
    keys = [YES._replace(period=f"2026-W{week:02}", segment=f"{week}") for week in range(1, 500)]

    def rewritten() -> int:
        with store.counting() as tx:
            tx.put_pending({key: Pending(1, os.urandom(64)) for key in keys})
        return int(ask(url, "SELECT pg_relation_size('deniable.pending')")[0][0])

    first = rewritten()
    assert [rewritten() for _ in range(20)] == [first] * 20


# Outages


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_server_that_comes_back_is_used_again(postgres: Postgres, url: str, end: str) -> None:
    with closing(open_store(url)) as store:
        with store.transaction() as tx:
            tx.put_question(SURVEY.questions["yes"])
            tx.add_scope(DAY, b"")
        with store.attend():
            count(store)
            with store.read(), store.read():
                pass
            getattr(postgres, end)()
            for open_one in (store.counting, store.transaction, store.read, store.alone):
                started = time.monotonic()
                with pytest.raises(StoreError, match="the server is not running there"):
                    open_one().__enter__()
                assert time.monotonic() - started < 5
            postgres.start()
            count(store)
            assert counted(store) == 2
            with pytest.raises(StoreError, match="running collector"), store.alone():
                pass


def test_a_server_lost_in_a_transaction_undoes_it(postgres: Postgres, url: str) -> None:
    with closing(open_store(url)) as store:
        with store.transaction() as tx:
            tx.put_question(SURVEY.questions["yes"])
        with pytest.raises(StoreError, match=r"shutting down|is lost"):
            count_until(store, postgres.stop)
        postgres.start()
        assert counted(store) == 0


def count_until(store: Store, end: Callable[[], None]) -> None:
    with store.counting() as tx:
        tx.put_pending({YES: Pending(1, b"")})
        end()


def test_presence_is_told_again_after_its_connection_was_cut(store: Store, url: str) -> None:
    cut = (
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks WHERE locktype = 'advisory'"
        f" AND (classid, objid) = ({locks.NAMESPACE}, {locks.ATTENDING})"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    with closing(open_store(url)) as other, store.attend():
        assert ask(url, cut) == [(True,)]
        with other.alone(), pytest.raises(StoreError, match="held by a command"):
            count(store)
        count(store)
        with pytest.raises(StoreError, match="running collector"):
            other.alone().__enter__()


def test_a_schema_is_not_changed_under_an_older_collector(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = (*postgres_schema.STEPS, "CREATE TABLE later (id integer)")
    monkeypatch.setattr(postgres_schema, "STEPS", steps)
    later = "SELECT to_regclass('deniable.later') IS NOT NULL"
    with store.attend():
        with pytest.raises(StoreError, match="stop the running collector first"):
            open_store(url)
        assert ask(url, later) == [(False,)]
    open_store(url).close()
    assert ask(url, later) == [(True,)]
    with store.attend():
        open_store(url).close()


def test_a_process_that_is_killed_lets_go(url: str) -> None:
    program = (
        "import sys; from deniable.collector.store import open_store\n"
        "with open_store(sys.argv[1]).attend(): print('here', flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", program, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process, closing(open_store(url)) as store:
        assert process.stdout is not None
        assert process.stdout.readline() == b"here\n"
        with pytest.raises(StoreError, match="running collector"):
            store.alone().__enter__()
        process.kill()
        process.wait()
        wait_until(lambda: free(store))


def free(store: Store) -> bool:
    try:
        with store.alone():
            return True
    except StoreError:
        return False


# The analysts' role


def test_an_analyst_reads_what_was_released_and_nothing_else(
    postgres: Postgres, store: Store, url: str
) -> None:
    count(store)
    with store.transaction() as tx:
        tx.put_released(Released(Settled(1, "2026-11-29", None, None), 5, "{}"))
    role = f'an"alyst {os.getpid()}'
    ask(url, analyst_role_sql(role))
    try:
        with psycopg.connect(url, user=role, autocommit=True) as analyst:
            check_rights(analyst, url)
    finally:
        quoted = role.replace('"', '""')
        ask(url, f'DROP OWNED BY "{quoted}"; DROP ROLE "{quoted}"')


def check_rights(analyst: psycopg.Connection, url: str) -> None:
    assert analyst.execute("SELECT n FROM deniable.released_tallies").fetchall() == [(5,)]
    assert analyst.execute("SELECT n FROM released_tallies").fetchall() == [(5,)]
    assert analyst.execute("SELECT * FROM deniable.released_batches").fetchall() == []
    crowds = analyst.execute("SELECT crowd FROM deniable.period_states ORDER BY 1").fetchall()
    assert crowds == [("0-9",), ("5",)]
    relations = "SELECT relname FROM pg_class WHERE relnamespace = 'deniable'::regnamespace"
    tables = [name for (name,) in ask(url, f"{relations} AND relkind IN ('r', 'S')")]
    assert {"ledger", "pending", "sealed", "tokens", "questions", "released"} <= {*tables}
    hidden = [f"deniable.{name}" for name in tables]
    for name in [*hidden, "pg_statistic", "pg_authid", "pg_catalog.pg_hba_file_rules"]:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            analyst.execute(f"SELECT * FROM {name}")
    analyst.execute("SET default_transaction_read_only = off")
    for statement in ("DELETE FROM deniable.released", "CREATE TABLE deniable.x ()"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            analyst.execute(statement)
    for query in (
        "SELECT * FROM pg_stats WHERE schemaname = 'deniable'",
        "SELECT * FROM pg_stat_activity WHERE application_name = 'deniable-collector'"
        " AND query NOT IN ('<insufficient privilege>')",
    ):
        assert analyst.execute(query).fetchall() == []


SIZES = (
    "SELECT n_tup_ins FROM pg_stat_all_tables WHERE relname = 'ledger'",
    "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'ledger'",
    "SELECT idx_scan FROM pg_stat_all_indexes WHERE relname = 'ledger'",
    "SELECT heap_blks_hit FROM pg_statio_all_tables WHERE relname = 'ledger'",
    "SELECT n_tup_ins FROM pg_stat_xact_all_tables WHERE relname = 'ledger'",
    "SELECT tup_inserted FROM pg_stat_database WHERE datname = current_database()",
    "SELECT pg_stat_get_tuples_inserted({ledger}::oid)",
    "SELECT pg_total_relation_size({ledger}::oid::regclass)",
    "SELECT pg_database_size(current_database())",
    "SELECT reltuples FROM pg_class WHERE relname = 'ledger'",
    "SELECT relpages FROM pg_class WHERE relname = 'ledger'",
    "SELECT c FROM pg_class c WHERE relname = 'ledger'",
)
"""What tells the number of devices that are in a period."""


def test_an_analyst_asks_the_server_for_sizes_in_vain(
    postgres: Postgres, store: Store, url: str
) -> None:
    count(store)
    role, owner = f"asker_{os.getpid()}", f"owner_{os.getpid()}"
    ask(url, f"CREATE ROLE {owner} LOGIN; ALTER SCHEMA deniable OWNER TO {owner}")
    ask(url, analyst_role_sql(role))
    ((ledger,),) = ask(url, "SELECT 'deniable.ledger'::regclass::oid")
    try:
        with (
            psycopg.connect(url, user=role, autocommit=True) as analyst,
            psycopg.connect(url, user=owner, autocommit=True) as trusted,
        ):
            for query in SIZES:
                assert len(analyst.execute(query.format(ledger=ledger)).fetchall()) == 1
            for _ in range(2):
                ask(url, hide_sizes_sql())
            for query in SIZES:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    analyst.execute(query.format(ledger=ledger))
                assert len(trusted.execute(query.format(ledger=ledger)).fetchall()) == 1
            check_views(analyst)
        described = postgres.run("psql", "-U", role, "-Atc", "\\dv deniable.*", url)
        assert described.count("|view|") == 3
    finally:
        ask(url, f"ALTER SCHEMA deniable OWNER TO postgres; DROP OWNED BY {role}, {owner}")
        ask(url, f"DROP ROLE {role}, {owner}")


def check_views(analyst: psycopg.Connection) -> None:
    for view in ("released_tallies", "released_batches", "period_states"):
        analyst.execute(f"SELECT * FROM deniable.{view}").fetchall()


def test_a_role_that_slips_writes_nothing(store: Store, url: str) -> None:
    role = f"careless_{os.getpid()}"
    ask(url, analyst_role_sql(role))
    try:
        with (
            psycopg.connect(url, user=role, autocommit=True) as analyst,
            pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
        ):
            analyst.execute("CREATE TEMPORARY TABLE x ()")
    finally:
        ask(url, f"DROP OWNED BY {role}; DROP ROLE {role}")


@pytest.mark.parametrize("name", ["", "pg_me", "a\0b", "é" * 32])
def test_a_name_that_is_no_role_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match="role must be a name"):
        analyst_role_sql(name)


def test_the_file_says_the_same_to_psql(postgres: Postgres, store: Store, url: str) -> None:
    import deniable.collector.store.analyst_role as module

    path = Path(module.__file__).with_name("analyst_role.sql")
    role = f"by_psql_{os.getpid()}"
    copy = postgres.folder / "role.sql"
    copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
    postgres.run("psql", "--set", f"role={role}", "--set", "ON_ERROR_STOP=1", "-q", "-f",
                 str(copy), url)  # fmt: skip
    try:
        with psycopg.connect(url, user=role) as analyst:
            assert analyst.execute("SELECT * FROM deniable.released_tallies").fetchall() == []
    finally:
        ask(url, f"DROP OWNED BY {role}; DROP ROLE {role}")
