"""The body of ``POST /v1/reports``: bounded bytes in, one checked envelope out.

A defect inside one report is that report's alone; any other refuses the whole request. No error
repeats what was sent, for that may be a device's name or answer. The structs that check a request
also describe it in ``openapi``; what they only describe is checked after them, and a test compares.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta

from deniable.protocol.errors import ParameterError
from deniable.protocol.limits import MAX_INFLATED, MAX_REPORTS
from deniable.protocol.periods import Period, parse_period
from deniable.protocol.question import WIRE_HASH
from deniable.protocol.report import parse_device

from .definitions import Identifier, PeriodText
from .problems import HTTPProblem


class Report(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One report as it travels; a defect in it is its own and refuses no other."""

    question: Identifier
    version: Annotated[int, Meta(extra_json_schema={"minimum": 1})]
    hash: Annotated[
        str,
        Meta(
            description=f"The first {WIRE_HASH} digits of the question's privacy hash.",
            extra_json_schema={"pattern": f"^[0-9a-f]{{{WIRE_HASH}}}$"},
        ),
    ]
    response: Annotated[
        int | str | Annotated[list[int | str], Meta(max_length=2)],
        Meta(
            description="A symbol, bits as base64url, or [row, either]; of a sealed question, "
            "[key id, ciphertext as base64url].",
            examples=[1, "Hw", [3, 1]],
        ),
    ]


R = TypeVar("R")


class _Request(msgspec.Struct, Generic[R], forbid_unknown_fields=True):
    survey: Identifier
    period: PeriodText
    device: Annotated[
        str,
        Meta(
            description="The device's pseudonym of this period, 16 bytes of base64url.",
            extra_json_schema={"pattern": "^[A-Za-z0-9_-]{21}[AQgw]$"},
        ),
    ]
    reports: Annotated[list[R], Meta(max_length=MAX_REPORTS)]
    segment: Annotated[str | None, Meta(description="One of the survey's segments.")] = None


class Request(_Request[Report], forbid_unknown_fields=True):
    """One device's reports of one period."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """A request that was understood; a report of the wrong form is None."""

    survey: str
    period: Period
    segment: str | None
    device: bytes
    reports: list[Report | None] | list[Report]


ENCODINGS = {"Accept-Encoding": "gzip, identity"}

_strict = msgspec.json.Decoder(Request)
_lenient = msgspec.json.Decoder(_Request[msgspec.Raw])
_report = msgspec.json.Decoder(Report)
_period = lru_cache(maxsize=1024)(parse_period)
_FIELD = re.compile(r"\$\.(survey|period|segment|device|reports)")
_MISSING = re.compile(r"missing required field `(survey|period|device|reports)`")


def check_content_type(content_type: str) -> None:
    """Refuse anything but JSON.

    Raises
    ------
    HTTPProblem
        415.
    """
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise HTTPProblem(415, "content-type must be application/json")


def inflate(body: bytes, encoding: str) -> bytes:
    """Undo the content encoding, never making more than ``MAX_INFLATED`` bytes.

    Raises
    ------
    HTTPProblem
        415 for an encoding that is not spoken here, 400 for bytes that are not one whole gzip
        member, 413 for a body that is too large inflated.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise HTTPProblem(415, "content-encoding must be gzip or absent", ENCODINGS)
    stream = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        inflated = stream.decompress(body, MAX_INFLATED + 1)
    except zlib.error:
        raise HTTPProblem(400, "the body is not valid gzip") from None
    if len(inflated) > MAX_INFLATED:
        raise HTTPProblem(413, f"the body must be at most {MAX_INFLATED} bytes inflated")
    if not stream.eof or stream.unused_data:
        raise HTTPProblem(400, "the body must be exactly one gzip member")
    return inflated


def parse_envelope(body: bytes) -> Envelope:
    """Return the request of a JSON text.

    Raises
    ------
    HTTPProblem
        400 for bytes that are not JSON, 422 for JSON that is not such a request.
    """
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            raise HTTPProblem(400, "the body is not UTF-8") from None
    reports: list[Report | None] | list[Report]
    document: Request | _Request[msgspec.Raw]
    try:
        document = _strict.decode(body)
        reports = document.reports
    except (ValueError, RecursionError):
        document = _parse_leniently(body)
        reports = [_parse_report(raw) for raw in document.reports]
    try:
        period = _period(document.period)
        device = parse_device(document.device)
    except ParameterError as exc:
        raise HTTPProblem(422, str(exc)) from None
    return Envelope(document.survey, period, document.segment, device, reports)


def _parse_leniently(body: bytes) -> _Request[msgspec.Raw]:
    try:
        return _lenient.decode(body)
    except msgspec.ValidationError as exc:
        fault = _fault(str(exc))
    except (ValueError, RecursionError):
        fault = ""
    try:
        msgspec.json.decode(body, type=msgspec.Raw)
    except RecursionError:
        raise HTTPProblem(400, "the body is nested too deeply") from None
    except ValueError:
        fault = ""
    if fault:
        raise HTTPProblem(422, fault)
    raise HTTPProblem(400, "the body is not JSON")


def _parse_report(raw: msgspec.Raw) -> Report | None:
    try:
        return _report.decode(raw)
    except (ValueError, RecursionError):
        return None


def _fault(message: str) -> str:
    """Say which field is wrong, in words that hold nothing of the request."""
    if missing := _MISSING.search(message):
        return f"{missing[1]} is missing"
    if "of length" in message:
        return f"reports must be at most {MAX_REPORTS}"
    if field := _FIELD.search(message):
        kind = "a list" if field[1] == "reports" else "text"
        return f"{field[1]} must be {kind}"
    if "unknown field" in message:
        return "the request must have only survey, period, segment, device and reports"
    return "the body must be a JSON object"
