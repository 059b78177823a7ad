"""Endpoints: what a stranger without a token gets to see at the collector's address."""

from __future__ import annotations

import http.client
import ipaddress
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import urlsplit

from deniable.protocol.errors import ParameterError, StoreError

from .findings import Case, Finding, Findings, fault, ok, warning

_SECONDS = 10
_BYTES = 4096
_OPEN = {
    "/livez": "that the process lives",
    "/readyz": "that the store can be written",
    "/openapi.json": "the description of the interface",
}
_CLOSED = {
    "/metrics": "meters",
    "/v1/periods": "where every tally stands, crowds in tens",
}
_NGINX = (
    "in nginx: access_log off; error_log … crit; client_body_buffer_size 64k; no mirror, no body"
    " or $remote_addr in any log_format; the same for whatever else stands before it"
)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]


def endpoints(case: Case) -> Findings:
    """Public doors are open, others closed, the way to them encrypted, and nothing is chatty."""
    if case.url is None:
        return
    parts = urlsplit(case.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError("url must be like https://telemetry.example or http://127.0.0.1:8080")
    base = case.url.rstrip("/")
    answers = {path: _fetch(base + path) for path in (*_OPEN, *_CLOSED)}
    yield encryption(parts.scheme, parts.hostname)
    for path, tells in _OPEN.items():
        yield _public(path, answers[path].status, tells)
    for path, tells in _CLOSED.items():
        yield _private(path, answers[path].status, tells)
    yield _headers(answers.values())
    yield ok("access log", "whether requests are logged is not seen from here", _NGINX)


def encryption(scheme: str, host: str) -> Finding:
    """Tell whether the way to a host is encrypted; ``https`` was seen to work."""
    if scheme == "https":
        return ok("encryption", "TLS, with a certificate that is good")
    if _is_here(host):
        return ok(
            "encryption", "none, on this machine only; TLS is the proxy's", "check its URL too"
        )
    return fault(
        "encryption", "none", "put a proxy with TLS in front; devices send to https:// only"
    )


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _public(path: str, status: int, tells: str) -> Finding:
    name = f"endpoint {path}"
    if status == http.client.OK:
        return ok(name, f"open to anyone; tells {tells}")
    fix = (
        "serve's log has the reason" if status >= 500 else "let the proxy pass it, or live with it"
    )
    level = fault if status >= 500 else warning
    return level(name, f"answers {status}", fix)


def _private(path: str, status: int, tells: str) -> Finding:
    name = f"endpoint {path}"
    if status == http.client.UNAUTHORIZED:
        return ok(name, f"closed without a token; tells {tells}")
    if status == http.client.OK:
        return fault(name, f"open to anyone, and tells {tells}", "no proxy may add a token to it")
    return warning(name, f"answers {status}, not 401", "look what stands before the collector")


def _headers(answers: Iterable[_Answer]) -> Finding:
    found = {
        f"{name}: {value}"
        for answer in answers
        for name, value in answer.headers.items()
        if name.lower() in ("server", "x-powered-by", "via", "set-cookie")
    }
    cookies = any(header.lower().startswith("set-cookie") for header in found)
    named = sorted(header for header in found if not header.lower().startswith("set-cookie"))
    if cookies:
        return fault("headers", "a cookie is set, which tells devices apart", "the proxy sets it")
    if any("/" in header for header in named):
        fix = "in nginx: server_tokens off"
        return warning("headers", f"tell software and version: {', '.join(named)}", fix)
    return ok("headers", ", ".join(named) or "nothing about the software")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return


def _fetch(url: str) -> _Answer:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects())
    try:
        with opener.open(url, timeout=_SECONDS) as reply:
            reply.read(_BYTES)
            return _Answer(reply.status, dict(reply.headers))
    except urllib.error.HTTPError as exc:
        with exc:
            return _Answer(exc.code, dict(exc.headers))
    except urllib.error.URLError as exc:
        _fail(url, exc.reason)
    except (OSError, http.client.HTTPException) as exc:
        _fail(url, exc)


def _fail(url: str, reason: object) -> NoReturn:
    if isinstance(reason, ssl.SSLError):
        raise StoreError(f"{url}: its certificate or TLS is not good") from None
    text = reason.strerror if isinstance(reason, OSError) and reason.strerror else "no HTTP"
    raise StoreError(f"{url}: cannot be reached ({text})") from None
