"""What a collector's reply means for the reports that were sent. No reply can do more than that.

A reply is untrusted: it may be a captive portal's page, a proxy's error or an attack. Anything
that does not account for exactly the reports of its request leaves them where they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from deniable.protocol.report import CODES, RETRY_CODES

_KEEP_STATUS = frozenset({408, 425, 429})
_PAUSE_STATUS = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: a status, a bounded body and one header; or nothing (status 0).

    ``failure`` says in words why there was nothing; it is empty if the client itself gave up.
    """

    status: int = 0
    body: bytes = b""
    retry_after: str | None = None
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with the reports of one request.

    Attributes
    ----------
    action : "settle", "keep", "pause" or "drop"
        "settle": every report was counted, but for those in ``refused`` and ``later``.
    reason : str
        Under which name dropped reports are counted.
    refused : dict
        Code by index of the reports that will never count.
    later : frozenset of int
        Indices of the reports worth sending again.
    not_before : datetime or None
        The earliest next attempt the collector asked for.
    """

    action: Literal["settle", "keep", "pause", "drop"]
    reason: str = ""
    refused: Mapping[int, str] = field(default_factory=dict)
    later: frozenset[int] = frozenset()
    not_before: datetime | None = None


def judge(reply: Reply, count: int, now: datetime) -> Verdict:
    """Return what a reply means for a request of ``count`` reports."""
    status = reply.status
    if 200 <= status < 300:
        return _settled(reply.body, count) or Verdict("keep")
    if status in _PAUSE_STATUS:
        return Verdict("pause")
    if 400 <= status < 500 and status not in _KEEP_STATUS:
        return Verdict("drop", reason=f"http_{status}")
    return Verdict("keep", not_before=retry_after(reply.retry_after, now))


def trouble(reply: Reply, verdict: Verdict) -> str:
    """Return in words why a reply settled nothing, without any word of the reply; else ""."""
    if verdict.action == "settle" or not reply.status:
        return reply.failure
    return "garbled reply" if 200 <= reply.status < 300 else f"HTTP {reply.status}"


def retry_after(header: str | None, now: datetime) -> datetime | None:
    """Return the moment a ``Retry-After`` names, in seconds or as a date; None if it is garbled."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        seconds = int(text) if len(text) <= 10 else 10**10  # three centuries
        return now + timedelta(seconds=seconds)
    if not text or len(text) > 64:
        return None
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment


def _settled(body: bytes, count: int) -> Verdict | None:
    """Read a reply to a stored request; None unless it accounts for every report once."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    accepted, duplicate = document.get("accepted"), document.get("duplicate")
    codes = _codes(document.get("rejected"), count)
    if type(accepted) is not int or type(duplicate) is not int or codes is None:
        return None
    if accepted < 0 or duplicate < 0 or accepted + duplicate + len(codes) != count:
        return None
    later = frozenset(index for index, code in codes.items() if code in RETRY_CODES)
    refused = {
        index: code if code in CODES else "rejected"
        for index, code in codes.items()
        if index not in later
    }
    return Verdict("settle", refused=refused, later=later)


def _codes(rejected: object, count: int) -> dict[int, str] | None:
    if not isinstance(rejected, list) or len(rejected) > count:
        return None
    codes: dict[int, str] = {}
    for entry in rejected:
        if not isinstance(entry, dict):
            return None
        index, code = entry.get("index"), entry.get("code")
        if type(index) is not int or not isinstance(code, str):
            return None
        if not 0 <= index < count or index in codes:
            return None
        codes[index] = code
    return codes
