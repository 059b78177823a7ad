"""A collector served from this process, and connections on which requests are sent by hand."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from collector_kit import InProcess, new_device, request_body

from deniable.collector.drain import Lifetime
from deniable.collector.server import listen, make_server
from deniable.protocol.survey import Survey


class Client:
    """One connection, on which requests are sent without waiting for a reply."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._replies = self.socket.makefile("rb")

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> None:
        content = json.dumps(body).encode() if body is not None else b""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(content)}\r\n\r\n"
        self.socket.sendall(head.encode() + content)

    def report(self, survey: Survey, device: str | None = None, **changes: Any) -> None:
        """Send what a device answers."""
        self.send("POST", "/v1/reports", request_body(survey, device or new_device(), **changes))

    def reply(self) -> tuple[int, bytes]:
        """The status and body of the next reply."""
        status = int(self._replies.readline().split()[1])
        headers = http.client.parse_headers(self._replies)
        return status, self._replies.read(int(headers["content-length"]))

    def close(self) -> None:
        self._replies.close()
        self.socket.close()


@contextmanager
def served(collector: InProcess) -> Iterator[Callable[[], Client]]:
    """Serve an application in a thread; gives what connects to it."""
    with ExitStack() as stack:
        listening = stack.enter_context(closing(listen("127.0.0.1", 0)))
        port = listening.getsockname()[1]
        server: Any = make_server(collector.app, listening)
        lifetime = Lifetime(server)
        thread = threading.Thread(target=lifetime.run)
        thread.start()
        stack.callback(server.trigger.close)
        stack.callback(lifetime.drain, 5)
        stack.callback(thread.join)
        stack.callback(lifetime.stop)
        yield lambda: stack.enter_context(closing(Client(port)))
