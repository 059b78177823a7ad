"""What `make demo-cluster` shows, with fewer devices and a replica that stays away for a while.

The parts are the demo's own: real PostgreSQL and Valkey, real collectors and devices, and the
commands that an operator and an analyst run.
"""

from __future__ import annotations

import json
import socket
import sys
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples"))

from cluster import KEY, Cluster
from commands import run
from devices import Answers, Arrived, answer_all, device_folder, people
from truth import shares, statistics

from deniable.protocol.question import Question
from deniable.protocol.survey import load_survey

DEVICES = 600
AWAY = 100
LIMIT = 7.0  # standard errors; the odds that one of six estimates is further off are 2e-11
FAR = "2098-12-01"


@pytest.mark.timeout(300)
def test_sealed_reports_on_two_replicas(tmp_path: Path) -> None:
    """One test, for what it starts is dear: ten seconds of two free cores."""
    rows = people(DEVICES)
    with (
        TemporaryDirectory(prefix="deniable-devices-", dir=device_folder()) as devices,
        Cluster(tmp_path, DEVICES) as cluster,
    ):
        with cluster.serving() as urls:
            everything_arrives(cluster, urls, rows, Path(devices))
        cluster.release(FAR)
        survey = load_survey(cluster.survey)
        for question in survey.questions.values():
            every_device_counts_once(cluster, question, rows)
        nothing_opens_without_the_key(cluster, tmp_path)
        places = [*urls, cluster.floods]
    for place in places:
        with closing(socket.socket()) as client:
            assert client.connect_ex(("127.0.0.1", int(place.rpartition(":")[2]))) != 0


def everything_arrives(
    cluster: Cluster, urls: list[str], rows: list[Answers], devices: Path
) -> None:
    """A replica is killed under load, a hundred devices come while it is away, and it is back."""
    killed = cluster.replicas[1]
    mixed = answer_all(rows[AWAY:], cluster.survey, urls, devices, killed.kill)
    assert mixed.reports == 3 * (DEVICES - AWAY)
    alone = answer_all(rows[:AWAY], cluster.survey, urls, devices, lambda: None)
    assert alone == Arrived(reports=3 * AWAY, moved=AWAY // 2)
    killed.start()


def every_device_counts_once(cluster: Cluster, question: Question, rows: list[Answers]) -> None:
    store = cluster.tallies(question.id)
    printed = run("deniable", "estimate", question.id, "--from", store, "--format", "json")
    estimate = json.loads(printed)
    assert estimate["n"] == DEVICES
    found = shares if question.range is None else statistics
    lines = list(found(question, estimate, rows))
    assert lines
    for _, true, item, estimated in lines:
        assert abs(estimated - true) < LIMIT * item["standard_error"]


def nothing_opens_without_the_key(cluster: Cluster, folder: Path) -> None:
    """Another key of the same id opens nothing of what the collectors kept and released."""
    other = folder / "other.json"
    run("deniable", "sealing-key", "create", other, "--id", KEY)
    place = ("--from", cluster.replicas[0].url, "--key", other, "--to", folder / "other.db")
    command = ("unseal", "limitation", *place, "--format", "json")
    (batch,) = json.loads(run("deniable", *command, token=cluster.token))["batches"]
    assert (batch["n"], batch["unopened"], batch["opened"]) == (DEVICES, DEVICES, 0)
    assert batch["state"] == "destroyed"
