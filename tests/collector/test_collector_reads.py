"""What the collector tells, and to whom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from collector_kit import InProcess, make_survey, new_device, request_body

from deniable.collector.tokens import create_token, revoke_token
from deniable.protocol.errors import ParameterError
from deniable.protocol.survey import parse_compiled
from deniable.protocol.tally import parse_tally

Start = Callable[..., InProcess]
SURVEY = make_survey({"yes": {}, "crowded": {"min_crowd": 3}}, segments=["a"])
GUARDED = ["/v1/tallies/test/yes", "/v1/periods", "/metrics"]


@pytest.fixture
def collector(start: Start) -> InProcess:
    return start(SURVEY, make_survey({"yes": {}}, name="second"))


@pytest.fixture
def bearer(collector: InProcess) -> dict[str, str]:
    token = create_token(collector.collector.store, "ann", ["operator"])
    return {"Authorization": f"Bearer {token}"}


def send(collector: InProcess, period: str, count: int, segment: str | None = None) -> None:
    for _ in range(count):
        body = request_body(SURVEY, new_device(), period=period, segment=segment)
        assert collector.post(body).json["accepted"] == 2


def test_a_survey_is_public_and_whole(collector: InProcess) -> None:
    reply = collector.ask("GET", "/v1/survey/test")
    assert reply.headers["content-type"] == "application/json"
    assert parse_compiled(reply.json) == SURVEY
    assert collector.ask("GET", "/v1/survey/none").status == 404


def test_tallies_come_as_documents_in_order(collector: InProcess, bearer: dict[str, str]) -> None:
    for period, count in (("2026-11-30", 2), ("2026-11-29", 1)):
        send(collector, period, count)
    send(collector, "2026-11-29", 3, "a")
    collector.release(days=5)
    tallies = [
        parse_tally(document)
        for document in collector.ask("GET", "/v1/tallies/test/yes", headers=bearer).json["tallies"]
    ]
    assert [(tally.period, tally.segment, tally.n) for tally in tallies] == [
        ("2026-11-29", None, 1),
        ("2026-11-29", "a", 3),
        ("2026-11-30", None, 2),
    ]
    crowded = collector.ask("GET", "/v1/tallies/test/crowded", headers=bearer).json["tallies"]
    assert [(document["segment"], document["n"]) for document in crowded] == [("a", 3)]


@pytest.mark.parametrize("path", ["/v1/tallies/none/yes", "/v1/tallies/test/none"])
def test_unknown_tallies(collector: InProcess, bearer: dict[str, str], path: str) -> None:
    assert collector.ask("GET", path, headers=bearer).status == 404


def test_periods(collector: InProcess, bearer: dict[str, str]) -> None:
    send(collector, "2026-11-30", 2)
    both = collector.ask("GET", "/v1/periods", headers=bearer).json["periods"]
    assert both == [
        {
            "survey": "test",
            "question": question,
            "version": 1,
            "period": "2026-11-30",
            "batch": None,
            "segment": None,
            "state": "pending",
            "crowd": "0-9",
        }
        for question in ("crowded", "yes")
    ]
    assert collector.ask("GET", "/v1/periods?survey=test", headers=bearer).json["periods"] == both
    assert collector.ask("GET", "/v1/periods?survey=second", headers=bearer).json["periods"] == []
    assert collector.ask("GET", "/v1/periods?survey=none", headers=bearer).status == 404


@pytest.mark.parametrize("path", GUARDED)
@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x"],
)
def test_a_token_is_needed(collector: InProcess, path: str, authorization: str | None) -> None:
    token = create_token(collector.collector.store, "ann")
    headers = {} if authorization is None else {"Authorization": authorization.format(token=token)}
    reply = collector.ask("GET", path, headers=headers)
    assert reply.status == 401
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.headers["www-authenticate"] == 'Bearer realm="deniable"'


@pytest.mark.parametrize("path", GUARDED)
def test_a_token_opens_until_it_is_revoked(
    collector: InProcess, bearer: dict[str, str], path: str
) -> None:
    create_token(collector.collector.store, "bob")
    assert collector.ask("GET", path, headers=bearer).status == 200
    revoke_token(collector.collector.store, "ann")
    assert collector.ask("GET", path, headers=bearer).status == 401


def test_tokens_are_long_and_stored_as_hashes(collector: InProcess) -> None:
    store = collector.collector.store
    tokens = [create_token(store, name) for name in ("ann", "bob")]
    assert len(set(tokens)) == 2
    assert {len(token) for token in tokens} == {43}
    content = Path(collector.collector.config.store).read_bytes()
    assert not [token for token in tokens if token.encode() in content]


@pytest.mark.parametrize("name", ["", "two words", "-x", "a" * 65, "ä"])
def test_token_names(collector: InProcess, name: str) -> None:
    with pytest.raises(ParameterError, match="token name must be"):
        create_token(collector.collector.store, name)


def test_health(collector: InProcess) -> None:
    for path in ("/livez", "/readyz"):
        reply = collector.ask("GET", path)
        assert (reply.status, reply.body) == (200, b"ok\n")


def meters(collector: InProcess, bearer: dict[str, str]) -> dict[str, float]:
    text = collector.ask("GET", "/metrics", headers=bearer).body.decode()
    lines = [line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines}


def test_meters(collector: InProcess, bearer: dict[str, str]) -> None:
    body = request_body(SURVEY, new_device(), period="2026-11-30")
    collector.post(body)
    collector.post(body)
    body["reports"][0]["version"] = 7
    collector.post(body)
    collector.post({})
    collector.release(days=4)
    seen = meters(collector, bearer)
    assert seen["deniable_reports_accepted_total"] == 2
    assert seen["deniable_reports_duplicate_total"] == 3
    assert seen['deniable_reports_rejected_total{code="wrong_version"}'] == 1
    assert seen['deniable_requests_refused_total{status="422"}'] == 1
    assert seen["deniable_tallies_released_total"] == 1
    assert seen["deniable_tallies_destroyed_total"] == 1
    assert seen["deniable_commit_seconds_count"] == 3
    assert seen["deniable_requests_waiting"] == 0


def test_no_meter_tells_a_device(collector: InProcess, bearer: dict[str, str]) -> None:
    send(collector, "2026-11-30", 1)
    before = set(meters(collector, bearer))
    send(collector, "2026-11-30", 5, "a")
    assert set(meters(collector, bearer)) == before
