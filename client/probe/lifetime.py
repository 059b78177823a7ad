"""One device's life under an audit: days, restarts, a copied store, an upgrade, and its requests.

Requests are those that a collector on this machine received over HTTP. What must never change:
nothing here tells the client that it is watched.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, cast

from deniable.protocol.errors import DeniableError
from deniable.protocol.exact import total
from deniable.protocol.limits import EPSILON_SUM, MAX_QUESTIONS
from deniable.protocol.periods import KINDS, period_at
from deniable.protocol.survey import Survey, compile_survey, load_survey

from ..client import Client
from ..pacing import utc_now
from .rehearsal import Hand, Values, moments, secret_of

EVENTS = ("restart", "copy", "upgrade", "processes")
"""What may happen before a day: the app restarts; the store's file is copied, and both live on;
a newer edition of the survey ships as compiled JSON, with a question more; three processes of the
app answer at the same time, instead of one."""

_TOGETHER = 3
_CHILD_SECONDS = 60


@dataclass(frozen=True)
class Day:
    """What is answered on a day, in each question's words, and what happens before."""

    answers: Values
    words: Mapping[str, Any]
    events: tuple[str, ...]


@dataclass
class Ear:
    """A collector that accepts everything and notes what it is sent: read, and byte by byte."""

    url: str = ""
    heard: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class _Line:
    """One store and the client that has it open, if any."""

    store: Path
    client: Client | None = None

    def close(self) -> None:
        client, self.client = self.client, None
        if client is not None:
            client.close()


class Lifetime:
    """A device, and the copies that are made of it."""

    def __init__(self, survey_path: Path, folder: Path, name: str, url: str) -> None:
        self._survey_path = survey_path
        self._survey = load_survey(survey_path)
        self._folder = folder
        self._name = name
        self._url = url
        self._clock = Hand(utc_now())
        self._lines = [_Line(folder / f"{name}-0.db")]

    def live(self, days: list[Day], ear: Ear) -> dict[str, Any]:
        """Return the requests and, day by day, the secret of every store."""
        requests: list[dict[str, Any]] = []
        secrets: list[list[str]] = []
        days_of: dict[str, int] = {}
        try:
            for number, now in enumerate(moments(self._survey, len(days))):
                self._clock.now = now
                current = {period_at(kind, now).key for kind in KINDS}
                days_of = dict.fromkeys(current, number) | days_of
                self._happen(days[number])
                for which, line in enumerate(self._lines):
                    before = len(ear.heard)
                    self._answer(line, days[number])
                    for heard in ear.heard[before:]:
                        of = days_of.get(heard["period"])  # None: a default
                        due = heard["period"] in current
                        about = {"line": which, "day": number, "due": due, "of": of}
                        requests.append({**about, **heard})
                secrets.append([secret_of(line.store) for line in self._lines])
        finally:
            for line in self._lines:
                line.close()
        return {"requests": requests, "secrets": secrets}

    def _happen(self, day: Day) -> None:
        for event in day.events:
            for line in self._lines:
                line.close()
            if event == "copy":
                copy = self._folder / f"{self._name}-{len(self._lines)}.db"
                shutil.copy(self._lines[0].store, copy)
                self._lines.append(_Line(copy))
            elif event == "upgrade":
                self._survey_path = self._folder / f"{self._name}-newer.json"
                self._survey_path.write_text(compile_survey(newer(self._survey)), encoding="utf-8")
                self._survey = load_survey(self._survey_path)
            elif event == "processes":
                self._answer_together(day)

    def _answer(self, line: _Line, day: Day) -> None:
        if line.client is None:
            line.client = Client(
                self._survey,
                self._url,
                line.store,
                "on",
                strict=True,
                _clock=self._clock,
                _environ={},
            )
        for name, value in day.answers.items():
            line.client.record(name, value)
        line.client.flush(force=True)

    def _answer_together(self, day: Day) -> None:
        """Let processes of their own answer, all told at the same moment."""
        command = [sys.executable, "-P", "-m", "deniable.client.probe"]
        command += [str(self._survey_path), str(self._folder)]
        order = {"do": "answer", "store": str(self._lines[0].store), "answers": dict(day.words)}
        order["moment"] = self._clock.now.isoformat()
        children = [
            subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(_TOGETHER)
        ]
        try:
            for child in children:
                _told(child, {"do": "describe"})
            for child in children:
                _tell(child, order)
            for child in children:
                out, _ = child.communicate(timeout=_CHILD_SECONDS)
                if json.loads(out or "{}") != {}:
                    raise DeniableError("a process that answered beside others failed")
        finally:
            for child in children:
                child.kill()
                child.wait()


def newer(survey: Survey) -> Survey:
    """Return an edition with one question more, asked before the others."""
    first = next(iter(survey.questions.values()))
    added = replace(first, id=_free_name(survey), version=1)
    questions = {added.id: added, **survey.questions}
    if len(questions) > MAX_QUESTIONS:
        questions = dict(survey.questions)
    spent = total(question.epsilon for question in questions.values())
    ceiling = min(max(survey.max_epsilon, spent), EPSILON_SUM)
    return replace(survey, questions=questions, max_epsilon=ceiling, linkable=True)


def _free_name(survey: Survey) -> str:
    names = (f"added_{number}" for number in range(MAX_QUESTIONS + 1))
    return next(name for name in names if name not in survey.questions)


@contextmanager
def listening() -> Iterator[Ear]:
    """Be a collector for a while."""
    ear = Ear()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            noted = _noted(body)
            ear.heard.append(
                {**noted, "path": self.path, "headers": self.headers.items(), "body": body.hex()}
            )
            verdict = {"accepted": noted.pop("count"), "duplicate": 0, "rejected": []}
            reply = json.dumps(verdict).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    ear.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield ear
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _noted(body: bytes) -> dict[str, Any]:
    """Return what a collector would read in a request: nothing, if it cannot be read."""
    noted: dict[str, Any] = {"period": "", "device": "", "reports": {}, "count": 1}
    with suppress(ValueError, OSError, EOFError, LookupError, TypeError, zlib.error):
        document = json.loads(gzip.decompress(body))
        reports = {report["question"]: report["response"] for report in document["reports"]}
        noted["count"] = len(document["reports"])
        noted |= {"period": str(document["period"]), "device": str(document["device"])}
        noted["reports"] = reports
    return noted


def _tell(child: subprocess.Popen[str], order: Mapping[str, object]) -> None:
    orders = cast("IO[str]", child.stdin)
    orders.write(json.dumps(order) + "\n")
    orders.flush()


def _told(child: subprocess.Popen[str], order: Mapping[str, object]) -> None:
    """Wait for the answer too."""
    _tell(child, order)
    cast("IO[str]", child.stdout).readline()
