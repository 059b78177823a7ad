"""Fixtures of the client's tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from client_kit import Clock, Collector, collector, survey

from deniable.client import Client
from deniable.protocol.survey import Survey

NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "state" / "acme.db"


@pytest.fixture
def quick_store(tmp_path: Path) -> Iterator[Path]:
    """A store in memory, where there is such a place, for tests that write a thousand times."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder) / "acme.db"


@pytest.fixture
def heard() -> Iterator[Collector]:
    with collector() as server:
        yield server


@pytest.fixture
def start(store: Path, clock: Clock) -> Iterator[Any]:
    """Starts clients that raise their mistakes and keep what they record; closes them all."""
    with ExitStack() as opened:

        def start(asked: Survey | None = None, url: str = NOWHERE, **options: Any) -> Client:
            settings = {"store": store, "strict": True, "_clock": clock}
            return opened.enter_context(Client(asked or survey(), url, **{**settings, **options}))

        yield start
