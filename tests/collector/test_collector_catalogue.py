"""Which editions of a survey may join those that were loaded before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from collector_kit import make_survey

from deniable.collector.catalogue import Catalogue, register
from deniable.collector.store import Store, open_store
from deniable.collector.store.base import Scope
from deniable.protocol.errors import ParameterError
from deniable.protocol.survey import Survey


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(str(tmp_path / "collector.db"))) as opened:
        yield opened


def load(store: Store, *surveys: Survey) -> Catalogue:
    for survey in surveys:
        with store.transaction() as tx:
            register(tx, survey)
    with store.read() as reader:
        return Catalogue.read(reader)


def test_what_was_loaded_stays(store: Store) -> None:
    catalogue = load(
        store,
        make_survey({"first": {}, "second": {}}, segments=["a"]),
        make_survey({"second": {"version": 2}}, segments=["b"]),
    )
    versions = {name: sorted(known) for name, known in catalogue.questions["test"].items()}
    assert versions == {"first": [1], "second": [1, 2]}
    assert catalogue.surveys["test"].segments == ("a", "b")


def test_the_same_edition_again_changes_nothing(store: Store) -> None:
    survey = make_survey({"first": {}, "second": {}})
    first = load(store, survey)
    again = load(store, survey)
    assert first.by_id == again.by_id


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ask": "Was it?"}, "changed under version 2; raise the version"),
        ({"epsilon": 3}, "changed under version 2; raise the version"),
        ({"version": 1}, "version 1 is older than 2, which was loaded before; keep it"),
        ({"min_crowd": 9}, "min_crowd fell from 10 to 9; it may only rise"),
    ],
)
def test_what_is_refused(store: Store, changes: dict[str, object], message: str) -> None:
    before = {"version": 2, "min_crowd": 10}
    load(store, make_survey({"yes": before}))
    with pytest.raises(ParameterError, match=f"survey test: question yes: {message}"):
        load(store, make_survey({"new": {}, "yes": before | changes}))
    with store.read() as reader:
        assert list(Catalogue.read(reader).questions["test"]) == ["yes"]


def with_keys(*keys: tuple[str, str, str]) -> Survey:
    """Keys by id, state and the letter of which their bytes are made."""
    tables = [
        {"id": name, "suite": "x25519", "public": letter * 42 + "A", "state": state}
        for name, state, letter in keys
    ]
    return make_survey({"yes": {"sealed": True, "epsilon_first": 1}}, sealing_keys=tables)


def test_sealing_keys_may_come_turn_and_expire(store: Store) -> None:
    load(
        store,
        with_keys(("a", "active", "A")),
        with_keys(("a", "active", "A"), ("b", "pending", "B")),
        with_keys(("a", "pending", "A"), ("b", "active", "B")),
        with_keys(("a", "expired", "A"), ("b", "active", "B")),
        with_keys(("a", "expired", "A"), ("b", "active", "B")),
        with_keys(("b", "expired", "B"), ("c", "active", "C")),
    )


@pytest.mark.parametrize("state", ["active", "pending"])
def test_an_expired_sealing_key_does_not_come_back(store: Store, state: str) -> None:
    other = "pending" if state == "active" else "active"
    load(store, with_keys(("old", "expired", "A"), ("new", "active", "B")))
    message = f"survey test: sealing_keys: old is {state} here and expired .*; load the newest file"
    with pytest.raises(ParameterError, match=message):
        load(store, with_keys(("old", state, "A"), ("new", other, "B")))
    with store.read() as reader:
        states = [key.state for key in Catalogue.read(reader).sealing_keys("test")]
    assert states == ["expired", "active"]


def test_a_sealing_key_keeps_its_bytes(store: Store) -> None:
    load(store, with_keys(("a", "active", "A")))
    message = "survey test: sealing_keys: a is another key than .*; give it an id of its own"
    with pytest.raises(ParameterError, match=message):
        load(store, with_keys(("a", "active", "B")))


def test_what_the_hash_does_not_cover_may_change(store: Store) -> None:
    changes = {"min_crowd": 11, "grace": 9, "owner": "others", "expires": "2027-01-01"}
    catalogue = load(store, make_survey({"yes": {"min_crowd": 10}}), make_survey({"yes": changes}))
    question = catalogue.questions["test"]["yes"][1].question
    assert (question.min_crowd, question.grace, question.owner) == (11, 9, "others")


def test_a_scope_closes_with_its_last_question(store: Store) -> None:
    catalogue = load(
        store,
        make_survey(
            {
                "short": {"grace": 1},
                "long": {"grace": 5},
                "over": {"grace": 60, "expires": "2026-11-29"},
                "weekly": {"period": "week", "grace": 60},
                "once": {"period": "once", "expires": "2026-12-24"},
            }
        ),
    )
    day = Scope("test", "2026-11-30")
    assert catalogue.closes(day) == datetime(2027, 1, 30, tzinfo=UTC)  # over, asked before or not
    assert catalogue.closes(Scope("test", "once", "once", 1)) == datetime(2026, 12, 25, tzinfo=UTC)
    assert catalogue.closes(Scope("test", "once", "once", 2)) is None
    assert catalogue.closes(Scope("test", "2026-12")) is None
    assert catalogue.closes(Scope("another", "2026-11-30")) is None
