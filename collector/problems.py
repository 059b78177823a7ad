"""Errors as RFC 9457 ``application/problem+json``; they hold nothing of the request.

What nobody foresaw becomes a 500 that says nothing more, and one line in the log with the kind
of the exception and its place in the code: its message could hold a value.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from http import HTTPStatus

import msgspec
from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from deniable.protocol.errors import StoreError
from deniable.protocol.limits import MAX_COMPRESSED

LOG = logging.getLogger("deniable.collector")

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
    title = HTTPStatus(status).phrase
    document = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return msgspec.json.encode(document)


def where(exc: BaseException) -> str:
    """Name an exception's kind and the line it came from, and nothing it says."""
    frames = traceback.extract_tb(exc.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(exc).__name__}{place}"


def install(app: Flask, refused: Callable[[int], None]) -> None:
    """Answer every error of an app with a problem, and tell ``refused`` its status."""

    def answer(problem: HTTPProblem) -> Response:
        refused(problem.status)
        body = problem_body(problem.status, problem.detail)
        return Response(body, problem.status, problem.headers, content_type=CONTENT_TYPE)

    def unforeseen(exc: Exception) -> Response | HTTPException:
        if isinstance(exc, HTTPException):
            return exc if (exc.code or 500) < 400 else answer(_translated(exc))
        LOG.error("%s while answering a request", where(exc))
        return answer(HTTPProblem(500, "the collector failed; its log says where"))

    def store_failed(exc: StoreError) -> Response:
        LOG.error("%s", exc)
        return answer(unavailable("the store cannot be used now"))

    app.register_error_handler(HTTPProblem, answer)
    app.register_error_handler(StoreError, store_failed)
    app.register_error_handler(Exception, unforeseen)


def _translated(exc: HTTPException) -> HTTPProblem:
    """Return one of Flask's own errors, such as for a path that is not there."""
    status = exc.code or 500
    allowed = {name: value for name, value in exc.get_headers() if name == "Allow"}
    return HTTPProblem(status, DETAILS.get(status, HTTPStatus(status).phrase.lower()), allowed)
