"""Load for the tests: devices that retry until they are answered, and what they add up to."""

from __future__ import annotations

import http.client
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collector_kit import (
    FAR,
    PROGRAM,
    Server,
    exchange,
    make_survey,
    new_device,
    request_body,
    save,
)
from key_places import program as piped
from key_places import read_line, until, write_line

from deniable.collector.keys import open_keys
from deniable.collector.release import close_periods, destroy_keys
from deniable.collector.store import open_store
from deniable.protocol.survey import Survey
from deniable.protocol.tally import Tally, parse_tally

PATIENCE = 60.0
_PAUSE = 0.01
_PACE = 0.05

SURVEY = make_survey(
    {
        "yes": {"grace": 30},
        "bits": {"grace": 30, "type": "choice", "choices": list("abcde"), "mechanism": "oue"},
    }
)
"""One question of each shape."""


@contextmanager
def replicas(
    survey: Survey,
    folder: Path,
    count: int,
    url: str,
    *options: str,
    program: tuple[str, ...] = PROGRAM,
) -> Iterator[list[Server]]:
    """Collector processes that share a store, and are gone afterwards, whatever happens."""
    path = save(survey, folder / "survey.json")
    shared = ["--flood-limit", "100000 per minute", *options]
    servers = [
        Server([path], folder / f"{number}.db", [*shared], url=url, program=program)
        for number in range(count)
    ]
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(Server.start, servers))
        yield servers
    finally:
        for server in servers:
            if server.process is not None:
                server.process.kill()
                server.stop()


def stop_all(servers: Iterable[Server]) -> None:
    """Stop servers as an operator does."""
    for server in servers:
        assert server.stop() == 0


