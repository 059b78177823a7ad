"""A million devices: stores filled without HTTP, what a row takes, and what a release costs."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from .servers import PROGRAM, Postgres, peak_memory, postgres
from .traffic import QUESTIONS, make_reports, make_survey, today

FAR = "2090-01-01"
"""A time at which every period has closed."""

GROUP = 512


def measure(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Release crowds from both stores; there is no aim to be judged."""
    million = 20_000 if options.quick else 1_000_000
    columns = f"{'seconds':>9}{'sweep s':>9}{'MiB':>6}{'ledger bytes/device':>21}"
    print(f"\n{'release of':<44}{columns}")
    crowds = [("plain", million, QUESTIONS), ("sealed", million // 10, 1), ("sealed", million, 1)]
    with postgres() as server:
        for name, devices, questions in crowds:
            for store in ("SQLite", "PostgreSQL"):
                _measure(server, store, folder, name, devices, questions)
    yield from ()


def _measure(
    server: Postgres, store: str, folder: Path, name: str, devices: int, questions: int
) -> None:
    """Fill a store, in one process, release what it holds, in another, and print what it took."""
    path = folder / f"{name}-{devices}.db"
    keys = str(folder / f"{store}-{name}-{devices}.keys")
    url = str(path) if store == "SQLite" else server.fresh_database()
    started = time.perf_counter()
    _child("fill", url, keys, name, str(devices), str(questions))
    filled = time.perf_counter() - started
    ledger = path.stat().st_size if store == "SQLite" else _ledger_bytes(url)
    seconds, sweep, memory = map(float, _child("release", url, keys).split())
    label = f"{store}, {devices:,} devices of {questions} {name}"
    row = f"{label:<44}{seconds:9.2f}{sweep:9.2f}{memory:6.0f}"
    print(row + (f"{ledger / devices:21.0f}" if name == "plain" else ""), flush=True)
    print(f"  (filled in {filled:.0f} s)", file=sys.stderr)


def _ledger_bytes(url: str) -> int:
    """Return the size of the ledger and its index."""
    import psycopg

    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_total_relation_size('deniable.ledger')").fetchone()
    return int(row[0]) if row else 0


def _child(*arguments: str) -> str:
    done = subprocess.run([*PROGRAM, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{arguments[0]} failed")
    return done.stdout


def fill(store: str, keys: str, name: str, devices: str, questions: str) -> None:
    """Count the answers of new devices, by the collector's own code."""
    from deniable.collector.catalogue import Catalogue, register
    from deniable.collector.keys import open_keys
    from deniable.collector.rules import Rules
    from deniable.collector.shuffler import Part, Submission, count_group
    from deniable.collector.store import open_store
    from deniable.collector.wire import Report
    from deniable.protocol.periods import parse_period

    survey, period, now = make_survey(name), parse_period(today()), datetime.now(UTC)
    with closing(open_store(store)) as opened, closing(open_keys(opened, keys)) as ring:
        with opened.transaction() as tx:
            tx.raise_watermark(now)
            register(tx, survey)
            rules = Rules(Catalogue.read(tx), survey.id, period)

        def submission() -> Submission:
            reports = [Report(**report) for report in make_reports(survey, int(questions))]
            entries, _ = rules.judge(reports, None, now, now)
            scope = entries[0][1].scope
            key = ring.of(scope)
            part = Part(scope, key, key.tag(os.urandom(16)), entries)
            return Submission(period.key, None, [part])

        left = int(devices)
        while left:
            group = [submission() for _ in range(min(GROUP, left))]
            with opened.counting() as tx:
                count_group(tx, group, int(devices))
            left -= len(group)


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
