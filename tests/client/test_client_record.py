"""What `record` refuses, spends, keeps and raises."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from client_kit import (
    DAY,
    NOON,
    Clock,
    Collector,
    choice,
    question,
    responses,
    rows,
    survey,
    survey_file,
)

from deniable.client import Client, Status, journal
from deniable.protocol.errors import DeniableError, ParameterError, SurveyError
from deniable.protocol.survey import Survey

LINKABLE = {"linkable": True}
SIDES = [f"side {number}" for number in range(256)]


def test_one_report_per_question_and_period(start: Any, clock: Clock, store: Path) -> None:
    client = start(survey(LINKABLE, bits=choice(*SIDES, mechanism="oue", grace=60)))
    client.record("bits", SIDES[0])
    first = responses(store, "bits")
    client.record("bits", SIDES[1])
    client.record("bits", SIDES[1])
    assert responses(store, "bits") == first
    clock.advance(DAY)
    client.record("bits", SIDES[1])
    assert len(set(responses(store, "bits"))) == 2
    clock.advance(-DAY)
    client.record("bits", SIDES[2])
    assert len(responses(store, "bits")) == 2


def test_the_first_value_of_a_period_wins_over_a_restart(start: Any, store: Path) -> None:
    asked = survey(LINKABLE, bits=choice(*SIDES, mechanism="oue"))
    for side in SIDES[:3]:
        with start(asked) as client:
            client.record("bits", side)
    assert len(responses(store, "bits")) == 1


@pytest.mark.parametrize(
    ("period", "steps", "reports"),
    [
        ("day", [timedelta(hours=11), timedelta(hours=2)], 2),
        ("week", [DAY, 5 * DAY, DAY], 2),
        ("month", [timedelta(hours=11), 30 * DAY, 2 * DAY], 3),
        ("once", [DAY, 400 * DAY], 1),
    ],
)
def test_periods_are_the_surveys(
    start: Any, clock: Clock, store: Path, period: str, steps: list[timedelta], reports: int
) -> None:
    client = start(survey(dark=question(period=period)))
    client.record("dark", True)
    for step in steps:
        clock.advance(step)
        client.record("dark", True)
    assert len(rows(store, "SELECT * FROM answered")) == reports


def test_values_are_composed_before_they_are_compared(start: Any, store: Path) -> None:
    client = start(survey(drink=choice("caf\u00e9", "tea")))
    client.record("drink", "cafe\u0301")
    assert len(responses(store, "drink")) == 1


@pytest.mark.parametrize("value", ["yes", 1, 0, None, 1.0, [], object(), b"True"])
def test_a_wrong_value_raises_if_strict(start: Any, value: object) -> None:
    client = start()
    with pytest.raises(ParameterError, match="dark: the value must be True or False") as caught:
        client.record("dark", value)
    assert caught.value.__context__ is None
    assert client.status().dropped == {"wrong_value": 1}
    assert client.status().queued == 0


def test_an_unknown_question_raises_if_strict(start: Any) -> None:
    with pytest.raises(ParameterError, match="no such question; use one of dark"):
        start().record("drak", True)


def test_no_frame_of_an_error_holds_the_value(start: Any) -> None:
    """Error reporters collect the variables of every frame of a traceback."""
    client, value = start(), "the true value"
    with pytest.raises(ParameterError) as caught:
        client.record("dark", value)
    inside = [entry for entry in caught.traceback if "test_" not in entry.path.name]
    assert inside
    for entry in inside:
        assert value not in map(str, entry.frame.f_locals.values())
    assert value not in str(caught.value)


def test_nothing_raises_unless_strict(start: Any) -> None:
    client = start(strict=False)
    client.record("dark", "yes")
    client.record("drak", True)
    client.record(["dark"], True)
    client.record(None, None)
    client.record("dark", True)
    assert client.status().state == "local"
    assert client.status().queued == 1
    assert client.status().dropped == {"no_such_question": 3, "wrong_value": 1}


BROKEN: list[dict[str, Any]] = [
    {"survey": "/no/such/survey.toml"},
    {"survey": 7},
    {"survey": None},
    {"collector_url": "ftp://collector.example"},
    {"collector_url": "collector.example"},
    {"collector_url": "https://user:word@collector.example"},
    {"collector_url": "https://collector.example?x=1"},
    {"collector_url": None},
    {"consent": "yes"},
    {"segment": "nightly"},
    {"store": 7},
]


@pytest.mark.parametrize("changes", BROKEN)
def test_a_constructor_never_raises_unless_strict(store: Path, changes: dict[str, Any]) -> None:
    options = {"survey": survey(), "collector_url": "https://collector.example", "store": store}
    with Client(**{**options, **changes}) as client:
        client.record("dark", True)
        assert client.flush().sent == 0
        assert not client.opt_in()
        status = client.status()
    assert status.state == "silent"
    assert status.reason
    assert not store.exists()


@pytest.mark.parametrize("changes", [each for each in BROKEN if None not in each.values()])
def test_a_strict_constructor_raises(store: Path, changes: dict[str, Any]) -> None:
    options = {"survey": survey(), "collector_url": "https://collector.example", "store": store}
    with pytest.raises((DeniableError, TypeError)):
        Client(**{**options, **changes, "strict": True})


def test_a_broken_survey_is_told_with_every_mistake(tmp_path: Path, store: Path) -> None:
    broken = tmp_path / "survey.toml"
    broken.write_text('[survey]\nformat = 1\nid = "acme"\n', encoding="utf-8")
    with pytest.raises(SurveyError, match="max_epsilon: missing"):
        Client(broken, "https://collector.example", store, strict=True)
    reason = Client(broken, "https://collector.example", store).status().reason
    assert "max_epsilon: missing" in reason
    assert "questions" in reason


def test_survey_files_of_both_forms_are_taken(store: Path, tmp_path: Path) -> None:
    compiled = survey_file(tmp_path / "survey.json", survey(dark=question(period="once")))
    written = tmp_path / "survey.toml"
    written.write_text(
        '[survey]\nformat = 1\nid = "acme"\nmax_epsilon = 100\n[questions.dark]\nversion = 1\n'
        'ask = "Is the dark theme on?"\ntype = "boolean"\nepsilon = 2\nperiod = "once"\n'
        "expires = 2990-01-01\n",
        encoding="utf-8",
    )
    for path in (compiled, str(written)):
        with Client(path, "https://collector.example", store, strict=True) as client:
            client.record("dark", True)
            assert client.status().queued == 1


# The ledger and its ceiling


def ask(name: str = "dark", **changes: Any) -> dict[str, Any]:
    return {name: question(**changes)}


def spend(client: Any, *names: str) -> Status:
    for name in names:
        client.record(name, True)
    status: Status = client.status()
    client.close()
    return status


def capped(ceiling: int, *questions: dict[str, Any]) -> Survey:
    """A survey whose questions together may pass its ceiling, as none that is loaded may."""
    merged = {name: asked for each in questions for name, asked in each.items()}
    whole = survey(LINKABLE, **merged)
    return Survey(
        whole.id, Decimal(ceiling), whole.segments, whole.batch, whole.linkable, whole.questions
    )


def test_an_answer_is_spent_once_per_version(start: Any, clock: Clock) -> None:
    client = start()
    for _ in range(5):
        client.record("dark", True)
        clock.advance(DAY)
    assert client.status().epsilon_spent == 2
    assert spend(start(survey(**ask(version=2))), "dark").epsilon_spent == 4


def test_a_survey_that_raises_max_epsilon_is_not_heard(start: Any, store: Path) -> None:
    spend(start(survey({"max_epsilon": Decimal(3)}, **ask())), "dark")
    raised = survey({"max_epsilon": Decimal(100)}, **ask(), **ask("more"))
    status = spend(start(raised), "more")
    assert status.dropped == {"ceiling": 1}
    assert status.epsilon_spent == 2
    assert status.epsilon_ceiling == 3
    assert responses(store, "more") == []
    assert spend(start(raised, consent="on"), "dark").epsilon_ceiling == 3


def test_a_survey_may_lower_the_ceiling_for_good(start: Any) -> None:
    spend(start(survey({"max_epsilon": Decimal(10)}, **ask())), "dark")
    lowered = survey({"max_epsilon": Decimal(4)}, **ask("more"))
    assert spend(start(lowered), "more").epsilon_spent == 4
    raised = survey({"max_epsilon": Decimal(10)}, **ask("third"))
    status = spend(start(raised), "third")
    assert (status.epsilon_spent, status.epsilon_ceiling) == (4, 4)
    assert status.dropped == {"ceiling": 1}


def test_the_ceiling_may_be_reached_but_not_passed(start: Any) -> None:
    exact = capped(4, ask("a"), ask("b"), ask("c", epsilon=Decimal("0.01")))
    status = spend(start(exact), "a", "b", "c")
    assert status.epsilon_spent == 4
    assert status.dropped == {"ceiling": 1}


def test_the_ceiling_holds_over_all_surveys_of_a_store(start: Any) -> None:
    spend(start(survey({"max_epsilon": Decimal(3)}, **ask())), "dark")
    other = survey({"id": "other", "max_epsilon": Decimal(3)}, **ask())
    status = spend(start(other), "dark")
    assert (status.epsilon_spent, status.dropped) == (2, {"ceiling": 1})


def test_epsilons_add_up_as_decimals(start: Any) -> None:
    """0.1 + 0.2 > 0.3 in floating point."""
    asked = capped(1, *(ask(f"q{n}", epsilon=Decimal("0.1")) for n in range(11)))
    status = spend(start(asked), *(f"q{n}" for n in range(11)))
    assert status.epsilon_spent == 1
    assert status.dropped == {"ceiling": 1}


def test_a_question_changed_under_its_version_is_refused(
    start: Any, clock: Clock, store: Path
) -> None:
    spend(start(), "dark")
    clock.advance(DAY)
    changed = survey(**ask(ask="Something else?"))
    client = start(changed)
    for _ in range(3):
        client.record("dark", True)
    status = spend(client)
    assert status.dropped == {"changed": 3}
    assert status.epsilon_spent == 2
    assert len(responses(store, "dark")) == 1
    assert spend(start(), "dark").queued == 2


def test_no_question_beyond_the_limits_is_answered(start: Any, store: Path) -> None:
    whole = survey(**ask(epsilon=Decimal(16)))
    dark = whole.questions["dark"]
    object.__setattr__(dark, "mechanism", replace(dark.mechanism, epsilon=Decimal("16.01")))
    assert spend(start(whole), "dark").dropped == {"limits": 1}
    assert responses(store, "dark") == []


def test_nothing_is_asked_after_it_expired(start: Any, clock: Clock, store: Path) -> None:
    asked = survey(
        day=question(expires=date(2026, 11, 30)),
        week=question(period="week", expires=date(2026, 12, 2)),
        once=question(period="once", expires=date(2026, 12, 2)),
    )
    client = start(asked)
    client.record("day", True)
    clock.now = datetime(2026, 12, 1, tzinfo=UTC)
    client.record("day", True)
    clock.now = datetime(2026, 12, 2, 23, 59, tzinfo=UTC)
    client.record("week", True)
    clock.now = datetime(2026, 12, 3, tzinfo=UTC)
    client.record("once", True)
    assert [len(responses(store, name)) for name in ("day", "week", "once")] == [1, 1, 0]
    assert client.status().dropped == {"expired": 2}


@pytest.mark.parametrize("year", [1970, 2995])
def test_an_absurd_clock_answers_nothing(start: Any, clock: Clock, year: int) -> None:
    clock.now = NOON.replace(year=year)
    client = start(survey(dark=question(default=False)))
    client.record("dark", True)
    client.flush()
    assert client.status().dropped == {"clock": 1}
    clock.now = NOON
    client.record("dark", True)
    assert client.status().queued == 1


@pytest.mark.parametrize("consent", ["ask", "on"])
def test_the_journal_is_shortened_to_the_last_entries(
    start: Any,
    clock: Clock,
    heard: Collector,
    quick_store: Path,
    monkeypatch: pytest.MonkeyPatch,
    consent: str,
) -> None:
    """What waits, or could be answered again, stays."""
    monkeypatch.setattr(journal, "MOST", 3)
    asked = survey(dark=question(grace=2), once=question(period="once"))
    client = start(asked, heard.url, store=quick_store, consent=consent)
    for _ in range(8):
        client.record("dark", True)
        client.record("once", True)
        clock.advance(DAY)
        client.flush(force=consent == "on")
    sql = """SELECT question, period, state FROM answered JOIN ledger USING (number)
        ORDER BY question, period"""
    opened = "sent" if consent == "on" else None
    assert rows(quick_store, sql) == [
        ("dark", "2026-12-03", "sent" if consent == "on" else "period_closed"),
        ("dark", "2026-12-04", "sent" if consent == "on" else "period_closed"),
        ("dark", "2026-12-05", "sent" if consent == "on" else "period_closed"),
        ("dark", "2026-12-06", opened),
        ("dark", "2026-12-07", opened),
        ("once", "once", opened),
    ]
    assert rows(quick_store, "SELECT answers FROM ledger WHERE question = 'dark'") == [(8,)]


def test_closed_clients_do_nothing(start: Any, store: Path) -> None:
    client = start(strict=False)
    client.close()
    client.close()
    client.record("dark", True)
    assert client.opt_in() is False
    assert client.flush(force=True).sent == 0
    assert client.status().reason == "the client was closed"
    assert responses(store, "dark") == []


def test_an_end_hides_no_reason_for_silence(start: Any, store: Path) -> None:
    store.parent.mkdir()
    store.write_bytes(b"another program's")
    client = start(survey(), strict=False)
    told = client.status().reason
    client.close()
    assert client.status().reason == told
    assert "is no store of deniable" in told


def test_an_answer_after_the_end_raises_if_strict(start: Any, store: Path) -> None:
    client = start()
    client.close()
    with pytest.raises(DeniableError, match="the client was closed"):
        client.record("dark", True)
    assert responses(store, "dark") == []


def test_a_closed_client_still_tells_what_it_did(start: Any) -> None:
    client = start(strict=False)
    client.record("dark", True)
    client.record("dark", "yes")
    last = client.status()
    client.record("drak", True)
    client.close()
    dropped = {"no_such_question": 1, "wrong_value": 1}
    closed = replace(last, state="silent", reason="the client was closed", dropped=dropped)
    assert client.status() == closed
    assert (closed.epsilon_spent, closed.epsilon_ceiling, closed.queued) == (2, 100, 1)


def test_a_survey_of_expired_questions_says_so(start: Any, clock: Clock) -> None:
    asked = survey(a=question(expires=date(2026, 11, 30)), b=question(expires=date(2026, 12, 1)))
    client = start(asked, consent="on")
    clock.advance(DAY)
    client.record("a", True)
    assert client.status().reason == ""
    clock.advance(DAY)
    assert (client.status().state, client.status().reason) == (
        "on",
        "every question has expired",
    )
    with start(asked) as unasked:
        reason = "nobody has said yes yet; every question has expired"
        assert unasked.status().reason == reason


def test_refusals_survive_a_restart(start: Any) -> None:
    with start(strict=False) as client:
        client.record("dark", "yes")
    assert start().status().dropped == {"wrong_value": 1}


def test_an_answer_that_interrupts_another_is_only_counted(start: Any) -> None:
    """As from a signal handler that runs in the middle of a transaction."""
    client = start(survey(a=question(), b=question()))
    with client._engine._db.transaction():
        client.record("a", True)
    client.record("b", True)
    assert client.status().dropped == {"busy": 1}
    assert client.status().queued == 1


def test_an_answer_survives_a_thread_that_cannot_start(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    client = start(survey(), consent="on")
    client.record("dark", True)
    assert client.flush(force=True).kept == 1
    assert client.status().state == "on"
