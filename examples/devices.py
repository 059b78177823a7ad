"""The people and their devices: each a client with a store and a secret of its own."""

from __future__ import annotations

import csv
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple, Protocol

import click

from deniable.client import Client
from deniable.protocol.survey import Survey, load_survey

PEOPLE = Path(__file__).resolve().parent / "rand_hie.csv"
WORKERS = 4  # more than cores: a device mostly waits for the collector's commit
MEMORY = Path("/dev/shm")  # noqa: S108
CHUNK = 50
ATTEMPTS = 4

Answers = dict[str, bool | str | int | list[str] | dict[str, str]]

FORMS: Sequence[Callable[[str], str]] = (str, str.title, " {} ".format, str.upper)
"""How people write the same word."""


class Live(Protocol):
    """Be one device: answer and send; return how many reports arrived, and at which attempt."""

    def __call__(
        self, survey: Survey, answers: Answers, store: Path, urls: Iterable[str]
    ) -> tuple[int, int]: ...


class Chunk(NamedTuple):
    """Some people whose devices one process is, one after the other."""

    live: Live
    first: int
    rows: Sequence[Answers]
    survey: Path
    urls: Sequence[str]
    folder: Path


class Arrived(NamedTuple):
    """How many reports arrived, and how many devices had to ask another collector."""

    reports: int = 0
    moved: int = 0


_loaded = cache(load_survey)


def people(limit: int | None) -> list[Answers]:
    """Read the population: one row, one device."""
    with PEOPLE.open(newline="") as file:
        read = islice(csv.DictReader(file), limit)
        return [
            answers(row["limitation"] == "1", row["health"], int(row["visits"]), number)
            for number, row in enumerate(read)
        ]


def answers(limitation: bool, health: str, visits: int, number: int) -> Answers:
    """Return what one person answers to every question of the demo's surveys."""
    holds = {
        "limited": limitation,
        "in fair or poor health": health in ("fair", "poor"),
        "saw a doctor": visits > 0,
        "saw one five times": visits >= 5,
    }
    return {
        "limitation": limitation,
        "health": health,
        "visits": visits,
        "both": {"limitation": "yes" if limitation else "no", "health": health},
        "conditions": [condition for condition, true in holds.items() if true],
        "word": FORMS[number % len(FORMS)](health),
    }


def device_folder() -> Path | None:
    """Where 20 190 stores come and go: in memory if the system has such a place, else None."""
    return MEMORY if os.access(MEMORY, os.W_OK) else None


def answer_all(
    rows: Sequence[Answers],
    survey: Path,
    urls: Sequence[str],
    folder: Path,
    halfway: Callable[[], None],
    live: Live | None = None,
) -> Arrived:
    """Run every device, spread over the collectors; tell when half of them are done."""
    chunks = [
        Chunk(live or be_device, start, rows[start : start + CHUNK], survey, urls, folder)
        for start in range(0, len(rows), CHUNK)
    ]
    reports = moved = 0
    with (
        multiprocessing.get_context("spawn").Pool(WORKERS, _ignore_interrupts) as pool,
        click.progressbar(length=len(rows), label="devices answering", file=sys.stderr) as bar,
    ):
        for number, arrived in enumerate(pool.imap(be_devices, chunks)):
            reports += arrived.reports
            moved += arrived.moved
            bar.update(len(chunks[number].rows))
            if number == len(chunks) // 2:
                halfway()
    return Arrived(reports, moved)


def _ignore_interrupts() -> None:
    """Leave it to the demo to end its processes at Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def be_devices(chunk: Chunk) -> Arrived:
    """Let each person's device answer."""
    survey = _loaded(chunk.survey)
    reports = moved = 0
    for number, answers in enumerate(chunk.rows, start=chunk.first):
        store = chunk.folder / f"device-{number}.db"
        urls = islice(cycle(chunk.urls), number, None)
        sent, attempts = chunk.live(survey, answers, store, urls)
        reports += sent
        moved += attempts > 1
        for leftover in chunk.folder.glob(f"device-{number}.db*"):
            leftover.unlink()
    return Arrived(reports, moved)


def be_device(
    survey: Survey, answers: Answers, store: Path, urls: Iterable[str]
) -> tuple[int, int]:
    """Answer and send until all has arrived; return how many reports did, and at which attempt.

    An app knows one address, and a load balancer behind it leads each attempt to another replica;
    here the device does that itself.
    """
    sent = attempt = 0
    for url in islice(urls, ATTEMPTS):
        attempt += 1
        with Client(
            survey, url, store=store, consent="on", strict=True, _environ={}
        ) as client:  # other people's devices: this machine's environment is not theirs
            if attempt == 1:
                client.record_many({name: answers[name] for name in survey.questions})
            flushed = client.flush(force=True)
        sent += flushed.sent
        if not flushed.kept:
            break
    return sent, attempt
