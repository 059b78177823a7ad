"""Counting a group: each report once, in one tally, under one device."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collector_kit import make_survey
from hypothesis import given
from hypothesis import strategies as st
from servers import Postgres

from deniable.collector.catalogue import Catalogue, register
from deniable.collector.keys import KeyRing
from deniable.collector.keystore import open_keystore
from deniable.collector.release import close_periods
from deniable.collector.rules import Entry, Rules
from deniable.collector.scope_key import Place, ScopeKey
from deniable.collector.shuffler import Part, Submission, count_group, fold_all
from deniable.collector.store import Store, open_store
from deniable.collector.store.base import (
    Destroyed,
    Pending,
    PendingKey,
    Released,
    Scope,
    Settled,
)
from deniable.collector.wire import Report
from deniable.protocol.periods import parse_period
from deniable.protocol.response import Response, Shape

SURVEY = make_survey(
    {
        "yes": {},
        "bits": {"type": "choice", "choices": list("abcdefghij"), "mechanism": "oue"},
        "once": {"period": "once"},
    },
    segments=["a"],
)
DAY = "2026-11-30"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@st.composite
def shapes_and_responses(draw: st.DrawFn) -> tuple[Shape, list[Response]]:
    rows = draw(st.integers(1, 4))
    width = draw(st.integers(2, 70))
    if draw(st.booleans()):
        shape = Shape("symbol", width, rows)
        outs = st.integers(0, width - 1)
    else:
        shape = Shape("bits", width, rows)
        outs = st.integers(0, 2**width - 1)
    responses = st.builds(Response, outs, st.integers(0, rows - 1))
    return shape, draw(st.lists(responses, min_size=1, max_size=40))


@given(shapes_and_responses())
def test_folding_many_is_folding_each(drawn: tuple[Shape, list[Response]]) -> None:
    shape, responses = drawn
    expected = [0] * shape.cells
    for response in responses:
        shape.fold(expected, response)
    folded = fold_all(shape, responses)
    assert folded.dtype == np.dtype("<i8")
    assert folded.tolist() == expected


class Desk:
    """A store with the survey, and the means to count into it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        with store.transaction() as tx:
            register(tx, SURVEY)
            self.catalogue = Catalogue.read(tx)

    def submission(
        self, device: bytes, answers: dict[str, int], period: str = DAY, segment: str | None = None
    ) -> Submission:
        asked = [(SURVEY.questions[name], out) for name, out in answers.items()]
        reports = [
            Report(q.id, q.version, q.wire_hash, q.mechanism.shape.pack(Response(out)))
            for q, out in asked
        ]
        rules = Rules(self.catalogue, "test", parse_period(period))
        entries, _ = rules.judge(reports, segment, NOON + timedelta(days=1), NOON)
        parts: dict[Scope, list[Entry]] = {}
        for entry in entries:
            parts.setdefault(entry[1].scope, []).append(entry)
        made = [Part(s, ScopeKey(s, bytes(32)), device, some) for s, some in parts.items()]
        return Submission(period, segment, made)

    def count(self, *submissions: Submission, max_devices: int = 10**6) -> None:
        with self.store.transaction() as tx:
            count_group(tx, submissions, max_devices)

    def cells(self, name: str, period: str = DAY, segment: str | None = None) -> list[int]:
        number = self.catalogue.questions["test"][name][1].id
        key = PendingKey(number, period, segment)
        with self.store.transaction() as tx:
            found = tx.pending([key])
        if not found:
            return []
        question = SURVEY.questions[name]
        place = Place(question.hash, period, segment)
        opener = ScopeKey(Scope.of(question, period), bytes(32))
        cells = opener.open_tally(place, 0, found[key].n, found[key].cells)
        return np.frombuffer(cells, "<i8").tolist()


@pytest.fixture
def desk(tmp_path: Path) -> Any:
    with closing(open_store(str(tmp_path / "collector.db"))) as store:
        yield Desk(store)


def outcome(submission: Submission) -> tuple[int, int, list[int]]:
    return submission.accepted, submission.duplicate, submission.closed


