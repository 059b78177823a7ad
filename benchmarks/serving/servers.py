"""The servers under load: collectors in processes of their own, and a PostgreSQL beside them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from servers import Postgres  # of the tests

from .traffic import QUESTIONS, make_survey

PROGRAM = (sys.executable, "-P", str(Path(__file__).parents[1] / "service.py"), "--as")
PARSE_ONLY = "/v1/parse-only"
SURVEYS = ("plain", "sealed")

_SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "autovacuum": "on",
    "shared_buffers": "128MB",
    "io_method": "worker",
}
"""PostgreSQL's own defaults, where those of the tests differ."""


def serve(store: str, keys: str, flood_limit: str) -> None:
    """Be a collector that also answers requests it only parses."""
    import msgspec
    from flask import Response, request

    from deniable.collector.app import create_app
    from deniable.collector.config import Config
    from deniable.collector.server import listen, make_server, socket_url

    surveys = tuple(map(make_survey, SURVEYS))
    app = create_app(Config(store, surveys, keys=keys, flood_limit=flood_limit))
    outcome = b'{"accepted":%d,"duplicate":0,"rejected":[]}' % QUESTIONS

    @app.post(PARSE_ONLY)
    def parse() -> Response:
        msgspec.json.decode(request.get_data(cache=False))
        return Response(outcome, mimetype="application/json")

    with closing(listen("127.0.0.1", 0)) as listening:
        print(socket_url(listening), flush=True)
        make_server(app, listening).run()


@dataclass(frozen=True)
class Running:
    """A collector that runs."""

    pid: int
    port: int

    def processor_seconds(self) -> float:
        """Return how long it kept a processor busy so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> float:
        """Return its resident memory in MiB."""
        return _status(f"/proc/{self.pid}/status", "VmRSS")


def peak_memory() -> float:
    """Return the most memory that this process ever held, in MiB."""
    return _status("/proc/self/status", "VmHWM")


def _status(path: str, name: str) -> float:
    for line in Path(path).read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"{path} has no {name}")


@contextmanager
def running(store: str, keys: Path, flood_limit: str = "60 per minute") -> Iterator[Running]:
    """Start a collector; it is gone afterwards, whatever happens."""
    command = [*PROGRAM, "server", store, str(keys), flood_limit]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = cast("IO[str]", process.stdout)
        try:
            address = output.readline()
            if not address:
                sys.exit("a collector did not start")
            yield Running(process.pid, int(address.rsplit(":", 1)[1]))
        finally:
            process.send_signal(signal.SIGKILL)


@contextmanager
def postgres() -> Iterator[Postgres]:
    """Start a PostgreSQL server as durable as it is by default."""
    with closing(Postgres(_SETTINGS)) as server:
        yield server
