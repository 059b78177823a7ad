"""Answers every error of the application with a problem.

What nobody foresaw becomes a 500 that says nothing more, and one line in the log with the kind
of the exception and its place in the code: its message could hold a value.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from deniable.protocol.errors import StoreError

from .outages import Outages
from .problems import CONTENT_TYPE, DETAILS, HTTPProblem, problem_body, unavailable, where

LOG = logging.getLogger("deniable.collector")


READING = "answering from the store"
"""What an outage is called that keeps requests from being answered."""


def install_handlers(app: Flask, refused: Callable[[int], None], outages: Outages) -> None:
    """Answer every error of an app with a problem, and tell ``refused`` its status.

    That the store cannot be used is told once; whoever then reads from it tells ``outages``.
    """

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
        outages.tell(READING, str(exc))
        return answer(unavailable("the store cannot be used now"))

    app.register_error_handler(HTTPProblem, answer)
    app.register_error_handler(StoreError, store_failed)
    app.register_error_handler(Exception, unforeseen)


def _translated(exc: HTTPException) -> HTTPProblem:
    """Return one of Flask's own errors, such as for a path that is not there."""
    status = exc.code or 500
    allowed = {name: value for name, value in exc.get_headers() if name == "Allow"}
    return HTTPProblem(status, DETAILS.get(status, HTTPStatus(status).phrase.lower()), allowed)
