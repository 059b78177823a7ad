"""What who writes to the database, but has no keys, can make a release say: nothing false."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from collector_kit import Clock, InProcess, make_survey, new_device, request_body
from sealed_kit import key, public, sealed_question
from servers import Postgres

from deniable.client.sealing import Sealer
from deniable.collector.app import close_app, create_app
from deniable.collector.config import Config
from deniable.collector.release import Closing, close_periods
from deniable.collector.store.postgres_locks import NAMESPACE
from deniable.protocol.report import report_document, request_document
from deniable.protocol.response import Response
from deniable.protocol.survey import Survey

DAY = "2026-11-30"
CROWD = 10
SURVEY = make_survey(
    {"yes": {"min_crowd": CROWD}, "secret": sealed_question()},
    sealing_keys=[public(key()).document()],
)
LONG = make_survey(
    {
        "secret": sealed_question(
            type="choice", choices=[f"c{n}" for n in range(4000)], mechanism="oue"
        )
    },
    sealing_keys=[public(key()).document()],
)
Start = Callable[..., InProcess]


@pytest.fixture
def shards(postgres: Postgres, tmp_path: Path, clock: Clock) -> Iterator[tuple[InProcess, str]]:
    """A collector on PostgreSQL, and its database."""
    url = postgres.fresh_database()
    keys = str(tmp_path / "keys")
    app = create_app(Config(url, (SURVEY,), keys=keys, release_every=0, clock=clock))
    try:
        yield InProcess(app, clock), url
    finally:
        close_app(app)


def send_sealed(collector: InProcess, count: int, *, survey: Survey = SURVEY) -> None:
    sealer = Sealer(survey)
    assert sealer.ready()
    question = survey.questions["secret"]
    for _ in range(count):
        _, wire = sealer.seal(question, DAY, None, Response(1))
        report = report_document("secret", 1, question.wire_hash, wire)
        body = request_document(survey.id, DAY, None, new_device(), [report])
        assert collector.post(body).json["accepted"] == 1


def change(collector: InProcess, *statements: str) -> None:
    with closing(sqlite3.connect(collector.collector.config.store)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def give_up(collector: InProcess) -> Closing:
    with collector.collector.store.transaction() as tx:
        return close_periods(tx, collector.collector.keys, collector.clock(), give_up=True)


def batches(collector: InProcess) -> list[int]:
    with collector.collector.store.read() as reader:
        return [entry.n for entry in reader.batches(SURVEY.id, "secret")]


def crowds(collector: InProcess) -> set[tuple[str, str]]:
    with collector.collector.store.read() as reader:
        return {(state.state, state.crowd) for state in reader.states()}


def test_a_copied_shard_is_no_larger_crowd(shards: tuple[InProcess, str]) -> None:
    collector, url = shards
    for _ in range(3):
        collector.post(request_body(SURVEY, new_device(), period=DAY, questions=["yes"]))
    with psycopg.connect(url) as db:
        db.execute(
            "INSERT INTO deniable.pending SELECT question, period, segment, shard + copy, n, cells"
            " FROM deniable.pending, generate_series(10, 12) copy"
        )
    closing = collector.release(days=5)
    assert (closing.released, closing.destroyed, len(closing.waiting)) == (0, 0, 1)
    closing = give_up(collector)
    assert (closing.released, closing.destroyed) == (0, 1)
    assert crowds(collector) == {("destroyed", f"fewer than {CROWD}")}


def test_shards_that_open_are_added_up(shards: tuple[InProcess, str]) -> None:
    """Of one that was damaged nothing is left, and the rest is a crowd of its own."""
    collector, url = shards

    def send() -> None:
        body = request_body(SURVEY, new_device(), period=DAY, questions=["yes"])
        assert collector.post(body).json["accepted"] == 1

    for _ in range(CROWD):
        send()
    with psycopg.connect(url) as other:  # who holds the first shard, so that the next is taken
        other.execute("SELECT pg_advisory_xact_lock(%s, 0)", (NAMESPACE,))
        send()
    with psycopg.connect(url) as db:
        rows = db.execute("SELECT shard, n FROM deniable.pending ORDER BY shard").fetchall()
        assert rows == [(0, CROWD), (1, 1)]
        db.execute("UPDATE deniable.pending SET cells = 'x' WHERE shard = 1")
    assert collector.release(days=5).released == 0
    closing = give_up(collector)
    assert (closing.released, closing.lost) == (1, 1)
    assert [tally["n"] for tally in collector.documents("test", "yes")] == [CROWD]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pending SET n = 1000 WHERE cells = x''",
        "INSERT INTO sealed SELECT question, period, segment,"
        " cast(x'00' || randomblob(16) AS BLOB), report FROM sealed, (VALUES (1), (2), (3))",
    ],
    ids=["n", "copies"],
)
def test_a_sealed_crowd_is_that_of_its_rows(start: Start, statement: str) -> None:
    collector = start(SURVEY)
    send_sealed(collector, 3)
    change(collector, statement, "UPDATE pending SET n = max(n, 12) WHERE cells = x''")
    closing = collector.release(days=5)
    assert (closing.released, closing.destroyed, len(closing.waiting)) == (0, 0, 1)
    closing = give_up(collector)
    assert (closing.released, closing.destroyed) == (0, 1)
    assert batches(collector) == []
    assert crowds(collector) == {("destroyed", f"fewer than {CROWD}")}


def test_a_batch_without_rows_is_not_released(start: Start) -> None:
    collector = start(SURVEY)
    send_sealed(collector, CROWD)
    change(collector, "DELETE FROM sealed")
    assert collector.release(days=5).released == 0
    assert crowds(collector) == {("pending", "10-99")}
    assert give_up(collector).destroyed == 1
    assert crowds(collector) == {("destroyed", "key lost")}


DAMAGE = "UPDATE sealed SET report = zeroblob(length(report)) WHERE place IN"


def test_a_damaged_report_is_given_up_alone(start: Start) -> None:
    collector = start(SURVEY)
    send_sealed(collector, CROWD + 2)
    change(collector, f"{DAMAGE} (SELECT place FROM sealed LIMIT 2)")
    assert len(collector.release(days=5).waiting) == 1
    closing = give_up(collector)
    assert (closing.released, closing.destroyed, closing.lost) == (1, 0, 2)
    assert batches(collector) == [CROWD]


def test_what_is_left_needs_a_crowd(start: Start) -> None:
    collector = start(SURVEY)
    send_sealed(collector, CROWD)
    change(collector, f"{DAMAGE} (SELECT place FROM sealed LIMIT 1)")
    assert len(collector.release(days=5).waiting) == 1
    assert give_up(collector).destroyed == 1
    assert batches(collector) == []
    assert crowds(collector) == {("destroyed", f"fewer than {CROWD}")}


def test_a_report_that_lost_a_piece_does_not_open(start: Start) -> None:
    collector = start(LONG)
    send_sealed(collector, CROWD, survey=LONG)
    change(
        collector,
        "DELETE FROM sealed WHERE place = (SELECT min(place) FROM sealed WHERE place >= x'01')",
    )
    assert len(collector.release(days=5).waiting) == 1


def test_a_report_that_two_devices_sent_is_two(start: Start) -> None:
    """A device may repeat another's ciphertext, and must not keep a batch back by that."""
    collector = start(SURVEY)
    sealer = Sealer(SURVEY)
    assert sealer.ready()
    question = SURVEY.questions["secret"]
    _, wire = sealer.seal(question, DAY, None, Response(1))
    report = report_document("secret", 1, question.wire_hash, wire)
    for _ in range(CROWD):
        collector.post(request_document("test", DAY, None, new_device(), [report]))
    assert collector.release(days=5).released == 1
    assert batches(collector) == [CROWD]
