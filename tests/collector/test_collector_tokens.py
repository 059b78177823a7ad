"""Tokens: each opens the doors of its scopes, and none once it is revoked."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from collector_kit import InProcess, make_survey

from deniable.collector.cli import main
from deniable.collector.tokens import SCOPES, create_token, require_token, revoke_token
from deniable.protocol.errors import ParameterError

SURVEY = make_survey({"yes": {}})
DOORS = {
    "/v1/tallies/test/yes": "analyst",
    "/v1/batches/test/yes": "analyst",
    "/v1/periods": "analyst",
    "/metrics": "metrics",
}

Start = Callable[..., InProcess]


@pytest.fixture
def collector(start: Start) -> InProcess:
    return start(SURVEY)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("scopes", [["analyst"], ["metrics"], ["operator"], ["analyst", "metrics"]])
def test_a_scope_opens_its_doors(collector: InProcess, scopes: list[str]) -> None:
    token = create_token(collector.collector.store, "ann", scopes)
    for path, scope in DOORS.items():
        reply = collector.ask("GET", path, headers=bearer(token))
        if {scope, "operator"} & set(scopes):
            assert reply.status == 200, path
        else:
            assert reply.status == 403, path
            assert reply.headers["content-type"] == "application/problem+json"
            assert f'scope="{scope}"' in reply.headers["www-authenticate"]
            assert reply.json["detail"].startswith(f"the token's scopes do not include {scope};")


def test_the_description_tells_of_both_refusals(collector: InProcess) -> None:
    paths = collector.ask("GET", "/openapi.json").json["paths"]
    for path in DOORS:
        described = paths[path.replace("/test/yes", "/{survey}/{question}")]["get"]
        assert {"401", "403"} <= set(described["responses"])
        assert DOORS[path] in described["description"]


def test_a_revoked_token_opens_nothing_at_once(collector: InProcess) -> None:
    store = collector.collector.store
    kept, gone = (create_token(store, name, ["operator"]) for name in ("ann", "bob"))
    for path in DOORS:
        assert collector.ask("GET", path, headers=bearer(gone)).status == 200
    revoke_token(store, "bob")
    for path in DOORS:
        assert collector.ask("GET", path, headers=bearer(gone)).status == 401
        assert collector.ask("GET", path, headers=bearer(kept)).status == 200


def test_the_store_holds_a_hash_of_32_random_bytes(collector: InProcess) -> None:
    store = collector.collector.store
    token = create_token(store, "ann")
    with store.read() as reader:
        kept = reader.tokens()["ann"]
    assert len(kept.digest) == 32
    assert token.encode() not in kept.digest
    assert kept.scopes == ("analyst",)
    require_token(store, f"bearer {token}", "analyst")


@pytest.mark.parametrize("scopes", [[], ["admin"], ["analyst", "root"]])
def test_a_scope_that_is_none(collector: InProcess, scopes: list[str]) -> None:
    with pytest.raises(ParameterError, match="scopes must be some of analyst, metrics, operator"):
        create_token(collector.collector.store, "ann", scopes)


def run(*arguments: str, status: int = 0) -> str:
    done = CliRunner().invoke(main, [*arguments])
    assert done.exit_code == status, done.output
    return done.stdout


def test_the_command_lists_scopes_in_every_format(tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "collector.db")]
    run("token", "create", "ann", *store)
    run("token", "create", "prom", "--scope", "metrics", "--scope", "analyst", *store)
    expected = [
        {"name": "ann", "scopes": ["analyst"]},
        {"name": "prom", "scopes": ["analyst", "metrics"]},
    ]
    assert json.loads(run("token", "list", "--format", "json", *store)) == expected
    rows = list(csv.DictReader(io.StringIO(run("token", "list", "--format", "csv", *store))))
    assert [row["scopes"].split() for row in rows] == [one["scopes"] for one in expected]
    assert run("token", "list", *store).splitlines()[2:] == [
        "ann     analyst",
        "prom    analyst metrics",
    ]
    run("token", "create", "eve", "--scope", "root", *store, status=2)
    assert set(SCOPES) == {"analyst", "metrics", "operator"}