def device(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_reports_are_folded_across_groups(desk: Desk) -> None:
    for group in range(3):
        desk.count(
            *(desk.submission(os.urandom(16), {"yes": n % 2, "bits": 0b11}) for n in range(group))
        )
    assert desk.cells("yes") == [2, 1]
    assert desk.cells("bits") == [3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 3]


@pytest.mark.parametrize("together", [True, False], ids=["one group", "two groups"])
def test_a_device_counts_once(desk: Desk, together: bool) -> None:
    first = desk.submission(device(1), {"yes": 1})
    again = desk.submission(device(1), {"yes": 0, "bits": 1})
    if together:
        desk.count(first, again)
    else:
        desk.count(first)
        desk.count(again)
    assert (outcome(first), outcome(again)) == ((1, 0, []), (1, 1, []))
    assert (desk.cells("yes"), desk.cells("bits")[-1]) == ([0, 1], 1)


def test_a_device_counts_once_whatever_segment_it_claims(desk: Desk) -> None:
    first = desk.submission(device(1), {"yes": 1})
    again = desk.submission(device(1), {"yes": 1}, segment="a")
    desk.count(first, again)
    assert again.duplicate == 1
    assert desk.cells("yes", segment="a") == []


def test_segments_and_periods_are_tallies_apart(desk: Desk) -> None:
    desk.count(
        desk.submission(device(1), {"yes": 1}),
        desk.submission(device(2), {"yes": 1}, segment="a"),
        desk.submission(device(1), {"yes": 0}, period="2026-12-01"),
    )
    assert desk.cells("yes") == [0, 1]
    assert desk.cells("yes", segment="a") == [0, 1]
    assert desk.cells("yes", "2026-12-01") == [1, 0]


def test_the_watermark_is_read_in_the_transaction(desk: Desk) -> None:
    late = desk.submission(device(1), {"yes": 1, "bits": 1})
    with desk.store.transaction() as tx:
        tx.raise_watermark(NOON + timedelta(days=10))
    desk.count(late)
    assert outcome(late) == (0, 0, [0, 1])
    assert desk.cells("yes") == []


@pytest.mark.parametrize(("before", "is_open"), [(0, False), (1, True)])
def test_what_closes_at_the_watermark_is_closed(desk: Desk, before: int, is_open: bool) -> None:
    made = desk.submission(device(1), {"yes": 1})
    ((_, slot, _),) = made.parts[0].entries
    with desk.store.transaction() as tx:
        tx.raise_watermark(slot.closes - timedelta(microseconds=before))
    desk.count(made)
    assert outcome(made) == ((1, 0, []) if is_open else (0, 0, [0]))
    assert desk.cells("yes") == ([0, 1] if is_open else [])


def test_what_was_undone_and_counted_again_is_told_once(desk: Desk) -> None:
    """As after a conflict: what an attempt wrote down is not what came of it."""
    made = desk.submission(device(1), {"yes": 1, "bits": 1})
    full = desk.submission(device(2), {"yes": 1})
    with suppress(ZeroDivisionError), desk.store.transaction() as tx:
        count_group(tx, [made, full], 1)
        assert (outcome(made), full.full) == ((2, 0, []), True)
        raise ZeroDivisionError
    desk.count(made, full)
    assert (outcome(made), outcome(full), full.full) == ((2, 0, []), (1, 0, []), False)
    assert desk.cells("yes") == [0, 2]


def test_a_part_with_another_key_counts_nothing(desk: Desk) -> None:
    desk.count(desk.submission(device(1), {"yes": 1}))
    other = desk.submission(device(2), {"yes": 1})
    (part,) = other.parts
    other.parts = [part._replace(key=ScopeKey(part.scope, bytes([1] * 32)))]
    good = desk.submission(device(3), {"yes": 1})
    desk.count(good, other)
    assert (outcome(other), other.strange) == ((0, 0, []), [part.scope])
    assert (outcome(good), good.unreadable) == ((1, 0, []), False)
    assert desk.cells("yes") == [0, 2]


def test_a_tally_that_does_not_open_takes_nothing(desk: Desk) -> None:
    desk.count(desk.submission(device(1), {"yes": 1}))
    key = PendingKey(desk.catalogue.questions["test"]["yes"][1].id, DAY, None)
    with desk.store.transaction() as tx:
        (whole,) = tx.pending([key]).values()
        tx.put_pending({key: Pending(whole.n, bytes(len(whole.cells)))})
    late = desk.submission(device(2), {"yes": 1, "bits": 1})
    only = desk.submission(device(3), {"yes": 1})
    desk.count(late, only)
    assert [(one.unreadable, outcome(one)) for one in (late, only)] == [
        (True, (1, 0, [])),
        (True, (0, 0, [])),
    ]
    with desk.store.transaction() as tx:
        row = tx.scope(late.parts[0].scope)
        assert row is not None
        assert row.devices == 2
        tx.put_pending({key: whole})
    desk.count(late, only)
    assert [(one.unreadable, outcome(one)) for one in (late, only)] == [
        (False, (1, 1, [])),
        (False, (1, 0, [])),
    ]
    assert desk.cells("yes") == [0, 3]


def test_two_who_count_at_once_are_added_up(postgres: Postgres, tmp_path: Path) -> None:
    """Each on a shard of its own, which leave as one tally."""
    with closing(open_store(postgres.fresh_database())) as store:
        desk = Desk(store)
        first, second = (desk.submission(device(n), {"yes": n}) for n in (0, 1))
        scope = first.parts[0].scope
        with store.transaction() as tx:
            tx.add_scope(scope, first.parts[0].key.check)
        with store.counting() as one, store.counting() as two:
            count_group(one, [first], 9)
            count_group(two, [second], 9)
        with store.read() as reader:
            row = reader.scope(scope)
        with closing(KeyRing(open_keystore(str(tmp_path / "keys")), lambda scope: row)) as keys:
            keys.places.put_if_absent(scope.name, bytes(32))
            with store.transaction() as tx:
                (shards,) = tx.all_pending().values()
                assert len(shards) == 2
                assert close_periods(tx, keys, NOON + timedelta(days=10)).released == 1
        with store.read() as reader:
            (tally,) = [json.loads(text) for text in reader.tallies("test", "yes")]
    assert (tally["n"], tally["cells"]) == (2, [1, 1])


@pytest.mark.parametrize("settle", ["put_released", "put_destroyed"])
def test_a_settled_tally_does_not_begin_again(desk: Desk, settle: str) -> None:
    number = desk.catalogue.questions["test"]["yes"][1].id
    with desk.store.transaction() as tx:
        if settle == "put_released":
            tx.put_released(Released(Settled(number, DAY, None, "a"), 2, "{}"))
        else:
            tx.put_destroyed(Destroyed(Settled(number, DAY, None, "a"), 10))
    late = desk.submission(device(1), {"yes": 1, "bits": 1})
    desk.count(late)
    assert outcome(late) == (1, 0, [0])
    assert desk.cells("yes") == []


def test_a_closed_scope_counts_nothing(desk: Desk) -> None:
    desk.count(desk.submission(device(1), {"once": 1}, "once"))
    with desk.store.transaction() as tx:
        tx.close_scope(Scope("test", "once", "once", 1))
    late = desk.submission(device(2), {"once": 1}, "once")
    desk.count(late)
    assert outcome(late) == (0, 0, [0])
    assert desk.cells("once", "once") == [0, 1]


def test_a_period_holds_so_many_devices(desk: Desk) -> None:
    made = [desk.submission(device(n), {"yes": 1}) for n in range(3)]
    desk.count(*made, max_devices=2)
    assert [one.full for one in made] == [False, False, True]
    known = desk.submission(device(0), {"bits": 1})
    new = desk.submission(device(9), {"bits": 1})
    elsewhere = desk.submission(device(9), {"yes": 1}, period="2026-12-01")
    desk.count(known, new, elsewhere, max_devices=2)
    assert [one.full for one in (known, new, elsewhere)] == [False, True, False]
    assert desk.cells("yes") == [0, 2]


def test_ledger_and_tally_agree_after_any_group(desk: Desk) -> None:
    """Random groups with many repeats: every tally holds each device once."""
    rng = np.random.default_rng(7)
    seen: set[tuple[int, str]] = set()
    for _ in range(20):
        group = []
        for _ in range(int(rng.integers(1, 30))):
            who = int(rng.integers(60))
            name = ("yes", "bits")[int(rng.integers(2))]
            group.append(desk.submission(device(who), {name: 1}))
            seen.add((who, name))
        desk.count(*group)
        for name, total in (("yes", sum), ("bits", lambda cells: cells[-1])):
            count: Callable[[list[int]], int] = total
            assert count(desk.cells(name) or [0]) == sum(n == name for _, n in seen)
