"""One exchange over HTTP, with no surprises: what is sent, what is read, how long it may take.

What must never change: nothing of the machine travels but the body. No cookies, no credentials
of ``~/.netrc``, no proxy of the environment, no redirects; headers are the same on all devices of
an app, its key included.

``requests`` is loaded with the first exchange. Each runs in a thread of its own, so that a
collector that answers a byte a minute, or a name that does not resolve, keeps nobody waiting
longer than :data:`DEADLINE`.
"""

from __future__ import annotations

import io
import re
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import urlsplit

from deniable.protocol.errors import ParameterError

from .foreign import interrupts
from .replies import Reply

if TYPE_CHECKING:
    import requests

DEADLINE = 30.0
"""Seconds an exchange may take in all."""

_TIMED_OUT = "timed out"
_SOCKET_SECONDS = 10.0
_REPLY_BYTES = 64 * 1024
_APP_KEY = re.compile(r"[A-Za-z0-9_-]{16,128}")
_HEADERS = {
    "User-Agent": "deniable/1",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "Content-Encoding": "gzip",
}


class Carrier(Protocol):
    """What takes bodies to a collector, one at a time: over HTTP, or in an app's tests nowhere."""

    def connection(self) -> Any:
        """Return what one pseudonym's bodies are posted over; it has a ``close()``."""

    def ticket(self) -> int:
        """Return what a post needs; it is void once exchanges were given up."""

    def post(
        self,
        connection: Any,
        body: bytes,
        ticket: int,
        seconds: float,
        leave: Callable[[], bool] | None = None,
    ) -> Reply:
        """Send one body, wait so long at most; a failure of any kind is a reply with status 0.

        ``leave`` is asked just before the body's first byte, perhaps in another thread.
        """

    def close(self) -> None:
        """Give up for good."""

    def abandon(self) -> None:
        """Give up the exchange under way, and those about to begin."""

    def after_fork(self) -> None:
        """In the child: the exchange under way is the parent's."""


class Transport:
    """The carrier of an app: posts over HTTP."""

    def __init__(self, collector_url: str, app_key: str | None = None) -> None:
        self._url = reports_url(collector_url)
        self._headers = _HEADERS if app_key is None else _HEADERS | key_header(app_key)
        self._exchange: _Exchange | None = None
        self._abandoned = 0
        self._closed = False

    def connection(self) -> Any:
        """Return a connection that knows nothing of earlier ones; close it after use.

        If none can be made, what is returned says why to whoever posts over it.
        """
        try:
            return _session(self._headers)
        except Exception as exc:
            if interrupts(exc):
                raise
            return _NoSession(f"`requests` is of no use ({type(exc).__name__})")

    def ticket(self) -> int:
        """Return what a post needs; it is void once exchanges were given up."""
        return self._abandoned

    def post(
        self,
        connection: requests.Session | _NoSession,
        body: bytes,
        ticket: int,
        seconds: float,
        leave: Callable[[], bool] | None = None,
    ) -> Reply:
        """Send one body, wait so long at most; a failure of any kind is a reply with status 0."""
        if isinstance(connection, _NoSession):
            return Reply(failure=connection.why)
        if self._exchange is not None and not self._exchange.ended:
            return Reply(failure=_TIMED_OUT)
        exchange = self._exchange = _Exchange(connection, self._url, body, leave)
        if self._closed or ticket != self._abandoned:  # asked now: later, abandon() finds it
            self._exchange = None
            return Reply()
        try:
            exchange.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._exchange = None
            return Reply(failure="no thread could be started")
        if exchange.over.wait(max(0.0, seconds)):
            return exchange.reply
        return Reply(failure=_TIMED_OUT)

    def close(self) -> None:
        """Give up for good."""
        self._closed = True
        self.abandon()

    def abandon(self) -> None:
        """Give up the exchange under way, and those about to begin.

        Its thread ends by itself, and its reply is ignored.
        """
        self._abandoned += 1
        exchange = self._exchange
        if exchange is not None:
            exchange.over.set()

    def after_fork(self) -> None:
        """In the child: the exchange under way is the parent's."""
        self._exchange = None


class _NoSession:
    """In place of a session that could not be made."""

    def __init__(self, why: str) -> None:
        self.why = why

    def close(self) -> None:
        """Do nothing."""


class _Exchange(threading.Thread):
    """One request and its reply, in a thread that nobody has to wait for.

    ``over`` is set when it has ended or was given up; ``ended`` says which.
    """

    def __init__(
        self,
        connection: requests.Session,
        url: str,
        body: bytes,
        leave: Callable[[], bool] | None = None,
    ) -> None:
        super().__init__(name="deniable-exchange", daemon=True)
        self.over = threading.Event()
        self.ended = False
        self.reply = Reply()
        self._connection = connection
        self._url = url
        self._body = _Body(body, self.over, leave)

    def run(self) -> None:
        try:
            if not self.over.is_set():
                self.reply = self._post()
        except _NoLeaveError:
            self.reply = Reply()
        except Exception as exc:
            self.reply = Reply(failure=_in_words(exc))
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


class _Body(io.BytesIO):
    """A body that begins to leave only with leave to, and ends once the exchange was given up."""

    def __init__(
        self, body: bytes, over: threading.Event, leave: Callable[[], bool] | None
    ) -> None:
        super().__init__(body)
        self._over = over
        self._leave = leave

    def read(self, size: int | None = -1, /) -> bytes:
        if self._over.is_set():
            raise ConnectionAbortedError
        if self._leave is not None and self.tell() == 0 and not self._leave():
            raise _NoLeaveError
        if self._over.is_set():  # while leave was asked for
            raise ConnectionAbortedError
        return super().read(size)


class _NoLeaveError(Exception):
    """The client itself withholds a body, whose connection was there already."""


def _session(headers: dict[str, str]) -> requests.Session:
    """Return a session that keeps and adds nothing."""
    from http.cookiejar import DefaultCookiePolicy

    if "requests" not in sys.modules:
        import warnings

        with warnings.catch_warnings():  # which an app may have turned into errors
            warnings.simplefilter("ignore")
            import requests
    import requests

    session = requests.Session()
    session.trust_env = False
    session.headers.clear()
    session.headers.update(headers)
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return session


def _in_words(error: Exception) -> str:
    """Return what went wrong, without the address that the error names."""
    import requests

    if isinstance(error, requests.Timeout):
        return _TIMED_OUT
    if isinstance(error, requests.exceptions.SSLError):
        return "no secure connection"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return "broken reply"


def key_header(app_key: object) -> dict[str, str]:
    """Return the header of an app's key.

    Raises
    ------
    ParameterError
        If it is none. The message does not contain it.
    """
    key = cast("str", app_key) if issubclass(type(app_key), str) else ""
    if not _APP_KEY.fullmatch(key):
        raise ParameterError(
            "app_key must be 16..128 letters, digits, '-' and '_', as "
            "`deniable-collector app-key create` prints it"
        )
    return {"Deniable-App-Key": key}


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
    except Exception as exc:
        if interrupts(exc):
            raise
        parts, host = urlsplit(""), None
    if parts.scheme not in ("http", "https") or not host:
        raise ParameterError("collector_url must be like https://collector.example")
    if parts.username is not None or parts.query or parts.fragment:
        raise ParameterError("collector_url must have no credentials, query or fragment")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}/v1/reports"
