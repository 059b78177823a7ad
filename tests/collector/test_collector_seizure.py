"""Who seizes a collector's disks joins no device to a response: every attack we could think of.

Each attack is shown to work where there is something to find: on a collector without encryption,
with the key, or on what was planted.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from collector_kit import make_survey, new_device, some_response
from scipy.stats import kendalltau
from sealed_kit import key, public
from seizure_kit import (
    DAY,
    ODDS,
    Dump,
    Features,
    Site,
    differences,
    likeliest,
    matches,
    running_site,
    search,
    spellings,
)
from servers import Postgres

from deniable.client.sealing import Sealer
from deniable.collector import commit, scope_key, shuffler
from deniable.collector.backup import write_backup
from deniable.collector.cli import main
from deniable.collector.keystore import open_keystore
from deniable.collector.scope_key import Place, ScopeKey
from deniable.collector.store import open_store
from deniable.collector.store.base import Device, PendingKey, Scope
from deniable.protocol.report import parse_device, report_document, request_document
from deniable.protocol.response import Response, decode_base64url
from deniable.protocol.sealing import SealingKey, sealed_size
from deniable.protocol.survey import Survey

SITES = ("sqlite", "postgresql")
CHOICES = 200
DEVICES = 30
COMMITS = 64
LOUD = {"log_statement": "all", "log_min_duration_statement": "0"}
"""A server whose log holds every statement, with its values if the collector cannot forbid it."""


def survey_with(*keys: SealingKey) -> Survey:
    return make_survey(
        {
            "yes": {"min_crowd": 10},
            "bits": {
                "min_crowd": 10,
                "type": "choice",
                "choices": [f"choice {n}" for n in range(CHOICES)],
                "mechanism": "oue",
            },
            "secret": {"min_crowd": 10, "sealed": True, "epsilon_first": 1},
        },
        sealing_keys=[one.document() for one in keys],
    )


SURVEY = survey_with(public(key()))
MASKS = [0, 0]
"""What devices answer to the second question that say no, or yes, to the others."""


@pytest.fixture(autouse=True)
def draw_masks(request: pytest.FixtureRequest) -> None:
    """Other ones in each test, for a server's log remembers those before."""
    for answer in (0, 1):
        rng = random.Random(f"{request.node.name} {answer}")
        MASKS[answer] = some_response(SURVEY.questions["bits"], rng).out


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server of its own, whose log and write-ahead log hold nothing of other tests."""
    started = Postgres({"max_wal_size": "48MB"})
    started.execute("CREATE ROLE collector LOGIN")
    yield started
    started.close()


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    kind = getattr(request, "param", "postgresql")
    postgres = request.getfixturevalue("server") if kind == "postgresql" else None
    with running_site(SURVEY, tmp_path, postgres, **LOUD) as running:
        yield running


on_both = pytest.mark.parametrize("site", SITES, indirect=True)


def reports(answer: int, survey: Survey = SURVEY) -> list[Any]:
    """What a device sends that answers everything alike."""
    sealer = Sealer(survey)
    assert sealer.ready()
    secret = survey.questions["secret"]
    wires = {
        "yes": answer,
        "bits": survey.questions["bits"].mechanism.shape.pack(Response(MASKS[answer])),
        "secret": sealer.seal(secret, DAY, None, Response(answer))[1],
    }
    asked = [(survey.questions[name], wire) for name, wire in wires.items()]
    return [report_document(q.id, q.version, q.wire_hash, wire) for q, wire in asked]


def send(site: Site, answer: int, device: str | None = None, survey: Survey = SURVEY) -> bytes:
    """Send a device's reports, which one commit counts; return its sealed response."""
    sent = reports(answer, survey)
    body = request_document("test", DAY, None, device or new_device(), sent)
    assert site.running.post(body).json["accepted"] == 3
    return decode_base64url(str(sent[2]["response"][1]))


