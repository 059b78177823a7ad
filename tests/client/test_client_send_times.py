"""Send times are independent of record times: the same draws give the same times, exactly."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, Clock, Collector, choice, question, reply, rows, settle, survey

from deniable.client.uploader import _NAP, Uploader
from deniable.protocol.survey import Survey

DAWN = datetime(2026, 11, 30, tzinfo=UTC)
LAST = timedelta(days=1) - timedelta(microseconds=1)
MOMENTS = [*(timedelta(minutes=197) * n for n in range(8)), LAST]
"""Of the day at which something is recorded."""

Act = Callable[[Any], None]


def seeded(seed: str) -> Callable[[int], bytes]:
    """The system's random bytes, the same again for each seed."""
    count = itertools.count()

    def draw(size: int) -> bytes:
        return hashlib.shake_256(f"{seed}/{next(count)}".encode()).digest(size)

    return draw


@pytest.fixture
def attempts(
    start: Any, heard: Collector, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., list[datetime]]:
    """When requests are made by the uploader of a device that does something at some moments.

    The collector has no time at first. The thread's rounds are made here, when it would make them.
    """
    number = itertools.count()
    monkeypatch.setattr(Uploader, "wake", lambda uploader: None)

    def attempts(
        seed: str, asked: Survey, acts: list[tuple[timedelta, Act]], *, age: timedelta = 9 * DAY
    ) -> list[datetime]:
        found: list[datetime] = []

        def answer(handler: Any, count: int) -> None:
            found.append(clock.now)
            if len(found) <= 3:
                reply(handler, 503)
            else:
                settle(handler, {"accepted": count, "duplicate": 0, "rejected": []})

        heard.answer = answer
        monkeypatch.setattr("os.urandom", seeded(seed))
        store = tmp_path / f"{next(number)}.db"
        clock.now = DAWN - age
        start(survey({"id": "older"}), store=store).close()
        clock.now = DAWN
        with start(asked, heard.url, store=store, consent="on") as client:
            waiting = sorted(acts, key=lambda act: act[0])
            until: datetime | None = None
            while clock.now < DAWN + 4 * DAY:
                for moment, act in waiting[:]:
                    if clock.now == DAWN + moment:
                        act(client)
                        waiting.remove((moment, act))
                until = client._engine._uploader._round()
                events = [DAWN + moment for moment, _ in waiting]
                clock.now = min([until or DAWN + 4 * DAY, clock.now + _NAP, *events])
        assert rows(store, "SELECT * FROM queue") == []
        return found

    return attempts


def answer(name: str, value: Any, **options: Any) -> Act:
    return lambda client: client.record(name, value, **options)


@pytest.mark.parametrize("second_round", [{}, {"epsilon_first": 1}])
@pytest.mark.parametrize("seed", "ab")
def test_the_same_draws_give_the_same_times_whenever_it_was_recorded(
    attempts: Any, seed: str, second_round: dict[str, Any]
) -> None:
    """Whatever the answer was, too; and if there was none, the default leaves at these times."""
    asked = survey(dark=question(default=False, **second_round))
    found = {
        tuple(attempts(seed, asked, [(moment, answer("dark", moment < LAST / 2))]))
        for moment in MOMENTS
    }
    found.add(tuple(attempts(seed, asked, [])))
    assert len(found) == 1
    (times,) = found
    assert len(times) >= 4
    assert all(moment >= DAWN + DAY for moment in times)


def test_draws_decide(attempts: Any) -> None:
    """Ten departures of a whole day, in seconds, are not all equal but for odds of 86400^-9."""
    asked = survey()
    acts = [(timedelta(hours=1), answer("dark", True))]
    assert len({attempts(str(seed), asked, acts)[0] for seed in range(10)}) > 1


def test_neither_order_nor_company_nor_repetition_matters(attempts: Any) -> None:
    """Reports that travel together leave when the first was drawn to, whichever it was."""
    asked = survey(a=question(), b=question(), c=choice("x", "y", "z"))
    given = [answer("a", True), answer("b", False), answer("c", "y")]
    found = set()
    for order in itertools.permutations(given):
        acts = [(MOMENTS[2 * n + 1], act) for n, act in enumerate(order)]
        acts += [(MOMENTS[7], act) for act in given]
        found.add(attempts("c", asked, acts)[0])
    found.add(attempts("c", asked, [(MOMENTS[5], answer("b", True))])[0])
    assert len(found) == 1


def test_a_once_answer_leaves_a_drawn_time_after_its_moment(attempts: Any) -> None:
    """It has no end of a period to wait for, so a day is all that blurs when it was recorded."""
    asked = survey(dark=question(period="once"))
    waits = [
        attempts("d", asked, [(moment, answer("dark", True))])[0] - (DAWN + moment)
        for moment in MOMENTS
    ]
    assert max(waits) - min(waits) <= timedelta(seconds=1)
    assert all(timedelta(0) <= wait <= DAY for wait in waits)


@pytest.mark.parametrize("period", ["day", "once"])
def test_on_the_day_the_store_was_made_not_even_a_once_answer_depends_on_its_moment(
    attempts: Any, period: str
) -> None:
    """What is drawn is added to the end of that day."""
    asked = survey(dark=question(period=period))
    found = {
        tuple(attempts("e", asked, [(moment, answer("dark", True))], age=timedelta(0)))
        for moment in MOMENTS
    }
    assert len(found) == 1
