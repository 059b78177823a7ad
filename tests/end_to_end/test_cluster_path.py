"""What `make demo-cluster` shows, with fewer devices and a replica that stays away for a while.

The parts are the demo's own: real PostgreSQL and Valkey, real collectors and devices, and the
commands that an operator and an analyst run.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))

from cluster import KEY, Cluster
from commands import run
from devices import Answers, Arrived, answer_all, device_folder, people
from truth import shares, statistics

from deniable.protocol.survey import Survey, load_survey

DEVICES = 600
AWAY = 100
LIMIT = 7.0  # standard errors; the odds that one of six estimates is further off are 2e-11
FAR = "2098-12-01"


@dataclass
class Shown:
    """A cluster whose 600 devices have answered, and whose period was released.

    Attributes
    ----------
    mixed, alone : Arrived
        From the devices among which a replica was killed, and from the hundred that came while
        it was away.
    """

    cluster: Cluster
    folder: Path
    survey: Survey
    rows: list[Answers]
    mixed: Arrived
    alone: Arrived

    def unsealed(self, key: Path, to: Path, question: str) -> dict[str, Any]:
        """What opens with a key."""
        place = ("--from", self.cluster.replicas[0].url, "--key", key, "--to", to)
        command = ("unseal", question, *place, "--format", "json")
        (batch,) = json.loads(run("deniable", *command, token=self.cluster.token))["batches"]
        assert isinstance(batch, dict)
        return batch


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder = tmp_path_factory.mktemp("cluster")
    rows = people(DEVICES)
    with (
        TemporaryDirectory(prefix="deniable-devices-", dir=device_folder()) as name,
        Cluster(folder, DEVICES) as cluster,
    ):
        devices = Path(name)
        with cluster.serving() as urls:
            killed = cluster.replicas[1]
            mixed = answer_all(rows[AWAY:], cluster.survey, urls, devices, killed.kill)
            alone = answer_all(rows[:AWAY], cluster.survey, urls, devices, lambda: None)
            killed.start()
        cluster.release(FAR)
        yield Shown(cluster, folder, load_survey(cluster.survey), rows, mixed, alone)
        places = [*urls, cluster.floods]
    for place in places:
        with closing(socket.socket()) as client:
            assert client.connect_ex(("127.0.0.1", int(place.rpartition(":")[2]))) != 0


def test_every_report_arrives_whoever_is_killed(shown: Shown) -> None:
    assert shown.mixed.reports == 3 * (DEVICES - AWAY)
    assert shown.alone == Arrived(reports=3 * AWAY, moved=AWAY // 2)


@pytest.mark.parametrize("question", ["limitation", "health", "visits"])
def test_every_device_counts_once(shown: Shown, question: str) -> None:
    store = shown.cluster.tallies(question)
    printed = run("deniable", "estimate", question, "--from", store, "--format", "json")
    estimate = json.loads(printed)
    assert estimate["n"] == DEVICES
    asked = shown.survey.questions[question]
    found = shares if asked.range is None else statistics
    lines = list(found(asked, estimate, shown.rows))
    assert lines
    for _, true, item, estimated in lines:
        assert abs(estimated - true) < LIMIT * item["standard_error"]


def test_nothing_opens_without_the_key(shown: Shown) -> None:
    other = shown.folder / "other.json"
    run("deniable", "sealing-key", "create", other, "--id", KEY)
    batch = shown.unsealed(other, shown.folder / "other.db", "limitation")
    assert (batch["n"], batch["unopened"], batch["opened"]) == (DEVICES, DEVICES, 0)
    assert batch["state"] == "destroyed"
