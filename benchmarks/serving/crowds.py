"""A million devices: stores filled without HTTP, what a row takes, and what a release costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .servers import PROGRAM, peak_memory
from .traffic import make_reports, make_survey, today

FAR = "2090-01-01"
"""A time at which every period has closed."""

GROUP = 512


@dataclass(frozen=True)
class Release:
    """What a release took; bytes of the ledger are for each device."""

    seconds: float
    sweep: float
    memory: float
    ledger: float


def measure(
    store: str, keys: Path, name: str, devices: int, questions: int, size: Callable[[], int]
) -> Release:
    """Fill a store, in one process, and release what it holds, in another."""
    _child("fill", store, str(keys), name, str(devices), str(questions))
    ledger = size() / devices
    seconds, sweep, memory = map(float, _child("release", store, str(keys)).split())
    return Release(seconds, sweep, memory, ledger)


def _child(*arguments: str) -> str:
    done = subprocess.run([*PROGRAM, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{arguments[0]} failed")
    return done.stdout


def fill(store: str, keys: str, name: str, devices: int, questions: int) -> None:
    """Count the answers of new devices, by the collector's own code."""
    from deniable.collector.catalogue import Catalogue, register
    from deniable.collector.keys import open_keys
    from deniable.collector.rules import Rules
    from deniable.collector.shuffler import Part, Submission, count_group
    from deniable.collector.store import open_store
    from deniable.collector.wire import Report
    from deniable.protocol.periods import parse_period

    survey, period = make_survey(name), parse_period(today())
    now = datetime.now(UTC)
    with closing(open_store(store)) as opened, closing(open_keys(opened, keys)) as ring:
        with opened.transaction() as tx:
            tx.raise_watermark(now)
            register(tx, survey)
            rules = Rules(Catalogue.read(tx), survey.id, period)

        def submission() -> Submission:
            reports = make_reports(survey, questions) if name == "sealed" else same
            entries, _ = rules.judge([Report(**r) for r in reports], None, now, now)
            scope = entries[0][1].scope
            key = ring.of(scope)
            return Submission(
                period.key, None, [Part(scope, key, key.tag(os.urandom(16)), entries)]
            )

        same: list[dict[str, Any]] = make_reports(survey, questions)
        for start in range(0, devices, GROUP):
            group = [submission() for _ in range(min(GROUP, devices - start))]
            with opened.counting() as tx:
                count_group(tx, group, devices)
            if any(each.accepted != questions for each in group):
                sys.exit("a report was not accepted")


def release(store: str, keys: str) -> None:
    """Release everything, as the command does; print seconds, those of the sweep, and MiB."""
    from deniable.collector.keys import open_keys
    from deniable.collector.release import SWEEP, close_periods, destroy_keys
    from deniable.collector.store import open_store

    with closing(open_store(store)) as opened, closing(open_keys(opened, keys)) as ring:
        started = time.perf_counter()
        with opened.transaction() as tx:
            close_periods(tx, ring, datetime.fromisoformat(FAR).replace(tzinfo=UTC))
        destroy_keys(opened, ring)
        released = time.perf_counter()
        deleted = SWEEP
        while deleted == SWEEP:
            with opened.transaction() as tx:
                deleted = tx.sweep(SWEEP)
        swept = time.perf_counter()
    print(released - started, swept - released, peak_memory())
