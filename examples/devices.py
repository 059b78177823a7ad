"""The people and their devices: each a client with a store and a secret of its own."""

from __future__ import annotations

import csv
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import click

from deniable.client import Client
from deniable.protocol.survey import Survey, load_survey

PEOPLE = Path(__file__).resolve().parent / "rand_hie.csv"
WORKERS = 4  # more than cores: a device mostly waits for the collector's commit
MEMORY = Path("/dev/shm")  # noqa: S108
CHUNK = 50
ATTEMPTS = 4

Answers = dict[str, bool | str | int]


class Chunk(NamedTuple):
    """Some people whose devices one process is, one after the other."""

    first: int
    rows: Sequence[Answers]
    survey: Path
    urls: Sequence[str]
    folder: Path


class Arrived(NamedTuple):
    """How many reports arrived, and how many devices had to ask another collector."""

    reports: int = 0
    moved: int = 0


_survey: Survey | None = None


def people(limit: int | None) -> list[Answers]:
    """Read the population: one row, one device."""
    with PEOPLE.open(newline="") as file:
        rows: list[Answers] = [
            {
                "limitation": row["limitation"] == "1",
                "health": row["health"],
                "visits": int(row["visits"]),
            }
            for row in csv.DictReader(file)
        ]
    return rows[:limit]


def device_folder() -> Path | None:
    """Where 20 190 stores come and go: in memory if the system has such a place, else None."""
    return MEMORY if os.access(MEMORY, os.W_OK) else None


def answer_all(
    rows: Sequence[Answers],
    survey: Path,
    urls: Sequence[str],
    folder: Path,
    halfway: Callable[[], None],
) -> Arrived:
    """Run every device, spread over the collectors; tell when half of them are done."""
    chunks = [
        Chunk(start, rows[start : start + CHUNK], survey, urls, folder)
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
    global _survey
    _survey = _survey or load_survey(chunk.survey)
    reports = moved = 0
    for number, answers in enumerate(chunk.rows, start=chunk.first):
        store = chunk.folder / f"device-{number}.db"
        sent, attempts = be_device(_survey, answers, store, islice(cycle(chunk.urls), number, None))
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
                for question, value in answers.items():
                    client.record(question, value)
            flushed = client.flush(force=True)
        sent += flushed.sent
        if not flushed.kept:
            break
    return sent, attempt
