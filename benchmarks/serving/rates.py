"""Durable requests beside requests that the same server only parses."""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from .load import Answers, drive
from .servers import PARSE_ONLY, SURVEYS, Running, postgres, running
from .traffic import Requests, make_survey
from .verdicts import verdict

AIMED = 64
"""The connections that the shares below are for."""

AIMS = {"SQLite": 0.45, "PostgreSQL": 0.35}
AIM_P99 = 150.0


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


def measure(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Compare durable requests with those that are only parsed; yield what became of the aims."""
    with ExitStack() as stack:
        server = stack.enter_context(postgres())
        shared = server.fresh_database()
        urls = {"SQLite": [str(folder / "rates.db")]}
        urls |= {"PostgreSQL": [shared], "PostgreSQL ×2": [server.fresh_database()] * 2}
        started = {
            name: [stack.enter_context(running(url, folder / name)) for url in each]
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
            yield verdict(
                rounds.ratio >= aim, f"{name}: {rounds.ratio:.2f} of parse-only", f"{aim}"
            )
        p99 = rounds.p("p99")
        yield verdict(p99 < AIM_P99, f"{name}: p99 {p99:.0f} ms", f"under {AIM_P99:.0f}")
