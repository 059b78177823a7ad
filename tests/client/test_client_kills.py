"""kill -9 at any moment: a store is as if what was under way had been done, or not begun."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest
import stores_of_version_1
from client_kit import Collector, choice, run, survey, survey_file

from deniable.client.tables import VERSION

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

SIDES = [f"side {number}" for number in range(64)]
ASKED = survey(
    {"linkable": True},
    **{f"q{n}": choice(*SIDES, mechanism="oue", epsilon=Decimal(1), grace=60) for n in range(40)},
)
CEILING = 30
"""So a store answers 30 of the 40 questions, whichever come first."""

PREPARED = """
import gc, itertools, json, os, random, signal, sqlite3, sys, time, warnings
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from deniable.client import Client, engine
from deniable.protocol.derivation import permanent_response
from deniable.protocol.survey import Survey, load_survey
warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
path, url, folder, times, ceiling, consent = sys.argv[1:]
whole = load_survey(path)
asked = Survey(whole.id, Decimal(ceiling), *[getattr(whole, name) for name in
               ("segments", "batch", "linkable", "questions")])
moments = random.Random(6)
turn = itertools.count()
gc.freeze()
first = datetime(2026, 11, 30, 12, tzinfo=UTC)
day = timedelta(days=1)

def symbol(name, period):
    return (int(name[1:]) + datetime.fromisoformat(period).toordinal()) % 5

def killed(act, longest):
    "Fork a child that acts, and kill it up to so many seconds after it said that it begins."
    "Every tenth is let go on until it says that again."
    ready, begins = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            act(lambda: os.write(begins, b"."))
            time.sleep(60)
        finally:
            os._exit(0)
    os.close(begins)
    assert os.read(ready, 1), "it failed before it began"
    if next(turn) % 10 == 9:
        assert os.read(ready, 1), "it failed"
    time.sleep(longest * 10 ** moments.uniform(-3, 0))
    os.kill(child, signal.SIGKILL)
    os.close(ready)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def torn(store):
    journal = store.with_name(store.name + "-journal")
    return journal.exists() and journal.stat().st_size > 0

