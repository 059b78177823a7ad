"""``POST /v1/reports``: from the bytes of a request to its durable outcome.

What must never change: nothing here keeps, logs or repeats a body, a pseudonym or an address,
and 200 is said only of what is on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from flask import Blueprint, Response, request

from deniable.protocol.errors import StoreError
from deniable.protocol.limits import MAX_COMPRESSED
from deniable.protocol.periods import Period

from .app_key import HEADER
from .begun import BEGUN, Begun, Intake
from .documents import Outcome, Rejection
from .keys import ClosedScopeError, MissingKeyError
from .problems import DETAILS, HTTPProblem, unavailable
from .rules import Entry, reject
from .service import Collector
from .shuffler import Part, Submission
from .store.base import Scope
from .tickets import Ticket
from .wire import Envelope, check_content_type, inflate, parse_envelope

PATH = "/v1/reports"

_NOT_STORED = "the reports cannot be stored now"

_APP_KEY = f"HTTP_{HEADER.upper().replace('-', '_')}"

_NEWS = frozenset({"unknown_question", "wrong_version", "wrong_hash", "segment", "sealing_key"})
"""Why a report may be refused that another replica already knows how to take."""


def ingest_blueprint(collector: Collector) -> Blueprint:
    """Return the endpoint that takes reports in."""
    blueprint = Blueprint("ingest", __name__)
    start = starter(collector)

    @blueprint.post(PATH)
    def post_reports() -> Response:
        begun: Begun = request.environ.get(BEGUN) or start(request.environ)
        return Response(begun.body(), content_type="application/json")

    return blueprint


def read_envelope(environ: Mapping[str, Any]) -> Envelope:
    """Read a request within its bounds.

    Raises
    ------
    HTTPProblem
    """
    check_content_type(environ.get("CONTENT_TYPE", ""))
    body = _read_body(environ)
    return parse_envelope(inflate(body, environ.get("HTTP_CONTENT_ENCODING", "")))


def _read_body(environ: Mapping[str, Any]) -> bytes:
    """Read what was sent: as long as declared, or else to the end if the server marks it."""
    limit = MAX_COMPRESSED + 1
    declared = environ.get("CONTENT_LENGTH", "")
    if declared:
        if not declared.isdecimal():
            raise HTTPProblem(400, "content-length must be a number")
        limit = min(int(declared[:9]), limit)
    elif not environ.get("wsgi.input_terminated"):
        limit = 0
    body: bytes = environ["wsgi.input"].read(limit)
    if len(body) > MAX_COMPRESSED:
        raise HTTPProblem(413, DETAILS[413])
    return body


def starter(collector: Collector) -> Callable[[Mapping[str, Any]], Begun]:
    """Return what begins a request, given its environment."""

    def body(intake: Intake) -> bytes:
        return msgspec.json.encode(finish(collector, intake))

    return lambda environ: Begun(lambda: begin(collector, environ), body)


def begin(collector: Collector, environ: Mapping[str, Any]) -> Intake:
    """Read a request, judge its reports, and hand those that may count to the writer.

    Raises
    ------
    HTTPProblem
        404 for a survey nobody loaded, 429, or 503 when nothing can be taken in.
    """
    collector.check_app_key(environ.get(_APP_KEY))
    envelope = read_envelope(environ)
    _check_survey(collector, envelope.survey)
    collector.flood.check(envelope.survey, envelope.device)
    entries, rejections = _judge(collector, envelope)
    if any(rejection.code in _NEWS for rejection in rejections):
        _learn(collector)
        entries, rejections = _judge(collector, envelope)
    submission = Submission(envelope.period.key, envelope.segment, [])
    _tag(collector, envelope.device, entries, submission)
    ticket = None
    if submission.parts:
        try:
            ticket = collector.writer.submit(submission)
        except StoreError:
            raise unavailable(_NOT_STORED) from None
    return Intake(envelope.period, submission, rejections, ticket)


def finish(collector: Collector, intake: Intake) -> Outcome:
    """Return the document of the reply, when what it says is durable.

    Raises
    ------
    HTTPProblem
        503 when it is not.
    """
    submission = intake.submission
    if intake.ticket is not None:
        _wait(collector, intake.ticket, submission)
    closed = [reject(index, "period_closed") for index in submission.closed]
    rejections = intake.rejections + closed
    _meter(collector, intake.period, submission, rejections)
    rejections.sort(key=lambda rejection: rejection.index)
    return Outcome(submission.accepted, submission.duplicate, rejections)


def _check_survey(collector: Collector, survey: str) -> None:
    """Refuse a survey that no process loaded, before anything is made or counted for it."""
    try:
        known = collector.editions.knows(survey)
    except StoreError:
        raise unavailable("the surveys cannot be read now") from None
    if not known:
        raise HTTPProblem(404, "survey: this collector does not know it")


def _learn(collector: Collector) -> None:
    """Hear what any replica knows by now, for what is refused is never sent again."""
    try:
        collector.editions.learn()
    except StoreError:
        raise unavailable("the surveys cannot be read now") from None


def _judge(collector: Collector, envelope: Envelope) -> tuple[list[Entry], list[Rejection]]:
    now, watermark = collector.config.clock(), collector.writer.watermark
    rules = collector.editions.rules(envelope.survey, envelope.period)
    return rules.judge(envelope.reports, envelope.segment, now, watermark)


def _tag(collector: Collector, device: bytes, entries: list[Entry], submission: Submission) -> None:
    """Name the device within each scope; from here on it is known by nothing else."""
    by_scope: dict[Scope, list[Entry]] = {}
    for entry in entries:
        by_scope.setdefault(entry[1].scope, []).append(entry)
    for scope, part in by_scope.items():
        try:
            key = collector.keys.of(scope)
            submission.parts.append(Part(scope, key, key.tag(device), part))
        except ClosedScopeError:
            submission.closed.extend(index for index, _, _ in part)
        except MissingKeyError as exc:
            _tell_of_key(collector, scope, exc)
            raise unavailable("the period's key is missing; nothing counts in it", 3600) from None
        except StoreError as exc:
            _tell_of_key(collector, scope, exc)
            raise unavailable("the period's key cannot be had now") from None
        else:
            _tell_of_key(collector, scope, None)


def _tell_of_key(collector: Collector, scope: Scope, exc: StoreError | None) -> None:
    reason = None if exc is None else str(exc)
    collector.outages.tell(f"looking up the key of {scope.name}", reason)


def _wait(collector: Collector, ticket: Ticket, submission: Submission) -> None:
    try:
        ticket.wait()
    except StoreError:
        raise unavailable(_NOT_STORED) from None
    if submission.strange:
        for scope in submission.strange:
            collector.keys.forget(scope)
        raise unavailable("the period's key was made by another replica; send it again", 1)
    if submission.full:
        raise unavailable("the period holds as many devices as it may", 3600)
    if submission.unreadable:
        raise unavailable("a tally does not open; nothing counts in it", 3600)


def _meter(
    collector: Collector, period: Period, submission: Submission, rejections: list[Rejection]
) -> None:
    metrics, now = collector.metrics, collector.config.clock()
    metrics.counted(period, now, submission.accepted, submission.duplicate)
    for rejection in rejections:
        metrics.rejected[rejection.code].inc()
