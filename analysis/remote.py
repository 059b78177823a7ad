"""Reading tallies over HTTP: one request at a time, bounded, and without surprises.

The bearer token goes to the one address it was given for: no redirect is followed, no other
credential is looked up, and it never travels in the clear beyond this machine.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from deniable.protocol.errors import DocumentError, SourceError
from deniable.protocol.period_state import PeriodState
from deniable.protocol.tally import Tally

from .extras import extra
from .sources import parse_json, parse_states, parse_tallies

if TYPE_CHECKING:
    from requests import Response, Session

MAX_BYTES = 256 * 1024 * 1024
"""Size beyond which an answer is not read."""

_TIMEOUT = (10.0, 60.0)
_DEADLINE = 300.0
_CHUNK = 64 * 1024
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,512}", re.ASCII)
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


class HttpSource:
    """A collector's HTTP interface.

    Parameters
    ----------
    url : str
        ``https://host[:port][/prefix]``, or ``http://`` on this machine.
    token : str or None

    Raises
    ------
    SourceError
        If the address or the token cannot be used.
    """

    def __init__(self, url: str, token: str | None) -> None:
        self._base = _checked(url)
        if not token:
            raise SourceError(f"{self._base} needs a token; set DENIABLE_TOKEN")
        if not _TOKEN.fullmatch(token):
            raise SourceError("DENIABLE_TOKEN is no token; copy it anew, without spaces")
        self._token = token

    def states(self, survey: str | None = None) -> tuple[PeriodState, ...]:
        """Return the answer of ``GET /v1/periods``."""
        suffix = "" if survey is None else f"?survey={quote(survey, safe='')}"
        return parse_states(self._list("/v1/periods" + suffix, "periods"))

    def tallies(self, survey: str, question: str) -> tuple[Tally, ...]:
        """Return the answer of ``GET /v1/tallies/<survey>/<question>``."""
        path = f"/v1/tallies/{quote(survey, safe='')}/{quote(question, safe='')}"
        return parse_tallies(self._list(path, "tallies"), survey, question)

    def _list(self, path: str, field: str) -> list[Any]:
        document = parse_json(self._get(path))
        found = document.get(field) if isinstance(document, dict) else None
        if not isinstance(found, list):
            raise DocumentError(f"{self._base}{path} does not answer with a list of {field}")
        return found

    def _get(self, path: str) -> str:
        with extra():
            import requests
        try:
            with requests.Session() as session, self._send(session, path) as response:
                body = _read(response)
        except (requests.RequestException, UnicodeError, ValueError) as exc:
            raise SourceError(f"{self._base} does not answer: {_reason(exc)}") from exc
        if response.status_code != 200:
            raise SourceError(f"{self._base}{path}: {_refusal(response.status_code, body)}")
        return body

    def _send(self, session: Session, path: str) -> Response:
        def bear(request: Any) -> Any:
            """Set the token; an ``auth`` of our own also keeps requests from reading ~/.netrc."""
            request.headers["Authorization"] = f"Bearer {self._token}"
            return request

        session.trust_env = self._base.startswith("https://")  # no proxy sees plain http
        return session.get(
            self._base + path,
            auth=bear,
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
            timeout=_TIMEOUT,
            allow_redirects=False,
            stream=True,
        )


def _checked(url: str) -> str:
    """Return the base of all addresses, without a final slash."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise SourceError(f"the URL is malformed: {exc}") from exc
    if not host or parts.username is not None or parts.query or parts.fragment:
        raise SourceError(
            "the URL must be like https://collector.example; put the token in DENIABLE_TOKEN"
        )
    if parts.scheme == "http" and host not in _LOCAL:
        raise SourceError(f"use https:// for {host}: over http:// the token travels in the clear")
    return parts.geturl().rstrip("/")


def _read(response: Response) -> str:
    """Return the body, unless it is too long, too slow, or packed though nobody asked for it."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise ValueError("it compresses though it was asked not to")
    deadline = time.monotonic() + _DEADLINE
    body = bytearray()
    for chunk in _chunks(response):
        body += chunk
        if len(body) > MAX_BYTES:
            raise ValueError(f"its answer is longer than {MAX_BYTES} bytes")
        if time.monotonic() > deadline:
            raise ValueError(f"its answer takes longer than {_DEADLINE:g} s")
    return body.decode("utf-8")


def _chunks(response: Response) -> Iterator[bytes]:
    """Return the body as it arrives; ``iter_content`` would wait for a chunk to be full."""
    # The base of urllib3's errors, which the transport of requests raises and its stubs hide.
    from requests.exceptions import BaseHTTPError, ChunkedEncodingError  # type: ignore[attr-defined]

    read = getattr(response.raw, "read1", response.raw.read)  # urllib3 1 has no read1
    try:
        while chunk := read(_CHUNK):
            yield chunk
    except BaseHTTPError as exc:
        raise ChunkedEncodingError(exc) from exc


def _refusal(status: int, body: str) -> str:
    """Say why there was no answer, from problem+json if it is that."""
    if status == 401:
        return "the token is not accepted; set DENIABLE_TOKEN to a valid one"
    if 300 <= status < 400:
        return "it redirects elsewhere; give the address itself"
    try:
        problem = parse_json(body)
    except DocumentError:
        problem = None
    detail = problem.get("detail") or problem.get("title") if isinstance(problem, dict) else None
    return f"status {status}" + (f", {_line(str(detail))}" if detail else "")


def _reason(exc: Exception) -> str:
    """Name the innermost cause; requests' own texts nest several."""
    import requests

    if isinstance(exc, requests.Timeout):
        return "it takes too long"
    if isinstance(exc, requests.exceptions.SSLError):
        return "its certificate is not accepted"
    if isinstance(exc, requests.ConnectionError):
        return "no connection"
    if isinstance(exc, requests.exceptions.ChunkedEncodingError):
        return "its answer breaks off"
    if isinstance(exc, UnicodeDecodeError):
        return "its answer is not UTF-8"
    if isinstance(exc, requests.exceptions.InvalidURL | UnicodeError):
        return "the URL is malformed"
    if isinstance(exc, requests.RequestException):
        return type(exc).__name__
    return _line(str(exc))


def _line(text: str) -> str:
    """Cut a foreign text down to one short printable line."""
    return "".join(c if c.isprintable() else " " for c in text[:200])
