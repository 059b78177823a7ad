"""What travels for a report, or for an event of a peer: bytes of whole HTTP requests.

The request line, the headers and the body count; TLS, TCP and the reply do not, and come on top
for all alike.
"""

from __future__ import annotations

import gzip
import json
import os
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from deniable.client import Client
from deniable.protocol.survey import load_survey

from .calls import dsn
from .surveys import answers


@dataclass
class Counter:
    """A server that counts the bytes of every request and accepts all of them."""

    requests: list[int] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    url: str = ""

    def take(self) -> tuple[int, int, int]:
        """How many requests came, their bytes, and those of their bodies; then begin anew."""
        found = len(self.requests), sum(self.requests), sum(self.bodies)
        self.requests.clear()
        self.bodies.clear()
        return found


@contextmanager
def counter() -> Iterator[Counter]:
    """Run one."""
    counted = Counter()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while head := self._head():
                length = next(
                    (
                        int(line[15:])
                        for line in head
                        if line.lower().startswith(b"content-length:")
                    ),
                    0,
                )
                body = self.rfile.read(length)
                counted.requests.append(sum(map(len, head)) + len(body))
                counted.bodies.append(len(body))
                text = reply(body)
                self.wfile.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n%b" % (len(text), text)
                )

        def _head(self) -> list[bytes]:
            lines = []
            with suppress(ConnectionError):
                while line := self.rfile.readline():
                    lines.append(line)
                    if line == b"\r\n":
                        break
            return lines

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        counted.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield counted
        finally:
            server.shutdown()


def reply(body: bytes) -> bytes:
    """What a collector would say to reports; peers do not read it."""
    document = {}
    if body.startswith(b"\x1f\x8b"):
        text = gzip.decompress(body)
        document = json.loads(text) if text.startswith(b'{"device"') else {}
    accepted = len(document.get("reports", []))
    return json.dumps({"accepted": accepted, "duplicate": 0, "rejected": []}).encode()


def ours(server: str, survey: str, store: str) -> None:
    """Answer every question of a survey and send the reports, in one request."""
    asked = load_survey(survey)
    with Client(asked, server, Path(store), "on", strict=True, _environ={}) as client:
        client.record_many(answers(asked, 1))
        flushed = client.flush(force=True)
    if flushed.sent != len(asked.questions):
        raise SystemExit(f"not every report was sent, so the figures mean nothing: {flushed}")


def posthog(server: str, events: str) -> None:
    """Send so many events in one batch."""
    from posthog import Posthog

    client = Posthog("phc_bench", host=server, flush_at=int(events), flush_interval=60)
    for _ in range(int(events)):
        client.capture("answered", distinct_id="device", properties={"q1": "choice 1"})
    client.shutdown()
    leave()


def sentry(server: str, events: str) -> None:
    """Send so many messages, each of which is an envelope."""
    import sentry_sdk

    sentry_sdk.init(dsn(server))
    for _ in range(int(events)):
        sentry_sdk.capture_message("answered")
    sentry_sdk.flush(timeout=30)
    leave()


def leave() -> None:
    """End at once, without what the peers send at exit."""
    sys.stdout.flush()
    os._exit(0)


ROLES = {"send-ours": ours, "send-posthog": posthog, "send-sentry": sentry}
