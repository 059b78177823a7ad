"""A collector in this process, whose clock the test sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from collector_kit import Clock, InProcess

from deniable.collector.app import close_app, create_app
from deniable.collector.config import Config
from deniable.protocol.survey import Survey


@pytest.fixture
def clock() -> Clock:
    """Noon of a Monday."""
    return Clock(datetime(2026, 11, 30, 12, tzinfo=UTC))


@pytest.fixture
def start(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., InProcess]]:
    """Start a collector on the test's own store; what still runs is closed at the end."""
    with ExitStack() as stack:

        def begin(*surveys: Survey, **settings: Any) -> InProcess:
            settings = {"release_every": 0, "clock": clock} | settings
            app = create_app(Config(str(tmp_path / "collector.db"), surveys, **settings))
            stack.callback(close_app, app)
            return InProcess(app, clock)

        yield begin
