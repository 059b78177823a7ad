"""What the client costs an app: time to import and start, memory, time of an answer, bytes sent.

    python -P benchmarks/client.py [--folder FOLDER] [--rounds N] [--only SECTION]

Beside it, in the same run, posthog and sentry-sdk from PyPI, if they are installed; they put events
into a queue in memory and send them in the background, where the client returns when a report is
on the disk. FOLDER is where the stores are made: a durable answer costs what that file system's
fsync costs. Everything is measured in fresh processes that have their turn in every round; medians
are given, and what counts are the ratios of one run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE)]

from embedding import calls, surveys, wire  # noqa: E402
from embedding.processes import Interpreters, missing  # noqa: E402

ROLES = {**calls.ROLES, **wire.ROLES}
Lines = Iterator[tuple[str, str, str]]
"""What, how much, and beside what."""

IMPORT = "from deniable.client import Client"
START = (
    IMPORT + "\nclient = Client({survey!r}, 'http://127.0.0.1:9', {store!r} + "
    "__import__('os').urandom(8).hex(), strict=True)"
)
ANSWERED = """
from deniable.protocol.survey import load_survey
for question in load_survey({survey!r}).questions.values():
    client.record(question.id, question.values[1])"""
POSTHOG = "from posthog import Posthog\nclient = Posthog('phc_bench', host='http://127.0.0.1:9')"
SENTRY = "import sentry_sdk\nsentry_sdk.init('http://key@127.0.0.1:9/1')"
LEAVE = "\nimport os, sys\nsys.stdout.flush()\nos._exit(0)"


class Bench:
    """One run: its folder, its interpreters, which peers there are."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self.folder = folder
        self.rounds = rounds
        self.interpreters = Interpreters(folder)
        self.missing = missing()
        self.surveys = {
            f"{questions} questions, {form}": str(surveys.write(folder, questions, form))
            for questions in (10, 50)
            for form in ("json", "toml")
        }

    def peers(self) -> dict[str, str]:
        """The programs that start the peers that are installed."""
        programs = {"posthog": POSTHOG, "sentry-sdk": SENTRY}
        return {name: text for name, text in programs.items() if name not in self.missing}

    def started(self, survey: str) -> str:
        """A program that starts a client with a new store."""
        return START.format(survey=survey, store=str(self.folder / "store-"))

    def role(self, *arguments: str) -> str:
        """What a process that this program starts anew prints."""
        return self.interpreters.run(str(Path(__file__).resolve()), "--as", *arguments)


def start(bench: Bench) -> Lines:
    """Processor time to import and to start, over that of bare Python."""
    programs = {"bare": "pass", "import deniable.client": IMPORT}
    programs |= {
        f"the same, and a Client: {name}": bench.started(survey)
        for name, survey in bench.surveys.items()
    }
    programs |= {
        f"{name}, import and client": f"{text}{LEAVE}" for name, text in bench.peers().items()
    }
    programs["for comparison: import requests"] = "import requests"
    taken = bench.interpreters.seconds(programs, bench.rounds)
    bare = taken.pop("bare")
    for name, seconds in taken.items():
        beside = f"{seconds / bare:.1f} x bare Python ({1e3 * bare:.0f} ms)"
        yield name, f"+{1e3 * (seconds - bare):.1f} ms", beside


def memory(bench: Bench) -> Lines:
    """Memory before the first upload, over that of bare Python."""
    programs = {"import deniable.client": IMPORT}
    programs |= {
        f"Client and records: {name}": bench.started(survey) + ANSWERED.format(survey=survey)
        for name, survey in bench.surveys.items()
    }
    programs |= bench.peers()
    programs["for comparison: import requests"] = "import requests"
    bare = bench.interpreters.memory("pass")
    for name, program in programs.items():
        resident, own = bench.interpreters.memory(program)
        beside = f"{own - bare[1]:.1f} MB without pages of files, which processes share"
        yield f"memory, {name}", f"+{resident - bare[0]:.1f} MB", beside


def times(bench: Bench) -> Lines:
    """Time of one call."""
    found: calls.Times = {}
    survey = str(surveys.write(bench.folder, 150, "json"))
    with wire.counter() as server:
        for _ in range(max(2, bench.rounds // 3)):
            roles = [("ours", survey, str(bench.folder)), ("posthog", server.url)]
            for role, *arguments in [*roles, ("sentry", server.url)]:
                if calls.PEERS.get(role) not in bench.missing:
                    for kind, seconds in json.loads(bench.role(role, *arguments)).items():
                        found.setdefault(kind, []).extend(seconds)
    for kind, words in calls.KINDS.items():
        if kind in found:
            high = quantiles(found[kind], n=100)[-1]
            yield words, _time(median(found[kind])), f"99 %: {_time(high)}"
    for kind in ("later", "period"):
        for peer in ("capture", "capture_message"):
            if peer in found:
                ratio = median(found[kind]) / median(found[peer])
                yield f"{calls.KINDS[kind]} / {peer}()", f"{ratio:.2f}", "ratio of the medians"


def sent(bench: Bench) -> Lines:
    """Bytes of requests."""
    with wire.counter() as server:
        for count in (1, 10, 50):
            survey = str(surveys.write(bench.folder, count, "json"))
            store = str(bench.folder / f"sent-{count}")
            bench.role("send-ours", server.url, survey, store)
            yield _sent(f"deniable, {count} questions", count, server.take())
            for peer in ("posthog", "sentry"):
                if calls.PEERS[peer] not in bench.missing:
                    bench.role(f"send-{peer}", server.url, str(count))
                    yield _sent(f"{calls.PEERS[peer]}, {count} events", count, server.take())


def _sent(words: str, count: int, taken: tuple[int, int, int]) -> tuple[str, str, str]:
    requests, whole, bodies = taken
    each = f"{whole / count:.0f} B each"
    return words, each, f"{requests} requests, {whole} B, of which bodies {bodies} B"


def _time(seconds: float) -> str:
    return f"{1e3 * seconds:.2f} ms" if seconds >= 1e-4 else f"{1e6 * seconds:.1f} us"


SECTIONS = {"start": start, "memory": memory, "calls": times, "wire": sent}


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--as"]:  # a process that the sections above start
        ROLES[sys.argv[2]](*sys.argv[3:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", help="where stores are made; default: for temporary files")
    parser.add_argument("--rounds", type=int, default=15, help="default: 15")
    parser.add_argument("--only", choices=SECTIONS, help="one section")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        bench = Bench(Path(folder), options.rounds)
        print(f"Python {sys.version.split()[0]}, stores in {Path(folder).parent}")
        if bench.missing:
            print(f"Not measured: {', '.join(bench.missing)}; pip install 'deniable[bench]'")
        for name in [options.only] if options.only else SECTIONS:
            print()
            for what, figure, beside in SECTIONS[name](bench):
                print(f"{what:<58} {figure:>11}   {beside}", flush=True)


if __name__ == "__main__":
    main()
