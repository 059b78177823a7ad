"""A released tally never changes, and nothing counts in its period again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from collector_kit import Clock, InProcess, make_survey, new_device, request_body
from load_kit import documents
from servers import Postgres

from deniable.collector.app import close_app, create_app
from deniable.collector.config import Config
from deniable.collector.store import open_store
from deniable.protocol.survey import Survey

FIRST = "2026-11-30"
SECOND = "2026-12-01"

CHANGES: dict[str, Any] = {"type": "choice", "choices": list("abcd"), "mechanism": "oue"}
SURVEY = make_survey({"yes": {}, "bits": CHANGES}, segments=["stable", "beta"])
LONGER = make_survey(
    {"yes": {"grace": 60}, "bits": CHANGES | {"grace": 60}}, segments=["stable", "beta"]
)

Start = Callable[[Survey], InProcess]


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "collector.db")
    postgres: Postgres = request.getfixturevalue("postgres")
    return postgres.fresh_database()


@pytest.fixture
def begin(location: str, tmp_path: Path, clock: Clock) -> Iterator[Start]:
    """Start a collector on the same store and keys, time after time."""
    with ExitStack() as stack:

        def start(survey: Survey) -> InProcess:
            keys = str(tmp_path / "keys")
            config = Config(location, (survey,), keys=keys, release_every=0, clock=clock)
            app = create_app(config)
            stack.callback(close_app, app)
            return InProcess(app, clock)

        yield start


def some(period: str) -> list[dict[str, Any]]:
    """Reports of devices in two segments and in none."""
    return [
        request_body(SURVEY, new_device(), period=period, segment=segment)
        for segment in ("stable", "beta", None)
        for _ in range(3)
    ]


def codes(collector: InProcess, body: dict[str, Any]) -> list[str]:
    outcome = collector.post(body).json
    assert (outcome["accepted"], outcome["duplicate"]) == (0, 0)
    return [rejection["code"] for rejection in outcome["rejected"]]


def documents_of(location: str, period: str) -> list[str]:
    """The text of a period's released tallies."""
    found = documents(location, SURVEY)
    return [text for text in found if json.loads(text)["period"] == period]


def ledger_rows(location: str) -> int:
    """How many ledger rows can still be swept away: none, once they were."""
    with closing(open_store(location)) as store, store.transaction() as tx:
        return tx.sweep(10**6)


def test_a_released_tally_never_changes(location: str, begin: Start, clock: Clock) -> None:
    collector = begin(SURVEY)
    bodies = some(FIRST)
    assert [collector.post(body).json["accepted"] for body in bodies] == [2] * len(bodies)
    collector.release(days=4)
    before = documents_of(location, FIRST)
    assert len(before) == 6

    def check() -> None:
        """Every report of the period is refused, old or new, and its documents are as they were."""
        assert ledger_rows(location) == 0
        for body in (*bodies, request_body(SURVEY, new_device(), period=FIRST)):
            assert codes(collector, body) == ["period_closed"] * 2
        assert documents_of(location, FIRST) == before

    check()
    for body in some(SECOND):  # the next day is open still, and is released after it
        assert collector.post(body).json["accepted"] == 2
    collector.release()
    check()
    collector.collector.load([LONGER])  # a grace in which the first day would be open
    check()
    collector.release(days=1)
    check()
    close_app(collector.app)
    collector = begin(LONGER)
    check()
    clock.advance(days=-4)  # a clock from before the release
    collector.release()
    check()
    clock.advance(days=4)
    close_app(collector.app)
    collector = begin(LONGER)
    for _ in range(8):
        collector.release(days=10)
    check()
    assert len(documents_of(location, SECOND)) == len(before)
    assert len(documents(location, SURVEY)) == 2 * len(before)
