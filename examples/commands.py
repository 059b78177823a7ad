"""The project's own commands, run as a user would run them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click


def command(name: str, *arguments: str | Path) -> list[str]:
    """Return the command line of one of deniable's console scripts in this environment."""
    return [str(Path(sys.executable).with_name(name)), *map(str, arguments)]


def run(name: str, *arguments: str | Path, token: str | None = None) -> str:
    """Run a command to its end and return what it printed; its failure is the demo's."""
    click.echo(f"$ {name} {' '.join(map(str, arguments))}")
    environment = os.environ | ({"DENIABLE_TOKEN": token} if token else {})
    line = command(name, *arguments)
    done = subprocess.run(line, text=True, stdout=subprocess.PIPE, env=environment)
    if done.returncode:
        sys.exit(f"demo: {name} ended with status {done.returncode}")
    return done.stdout


class Collector:
    """One ``deniable-collector serve``, which keeps its port when it is started again.

    Attributes
    ----------
    url : str
        Where it takes requests, once it was started.
    """

    def __init__(self, *options: str | Path) -> None:
        self.url = ""
        self._options = options
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it on a free port, or the one it had, and wait until it takes requests."""
        port = self.url.rpartition(":")[2] or "0"
        line = command("deniable-collector", "serve", *self._options, "--port", port)
        self._process = subprocess.Popen(line, text=True, stdout=subprocess.PIPE)
        said = self._process.stdout.readline() if self._process.stdout else ""
        if "http://" not in said:
            sys.exit("demo: the collector did not start")
        click.echo(said.strip())
        self.url = said[said.index("http://") :].split()[0]

    def stop(self) -> None:
        """Stop it in good order, if it runs."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Stop it at once, whatever it is doing."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            with process:
                process.send_signal(number)
                process.wait(timeout=30)

    @contextlib.contextmanager
    def running(self) -> Iterator[Collector]:
        """Run it for a while, and stop it whatever happens."""
        try:
            self.start()
            yield self
        finally:
            self.stop()