class Sender:
    """Sends one thread's requests, each to a server by chance, until one answers 200.

    Attributes
    ----------
    refusals : Counter
        How often each reason was given with a 503.
    retries : int
        How often a request was sent again, for that or because nobody answered.
    """

    def __init__(self, servers: Sequence[Server], rng: random.Random) -> None:
        self._servers = servers
        self._rng = rng
        self._connections: dict[int, http.client.HTTPConnection] = {}
        self.refusals: Counter[str] = Counter()
        self.retries = 0

    def send(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return what a request is answered at last."""
        give_up = time.monotonic() + PATIENCE
        while True:
            number = self._rng.randrange(len(self._servers))
            if number not in self._connections:
                self._connections[number] = self._servers[number].connect()
            try:
                reply = exchange(self._connections[number], "POST", "/v1/reports", body)
            except (OSError, http.client.HTTPException):
                self._connections.pop(number).close()
            else:
                if reply.status == 200:
                    outcome: dict[str, Any] = reply.json
                    return outcome
                assert reply.status == 503, (reply.status, reply.body)
                assert int(reply.headers["retry-after"]) >= 1
                self.refusals[reply.json["detail"]] += 1
            assert time.monotonic() < give_up, "never answered 200"
            self.retries += 1
            time.sleep(_PAUSE)

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


@dataclass
class Devices:
    """Threads of devices that answer every question of a period, until told to stop.

    Each request is retried until it is answered, and a fifth of those answered are sent again.
    With several periods, a thread goes on to the next one when it is refused as closed.

    Attributes
    ----------
    answered : dict
        By period, the requests that were accepted.
    refused : Counter
        By period, how many threads found it closed.
    again : int
        How many requests were sent again and found to be duplicates.
    faults : list of str
        What should not have happened.
    """

    survey: Survey
    servers: Sequence[Server]
    seed: int
    periods: Sequence[str]
    answered: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    again: int = 0
    faults: list[str] = field(default_factory=list)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _enough: threading.Event = field(default_factory=threading.Event)
    _going: threading.Event = field(default_factory=threading.Event)
    _slow: threading.Event = field(default_factory=threading.Event)
    _busy: int = 0
    _threads: list[threading.Thread] = field(default_factory=list)
    _senders: list[Sender] = field(default_factory=list)

    @contextmanager
    def sending(self, count: int) -> Iterator[None]:
        """Let threads send; at the end each goes on until its last request is answered."""
        self._threads = [
            threading.Thread(target=self._run, args=(number,), daemon=True)
            for number in range(count)
        ]
        self._going.set()
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._enough.set()
            self._going.set()
            self.join()

    def pause(self) -> None:
        """Let nothing be under way until :meth:`resume`."""
        self._going.clear()
        with self._changed:
            assert self._changed.wait_for(lambda: not self._busy, PATIENCE)

    def resume(self) -> None:
        self._going.set()

    @contextmanager
    def slowly(self) -> Iterator[None]:
        """Go on, but leave the processors to what starts meanwhile."""
        self._slow.set()
        yield
        self._slow.clear()

    def join(self) -> None:
        """Wait until every thread has done its part."""
        for thread in self._threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads)
        assert self.faults == []

    def wait_for(self, more: int, period: str | None = None) -> None:
        """Wait until so many more requests, or so many of a period, were answered."""
        target = more if period else more + self.total

        def enough() -> bool:
            done = len(self.answered.get(period, [])) if period else self.total
            return bool(self.faults) or done >= target

        with self._changed:
            assert self._changed.wait_for(enough, PATIENCE)
        assert self.faults == []

    def wait_for_refusals(self, more: int) -> None:
        """Wait until so many more requests were answered 503."""
        target = more + sum(self.refusals.values())
        until(lambda: bool(self.faults) or sum(self.refusals.values()) >= target, PATIENCE)
        assert self.faults == []

    @property
    def refusals(self) -> Counter[str]:
        """How often each reason was given with a 503."""
        return sum((sender.refusals for sender in self._senders), Counter())

    @property
    def retries(self) -> int:
        """How often a request was sent again because it was not answered 200."""
        return sum(sender.retries for sender in self._senders)

    @property
    def total(self) -> int:
        """How many requests were accepted."""
        return sum(map(len, self.answered.values()))

    def _run(self, number: int) -> None:
        rng = random.Random(f"{self.seed}/{number}")
        sender = Sender(self.servers, rng)
        self._senders.append(sender)
        try:
            for period in self.periods:
                while not self._enough.is_set() and self._turn(sender, period, rng):
                    pass
        except Exception as exc:
            self._fault(exc)
        finally:
            sender.close()

    def _turn(self, sender: Sender, period: str, rng: random.Random) -> bool:
        if self._slow.is_set():
            time.sleep(_PACE)
        while True:
            self._going.wait()
            with self._changed:
                if self._going.is_set():
                    self._busy += 1
                    break
        try:
            return self._send_one(sender, period, rng)
        finally:
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    def _send_one(self, sender: Sender, period: str, rng: random.Random) -> bool:
        """Send a new device's request; return whether the period was open."""
        body = request_body(self.survey, new_device(), period=period, rng=rng)
        outcome = sender.send(body)
        if outcome["rejected"]:
            self._check_refused(outcome)
            with self._changed:
                self.refused[period] += 1
            return False
        if outcome["accepted"] + outcome["duplicate"] != len(body["reports"]):
            self._fault(outcome)
        with self._changed:
            self.answered.setdefault(period, []).append(body)
            self._changed.notify_all()
        if rng.random() < 0.2:
            self._send_again(sender, body)
        return True

    def _send_again(self, sender: Sender, body: dict[str, Any]) -> None:
        outcome = sender.send(body)
        if outcome["rejected"]:
            self._check_refused(outcome)
        elif outcome["duplicate"] == len(body["reports"]):
            with self._changed:
                self.again += 1
        else:
            self._fault(outcome)

    def _check_refused(self, outcome: dict[str, Any]) -> None:
        codes = {rejection["code"] for rejection in outcome["rejected"]}
        if codes != {"period_closed"} or outcome["accepted"] or outcome["duplicate"]:
            self._fault(outcome)

    def _fault(self, shown: object) -> None:
        with self._changed:
            self.faults.append(repr(shown))
            self._changed.notify_all()


def expected(survey: Survey, bodies: Iterable[dict[str, Any]]) -> dict[str, list[int]]:
    """The cells that the reports of these requests add up to."""
    cells = {name: [0] * q.mechanism.shape.cells for name, q in survey.questions.items()}
    for body in bodies:
        for report in body["reports"]:
            shape = survey.questions[report["question"]].mechanism.shape
            shape.fold(cells[report["question"]], shape.unpack(report["response"]))
    return cells


def documents(location: str, survey: Survey) -> list[str]:
    """The released tallies of a store, as they are stored."""
    with closing(open_store(location, create=False)) as store, store.read() as reader:
        return [text for name in survey.questions for text in reader.tallies(survey.id, name)]


def released(location: str, survey: Survey) -> list[Tally]:
    return [parse_tally(json.loads(text)) for text in documents(location, survey)]


def check_released(location: str, devices: Devices) -> None:
    """Each report that was answered 200 counts exactly once, and nothing else counts."""
    survey = devices.survey
    found = {
        (tally.period, tally.question.id): (tally.n, list(tally.cells))
        for tally in released(location, survey)
    }
    assert found == {
        (period, name): (len(bodies), cells)
        for period, bodies in devices.answered.items()
        for name, cells in expected(survey, bodies).items()
    }


def close_all(location: str, keys: str) -> None:
    """Release everything, as if all periods were over."""
    moment = datetime.fromisoformat(FAR).replace(tzinfo=UTC)
    with (
        closing(open_store(location, create=False)) as store,
        store.alone(),
        closing(open_keys(store, keys)) as ring,
    ):
        with store.transaction() as tx:
            close_periods(tx, ring, moment)
        destroy_keys(store, ring)
        assert ring.scopes() == set()


_CLOSE = """
import sys
from datetime import datetime
from deniable.collector.keys import open_keys
from deniable.collector.release import close_periods, destroy_keys
from deniable.collector.store import open_store
store = open_store(sys.argv[1])
keys = open_keys(store, sys.argv[2] or None)
print("ready", flush=True)
for line in sys.stdin:
    with store.transaction() as tx:
        closing = close_periods(tx, keys, datetime.fromisoformat(line.strip()))
    destroy_keys(store, keys)
    print(closing.released, flush=True)
"""


class Closer:
    """A process beside the collectors that releases at the moments it is told."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def close(self, moment: str) -> int:
        """Close everything up to a moment; return how many tallies were released."""
        write_line(self._process, moment)
        return int(read_line(self._process))


@contextmanager
def closer(location: str, keys: str = "") -> Iterator[Closer]:
    with piped(_CLOSE, location, keys) as process:
        yield Closer(process)


def python(source: str) -> tuple[str, ...]:
    """What runs a Python program in place of deniable-collector."""
    return (sys.executable, "-P", "-c", source)
