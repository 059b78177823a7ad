"""What every store must do. A new kind joins by one line in STORES."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from collector_kit import make_survey

from deniable.collector.store import Store, open_store
from deniable.collector.store.base import Device, Pending, PendingKey, Scope
from deniable.protocol.errors import StoreError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.tally import Tally

STORES: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: str(folder / "collector.db"),
}
"""Makes the location of an empty store."""

SURVEY = make_survey({"yes": {}, "also": {}, "other": {"version": 3}}, segments=["a", "b"])
DAY = Scope("test", "2026-11-30")
ONCE = Scope("test", "once", "yes", 1)
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


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
        assert (reader.surveys(), reader.questions(), reader.open_scopes()) == ([], [], [])
        assert (reader.states(), dict(reader.tokens())) == ([], {})


def test_what_was_committed_is_there_when_opened_again(location: str) -> None:
    with closing(open_store(location)) as store, store.transaction() as tx:
        tx.raise_watermark(NOON)
    with closing(open_store(location, create=False)) as store, store.read() as reader:
        assert reader.watermark() == NOON


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
            tx.add_scope(DAY)
            tx.put_pending({PendingKey(1, DAY.period, None): Pending(1, bytes(16))})
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
    assert (known.id, known.segments) == ("test", ("a", "b", "c"))
    assert '"yes"' not in known.document


def test_ledger_rows(filled: Store) -> None:
    tags = [os.urandom(16) for _ in range(150)]
    with filled.transaction() as tx:
        day, once = tx.add_scope(DAY), tx.add_scope(ONCE)
        assert (day.devices, day.closed) == (0, False)
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


def test_a_closed_scope_has_no_rows_and_stays(filled: Store) -> None:
    with filled.transaction() as tx:
        day, once = tx.add_scope(DAY), tx.add_scope(ONCE)
        devices = {Device(day.id, b"x" * 16): 1, Device(once.id, b"y" * 16): 1}
        tx.put_ledger(devices, {day.id: 1, once.id: 1})
        assert tx.open_scopes() == [DAY, ONCE]
        tx.close_scope(DAY)
        assert tx.open_scopes() == [ONCE]
        assert list(tx.answered(devices)) == [Device(once.id, b"y" * 16)]
        row = tx.scope(DAY)
        assert row is not None
        assert row.closed


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
        assert tx.all_pending() == tallies
        assert tx.pending([*tallies, absent]) == tallies
        key, other = list(tallies)[:2]
        tx.put_pending({key: Pending(99, bytes(16))})
        tx.drop_pending(other)
        assert tx.pending([key, other]) == {key: Pending(99, bytes(16))}
        assert len(tx.all_pending()) == len(tallies) - 1


def tally(period: str, n: int, segment: str | None = None, batch: str | None = None) -> Tally:
    return Tally(SURVEY.questions["yes"], period, segment, n, (n, 0), batch)


def test_released_tallies_come_in_the_order_of_their_periods(filled: Store) -> None:
    made = [tally("2026-12-01", 3), tally("2026-11-30", 2, "b"), tally("2026-11-30", 1)]
    with filled.transaction() as tx:
        for one in made:
            tx.put_released(1, one)
    with filled.read() as reader:
        documents = reader.tallies("test", "yes")
        assert [f'"n": {n}' in text for n, text in zip((1, 2, 3), documents, strict=True)] == (
            [True] * 3
        )
        assert reader.tallies("test", "also") == []


def test_a_tally_is_released_once(filled: Store) -> None:
    with filled.transaction() as tx:
        tx.put_released(1, tally("2026-11-30", 1))
    with pytest.raises(StoreError), filled.transaction() as tx:
        tx.put_released(1, tally("2026-11-30", 2))


def test_settled_tells_what_left_the_shuffler(filled: Store) -> None:
    released = PendingKey(1, "2026-11-30", None)
    destroyed = PendingKey(2, "2026-11-30", "a")
    with filled.transaction() as tx:
        tx.put_released(1, tally("2026-11-30", 1))
        tx.put_destroyed(destroyed, None, 10)
        asked = [released, destroyed, PendingKey(1, "2026-11-30", "b"), PendingKey(3, "x", None)]
        assert tx.settled(asked) == {released, destroyed, PendingKey(1, "2026-11-30", "b")}


def test_states_tell_no_small_count(filled: Store) -> None:
    with filled.transaction() as tx:
        crowds = {1: 0, 2: 9, 3: 10, 4: 99, 5: 100, 6: 1234, 7: 10**9}
        tx.put_pending(
            {
                PendingKey(2, f"2026-11-0{day}", None): Pending(n, bytes(16))
                for day, n in crowds.items()
            }
        )
        tx.put_released(1, tally("once", 12, "a", "2026-W48"))
        tx.put_destroyed(PendingKey(1, "2026-11-30", "b"), None, 1000)
    with filled.read() as reader:
        states = reader.states("test")
        assert reader.states() == states
        assert reader.states("another") == []
    buckets = ["0-9", "0-9", "10-99", "10-99", "100-999", "1000-9999", "1000000000-9999999999"]
    assert [state.crowd for state in states if state.state == "pending"] == buckets
    assert [state for state in states if state.question == "yes"] == [
        PeriodState("test", "yes", 1, "once", "2026-W48", "a", "released", "12"),
        PeriodState("test", "yes", 1, "2026-11-30", None, "b", "destroyed", "fewer than 1000"),
    ]


def test_tokens(store: Store) -> None:
    with store.transaction() as tx:
        assert tx.put_token("ann", b"1" * 32)
        assert not tx.put_token("ann", b"2" * 32)
        assert tx.put_token("bob", b"3" * 32)
        assert dict(tx.tokens()) == {"ann": b"1" * 32, "bob": b"3" * 32}
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


def test_transactions_wait_for_each_other(location: str) -> None:
    """Two connections add to one tally; no addition is lost."""
    key = PendingKey(1, "2026-11-30", None)
    with closing(open_store(location)) as store, store.transaction() as tx:
        tx.put_question(SURVEY.questions["yes"])
        tx.put_pending({key: Pending(0, bytes(16))})

    def add() -> None:
        with closing(open_store(location)) as store:
            for _ in range(25):
                with store.transaction() as tx:
                    n = tx.pending([key])[key].n
                    tx.put_pending({key: Pending(n + 1, bytes(16))})

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(open_store(location)) as store, store.transaction() as tx:
        assert tx.pending([key])[key].n == 75


def test_one_process_holds_a_store(location: str) -> None:
    with closing(open_store(location)) as first, closing(open_store(location)) as second:
        with first.exclusive(), pytest.raises(StoreError, match="running collector"):
            second.exclusive().__enter__()
        with second.exclusive():
            pass


def test_a_probe_changes_nothing_that_is_read(filled: Store) -> None:
    for _ in range(3):
        with filled.transaction() as tx:
            tx.probe()
    with filled.read() as reader:
        assert reader.watermark() == datetime.min.replace(tzinfo=UTC)
        assert len(reader.questions()) == len(SURVEY.questions)


def test_free_space_is_known(store: Store) -> None:
    free = store.free_bytes()
    assert free is None or free > 0
