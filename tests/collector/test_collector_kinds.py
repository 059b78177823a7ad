"""Questions of every kind at the collector: taken, refused, folded and released, by any store."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from collector_kit import Clock, InProcess, make_survey, new_device, request_body, save
from kinds_kit import CHANGING, SINGLE
from servers import shared_postgres

from deniable.collector.app import close_app, create_app
from deniable.collector.config import Config
from deniable.collector.doctor import Case, examine
from deniable.collector.tokens import create_token
from deniable.protocol.question import Question
from deniable.protocol.tally import parse_tally

SURVEY = make_survey({**SINGLE, **CHANGING}, segments=["a"])
DAY = "2026-11-30"
STORES: dict[str, Callable[[Path], str]] = {
    "sqlite": lambda folder: str(folder / "collector.db"),
    "postgresql": lambda folder: shared_postgres().fresh_database(),
}


@contextmanager
def opened(location: str, folder: Path, *surveys: Any, clock: Clock) -> Iterator[InProcess]:
    keys = str(folder / "keys")
    settings: dict[str, Any] = {"release_every": 0, "clock": clock, "keys": keys}
    app = create_app(Config(location, surveys, **settings))
    try:
        yield InProcess(app, clock)
    finally:
        close_app(app)


@pytest.fixture(params=STORES)
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    (tmp_path / "keys").mkdir(mode=0o700)
    return STORES[request.param](tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2026, 11, 30, 12, tzinfo=UTC))


def test_every_kind_is_counted_and_released(location: str, tmp_path: Path, clock: Clock) -> None:
    """By a process that loads the survey, and by one that finds it in the store."""
    with opened(location, tmp_path, SURVEY, clock=clock) as collector:
        count = len(SURVEY.questions)
        body = request_body(SURVEY, new_device(), period=DAY, segment="a")
        assert collector.post(body).json == {"accepted": count, "duplicate": 0, "rejected": []}
        assert collector.post(body).json["duplicate"] == count
    with opened(location, tmp_path, clock=clock) as collector:
        other = request_body(SURVEY, new_device(), period=DAY, segment="a")
        assert collector.post(other).json["accepted"] == count
        known = collector.collector.catalogue.questions["test"]
        assert {name: versions[1].question for name, versions in known.items()} == SURVEY.questions
        token = create_token(collector.collector.store, "reader", ["analyst"])
        bearer = {"Authorization": f"Bearer {token}"}
        collector.release(days=5)
        for name, question in SURVEY.questions.items():
            cells = [0] * question.mechanism.shape.cells
            for sent in (body, other):
                [wire] = [r["response"] for r in sent["reports"] if r["question"] == name]
                question.mechanism.shape.fold(cells, question.unpack(wire))
            reply = collector.ask("GET", f"/v1/tallies/test/{name}", headers=bearer)
            [document] = reply.json["tallies"]
            tally = parse_tally(document)
            assert (tally.n, tally.segment, [*tally.cells]) == (2, "a", cells)
            assert tally.question == question
    file = str(save(SURVEY, tmp_path / "survey.json"))
    case = Case(location, str(tmp_path / "keys"), surveys=(file,))
    [finding] = [finding for finding in examine(case) if finding.check == "survey"]
    assert finding.detail == f"{file}: is what the store has; every hash is the same"


def wrong(question: Question) -> Iterator[object]:
    """Responses that no device can give, of the right JSON type or not."""
    shape = question.mechanism.shape
    yield from (None, True, 1.0, "", "!", {}, [], [0], [0, 0, 0], -1, 10**30, "A" * 9000)
    if shape.kind == "symbol":
        yield from (shape.width, [0, shape.width], [shape.rows, 0], [-1, 0], ["0", 0])
        yield [0, 0] if shape.rows == 1 else 0
        return
    empty = bytes(-(-shape.width // 8))
    full = [empty, b"\xff" * len(empty), empty + b"\0", empty[1:]]
    packed = [base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in full]
    rows = range(shape.rows + 1)
    yield from packed if shape.rows == 1 else ([row, each] for row in rows for each in packed)
    yield [0, packed[0]] if shape.rows == 1 else packed[0]


def test_what_no_device_can_have_sent_is_refused_by_itself(tmp_path: Path, clock: Clock) -> None:
    location = STORES["sqlite"](tmp_path)
    (tmp_path / "keys").mkdir(mode=0o700)
    with opened(location, tmp_path, SURVEY, clock=clock) as collector:
        for name, question in SURVEY.questions.items():
            good = request_body(SURVEY, new_device(), period=DAY, questions=[name])
            [report] = good["reports"]
            bad = [report | {"response": response} for response in wrong(question)]
            for start in range(0, len(bad), 100):
                some = bad[start : start + 100]
                reply = collector.post(good | {"reports": some, "device": new_device()})
                codes = [each["code"] for each in reply.json["rejected"]]
                assert codes == ["bad_response"] * len(some), name
                assert json.dumps(reply.json).count("AAAA") == 0
            assert collector.post(good).json["accepted"] == 1


def test_the_survey_is_served_as_it_was_compiled(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "keys").mkdir(mode=0o700)
    with opened(STORES["sqlite"](tmp_path), tmp_path, SURVEY, clock=clock) as collector:
        served = {
            each["id"]: each for each in collector.ask("GET", "/v1/survey/test").json["questions"]
        }
        assert served == {name: q.document() for name, q in SURVEY.questions.items()}
