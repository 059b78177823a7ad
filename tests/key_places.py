"""Places to keep keys in, each for real: a directory, a Valkey that logs, a PostgreSQL."""

from __future__ import annotations

import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import redis
from servers import Valkey, shared_postgres


@dataclass
class Place:
    """Where keys are kept, and the files that somebody finds who takes the disk."""

    kind: str
    location: str
    files: Callable[[], list[Path]]
    settle: Callable[[], None] = lambda: None
    """Wait until what was asked for is on the disk."""

    def holds(self, secret: bytes) -> bool:
        """Whether any file contains it."""
        self.settle()
        for path in self.files():
            with suppress(FileNotFoundError):
                if secret in path.read_bytes():
                    return True
        return False


def until(done: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for what a server does in its own time."""
    give_up = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < give_up, "it never happened"
        time.sleep(0.01)


@contextmanager
def directory_place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "keys"
        yield Place("directory", str(folder), lambda: list(folder.rglob("*")))


@contextmanager
def running_valkey(**settings: str) -> Iterator[Valkey]:
    """A server of a test's own."""
    server = Valkey(settings)
    try:
        yield server
    finally:
        server.close()


def valkey_files(server: Valkey) -> list[Path]:
    return [path for path in server.folder.rglob("*") if path.is_file()]


@contextmanager
def valkey_place() -> Iterator[Place]:
    with (
        running_valkey(appendonly="yes", appendfsync="always") as server,
        redis.Redis(port=server.port) as client,
    ):

        def settled() -> bool:
            state: Any = client.info("persistence")
            return not (state["aof_rewrite_in_progress"] or state["aof_rewrite_scheduled"])

        location = f"valkey://127.0.0.1:{server.port}/0"
        yield Place("valkey", location, lambda: valkey_files(server), lambda: until(settled))


@contextmanager
def postgres_place() -> Iterator[Place]:
    """A database; its server's files are looked into, the write-ahead log excepted."""
    server = shared_postgres()

    def files() -> list[Path]:
        return [path for path in (server.data / "base").rglob("*") if path.is_file()]

    with server.dropping():
        database = server.fresh_database()
        yield Place("postgres", database, files, lambda: server.execute("CHECKPOINT"))


@contextmanager
def cut_once(port: int, word: bytes) -> Iterator[int]:
    """A port that leads to another one, and ends the first connection that says a word."""
    listener = socket.create_server(("127.0.0.1", 0))
    cuts = [word]

    def pass_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if cuts and cuts[0] in data:
                    cuts.clear()
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        with ExitStack() as stack, suppress(OSError):
            while True:
                client = stack.enter_context(listener.accept()[0])
                server = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=pass_on, args=pair, daemon=True).start()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
        assert not cuts, "nothing said the word"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


PLACES = {"directory": directory_place, "valkey": valkey_place, "postgres": postgres_place}


@contextmanager
def program(source: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program with pipes, which has said that it is ready and is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", source, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert read_line(process) == "ready"
        yield process
    finally:
        process.kill()
        with suppress(BrokenPipeError):
            process.communicate()


def read_line(process: subprocess.Popen[str]) -> str:
    return cast("IO[str]", process.stdout).readline().rstrip("\n")


def write_line(process: subprocess.Popen[str], line: str = "") -> None:
    stdin = cast("IO[str]", process.stdin)
    stdin.write(f"{line}\n")
    stdin.flush()
