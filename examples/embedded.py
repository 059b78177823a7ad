"""One collector, and everything it keeps in one SQLite file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click
from commands import Collector, run
from days import write_survey

HERE = Path(__file__).resolve().parent


class Embedded:
    """What the demo asks of a collector; the cluster does the same."""

    def __init__(self, folder: Path) -> None:
        self.survey = HERE / "demo_survey.toml"
        self.days: Path | None = write_survey(folder / "days.toml")
        self._store = folder / "collector.db"

    @contextlib.contextmanager
    def serving(self) -> Iterator[list[str]]:
        """Take reports for a while, at these addresses."""
        surveys = [word for file in (self.survey, self.days) for word in ("--survey", str(file))]
        with Collector(*surveys, "--store", self._store).running() as collector:
            yield [collector.url]

    def halfway(self) -> None:
        """Nothing happens when half of the devices have answered."""

    def release(self, as_of: str) -> None:
        """Close the period as if it were then, and release what was counted."""
        options = ("--store", self._store, "--as-of", as_of, "--yes")
        click.echo(run("deniable-collector", "release", *options))

    def tallies(self, question: str) -> Path:
        """Return the file that has the released tally of a question."""
        return self._store
