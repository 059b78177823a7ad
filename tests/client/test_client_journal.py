"""What a journal that was cut short still knows, and what it never forgets."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, NOON, Clock, question, rows, survey

from deniable.client import journal
from deniable.protocol.periods import parse_period

ASKED = survey(dark=question(grace=1))
DAYS = ("2026-11-30", "2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04")


@pytest.fixture
def forgotten(start: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The store of a client that answered for five days and forgot the first of them."""
    monkeypatch.setattr(journal, "MOST", 1)
    client = start(ASKED)
    for _ in DAYS:
        client.record("dark", True)
        clock.advance(DAY)
        client.flush()
    return client._engine._store


def keep_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST", 0)


def test_a_period_that_was_forgotten_stays_answered(forgotten: Any, store: Path) -> None:
    """Up to its last second, and not the next one."""
    asked = ASKED.questions["dark"]
    kept = {period for (period,) in rows(store, "SELECT period FROM answered")}
    gone = [day for day in DAYS if day not in kept]
    assert gone
    assert all(forgotten.journal.answered(asked, parse_period(day)) for day in DAYS)
    assert not forgotten.journal.answered(asked, parse_period("2026-12-05"))
    last = parse_period(gone[-1]).end.timestamp()
    assert rows(store, "SELECT through FROM ledger") == [(last,)]


def test_what_is_forgotten_never_goes_back(forgotten: Any, store: Path, clock: Clock) -> None:
    """A later trim forgets an older period, as after a clock that was ahead."""
    before = rows(store, "SELECT through FROM ledger")
    rows(store, "INSERT INTO answered SELECT number, '2026-10-01', 0, 'sent', NULL FROM ledger")
    forgotten.journal.trim(clock.now)
    assert rows(store, "SELECT * FROM answered WHERE period = '2026-10-01'") == []
    assert rows(store, "SELECT through FROM ledger") == before


def test_nothing_is_forgotten_that_a_corrected_clock_could_ask_again(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = start(ASKED)
    client.record("dark", True)
    rows(store, "UPDATE answered SET state = 'sent'")
    keep_none(monkeypatch)
    closes = parse_period("2026-11-30").end + DAY
    for late, left in ((timedelta(minutes=9), 1), (timedelta(minutes=10), 0)):
        client._engine._store.journal.trim(closes + late)
        assert len(client.sent()) == left


@pytest.mark.parametrize(("period", "state"), [("once", "sent"), ("day", None)])
def test_what_is_answered_for_ever_or_waits_is_not_forgotten(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch, period: str, state: str | None
) -> None:
    client = start(survey(dark=question(period=period)))
    client.record("dark", True)
    rows(store, "UPDATE answered SET state = ?, closes = 0", state)
    keep_none(monkeypatch)
    client._engine._store.journal.trim(NOON)
    assert len(client.sent()) == 1
