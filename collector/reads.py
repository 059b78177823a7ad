"""The endpoints that tell: surveys to anyone, tallies to those with a token, health to monitors."""

from __future__ import annotations

import re

import msgspec
from flask import Blueprint, Response, request

from .documents import Batches, Periods, Tallies
from .handlers import READING
from .openapi import JSON, description_text
from .problems import HTTPProblem, unavailable
from .service import Collector
from .standing import standing
from .tokens import require_token

_ID = re.compile("[1-9][0-9]{0,17}")


def public_blueprint(collector: Collector) -> Blueprint:
    """Return what anyone may read."""
    blueprint = Blueprint("public", __name__)
    description = description_text()

    @blueprint.get("/v1/survey/<survey>")
    def get_survey(survey: str) -> Response:
        known = collector.catalogue.surveys.get(survey)
        if known is None:
            raise HTTPProblem(404, "survey: this collector does not know it")
        return Response(known.document, content_type=JSON)

    @blueprint.get("/openapi.json")
    def get_description() -> Response:
        return Response(description, content_type=JSON)

    @blueprint.get("/livez")
    def get_liveness() -> Response:
        return Response("ok\n", content_type="text/plain")

    @blueprint.get("/readyz")
    def get_readiness() -> Response:
        faults = collector.readiness.faults()
        if faults:
            raise unavailable("; ".join(faults))
        return Response("ok\n", content_type="text/plain")

    return blueprint


def analyst_blueprint(collector: Collector) -> Blueprint:
    """Return what an analyst may read: what was released, and where the rest stands."""
    blueprint = Blueprint("analyst", __name__)
    _guard(blueprint, collector, "analyst")
    _add_released(blueprint, collector)

    @blueprint.get("/v1/periods")
    def get_periods() -> Response:
        survey = request.args.get("survey")
        if survey is not None and survey not in collector.catalogue.surveys:
            raise HTTPProblem(404, "survey: this collector does not know it")
        with collector.store.read() as reader:
            return answer(Periods.of(reader.states(survey)))

    return blueprint


def metrics_blueprint(collector: Collector) -> Blueprint:
    """Return what monitoring may read."""
    blueprint = Blueprint("metrics", __name__)
    _guard(blueprint, collector, "metrics")

    @blueprint.get("/metrics")
    def get_metrics() -> Response:
        return Response(
            collector.metrics.text(standing(collector)),
            content_type="text/plain; version=0.0.4; charset=utf-8",
        )

    return blueprint


def _guard(blueprint: Blueprint, collector: Collector, scope: str) -> None:
    """Let nobody in without a token of that scope."""

    @blueprint.before_request
    def check_token() -> None:
        require_token(collector.store, request.headers.get("Authorization", ""), scope)

    @blueprint.after_request
    def tell(response: Response) -> Response:
        if response.status_code == 200:  # the store was read
            collector.outages.tell(READING, None)
        return response


def _add_released(blueprint: Blueprint, collector: Collector) -> None:
    """Add the doors to tallies, and to batches of sealed reports."""

    def check(survey: str, question: str) -> None:
        if question not in collector.catalogue.questions.get(survey, {}):
            raise HTTPProblem(404, "survey or question: this collector does not know it")

    @blueprint.get("/v1/tallies/<survey>/<question>")
    def get_tallies(survey: str, question: str) -> Response:
        check(survey, question)
        with collector.store.read() as reader:
            documents = reader.tallies(survey, question)
        return answer(Tallies([msgspec.Raw(document.encode()) for document in documents]))

    @blueprint.get("/v1/batches/<survey>/<question>")
    def get_batches(survey: str, question: str) -> Response:
        check(survey, question)
        with collector.store.read() as reader:
            return answer(Batches.of(reader.batches(survey, question)))

    @blueprint.get("/v1/batches/<survey>/<question>/<id>")
    def get_batch(survey: str, question: str, id: str) -> Response:  # noqa: A002
        check(survey, question)
        document = None
        if _ID.fullmatch(id):
            with collector.store.read() as reader:
                document = reader.batch(survey, question, int(id))
        if document is None:
            raise HTTPProblem(404, "id: the question has no such batch")
        return Response(document, content_type=JSON)


def answer(document: msgspec.Struct) -> Response:
    """Encode a document as the body of a 200."""
    return Response(msgspec.json.encode(document), content_type=JSON)
