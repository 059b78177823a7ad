"""What every store must do. A new kind joins by one line in STORES."""

from __future__ import annotations

import itertools
import os
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep

import pytest
from collector_kit import make_survey
from servers import shared_postgres

from deniable.collector.store import Store, open_store
from deniable.collector.store.base import (
    BatchEntry,
    BatchPart,
    ConflictError,
    Destroyed,
    Device,
    Left,
    Pending,
    PendingKey,
    Released,
    Scope,
    Settled,
    Token,
    Transaction,
)
from deniable.protocol.errors import StoreError
from deniable.protocol.period_state import PeriodState

STORES: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: str(folder / "collector.db"),
    "postgresql": lambda folder: shared_postgres().fresh_database(),
}
"""Makes the location of an empty store."""

SURVEY = make_survey({"yes": {}, "also": {}, "other": {"version": 3}}, segments=["a", "b"])
DAY = Scope("test", "2026-11-30")
NEXT = Scope("test", "2026-12-01")
ONCE = Scope("test", "once", "yes", 1)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
CHECK = b"check"
YES = PendingKey(1, "2026-11-30", None)


@pytest.fixture(params=STORES)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return STORES[request.param](tmp_path)


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    with closing(open_store(location)) as opened:
        yield opened


@pytest.fixture
def filled(store: Store) -> Store:
    """With a survey and its questions, whose ids are 1, 2, 3."""
    with store.transaction() as tx:
        for question in SURVEY.questions.values():
            tx.put_question(question)
        tx.put_survey(SURVEY, ["a", "b"])
    return store


def test_a_new_store_is_empty(store: Store) -> None:
    with store.read() as reader:
        assert reader.watermark() == datetime.min.replace(tzinfo=UTC)
        assert (reader.edition(), reader.surveys(), reader.questions()) == (0, [], [])
        assert (reader.open_scopes(), reader.closed_scopes()) == ([], [])
        assert (reader.states(), dict(reader.tokens())) == ([], {})
        assert [*reader.released(), *reader.released_batches(), *reader.destroyed()] == []


