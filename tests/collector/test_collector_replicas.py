"""Several collectors on one PostgreSQL: what was answered with 200 counts exactly once.

The same load runs on one SQLite file, where there is one collector.
"""

from __future__ import annotations

import random
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from collector_kit import Server, exchange, make_survey, new_device, request_body, save, today
from load_kit import (
    SURVEY,
    Devices,
    check_released,
    close_all,
    closer,
    released,
    replicas,
    stop_all,
)
from servers import Postgres, Valkey

from deniable.collector.store import open_store
from deniable.protocol.survey import Survey

THREADS = 6


@dataclass
class Cluster:
    """Where collectors keep what they share, and how many run there."""

    store: str
    keys: str
    options: list[str]
    count: int

    @property
    def key_options(self) -> list[str]:
        return ["--keys", self.keys]


@pytest.fixture
def keys_in_a_directory(tmp_path: Path, postgres: Postgres, valkey: Valkey) -> Cluster:
    """Two replicas with flood limits in Valkey and a directory of keys that both see."""
    return _cluster(postgres, valkey, str(tmp_path / "keys"))


@pytest.fixture
def keys_in_valkey(postgres: Postgres, valkey: Valkey) -> Cluster:
    return _cluster(postgres, valkey, valkey.fresh_database())


@pytest.fixture
def one_file(tmp_path: Path) -> Cluster:
    """One collector on SQLite."""
    keys = str(tmp_path / "keys")
    return Cluster(str(tmp_path / "0.db"), keys, ["--keys", keys], 1)


def _cluster(postgres: Postgres, valkey: Valkey, keys: str) -> Cluster:
    options = ["--keys", keys, "--flood-storage", valkey.fresh_database()]
    return Cluster(postgres.fresh_database(), keys, options, 2)


KINDS = ["keys_in_a_directory", "keys_in_valkey", "one_file"]


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Cluster:
    found: Cluster = request.getfixturevalue(request.param)
    return found


each_kind = pytest.mark.parametrize("cluster", KINDS, indirect=True)


def running(
    cluster: Cluster, folder: Path, *options: str, survey: Survey = SURVEY
) -> Iterator[list[Server]]:
    """Run the collectors of a cluster."""
    return replicas(survey, folder, cluster.count, cluster.store, *cluster.options, *options)  # type: ignore[return-value]
