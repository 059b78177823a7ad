"""The whole path on real data: 20 190 devices, one collector, the estimates beside the truth.

Everything here is what a user would run: the client library in worker processes, the collector's
and the analyst's commands as processes of their own, HTTP between them.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any

import click
from tabulate import tabulate

from deniable.client import Client
from deniable.protocol.periods import period_at
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey, load_survey

HERE = Path(__file__).resolve().parent
SURVEY = HERE / "demo_survey.toml"
PEOPLE = HERE / "rand_hie.csv"
WORKERS = 4  # more than cores: a device mostly waits for the collector's commit
MEMORY = Path("/dev/shm")  # noqa: S108
CHUNK = 50
QUIET_BEFORE_PERIOD_END = timedelta(minutes=4)
LIMIT_IN_STANDARD_ERRORS = 6.0

Answers = dict[str, bool | str | int]
Chunk = tuple[int, list[Answers], str, Path]

_survey: Survey | None = None


def people(limit: int | None) -> list[Answers]:
    """Read the population: one row, one device."""
    with PEOPLE.open(newline="") as file:
        rows = [
            {
                "limitation": row["limitation"] == "1",
                "health": row["health"],
                "visits": int(row["visits"]),
            }
            for row in csv.DictReader(file)
        ]
    return rows[:limit]


def be_devices(chunk: Chunk) -> int:
    """Let each person's device answer, and return how many reports the collector took."""
    global _survey
    first, rows, url, folder = chunk
    _survey = _survey or load_survey(SURVEY)
    sent = 0
    for number, answers in enumerate(rows, start=first):
        store = folder / f"device-{number}.db"
        with Client(_survey, url, store=store, consent="on", strict=True) as client:
            for question, value in answers.items():
                client.record(question, value)
            sent += client.flush(force=True).sent
        for leftover in folder.glob(f"device-{number}.db*"):
            leftover.unlink()
    return sent


def command(name: str, *arguments: str | Path) -> list[str]:
    """Return the command line of one of deniable's console scripts in this environment."""
    return [str(Path(sys.executable).with_name(name)), *map(str, arguments)]


def run(name: str, *arguments: str | Path) -> str:
    """Run a command to its end and return what it printed; its failure is the demo's."""
    click.echo(f"$ {name} {' '.join(map(str, arguments))}")
    done = subprocess.run(command(name, *arguments), text=True, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"demo: {name} ended with status {done.returncode}")
    return done.stdout


@contextlib.contextmanager
def collector(store: Path) -> Iterator[str]:
    """Serve the survey on a free port, yield its URL, and stop it in good order."""
    serve = command("deniable-collector", "serve", "--survey", SURVEY, "--store", store)
    with subprocess.Popen([*serve, "--port", "0"], text=True, stdout=subprocess.PIPE) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if "http://" not in line:
                sys.exit("demo: the collector did not start")
            click.echo(line.strip())
            yield line[line.index("http://") :].split()[0]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def answer_all(rows: Sequence[Answers], url: str, folder: Path) -> int:
    """Run every device and return how many reports arrived."""
    chunks: list[Chunk] = [
        (start, list(rows[start : start + CHUNK]), url, folder)
        for start in range(0, len(rows), CHUNK)
    ]
    arrived = 0
    with (
        multiprocessing.get_context("spawn").Pool(WORKERS) as pool,
        click.progressbar(length=len(rows), label="devices answering", file=sys.stderr) as bar,
    ):
        for chunk, sent in zip(chunks, pool.imap(be_devices, chunks), strict=True):
            arrived += sent
            bar.update(len(chunk[1]))
    return arrived


def beside_the_truth(question: Question, estimate: dict[str, Any], rows: list[Answers]) -> float:
    """Print one question's estimates beside the truth; return the worst error in SEs."""
    found = shares if question.range is None else statistics
    table, worst = [], 0.0
    for shown, true, item, estimated in found(question, estimate, rows):
        error, off = item["standard_error"], None
        if error is not None:
            off = (estimated - true) / error
            worst = max(worst, abs(off))
        interval = f"{item['low']:.4f} … {item['high']:.4f}"
        table.append([question.id, shown, true, estimated, error, interval, off])
    headers = ["question", "value", "truth", "estimate", "SE", "95 % interval", "off by (SE)"]
    click.echo(tabulate(table, headers=headers, floatfmt=("", "", ".4f", ".4f", ".4f", "", "+.2f")))
    click.echo()
    return worst


