"""From a device's answer to an estimate: the real client, collector and commands, over HTTP.

Every device here knows its own secret, so the tally that must come out is known exactly, and so is
every byte sequence that must be found nowhere.
"""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from collector_kit import period_keys

from deniable.client import Client
from deniable.protocol.derivation import permanent_response, pseudonym
from deniable.protocol.periods import period_at
from deniable.protocol.report import device_name
from deniable.protocol.survey import Survey, load_survey

DEVICES = 60
SURVEY = """
[survey]
format = 1
id = "path"
max_epsilon = 6.0

[questions.dark_mode]
version = 1
ask = "Is the dark theme on?"
type = "boolean"
epsilon = 2.0
period = "month"
min_crowd = 50
expires = 2098-12-31

[questions.plan]
version = 1
ask = "Which plan?"
type = "choice"
choices = ["free", "personal", "team"]
mechanism = "oue"
epsilon = 1.5
period = "month"
min_crowd = 50
expires = 2098-12-31

[questions.rare]
version = 1
ask = "Do you use the rare thing?"
type = "boolean"
epsilon = 1.0
period = "month"
min_crowd = 50
expires = 2098-12-31
"""


def command(name: str, *arguments: str | Path) -> list[str]:
    return [str(Path(sys.executable).with_name(name)), *map(str, arguments)]


def run(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(name, *arguments), capture_output=True, text=True, check=False)


@dataclass
class Left:
    """What the path left behind."""

    survey: Survey
    folder: Path
    store: Path
    period: str
    names: list[bytes]
    symbols: dict[str, list[int]]


def answers(number: int) -> dict[str, bool | str]:
    given: dict[str, bool | str] = {
        "dark_mode": number % 3 == 0,
        "plan": ["free", "personal", "team"][number % 3],
    }
    if number < 20:
        given["rare"] = True
    return given


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """Sixty devices have answered; the collector has stopped; nothing is released yet."""
    folder = tmp_path_factory.mktemp("collector")
    devices = tmp_path_factory.mktemp("devices")
    file = devices / "survey.toml"
    file.write_text(SURVEY, encoding="utf-8")
    survey, store = load_survey(file), folder / "collector.db"
    period = period_at("month", datetime.now(UTC)).key
    serve = command("deniable-collector", "serve", "--survey", file, "--store", store)
    names: list[bytes] = []
    with (
        open(folder / "stdout.log", "w") as out,  # noqa: PTH123
        subprocess.Popen(
            [*serve, "--port", "0"], text=True, stdout=subprocess.PIPE, stderr=out
        ) as process,
    ):
        assert process.stdout is not None
        line = process.stdout.readline()
        url = line[line.index("http://") :].split()[0]
        for number in range(DEVICES):
            with Client(survey, url, devices / f"{number}.db", consent="on", strict=True) as app:
                for question, value in answers(number).items():
                    app.record(question, value)
                assert app.flush(force=True).sent == len(answers(number))
            names.append(pseudonym(secret(devices / f"{number}.db"), "path", period))
        process.terminate()
        assert process.wait(timeout=20) == 0
    symbols = {
        name: [
            response.out
            for number in range(DEVICES)
            if name in answers(number)
            and (
                response := permanent_response(
                    secret(devices / f"{number}.db"),
                    question,
                    question.encode(answers(number)[name]),
                )
            )
        ]
        for name, question in survey.questions.items()
    }
    return Left(survey, folder, store, period, names, symbols)


def secret(store: Path) -> bytes:
    with closing(sqlite3.connect(store)) as db:
        (found,) = db.execute("SELECT secret FROM device").fetchone()
    assert isinstance(found, bytes)
    return found


def everything_written(path: Left) -> bytes:
    files = [file for file in path.folder.rglob("*") if file.is_file()]
    assert path.store in files
    return b"".join(file.read_bytes() for file in files)


def test_no_pseudonym_or_address_is_in_any_file(path: Left) -> None:
    haystack = everything_written(path)
    for name in path.names:
        forms = [
            name,
            name[:8],
            name[8:],
            device_name(name).encode(),
            name.hex().encode(),
            name.hex().upper().encode(),
            base64.b64encode(name)[:22],
        ]
        assert not any(form in haystack for form in forms)
    assert b"127.0.0.1" not in haystack


def test_nothing_can_be_read_before_the_release(path: Left) -> None:
    estimate = run("deniable", "estimate", "dark_mode", "--from", path.store)
    assert (estimate.returncode, estimate.stdout) == (1, "")
    assert estimate.stderr.count("\n") == 1
    with closing(sqlite3.connect(path.store)) as db:
        assert db.execute("SELECT count(*) FROM released_tallies").fetchone() == (0,)


@pytest.fixture(scope="module")
def released(path: Left, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the collector's folder in which everything was released."""
    folder = tmp_path_factory.mktemp("released") / "collector"
    shutil.copytree(path.folder, folder)
    store = folder / path.store.name
    arguments = ("--store", store, "--as-of", "2099-01-01", "--yes")
    release = run("deniable-collector", "release", *arguments)
    assert release.returncode == 0, release.stderr
    return store


def test_the_tally_is_what_the_devices_sent(path: Left, released: Path) -> None:
    with closing(sqlite3.connect(released)) as db:
        rows = db.execute("SELECT question, n, document FROM released_tallies ORDER BY 1")
        tallies = {name: (n, json.loads(text)["cells"]) for name, n, text in rows}
    for name in ("dark_mode", "plan"):
        shape = path.survey.questions[name].mechanism.shape
        cells = [0] * shape.cells
        for out in path.symbols[name]:
            if shape.kind == "symbol":
                cells[out] += 1
            else:
                for bit in range(shape.width):
                    cells[bit] += out >> bit & 1
                cells[-1] += 1
        assert tallies[name] == (DEVICES, cells)
    assert "rare" not in tallies


def test_what_is_too_small_is_destroyed(released: Path) -> None:
    states = run("deniable", "periods", "--from", released, "--format", "json")
    found = {row["question"]: row["state"] for row in json.loads(states.stdout)["periods"]}
    assert found == {"dark_mode": "released", "plan": "released", "rare": "destroyed"}
    refused = run("deniable", "estimate", "rare", "--from", released)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert period_keys(f"{released}-keys") == []


def test_the_estimate_is_the_debiased_tally(path: Left, released: Path) -> None:
    estimate = run("deniable", "estimate", "plan", "--from", released, "--format", "json")
    document = json.loads(estimate.stdout)
    assert (document["n"], document["period"]) == (DEVICES, path.period)
    assert [item["value"] for item in document["estimates"]] == ["free", "personal", "team"]
    mechanism = path.survey.questions["plan"].mechanism
    p, q = float(mechanism.p), float(mechanism.q)
    for symbol, item in enumerate(document["estimates"]):
        count = sum(out >> symbol & 1 for out in path.symbols["plan"])
        assert item["frequency"] == pytest.approx((count / DEVICES - q) / (p - q), abs=1e-12)
