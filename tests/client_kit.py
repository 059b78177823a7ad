"""What tests of the client share: surveys, a clock that is set, and a collector that obeys."""

from __future__ import annotations

import gzip
import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from deniable.protocol.survey import Survey, compile_survey, parse_survey

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def question(**changes: Any) -> dict[str, Any]:
    """A daily yes/no question, but for what is changed."""
    return {
        "version": 1,
        "ask": "Is the dark theme on?",
        "type": "boolean",
        "epsilon": Decimal(2),
        "period": "day",
        "expires": date(2990, 1, 1),
        **changes,
    }


def choice(*choices: str, **changes: Any) -> dict[str, Any]:
    return question(type="choice", choices=list(choices), **changes)


def survey(head: dict[str, Any] | None = None, **questions: dict[str, Any]) -> Survey:
    """A survey that asks `dark` unless it is told what to ask."""
    top = {"format": 1, "id": "acme", "max_epsilon": Decimal(100), **(head or {})}
    return parse_survey({"survey": top, "questions": questions or {"dark": question()}})


def survey_file(path: Path, asked: Survey) -> Path:
    path.write_text(compile_survey(asked), encoding="utf-8")
    return path


@dataclass
class Clock:
    """A clock that stands still until it is set."""

    now: datetime = NOON

    def __call__(self) -> datetime:
        return self.now

    def advance(self, step: timedelta) -> None:
        self.now += step


@dataclass
class Request:
    """One request as a collector sees it."""

    path: str
    headers: dict[str, str]
    document: dict[str, Any]
    port: int

    @property
    def questions(self) -> list[str]:
        return [report["question"] for report in self.document["reports"]]


Answer = Callable[[BaseHTTPRequestHandler, int], None]


def reply(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def accept(handler: BaseHTTPRequestHandler, count: int) -> None:
    settle(handler, {"accepted": count, "duplicate": 0, "rejected": []})


def settle(handler: BaseHTTPRequestHandler, document: object) -> None:
    reply(handler, 200, json.dumps(document).encode(), Content_Type="application/json")


@dataclass
class Collector:
    """A real HTTP server that notes what it is sent and answers as it is told."""

    answer: Answer = accept
    requests: list[Request] = field(default_factory=list)
    url: str = ""
    news: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, count: int) -> None:
        with self.news:
            assert self.news.wait_for(lambda: len(self.requests) >= count, timeout=20)

    @property
    def reports(self) -> list[tuple[str, str, Any]]:
        """(period, question, response) of every report, in the order of arrival."""
        return [
            (request.document["period"], report["question"], report["response"])
            for request in self.requests
            for report in request.document["reports"]
        ]


@contextmanager
def collector(answer: Answer = accept) -> Iterator[Collector]:
    heard = Collector(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length)
            if len(body) < length:  # the device gave up
                self.close_connection = True
                return
            document = json.loads(gzip.decompress(body))
            request = Request(self.path, dict(self.headers), document, self.client_address[1])
            with heard.news:
                heard.requests.append(request)
                heard.news.notify_all()
            try:
                heard.answer(self, len(document["reports"]))
            except ConnectionError:
                self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    heard.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield heard
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def rows(store: Path, sql: str, *values: object) -> list[Any]:
    """Read, or change, a store behind its client's back."""
    with closing(sqlite3.connect(store)) as db, db:
        return db.execute(sql, values).fetchall()


def responses(store: Path, name: str) -> list[Any]:
    """What waits in a store for one question, in the order of periods."""
    sql = "SELECT response FROM queue JOIN ledger USING (number) WHERE question = ? ORDER BY period"
    return [json.loads(response) for (response,) in rows(store, sql, name)]


def bytes_of(folder: Path) -> bytes:
    """Every byte of every file in a folder."""
    return b"\0".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def python(program: str, *arguments: object, **settings: Any) -> subprocess.Popen[str]:
    """A process of its own that runs a program with its output captured."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


def run(program: str, *arguments: object, **settings: Any) -> str:
    """What a program prints; it must succeed."""
    with python(program, *arguments, **settings) as process:
        out, error = process.communicate(timeout=60)
    assert process.returncode == 0, error
    return out


HOLD = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def held(store: Path) -> Iterator[None]:
    """Let another process keep everyone from the store."""
    with python(HOLD, store) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield
        process.communicate("\n", timeout=20)
