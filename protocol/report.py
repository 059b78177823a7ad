"""The documents that travel from a device to a collector, and the words of the reply.

What must never change: the field names, the 22-character device name, and that a request names
one survey, one period and one device.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from .errors import ParameterError, ReportError
from .response import Wire, decode_base64url

CODES: Final[Mapping[str, str]] = {
    "unknown_question": "the survey has no such question",
    "wrong_version": "the question was never loaded in that version",
    "wrong_hash": "the question's definition differs from the collector's",
    "bad_response": "the report is malformed",
    "wrong_period": "the question is not asked by that kind of period",
    "period_closed": "the period's grace has passed",
    "period_future": "the period has not begun",
    "expired": "the question was no longer asked then",
    "segment": "the survey has no such segment",
    "sealing_key": "the report is sealed for a key that is not in use",
}
"""Why one report of a request is refused. Only ``period_future`` is worth sending again."""

RETRY_CODES: Final = frozenset({"period_future"})

DEVICE_BYTES: Final = 16
DEVICE_CHARACTERS: Final = 22


def device_name(pseudonym: bytes) -> str:
    """Return the wire form of a pseudonym of 16 bytes."""
    return base64.urlsafe_b64encode(pseudonym).rstrip(b"=").decode()


def parse_device(text: str) -> bytes:
    """Return the pseudonym of a device name.

    Raises
    ------
    ParameterError
        If it is not the one 22-character form of 16 bytes. The message never contains it.
    """
    try:
        pseudonym = decode_base64url(text) if len(text) == DEVICE_CHARACTERS else b""
    except ReportError:
        pseudonym = b""
    if len(pseudonym) != DEVICE_BYTES:
        raise ParameterError(
            f"device must be {DEVICE_BYTES} bytes in base64url without padding"
            f" ({DEVICE_CHARACTERS} characters, the last A, Q, g or w)"
        )
    return pseudonym


def report_document(question: str, version: int, wire_hash: str, response: Wire) -> dict[str, Any]:
    """Return one report as JSON: which question, under which hash, and the packed response."""
    return {"question": question, "version": version, "hash": wire_hash, "response": response}


def request_document(
    survey: str,
    period: str,
    segment: str | None,
    device: str,
    reports: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return the body of ``POST /v1/reports``."""
    envelope: dict[str, Any] = {"survey": survey, "period": period}
    if segment is not None:
        envelope["segment"] = segment
    return {**envelope, "device": device, "reports": list(reports)}
