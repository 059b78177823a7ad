"""One exchange over HTTP, with no surprises: what is sent, what is read, how long it may take.

What must never change: nothing of the machine travels but the body. No cookies, no credentials
of ``~/.netrc``, no proxy of the environment, no redirects; headers are the same on all devices.

``requests`` is loaded with the first exchange. Each runs in a thread of its own, so that a
collector that answers a byte a minute, or a name that does not resolve, keeps nobody waiting
longer than :data:`DEADLINE`.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deniable.protocol.errors import ParameterError

from .replies import Reply

if TYPE_CHECKING:
    import requests

DEADLINE = 30.0
"""Seconds an exchange may take in all."""

_SOCKET_SECONDS = 10.0
_REPLY_BYTES = 64 * 1024
_HEADERS = {
    "User-Agent": "deniable/1",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "Content-Encoding": "gzip",
}


class Transport:
    """Posts bodies to one collector, one at a time."""

    def __init__(self, collector_url: str) -> None:
        self._url = reports_url(collector_url)
        self._exchange: _Exchange | None = None
        self._closed = False

    def connection(self) -> requests.Session:
        """Return a connection that knows nothing of earlier ones; close it after use."""
        from http.cookiejar import DefaultCookiePolicy

        import requests

        session = requests.Session()
        session.trust_env = False
        session.headers.clear()
        session.headers.update(_HEADERS)
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        return session

    def post(self, connection: requests.Session, body: bytes) -> Reply:
        """Send one body; a failure of any kind is a reply with status 0."""
        if self._closed or (self._exchange is not None and not self._exchange.ended):
            return Reply()
        exchange = _Exchange(connection, self._url, body)
        try:
            exchange.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            return Reply()
        self._exchange = exchange
        exchange.over.wait(DEADLINE)
        return exchange.reply

    def close(self) -> None:
        """Give up for good."""
        self._closed = True
        self.abandon()

    def abandon(self) -> None:
        """Give up the exchange under way; its thread ends by itself, and its reply is ignored."""
        if self._exchange is not None:
            self._exchange.over.set()

    def after_fork(self) -> None:
        """In the child: the exchange under way is the parent's."""
        self._exchange = None


class _Exchange(threading.Thread):
    """One request and its reply, in a thread that nobody has to wait for.

    ``over`` is set when it has ended or was given up; ``ended`` says which.
    """

    def __init__(self, connection: requests.Session, url: str, body: bytes) -> None:
        super().__init__(name="deniable-exchange", daemon=True)
        self.over = threading.Event()
        self.ended = False
        self.reply = Reply()
        self._connection = connection
        self._url = url
        self._body = body

    def run(self) -> None:
        try:
            self.reply = self._post()
        except Exception:
            self.reply = Reply()
        finally:
            self.ended = True
            self.over.set()

    def _post(self) -> Reply:
        with self._connection.post(
            self._url,
            data=self._body,
            timeout=_SOCKET_SECONDS,
            allow_redirects=False,
            stream=True,
        ) as response:
            body = response.raw.read(_REPLY_BYTES + 1, decode_content=False)
            if len(body) > _REPLY_BYTES:
                body = b""
            return Reply(response.status_code, body, response.headers.get("Retry-After"))


def reports_url(collector_url: str) -> str:
    """Return where reports go.

    Raises
    ------
    ParameterError
        If it is no plain URL of a collector.
    """
    try:
        parts = urlsplit(collector_url)
        host = parts.hostname
        _ = parts.port
    except (ValueError, TypeError, AttributeError):
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host:
        raise ParameterError("collector_url must be like https://collector.example")
    if parts.username is not None or parts.query or parts.fragment:
        raise ParameterError("collector_url must have no credentials, query or fragment")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/v1/reports"
