"""What the collector's tests share: surveys, devices, and a real collector in a process."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any, cast

from flask import Flask

from deniable.collector.app import collector_of
from deniable.collector.service import Collector
from deniable.protocol.mechanisms.oracle import FrequencyOracle
from deniable.protocol.question import Question
from deniable.protocol.report import device_name, report_document, request_document
from deniable.protocol.response import Response
from deniable.protocol.survey import Survey, compile_survey, parse_survey

PROGRAM = (sys.executable, "-P", "-c", "from deniable.collector.cli import main; main()")
FAR = "2090-01-01"
"""A time at which every period that a test writes to has closed."""

_QUESTION = {
    "version": 1,
    "ask": "Is it?",
    "type": "boolean",
    "epsilon": 2,
    "period": "day",
    "min_crowd": 1,
    "owner": "tests",
    "expires": "2098-12-31",
}


def make_survey(
    questions: Mapping[str, Mapping[str, Any]], *, name: str = "test", **head: Any
) -> Survey:
    """A survey of questions that differ from a yes/no one of every day as told."""
    return parse_survey(
        {
            "survey": {"format": 1, "id": name, "max_epsilon": 1000, "linkable": True} | head,
            "questions": {key: {**_QUESTION, **changes} for key, changes in questions.items()},
        }
    )


def save(survey: Survey, path: Path) -> Path:
    path.write_text(compile_survey(survey), encoding="utf-8")
    return path


def today(moment: datetime | None = None) -> str:
    return (moment or datetime.now(UTC)).date().isoformat()


def period_keys(place: str | Path | None) -> list[Path]:
    """The files of a key directory that hold a period's key, not what else is told there."""
    files = Path(place or "").glob("*.key")
    return sorted(path for path in files if not path.name.startswith("collector."))


def new_device() -> str:
    return device_name(os.urandom(16))


def some_response(question: Question, rng: random.Random | None = None) -> Response:
    """A response of a question's shape: any symbol, or bits as a device would draw them."""
    shape = question.mechanism.shape
    draw = rng or random.Random(1)
    row = 0 if question.horizon else draw.randrange(shape.rows)  # of a horizon, due in each period
    if shape.weight is not None:
        return Response(sum(1 << bit for bit in draw.sample(range(shape.width), shape.weight)), row)
    if shape.kind == "symbol":
        return Response(draw.randrange(shape.width), row)
    q = float(cast("FrequencyOracle", question.mechanism).q)
    return Response(sum((draw.random() < q) << bit for bit in range(shape.width)), row)


def request_body(
    survey: Survey,
    device: str,
    *,
    period: str | None = None,
    segment: str | None = None,
    questions: list[str] | None = None,
    rng: random.Random | None = None,
) -> dict[str, Any]:
    """A request that answers questions, all by default."""
    chosen = [survey.questions[name] for name in questions or survey.questions]
    reports = [
        report_document(q.id, q.version, q.wire_hash, q.mechanism.shape.pack(some_response(q, rng)))
        for q in chosen
    ]
    return request_document(survey.id, period or today(), segment, device, reports)


@dataclass
class Clock:
    """A clock that a test sets."""

    moment: datetime

    def __call__(self) -> datetime:
        return self.moment

    def advance(self, **parts: float) -> None:
        self.moment += timedelta(**parts)


@dataclass
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def exchange(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: object = None,
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Send one request, a dict as JSON, and read the whole reply."""
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    sent = {"Content-Type": "application/json"} if body is not None else {}
    connection.request(method, path, cast("bytes | None", body), sent | dict(headers or {}))
    reply = connection.getresponse()
    lowered = {name.lower(): value for name, value in reply.getheaders()}
    return Reply(reply.status, lowered, reply.read())


class InProcess:
    """An application and its parts."""

    def __init__(self, app: Flask, clock: Clock) -> None:
        self.app = app
        self.clock = clock
        self.collector: Collector = collector_of(app)

    def post(self, body: object) -> Reply:
        return self.ask("POST", "/v1/reports", json=body)

    def ask(self, method: str, path: str, **arguments: Any) -> Reply:
        reply = self.app.test_client().open(path, method=method, **arguments)
        headers = {name.lower(): value for name, value in reply.headers.items()}
        return Reply(reply.status_code, headers, reply.data)

    def release(self, **advance: float) -> Any:
        """Move the clock, then let the timer's work be done."""
        self.clock.advance(**advance)
        return self.collector.release()

    def states(self) -> dict[tuple[str, str | None], str]:
        """The state of every tally, by period and batch or segment."""
        with self.collector.store.read() as reader:
            return {(s.period, s.batch or s.segment): s.state for s in reader.states()}

    def documents(self, survey: str, question: str) -> list[Any]:
        with self.collector.store.read() as reader:
            return [json.loads(text) for text in reader.tallies(survey, question)]


@dataclass
class Server:
    """A collector process under test.

    Attributes
    ----------
    store : Path
        Its SQLite file; its log is beside it.
    url : str
        What is given as the store in the file's place.
    program : tuple of str
        What is run in place of deniable-collector.
    """

    surveys: list[Path]
    store: Path
    options: list[str] = field(default_factory=list)
    port: int = 0
    url: str = ""
    program: tuple[str, ...] = PROGRAM
    process: subprocess.Popen[str] | None = None
    lines: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Start it and wait until it takes requests."""
        command = [*self.program, "serve", "--store", self.location, "--port", str(self.port)]
        for survey in self.surveys:
            command += ["--survey", str(survey)]
        errors = self.log.open("ab")
        with errors:
            self.process = subprocess.Popen(
                command + self.options, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        line = cast("IO[str]", self.process.stdout).readline()
        assert "http://" in line, f"no start line: {self.log.read_text()}"
        self.lines.append(line)
        self.port = int(line.rsplit(":", 1)[1])

    @property
    def location(self) -> str:
        """What ``--store`` is given."""
        return self.url or str(self.store)

    @property
    def log(self) -> Path:
        return self.store.with_name(f"{self.store.name}.log")

    def complaints(self) -> list[str]:
        """What it logged beside the ordinary course of things."""
        return [line for line in self.log.read_text().splitlines() if ": info: " not in line]

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        with closing(self.connect()) as connection:
            return exchange(connection, method, path, body, headers)

    def post(self, body: object, **headers: str) -> Reply:
        return self.ask("POST", "/v1/reports", body, headers)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it with a signal and return its exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        status = self.process.wait(30)
        cast("IO[str]", self.process.stdout).close()
        self.process = None
        return status


@contextmanager
def serving(survey: Survey, folder: Path, *options: str) -> Iterator[Server]:
    """A collector process that is gone afterwards, whatever happens."""
    server = Server([save(survey, folder / "survey.json")], folder / "collector.db", [*options])
    server.start()
    try:
        yield server
    finally:
        if server.process is not None:
            server.stop(signal.SIGKILL)


def run_cli(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run deniable-collector."""
    return subprocess.run(
        [*PROGRAM, *arguments], input=stdin, capture_output=True, text=True, timeout=60, check=False
    )


def cli(*arguments: str) -> str:
    """Run deniable-collector, which must succeed, and return what it printed."""
    done = run_cli(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout
