"""SIGHUP: new editions of every file or of none, and other replicas learn of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from collector_kit import (
    Clock,
    InProcess,
    Server,
    make_survey,
    new_device,
    request_body,
    save,
    serving,
    today,
)
from key_places import until
from sealed_kit import key, public, sealed_question
from servers import shared_postgres

from deniable.client.sealing import Sealer
from deniable.collector.app import close_app, create_app
from deniable.collector.app_key import HEADER, create_app_key
from deniable.collector.config import Config
from deniable.collector.files import Files
from deniable.collector.reload import Reloader
from deniable.collector.service import Collector
from deniable.protocol.report import report_document, request_document
from deniable.protocol.response import Response
from deniable.protocol.survey import Survey

FIRST = make_survey({"yes": {}})
SECOND = make_survey({"yes": {"version": 2}, "new": {}})
CHANGED = make_survey({"yes": {"ask": "Is it not?"}})
OTHER = make_survey({"yes": {}}, name="other")
OTHER_SECOND = make_survey({"yes": {"version": 2}}, name="other")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    keys = tmp_path / "app.keys"
    key, line = create_app_key("first")
    keys.write_text(f"{line}\n")
    (tmp_path / "app.key").write_text(key)
    other = save(OTHER, tmp_path / "other.json")
    with serving(FIRST, tmp_path, "--survey", str(other), "--app-keys", str(keys)) as started:
        yield started


def hang_up(server: Server) -> list[str]:
    """Send SIGHUP and return the lines that it brings."""
    before = len(reloads(server))
    os.kill(server.pid, signal.SIGHUP)
    until(lambda: len(reloads(server)) > before)
    return reloads(server)[before:]


def reloads(server: Server) -> list[str]:
    return [line for line in server.log.read_text().splitlines() if ": reload: " in line]


def takes(server: Server, survey: Survey, key: str | None = None) -> bool:
    key = key or (server.store.parent / "app.key").read_text()
    reply = server.post(request_body(survey, new_device()), **{HEADER: key})
    return bool(reply.status == 200 and reply.json["accepted"] == len(survey.questions))


def test_new_editions_are_taken_without_a_restart(server: Server) -> None:
    assert takes(server, FIRST)
    assert takes(server, OTHER)
    assert not takes(server, SECOND)
    save(SECOND, server.surveys[0])
    assert not takes(server, SECOND), "nobody told it"
    hang_up(server)
    until(lambda: takes(server, SECOND))
    assert takes(server, FIRST), "devices run last year's app"
    assert takes(server, OTHER)
    assert server.complaints() == []


BROKEN: list[tuple[str | Survey | None, str]] = [
    ("{", "is not valid JSON"),
    ("{}", "survey.json: "),
    (None, "cannot be read"),
    (CHANGED, "question yes: changed under version 1; raise the version"),
    (OTHER_SECOND, "survey other is given twice"),
]


def test_a_broken_file_changes_nothing(server: Server) -> None:
    """Not even the sound edition of another survey beside it."""
    broken = server.surveys[0]
    save(OTHER_SECOND, broken.with_name("other.json"))
    for text, reason in BROKEN:
        if text is None:
            broken.unlink()
        elif isinstance(text, str):
            broken.write_text(text)
        else:
            save(text, broken)
        (line,) = hang_up(server)
        assert ": error: reload: nothing was reloaded, the surveys of before go on: " in line
        assert reason in line
        assert str(broken) in line
        assert not takes(server, OTHER_SECOND)
        assert takes(server, FIRST)
    save(FIRST, broken)
    hang_up(server)
    until(lambda: takes(server, OTHER_SECOND))


def test_app_keys_come_with_the_surveys(server: Server, tmp_path: Path) -> None:
    assert takes(server, FIRST)
    assert not takes(server, FIRST, "another")
    reply = server.post(b"not even looked at")
    assert reply.status == 401
    keys = tmp_path / "app.keys"
    line = keys.read_text()
    keys.write_text("nonsense\n")
    (refusal,) = hang_up(server)
    assert "app.keys, line 1: must begin with sha256:" in refusal
    assert takes(server, FIRST)
    key, other = create_app_key("second")
    keys.write_text(f"{other}\n")
    hang_up(server)
    until(lambda: takes(server, FIRST, key))
    assert not takes(server, FIRST)
    assert line not in server.log.read_text()


def test_another_replica_learns_of_it(tmp_path: Path, clock: Callable[..., Any]) -> None:
    """It is asked to take reports of an edition that only its neighbour was told of."""
    url, keys = shared_postgres().fresh_database(), str(tmp_path / "keys")
    settings: dict[str, Any] = {"keys": keys, "release_every": 0, "clock": clock}
    path = save(FIRST, tmp_path / "survey.json")
    with (
        closing(Collector(Config(url, (FIRST,), **settings))) as told,
        closing(Collector(Config(url, (FIRST,), **settings))) as neighbour,
        closing(Reloader(told, Files((path,)))) as reloader,
    ):
        save(SECOND, path)
        reloader.ask()
        until(lambda: "new" in told.catalogue.questions["test"])
        neighbour.editions.learn()
        assert 2 in neighbour.catalogue.questions["test"]["yes"]


def test_nothing_is_refused_that_another_replica_can_take(tmp_path: Path, clock: Clock) -> None:
    """Whatever is new in an edition, the first request that has it finds it."""
    fresh, expired = public(key("new")).document(), public(key("old"), "expired").document()
    old = {"sealing_keys": [public(key("old")).document()]}
    both = {"sealing_keys": [expired, fresh]}
    first = {"yes": {}, "secret": sealed_question()}
    more = first | {"new": {}}
    newer = more | {"yes": {"version": 2}}
    editions: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        (more, old, "new"),
        (newer, old, "yes"),
        (newer, old | {"segments": ["a"]}, "yes"),
        (newer, both | {"segments": ["a"]}, "secret"),
    ]
    settings: dict[str, Any] = {"keys": str(tmp_path / "keys"), "release_every": 0, "clock": clock}
    config = Config(shared_postgres().fresh_database(), (edition(first, old),), **settings)
    apps = [create_app(config) for _ in range(2)]
    one, another = (InProcess(app, clock) for app in apps)
    try:
        for questions, head, asked in editions:
            survey = edition(questions, head)
            another.collector.load([survey])
            reply = one.post(answer(survey, today(clock()), asked))
            assert reply.json == {"accepted": 1, "duplicate": 0, "rejected": []}
    finally:
        for app in apps:
            close_app(app)


def edition(questions: dict[str, Any], head: dict[str, Any]) -> Survey:
    return make_survey(questions, **head)


def answer(survey: Survey, day: str, name: str) -> Any:
    """A request with one answer, in the survey's last segment if it has any."""
    question, segment = survey.questions[name], [None, *survey.segments][-1]
    if not question.sealed:
        return request_body(survey, new_device(), period=day, segment=segment, questions=[name])
    sealer = Sealer(survey)
    assert sealer.ready()
    _, wire = sealer.seal(question, day, segment, Response(1))
    report = report_document(name, question.version, question.wire_hash, wire)
    return request_document(survey.id, day, segment, new_device(), [report])
