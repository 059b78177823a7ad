"""Fresh interpreters: what they print, the processor time they take, the memory they hold.

They keep their bytecode in a folder of the run, as an installed package does, whatever the
environment says about that; and no variable silences the client in them.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from statistics import median

MEMORY = """
for line in open("/proc/self/status"):
    if line.startswith(("VmRSS:", "RssAnon:")):
        print(line.split()[1])
"""
"""Prints the resident memory and what of it is no page of a file, in KiB."""

PEERS = {"posthog": "posthog", "sentry_sdk": "sentry-sdk"}
"""Peers by module: what to install."""


def missing() -> list[str]:
    """What of the peers is not installed."""
    return [name for module, name in PEERS.items() if find_spec(module) is None]


class Interpreters:
    """Fresh interpreters with one store of bytecode."""

    def __init__(self, folder: Path) -> None:
        silencing = {"CI", "DO_NOT_TRACK", "DENIABLE", "PYTHONDONTWRITEBYTECODE"}
        self._settings = {key: value for key, value in os.environ.items() if key not in silencing}
        self._settings["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")

    def run(self, *arguments: str) -> str:
        """What one prints; it must succeed."""
        command = [sys.executable, "-P", *arguments]
        done = subprocess.run(
            command, check=True, stdout=subprocess.PIPE, text=True, env=self._settings
        )
        return done.stdout

    def seconds(self, programs: Mapping[str, str], rounds: int) -> dict[str, float]:
        """Median processor seconds of programs that have their turn in every round."""
        times: dict[str, list[float]] = {name: [] for name in programs}
        for number in range(rounds + 1):
            for name, program in programs.items():
                before = _spent()
                self.run("-c", program)
                if number:  # the first compiles
                    times[name].append(_spent() - before)
        return {name: median(taken) for name, taken in times.items()}

    def memory(self, program: str, rounds: int = 5) -> tuple[float, float]:
        """Median MB that one holds after a program, and what of that is its own."""
        found = [self.run("-c", f"{program}\n{MEMORY}").split() for _ in range(rounds)]
        sizes = zip(*found, strict=True)
        resident, own = (median(int(size) * 1024 / 1e6 for size in each) for each in sizes)
        return resident, own


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
