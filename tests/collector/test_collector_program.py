"""The program: starts, stops, refuses, and says it in one line."""

from __future__ import annotations

import csv
import http.client
import io
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from collector_kit import (
    FAR,
    Server,
    cli,
    exchange,
    make_survey,
    new_device,
    period_keys,
    request_body,
    run_cli,
    save,
    serving,
    today,
)

from deniable.collector.store import open_store
from deniable.protocol.limits import MAX_COMPRESSED

SURVEY = make_survey({"yes": {"grace": 30}, "also": {"grace": 30, "min_crowd": 2}})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(SURVEY, tmp_path) as started:
        yield started


def check_failure(done: subprocess.CompletedProcess[str], *parts: str, status: int = 1) -> None:
    """One line on standard error, nothing on standard output."""
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    if status == 1:
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


def test_the_start_line(server: Server) -> None:
    assert server.lines == [f"serving test on http://127.0.0.1:{server.port}\n"]
    assert server.ask("GET", "/livez").status == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_under_load_it_keeps_what_it_accepted(server: Server, number: int) -> None:
    answered = []
    enough = threading.Event()

    def send() -> None:
        with closing(server.connect()) as connection:
            for turn in range(10**6):
                try:
                    reply = exchange(
                        connection, "POST", "/v1/reports", request_body(SURVEY, new_device())
                    )
                except (OSError, http.client.HTTPException):
                    return
                if reply.status != 200:
                    return
                answered.append(reply.json["accepted"])
                if turn == 5:
                    enough.set()

    threads = [threading.Thread(target=send) for _ in range(6)]
    for thread in threads:
        thread.start()
    assert enough.wait(30)
    assert server.stop(number) == 0
    for thread in threads:
        thread.join(30)
    assert set(answered) == {2}
    cli("release", "--store", str(server.store), "--as-of", FAR, "--yes")
    states = json.loads(cli("status", "--store", str(server.store), "--format", "json"))
    counted = [int(state["crowd"]) for state in states]
    # A request whose client was cut off before it read the answer may have counted as well.
    assert len(answered) <= counted[0] == counted[1] <= len(answered) + 6
    assert server.complaints() == []


def test_a_second_serve_is_refused(server: Server) -> None:
    command = ["serve", "--store", str(server.store), "--survey", str(server.surveys[0])]
    check_failure(run_cli(*command, "--port", "0"), "in use by a running collector")
    assert server.ask("GET", "/readyz").status == 200


def test_a_lock_goes_with_its_process(server: Server) -> None:
    server.stop(signal.SIGKILL)
    server.start()
    assert server.ask("GET", "/readyz").status == 200


def test_release_beside_a_serve(server: Server) -> None:
    server.post(request_body(SURVEY, new_device()))
    assert cli("release", "--store", str(server.store)).startswith("released 0, destroyed 0;")
    command = ["release", "--store", str(server.store), "--as-of", FAR, "--yes"]
    check_failure(run_cli(*command), "in use by a running collector")
    server.stop()
    assert cli(*command) == ("released 1, destroyed 1; closed up to 2090-01-01 00:00:00 UTC\n")
    assert cli(*command) == (
        "released 0, destroyed 0; already closed up to 2090-01-01 00:00:00 UTC\n"
    )


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_as_of_asks_first(server: Server, answer: str) -> None:
    server.stop()
    command = ["release", "--store", str(server.store), "--as-of", "2090-01-01T12:30:00+02:00"]
    done = run_cli(*command, stdin=answer)
    assert (done.returncode, done.stdout) == (1, "")
    assert "Close every period up to 2090-01-01 10:30 UTC for good?" in done.stderr
    assert "nothing was closed" in done.stderr
    assert " closed up to 2090-01-01 10:30:00 UTC" in run_cli(*command, stdin="y\n").stdout


