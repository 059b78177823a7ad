"""Durable ingest against a Flask endpoint that only parses, and against one commit per request.

Three servers, the same waitress settings, each in a process of its own: the collector as it
ships, the collector with one request per transaction, and an application that reads the body,
parses its JSON and answers. 64 connections send requests of 10 reports, each from another device;
the servers are loaded in turn, round after round, and the medians of the rounds are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

from deniable.protocol.report import device_name, report_document, request_document
from deniable.protocol.response import Response
from deniable.protocol.survey import Survey, parse_survey

VARIANTS = ("parse only", "group commit", "single commit")
REPORTS = 10


def survey() -> Survey:
    """Ten questions, as an app might ask them: eight yes/no, two with sixteen choices."""
    common: dict[str, Any] = {"version": 1, "ask": "?", "period": "day", "owner": "bench"}
    common |= {"expires": "2098-12-31", "epsilon": 2, "min_crowd": 1}
    questions: dict[str, Any] = {}
    for number in range(REPORTS):
        kind: dict[str, Any] = {"type": "boolean"}
        if number >= 8:
            choices = [str(choice) for choice in range(16)]
            kind = {"type": "choice", "choices": choices, "mechanism": "oue"}
        questions[f"question_{number}"] = common | kind
    head = {"format": 1, "id": "bench", "max_epsilon": 100, "linkable": True}
    return parse_survey({"survey": head, "questions": questions})


def serve(variant: str, store: str) -> None:
    """Be one of the servers, in a process of its own."""
    import msgspec
    from flask import Flask, request
    from flask import Response as Reply

    from deniable.collector.app import create_app
    from deniable.collector.config import Config
    from deniable.collector.server import listen, make_server, socket_url

    if variant == "parse only":
        app = Flask(__name__)

        @app.post("/v1/reports")
        def parse() -> Reply:
            msgspec.json.decode(request.get_data(cache=False))
            return Reply(
                b'{"accepted":10,"duplicate":0,"rejected":[]}', mimetype="application/json"
            )

    else:
        group = 1 if variant == "single commit" else Config.max_group
        app = create_app(Config(store, (survey(),), max_group=group))
    with closing(listen("127.0.0.1", 0)) as listening:
        print(socket_url(listening), flush=True)
        make_server(app, listening).run()


@contextmanager
def running(variant: str, folder: str) -> Iterator[int]:
    """Start a server and give its port."""
    store = str(Path(folder) / f"{variant.replace(' ', '-')}.db")
    command = [sys.executable, "-P", __file__, "--serve", variant, "--store", store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = cast("IO[str]", process.stdout)
        try:
            yield int(output.readline().rsplit(":", 1)[1])
        finally:
            process.send_signal(signal.SIGKILL)


class Load:
    """Requests that differ in the device alone, ready to be sent."""

    def __init__(self) -> None:
        questions = survey().questions.values()
        reports = [
            report_document(
                question.id,
                question.version,
                question.wire_hash,
                question.mechanism.shape.pack(Response(number % 2 if number < 8 else 0b1010)),
            )
            for number, question in enumerate(questions)
        ]
        day = datetime.now(UTC).date().isoformat()
        mark = "@" * 22
        body = json.dumps(request_document("bench", day, None, mark, reports)).encode()
        head = (
            "POST /v1/reports HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._before, self._after = (head.encode() + body).split(mark.encode())

    def request(self) -> bytes:
        """Return the request of a new device."""
        return self._before + device_name(os.urandom(16)).encode() + self._after


def drive(port: int, load: Load, connections: int, seconds: float) -> float:
    """Keep every connection busy for a while and return the requests answered per second."""
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        for _ in range(connections):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(client, selectors.EVENT_READ, bytearray())
            client.sendall(load.request())
        answered = 0
        started = time.perf_counter()
        ends = started + seconds
        while time.perf_counter() < ends:
            for key, _ in selector.select():
                client, reply = cast("socket.socket", key.fileobj), key.data
                reply += client.recv(65536)
                if not reply.endswith(b"}"):
                    continue
                if not reply.startswith(b"HTTP/1.1 200") or b'"accepted":10' not in reply:
                    sys.exit(f"unexpected reply: {reply.decode(errors='replace')}")
                reply.clear()
                answered += 1
                client.sendall(load.request())
        return answered / (time.perf_counter() - started)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--serve", choices=VARIANTS, help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.store)
        return
    load = Load()
    rates: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        ports = {v: stack.enter_context(running(v, folder)) for v in VARIANTS}
        for port in ports.values():
            drive(port, load, options.connections, 0.5)
        for number in range(options.rounds):
            for variant in VARIANTS:
                rate = drive(ports[variant], load, options.connections, options.seconds)
                rates[variant].append(rate)
                print(f"round {number + 1}: {variant:<14}{rate:8.0f} requests/s", flush=True)
    medians = {variant: statistics.median(values) for variant, values in rates.items()}
    for variant, median in medians.items():
        print(f"median: {variant:<14}{median:9.0f} requests/s {median * REPORTS:9.0f} reports/s")
    group = medians["group commit"]
    print(f"durable ingest / parse only     {group / medians['parse only']:.2f}  (aim 0.4)")
    print(f"durable ingest / single commit  {group / medians['single commit']:.2f}  (aim 2)")


if __name__ == "__main__":
    main()
