"""When the collector says not now: floods, full queues, a store or disk that cannot take more."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from collector_kit import InProcess, Reply, make_survey, new_device, period_keys, request_body
from key_places import until

from deniable.collector import commit
from deniable.collector.config import Config
from deniable.collector.flood import FloodLimit, WindowStorage
from deniable.collector.flood_key import ProcessKey
from deniable.collector.problems import HTTPProblem
from deniable.collector.release import close_periods
from deniable.collector.scope_key import ScopeKey
from deniable.collector.shuffler import count_group
from deniable.collector.store import open_store
from deniable.collector.store.base import ConflictError, Pending, PendingKey, Scope
from deniable.collector.tokens import create_token
from deniable.protocol.errors import ParameterError
from deniable.protocol.report import parse_device

Start = Callable[..., InProcess]
DAY = "2026-11-30"
SURVEY = make_survey({"yes": {}, "once": {"period": "once"}})


def body(device: str | None = None) -> dict[str, Any]:
    return request_body(SURVEY, device or new_device(), period=DAY, questions=["yes"])


def check_unavailable(reply: Reply, status: int = 503) -> None:
    assert reply.status == status, reply.body
    assert reply.headers["content-type"] == "application/problem+json"
    assert int(reply.headers["retry-after"]) >= 1


def test_a_pseudonym_may_send_so_often(start: Start) -> None:
    collector = start(SURVEY, flood_limit="3 per minute")
    device = new_device()
    assert [collector.post(body(device)).status for _ in range(3)] == [200] * 3
    refused = collector.post(body(device))
    check_unavailable(refused, 429)
    assert 1 <= int(refused.headers["retry-after"]) <= 61
    assert device.encode() not in refused.body
    assert collector.post(body()).status == 200


def test_a_flood_of_bad_reports_counts_too(start: Start) -> None:
    collector = start(SURVEY, flood_limit="2 per minute")
    spoilt = body() | {"reports": [{}]}
    assert [collector.post(spoilt).status for _ in range(3)] == [200, 200, 429]


def test_a_pseudonym_counts_in_each_survey_apart(start: Start) -> None:
    collector = start(SURVEY, make_survey({"yes": {}}, name="second"), flood_limit="1 per minute")
    device = new_device()
    assert collector.post(body(device)).status == 200
    assert collector.post(body(device) | {"survey": "second"}).status == 200
    assert collector.post(body(device)).status == 429


def test_an_unreachable_flood_storage_is_not_taken_for_consent(start: Start) -> None:
    collector = start(SURVEY, flood_storage="redis://127.0.0.1:1")
    check_unavailable(collector.post(body()))
    assert collector.ask("GET", "/livez").status == 200


@pytest.mark.parametrize("storage", ["nonsense", "nonsense://host", "memcached"])
def test_an_unknown_flood_storage(start: Start, storage: str) -> None:
    with pytest.raises(ParameterError, match="flood_storage must be"):
        start(SURVEY, flood_storage=storage)


def test_floods_are_counted_under_names_that_tell_nothing() -> None:
    device = new_device()
    names = []
    for _ in range(2):
        limit = FloodLimit(Config("unused", flood_limit="1 per minute"), ProcessKey())
        limit.check("test", parse_device(device))
        with pytest.raises(HTTPProblem, match="more than 1 per 1 minute"):
            limit.check("test", parse_device(device))
        storage = limit._limiter.storage
        assert isinstance(storage, WindowStorage)
        names += list(storage._windows)
    assert len(set(names)) == 2
    for name in names:
        assert device not in name
        assert parse_device(device).hex() not in name
        assert "test" not in name


def test_windows_end_and_are_swept(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = WindowStorage()
    now = [1000.0]
    monkeypatch.setattr("deniable.collector.flood.time.time", lambda: now[0])
    assert [storage.incr("a", 60) for _ in range(3)] == [1, 2, 3]
    now[0] += 59
    assert (storage.incr("b", 60), storage.get("a")) == (1, 3)
    assert storage.get_expiry("a") == 1060
    now[0] += 1
    assert (storage.get("a"), storage.incr("a", 60)) == (0, 1)
    now[0] += 61
    storage.incr("c", 60)
    assert set(storage._windows) == {"c"}
    storage.clear("c")
    assert (storage.get("c"), storage.reset(), storage.check()) == (0, 0, True)


def test_counting_floods_loses_nothing_between_threads() -> None:
    storage = WindowStorage()

    def count() -> None:
        for _ in range(5000):
            storage.incr("a", 60)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert storage.get("a") == 20000


@contextmanager
def locked(collector: InProcess) -> Iterator[None]:
    """Hold the store's write lock, as a process that writes for long would."""
    with closing(sqlite3.connect(collector.collector.config.store)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.rollback()


def test_a_commit_that_takes_too_long(start: Start) -> None:
    """503; the report may still count, and sent again it is a duplicate."""
    collector = start(SURVEY, commit_timeout=0.2)
    late = body()
    with locked(collector):
        check_unavailable(collector.post(late))
        check_unavailable(collector.ask("GET", "/readyz"))
    outcome = collector.post(late)
    while outcome.status == 503:
        outcome = collector.post(late)
    assert outcome.json["accepted"] + outcome.json["duplicate"] == 1
    collector.release(days=4)
    assert [document["n"] for document in collector.documents("test", "yes")] == [1]
    until(lambda: collector.ask("GET", "/readyz").status == 200)


def test_a_full_queue(start: Start) -> None:
    """One request is being committed, one waits, and the third is turned away at once."""
    collector = start(SURVEY, queue_bound=1, max_group=1)
    writer, store = collector.collector.writer, collector.collector.store
    replies: list[Reply] = []
    first, second = (
        threading.Thread(target=lambda: replies.append(collector.post(body()))) for _ in range(2)
    )
    with locked(collector):
        first.start()
        while not store._lock.locked():  # type: ignore[attr-defined]
            pass
        second.start()
        while not writer.waiting():
            pass
        check_unavailable(collector.post(body()))
        assert replies == []
    first.join()
    second.join()
    assert [reply.status for reply in replies] == [200, 200]


def test_a_full_disk(start: Start) -> None:
    collector = start(SURVEY, min_free_bytes=2**62)
    check_unavailable(collector.post(body()))
    check_unavailable(collector.ask("GET", "/readyz"))


def test_a_full_disk_does_not_keep_periods_open(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    collector = start(SURVEY)
    assert collector.post(body()).status == 200
    collector.collector.close()
    collector = start(SURVEY, min_free_bytes=2**62)
    keys = Path(collector.collector.store.keys or "")
    assert [key.name for key in period_keys(keys)] == ["test.2026-11-30.key"]
    for _ in range(3):
        check_unavailable(collector.post(body()))
        check_unavailable(collector.ask("GET", "/readyz"))
    assert collector.release(days=10).released == 1
    assert not period_keys(keys)
    told = [line for line in caplog.messages if "taking in" in line or "commit" in line]
    assert told == ["taking in reports failed: the disk is almost full"]


def test_a_store_that_cannot_be_read_is_told_once(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    collector = start(SURVEY)
    token = create_token(collector.collector.store, "ann", ["operator"])
    path = Path(collector.collector.config.store)

    def statuses() -> list[int]:
        headers = {"Authorization": f"Bearer {token}"}
        doors = ["/v1/periods", "/metrics", "/v1/tallies/test/yes"] * 3
        return [collector.ask("GET", door, headers=headers).status for door in doors]

    away = path.rename(path.with_name("away.db"))
    try:
        assert statuses() == [503] * 9
        assert collector.ask("GET", "/livez").status == 200
    finally:
        away.rename(path)
    assert statuses() == [200] * 9
    failed, ended = [line for line in caplog.messages if "answering from the store" in line]
    assert failed.startswith("answering from the store failed: ")
    assert ended == "answering from the store: in order again"
    assert len([line for line in caplog.messages if "unable to open" in line]) == 1


def test_a_full_period(start: Start) -> None:
    collector = start(SURVEY, max_devices_per_period=2)
    first = body()
    assert [collector.post(one).status for one in (first, body())] == [200, 200]
    full = collector.post(body())
    check_unavailable(full)
    assert collector.post(first).json["duplicate"] == 1
    once = request_body(SURVEY, new_device(), period="once", questions=["once"])
    assert collector.post(once).json["accepted"] == 1


def test_a_missing_key_is_not_replaced(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    """No report of the period counts, for it could count twice; what counted waits for the key."""
    known = body()
    collector = start(SURVEY)
    collector.post(known)
    collector.collector.close()
    (key,) = period_keys(collector.collector.store.keys)
    kept = key.rename(key.with_suffix(".away"))
    collector = start(SURVEY)
    assert [record.getMessage() for record in caplog.records] == [
        "the key of test.2026-11-30 is missing: its reports are refused until it is put back"
    ]
    for request in (known, body()):
        reply = collector.post(request)
        check_unavailable(reply)
        assert b"key is missing" in reply.body
    once = request_body(SURVEY, new_device(), period="once", questions=["once"])
    assert collector.post(once).json["accepted"] == 1
    caplog.clear()
    collector.release(days=4)
    (refusal,) = caplog.records
    assert "the key of test.2026-11-30 is missing" in refusal.getMessage()
    assert collector.documents("test", "yes") == []
    assert collector.states()["2026-11-30", None] == "pending"
    assert [r["code"] for r in collector.post(known).json["rejected"]] == ["period_closed"]
    kept.rename(key)
    collector.release()
    assert [document["n"] for document in collector.documents("test", "yes")] == [1]
    assert not key.exists()


def test_a_key_that_never_comes_back_is_given_up_by_hand(start: Start) -> None:
    collector = start(SURVEY)
    collector.post(body())
    collector.collector.close()
    (key,) = period_keys(collector.collector.store.keys)
    key.write_bytes(os.urandom(32))
    collector = start(SURVEY)
    collector.release(days=4)
    with closing(open_store(collector.collector.config.store)) as store:
        for give_up in (False, True):
            with store.transaction() as tx:
                keys = collector.collector.keys
                done = close_periods(tx, keys, collector.clock(), give_up=give_up)
            assert (done.released, done.destroyed) == (0, give_up)
        with store.read() as reader:
            assert {(s.state, s.crowd) for s in reader.states()} == {("destroyed", "key lost")}


def test_a_closed_collector_takes_nothing(start: Start) -> None:
    collector = start(SURVEY)
    collector.collector.close()
    check_unavailable(collector.post(body()))


def test_closing_leaves_nobody_waiting(start: Start) -> None:
    """Requests that race with the end are counted or refused, and none waits for its timeout."""
    collector = start(SURVEY)
    statuses: list[int] = []
    several = threading.Semaphore(0)

    def send() -> None:
        status = 200
        while status == 200:
            status = collector.post(body()).status
            statuses.append(status)
            several.release()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        several.acquire()
    collector.collector.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    assert statuses.count(503) == 4
    collector = start(SURVEY)
    collector.release(days=4)
    assert [document["n"] for document in collector.documents("test", "yes")] == [
        statuses.count(200)
    ]


def test_a_failed_commit_stores_nothing_and_the_next_one_works(start: Start) -> None:
    collector = start(SURVEY)
    with closing(sqlite3.connect(collector.collector.config.store)) as connection:
        connection.execute(
            "CREATE TRIGGER broken BEFORE INSERT ON pending"
            " BEGIN SELECT raise(ABORT, 'out of order'); END"
        )
        connection.commit()
        known = body()
        check_unavailable(collector.post(known))
        assert connection.execute("SELECT count(*) FROM ledger").fetchone() == (0,)
        connection.execute("DROP TRIGGER broken")
        connection.commit()
    assert collector.post(known).json["accepted"] == 1


@pytest.mark.parametrize("fault", [KeyError("nobody thought of it"), ConflictError("again")])
def test_a_commit_that_fails_whatever_the_reason_is_no_success(
    start: Start, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    collector = start(SURVEY)
    known = body()
    with monkeypatch.context() as patch:
        patch.setattr(commit, "count_group", raising(fault, 10**6))
        check_unavailable(collector.post(known))
    assert collector.post(known).json["accepted"] == 1


def test_a_group_in_whose_way_others_are_is_counted_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = start(SURVEY)
    monkeypatch.setattr(commit, "count_group", raising(ConflictError("again"), 2))
    known = body()
    assert collector.post(known).json["accepted"] == 1
    assert collector.post(known).json["duplicate"] == 1


def raising(fault: Exception, times: int) -> Callable[..., None]:
    """What counts a group, after so many attempts that end in a fault when all was written."""
    left = iter(range(times))

    def count(*arguments: Any) -> None:
        count_group(*arguments)
        if next(left, None) is not None:
            raise fault

    return count


def test_nothing_is_added_to_a_damaged_tally(start: Start) -> None:
    collector = start(SURVEY)
    assert collector.post(body()).json["accepted"] == 1
    key = PendingKey(collector.collector.catalogue.questions["test"]["yes"][1].id, DAY, None)
    with collector.collector.store.transaction() as tx:
        (whole,) = tx.pending([key]).values()
        tx.put_pending({key: Pending(whole.n, bytes(len(whole.cells)))})
    known = body()
    check_unavailable(collector.post(known))
    with collector.collector.store.transaction() as tx:
        tx.put_pending({key: whole})
    assert collector.post(known).json["accepted"] == 1


def test_a_key_that_another_replica_made_first_is_looked_up(start: Start) -> None:
    """Once: the request whose device had the wrong name is sent again."""
    collector = start(SURVEY)
    assert collector.post(body()).json["accepted"] == 1
    scope, mine = Scope("test", DAY), bytes([1] * 32)
    collector.collector.keys._keys[scope] = mine, ScopeKey(scope, mine)
    known = body()
    check_unavailable(collector.post(known))
    assert collector.post(known).json["accepted"] == 1