KILLED_RELEASE = """
import os, signal, sys
from deniable.collector.keys import KeyRing
KeyRing.destroy = lambda self, scope: os.kill(os.getpid(), signal.SIGKILL)
from deniable.collector.cli import main
main()
"""


def test_killed_between_the_release_and_the_end_of_the_keys(server: Server) -> None:
    """The tallies are out, the keys are not gone; the next start destroys them, timer or not."""
    server.options = ["--release-every", "0"]
    day = today()
    server.post(request_body(SURVEY, new_device(), period=day))
    server.stop()
    command = ["release", "--store", str(server.store), "--as-of", FAR, "--yes"]
    done = subprocess.run([sys.executable, "-P", "-c", KILLED_RELEASE, *command], check=False)
    assert done.returncode == -signal.SIGKILL
    keys = server.store.with_name("collector.db-keys")
    assert [path.name for path in period_keys(keys)] == [f"test.{day}.key"]
    server.start()
    assert period_keys(keys) == []
    states = json.loads(cli("status", "--store", str(server.store), "--format", "json"))
    assert [state["state"] for state in states] == ["destroyed", "released"]
    outcome = server.post(request_body(SURVEY, new_device(), period=day)).json
    assert [rejection["code"] for rejection in outcome["rejected"]] == ["period_closed"] * 2


def test_keys_may_live_elsewhere(tmp_path: Path) -> None:
    elsewhere, day = tmp_path / "elsewhere", today()
    with serving(SURVEY, tmp_path, "--keys", str(elsewhere)) as server:
        server.post(request_body(SURVEY, new_device(), period=day))
        assert [path.name for path in period_keys(elsewhere)] == [f"test.{day}.key"]
        assert not server.store.with_name("collector.db-keys").exists()
        server.stop()
        command = ["--store", str(server.store), "--keys", str(elsewhere), "--yes"]
        cli("release", "--as-of", FAR, *command)
    assert period_keys(elsewhere) == []


def test_a_changed_question_is_refused_at_the_start(server: Server, tmp_path: Path) -> None:
    server.stop()
    changed = make_survey({"yes": {"ask": "Was it?", "grace": 30}})
    command = ["serve", "--store", str(server.store), "--port", "0"]
    check_failure(
        run_cli(*command, "--survey", str(save(changed, tmp_path / "changed.json"))),
        "survey test: question yes: changed under version 1; raise the version",
    )


def test_what_has_expired_is_said_at_the_start(tmp_path: Path) -> None:
    old = make_survey({"yes": {"expires": date(2020, 6, 30)}})
    server = Server([save(old, tmp_path / "old.json")], tmp_path / "collector.db")
    server.start()
    server.stop()
    assert "yes expired on 2020-06-30; no longer asked" in server.log.read_text()


def test_several_surveys(tmp_path: Path) -> None:
    second = save(make_survey({"yes": {}}, name="second"), tmp_path / "second.json")
    with serving(SURVEY, tmp_path, "--survey", str(second)) as server:
        assert server.lines[0].startswith("serving test, second on http://127.0.0.1:")
        assert server.ask("GET", "/v1/survey/second").status == 200


def test_start_failures(tmp_path: Path) -> None:
    survey = str(save(SURVEY, tmp_path / "survey.json"))
    store = str(tmp_path / "collector.db")
    broken = tmp_path / "broken.toml"
    broken.write_text("[survey]\n")
    cases: list[tuple[list[str], str]] = [
        (["--survey", str(tmp_path / "none.toml"), "--store", store], "cannot be read"),
        (["--survey", str(broken), "--store", store], "survey.id: missing"),
        (["--survey", survey, "--survey", survey, "--store", store], "given twice"),
        (["--survey", survey, "--store", str(tmp_path / "none" / "x.db")], "cannot be created"),
        (["--survey", survey, "--store", "mysql://host/db"], "unknown kind mysql://"),
        (["--survey", survey, "--store", store, "--flood-limit", "often"], "flood_limit must be"),
        (["--survey", survey, "--store", store, "--host", "256.0.0.1"], "cannot listen on"),
    ]
    for options, message in cases:
        check_failure(run_cli("serve", "--port", "0", *options), message)
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        options = ["--survey", survey, "--store", store, "--port", port]
        check_failure(run_cli("serve", *options), f"cannot listen on 127.0.0.1:{port}")


