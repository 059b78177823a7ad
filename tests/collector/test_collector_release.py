"""Closing: what leaves the shuffler and when, and that nothing opens again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from collector_kit import Clock, InProcess, make_survey, new_device, period_keys, request_body

from deniable.collector.catalogue import Catalogue
from deniable.collector.config import Config
from deniable.collector.release import close_periods
from deniable.collector.store import open_store
from deniable.collector.store.base import Scope
from deniable.protocol.errors import ParameterError
from deniable.protocol.survey import Survey
from deniable.protocol.tally import parse_tally

DAY = "2026-11-30"
Start = Callable[..., InProcess]


def send(
    collector: InProcess, survey: Survey, count: int, period: str = DAY, **rest: Any
) -> list[Any]:
    """Send the reports of so many new devices."""
    return [
        collector.post(request_body(survey, new_device(), period=period, **rest)).json
        for _ in range(count)
    ]


def codes(outcomes: list[Any]) -> list[str]:
    return [rejection["code"] for outcome in outcomes for rejection in outcome["rejected"]]


def test_a_tally_is_released_when_its_grace_has_passed(start: Start) -> None:
    survey = make_survey({"yes": {"grace": 2, "min_crowd": 3}})
    collector = start(survey)
    send(collector, survey, 4)
    collector.release(days=2, hours=11, minutes=59)
    assert collector.states() == {(DAY, None): "pending"}
    assert collector.documents("test", "yes") == []
    collector.release(minutes=1)
    assert collector.states() == {(DAY, None): "released"}
    (document,) = collector.documents("test", "yes")
    tally = parse_tally(document)
    assert (tally.n, tally.period, tally.segment, tally.batch) == (4, DAY, None, None)
    assert tally.question == survey.questions["yes"]


def test_a_small_crowd_is_destroyed_in_each_segment(start: Start) -> None:
    survey = make_survey({"yes": {"min_crowd": 3}}, segments=["a", "b"])
    collector = start(survey)
    send(collector, survey, 3, segment="a")
    send(collector, survey, 2, segment="b")
    closing = collector.release(days=30 - 26)
    assert (closing.released, closing.destroyed) == (1, 1)
    assert collector.states() == {(DAY, "a"): "released", (DAY, "b"): "destroyed"}
    with collector.collector.store.transaction() as tx:
        assert tx.all_pending() == {}
        assert [state.crowd for state in tx.states()] == ["3", "fewer than 3"]


def test_a_crowd_of_exactly_min_crowd_is_large_enough(start: Start) -> None:
    survey = make_survey({"yes": {"min_crowd": 3}})
    collector = start(survey)
    send(collector, survey, 3)
    assert collector.release(days=4).released == 1


def test_min_crowd_may_rise_under_way(start: Start) -> None:
    collector = start(make_survey({"yes": {"min_crowd": 2}}))
    send(collector, make_survey({"yes": {}}), 2)
    collector.collector.close()
    collector = start(make_survey({"yes": {"min_crowd": 3}}))
    assert collector.release(days=4).destroyed == 1


def test_late_reports_of_a_closed_period_are_refused(start: Start) -> None:
    survey = make_survey({"yes": {}})
    collector = start(survey)
    send(collector, survey, 1)
    collector.release(days=4)
    assert codes(send(collector, survey, 2)) == ["period_closed"] * 2
    assert [t["n"] for t in collector.documents("test", "yes")] == [1]


def test_a_retry_after_the_release_is_refused_not_counted(start: Start) -> None:
    survey = make_survey({"yes": {}})
    collector = start(survey)
    body = request_body(survey, new_device(), period=DAY)
    assert collector.post(body).json["accepted"] == 1
    assert collector.post(body).json["duplicate"] == 1
    collector.release(days=4)
    assert codes([collector.post(body).json]) == ["period_closed"]


def test_what_closed_before_there_was_a_store_stays_closed(start: Start) -> None:
    survey = make_survey({"yes": {"grace": 3}})
    collector = start(survey)
    assert codes(send(collector, survey, 1, "2026-11-26")) == ["period_closed"]
    assert codes(send(collector, survey, 1, "2026-11-27")) == []


def test_the_future_is_refused_until_it_comes(start: Start) -> None:
    survey = make_survey({"yes": {}})
    collector = start(survey)
    assert codes(send(collector, survey, 1, "2026-12-01")) == ["period_future"]
    collector.clock.advance(hours=12)
    assert codes(send(collector, survey, 1, "2026-12-01")) == []


@pytest.mark.parametrize("enough", [True, False], ids=["released", "destroyed"])
def test_a_longer_grace_opens_nothing_again(start: Start, enough: bool) -> None:
    """The question closes while its scope stays open for the other one."""
    crowd = 1 if enough else 5
    survey = make_survey({"yes": {"grace": 1, "min_crowd": crowd}, "slow": {"grace": 20}})
    collector = start(survey)
    body = request_body(survey, new_device(), period=DAY)
    collector.post(body)
    collector.release(days=3)
    collector.collector.close()
    longer = make_survey({"yes": {"grace": 20, "min_crowd": crowd}, "slow": {"grace": 20}})
    collector = start(longer)
    assert codes([collector.post(body).json]) == ["period_closed"]
    assert codes(send(collector, longer, 2, questions=["yes"])) == ["period_closed"] * 2
    assert codes(send(collector, longer, 1, questions=["slow"])) == []


def test_a_longer_grace_opens_no_closed_scope(start: Start) -> None:
    """Its ledger and key are gone: a device could count twice."""
    collector = start(make_survey({"yes": {"grace": 1}, "unanswered": {"grace": 1}}))
    survey = make_survey({"yes": {"grace": 20}, "unanswered": {"grace": 20}})
    send(collector, survey, 1, questions=["yes"])
    collector.release(days=3)
    collector.collector.close()
    collector = start(survey)
    assert codes(send(collector, survey, 1, questions=["unanswered"])) == ["period_closed"]
    assert collector.collector.keys.scopes() == set()


def test_keys_and_ledger_go_with_the_scope(start: Start) -> None:
    survey = make_survey({"yes": {"grace": 1}, "slow": {"grace": 5}, "weekly": {"period": "week"}})
    collector = start(survey)
    send(collector, survey, 2, questions=["yes", "slow"])
    send(collector, survey, 1, "2026-W49", questions=["weekly"])
    day, week = Scope("test", DAY), Scope("test", "2026-W49")
    assert collector.collector.keys.scopes() == {day, week}
    collector.release(days=3)
    assert collector.collector.keys.scopes() == {day, week}
    collector.release(days=3)
    assert collector.collector.keys.scopes() == {week}
    (left,) = period_keys(collector.collector.store.keys)
    assert left.name == "test.2026-W49.key"
    with collector.collector.store.read() as reader:
        assert reader.open_scopes() == [week]


def test_keys_of_a_survey_that_is_not_known_stay(start: Start) -> None:
    """It may be another store's, or be loaded by a later edition."""
    survey = make_survey({"yes": {}})
    collector = start(survey)
    places = collector.collector.keys.places
    names = {"other.2026-11-01", "other.once.ever.1", "test.2026-11-01"}
    for name in names:
        places.put_if_absent(name, bytes(32))
    collector.release(days=30)
    assert places.names() & names == {"other.2026-11-01", "other.once.ever.1"}


