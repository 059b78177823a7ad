"""Connections as the collector needs them: no thread waits for a commit, refusals are problems."""

from __future__ import annotations

import socket
from contextlib import suppress
from functools import partial
from typing import Any, cast

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.task import ErrorTask, WSGITask

from .begun import BEGUN, Begun
from .ingest import PATH
from .problems import CONTENT_TYPE, DETAILS, problem_body

TAKES_IN = ("POST", PATH)
LINGER = 8 * 1024 * 1024
"""Bytes read from a client after its request was refused."""


class ProblemTask(ErrorTask):
    """A refusal that waitress makes before the application is asked."""

    def execute(self) -> None:
        """Write the response."""
        error = cast("Any", self.request).error
        body = problem_body(error.code, DETAILS.get(error.code, "the request is not valid HTTP"))
        self.status = f"{error.code} {error.reason}"
        self.response_headers = [("Content-Type", CONTENT_TYPE)]
        self.set_close_on_finish()
        self.content_length = len(body)
        cast("Channel", self.channel).refused = True
        self.write(body)


class Parser(HTTPRequestParser):
    """Refuses what waitress's own stumbles over, such as a length of five thousand digits.

    Attributes
    ----------
    begun : Begun or None
        How far the request came, if it is one for reports.
    environ : dict or None
        The request's environment, made once.
    """

    begun: Begun | None = None
    environ: dict[str, Any] | None = None

    def parse_header(self, header_plus: bytes) -> None:
        """Read the header of a request."""
        try:
            super().parse_header(header_plus)
        except ValueError:
            raise ParsingError("the header is malformed") from None


class Task(WSGITask):
    """An answer: of what was begun at once, of all else by the application."""

    def execute(self) -> None:
        """Write the response; the application words a refusal."""
        begun = cast("Parser", self.request).begun
        if begun is None:
            super().execute()
            return
        try:
            body = begun.body()
        except Exception:
            super().execute()
            return
        self.complete = True
        self.response_headers = [("Content-Type", "application/json")]
        self.content_length = len(body)
        self.write(body)

    def get_environment(self) -> dict[str, Any]:
        """Return the request's environment."""
        request = cast("Parser", self.request)
        if request.environ is None:
            request.environ = super().get_environment()
        request.environ[BEGUN] = request.begun
        return request.environ


class Channel(HTTPChannel):
    """One connection; after a refusal it lingers.

    While a thread is writing a response, waitress's loop finds the connection writable and the
    buffer locked, again and again, and holds the interpreter that the thread is waiting for. Here
    the loop leaves a locked buffer alone; a third more requests get through.
    """

    task_class = Task
    error_task_class = ProblemTask
    parser_class = Parser
    refused = False
    draining = False

    def is_busy(self) -> bool:
        """Return whether a request is being read, answered or sent."""
        return bool(self.requests or self.request is not None or self.total_outbufs_len)

    def service(self) -> None:
        """Answer one request, or begin it, to be called again when it can be answered.

        While the server stops, it is the connection's last.
        """
        request: Any = self.requests[0]
        if self.draining:
            request.headers["CONNECTION"] = "close"
        if not self._is_parked(request):
            super().service()

    def _is_parked(self, request: Any) -> bool:
        """Begin a request for reports, and return whether it has to wait."""
        if request.error or request.begun or (request.command, request.path) != TAKES_IN:
            return False
        server = cast("Any", self.server)
        if server.begin is None:
            return False
        request.begun = server.begin(Task(self, request).get_environment())
        parked: bool = request.begun.park(partial(server.add_task, self))
        return parked

    def check_patience(self) -> None:
        """Have a request answered that waited for too long."""
        for request in self.requests[:1]:
            begun = cast("Parser", request).begun
            if begun is not None:
                begun.check_patience()

    def writable(self) -> bool:
        """Return whether the loop has something to send, or a connection to close."""
        if self.will_close or self.close_when_flushed:
            return True
        if not self.total_outbufs_len or not self.outbuf_lock.acquire(blocking=False):
            return False
        self.outbuf_lock.release()
        return True

    def write_soon(self, data: bytes) -> int:
        """Send, and wake the loop for what could not be sent yet."""
        count: int = super().write_soon(data)
        if self.total_outbufs_len:
            self.server.pull_trigger()
        return count

    def send_continue(self) -> None:
        """Ask for the body of a request that waits to be asked.

        Waitress would ask, and wait, even if none is announced or the request is refused already.
        """
        if not cast("Any", self.request).completed:
            super().send_continue()

    def handle_close(self) -> None:
        """Close, or first say that nothing more will be sent."""
        if self.refused and self.connected and self.socket is not None:
            self.refused = False
            self.will_close = False
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
            self.__class__ = LingeringChannel
        else:
            super().handle_close()


class LingeringChannel(Channel):
    """A connection whose request was refused, until its client has read that.

    Closing a socket with unread data resets the connection, and a client that is still sending
    its body would see the reset instead of the refusal.
    """

    unread = LINGER

    def readable(self) -> bool:
        """Read on."""
        return True

    def handle_read(self) -> None:
        """Throw away what comes; the end of it closes the connection by itself."""
        self.unread -= len(self.recv(self.adj.recv_bytes))
        if self.unread <= 0:
            self.handle_close()
