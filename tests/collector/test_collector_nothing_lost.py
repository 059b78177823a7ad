"""What was answered with 200 counts exactly once, whatever happens to the process."""

from __future__ import annotations

import http.client
import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from collector_kit import (
    FAR,
    InProcess,
    Server,
    cli,
    exchange,
    make_survey,
    new_device,
    request_body,
    serving,
    today,
)

from deniable.protocol.survey import Survey
from deniable.protocol.tally import Tally, parse_tally

SURVEY = make_survey(
    {
        "yes": {"grace": 30},
        "bits": {"grace": 30, "type": "choice", "choices": list("abcde"), "mechanism": "oue"},
    }
)


def expected(survey: Survey, bodies: list[dict[str, Any]]) -> dict[str, list[int]]:
    """The cells that the reports of these requests add up to."""
    cells = {name: [0] * q.mechanism.shape.cells for name, q in survey.questions.items()}
    for body in bodies:
        for report in body["reports"]:
            shape = survey.questions[report["question"]].mechanism.shape
            shape.fold(cells[report["question"]], shape.unpack(report["response"]))
    return cells


def released(store: Path) -> list[Tally]:
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT document FROM released_tallies").fetchall()
    return [parse_tally(json.loads(text)) for (text,) in rows]


@dataclass
class Devices:
    """Threads that send, retry until answered, and sometimes send again what was answered."""

    server: Server
    seed: int
    period: str
    answered: list[dict[str, Any]] = field(default_factory=list)
    refused: int = 0
    retries: int = 0
    again: int = 0
    faults: list[str] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)
    enough: threading.Event = field(default_factory=threading.Event)

    def run(self, number: int) -> None:
        rng = random.Random(f"{self.seed}/{number}")
        connection = self.server.connect()
        while not self.enough.is_set():
            body = request_body(SURVEY, new_device(), period=self.period, rng=rng)
            connection, outcome = self.until_answered(connection, body)
            if outcome is None:
                break
            if outcome["rejected"]:
                self.check(all(r["code"] == "period_closed" for r in outcome["rejected"]), outcome)
                self.check(outcome["accepted"] == outcome["duplicate"] == 0, outcome)
                with self.changed:
                    self.refused += 1
                break
            self.check(outcome["accepted"] + outcome["duplicate"] == 2, outcome)
            with self.changed:
                self.answered.append(body)
                self.changed.notify_all()
            if rng.random() < 0.2:
                connection, second = self.until_answered(connection, body)
                if second is not None and not second["rejected"]:
                    self.check(second["duplicate"] == 2, second)
                    self.again += 1
        connection.close()

    def until_answered(
        self, connection: http.client.HTTPConnection, body: dict[str, Any]
    ) -> tuple[http.client.HTTPConnection, Any]:
        """Send until 200 is heard, over whatever connection can be had."""
        while True:
            try:
                reply = exchange(connection, "POST", "/v1/reports", body)
                if reply.status == 200:
                    return connection, reply.json
                self.check(reply.status == 503, reply.status)
            except (OSError, http.client.HTTPException):
                if self.enough.is_set() and self.server.process is None:
                    return connection, None
            self.retries += 1
            connection.close()
            connection = self.server.connect()

    def check(self, good: bool, shown: object) -> None:
        if not good:
            self.faults.append(repr(shown))

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.answered) >= count, timeout=60)


def start_threads(devices: Devices, count: int) -> list[threading.Thread]:
    threads = [threading.Thread(target=devices.run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    return threads


def test_killed_again_and_again(tmp_path: Path) -> None:
    """Six threads, six kills at random moments; every report is in the tally once."""
    rng = random.Random(20261130)
    with serving(SURVEY, tmp_path, "--flood-limit", "100000 per minute") as server:
        devices = Devices(server, 1, today())
        threads = start_threads(devices, 6)
        for _ in range(6):
            devices.wait_for(len(devices.answered) + rng.randrange(20, 120))
            server.stop(signal.SIGKILL)
            server.start()
        devices.wait_for(len(devices.answered) + 50)
        devices.enough.set()
        for thread in threads:
            thread.join(60)
        assert server.stop() == 0
    assert devices.faults == []
    assert devices.retries >= 6
    assert devices.again > 10
    assert len(devices.answered) > 200
    cli("release", "--store", str(server.store), "--as-of", FAR, "--yes")
    tallies = released(server.store)
    assert {tally.question.id: list(tally.cells) for tally in tallies} == expected(
        SURVEY, devices.answered
    )
    assert {tally.n for tally in tallies} == {len(devices.answered)}


CLOSE = """
import sys
from datetime import datetime
from deniable.collector.keys import open_keys
from deniable.collector.release import close_periods, destroy_keys
from deniable.collector.store import open_store
store = open_store(sys.argv[1])
keys = open_keys(store)
for line in sys.stdin:
    with store.transaction() as tx:
        close_periods(tx, keys, datetime.fromisoformat(line.strip()))
    destroy_keys(store, keys)
    print("closed", flush=True)
"""


def test_reports_in_flight_while_another_process_releases(tmp_path: Path) -> None:
    """Day after day is closed under load: a report is in the released tally or was refused."""
    with (
        serving(SURVEY, tmp_path, "--release-every", "0") as server,
        subprocess.Popen(
            [sys.executable, "-P", "-c", CLOSE, str(server.store)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as closer,
    ):
        assert closer.stdin is not None
        assert closer.stdout is not None
        bodies: dict[str, list[dict[str, Any]]] = {}
        for back in range(5, 0, -1):
            day = datetime.now(UTC).date() - timedelta(days=back)
            devices = Devices(server, back, day.isoformat())
            threads = start_threads(devices, 5)
            devices.wait_for(40)
            closer.stdin.write(f"{closing_time(day).isoformat()}\n")
            closer.stdin.flush()
            assert closer.stdout.readline() == "closed\n"
            for thread in threads:
                thread.join(60)
            assert devices.faults == []
            assert devices.refused == 5
            bodies[devices.period] = devices.answered
        closer.stdin.close()
        server.stop()
    tallies = released(server.store)
    assert len(tallies) == 2 * len(bodies)
    for tally in tallies:
        assert list(tally.cells) == expected(SURVEY, bodies[tally.period])[tally.question.id]


def closing_time(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=31)


def test_reports_in_flight_while_the_timer_releases(start: Callable[..., InProcess]) -> None:
    """The same within one process, where the release is a job of the writer."""
    collector = start(SURVEY, max_advance=timedelta(days=40))
    answered: list[dict[str, Any]] = []
    started = threading.Barrier(6)

    def send(number: int) -> None:
        rng = random.Random(number)
        for turn in range(10**6):
            body = request_body(SURVEY, new_device(), period="2026-11-30", rng=rng)
            outcome = collector.post(body).json
            if outcome["rejected"]:
                assert [r["code"] for r in outcome["rejected"]] == ["period_closed"] * 2
                return
            assert outcome["accepted"] == 2
            answered.append(body)
            if turn == 10:
                started.wait()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    started.wait()
    closing = collector.release(days=31)
    for thread in threads:
        thread.join(60)
    assert closing.released == 2
    for name, cells in expected(SURVEY, answered).items():
        (document,) = collector.documents("test", name)
        assert document["cells"] == cells