def test_a_store_is_itself_and_no_other(
    location: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with closing(open_store(location)) as store, store.transaction() as tx:
        identity = tx.identity()
    with closing(open_store(location)) as store, store.read() as reader:
        assert reader.identity() == identity
    assert re.fullmatch("[0-9a-f]{32}", identity)
    (tmp_path / "other").mkdir()
    other = STORES[request.node.callspec.params["location"]](tmp_path / "other")
    with closing(open_store(other)) as store, store.read() as reader:
        assert reader.identity() != identity


def test_what_left_is_known_by_question_period_and_batch(filled: Store) -> None:
    day, once = Settled(1, "2026-11-30", None, "a"), Settled(2, "once", "2026-W49", None)
    with filled.transaction() as tx:
        tx.put_released(Released(day, 7, "{}"))
        tx.put_destroyed(Destroyed(day._replace(segment="b"), 7))
        tx.put_destroyed(Destroyed(once, 7))
        tx.put_batch(BatchPart(once._replace(batch="2026-W50"), 7, 0, 2, "{}"))
        tx.put_batch(BatchPart(once._replace(batch="2026-W50"), 7, 1, 2, "{}"))
        tx.put_released(Released(Settled(3, "2026-11-30", None, None), 7, "{}"))
        assert tx.left([]) == set()
    with filled.read() as reader:
        assert reader.left([(1, "2026-11-30"), (2, "once"), (1, "2026-12-01"), (9, "once")]) == {
            Left(1, "2026-11-30", None),
            Left(2, "once", "2026-W49"),
            Left(2, "once", "2026-W50"),
        }


def test_what_was_committed_is_there_when_opened_again(location: str) -> None:
    with closing(open_store(location)) as store, store.transaction() as tx:
        tx.raise_watermark(NOON)
    with closing(open_store(location, create=False)) as store, store.read() as reader:
        assert reader.watermark() == NOON


def test_a_watermark_is_set_back(location: str) -> None:
    with closing(open_store(location)) as store:
        with store.transaction() as tx:
            tx.raise_watermark(NOON)
        with store.transaction() as tx:
            edition = tx.edition()
            tx.set_back_watermark(NOON - timedelta(days=9))
            assert tx.watermark() == NOON - timedelta(days=9)
        with store.read() as reader:
            assert (reader.watermark(), reader.edition()) == (NOON - timedelta(days=9), edition)


def test_a_missing_store_is_made_only_when_asked(location: str) -> None:
    with pytest.raises(StoreError, match="no such store"):
        open_store(location, create=False)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(StoreError, match="unknown kind mysql://"):
        open_store("mysql://somewhere")


def test_a_failed_transaction_leaves_nothing(filled: Store) -> None:
    def fail() -> None:
        with filled.transaction() as tx:
            tx.raise_watermark(NOON)
            tx.add_scope(DAY, CHECK)
            tx.put_pending({YES: Pending(1, bytes(16))})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with filled.transaction() as tx:
        assert tx.watermark() < NOON
        assert tx.scope(DAY) is None
        assert tx.all_pending() == {}


def test_the_watermark_never_falls(store: Store) -> None:
    with store.transaction() as tx:
        tx.raise_watermark(NOON)
        tx.raise_watermark(NOON.replace(hour=11))
        assert tx.watermark() == NOON


def test_questions_keep_their_ids_and_bits(filled: Store) -> None:
    newer = make_survey({"also": {"owner": "others"}, "last": {}})
    with filled.transaction() as tx:
        for question in newer.questions.values():
            tx.put_question(question)
        known = {entry.question.id: entry for entry in tx.questions()}
    assert [(name, entry.bit) for name, entry in known.items()] == [
        ("yes", 0),
        ("also", 1),
        ("other", 2),
        ("last", 3),
    ]
    assert known["also"].question.owner == "others"
    assert known["other"].question == SURVEY.questions["other"]


def test_bits_are_numbered_in_each_survey(filled: Store) -> None:
    with filled.transaction() as tx:
        tx.put_question(make_survey({"yes": {}}, name="second").questions["yes"])
        assert [entry.bit for entry in tx.questions()] == [0, 1, 2, 0]


def test_a_survey_is_replaced_by_its_newest_edition(filled: Store) -> None:
    with filled.transaction() as tx:
        tx.put_survey(make_survey({"also": {}}), ["a", "b", "c"])
        (known,) = tx.surveys()
        assert tx.edition() == 2
    assert (known.id, known.segments) == ("test", ("a", "b", "c"))
    assert '"yes"' not in known.document
    with filled.read() as reader:
        assert reader.edition() == 2


def test_ledger_rows(filled: Store) -> None:
    tags = [os.urandom(16) for _ in range(150)]
    with filled.transaction() as tx:
        day, once = tx.add_scope(DAY, CHECK), tx.add_scope(ONCE, CHECK)
        assert (day.devices, day.closed, day.check) == (0, False, CHECK)
        bits = {Device(day.id, tag): 1 << index for index, tag in enumerate(tags)}
        tx.put_ledger(bits, {day.id: len(tags)})
        tx.put_ledger({Device(once.id, tags[0]): 5}, {once.id: 1})
    with filled.transaction() as tx:
        asked = [*bits, Device(once.id, tags[0]), Device(once.id, tags[1])]
        assert tx.answered(asked) == {**bits, Device(once.id, tags[0]): 5}
        tx.put_ledger({Device(day.id, tags[0]): 3}, {})
        assert tx.answered([Device(day.id, tags[0])]) == {Device(day.id, tags[0]): 3}
        row = tx.scope(DAY)
        assert row is not None
        assert (row.id, row.devices, row.closed) == (day.id, len(tags), False)
        assert tx.answered([]) == {}


def test_a_scope_is_added_once(filled: Store) -> None:
    with filled.counting() as tx:
        first = tx.add_scope(DAY, CHECK)
        assert tx.add_scope(DAY, b"another") == first == tx.scope(DAY)


def test_a_closed_scope_stays_and_its_rows_are_swept(filled: Store) -> None:
    with filled.transaction() as tx:
        day, once = tx.add_scope(DAY, CHECK), tx.add_scope(ONCE, CHECK)
        devices = {Device(day.id, os.urandom(16)): 1 for _ in range(7)}
        kept = Device(once.id, os.urandom(16))
        tx.put_ledger({**devices, kept: 1}, {day.id: 7, once.id: 1})
        assert tx.open_scopes() == [DAY, ONCE]
        tx.close_scope(DAY)
        tx.close_scope(NEXT)
        assert tx.open_scopes() == [ONCE]
    assert [swept(filled, 5) for _ in range(3)] == [5, 2, 0]
    with filled.transaction() as tx:
        assert list(tx.answered([*devices, kept])) == [kept]
        assert tx.open_scopes() == [ONCE]
        assert tx.closed_scopes() == [DAY, NEXT]
        row, other = tx.scope(DAY), tx.scope(NEXT)
        assert row is not None
        assert (row.id, row.closed, row.check) == (day.id, True, CHECK)
        assert other is not None
        assert other.closed
        assert tx.add_scope(NEXT, CHECK) == other


def test_a_sweep_deletes_no_more_than_it_may(filled: Store) -> None:
    """Though it goes through several scopes."""
    with filled.transaction() as tx:
        for scope in (DAY, NEXT, ONCE):
            number = tx.add_scope(scope, CHECK).id
            tx.put_ledger({Device(number, os.urandom(16)): 1 for _ in range(3)}, {number: 3})
            tx.close_scope(scope)
    assert [swept(filled, 4) for _ in range(4)] == [4, 4, 1, 0]


def swept(store: Store, limit: int) -> int:
    with store.transaction() as tx:
        return tx.sweep(limit)


def test_pending_tallies(filled: Store) -> None:
    tallies = {
        PendingKey(question, f"2026-11-{day:02}", segment): Pending(day, os.urandom(16))
        for question in (1, 2)
        for day in range(1, 31)
        for segment in (None, "a", "b")
    }
    absent = PendingKey(1, "2026-12-01", None)
    with filled.transaction() as tx:
        tx.put_pending(tallies)
    with filled.transaction() as tx:
        assert tx.all_pending() == {key: [pending] for key, pending in tallies.items()}
        assert tx.pending([*tallies, absent]) == tallies
        key, other = list(tallies)[:2]
        tx.put_pending({key: Pending(99, bytes(16))})
        tx.drop_pending(other)
        assert tx.pending([key, other]) == {key: Pending(99, bytes(16))}
        assert len(tx.all_pending()) == len(tallies) - 1


def test_shards_are_summed(filled: Store) -> None:
    """Two processes that count at once write one tally or two, and add up to the same."""
    place = DAY, YES
    with filled.counting() as tx:
        tx.add_scope(DAY, CHECK)
    count_together(filled, *place)
    with filled.transaction() as tx:
        shards = tx.all_pending()[YES]
        assert sum(shard.n for shard in shards) == 110
        row = tx.scope(DAY)
        assert row is not None
        assert row.devices == 2
        assert tx.pending([YES])[YES] == shards[0]
    with filled.read() as reader:
        assert [state.crowd for state in reader.states()] == ["100-999"]
    with filled.transaction() as tx:
        tx.drop_pending(YES)
        assert tx.all_pending() == {}


def count_together(store: Store, scope: Scope, key: PendingKey) -> None:
    """Count a device, and another one, before the first is committed if the store lets us."""
    with store.counting() as first:
        add(first, scope, key, 10)
        if store.free_bytes() is None:
            with store.counting() as second:
                add(second, scope, key, 100)
    if store.free_bytes() is not None:
        with store.counting() as second:
            add(second, scope, key, 100)


def add(tx: Transaction, scope: Scope, key: PendingKey, n: int) -> None:
    row = tx.scope(scope)
    assert row is not None
    tx.put_ledger({Device(row.id, os.urandom(16)): 1}, {row.id: 1})
    before = tx.pending([key]).get(key, Pending(0, b""))
    tx.put_pending({key: Pending(before.n + n, os.urandom(16))})


def test_a_device_is_counted_by_one_of_many(location: str) -> None:
    """Each of 8 connections counts the same 40 devices until it has no conflict."""
    tags = [os.urandom(16) for _ in range(40)]
    with closing(open_store(location)) as store, store.transaction() as tx:
        for question in SURVEY.questions.values():
            tx.put_question(question)
        scope = tx.add_scope(DAY, CHECK).id
    start = threading.Barrier(8)
    won: list[int] = []

    def count() -> None:
        with closing(open_store(location)) as store:
            start.wait()
            for at in range(0, len(tags), 4):
                won.append(count_new(store, [Device(scope, tag) for tag in tags[at : at + 4]]))

    run_all(count, 8)
    assert sum(won) == len(tags)
    with closing(open_store(location)) as store, store.transaction() as tx:
        assert len(tx.answered([Device(scope, tag) for tag in tags])) == len(tags)
        assert sum(shard.n for shard in tx.all_pending()[YES]) == len(tags)
        row = tx.scope(DAY)
        assert row is not None
        assert row.devices == len(tags)


def count_new(store: Store, devices: list[Device]) -> int:
    """Count those devices that nobody has; start again while others are in the way."""
    while True:
        try:
            with store.counting() as tx:
                known = tx.answered(devices)
                new = {device: 1 for device in devices if device not in known}
                tx.put_ledger(new, {devices[0].scope: len(new)})
                before = tx.pending([YES]).get(YES, Pending(0, b""))
                tx.put_pending({YES: Pending(before.n + len(new), b"")})
        except ConflictError:
            continue
        return len(new)


def run_all(work: Callable[[], object], times: int) -> None:
    """Run it in as many threads; the first failure is raised."""
    with ThreadPoolExecutor(times) as pool:
        for done in [pool.submit(work) for _ in range(times)]:
            done.result()


def test_sealed_reports(filled: Store) -> None:
    other = PendingKey(1, "2026-11-30", "a")
    reports = [os.urandom(40) for _ in range(2500)]
    with filled.counting() as tx:
        tx.put_pending({YES: Pending(2500, b""), other: Pending(1, b"")})
        tx.add_sealed({YES: reports[:1000]})
        tx.add_sealed({YES: reports[1000:], other: [b"another"]})
    with filled.transaction() as tx:
        found = list(tx.sealed(YES))
        assert found != reports
        assert sorted(found) == sorted(reports)
        tx.drop_pending(YES)
        assert list(tx.sealed(YES)) == []
        assert list(tx.sealed(other)) == [b"another"]
        assert list(tx.all_pending()) == [other]


def tally(period: str, n: int, segment: str | None = None, batch: str | None = None) -> Released:
    return Released(Settled(1, period, batch, segment), n, f'{{"n": {n}}}')


def part(n: int, index: int, parts: int, period: str = "2026-11-30") -> BatchPart:
    place = Settled(2, period, None, "a")
    return BatchPart(place, n, index, parts, f'{{"part": {index}}}')


def test_released_tallies_come_in_the_order_of_their_periods(filled: Store) -> None:
    made = [tally("2026-12-01", 3), tally("2026-11-30", 2, "b"), tally("2026-11-30", 1)]
    with filled.transaction() as tx:
        for one in made:
            tx.put_released(one)
    with filled.read() as reader:
        assert reader.tallies("test", "yes") == ['{"n": 1}', '{"n": 2}', '{"n": 3}']
        assert reader.tallies("test", "also") == []
        assert sorted(reader.released(), key=lambda one: one.n) == made[::-1]


def test_what_left_the_shuffler_is_told_whole(filled: Store) -> None:
    """More rows than a store reads at once."""
    tallies = [
        tally(f"2026-W{week:02}", week, segment) for week in range(1, 53) for segment in "ab"
    ]
    marks = [Destroyed(one.place._replace(question=3), one.n) for one in tallies]
    parts = [part(20, index, 150) for index in range(150)]
    with filled.transaction() as tx:
        for one, mark in zip(tallies, marks, strict=True):
            tx.put_released(one)
            tx.put_destroyed(mark)
        for each in parts:
            tx.put_batch(each)
    with filled.read() as reader:
        assert set(reader.released()) == set(tallies)
        assert set(reader.destroyed()) == set(marks)
        assert list(reader.released_batches()) == parts


def test_a_tally_is_released_once(filled: Store) -> None:
    with filled.transaction() as tx:
        tx.put_released(tally("2026-11-30", 1))
        tx.put_batch(part(1, 0, 1))
    with pytest.raises(StoreError), filled.transaction() as tx:
        tx.put_released(tally("2026-11-30", 2))
    with pytest.raises(StoreError), filled.transaction() as tx:
        tx.put_batch(part(1, 0, 1))
    with filled.read() as reader:
        assert [one.n for one in reader.released()] == [1]


def test_batches(filled: Store) -> None:
    parts = [part(7, 0, 1, "2026-12-01"), part(20, 0, 2), part(20, 1, 2)]
    with filled.transaction() as tx:
        for each in parts:
            tx.put_batch(each)
    with filled.read() as reader:
        entries = reader.batches("test", "also")
        numbers = [entry.id for entry in entries]
        assert entries == [
            BatchEntry(numbers[0], 1, "2026-11-30", None, "a", 20, 0, 2),
            BatchEntry(numbers[1], 1, "2026-11-30", None, "a", 20, 1, 2),
            BatchEntry(numbers[2], 1, "2026-12-01", None, "a", 7, 0, 1),
        ]
        assert reader.batch("test", "also", numbers[1]) == '{"part": 1}'
        assert reader.batch("test", "also", max(numbers) + 1) is None
        assert reader.batch("test", "also", 2**62) is None
        assert reader.batch("test", "yes", numbers[1]) is None
        assert reader.batches("test", "yes") == []
        assert [(state.segment, state.state, state.crowd) for state in reader.states()] == [
            ("a", "released", "20"),
            ("a", "released", "7"),
        ]


def test_settled_tells_what_left_the_shuffler(filled: Store) -> None:
    released = PendingKey(1, "2026-11-30", None)
    sealed = PendingKey(2, "2026-11-30", "b")
    destroyed = PendingKey(3, "2026-11-30", "a")
    with filled.transaction() as tx:
        tx.put_released(tally("2026-11-30", 1))
        tx.put_batch(part(1, 0, 1))
        tx.put_destroyed(Destroyed(Settled(3, "2026-11-30", None, "a"), 10))
        asked = [released, sealed, destroyed, released._replace(segment="b")]
        others = [PendingKey(3, "2026-12-01", None), PendingKey(2, "2026-12-01", "a")]
        assert tx.settled([*asked, *others]) == set(asked)
        assert tx.settled([]) == set()


def test_states_tell_no_small_count(filled: Store) -> None:
    with filled.transaction() as tx:
        crowds = {1: 0, 2: 9, 3: 10, 4: 99, 5: 100, 6: 1234, 7: 10**9}
        tx.put_pending(
            {
                PendingKey(2, f"2026-11-0{day}", None): Pending(n, bytes(16))
                for day, n in crowds.items()
            }
        )
        tx.put_released(tally("once", 12, "a", "2026-W48"))
        tx.put_destroyed(Destroyed(Settled(1, "2026-11-29", None, None), 0))
        tx.put_destroyed(Destroyed(Settled(1, "2026-11-30", None, "b"), 1000))
    with filled.read() as reader:
        states = reader.states("test")
        assert reader.states() == states
        assert reader.states("another") == []
    buckets = ["0-9", "0-9", "10-99", "10-99", "100-999", "1000-9999", "1000000000-9999999999"]
    assert [state.crowd for state in states if state.state == "pending"] == buckets
    assert [state for state in states if state.question == "yes"] == [
        PeriodState("test", "yes", 1, "once", "2026-W48", "a", "released", "12"),
        PeriodState("test", "yes", 1, "2026-11-29", None, None, "destroyed", "key lost"),
        PeriodState("test", "yes", 1, "2026-11-30", None, "b", "destroyed", "fewer than 1000"),
    ]


def test_tokens(store: Store) -> None:
    ann, bob = Token(b"1" * 32, ("analyst", "metrics")), Token(b"3" * 32, ("operator",))
    with store.transaction() as tx:
        assert tx.put_token("ann", ann)
        assert not tx.put_token("ann", Token(b"2" * 32, ()))
        assert tx.put_token("bob", bob)
    with store.read() as reader:
        assert dict(reader.tokens()) == {"ann": ann, "bob": bob}
    with store.transaction() as tx:
        assert tx.drop_token("ann")
        assert not tx.drop_token("ann")
        assert list(tx.tokens()) == ["bob"]


def test_a_reader_sees_only_what_is_committed(store: Store) -> None:
    with store.transaction() as tx:
        tx.raise_watermark(NOON)
        with store.read() as reader:
            assert reader.watermark() < NOON
    with store.read() as reader:
        assert reader.watermark() == NOON


@pytest.mark.parametrize("kind", ["transaction", "counting"])
def test_transactions_wait_for_each_other(location: str, kind: str) -> None:
    """Three connections add to one tally or its shards; no addition is lost."""
    with closing(open_store(location)) as store, store.transaction() as tx:
        tx.put_question(SURVEY.questions["yes"])
        tx.put_pending({YES: Pending(0, bytes(16))})

    def add() -> None:
        with closing(open_store(location)) as store:
            for _ in range(25):
                with getattr(store, kind)() as tx:
                    n = tx.pending([YES]).get(YES, Pending(0, b"")).n
                    tx.put_pending({YES: Pending(n + 1, bytes(16))})

    run_all(add, 3)
    with closing(open_store(location)) as store, store.transaction() as tx:
        shards = tx.all_pending()[YES]
        assert sum(shard.n for shard in shards) == 75
        assert kind == "counting" or len(shards) == 1


def test_nothing_is_counted_beside_a_release(location: str) -> None:
    """What was counted before the watermark rose is in the tally; after it, nobody counts.

    Four connections count for as long as the watermark lets them, while one closes.
    """
    with closing(open_store(location)) as store, store.transaction() as tx:
        tx.put_question(SURVEY.questions["yes"])
    begun = threading.Barrier(5)
    counted: list[int] = []

    def count() -> None:
        with closing(open_store(location)) as store:
            begun.wait()
            for done in itertools.count():
                with store.counting() as tx:
                    if tx.watermark() >= NOON:
                        counted.append(done)
                        return
                    n = tx.pending([YES]).get(YES, Pending(0, b"")).n
                    tx.put_pending({YES: Pending(n + 1, bytes(16))})

    def close() -> int:
        with closing(open_store(location)) as store:
            begun.wait()
            while True:
                with store.transaction() as tx:
                    n = sum(shard.n for shard in tx.all_pending().get(YES, []))
                    if n >= 20:
                        tx.raise_watermark(NOON)
                        tx.drop_pending(YES)
                        tx.put_released(tally(YES.period, n))
                        return n

    with ThreadPoolExecutor(5) as pool:
        released = pool.submit(close)
        for worker in [pool.submit(count) for _ in range(4)]:
            worker.result()
        assert sum(counted) == released.result()
    with closing(open_store(location)) as store, store.read() as reader:
        assert [(state.state, state.crowd) for state in reader.states()] == [
            ("released", str(sum(counted)))
        ]


def test_who_is_alone_keeps_out_who_counts(location: str) -> None:
    with closing(open_store(location)) as first, closing(open_store(location)) as second:
        with first.attend(), pytest.raises(StoreError, match="in use by a running collector"):
            second.alone().__enter__()
        with first.alone():
            for other in (second.attend, second.alone):
                with pytest.raises(StoreError):
                    other().__enter__()
        with second.alone():
            pass


def test_sqlite_takes_one_process_and_postgresql_many(location: str) -> None:
    with closing(open_store(location)) as first, closing(open_store(location)) as second:
        with first.attend():
            if location.startswith("postgresql:"):
                with second.attend(), first.counting() as tx, second.counting() as beside:
                    assert tx.watermark() == beside.watermark()
            else:
                with pytest.raises(StoreError, match="running collector"):
                    second.attend().__enter__()
        await_alone(second)


def await_alone(store: Store) -> None:
    """Have a store to oneself: PostgreSQL lets go of a closed connection's locks a moment later."""
    for attempt in range(2000):
        try:
            with store.alone():
                return
        except StoreError:
            assert attempt < 1999
            sleep(0.01)


def test_a_probe_changes_nothing_that_is_read(filled: Store) -> None:
    for _ in range(3):
        with filled.counting() as tx:
            tx.probe()
    with filled.read() as reader:
        assert reader.watermark() == datetime.min.replace(tzinfo=UTC)
        assert len(reader.questions()) == len(SURVEY.questions)


def test_free_space_is_known(store: Store) -> None:
    free = store.free_bytes()
    assert free is None or free > 0
