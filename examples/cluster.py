"""Two collectors on PostgreSQL and Valkey, which take reports that only the analyst can open.

The operator's part and the analyst's are kept in two folders: the private key never leaves the
analyst's, and the analyst reads over HTTP, with a token. One collector is killed when half of the
devices have answered, and started again; devices that find it gone go to the other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click
from commands import Collector, run
from local_servers import postgres, valkey

HERE = Path(__file__).resolve().parent
KEY = "demo-key"
CROWD = 1000


class Cluster:
    """What the demo asks of a collector, of two replicas; what they share ends with it.

    Parameters
    ----------
    folder : Path
        For what the operator and the analyst keep.
    devices : int
        How many there are; the survey asks for a crowd that so many can be.

    Attributes
    ----------
    survey : Path
        The survey with the analyst's key, as devices and collectors have it.
    days : None
        No survey of several days: its mechanism has no second round, so it cannot be sealed.
    replicas : list of Collector
        The two.
    floods : str
        Where both count requests.
    token : str
        The analyst's, once something is released.
    """

    def __init__(self, folder: Path, devices: int) -> None:
        self._operator, self._analyst = folder / "operator", folder / "analyst"
        self._operator.mkdir()
        self._analyst.mkdir()
        self.survey = self._operator / "survey.toml"
        self.days: Path | None = None
        self._crowd = min(CROWD, devices)
        self._shared = contextlib.ExitStack()
        self.replicas: list[Collector] = []
        self.floods = ""
        self.token = ""

    def __enter__(self) -> Cluster:
        with contextlib.ExitStack() as started:
            self._write_survey()
            store = started.enter_context(postgres())
            self.floods = started.enter_context(valkey())
            click.echo(f"PostgreSQL is {store}\nValkey is {self.floods}")
            self._place = ("--store", store, "--keys", self._operator / "keys")
            options = ("--survey", self.survey, *self._place, "--flood-storage", self.floods)
            self.replicas = [Collector(*options), Collector(*options)]
            self._shared = started.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._shared.close()

    @contextlib.contextmanager
    def serving(self) -> Iterator[list[str]]:
        """Take reports for a while, at these addresses."""
        with contextlib.ExitStack() as running:
            yield [running.enter_context(each.running()).url for each in self.replicas]

    def halfway(self) -> None:
        """Kill a replica, whatever it is doing, and start it again."""
        click.echo(f"\nkill -9 of the collector on {self.replicas[1].url}")
        self.replicas[1].kill()
        self.replicas[1].start()

    def release(self, as_of: str) -> None:
        """Close the period as if it were then, release the batches, and let the analyst in."""
        click.echo(run("deniable-collector", "release", *self._place, "--as-of", as_of, "--yes"))
        made = run("deniable-collector", "token", "create", "analyst", *self._place[:2])
        self.token = made.strip()
        click.echo("the collector will find its clock behind: the period was closed ahead of time")
        self._shared.enter_context(self.replicas[0].running())

    def tallies(self, question: str) -> Path:
        """Open the batches of a question with the private key, and return the file of tallies."""
        opened = self._analyst / "opened.db"
        place = ("--from", self.replicas[0].url, "--survey", self.survey)
        keys = ("--key", self._private_key, "--to", opened)
        click.echo(run("deniable", "unseal", question, *place, *keys, token=self.token))
        return opened

    @property
    def _private_key(self) -> Path:
        return self._analyst / "private-key.json"

    def _write_survey(self) -> None:
        """Make the analyst's key, and write the survey with its public half."""
        made = run("deniable", "sealing-key", "create", self._private_key, "--id", KEY)
        text = (HERE / "demo_sealed_survey.toml").read_text("utf-8")
        text = text.replace(f"min_crowd = {CROWD}", f"min_crowd = {self._crowd}")
        table = made.replace('state = "pending"', 'state = "active"')
        self.survey.write_text(f"{text}\n{table}", "utf-8")
