"""Devices of the installed client, as many as an audit needs, in processes of their own.

The analysis never imports the client: it runs ``deniable.client.probe`` of the environment that
is audited, whichever interpreter that has, and tells it what to do. What must never change: a
response is returned as it would have left the device.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from .observed import (
    Answers,
    Day,
    Description,
    Device,
    Leakage,
    Life,
    as_agreed,
    hashable,
    read_asked,
    read_device,
    read_life,
    read_ratio,
    write_answers,
)
from .workers import AuditError, Worker

__all__ = ["Day", "Description", "Device", "Devices", "Leakage", "Life"]

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
        self._folder = Path(tempfile.mkdtemp(prefix="deniable-audit-", dir=_fast_folder()))
        self._workers: list[Worker] = []
        try:
            for number in range(workers):
                place = self._folder / str(number)
                self._workers.append(Worker(python, Path(survey), place))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Devices:
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
        for worker in self._workers:
            worker.close()
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
        """Return what leaves ``count`` new devices that answer alike, by question.

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
        for device in self._live(count, order, progress):
            for name, reports in found.items():
                reports.extend(device["reports"][name])
        missing = [
            name for name, reports in found.items() if len(reports) != count or None in reports
        ]
        if missing:
            raise AuditError(f"{missing[0]}: devices that were asked did not answer")
        return {name: [hashable(each) for each in reports] for name, reports in found.items()}

    def lives(self, count: int, days: Sequence[Answers]) -> list[Device]:
        """Return ``count`` new devices that answer alike on several days, with their secrets.

        A question that is asked once has a report on the first day only. The days are as far
        apart as the longest period.
        """
        order = {"days": [write_answers(day) for day in days], "secrets": True}
        with as_agreed():
            return [read_device(said) for said in self._live(count, order, lambda done: None)]

    def leakage(self, question: str) -> Leakage:
        """Return what a question's mechanism reveals, found by running the installed code."""
        said = self._workers[0].ask("leakage", _LEAKAGE_SECONDS, question=question)
        with as_agreed():
            return Leakage(
                read_ratio(said["permanent"]), read_ratio(said["report"]), str(said["by"])
            )

    def live(self, days: Sequence[Day], count: int = 1) -> list[Life]:
        """Return the lives of ``count`` new devices that go through the same days."""
        told = [{"answers": write_answers(day.answers), "events": list(day.events)} for day in days]
        seconds = 60 + (_DEVICE_SECONDS * count + _CHILD_SECONDS) * len(days)
        said = self._workers[-1].ask("live", seconds, days=told, count=count)
        with as_agreed():
            return [read_life(each) for each in said["lives"]]

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

    def _live(
        self, count: int, order: dict[str, Any], progress: Callable[[int], None]
    ) -> Iterator[dict[str, Any]]:
        """Share the devices out to the workers; what they say comes in any order."""
        sizes = [min(_CHUNK, count - done) for done in range(0, count, _CHUNK)]
        free = list(self._workers)

        def one(size: int) -> list[dict[str, Any]]:
            worker = free.pop()
            try:
                said = worker.ask("sample", 60 + _DEVICE_SECONDS * size, count=size, **order)
            finally:
                free.append(worker)
            progress(size)
            with as_agreed():
                return list(said["devices"])

        with ThreadPoolExecutor(len(self._workers)) as pool:
            for devices in pool.map(one, sizes):
                yield from devices


def _fast_folder() -> str | None:
    """Return a folder in memory if there is one: a disk would have to keep what is written."""
    memory = Path("/dev/shm")  # noqa: S108
    return str(memory) if memory.is_dir() and os.access(memory, os.W_OK | os.X_OK) else None