def test_once_is_released_in_weekly_batches(start: Start) -> None:
    survey = make_survey({"once": {"period": "once", "min_crowd": 3, "expires": "2026-12-23"}})
    collector = start(survey)  # Monday of week 49
    send(collector, survey, 2, "once")
    collector.release(days=7)  # week 50: too few, they wait
    assert collector.states() == {("once", None): "pending"}
    send(collector, survey, 1, "once")
    collector.release(days=1)  # still week 50
    assert collector.states() == {("once", None): "pending"}
    collector.release(days=6)  # week 51
    assert collector.states() == {("once", "2026-W50"): "released"}
    send(collector, survey, 4, "once")
    collector.release(days=7)  # week 52
    send(collector, survey, 3, "once")
    collector.release(days=2, hours=11)  # the last hour of the day on which it expires
    assert collector.states()["once", None] == "pending"
    collector.release(hours=1)
    assert collector.states() == {
        ("once", "2026-W50"): "released",
        ("once", "2026-W51"): "released",
        ("once", "2026-W52"): "released",
    }
    tallies = [parse_tally(document) for document in collector.documents("test", "once")]
    assert [(tally.batch, tally.n) for tally in tallies] == [
        ("2026-W50", 3),
        ("2026-W51", 4),
        ("2026-W52", 3),
    ]
    assert codes(send(collector, survey, 1, "once")) == ["period_closed"]
    assert collector.collector.keys.scopes() == set()


