"""The endpoints that tell: surveys to anyone, tallies to those with a token, health to monitors."""

from __future__ import annotations

from importlib.resources import files

import msgspec
from flask import Blueprint, Response, request

from deniable.protocol.errors import StoreError

from .problems import HTTPProblem, unavailable
from .service import Collector
from .tokens import require_token

JSON = "application/json"


def public_blueprint(collector: Collector) -> Blueprint:
    """Return what anyone may read."""
    blueprint = Blueprint("public", __name__)
    description = files(__package__).joinpath("openapi.json").read_bytes()

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
        try:
            collector.probe()
        except StoreError:
            raise unavailable("the store cannot be written") from None
        return Response("ok\n", content_type="text/plain")

    return blueprint


def analyst_blueprint(collector: Collector) -> Blueprint:
    """Return what a token opens: released tallies and where the others stand, never a count."""
    blueprint = Blueprint("analyst", __name__)

    @blueprint.before_request
    def check_token() -> None:
        require_token(collector.store, request.headers.get("Authorization", ""))

    @blueprint.get("/v1/tallies/<survey>/<question>")
    def get_tallies(survey: str, question: str) -> Response:
        if question not in collector.catalogue.questions.get(survey, {}):
            raise HTTPProblem(404, "survey or question: this collector does not know it")
        with collector.store.read() as reader:
            documents = reader.tallies(survey, question)
        return Response('{"tallies":[' + ",".join(documents) + "]}", content_type=JSON)

    @blueprint.get("/v1/periods")
    def get_periods() -> Response:
        survey = request.args.get("survey")
        if survey is not None and survey not in collector.catalogue.surveys:
            raise HTTPProblem(404, "survey: this collector does not know it")
        with collector.store.read() as reader:
            states = [state.record() for state in reader.states(survey)]
        return Response(msgspec.json.encode({"periods": states}), content_type=JSON)

    @blueprint.get("/metrics")
    def get_metrics() -> Response:
        return Response(
            collector.metrics.text(), content_type="text/plain; version=0.0.4; charset=utf-8"
        )

    return blueprint
