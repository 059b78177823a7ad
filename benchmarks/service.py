"""What a durable report costs: SQLite and PostgreSQL beside the same server's parse-only endpoint.

Three sections. ``rates``: requests of 10 reports, each from another device, over 16, 64 and 256
connections; every server is loaded in turn with plain and sealed requests, durable and parsed only,
round after round, and medians are compared. ``release``: time and memory to release a million
devices, and what a device takes in the ledger. ``memory``: of a serve, over a million reports.
Everything is on the disk of ``--folder``, which should be a real one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from serving import crowds, servers  # noqa: E402
from serving.load import Answers, drive  # noqa: E402
from serving.servers import PARSE_ONLY, SURVEYS, Running  # noqa: E402
from serving.traffic import QUESTIONS, Requests, make_survey  # noqa: E402

AIMED = 64
"""The connections that the aims are for."""

AIMS = {"SQLite": 0.45, "PostgreSQL": 0.35}
AIM_P99 = 150.0
AIM_GROWTH = 5.0


@dataclass
class Rounds:
    """What was measured of one server with one kind of request."""

    store: str
    kind: str
    processes: list[Running]
    parsed: list[float] = field(default_factory=list)
    durable: list[Answers] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)

    def measure(self, connections: int, seconds: float) -> None:
        """Measure one round."""
        ports = [process.port for process in self.processes]
        survey = make_survey(self.kind)
        parsed = drive(ports, Requests(survey, PARSE_ONLY), connections, seconds=seconds)
        before = sum(process.processor_seconds() for process in self.processes)
        durable = drive(ports, Requests(survey, "/v1/reports"), connections, seconds=seconds)
        spent = sum(process.processor_seconds() for process in self.processes) - before
        self.parsed.append(parsed.rate)
        self.durable.append(durable)
        self.busy.append(1000 * spent / durable.count)

    @property
    def ratio(self) -> float:
        """The share of parse-only, in the middle round."""
        pairs = zip(self.durable, self.parsed, strict=True)
        return statistics.median(durable.rate / parsed for durable, parsed in pairs)

    def p(self, name: str) -> float:
        """A latency, in the middle round."""
        return statistics.median(getattr(answers, name) for answers in self.durable)

    def line(self) -> str:
        """Return what the table says."""
        name = self.store + (" ×2" if len(self.processes) > 1 else "")
        return (
            f"{name:<14}{self.kind:<8}{statistics.median(self.parsed):9.0f}{self.p('rate'):9.0f}"
            f"{self.ratio:7.2f}{self.p('p50'):8.0f}{self.p('p99'):8.0f}"
            f"{statistics.median(self.busy):9.2f}"
        )


def measure_rates(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Compare durable requests with those that are only parsed; yield what became of the aims."""
    with ExitStack() as stack:
        postgres = stack.enter_context(servers.postgres())
        shared = postgres.fresh_database()
        urls = {"SQLite": [str(folder / "rates.db")]}
        urls |= {"PostgreSQL": [shared], "PostgreSQL ×2": [postgres.fresh_database()] * 2}
        started = {
            name: [stack.enter_context(servers.running(url, folder / name)) for url in each]
            for name, each in urls.items()
        }
        for connections in options.connections:
            table = [
                Rounds(name.removesuffix(" ×2"), kind, processes)
                for name, processes in started.items()
                for kind in SURVEYS
            ]
            for _ in range(options.rounds):
                for rounds in table:
                    rounds.measure(connections, options.seconds)
            head = f"{connections} connections"
            print(f"\n{head:<22}{'parsed/s':>9}{'durable/s':>9}{'ratio':>7}{'p50 ms':>8}"
                  f"{'p99 ms':>8}{'cpu ms':>9}")  # fmt: skip
            for rounds in table:
                print(rounds.line(), flush=True)
            yield from _judged(table, connections)


def _judged(table: list[Rounds], connections: int) -> Iterator[str]:
    for rounds in table:
        name = f"{rounds.store}, {len(rounds.processes)} × {rounds.kind}, {connections} connections"
        if connections == AIMED and len(rounds.processes) == 1:
            aim = AIMS[rounds.store]
            yield _verdict(rounds.ratio >= aim, f"{name}: {rounds.ratio:.2f} of parse-only", f"{aim}")
        p99 = rounds.p("p99")
        yield _verdict(p99 < AIM_P99, f"{name}: p99 {p99:.0f} ms", f"under {AIM_P99:.0f}")


def _verdict(reached: bool, found: str, aim: str) -> str:
    return f"{'reached' if reached else 'MISSED '}  {found} (aim: {aim})"


def measure_release(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Release crowds from both stores."""
    million = 20_000 if options.quick else 1_000_000
    print(f"\n{'release':<34}{'seconds':>9}{'sweep s':>9}{'peak MiB':>9}{'ledger bytes/device':>21}")
    crowd = [("plain", million, QUESTIONS), ("sealed", million // 10, 1), ("sealed", million, 1)]
    with servers.postgres() as postgres:
        for name, devices, questions in crowd:
            for store in AIMS:
                place = folder / f"{store}-{name}-{devices}.db"
                url, size = str(place), lambda place=place: place.stat().st_size
                if store == "PostgreSQL":
                    url = postgres.fresh_database()
                    size = lambda url=url: _ledger_bytes(url)  # noqa: E731
                done = crowds.measure(url, place.with_suffix(".keys"), name, devices, questions, size)
                ledger = f"{done.ledger:21.0f}" if name == "plain" else ""
                head = f"{store} {name} {devices:,} × {questions}"
                print(f"{head:<34}{done.seconds:9.2f}{done.sweep:9.2f}{done.memory:9.0f}{ledger}",
                      flush=True)  # fmt: skip
    yield from ()


def _ledger_bytes(url: str) -> int:
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_total_relation_size('deniable.ledger')").fetchone()
    return int(row[0]) if row else 0


def measure_memory(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Watch the memory of a collector over a million reports."""
    requests = 5_000 if options.quick else 100_000
    with ExitStack() as stack:
        postgres = stack.enter_context(servers.postgres())
        for store, url in (("SQLite", str(folder / "memory.db")), ("PostgreSQL", "")):
            place = url or postgres.fresh_database()
            process = stack.enter_context(servers.running(place, folder / f"memory-{store}"))
            load = Requests(make_survey("plain"), "/v1/reports")
            found = []
            for part in range(5):
                drive([process.port], load, AIMED, count=requests // 5)
                found.append(process.memory())
            growth = found[-1] - found[0]
            text = ", ".join(f"{mib:.0f}" for mib in found)
            print(f"\n{store}: MiB after each fifth of {requests * QUESTIONS:,} reports: {text}")
            verdict = growth < AIM_GROWTH
            yield _verdict(verdict, f"{store}: memory grew by {growth:.1f} MiB", f"{AIM_GROWTH:.0f}")


SECTIONS = {"rates": measure_rates, "release": measure_release, "memory": measure_memory}
ROLES = {"server": servers.serve, "fill": crowds.fill, "release": crowds.release}


def main() -> None:
    """Measure and print."""
