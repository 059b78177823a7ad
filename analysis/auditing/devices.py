"""Devices of the installed client, as many as an audit needs, in processes of their own.

The analysis never imports the client: it runs ``deniable.client.probe`` of the environment that
is audited, whichever interpreter that has, and tells it what to do. What must never change: a
response is returned as it would have left the device.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from .exchange import (
    as_agreed,
    hashable,
    read_asked,
    read_device,
    read_history,
    read_life,
    read_ratio,
    write_answer,
    write_answers,
)
from .observed import Answers, Day, Description, Device, History, Leakage, Life
from .signals import uninterrupted
from .stores import new_folder
from .workers import Worker

__all__ = ["Day", "Description", "Device", "Devices", "History", "Leakage", "Life"]

_T = TypeVar("_T")
Order = tuple[str, int, dict[str, Any]]
"""What a probe is to do, about how many devices, and with what."""

_CHUNK = 200
"""Devices a probe lets live before it answers: under a second, so that progress can be shown."""

_DEVICE_SECONDS = 2.0
_CHILD_SECONDS = 60.0
_LEAKAGE_SECONDS = 600.0


class Devices:
    """The audited environment. To be used in a ``with`` block; ends its processes with it.

    Parameters
    ----------
    survey : Path
        A survey file.
    python : str
        The interpreter in whose environment the client is installed.
    workers : int
        Processes that work at the same time.

    Raises
    ------
    AuditError
        From every method: one line that says what the audited environment did wrong.
    """

    def __init__(self, survey: Path, *, python: str = sys.executable, workers: int = 2) -> None:
        self._survey = Path(survey)
        self._python = python
        self._count = workers
        self._folder: Path | None = None
        self._workers: list[Worker] = []

    def __enter__(self) -> Devices:
        try:
            with uninterrupted():
                self._folder = new_folder()
                for number in range(self._count):
                    place = self._folder / str(number)
                    self._workers.append(Worker(self._python, self._survey, place))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes and erase their stores."""
        with uninterrupted():
            for worker in self._workers:
                worker.close()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def describe(self) -> Description:
        """Return what is audited."""
        said = self._workers[0].ask("describe")
        with as_agreed():
            questions = tuple(read_asked(question) for question in said["questions"])
            return Description(said["deniable"], said["python"], said["client"], questions)

    def sample(
        self,
        count: int,
        values: Answers,
        *,
        broken: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> dict[str, list[Hashable]]:
        """Return what leaves ``count`` new devices that answer alike, by question; None: nothing.

        Parameters
        ----------
        count : int
            How many devices.
        values : mapping
            The answer to each question that is asked.
        broken : bool
            Whether the randomizer is broken on purpose, so that responses tell the value: the
            positive control.
        progress : callable
            Told how many more devices are done, now and then; from several threads.
        """
        order = {"days": [write_answers(values)], "broken": broken}
        found: dict[str, list[Hashable]] = {name: [] for name in values}
        with as_agreed():
            for device in self._live(self._orders(count, order), progress):
                for name, reports in found.items():
                    (wire,) = device["reports"][name]
                    reports.append(hashable(wire))
        return found

    def lives(self, plans: Sequence[Sequence[Answers]]) -> list[Device]:
        """Return a new device for each plan of answers on several days, with its secret.

        A question that is asked once has a report on the first day only. The days are as far
        apart as the longest period.
        """
        told = [[write_answers(day) for day in days] for days in plans]
        size = self._share(len(told))
        orders = [
            ("lives", len(told[at : at + size]), {"plans": told[at : at + size]})
            for at in range(0, len(told), size)
        ]
        with as_agreed():
            return [read_device(said) for said in self._live(orders, lambda done: None)]

    def histories(
        self, question: str, plans: Sequence[Sequence[tuple[int, object]]]
    ) -> list[History]:
        """Return a new device for each plan of answers by period of a question's horizon.

        None at all if no client believes a clock that goes through the horizon.
        """
        size = self._share(len(plans))
        told = [[[t, write_answer(question, value)] for t, value in plan] for plan in plans]
        orders = [
            ("histories", len(part), {"question": question, "plans": part})
            for part in (told[at : at + size] for at in range(0, len(told), size))
        ]
        with as_agreed():
            return [read_history(said) for said in self._live(orders, lambda done: None)]

    def leakage(self, question: str) -> Leakage:
        """Return what a question's mechanism reveals, found by running the installed code."""
        said = self._workers[0].ask("leakage", _LEAKAGE_SECONDS, question=question)
        with as_agreed():
            return Leakage(
                read_ratio(said["permanent"]), read_ratio(said["report"]), str(said["by"])
            )

    def live(self, days: Sequence[Day], count: int = 1) -> list[Life]:
        """Return the lives of ``count`` new devices that go through the same days."""
        return self.courses([days] * count)

    def courses(self, plans: Sequence[Sequence[Day]]) -> list[Life]:
        """Return the life of a new device for each plan of days, in that order."""
        told = [
            [{"answers": write_answers(day.answers), "events": list(day.events)} for day in days]
            for days in plans
        ]
        size = self._share(len(told))
        parts = [told[at : at + size] for at in range(0, len(told), size)]

        def ask(worker: Worker, part: list[Any]) -> list[Any]:
            days = sum(map(len, part))
            seconds = 60 + (_DEVICE_SECONDS + _CHILD_SECONDS) * days
            return list(worker.ask("live", seconds, plans=part)["lives"])

        with as_agreed():
            return [read_life(said) for said in self._shared(ask, parts)]

    def draws(
        self, kind: str, material: Sequence[bytes], calls: Sequence[tuple[str, int]]
    ) -> list[object]:
        """Return what the installed draws decide from given bytes.

        Parameters
        ----------
        kind : "keyed", "public" or "fresh"
        material : sequence of bytes
            Secret and fields; the fields; or what stands for the operating system's randomness.
        calls : sequence of (str, int)
            ("chance", threshold) or ("below", n).
        """
        known = [each.hex() for each in material]
        said = self._workers[0].ask("draws", kind=kind, material=known, calls=list(calls))
        with as_agreed():
            return list(said["answers"])

    def _share(self, count: int) -> int:
        """Return how many devices one order is about: all workers are to have some."""
        return max(1, min(_CHUNK, -(-count // len(self._workers))))

    def _orders(self, count: int, order: dict[str, Any]) -> list[Order]:
        size = self._share(count)
        sizes = [min(size, count - done) for done in range(0, count, size)]
        return [("sample", each, {"count": each, **order}) for each in sizes]

    def _live(
        self, orders: Sequence[Order], progress: Callable[[int], None]
    ) -> Iterator[dict[str, Any]]:
        def ask(worker: Worker, order: Order) -> list[dict[str, Any]]:
            do, size, told = order
            said = worker.ask(do, 60 + _DEVICE_SECONDS * size, **told)
            progress(size)
            with as_agreed():
                return list(said["devices"])

        return self._shared(ask, orders)

    def _shared(
        self, ask: Callable[[Worker, _T], list[dict[str, Any]]], parts: Sequence[_T]
    ) -> Iterator[dict[str, Any]]:
        """Share work out to the workers; yield what they say in the order of the parts."""
        free = list(self._workers)

        def one(part: _T) -> list[dict[str, Any]]:
            worker = free.pop()
            try:
                return ask(worker, part)
            finally:
                free.append(worker)

        with ThreadPoolExecutor(len(self._workers)) as pool:
            for said in pool.map(one, parts):
                yield from said
