"""An answer that may change, on the device: what is reported, and what is kept for it how long."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from client_kit import (
    DAY,
    NOON,
    Clock,
    Collector,
    bytes_of,
    question,
    responses,
    rows,
    run,
    survey,
    survey_file,
)

from deniable.client import Client
from deniable.client import changing as changing_answers
from deniable.client.answers import Answer
from deniable.client.device import main
from deniable.client.tables import NAMES
from deniable.protocol.derivation import next_response
from deniable.protocol.draws import KeyedDraws
from deniable.protocol.mechanisms.dyadic import Dyadic, Memory
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey

PERIODS = 16


def changing(periods: int = PERIODS, **changes: Any) -> Survey:
    """A yes/no that changes twice at most, and a number that rises, both every day from NOON's."""
    horizon = {"start": NOON.date(), "periods": periods}
    details = {"grace": 40, **changes}
    return survey(
        {"linkable": True},
        dark=question(horizon={**horizon, "changes": 2}, **details),
        launches=question(
            type="number",
            range={"low": 0, "high": 4, "steps": 4},
            horizon=horizon,
            **details,
        ),
    )


ASKED = changing()


def secret_of(own: Question, level: int) -> bytes:
    """A secret with which a device is of a level."""
    mechanism = own.mechanism
    assert isinstance(mechanism, Dyadic)
    for n in range(10**6):
        secret = n.to_bytes(32, "big")
        fields = (own.survey, own.id, str(own.version), own.hash)
        draws = KeyedDraws(secret, b"setup", *(field.encode() for field in fields), b"", b"")
        if mechanism.level(mechanism.assign(draws)) == level:
            return secret
    raise AssertionError


Make = Callable[..., bytes]


@pytest.fixture
def make(start: Any, store: Path) -> Make:
    """Makes a store of a device of some level of `dark`; returns its secret."""

    def make(level: int, asked: Survey = ASKED, **options: Any) -> bytes:
        start(asked, **{"consent": "on", **options}).close()
        secret = secret_of(asked.questions["dark"], level)
        rows(store, "UPDATE device SET secret = ?, machine = NULL", secret)
        return secret

    return make


def expected(
    secret: bytes, history: dict[int, int | None], name: str = "dark", asked: Survey = ASKED
) -> list[Any]:
    """What a device with this secret reports that goes through a history."""
    own = asked.questions[name]
    memory: Memory | None = None
    sent = []
    for t, symbol in history.items():
        response, memory = next_response(secret, own, memory, symbol, t)
        if response is not None:
            sent.append(own.mechanism.shape.pack(response))
    return sent


def memory_of(store: Path, name: str = "dark") -> Memory | None:
    sql = """SELECT base, latest, used, seen FROM memory JOIN ledger USING (number)
        WHERE question = ?"""
    for row in rows(store, sql, name):
        return None if row[1] is None else Memory(*row)
    return None


def day(t: int) -> timedelta:
    return (t - 1) * DAY


# What is reported


