"""What would be sent next, as it would travel, by the code that sends it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from deniable.protocol.question import canonical_json

from ..bodies import bodies, device_of, grouped
from ..database import Database
from ..pending import Queue
from ..store import Store
from .asked import printable
from .portrait import moment_text, summarized, surveys
from .words import status_text


def forecast(store: Store, db: Database) -> dict[str, Any]:
    """Return every request that waits: its bytes, its body, and when it may leave, if ever."""
    summary = summarized(store, db)
    secret = store.device().secret
    requests: list[dict[str, Any]] = []
    if secret is not None:
        for survey in surveys(store):
            requests += _requests(Queue(db, survey), secret, survey)
    _, resume = store.uploads()
    for request in requests:
        if request["leaves"] is not None and resume is not None:
            request["leaves"] = max(request["leaves"], resume)
    requests.sort(key=lambda request: (request["leaves"] is None, request["leaves"] or 0))
    for request in requests:
        for name in ("leaves", "closes"):
            request[name] = request[name] and request[name].isoformat()
    return {**summary, "requests": requests}


def forecast_text(found: Mapping[str, Any], now: datetime) -> str:
    """Return a forecast in words, with each body as it travels."""
    lines = [status_text(found)]
    if "requests" in found and not found["requests"]:
        lines.append("  nothing waits to be sent")
    for request in found.get("requests", ()):
        lines.append(f"  {request['bytes']} bytes, {_when(request, found, now)}:")
        lines.append(f"    {printable(canonical_json(request['body']))}")
    return "\n".join(lines)


def _requests(queue: Queue, secret: bytes, survey: str) -> Iterator[dict[str, Any]]:
    import gzip

    waiting = queue.everything()
    for local in (False, True):
        for group, reports in grouped(r for r in waiting if r.local == local).items():
            device = device_of(secret, survey, group)
            for carried, body in bodies(survey, group[0], device, reports):
                windows = [queue.window(report) for report in carried]
                yield {
                    "leaves": None if local else min(leaves for leaves, _ in windows),
                    "closes": max(closes for _, closes in windows),
                    "bytes": len(body),
                    "body": json.loads(gzip.decompress(body)),
                }


def _when(request: Mapping[str, Any], found: Mapping[str, Any], now: datetime) -> str:
    """Say when a request may leave, or why it does not."""
    if request["leaves"] is None:
        return "never, for it was recorded before a yes"
    if found["state"] == "silent":
        return "not while its app is silent"
    leaves, closes = (datetime.fromisoformat(request[name]) for name in ("leaves", "closes"))
    if closes <= now:
        return f"never, for its period was closed on {moment_text(closes)}"
    begins = "at once, when its app runs" if leaves <= now else f"from {moment_text(leaves)}"
    return f"{begins}, until {moment_text(closes)}"
