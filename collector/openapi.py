"""The OpenAPI 3.1 description of the HTTP surface, made from the structs that check and answer.

A schema is derived from the struct that decodes or encodes the document; ``operations`` says
which operation answers with which. What must never change within ``/v1``: the name of a schema.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from deniable.protocol.limits import MAX_COMPRESSED, MAX_INFLATED

from .app_key import HEADER
from .definitions import Identifier
from .documents import MAX_ID, Problem, Tally
from .operations import OPERATIONS, Operation
from .problems import CONTENT_TYPE
from .wire import Request

JSON = "application/json"
TEXT = "text/plain"

Json = dict[str, Any]

_REF = "#/components/schemas/{name}"

_INTRODUCTION = (
    "Takes in reports that devices randomized, keeps only counts, and gives released tallies to "
    "those who hold a token. Every error is application/problem+json (RFC 9457) and repeats "
    "nothing of the request. Within /v1 fields of replies, codes and operations may be added and "
    "none is renamed or removed: ignore what you do not know."
)

_OTHER_REPORT = "Anything else is rejected by itself, and its neighbours count."

_BODY = (
    "Content-Encoding may be identity, or gzip for one gzip member and nothing else. At most "
    f"{MAX_COMPRESSED} bytes as sent and {MAX_INFLATED} inflated."
)

_INGEST = {
    "security": [{}, {"appKey": []}],
    "requestBody": {
        "description": _BODY,
        "required": True,
        "content": {JSON: {"schema": {"$ref": _REF.format(name=Request.__name__)}}},
    },
}

_REFUSALS = {
    400: "The request is malformed: its HTTP, or its body's UTF-8, JSON, gzip or nesting.",
    401: "No valid token, or not the app's key.",
    403: "The token has another scope.",
    404: "The survey, question or document is unknown.",
    413: "The body is too large, as sent or inflated.",
    415: "The content type or encoding is not spoken here.",
    422: "JSON, but not a request; nothing of it counts.",
    429: "Too many requests from this pseudonym, or for surveys that nobody loaded.",
    431: "The header is too large.",
    500: "The collector failed; its log says where.",
    501: "The transfer encoding is not spoken here.",
    503: "Nothing can be read or made durable now; come back.",
}

_ALWAYS = (400, 413, 431, 500, 501)
"""Refusals that any request may meet, before it is known what it asks for."""

_TOKEN = (401, 403, 503)

_RETRY_AFTER = {
    "Retry-After": {
        "description": "Seconds to wait.",
        "required": True,
        "schema": {"type": "integer", "minimum": 1},
    }
}
_CHALLENGE = {
    "WWW-Authenticate": {
        "description": "How to authenticate.",
        "required": True,
        "schema": {"type": "string"},
    }
}
_ENCODINGS = {
    "Accept-Encoding": {
        "description": "The encodings that are, if it was the encoding.",
        "schema": {"type": "string"},
    }
}
_HEADERS = {401: _CHALLENGE, 403: _CHALLENGE, 415: _ENCODINGS, 429: _RETRY_AFTER, 503: _RETRY_AFTER}


def describe() -> Json:
    """Return the OpenAPI document."""
    paths: Json = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "deniable collector",
            "version": "1",
            "description": _INTRODUCTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "securitySchemes": _security(),
            "parameters": _parameters(),
            "responses": {str(status): _refusal(status) for status in _REFUSALS},
            "schemas": _schemas(),
        },
    }


@cache
def description_text() -> bytes:
    """Return the document as JSON text."""
    return msgspec.json.format(msgspec.json.encode(describe()), indent=1) + b"\n"


def _operation(operation: Operation) -> Json:
    scope = operation.scope
    statuses = sorted({*_ALWAYS, *operation.refusals, *(_TOKEN if scope else ())})
    needs = f"Needs a token of scope {scope} or operator." if scope else ""
    text = operation.description or needs
    return {
        "operationId": operation.id,
        "summary": operation.summary,
        **({"description": text} if text else {}),
        **({"security": [{"token": []}]} if scope else {}),
        **(_INGEST if operation.method == "post" else {}),
        "parameters": [
            {"$ref": f"#/components/parameters/{name}"} for name in operation.parameters
        ],
        "responses": {
            "200": _success(operation.reply),
            **{str(status): {"$ref": f"#/components/responses/{status}"} for status in statuses},
        },
    }


def _schemas() -> Json:
    replies = [op.reply for op in OPERATIONS if issubclass(op.reply, msgspec.Struct)]
    roots = [Request, *replies, Tally, Problem]
    schemas = msgspec.json.schema_components(roots, ref_template=_REF)[1]
    reports = schemas["Request"]["properties"]["reports"]
    reports["items"] = {"anyOf": [reports["items"], {"description": _OTHER_REPORT}]}
    return schemas


def _schema(document: type) -> Json:
    if issubclass(document, msgspec.Struct):
        return {"schema": {"$ref": _REF.format(name=document.__name__)}}
    return {"schema": {"type": "string" if document is str else "object"}}


def _success(reply: type) -> Json:
    described = (reply.__doc__ or "") if issubclass(reply, msgspec.Struct) else ""
    content_type = TEXT if reply is str else JSON
    return {
        "description": described.partition("\n")[0] or "It is so.",
        "content": {content_type: _schema(reply)},
    }


def _refusal(status: int) -> Json:
    headers = {"headers": _HEADERS[status]} if status in _HEADERS else {}
    content = {CONTENT_TYPE: _schema(Problem)}
    return {"description": _REFUSALS[status], **headers, "content": content}


def _security() -> Json:
    return {
        "token": {
            "type": "http",
            "scheme": "bearer",
            "description": "Made by `deniable-collector token create`, with scopes: analyst (what "
            "was released and where the rest stands), metrics, operator (both).",
        },
        "appKey": {
            "type": "apiKey",
            "in": "header",
            "name": HEADER,
            "description": "Asked for only where the operator says so. It ships inside the app, "
            "so it keeps out junk and authenticates nobody.",
        },
    }


def _parameters() -> Json:
    identifier = msgspec.json.schema(Identifier)
    number = {"type": "integer", "minimum": 1, "maximum": MAX_ID}

    def in_path(name: str, schema: Json) -> Json:
        return {"name": name, "in": "path", "required": True, "schema": schema}

    return {
        "survey": in_path("survey", identifier),
        "question": in_path("question", identifier),
        "id": in_path("id", number),
        "onlySurvey": {
            "name": "survey",
            "in": "query",
            "description": "Only this one.",
            "schema": identifier,
        },
    }