def test_the_rest_of_once_is_destroyed_if_it_is_too_few(start: Start) -> None:
    survey = make_survey({"once": {"period": "once", "min_crowd": 3, "expires": "2026-12-09"}})
    collector = start(survey)
    send(collector, survey, 3, "once")
    collector.release(days=7)
    send(collector, survey, 2, "once")
    collector.release(days=7)
    assert collector.states() == {
        ("once", "2026-W49"): "released",
        ("once", "2026-W50"): "destroyed",
    }


def test_a_device_answers_once_in_all_batches(start: Start) -> None:
    survey = make_survey({"once": {"period": "once"}})
    collector = start(survey)
    body = request_body(survey, new_device(), period="once")
    assert collector.post(body).json["accepted"] == 1
    collector.release(days=7)
    assert collector.post(body).json["duplicate"] == 1


def test_an_expiry_that_came_closer_names_no_batch_twice(start: Start) -> None:
    """The last batch is named after the present week, not after one that was released."""
    collector = start(make_survey({"once": {"period": "once", "expires": "2026-12-30"}}))
    survey = make_survey({"once": {"period": "once", "expires": "2026-12-09"}})
    send(collector, survey, 1, "once")
    for _ in range(2):
        collector.release(days=7)
        send(collector, survey, 1, "once")
    collector.collector.close()
    collector = start(survey)
    collector.release(days=1)
    assert [document["batch"] for document in collector.documents("test", "once")] == [
        "2026-W49",
        "2026-W50",
        "2026-W51",
    ]


def test_an_expiry_that_moved_away_opens_once_not_again(start: Start) -> None:
    collector = start(make_survey({"once": {"period": "once", "expires": "2026-12-02"}}))
    longer = make_survey({"once": {"period": "once", "expires": "2027-12-02"}})
    body = request_body(longer, new_device(), period="once")
    collector.post(body)
    collector.release(days=4)
    collector.collector.close()
    collector = start(longer)
    assert codes([collector.post(body).json]) == ["period_closed"]


def test_an_expiry_before_the_open_periods_destroys_none(start: Start) -> None:
    """An edition that ends a question now is loaded while what was counted waits for its grace."""
    collector = start(make_survey({"yes": {"min_crowd": 3}, "weekly": {"period": "week"}}))
    survey = make_survey(
        {
            "yes": {"min_crowd": 3, "expires": "2026-11-29"},
            "weekly": {"period": "week", "expires": "2026-11-29"},
        }
    )
    send(collector, survey, 3, questions=["yes"])
    send(collector, survey, 1, "2026-W49", questions=["weekly"])
    collector.collector.load([survey])
    collector.release(days=1)
    assert len(collector.collector.keys.scopes()) == 2
    assert codes(send(collector, survey, 1, questions=["yes"])) == ["expired"]
    collector.release(days=9)
    assert collector.states() == {(DAY, None): "released", ("2026-W49", None): "released"}
    assert collector.collector.keys.scopes() == set()