def look(store, *queries):
    "What each query finds, once the store was opened and so repaired."
    with closing(sqlite3.connect(store)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [db.execute(sql).fetchall() for sql in queries]

def is_right(secret, response, name, period):
    question = asked.questions[name]
    permanent = permanent_response(secret, question, symbol(name, period))
    return json.loads(response) == question.mechanism.shape.pack(permanent)
"""

RECORD = (
    PREPARED
    + """
class Witness:
    "What a store held, and must hold from now on."
    def __init__(self, store):
        self.store, self.secret, self.known = store, None, {}

    def look(self):
        ((secret,),), ledger, answered, queue = look(
            self.store,
            "SELECT secret FROM device",
            "SELECT number, question, epsilon, answers FROM ledger",
            "SELECT number, period, state FROM answered",
            "SELECT number, period, response FROM queue",
        )
        ledger = {number: line for number, *line in ledger}
        assert self.secret in (None, secret), "a second secret"
        self.secret = secret
        assert sorted(answered) == sorted((n, p, None) for n, p, _ in queue), "half an answer"
        answers = Counter(number for number, _, _ in answered)
        assert answers == {n: line[2] for n, line in ledger.items()}, "spent for nothing"
        assert sum(Decimal(e) for _, e, _ in ledger.values()) <= Decimal(ceiling), "ceiling"
        now = {(ledger[n][0], period): response for n, period, response in queue}
        assert now.items() >= self.known.items(), "an answer was lost or changed"
        for (name, period), response in now.items() - self.known.items():
            assert is_right(secret, response, name, period), "a second permanent response"
        self.known = now
        return len(ledger)

witness, full, cut, recorded = None, 0, 0, 0
for kill in range(int(times)):
    if kill % 50 == 0:
        recorded += len(witness.known) if witness else 0
        witness = Witness(Path(folder) / f"{kill}.db")
    since = max((datetime.fromisoformat(p + "T12:00Z") for _, p in witness.known), default=first)
    names = moments.sample(sorted(asked.questions), 40)

    def answer(begins):
        now = since
        if kill % 50 < 5:
            begins()
        client = Client(asked, url, witness.store, consent, strict=True, _clock=lambda: now)
        if kill % 50 >= 5:
            begins()
        while True:
            for name in names:
                client.record(name, f"side {symbol(name, now.date().isoformat())}")
            begins()
            now += day

    assert killed(answer, 0.01) == -signal.SIGKILL
    cut += torn(witness.store)
    if witness.store.exists():
        full += witness.look() == int(ceiling)
print(json.dumps({"cut": cut, "full": full, "recorded": recorded + len(witness.known)}))
"""
)


@pytest.mark.parametrize("consent", ["ask", "on"])
def test_a_thousand_kills_cut_no_answer_in_half(
    quick_store: Path, tmp_path: Path, consent: str
) -> None:
    """Five hundred before there is consent, and as many with it.

    Children record without a pause, and die 10 microseconds to 10 milliseconds later.

    After each: an answer is in ledger, journal and queue or in none of them; every response is the
    one that the secret gives; no ceiling is passed; nothing that was stored is lost.
    """
    path = survey_file(tmp_path / "survey.json", ASKED)
    out = run(RECORD, path, "http://127.0.0.1:9", quick_store.parent, 500, CEILING, consent)
    found = json.loads(out)
    assert found["cut"] > 0  # transactions that the next start had to roll back
    assert found["full"] > 250  # looks at a store that had reached its ceiling
    assert found["recorded"] > 250


DECIDE = (
    PREPARED
    + """
import shutil
mode, decision = ("ask", "opt_in") if consent == "on" else ("on", "opt_out")
draft = Path(folder) / "draft.db"
with Client(asked, url, draft, mode, strict=True, _clock=lambda: first) as client:
    client.record_many({name: f"side {symbol(name, '2026-11-30')}" for name in ("q1", "q2", "q3")})
found = Counter()
for kill in range(int(times)):
    store = draft.with_name(f"{kill}.db")
    shutil.copy(draft, store)

    def decide(begins):
        client = Client(asked, url, store, mode, strict=True, _clock=lambda: first)
        begins()
        getattr(client, decision)()
        begins()

    assert killed(decide, 0.005) == -signal.SIGKILL
    found["cut"] += torn(store)
    [(consent, day)], states, queue = look(
        store,
        "SELECT consent, consent_on FROM device",
        "SELECT state FROM answered",
        "SELECT local FROM queue",
    )
    assert (consent is None) == (day is None)
    found[consent or "undecided"] += 1
    if consent is None:
        assert (states, queue) == ([(None,)] * 3, [(mode == "ask",)] * 3)
    else:
        assert queue == []
        assert states == ([] if mode == "ask" else [("off",)] * 3)
print(json.dumps(found))
"""
)


@pytest.mark.parametrize("decision", ["on", "off"])
def test_a_killed_decision_is_made_or_not(quick_store: Path, tmp_path: Path, decision: str) -> None:
    """What waited goes with the decision: nothing of before a yes is left, or after a no."""
    path = survey_file(tmp_path / "survey.json", ASKED)
    found = json.loads(
        run(DECIDE, path, "http://127.0.0.1:9", quick_store.parent, 60, 100, decision)
    )
    assert found.get("undecided", 0) + found[decision] == 60


ACKNOWLEDGE = (
    PREPARED
    + """
import shutil
import requests  # before the forks, so that they need not load it
draft = Path(folder) / "draft.db"
with Client(asked, url, draft, "on", strict=True, _clock=lambda: first) as client:
    client.record_many({name: f"side {symbol(name, '2026-11-30')}" for name in ("q1", "q2", "q3")})
found = Counter()
for kill in range(int(times)):
    store = draft.with_name(f"{kill}.db")
    shutil.copy(draft, store)

    def send(begins):
        client = Client(asked, url, store, "on", strict=True, _clock=lambda: first)
        begins()
        client.flush(force=True)
        begins()

    assert killed(send, 0.05) == -signal.SIGKILL
    found["cut"] += torn(store)
    states, queue, counted = look(
        store, "SELECT state FROM answered", "SELECT number FROM queue", "SELECT n FROM counters"
    )
    found[f"{len(queue)} wait"] += 1
    expected = ([(None,)] * 3, []) if queue else ([("sent",)] * 3, [(3,)])
    assert (states, counted) == expected
    with Client(asked, url, store, "on", strict=True, _clock=lambda: first) as client:
        assert client.flush(force=True).sent == len(queue)
        assert client.status().sent == 3
print(json.dumps(found))
"""
)


def test_a_killed_acknowledgement_is_noted_or_asked_for_again(
    quick_store: Path, tmp_path: Path, heard: Collector
) -> None:
    """What is sent again is the same report of the same device, which counts once."""
    path = survey_file(tmp_path / "survey.json", ASKED)
    found = json.loads(run(ACKNOWLEDGE, path, heard.url, quick_store.parent, 60, 100, ""))
    assert found["0 wait"] + found.get("3 wait", 0) == 60
    assert len({json.dumps(request.document, sort_keys=True) for request in heard.requests}) == 1


MIGRATE = (
    PREPARED
    + """
import shutil
found = Counter()
before = None
for kill in range(int(times)):
    store = Path(folder) / f"{kill}.db"
    shutil.copy(Path(folder) / "draft.db", store)

    def start(begins):
        begins()
        Client(asked, url, store, "ask", strict=True, _clock=lambda: first)
        begins()

    assert killed(start, 0.005) == -signal.SIGKILL
    found["cut"] += torn(store)
    ((version,),), tables = look(
        store, "PRAGMA user_version", "SELECT name FROM sqlite_master WHERE type = 'table'"
    )
    found[f"version {version}"] += 1
    assert not [name for (name,) in tables if name.startswith("old_")]
    with Client(asked, url, store, "ask", strict=True, _clock=lambda: first) as client:
        status = client.status()
        assert (status.state, status.queued, status.sent) == ("local", 2, 2)
        assert status.epsilon_spent == 2
        now = look(
            store,
            "SELECT secret FROM device",
            "SELECT response, local FROM queue ORDER BY response",
        )
    before = before or now
    assert now == before
print(json.dumps(found))
"""
)


def test_a_killed_migration_begins_anew(quick_store: Path, tmp_path: Path) -> None:
    path = survey_file(tmp_path / "survey.json", ASKED)
    stores_of_version_1.make(quick_store.with_name("draft.db"), ASKED, "ask", {"q1": 3, "q2": 4})
    found = json.loads(run(MIGRATE, path, "http://127.0.0.1:9", quick_store.parent, 60, 100, ""))
    assert found.get("version 1", 0) + found[f"version {VERSION}"] == 60
