"""Sets, texts and pairs on the whole path: survey, client, collector, release and estimate.

Every device's secret is known here, so that the tally which must come out is known exactly.
"""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import pytest
from collector_kit import Clock, InProcess, make_survey
from kinds_kit import CHANGING, SEALED, SINGLE, answers
from sealed_kit import key, public, write_key
from served_kit import served

from deniable.analysis import crosstab, estimate, heavy_hitters, unseal
from deniable.analysis.sources import open_source
from deniable.client import Client
from deniable.collector.app import close_app, create_app
from deniable.collector.config import Config
from deniable.protocol.derivation import next_response, permanent_response
from deniable.protocol.mechanisms.oracle import FrequencyOracle
from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.survey import Survey
from deniable.protocol.tally import Tally, parse_tally

DEVICES = 40
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
SURVEY = make_survey(SINGLE, name="kinds", segments=["beta"])


@dataclass
class Left:
    """What the path left behind."""

    store: Path
    tallies: dict[str, Tally]
    sent: dict[str, list[Any]]
    devices: Path


@contextmanager
def collector(folder: Path, clock: Clock, survey: Survey) -> Iterator[InProcess]:
    app = create_app(Config(str(folder / "collector.db"), (survey,), release_every=0, clock=clock))
    try:
        yield InProcess(app, clock)
    finally:
        close_app(app)


@contextmanager
def address(running: InProcess) -> Iterator[str]:
    """Serve a collector; gives its URL."""
    with served(running) as connect:
        yield f"http://127.0.0.1:{connect().socket.getpeername()[1]}"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Left:
    """Forty devices have answered over HTTP, and everything was released."""
    folder = tmp_path_factory.mktemp("kinds")
    clock = Clock(NOON)
    secrets: list[bytes] = []
    with collector(folder, clock, SURVEY) as running, address(running) as url:
        for number in range(DEVICES):
            secrets.append(be_device(folder / f"{number}.db", url, answers(number)))
        running.release(days=10)
        tallies = {
            name: parse_tally(document)
            for name in SURVEY.questions
            for document in running.documents("kinds", name)
        }
    return Left(folder / "collector.db", tallies, sent(secrets), folder)


def be_device(store: Path, url: str, given: dict[str, Any], asked: Survey = SURVEY) -> bytes:
    """Answer, go on tomorrow so that defaults are decided, and send everything."""
    with client(store, url, asked, today := Clock(NOON)) as app:
        app.record_many(given)
        today.advance(days=1)
        assert app.flush(force=True).kept == 0
        assert app.status().sent == len(asked.questions)
    return secret_of(store)


def client(store: Path, url: str, asked: Survey, clock: Clock) -> Client:
    options: dict[str, Any] = {"segment": "beta", "strict": True, "_clock": clock}
    return Client(asked, url, store, "on", **options)


def secret_of(store: Path) -> bytes:
    with closing(sqlite3.connect(store)) as db:
        (secret,) = db.execute("SELECT secret FROM device").fetchone()
    assert isinstance(secret, bytes)
    return secret


def sent(secrets: list[bytes]) -> dict[str, list[Any]]:
    """Every response to every question, drawn again."""
    return {
        name: [
            permanent_response(secret, q, q.encode(answers(number).get(name, q.default)))
            for number, secret in enumerate(secrets)
        ]
        for name, q in SURVEY.questions.items()
    }


def cells_of(question: Question, responses: list[Response]) -> list[int]:
    """What a tally holds of these responses."""
    shape = question.mechanism.shape
    cells = [0] * shape.cells
    for response in responses:
        if shape.kind == "symbol":
            cells[response.row * shape.width + response.out] += 1
        else:
            first = response.row * (shape.width + 1)
            for bit in range(shape.width):
                cells[first + bit] += response.out >> bit & 1
            cells[first + shape.width] += 1
    return cells


@pytest.mark.parametrize("name", SURVEY.questions)
def test_the_tally_is_what_the_devices_sent(path: Left, name: str) -> None:
    tally = path.tallies[name]
    assert (tally.n, tally.segment) == (DEVICES, "beta")
    assert [*tally.cells] == cells_of(SURVEY.questions[name], path.sent[name])


def test_no_answer_is_in_any_file(path: Left) -> None:
    """Nor on any device."""
    kept = b"".join(file.read_bytes() for file in path.devices.rglob("*") if file.is_file())
    for word in ("cafe\u0301", "x" * 20, "\u202eabcde"):
        assert word.encode() not in kept


def test_sealed_answers_are_opened_by_the_analyst_alone(tmp_path: Path) -> None:
    """Every kind that has a second round; which row a device is in survives both rounds."""
    private = key()
    sealing = make_survey(
        SEALED, name="kinds", segments=["beta"], sealing_keys=[public(private).document()]
    )
    secrets: list[bytes] = []
    with collector(tmp_path, Clock(NOON), sealing) as running, address(running) as url:
        for number in range(12):
            given = {name: value for name, value in answers(number).items() if name in SEALED}
            given |= {"found": "abc", "both-bits": ("dark", "pro")}
            secrets.append(be_device(tmp_path / f"{number}.db", url, given, sealing))
        running.release(days=10)
        assert all(running.documents("kinds", name) == [] for name in SEALED)
    keys = write_key(tmp_path / "key.json", private)
    for name, question in sealing.questions.items():
        unseal(name, tmp_path / "collector.db", keys=keys, to=tmp_path / "opened.db")
        [tally] = open_source(str(tmp_path / "opened.db")).tallies("kinds", name)
        drawn = [permanent_response(secret, question, 0) for secret in secrets]
        rows = Counter(response.row for response in drawn if response is not None)
        assert (tally.n, tally.question) == (12, question)
        assert rows_of(question, tally.cells) == rows


