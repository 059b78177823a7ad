"""What the client costs an app: time of an answer, time to import, memory.

    python -P benchmarks/client.py [FOLDER]

FOLDER is where the stores are made, by default the folder for temporary files: a durable answer
costs what that file system's fsync costs. Import times are of fresh processes, each beside a
bare one, so that both see the same machine; medians are given.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from statistics import median, quantiles

from deniable.client import Client
from deniable.protocol.survey import Survey, compile_survey, parse_survey

QUESTIONS = 150
PROCESSES = 15
NOWHERE = "http://127.0.0.1:9"

BARE = "pass"
IMPORT = "from deniable.client import Client"
START = f"{IMPORT}; Client({{survey!r}}, {NOWHERE!r}, {{store!r}}, strict=True).close()"
REQUESTS = "import requests"
RESIDENT = "print(next(x.split()[1] for x in open('/proc/self/status') if x[:5] == 'VmRSS'))"


def survey() -> Survey:
    """Questions of the common kinds: half yes/no, half with 16 choices; a second round in some."""
    choices = [f"choice {number}" for number in range(16)]
    questions = {}
    for number in range(QUESTIONS):
        asked = {"type": "choice", "choices": choices} if number % 2 else {"type": "boolean"}
        first = {"epsilon_first": Decimal("0.5")} if number % 4 > 1 else {}
        questions[f"q{number}"] = {
            "version": 1,
            "ask": "Is the dark theme on?",
            "epsilon": Decimal(1),
            "period": "day",
            "expires": date(2990, 1, 1),
            **asked,
            **first,
        }
    head = {"format": 1, "id": "bench", "max_epsilon": Decimal(QUESTIONS), "linkable": True}
    return parse_survey({"survey": head, "questions": questions})


def timed(act: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    begin = time.perf_counter()
    act()
    return time.perf_counter() - begin


def answers(asked: Survey, store: Path) -> dict[str, list[float]]:
    """Times of new answers, of new periods of known questions, and of repeated ones."""
    now = datetime(2026, 11, 30, 12, tzinfo=UTC)
    values = {name: question.values[1] for name, question in asked.questions.items()}
    times: dict[str, list[float]] = {"new": [], "period": [], "again": []}
    with Client(asked, NOWHERE, store, strict=True, _clock=lambda: now) as client:
        for kind in ("new", "period"):
            for name, value in values.items():
                times[kind].append(timed(lambda n=name, v=value: client.record(n, v)))
            now += timedelta(days=1)
        now -= timedelta(days=1)
        for _ in range(20):
            for name, value in values.items():
                times["again"].append(timed(lambda n=name, v=value: client.record(n, v)))
        if client.status().queued != 2 * QUESTIONS:
            raise SystemExit("not every answer was kept: the figures mean nothing")
    return times


def fsync(file: Path) -> list[float]:
    """Times of the least that durable can mean: 4 KiB more in a file, and on the disk."""
    times = []
    with file.open("wb", buffering=0) as out:
        for _ in range(QUESTIONS):
            out.write(bytes(4096))
            times.append(timed(lambda: os.fsync(out.fileno())))
    return times


def process(program: str) -> str:
    """What a fresh interpreter prints; it knows nothing of the caller's warnings or paths."""
    return subprocess.run(
        [sys.executable, "-P", "-c", program], check=True, capture_output=True, text=True
    ).stdout


def starts(programs: dict[str, Callable[[], str]]) -> dict[str, float]:
    """Median seconds of each program over several rounds in which each has its turn."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(PROCESSES):
        for name, program in programs.items():
            text = program()
            times[name].append(timed(lambda text=text: process(text)))
    return {name: median(taken) for name, taken in times.items()}


def resident(program: str) -> float:
    """MiB that a fresh interpreter holds after a program: the median of five, on Linux."""
    return median(int(process(f"{program}\n{RESIDENT}")) / 1024 for _ in range(5))


def report(asked: Survey, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Every figure: what, how much, and beside what."""
    least = fsync(folder / "file")
    times = answers(asked, folder / "answers.db")
    for kind, words in (
        ("new", "record(), a new question, durable"),
        ("period", "record(), a known question in a new period, durable"),
    ):
        high = quantiles(times[kind], n=20)[-1]
        yield words, f"{1e3 * median(times[kind]):.2f} ms", f"95 %: {1e3 * high:.2f} ms"
    yield (
        "for comparison: one fsync of 4 KiB more in a file",
        f"{1e3 * median(least):.2f} ms",
        f"95 %: {1e3 * quantiles(least, n=20)[-1]:.2f} ms",
    )
    high = quantiles(times["again"], n=20)[-1]
    yield (
        "record(), already answered in this period",
        f"{1e6 * median(times['again']):.1f} us",
        f"95 %: {1e6 * high:.1f} us",
    )
    path = folder / "survey.json"
    small = Survey(
        asked.id, asked.max_epsilon, (), "survey", True, dict(list(asked.questions.items())[:10])
    )
    path.write_text(compile_survey(small), encoding="utf-8")
    stores = (str(folder / f"{number}.db") for number in range(10_000))

    def start() -> str:
        return START.format(survey=str(path), store=next(stores))

    taken = starts(
        {"bare": lambda: BARE, "import": lambda: IMPORT, "start": start, "with": lambda: REQUESTS}
    )
    for name, words in (
        ("import", "import deniable.client"),
        ("start", "the same, a survey of 10 questions and a new store"),
        ("with", "for comparison: import requests"),
    ):
        extra, ratio = taken[name] - taken["bare"], taken[name] / taken["bare"]
        beside = f"{ratio:.1f} x bare Python ({1e3 * taken['bare']:.0f} ms)"
        yield words, f"+{1e3 * extra:.0f} ms", beside
    if Path("/proc/self/status").exists():
        bare = resident(BARE)
        for words, program in (
            ("memory: import deniable.client", IMPORT),
            ("memory: the same, with a survey and a store", start()),
            ("memory: for comparison, import requests", REQUESTS),
        ):
            yield words, f"+{resident(program) - bare:.1f} MiB", f"bare Python: {bare:.1f} MiB"


def main() -> None:
    where = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory(dir=where) as folder:
        print(f"Python {sys.version.split()[0]}, stores in {Path(folder).parent}")
        for what, figure, beside in report(survey(), Path(folder)):
            print(f"{what:<54} {figure:>10}   {beside}")


if __name__ == "__main__":
    main()