def test_a_store_that_is_not_there(tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "none.db")]
    for command in (["status"], ["release"], ["token", "list"], ["token", "revoke", "ann"]):
        check_failure(run_cli(*command, *store), "there is no such store")
    assert list(tmp_path.iterdir()) == []


def test_wrong_usage(tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "collector.db")]
    for command in (
        ["serve", *store],
        ["status"],
        ["status", *store, "--format", "xml"],
        ["release", *store, "--as-of", "soon"],
        ["release", *store, "--as-of", "9999-01-01"],
        ["nonsense"],
    ):
        check_failure(run_cli(*command), status=2)


def test_tokens(tmp_path: Path) -> None:
    store = ["--store", str(tmp_path / "collector.db")]
    token = cli("token", "create", "ann", *store)
    assert len(token.strip()) == 43
    check_failure(run_cli("token", "create", "ann", *store), "token ann exists")
    cli("token", "create", "bob", *store)
    listed = json.loads(cli("token", "list", "--format", "json", *store))
    assert listed == [{"name": name, "scopes": ["analyst"]} for name in ("ann", "bob")]
    assert cli("token", "revoke", "ann", *store) == "revoked ann\n"
    check_failure(run_cli("token", "revoke", "ann", *store), "token ann does not exist")


def test_status_in_every_format(tmp_path: Path) -> None:
    store, day = tmp_path / "collector.db", today()
    with serving(SURVEY, tmp_path) as server:
        server.post(request_body(SURVEY, new_device(), period=day))
    expected: list[dict[str, Any]] = [
        {
            "survey": "test",
            "question": question,
            "version": 1,
            "period": day,
            "batch": None,
            "segment": None,
            "state": "pending",
            "crowd": "0-9",
        }
        for question in ("also", "yes")
    ]
    assert json.loads(cli("status", "--store", str(store), "--format", "json")) == expected
    table = csv.DictReader(io.StringIO(cli("status", "--store", str(store), "--format", "csv")))
    assert list(table) == [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in expected
    ]
    shown = cli("status", "--store", str(store)).splitlines()
    assert shown[0].split() == list(expected[0])
    assert shown[2].split() == ["test", "also", "1", day, "-", "-", "pending", "0-9"]


def test_the_application_runs_under_any_server(tmp_path: Path) -> None:
    """The standard library's, from create_app alone."""
    from wsgiref.simple_server import WSGIRequestHandler, make_server

    from deniable.collector.app import close_app, create_app
    from deniable.collector.config import Config

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    app = create_app(Config(str(tmp_path / "collector.db"), (SURVEY,)))
    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        client = Server([], tmp_path / "collector.db", port=server.server_port)
        assert client.post(request_body(SURVEY, new_device())).json["accepted"] == 2
        assert client.post(bytes(70000)).status == 413
        server.shutdown()
        thread.join()
    close_app(app)
    with closing(open_store(str(tmp_path / "collector.db"))) as store, store.read() as reader:
        assert len(reader.states()) == 2


def test_no_body_is_spooled_to_a_file(tmp_path: Path) -> None:
    """Waitress writes a body to a temporary file once it outgrows its buffer; here none can."""
    from flask import Flask

    from deniable.collector.server import listen, make_server

    with closing(listen("127.0.0.1", 0)) as listening:
        server = make_server(Flask("test"), listening)
        assert server.adj.inbuf_overflow > server.adj.max_request_body_size > MAX_COMPRESSED
        server.task_dispatcher.shutdown()
        server.close()
