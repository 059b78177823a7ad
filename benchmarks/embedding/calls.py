"""How long one call takes: of this client, and of peers that put events into a queue in memory.

Each runs in a process of its own, started by ../client.py with ``--as``; it prints the seconds of
every call as JSON and ends without the peers' flush at exit.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from deniable.client import Client
from deniable.protocol.survey import load_survey

from .surveys import answers

Times = dict[str, list[float]]

NOWHERE = "http://127.0.0.1:9"
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
EVENTS = 1000
MANY = 50
PERIODS = 3
"""New periods, as many as the first one stays open."""


def ours(survey: str, folder: str) -> None:
    """Time the client: new questions, known ones in new periods, and repeated answers.

    It sends nothing meanwhile: either nobody has said yes, or the day is not over.
    """
    asked = load_survey(survey)
    values = [*answers(asked).items()]
    now = NOON
    times: Times = {"period": [], "many": []}
    times["fsync"] = fsyncs(Path(folder) / "file", len(values))

    def client(name: str, consent: Literal["ask", "on"] = "ask") -> Client:
        path = Path(folder) / f"{os.getpid()}-{name}.db"
        return Client(asked, NOWHERE, path, consent, strict=True, _clock=lambda: now, _environ={})

    with client("waits") as waits:
        times["new"] = each(values, lambda answer: waits.record(*answer))
        for _ in range(PERIODS):
            now += timedelta(days=1)
            times["period"] += each(values, lambda answer: waits.record(*answer))
        expect(waits, (PERIODS + 1) * len(values))
        again = values * (EVENTS // len(values) + 1)
        times["undecided"] = each(again, lambda answer: waits.record(*answer))
    now = NOON
    with client("returns", "on") as returns:
        times["later"] = each(values, lambda answer: returns.record(*answer, wait=False))
        expect(returns, len(values))
        times["again"] = each(again, lambda answer: returns.record(*answer))
    with client("many") as many:
        batches = [values[start : start + MANY] for start in range(0, len(values), MANY)]
        for _ in range(PERIODS + 1):
            times["many"] += each(batches, many.record_many)
            now += timedelta(days=1)
        expect(many, (PERIODS + 1) * len(values))
    done(times)


def posthog(server: str) -> None:
    """Time posthog's ``capture``."""
    from posthog import Posthog

    client = Posthog("phc_bench", host=server)
    event: Any = {"distinct_id": "device", "properties": {"q1": "choice 1"}}
    done({"capture": each(range(EVENTS), lambda _: client.capture("answered", **event))})


def sentry(server: str) -> None:
    """Time sentry-sdk's ``capture_message`` and ``capture_event``."""
    import sentry_sdk

    sentry_sdk.init(dsn(server))
    event: Any = {"message": "answered", "level": "info", "tags": {"q1": "choice 1"}}
    messages = each(range(EVENTS), lambda _: sentry_sdk.capture_message("answered"))
    events = each(range(EVENTS), lambda _: sentry_sdk.capture_event(dict(event)))
    done({"capture_message": messages, "capture_event": events})


def dsn(server: str) -> str:
    """The address of a server as sentry-sdk wants it."""
    return f"{server.replace('//', '//key@')}/1"


def each(arguments: Iterable[Any], act: Callable[[Any], object]) -> list[float]:
    """Seconds of every call."""
    times = []
    for argument in arguments:
        begun = time.perf_counter()
        act(argument)
        times.append(time.perf_counter() - begun)
    return times


def fsyncs(file: Path, count: int) -> list[float]:
    """Seconds of the least that durable can mean: 4 KiB more in a file, and on the disk."""
    with file.open("wb", buffering=0) as out:

        def write(_: int) -> None:
            out.write(bytes(4096))
            os.fsync(out.fileno())

        return each(range(count), write)


def expect(client: Client, reports: int) -> None:
    """Refuse to give figures if the answers went nowhere."""
    status = client.status()
    if status.queued != reports or status.dropped:
        raise SystemExit(f"not every answer was kept, so the figures mean nothing: {status}")


def done(times: Times) -> None:
    """Print, and end at once."""
    print(json.dumps(times))
    sys.stdout.flush()
    os._exit(0)


KINDS = {
    "new": "record(), a new question, durable",
    "period": "record(), a known question in a new period, durable",
    "fsync": "for comparison: one fsync of 4 KiB more in a file",
    "many": f"record_many(), {MANY} answers, durable",
    "later": "record(wait=False), a new question",
    "again": "record(), already answered in this period",
    "undecided": "the same, while the person has not decided",
    "capture": "posthog capture(), into memory",
    "capture_message": "sentry-sdk capture_message(), into memory",
    "capture_event": "sentry-sdk capture_event(), into memory",
}
"""What is timed, in words."""

PEERS = {"posthog": "posthog", "sentry": "sentry-sdk"}
"""The peers' names by their roles."""

ROLES = {"ours": ours, "posthog": posthog, "sentry": sentry}