@pytest.mark.parametrize("level", [0, 1, 3])
def test_a_course_of_answers_is_reported_as_it_was_proved(
    start: Any, store: Path, clock: Clock, make: Make, level: int
) -> None:
    """For one epsilon, in the periods of its level, over restarts."""
    secret = make(level)
    dark = {t: int(5 <= t < 11) for t in range(1, PERIODS + 1)}
    launches = {t: t // 4 for t in dark}
    for t in dark:
        clock.now = NOON + day(t)
        with start(ASKED, consent="on") as client:
            client.record_many({"dark": bool(dark[t]), "launches": launches[t]})
            assert client.status().epsilon_spent == 4
    assert responses(store, "dark") == expected(secret, {**dark})
    assert len(responses(store, "dark")) == PERIODS >> level
    assert responses(store, "launches") == expected(secret, {**launches}, "launches")
    assert memory_of(store) == Memory(0, 0, 2 if level == 3 else 3, PERIODS)
    assert rows(store, "SELECT answers FROM ledger") == [(PERIODS,)] * 2


def test_the_first_answer_of_a_period_wins(
    start: Any, store: Path, clock: Clock, make: Make
) -> None:
    secret = make(1)
    for t, values in ((1, (False, True)), (2, (True, False))):
        clock.now = NOON + day(t)
        for value in values:
            with start(ASKED, consent="on") as client:
                client.record("dark", value)
                client.record("dark", not value)
    assert responses(store, "dark") == expected(secret, {1: 0, 2: 1})
    assert memory_of(store) == Memory(1, 1, 1, 2)


@pytest.mark.parametrize("how", ["start", "flush", "record", "another question"])
def test_a_period_without_record_goes_on_with_the_answer_before(
    start: Any, store: Path, clock: Clock, make: Make, how: str
) -> None:
    """As soon as the device is on and the period's reports still count."""
    secret = make(1)
    client = start(ASKED, consent="ask")
    client.record("dark", True)
    if how == "start":
        client.close()
    clock.now = NOON + day(6)
    if how == "start":
        client = start(ASKED, consent="ask")
    elif how == "flush":
        client.flush()
    else:
        client.record(*("dark", False) if how == "record" else ("launches", 2))
    history: dict[int, int | None] = {1: 1, 2: None, 4: None}
    if how == "record":
        history[6] = 0
    assert responses(store, "dark") == expected(secret, history)
    assert memory_of(store) == Memory(*(1, 1, 1, 4) if how != "record" else (0, 0, 2, 6))
    assert client.status().dropped == {}


def test_periods_that_closed_are_left_out(
    start: Any, store: Path, clock: Clock, make: Make
) -> None:
    """Nobody would count them; the change that was not reported then is not reported later."""
    asked = changing(grace=2)
    secret = make(0, asked)
    for t, value in ((1, False), (7, True)):
        clock.now = NOON + day(t)
        with start(asked, consent="on") as client:
            client.record("dark", value)
    mine = expected(secret, {1: 0, 5: None, 6: None, 7: 1}, asked=asked)
    assert responses(store, "dark") == mine
    assert memory_of(store) == Memory(1, 1, 2, 7)


@pytest.mark.parametrize("level", [0, 1])
def test_a_period_of_a_clock_that_was_set_back_is_not_answered_again(
    start: Any, store: Path, clock: Clock, make: Make, level: int
) -> None:
    """The store believes a clock that is ten minutes behind the day it has seen.

    At level 1 nothing was reported or noted of that period.
    """
    secret = make(level)
    client = start(ASKED, consent="on")
    for t in (2, 4):
        clock.now = NOON + day(t)
        client.record("dark", True)
    before = memory_of(store)
    clock.now = NOON + day(4) - timedelta(hours=12, minutes=5)
    client.record("dark", False)
    assert (client.status().dropped, client.status().state) == ({}, "on")
    assert responses(store, "dark") == expected(secret, {2: 1, 3: None, 4: 1})
    assert memory_of(store) == before


@pytest.mark.parametrize("t", [0, -400, PERIODS + 1, PERIODS + 300])
def test_it_is_asked_within_its_horizon_only(start: Any, store: Path, clock: Clock, t: int) -> None:
    clock.now = NOON + day(t)
    client = start(ASKED, consent="on")
    client.record("dark", True)
    client.record("dark", True)
    status = client.status()
    assert status.dropped == {"not_asked": 2}
    assert (status.queued, status.epsilon_spent) == (0, 0)
    assert client.preview("dark", True).outcome == "not_asked"
    assert rows(store, "SELECT * FROM memory") == []


def test_who_begins_late_reports_changes_only(
    start: Any, store: Path, clock: Clock, make: Make
) -> None:
    secret = make(0)
    for t, value in ((5, True), (6, True), (7, False)):
        clock.now = NOON + day(t)
        with start(ASKED, consent="on") as client:
            client.record("dark", value)
    assert responses(store, "dark") == expected(secret, {5: 1, 6: 1, 7: 0})
    assert len(responses(store, "dark")) == 2


def test_a_refused_question_remembers_nothing(start: Any, store: Path) -> None:
    start(survey({"max_epsilon": 1}, other=question(epsilon=1)), consent="on").close()
    client = start(ASKED, consent="on")
    client.record("dark", True)
    assert client.status().dropped == {"ceiling": 1}
    assert rows(store, "SELECT * FROM memory") == []


def test_reports_travel_like_any_other(
    start: Any, store: Path, clock: Clock, heard: Collector, make: Make
) -> None:
    secret = make(0)
    client = start(ASKED, heard.url, consent="on")
    client._engine._uploader.stop(5)
    for t, value in ((1, False), (2, True)):
        clock.now = NOON + day(t)
        client.record("dark", value)
    assert client.flush(force=True).sent == 2
    sent = [(period, response) for period, _, response in heard.reports]
    mine = expected(secret, {1: 0, 2: 1})
    assert sorted(sent) == [("2026-11-30", mine[0]), ("2026-12-01", mine[1])]
    assert responses(store, "dark") == []


# What a preview shows


def kept(store: Path) -> dict[str, list[Any]]:
    """All that a store holds but when it was last looked at."""
    found = {name: rows(store, f"SELECT * FROM {name} ORDER BY 1, 2") for name in sorted(NAMES)}
    del found["device"]
    return found


def test_a_preview_is_what_would_be_reported_and_changes_nothing(
    start: Any, store: Path, clock: Clock, make: Make
) -> None:
    make(1)
    client = start(ASKED, consent="on")
    client._engine._uploader.stop(5)
    for t, value in ((1, True), (2, False), (3, True), (8, True)):
        clock.now = NOON + day(t)
        before = kept(store)
        seen = client.preview("dark", value)
        assert kept(store) == before
        shown = [report["response"] for report in seen.request["reports"]]
        assert (seen.outcome, bool(shown)) == ("queued", t % 2 == 0)
        assert (seen.earliest is None) == (not shown)
        client.record("dark", value)
        if shown:
            assert responses(store, "dark")[-1:] == shown
        again = client.preview("dark", value)
        assert (again.outcome, again.request["reports"]) == ("answered", [])


def test_a_preview_goes_through_the_periods_between() -> None:
    """As the record of the same answer would, for devices of many secrets."""
    own = ASKED.questions["dark"]
    now = NOON + day(8)
    shown, sent = [], []
    for number in range(60):
        secret = bytes([number]) * 32
        memory: Memory | None = None
        for t, symbol in ((1, 0), (2, 0), (3, 1)):  # a change that is told in the fourth
            _, memory = next_response(secret, own, memory, symbol, t)
        shown.append(changing_answers.foreseen(secret, own, memory, 0, now))
        for t in range(4, 8):
            _, memory = next_response(secret, own, memory, None, t)
        sent.append(next_response(secret, own, memory, 0, 8)[0])
    assert shown == sent
    assert len(set(sent)) > 3, "yes, no, none, and levels"


def test_a_preview_of_a_period_that_is_behind_shows_nothing() -> None:
    """Another process may record between the two looks of a preview."""
    own = ASKED.questions["dark"]
    for number in range(9):
        secret, now = bytes([number]) * 32, NOON + day(4)
        assert changing_answers.foreseen(secret, own, Memory(0, 0, 1, 4), 1, now) is None


# What is kept, and what ends it


def test_what_is_kept_is_the_last_answer_and_nothing_else(
    start: Any, store: Path, clock: Clock, make: Make
) -> None:
    """Before its first report, the stores of a yes and of a no differ in that one column."""
    make(1)
    copy = store.with_name("copy")
    with start(ASKED, consent="on") as client:
        client.record("launches", 1)
    shutil.copy(store, copy)
    found = []
    for value in (False, True):
        shutil.copy(copy, store)
        with start(ASKED, consent="on") as client:
            client.record("dark", value)
        rows(store, "UPDATE ledger SET number = 1 WHERE question = 'dark'")
        for table in ("answered", "queue", "memory"):
            sql = f"UPDATE {table} SET number = 1 WHERE number NOT IN (SELECT number FROM ledger)"
            rows(store, sql)
        found.append(kept(store))
    no, yes = found
    assert [name for name in no if no[name] != yes[name]] == ["memory"]
    cells = zip(sum(no["memory"], ()), sum(yes["memory"], ()), strict=True)
    assert [(one, two) for one, two in cells if one != two] == [(0, 1)]


@pytest.mark.parametrize("by", ["client", "person"])
def test_a_no_erases_it_and_ends_the_question(
    start: Any, store: Path, clock: Clock, make: Make, by: str
) -> None:
    """For the device cannot know any more how much of its epsilon is spent."""
    make(0)
    client = start(ASKED, consent="on")
    client.record("dark", True)
    if by == "client":
        client.opt_out()
    else:
        client.close()
        assert main(["off", "--store", str(store)], _clock=clock) == 0
    assert rows(store, "SELECT base, latest, used, seen FROM memory") == [(None,) * 4]
    clock.now = NOON + day(2)
    client = start(ASKED, consent="on")
    client.opt_in()
    client.record("dark", False)
    client.record("launches", 2)
    status = client.status()
    assert (status.dropped, status.epsilon_spent) == ({"forgotten": 1}, 4)
    assert responses(store, "dark") == []
    assert memory_of(store, "launches") is not None
    clock.now = NOON + day(9)
    client.flush()
    assert responses(store, "dark") == []


def test_what_never_left_begins_anew_with_a_yes(
    start: Any, store: Path, clock: Clock, make: Make
) -> None:
    """What was recorded before it is thrown away, and has told nobody anything."""
    secret = make(0, consent="ask")
    client = start(ASKED, consent="ask")
    for t, value in ((1, True), (2, False), (3, True)):
        clock.now = NOON + day(t)
        client.record("dark", value)
    assert len(responses(store, "dark")) == 3
    client.opt_in()
    assert rows(store, "SELECT * FROM memory") == []
    assert rows(store, "SELECT answers FROM ledger") == [(0,)]
    assert client.sent() == []
    client.record("dark", True)
    clock.now = NOON + day(4)
    client.record("dark", False)
    assert responses(store, "dark") == expected(secret, {3: 1, 4: 0})
    assert client.status().epsilon_spent == 2


def test_an_app_that_asks_later_ends_it(start: Any, store: Path, clock: Clock, make: Make) -> None:
    """Between its two consents answers were recorded of which none may ever be told."""
    make(0)
    with start(ASKED, consent="on") as client:
        client.record("dark", False)
    clock.now = NOON + day(2)
    with start(ASKED, consent="ask") as client:
        client.record("dark", True)
        client.opt_in()
        client.record("dark", True)
        assert client.status().dropped == {"forgotten": 1}
    assert memory_of(store) is None


@pytest.mark.parametrize("how", ["a no", "a no before there was a yes", "an erasure", "the end"])
def test_stores_of_opposite_answers_are_equal_after(
    start: Any, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Byte for byte, given the same draws: no page keeps what the answers were."""
    asked = changing(periods=4, grace=2)
    found = []
    for side in (0, 1):
        clock.now = NOON
        count = itertools.count()
        monkeypatch.setattr(
            "os.urandom", lambda size, c=count: hashlib.shake_256(b"%d" % next(c)).digest(size)
        )
        store = tmp_path / str(side) / "acme.db"
        consent = "ask" if how == "a no before there was a yes" else "on"
        with start(asked, store=store, consent=consent) as client:
            client._engine._uploader.stop(5)
            for t in range(1, 4):
                clock.now = NOON + day(t)
                client.record_many({"dark": (t + side) % 2 == 1, "launches": side * 4})
            if how == "an erasure":
                client._engine._store.erase(clock.now)
            elif how == "the end":
                clock.now = NOON + day(9)
                client._engine._outbox.drop_closed()
            else:
                before = bytes_of(store.parent)
                client.opt_out()
                assert bytes_of(store.parent) != before
            assert client._engine._store.memories.numbers() == frozenset()
        found.append(bytes_of(store.parent))
    assert found[0] == found[1]


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there are no such signals here")
@pytest.mark.parametrize("act", ["record", "preview"])
def test_what_a_handler_raises_holds_no_memory(
    start: Any, store: Path, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    class Late(Exception):
        pass

    def handler(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        client = start(ASKED, consent="on")
        client.record("dark", True)
        monkeypatch.setattr(
            changing_answers, "next_response", lambda *_: signal.raise_signal(signal.SIGUSR1)
        )
        with pytest.raises(Late) as caught:
            getattr(client, act)("launches", 3)
    finally:
        signal.signal(signal.SIGUSR1, before)
    traceback, values = caught.value.__traceback__, []
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename != __file__:
            values += traceback.tb_frame.f_locals.values()
        traceback = traceback.tb_next
    assert not [value for value in values if isinstance(value, (Answer, Memory))]
    assert len(rows(store, "SELECT * FROM memory")) == 1
    assert len(rows(store, "SELECT * FROM ledger")) == 1


def test_an_erasure_leaves_nothing(start: Any, store: Path, clock: Clock, make: Make) -> None:
    make(0)
    with start(ASKED, consent="on") as client:
        client.record("dark", True)
    assert main(["erase", "--yes", "--store", str(store)], _clock=clock) == 0
    assert rows(store, "SELECT * FROM memory") == []
    clock.now = NOON + day(2)
    with start(ASKED, consent="on") as client:
        client.opt_in()
        client.record("dark", True)
        assert client.status().dropped == {"erased": 1}


@pytest.mark.parametrize("consent", ["on", "ask"])
def test_it_is_erased_when_its_last_period_has_closed(
    start: Any, store: Path, clock: Clock, make: Make, consent: str
) -> None:
    """By whatever app runs then, though it no longer has the question."""
    asked = changing(periods=4, grace=3)
    make(0, asked, consent=consent)
    with start(asked, consent=consent) as client:
        client.record("dark", True)
    clock.now = NOON + day(7)
    start(survey(), consent=consent).close()
    assert memory_of(store) is not None
    clock.now = NOON + day(8)
    rows(store, "DELETE FROM queue")
    with start(survey(), consent=consent) as client:
        client.flush()
        assert all(client.status().dropped.values()), "nothing is counted as dropped"
    assert memory_of(store) is None


@pytest.mark.parametrize(("before", "after"), [(40, 3), (1, 6)])
def test_the_grace_of_the_newest_survey_says_when_that_is(
    start: Any, store: Path, clock: Clock, make: Make, before: int, after: int
) -> None:
    """A grace may change under one version."""
    make(0, changing(periods=4, grace=before), consent="ask")
    for t, grace in ((1, before), (2, after)):
        clock.now = NOON + day(t)
        with start(changing(periods=4, grace=grace), consent="ask") as client:
            client.record("dark", True)
    for t in (4 + after, 5 + after):
        clock.now = NOON + day(t)
        with start(survey(), consent="ask") as client:
            client.flush()
        assert (memory_of(store) is None) == (t > 4 + after)


def test_that_is_so_of_the_last_period_before_it_expires(
    start: Any, store: Path, clock: Clock, make: Make
) -> None:
    """What is never asked again is not kept for the horizon's sake."""
    asked = changing(grace=3, expires=(NOON + day(4)).date())
    secret = make(0, asked, consent="ask")
    with start(asked, consent="ask") as client:
        client.record("dark", True)
    clock.now = NOON + day(7)
    with start(asked, consent="ask") as client:
        client.flush()
    assert memory_of(store) == Memory(1, 1, 1, 4)
    assert responses(store, "dark") == expected(secret, {1: 1, 4: None}, asked=asked)[1:]
    clock.now = NOON + day(8)
    with start(asked, consent="ask") as client:
        client.flush()
    assert rows(store, "SELECT latest FROM memory") == [(None,)]


def test_its_last_period_is_reported_before_that(
    start: Any, store: Path, clock: Clock, make: Make
) -> None:
    asked = changing(periods=4, grace=3)
    secret = make(0, asked)
    with start(asked, consent="on") as client:
        client.record("dark", True)
    clock.now = NOON + day(7)
    with start(asked, consent="on") as client:
        client._engine._uploader.stop(5)
        assert responses(store, "dark") == expected(secret, {1: 1, 4: None}, asked=asked)
        assert memory_of(store) == Memory(1, 1, 1, 4)


def test_the_person_is_told(
    start: Any, store: Path, clock: Clock, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    def tell(*words: str) -> str:
        assert main([*words, "--store", str(store)], _clock=clock) == 0
        return capsys.readouterr().out

    make(0)
    assert "last answer" not in tell("show")
    with start(ASKED, consent="on") as client:
        client.record_many({"dark": True, "launches": 1})
    kept = "your last answer to 2 questions, whose answer may change"
    assert f"; keeps {kept}\n" in tell("status")
    shown = tell("show")
    assert f"  kept      {kept}; a no erases it\n" in shown
    assert "keeps your last answer to acme/dark v1 on this device" in shown
    (told,) = json.loads(tell("show", "--format", "json"))
    assert (told["keeps_answers"], told["questions"][0]["keeps_answer"]) == (2, True)
    assert f", and so is {kept}\n" in tell("off")
    assert "last answer" not in tell("show")


# Copies, crashes and crowds


def test_the_same_answers_after_a_rollback_are_the_same_reports(
    start: Any, store: Path, clock: Clock, make: Make
) -> None:
    make(0)
    with start(ASKED, consent="on") as client:
        client.record("dark", False)
    copy = store.with_name("copy")
    shutil.copy(store, copy)
    found = []
    for _ in range(2):
        shutil.copy(copy, store)
        for t, value in ((2, True), (3, True), (4, False)):
            clock.now = NOON + day(t)
            with start(ASKED, consent="on") as client:
                client.record("dark", value)
        found.append(responses(store, "dark"))
    assert found[0] == found[1]
    assert len(found[0]) == 4


def test_two_processes_of_one_store_report_once(
    start: Any, store: Path, clock: Clock, make: Make
) -> None:
    secret = make(0)
    clients = [start(ASKED, consent="on") for _ in range(2)]
    for t in range(1, 7):
        clock.now = NOON + day(t)
        for value, client in zip((t % 2 == 0, t % 2 == 1), clients, strict=True):
            client.record("dark", value)
        clients.reverse()
    history = {t: int(t % 2 == 0) for t in range(1, 7)}
    assert responses(store, "dark") == expected(secret, {**history})
    assert memory_of(store) == Memory(1, 1, 3, 6)


FORK = """
import os, sys
from datetime import UTC, datetime
from deniable.client import Client
now = datetime(2026, 11, 30, 12, tzinfo=UTC)
with Client(*sys.argv[1:3], store=sys.argv[3], consent="ask", _clock=lambda: now) as client:
    client.record("launches", 0)
    child = os.fork()
    if child == 0:
        client.record("dark", True)
        os._exit(0)
    os.waitpid(child, 0)
    client.record("dark", False)
    now = now.replace(month=12, day=1)
    client.record("dark", False)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_shares_the_memory(store: Path, tmp_path: Path, make: Make) -> None:
    secret = make(0, consent="ask")
    path = survey_file(tmp_path / "survey.json", ASKED)
    run(FORK, path, "http://127.0.0.1:9", store)
    assert responses(store, "dark") == expected(secret, {1: 1, 2: 0})
    assert memory_of(store) == Memory(0, 0, 2, 2)


CUT = """
import gc, os, random, signal, sys, time
from datetime import UTC, datetime, timedelta
from deniable.client import Client, engine
from deniable.protocol.survey import load_survey
asked = load_survey(sys.argv[1])
gc.freeze()
noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
moments = random.Random(int(sys.argv[3]))
for kill in range(30):
    ready, noted = os.pipe()
    child = os.fork()
    if child == 0:
        now = noon
        client = Client(asked, sys.argv[2], store=sys.argv[4], consent="ask", _clock=lambda: now)
        for t in range(kill // 2, 16):
            now = noon + timedelta(days=t)
            client.record("dark", t // 3 % 2 == 1)
            os.write(noted, b".")
        time.sleep(60)
    assert os.read(ready, 1)
    if kill == 29:
        assert os.read(ready, 1)
    time.sleep(0.01 * 10 ** moments.uniform(-3, 0))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(open(sys.argv[4], "rb").read().hex())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_kills_cut_no_memory_from_its_reports(quick_store: Path, tmp_path: Path) -> None:
    """Every store found after a kill is one of those that whole transactions leave."""
    path = survey_file(tmp_path / "survey.json", ASKED)
    with Client(ASKED, "http://127.0.0.1:9", quick_store, _clock=lambda: NOON):
        pass
    secret = secret_of(ASKED.questions["dark"], 0)
    rows(quick_store, "UPDATE device SET secret = ?, machine = NULL", secret)
    found = run(CUT, path, "http://127.0.0.1:9", 7, quick_store).split()
    course: dict[int, int | None] = {t: (t - 1) // 3 % 2 for t in range(1, PERIODS + 1)}
    whole = expected(secret, course)
    seen = set()
    for image in found:
        quick_store.write_bytes(bytes.fromhex(image))
        memory, sent = memory_of(quick_store), responses(quick_store, "dark")
        assert len(sent) == (memory.seen if memory else 0)
        assert sent == whole[: len(sent)]
        seen.add(len(sent))
    assert max(seen) == PERIODS
    assert len(seen) > 3