def rows_of(question: Question, cells: Sequence[int]) -> Counter[int]:
    """How many reports each row of a tally has."""
    shape = question.mechanism.shape
    stride = len(cells) // shape.rows
    found: Counter[int] = Counter()
    for row in range(shape.rows):
        part = cells[row * stride : (row + 1) * stride]
        found[row] = part[-1] if shape.kind == "bits" else sum(part)
    return +found


HORIZONS = make_survey(CHANGING, name="kinds", segments=["beta"])
PERIODS = 8


def course(number: int, t: int) -> dict[str, Any]:
    """What a device is told in period t: changes at most twice, rises, and now and then nothing."""
    told = {"dark": (t > number % 9) != (t > 6), "launches": t * (number % 3)}
    return told if (number + t) % 5 else {}


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """Forty devices have gone through eight days, and everything was released."""
    folder = tmp_path_factory.mktemp("changed")
    secrets: list[bytes] = []
    with collector(folder, clock := Clock(NOON), HORIZONS) as running, address(running) as url:
        clock.advance(days=PERIODS)  # nothing is released meanwhile, so every period is open
        for number in range(DEVICES):
            store = folder / f"{number}.db"
            with client(store, url, HORIZONS, today := Clock(NOON)) as app:
                for t in range(1, PERIODS + 1):
                    app.record_many(course(number, t))
                    today.advance(days=1)
                    if t % 2 == 0:
                        assert app.flush(force=True).dropped == 0
            secrets.append(secret_of(store))
        running.release(days=5)
    return folder / "collector.db", secrets


@pytest.mark.parametrize("name", CHANGING)
def test_every_period_of_a_horizon_is_counted_as_it_was_drawn(
    changed: tuple[Path, list[bytes]], name: str
) -> None:
    question, (store, secrets) = HORIZONS.questions[name], changed
    drawn: dict[str, list[Response]] = {}
    for number, secret in enumerate(secrets):
        memory = None
        for t in range(1, PERIODS + 1):
            value = course(number, t).get(name)
            symbol = None if value is None else question.encode(value)
            response, memory = next_response(secret, question, memory, symbol, t)
            if response is not None:
                day = (NOON + timedelta(days=t - 1)).date().isoformat()
                drawn.setdefault(day, []).append(response)
    tallies = {tally.period: tally for tally in open_source(str(store)).tallies("kinds", name)}
    assert len(drawn) == PERIODS
    assert {day: [*tally.cells] for day, tally in tallies.items()} == {
        day: cells_of(question, responses) for day, responses in drawn.items()
    }


def frequencies(name: str, store: Path, **options: Any) -> list[tuple[str, Any, float]]:
    """(period, value, frequency) of every estimate."""
    records = estimate(name, store, **options).records()
    named = "estimate" if name == "tools" else "frequency"
    return [(row["period"], row["value"], row[named]) for row in records if "value" in row]


@pytest.mark.parametrize("name", ["tools", "both"])
def test_the_estimates_are_the_debiased_tally(path: Left, name: str) -> None:
    question = SURVEY.questions[name]
    mechanism = cast("FrequencyOracle", question.mechanism)
    found = {value: frequency for _, value, frequency in frequencies(name, path.store)}
    for symbol, value in enumerate(question.choices):
        count = sum(mechanism.supports(symbol, response) for response in path.sent[name])
        expected = (Fraction(count, DEVICES) - mechanism.q) / (mechanism.p - mechanism.q)
        assert found[value] == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("name", ["home", "word", "found"])
def test_texts_are_estimated_by_their_names(path: Left, name: str) -> None:
    """In the form in which devices have them."""
    found = frequencies(name, path.store, strings=["ABC", "fade", "cab"])
    assert [value for _, value, _ in found][:3] == ["abc", "fade", "cab"]
    assert all(math.isfinite(frequency) for _, _, frequency in found)


def test_a_joint_question_has_its_table_and_texts_are_looked_for(path: Left) -> None:
    """Forty devices tell nothing for sure: that they are read is all."""
    assert crosstab("both", path.store).document()["n"] == DEVICES
    assert heavy_hitters("found", path.store).document()["n"] == DEVICES


@pytest.mark.parametrize("name", CHANGING)
def test_every_period_of_a_horizon_is_estimated(
    changed: tuple[Path, list[bytes]], name: str
) -> None:
    store, _ = changed
    records = estimate(name, store, every=True).records()
    days = [(NOON + timedelta(days=day)).date().isoformat() for day in range(PERIODS)]
    assert sorted({row["period"] for row in records}) == days
