"""Several collectors on one PostgreSQL: what was answered with 200 counts exactly once.

The same load runs on one SQLite file, where there is one collector.
"""

from __future__ import annotations

import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

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

RACERS = 16
THREADS = 6


@dataclass
class Cluster:
    """Where collectors keep what they share, and how many run there."""

    store: str
    keys: str
    count: int
    flood: str = "memory://"

    def run(
        self, folder: Path, *options: str, survey: Survey = SURVEY
    ) -> AbstractContextManager[list[Server]]:
        shared = ["--keys", self.keys, "--flood-storage", self.flood]
        return replicas(survey, folder, self.count, self.store, *shared, *options)


@pytest.fixture
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    """Two replicas on PostgreSQL, and flood limits in Valkey; or one collector on SQLite."""
    if request.param == "sqlite":
        return Cluster(str(tmp_path / "0.db"), str(tmp_path / "keys"), 1)
    postgres: Postgres = request.getfixturevalue("postgres")
    valkey: Valkey = request.getfixturevalue("valkey")
    in_valkey = request.param == "keys in valkey"
    keys = valkey.fresh_database() if in_valkey else str(tmp_path / "keys")
    return Cluster(postgres.fresh_database(), keys, 2, valkey.fresh_database())


def on(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("cluster", kinds, indirect=True)


def check_load(cluster: Cluster, devices: Devices) -> None:
    """After everything was closed, the tallies are what was answered."""
    close_all(cluster.store, cluster.keys)
    check_released(cluster.store, devices)


@pytest.mark.parametrize(
    ("cluster", "kills"), [("keys in a directory", 8), ("keys in valkey", 3)], indirect=["cluster"]
)
def test_killed_again_and_again(
    cluster: Cluster, kills: int, tmp_path: Path, postgres: Postgres
) -> None:
    """One replica is killed, eight times in one run, and PostgreSQL crashes once, under load."""
    rng = random.Random(20261130)
    with cluster.run(tmp_path, "--release-every", "0.2") as servers:
        devices = Devices(SURVEY, servers, 1, [today()])
        with devices.sending(THREADS):
            for kill in range(kills):
                devices.wait_for(rng.randrange(10, 40))
                servers[1].stop(signal.SIGKILL)
                with devices.slowly():
                    if kill == kills // 2:
                        postgres.kill()
                        postgres.start()
                    servers[1].start()
            devices.wait_for(max(50, 250 - devices.total))
        stop_all(servers)
    assert devices.retries > kills
    assert devices.again > 10
    assert devices.total > 200
    check_load(cluster, devices)


@pytest.mark.parametrize(
    ("cluster", "rounds"), [("keys in a directory", 100), ("sqlite", 100)], indirect=["cluster"]
)
def test_a_quota_of_one(cluster: Cluster, rounds: int, tmp_path: Path) -> None:
    """A report over sixteen connections at once is accepted once, in every round."""
    start = threading.Barrier(RACERS)
    bodies = [request_body(SURVEY, new_device(), questions=["yes"]) for _ in range(rounds)]

    def race(number: int, server: Server) -> list[tuple[int, int]]:
        outcomes = []
        with closing(server.connect()) as connection:
            for body in bodies:
                start.wait(60)
                reply = exchange(connection, "POST", "/v1/reports", body)
                assert reply.status == 200, reply.body
                outcomes.append((reply.json["accepted"], reply.json["duplicate"]))
        return outcomes

    with cluster.run(tmp_path) as servers:
        with ThreadPoolExecutor(RACERS) as pool:
            chosen = [servers[number % len(servers)] for number in range(RACERS)]
            outcomes = list(pool.map(race, range(RACERS), chosen))
        stop_all(servers)
    for one_round in zip(*outcomes, strict=True):
        assert sorted(one_round) == [(0, 1)] * (RACERS - 1) + [(1, 0)]
    close_all(cluster.store, cluster.keys)
    (tally,) = released(cluster.store, SURVEY)
    assert tally.n == rounds


@pytest.mark.parametrize(
    ("cluster", "runs"), [("keys in a directory", 100), ("sqlite", 100)], indirect=["cluster"]
)
def test_a_release_races_with_folds(cluster: Cluster, runs: int, tmp_path: Path) -> None:
    """Day after day is closed under load: a report is in the released tally or was refused."""
    rng = random.Random(5)
    first = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [first - timedelta(days=180 - number) for number in range(runs)]
    with closing(open_store(cluster.store)) as store, store.transaction() as tx:
        tx.raise_watermark(days[0])
    with (
        cluster.run(tmp_path, "--release-every", "0.2") as servers,
        closer(cluster.store, cluster.keys) as release,
    ):
        devices = Devices(SURVEY, servers, 2, [day.date().isoformat() for day in days])
        with devices.sending(THREADS):
            for day in days:
                devices.wait_for(rng.randrange(1, 12), day.date().isoformat())
                assert release.close((day + timedelta(days=31)).isoformat()) == 2
            devices.join()
        stop_all(servers)
    assert devices.refused == dict.fromkeys(devices.periods, THREADS)
    check_released(cluster.store, devices)


NEXT = make_survey({"yes": {"grace": 30}, "more": {"type": "choice", "choices": ["a", "b", "c"]}})
"""The next edition, which asks one question more and one less."""


@on("keys in a directory")
def test_a_rolling_restart(cluster: Cluster, tmp_path: Path) -> None:
    """Replicas get a new edition one by one; none refuses what another one already asks."""
    path = save(NEXT, tmp_path / "next.json")
    with cluster.run(tmp_path) as servers:
        old = Devices(SURVEY, servers, 3, [today()])
        new = Devices(NEXT, servers, 4, [today()])
        with old.sending(2):
            old.wait_for(20)
            servers[0].stop()
            servers[0].surveys = [path]
            with old.slowly():
                servers[0].start()
            with new.sending(2):
                new.wait_for(20)
                old.wait_for(20)
                servers[1].stop()
                servers[1].surveys = [path]
                with old.slowly(), new.slowly():
                    servers[1].start()
                new.wait_for(20)
        stop_all(servers)
    close_all(cluster.store, cluster.keys)
    both: dict[str, Any] = {"yes": old.total + new.total, "more": new.total, "bits": old.total}
    tallies = [*released(cluster.store, NEXT), *released(cluster.store, SURVEY)]
    assert {tally.question.id: tally.n for tally in tallies} == both
