"""Errors as RFC 9457 ``application/problem+json``; they hold nothing of the request."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from deniable.protocol.limits import MAX_COMPRESSED

from .documents import Problem

CONTENT_TYPE = "application/problem+json"

DETAILS = {
    404: "there is nothing at this path",
    405: "the path does not answer to this method",
    413: f"the body must be at most {MAX_COMPRESSED} bytes as sent",
}


class HTTPProblem(Exception):
    """A refusal of a whole request.

    Attributes
    ----------
    status : int
    detail : str
        What is wrong and what to do about it.
    headers : dict
    """

    def __init__(self, status: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def unavailable(detail: str, seconds: int = 5) -> HTTPProblem:
    """Return a 503 that asks the client to come back."""
    return HTTPProblem(503, detail, {"Retry-After": str(seconds)})


def problem_body(status: int, detail: str) -> bytes:
    """Return the JSON text of a problem."""
    return msgspec.json.encode(Problem("about:blank", HTTPStatus(status).phrase, status, detail))


def where(exc: BaseException) -> str:
    """Name an exception's kind and the line it came from, and nothing it says."""
    frames = traceback.extract_tb(exc.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(exc).__name__}{place}"
