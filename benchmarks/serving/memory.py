"""Memory: what a collector holds while a million reports come in.

The flood limit's window is a second: it keeps the pseudonyms of two windows, about 300 bytes each,
and with its usual minute this would show how many devices came in the last two minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from .load import drive
from .servers import postgres, running
from .traffic import QUESTIONS, Requests, make_survey
from .verdicts import verdict

AIM_GROWTH = 0.1
_CONNECTIONS = 64


def measure(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Watch the memory of a collector on each store; yield what became of the aim."""
    requests = 5_000 if options.quick else 100_000
    load = Requests(make_survey("plain"), "/v1/reports")
    with postgres() as server:
        urls = {"SQLite": str(folder / "memory.db"), "PostgreSQL": server.fresh_database()}
        for store, url in urls.items():
            found = []
            with running(url, folder / f"{store}.keys", "60 per second") as process:
                for _ in range(5):
                    drive([process.port], load, _CONNECTIONS, count=requests // 5)
                    found.append(process.memory())
            text = ", ".join(f"{memory:.0f}" for memory in found)
            print(f"\n{store}, MiB after each fifth of {requests * QUESTIONS:,} reports: {text}")
            growth = found[-1] / found[0] - 1
            what = f"{store}: memory grew by {growth:.0%} after the first fifth"
            yield verdict(growth < AIM_GROWTH, what, f"under {AIM_GROWTH:.0%}")