Line = tuple[str, float, dict[str, Any], float]


def shares(question: Question, estimate: dict[str, Any], rows: list[Answers]) -> Iterator[Line]:
    """Yield each value, its true share, its estimate and the share estimated."""
    truth = Counter(row[question.id] for row in rows)
    for item in estimate["estimates"]:
        shown = "yes" if item["value"] is True else item["value"]
        yield shown, truth[item["value"]] / len(rows), item, item["frequency"]


def statistics(question: Question, estimate: dict[str, Any], rows: list[Answers]) -> Iterator[Line]:
    """Yield the mean and the quantiles of a number as devices clip it to its range."""
    if question.range is None:
        return
    low, high = float(question.range.low), float(question.range.high)
    numbers = sorted(min(max(float(row[question.id]), low), high) for row in rows)
    for item in estimate["statistics"]:
        if item["statistic"] == "mean":
            yield "mean", fmean(numbers), item, item["estimate"]
        else:
            place = math.ceil(item["level"] * len(numbers)) - 1
            yield f"{item['level']:g} quantile", numbers[place], item, item["estimate"]


def device_folder() -> Path | None:
    """Where 20 190 stores come and go: in memory if the system has such a place, else None."""
    return MEMORY if os.access(MEMORY, os.W_OK) else None


def closing(survey: Survey) -> datetime:
    """Return the moment at which every question's present period has closed."""
    now = datetime.now(UTC)
    return max(q.closes(period_at(q.period, now)) for q in survey.questions.values())


def wait_out_period_end(survey: Survey) -> None:
    """Begin after a period's end rather than let it cut the population in two."""
    kinds = {question.period for question in survey.questions.values()}
    for kind in kinds:
        left = period_at(kind, datetime.now(UTC)).end - datetime.now(UTC)
        if left < QUIET_BEFORE_PERIOD_END:
            click.echo(f"the {kind} ends in {left.seconds} s; waiting for the next one")
            time.sleep(left.total_seconds() + 1)


def main() -> int:
    """Run the demo and return its exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, help="only the first so many people")
    rows = people(parser.parse_args().devices)
    survey = load_survey(SURVEY)
    wait_out_period_end(survey)
    begin = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="deniable-demo-") as name,
        tempfile.TemporaryDirectory(prefix="deniable-devices-", dir=device_folder()) as devices,
    ):
        store = Path(name) / "collector.db"
        with collector(store) as url:
            arrived = answer_all(rows, url, Path(devices))
        expected = len(rows) * len(survey.questions)
        click.echo(f"{arrived} of {expected} reports arrived in {time.monotonic() - begin:.0f} s")
        as_of = f"{closing(survey):%Y-%m-%dT%H:%M:%SZ}"
        click.echo(
            run("deniable-collector", "release", "--store", store, "--as-of", as_of, "--yes")
        )
        worst = 0.0
        for name, question in survey.questions.items():
            printed = run("deniable", "estimate", name, "--from", store, "--format", "json")
            worst = max(worst, beside_the_truth(question, json.loads(printed), rows))
    print_costs(survey)
    if arrived != expected or worst > LIMIT_IN_STANDARD_ERRORS:
        click.echo(f"demo: {arrived} of {expected} reports, worst estimate {worst:.1f} SEs off")
        return 1
    click.echo(f"every estimate is within {worst:.1f} standard errors of the truth")
    return 0


def print_costs(survey: Survey) -> None:
    """Print how many users each question needs, and what a year of it costs."""
    for question in survey.questions.values():
        mechanism = question.mechanism
        flags = ["--epsilon", f"{question.epsilon}", "--values", str(mechanism.k)]
        flags += ["--mechanism", mechanism.name]
        if question.epsilon_first is not None:
            flags += ["--epsilon-first", f"{question.epsilon_first}"]
        click.echo(run("deniable", "users-needed", *flags, "--margin", "0.01"))
        click.echo(run("deniable", "total-epsilon", *flags, "--days", "52"))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