def test_a_scope_with_tallies_is_never_closed(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else is thought of it."""
    survey = make_survey({"yes": {}})
    collector = start(survey)
    send(collector, survey, 1)
    monkeypatch.setattr(Catalogue, "closes", lambda self, scope: None)
    assert collector.release(days=1).released == 0
    assert len(collector.collector.keys.scopes()) == 1
    assert collector.release(days=3).released == 1
    assert collector.collector.keys.scopes() == set()


def test_last_years_app_still_counts(start: Start) -> None:
    old = make_survey({"yes": {}, "gone": {}}, segments=["a"])
    start(old).collector.close()
    new = make_survey({"yes": {"version": 2}}, segments=["b"])
    collector = start(new)
    assert codes(send(collector, old, 1, segment="a")) == []
    assert codes(send(collector, new, 1, segment="b")) == []
    collector.release(days=4)
    assert [t["question"]["version"] for t in collector.documents("test", "yes")] == [1, 2]


def test_a_clock_that_jumps_is_not_believed(
    start: Start, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    survey = make_survey({"yes": {}})
    collector = start(survey, max_advance=timedelta(days=14))
    send(collector, survey, 1)
    assert collector.release(days=15) is None
    assert collector.release(minutes=1) is None
    assert [record.message for record in caplog.records] == [
        "the clock is 15 days past the last release, so none is made by itself; "
        "if it is right, run deniable-collector release"
    ]
    assert collector.states() == {(DAY, None): "pending"}
    clock.moment -= timedelta(days=15)
    assert collector.release() is not None
    assert collector.release(days=14) is not None
    assert collector.states() == {(DAY, None): "released"}


def test_the_release_command_confirms_a_clock(start: Start, clock: Clock) -> None:
    survey = make_survey({"yes": {}})
    collector = start(survey)
    send(collector, survey, 1)
    assert collector.release(days=400) is None
    another = open_store(collector.collector.config.store)  # as the command does
    with closing(another), another.transaction() as tx:
        close_periods(tx, collector.collector.keys, clock())
    assert collector.states() == {(DAY, None): "released"}
    assert collector.release(minutes=1) is not None


def test_a_store_from_the_future_says_so(
    start: Start, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    before = start(make_survey({"yes": {}}))
    send(before, make_survey({"yes": {}}), 1)
    before.collector.close()
    clock.advance(days=-2)
    collector = start(make_survey({"yes": {}}))
    assert [record.getMessage() for record in caplog.records] == [
        "what closes before 2026-11-30 12:00 is closed for good, though that is to come"
    ]
    assert codes(send(collector, make_survey({"yes": {}}), 1, "2026-11-26")) == ["period_closed"]


def test_a_clock_that_falls_back_opens_nothing(start: Start) -> None:
    survey = make_survey({"yes": {}})
    collector = start(survey)
    send(collector, survey, 1)
    collector.release(days=4)
    collector.release(days=-4)
    assert codes(send(collector, survey, 1)) == ["period_closed"]


def test_the_timer_releases_by_itself(start: Start, clock: Clock) -> None:
    survey = make_survey({"yes": {}})
    start(survey).collector.close()
    collector = start(survey, release_every=0.01)
    send(collector, survey, 1)
    clock.advance(days=4)
    deadline = datetime.now(UTC) + timedelta(seconds=20)
    while collector.states() != {(DAY, None): "released"}:
        assert datetime.now(UTC) < deadline


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"flood_limit": "often"}, "flood_limit must be like '60 per minute'"),
        ({"release_every": -1}, "release_every must be in 0..86400 seconds: -1"),
        ({"max_advance": timedelta(0)}, "max_advance must be positive"),
        ({"queue_bound": 0}, "queue_bound must be positive"),
        ({"max_group": 0}, "max_group must be positive"),
        ({"commit_timeout": 0}, "commit_timeout must be positive"),
        ({"max_devices_per_period": 0}, "max_devices_per_period must be positive"),
        ({"min_free_bytes": -1}, "min_free_bytes must not be negative"),
        (
            {"surveys": (make_survey({"yes": {}}), make_survey({"no": {}}))},
            "survey test is given twice",
        ),
    ],
)
def test_a_config_is_checked(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Config("collector.db", **settings)


def test_a_release_too_large_for_the_page_cache(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite then keeps every other reader out, and the keys are not in memory yet."""
    monkeypatch.setattr("deniable.collector.store.sqlite._BUSY_SECONDS", 0.2)
    surveys = [
        make_survey({f"q{number}": {} for number in range(20)}, name=f"survey{which}")
        for which in range(4)
    ]
    collector = start(*surveys)
    for survey in surveys:
        send(collector, survey, 1)
    collector.collector.close()
    collector = start(*surveys)
    collector.collector.store._connection.execute("PRAGMA cache_size = 2")  # type: ignore[attr-defined]
    assert collector.release(days=9).released == 80