def half_and_half(n: int) -> list[int]:
    return random.Random(20261130).sample([0, 1] * (n // 2), n)


# Two dumps between commits


@pytest.mark.parametrize(
    ("site", "encryption"),
    [
        ("sqlite", "as it is"),
        ("sqlite", "none"),
        ("sqlite", "under one nonce"),
        ("postgresql", "as it is"),
        ("postgresql", "none"),
    ],
    indirect=["site"],
)
def test_what_a_commit_changed_does_not_tell_the_answer(
    site: Site, encryption: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dump after each of 64 commits of one device; no bit of what changed follows the answer."""
    if encryption == "none":
        without_encryption(monkeypatch)
    elif encryption == "under one nonce":
        monkeypatch.setattr(scope_key, "_seal", seal_under_one_nonce)
    answers = half_and_half(COMMITS)
    send(site, 0)
    dumps, files = [site.dump()], [store_file(site)]
    for answer in answers:
        send(site, answer)
        dumps.append(site.dump())
        files.append(store_file(site))
    traces = [differences(before, after) for before, after in pairwise(dumps)]
    assert {"pending 0 4 xor", "pending 0 7 xor"} & traces[5].keys()
    assert (likeliest(traces, answers) < ODDS) is (encryption != "as it is")
    if encryption == "as it is":
        assert likeliest([changed_bytes(*two) for two in pairwise(files)], answers) >= ODDS


def without_encryption(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the store would hold if it were given what it is given in the clear."""
    monkeypatch.setattr(ScopeKey, "seal_tally", lambda self, place, shard, n, cells: cells)
    monkeypatch.setattr(ScopeKey, "open_tally", lambda self, place, shard, n, cells: cells)
    monkeypatch.setattr(ScopeKey, "seal_reports", lambda self, place, reports: reports)
    monkeypatch.setattr(ScopeKey, "report_opener", lambda self, place: bytes)


def seal_under_one_nonce(cipher: Any, data: bytes, associated: bytes) -> bytes:
    return bytes(12) + bytes(cipher.encrypt(bytes(12), data, associated))


def store_file(site: Site) -> bytes:
    return b"" if site.postgres else (site.folder / "collector.db").read_bytes()


def changed_bytes(before: bytes, after: bytes) -> Features:
    """The file of an SQLite store after a commit, and what is other than before."""
    old = np.frombuffer(before.ljust(len(after), b"\0"), np.uint8)
    changed = np.frombuffer(after, np.uint8) ^ old
    count = int(np.count_nonzero(changed))
    return {"xor": changed.tobytes(), "count": count.to_bytes(4, "little")}


@on_both
def test_a_commit_changes_marks_numbers_and_ciphertexts(site: Site) -> None:
    """One device's reports: a ledger row and a sealed one are new, n and ciphertexts others."""
    for answer in half_and_half(10):
        send(site, answer)
    before = dumped(site)
    send(site, 1)
    after = dumped(site)
    gone, come = before - after, after - before
    assert sorted({table for table, _ in gone}) in (
        ["pending", "scopes"],
        ["pending", "scope_devices"],
    )
    assert {table for table, _ in come} == {"ledger", "sealed"} | {table for table, _ in gone}
    assert len(come) == len(gone) + 2 == 6
    send(site, 0)
    again = dumped(site) - after
    assert sizes(again) == sizes(come)


def sizes(rows: set[tuple[str, str]]) -> list[tuple[str, int]]:
    return sorted((table, len(line)) for table, line in rows)


def dumped(site: Site) -> set[tuple[str, str]]:
    """The rows of a dump as an administrator makes it, each with its table."""
    if site.postgres is None:
        with closing(sqlite3.connect(site.folder / "collector.db")) as connection:
            lines = [line for line in connection.iterdump() if line.startswith("INSERT")]
        return {(line.split('"')[1], line) for line in lines}
    text = site.postgres.run(
        "pg_dump", "--data-only", "--inserts", site.postgres.url(site.database)
    )
    found = re.findall(r"^INSERT INTO deniable\.(\w+) (.*)$", text, re.MULTILINE)
    return {(table, line) for table, line in found}


# Searching all that was written


@on_both
def test_no_file_holds_what_a_device_sent(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in mid-period nor after the release: dead rows, journals, logs, dumps included."""
    if site.postgres is None:
        copy_in_mid_transaction(site, monkeypatch)
    answers = half_and_half(DEVICES)
    devices = [new_device() for _ in answers]
    sealed = {send(site, answer, device) for answer, device in zip(answers, devices, strict=True)}
    tags = {site.tag(parse_device(device)) for device in devices}
    (kept,) = site.keys
    versions = cells_after(answers)
    hidden = {parse_device(device) for device in devices} | {kept, *versions, *sealed}
    hidden |= {mask.to_bytes(CHOICES // 8, "little") for mask in MASKS}
    hidden |= {cells_after([answer])[0] for answer in (0, 1)}
    write_backup(site.running.collector.store, site.folder / "backup.db")
    taken = site.dump()

    files = site.files()
    assert search(files, hidden) == set()
    assert search(files, tags) == tags
    backup = {"": (site.folder / "backup.db").read_bytes()}
    assert search(backup, hidden | tags | ciphertexts(taken)) == set()

    site.running.release(days=4)
    assert site.keys == []
    site.copies.clear()
    files = site.files()
    assert search(files, hidden) == sealed
    assert search(files, tags | ciphertexts(taken)) == (
        set() if site.postgres is None else tags | ciphertexts(taken)
    )
    tallies = [json.loads(text) for (text,) in site.ask("SELECT document FROM released_tallies")]
    assert np.frombuffer(versions[-1], "<i8").tolist() in [tally["cells"] for tally in tallies]


def copy_in_mid_transaction(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what an SQLite store and its journal hold just before each commit."""

    def counted(*arguments: Any) -> None:
        shuffler.count_group(*arguments)
        files = [path for path in site.folder.glob("collector.db*") if path.is_file()]
        for path in files:
            site.copies[f"{len(site.copies)} {path.name}"] = path.read_bytes()
        assert any(path.name.endswith("-journal") and path.stat().st_size for path in files)

    monkeypatch.setattr(commit, "count_group", counted)


def cells_after(answers: list[int]) -> list[bytes]:
    """The tally of the second question in the clear, after each report."""
    masks = [[MASKS[answer] >> bit & 1 for bit in range(CHOICES)] + [1] for answer in answers]
    return [row.tobytes() for row in np.cumsum(masks, axis=0).astype("<i8")]


def ciphertexts(dump: Dump) -> set[bytes]:
    """What waits encrypted, of the questions that are not sealed and of those that are."""
    rows = dump["pending"] + dump["sealed"]
    return {row[-1] for row in rows if row[-1]}


@on_both
def test_the_search_finds_what_was_there(site: Site) -> None:
    """Rows in the clear, written and then deleted, beside those of the collector."""
    device, cells = parse_device(new_device()), cells_after([0, 1, 1])[-1]
    column = "bytea" if site.postgres else "BLOB"
    binary = r"'\x{}'" if site.postgres else "x'{}'"
    values = ", ".join(f"({binary.format(secret.hex())})" for secret in (device, cells))
    planted = f"CREATE TABLE planted (row {column})", f"INSERT INTO planted VALUES {values}"
    if site.postgres is None:
        with closing(sqlite3.connect(site.folder / "collector.db")) as connection:
            connection.execute("PRAGMA secure_delete = OFF")
            for statement in (*planted, "DELETE FROM planted"):
                connection.execute(statement)
            connection.commit()
    else:
        for statement in (*planted, "DELETE FROM planted"):
            site.ask(statement)
    assert search(site.files(), {device, cells}) == {device, cells}


def test_every_spelling_is_found() -> None:
    secret = parse_device(new_device())
    for number, needle in enumerate(spellings(secret)):
        content = bytes(number) + needle + b"\0"
        assert search({"": content}, [secret, bytes(16)]) == {secret}
    assert search({"": secret[:15], "empty": b""}, [secret]) == set()


def test_what_was_taken_in_mid_period_opens_with_its_key_only(tmp_path: Path) -> None:
    """The key is what protects a dump; the release destroys it."""
    with running_site(SURVEY, tmp_path, None) as site:
        answers = half_and_half(DEVICES)
        for answer in answers:
            send(site, answer)
        (kept,) = site.keys
        rows = [row for row in site.dump()["pending"] if row[-1]]
        site.running.release(days=4)
        assert site.keys == []
    places = [Place(SURVEY.questions[name].hash, DAY, None) for name in ("yes", "bits")]
    scope = Scope("test", DAY)
    opened = [
        ScopeKey(scope, kept).open_tally(place, 0, DEVICES, row[-1])
        for place, row in zip(places, rows, strict=True)
    ]
    assert opened[1] == cells_after(answers)[-1]
    for place, row in zip(places, rows, strict=True):
        with pytest.raises(scope_key.UnreadableError):
            ScopeKey(scope, bytes(32)).open_tally(place, 0, DEVICES, row[-1])


# Order, and what was committed together


@pytest.mark.parametrize("encrypted", [True, False])
@on_both
def test_a_waiting_row_cannot_be_found_in_the_released_batch(
    site: Site, encrypted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the transaction that joins it with a mark joins no released ciphertext with one."""
    if not encrypted:
        without_encryption(monkeypatch)
    for answer in half_and_half(DEVICES):
        send(site, answer)
    rows = [row[-1] for row in site.dump()["sealed"]]
    released = batch(site)
    assert len(rows) == len(released) == DEVICES
    assert len({len(row) for row in rows}) == 1
    assert matches(rows, released) == (0 if encrypted else DEVICES)


def batch(site: Site) -> list[bytes]:
    """Release, and return the ciphertexts of the batch in their order."""
    site.running.release(days=4)
    ((document,),) = site.ask("SELECT document FROM released_batches")
    return [decode_base64url(text) for _, text in json.loads(document)["reports"]]


def test_postgresql_joins_marks_with_marks_and_ciphertexts(site: Site) -> None:
    """What its heap and its log do tell: which rows were committed together, when, in what order.

    The order of what is released has nothing of it; 6.2 standard deviations have odds < 1e-9.
    """
    assert site.postgres is not None
    ((first,),) = site.ask("SELECT pg_current_wal_lsn()::text")
    devices = [new_device() for _ in range(COMMITS)]
    sealed = [send(site, n % 2, device) for n, device in enumerate(devices)]
    ((last,),) = site.ask("SELECT pg_current_wal_lsn()::text")
    marks = site.ask("SELECT tag, xmin::text FROM ledger ORDER BY ctid")
    waiting = site.ask("SELECT body, xmin::text FROM sealed ORDER BY ctid")
    assert [tag for tag, _ in marks] == [site.tag(parse_device(device)) for device in devices]
    assert [xmin for _, xmin in marks] == [xmin for _, xmin in waiting]
    text = site.postgres.run("pg_waldump", "--path", str(site.postgres.data / "pg_wal"),
                             "--start", first, "--end", last)  # fmt: skip
    commits = dict(re.findall(r"tx: +(\d+),.*desc: COMMIT (\S+ \S+)", text))
    assert {xmin for _, xmin in marks} <= commits.keys()
    released = batch(site)
    places = [released.index(one) for one in sealed]
    assert abs(kendalltau(range(COMMITS), places).statistic) < tau_limit(COMMITS)


def test_postgresql_keeps_no_order_within_a_commit(site: Site) -> None:
    """Neither of the marks nor of the sealed reports of requests that were counted together."""
    n = 400
    tags = [random.Random(f"tag {number}").randbytes(16) for number in range(n)]
    sealed = [random.Random(f"body {number}").randbytes(100) for number in range(n)]
    send(site, 0)
    ((scope, question),) = site.ask("SELECT s.id, q.id FROM scopes s, questions q"
                                    " WHERE q.question = 'secret'")  # fmt: skip
    with site.running.collector.store.counting() as tx:
        tx.put_ledger({Device(scope, tag): 1 for tag in tags}, {scope: n})
        tx.add_sealed({PendingKey(question, DAY, None): sealed})
    for table, column, arrived in (("ledger", "tag", tags), ("sealed", "body", sealed)):
        rows = [row for (row,) in site.ask(f"SELECT {column} FROM {table} ORDER BY ctid")]
        places = [rows.index(one) for one in arrived]
        assert abs(kendalltau(range(n), places).statistic) < tau_limit(n)


PAGE_ORDER = 0.06
"""What the order within pages may add: measured 0.02 to 0.04 from a hundred reports on."""


def tau_limit(n: int) -> float:
    return 6.2 * float((2 * (2 * n + 5) / (9 * n * (n - 1))) ** 0.5)


@pytest.mark.parametrize("size", [100, 1200, 9500])
@pytest.mark.parametrize("n", [24, 400])
def test_an_sqlite_file_keeps_no_order_of_sealed_reports(tmp_path: Path, n: int, size: int) -> None:
    """By bytes, whether they are few or many, short or too long for a page."""
    reports = [random.Random(number).randbytes(size) for number in range(n)]
    path, place = tmp_path / "collector.db", PendingKey(1, DAY, None)
    with closing(open_store(str(path))) as store:
        with store.transaction() as tx:
            tx.put_question(SURVEY.questions["yes"])
            for report in reports:
                tx.add_sealed({place: [report]})
        with store.transaction() as tx:
            assert sorted(tx.sealed(place)) == sorted(reports)
    content = path.read_bytes()
    for piece in (slice(0, 8), slice(size - 8, size)):
        places = [content.index(report[piece]) for report in reports]
        assert abs(kendalltau(range(n), places).statistic) < tau_limit(n) + PAGE_ORDER


def test_a_waiting_row_does_not_tell_which_key_it_was_sealed_for(tmp_path: Path) -> None:
    """For a released report does, and a rare key would join it with the mark beside the row."""
    old, new = key(), key("a-much-longer-name", "mlkem768-x25519")
    editions = [survey_with(public(old), public(new, "pending"))]
    editions.append(survey_with(public(old, "pending"), public(new)))
    question = editions[0].questions["secret"]
    assert sealed_size(question, old.suite) != sealed_size(question, new.suite)
    with running_site(editions[0], tmp_path, None) as site:
        sealed = {send(site, 1, survey=editions[number % 2]) for number in range(10)}
        rows = site.dump()["sealed"]
        assert set(batch(site)) == sealed
    whole: dict[bytes, int] = {}
    for *_, place, piece in rows:
        whole[place[1:]] = whole.get(place[1:], 0) + len(piece)
    assert len(whole) == 10
    assert len(set(whole.values())) == 1


# The server's log


@pytest.mark.parametrize(
    ("role", "settings", "told"),
    [("collector", {}, False), ("collector", LOUD, True), ("postgres", LOUD, False)],
)
def test_the_servers_log_holds_marks_and_ciphertexts_at_most(
    server: Postgres, tmp_path: Path, role: str, settings: dict[str, str], told: bool
) -> None:
    """And these only if it logs every statement, for a role that may not forbid values."""
    before = server.log.stat().st_size
    devices = [new_device() for _ in range(DEVICES)]
    with running_site(SURVEY, tmp_path, server, role, **settings) as site:
        sealed = {send(site, n % 2, device) for n, device in enumerate(devices)}
        hidden = {parse_device(device) for device in devices} | {*site.keys, *sealed}
        hidden |= set(cells_after([n % 2 for n in range(DEVICES)]))
        visible = {site.tag(parse_device(device)) for device in devices} | ciphertexts(site.dump())
    log = {"": server.log.read_bytes()[before:]}
    assert search(log, hidden) == set()
    assert search(log, visible) == (visible if told else set())


def test_the_key_servers_log_holds_no_key(server: Postgres) -> None:
    """One that logs every statement, for a role that may not forbid values."""
    database = server.fresh_database().split("/")[3].split("?")[0]
    server.execute(f"ALTER DATABASE {database} OWNER TO collector")
    for name, value in LOUD.items():
        server.execute(f"ALTER DATABASE {database} SET {name} = '{value}'")
    before = server.log.stat().st_size
    first, second = random.randbytes(32), random.randbytes(32)
    with closing(open_keystore(server.url(database, "collector"))) as keys:
        assert keys.put_if_absent("test.2026-11-30", first) == first
        assert keys.put_if_absent("test.2026-11-30", second) == first
        assert keys.get("test.2026-11-30") == first
        keys.delete("test.2026-11-30")
    log = server.log.read_bytes()[before:]
    assert b"DELETE FROM deniable_keys.keys" in log
    assert search({"": log}, [first, second]) == set()


# The doors


@pytest.mark.parametrize("kind", SITES)
def test_no_door_tells_one_small_crowd_from_another(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Nine devices that all say yes look like nine that all say no, and like two."""
    server = request.getfixturevalue("server") if kind == "postgresql" else None
    seen = [
        what_is_shown(tmp_path / str(number), server, answers)
        for number, answers in enumerate(([0] * 9, [1] * 9, [0, 1]))
    ]
    assert seen[0] == seen[1]
    unlike = {line for line in seen[2].splitlines() if line not in seen[0].splitlines()}
    assert all(line.startswith(METERS) for line in unlike), unlike


METERS = ("deniable_reports_accepted_total", "deniable_reports_lag_total", "deniable_commit_")
"""What tells how many reports a process took in, of all surveys together."""


def what_is_shown(folder: Path, server: Postgres | None, answers: list[int]) -> str:
    """Everything that the collector's doors and commands say, but for times and names."""
    folder.mkdir()
    with running_site(SURVEY, folder, server) as site:
        for answer in answers:
            send(site, answer)
        places = ["--store", site.store]
        token = run("token", "create", "ann", "--scope", "analyst", "--scope", "operator",
                    "--scope", "metrics", *places).strip()  # fmt: skip
        bearer = {"Authorization": f"Bearer {token}"}
        paths = ["/metrics", "/v1/periods", "/v1/survey/test", "/readyz", "/livez"]
        paths += [f"/v1/{kind}/test/{name}" for kind in ("tallies", "batches")
                  for name in SURVEY.questions]  # fmt: skip
        said = [site.running.ask("GET", path, headers=bearer).body.decode() for path in paths]
        said += [run("status", *places), run("status", "--format", "json", *places)]
        said.append(run("doctor", *places, "--keys", str(site.folder / "keys")))
    text = "\n".join(said).replace(str(folder), "FOLDER").replace(site.database or "-", "-")
    return "\n".join(line for line in text.splitlines() if not TIMES.search(line))


TIMES = re.compile(r"^process_|_created|_seconds|python_|_age|MiB free")


def run(*arguments: str) -> str:
    """Run a command of the collector in this process."""
    result = CliRunner().invoke(main, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.output
