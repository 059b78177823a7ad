"""Places that analysts read tallies from: an SQLite store with the two views, and a web server.

Both hold what they are given, well formed or not; neither needs a collector.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

COLUMNS = ("survey", "question", "version", "period", "batch", "segment", "state", "crowd")
TOKEN = "let-me-in"

State = dict[str, Any]


def tally(
    question: Question,
    cells: Iterable[int],
    period: str = "2026-11-30",
    segment: str | None = None,
    batch: str | None = None,
) -> Tally:
    """A tally of those cells; n is what they hold."""
    counted = tuple(cells)
    n = question.mechanism.shape.reports(counted)
    return Tally(question, period, segment, n, counted, batch)


def released(one: Tally) -> State:
    """The state of a released tally."""
    return state(
        one.question, one.period, "released", str(one.n), segment=one.segment, batch=one.batch
    )


def state(
    question: Question,
    period: str,
    name: str,
    crowd: str,
    segment: str | None = None,
    batch: str | None = None,
) -> State:
    """A row of the view ``period_states``."""
    values = (
        question.survey, question.id, question.version, period, batch, segment, name, crowd,
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def write_store(path: Path, tallies: Iterable[Tally], states: Iterable[State] = ()) -> Path:
    """Write an SQLite store whose views hold the tallies, and states beside theirs."""
    tallies = list(tallies)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE t (survey, question, version, period, batch, segment, n, document)"
        )
        connection.execute(f"CREATE TABLE s ({', '.join(COLUMNS)})")
        connection.execute("CREATE VIEW released_tallies AS SELECT * FROM t")
        connection.execute("CREATE VIEW period_states AS SELECT * FROM s")
        for one in tallies:
            row = (
                one.question.survey, one.question.id, one.question.version, one.period, one.batch,
                one.segment, one.n, json.dumps(one.document()),
            )  # fmt: skip
            connection.execute("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        for row_of in [*map(released, tallies), *states]:
            connection.execute(
                "INSERT INTO s VALUES (?, ?, ?, ?, ?, ?, ?, ?)", tuple(row_of.values())
            )
        connection.commit()
    return path


Answer = tuple[int, bytes, dict[str, str]]


@dataclass
class Server:
    """A web server that answers what ``answers`` holds for a path, and remembers the requests."""

    url: str
    answers: dict[str, Answer | Callable[[BaseHTTPRequestHandler], None]]
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def put(self, path: str, document: object, status: int = 200, **headers: str) -> None:
        """Answer a path with JSON, or with bytes as they are."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.answers[path] = (status, body, headers)

    def hold(self, tallies: Iterable[Tally], states: Iterable[State] = ()) -> None:
        """Answer as a collector that holds those tallies would."""
        tallies = list(tallies)
        everything = [*map(released, tallies), *states]
        self.put("/v1/periods", {"periods": everything})
        for survey in {row["survey"] for row in everything}:
            mine = [row for row in everything if row["survey"] == survey]
            self.put(f"/v1/periods?survey={survey}", {"periods": mine})
            for question in {row["question"] for row in mine}:
                documents = [
                    one.document()
                    for one in tallies
                    if (one.question.survey, one.question.id) == (survey, question)
                ]
                self.put(f"/v1/tallies/{survey}/{question}", {"tallies": documents})


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server on a free port of this machine; only the right token is let in."""
    made = Server("", {})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.seen.append((self.path, dict(self.headers)))
            answer = made.answers.get(self.path)
            if self.headers["Authorization"] != f"Bearer {TOKEN}":
                answer = (401, b'{"title": "Unauthorized"}', {})
            if callable(answer):
                answer(self)
                return
            status, body, headers = answer or (404, b'{"detail": "no such thing"}', {})
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        made.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
