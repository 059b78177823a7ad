"""The apps in examples/apps/, each run as its people would run it."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import pty
import re
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import requests
from client_kit import Collector, collector

from deniable.client import Client
from deniable.client.reasons import REFUSED
from deniable.client.testing import MemoryClient

ROOT = Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs" / "apps.md"
APPS = ROOT / "examples" / "apps"
SURVEY = APPS / "survey.toml"
TOKEN = re.compile(r'name="(\w*token)" value="([^"]+)"')


@pytest.fixture
def heard() -> Iterator[Collector]:
    with collector() as server:
        yield server


@pytest.fixture
def environment(tmp_path: Path, heard: Collector) -> dict[str, str]:
    """Of an app that reports to a collector of the test's and keeps its store in its folder."""
    state = {"XDG_STATE_HOME": str(tmp_path), "NOTES_COLLECTOR": heard.url}
    return {**os.environ, **state, "NOTES_SECRET": "of-this-test"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "deniable" / "acme-notes.db"


def example(name: str) -> ModuleType:
    """An app as a module, which is in no package."""
    spec = importlib.util.spec_from_file_location(name, APPS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def running(*command: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A program from its first to its last line; it must end when it is told to."""
    with subprocess.Popen(
        [sys.executable, "-P", *command],
        cwd=APPS,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield process
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
        finally:
            process.kill()


def await_line(process: subprocess.Popen[str], pattern: str) -> str:
    """The first group of the first line that a process prints and that matches."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if found := re.search(pattern, line):
            return found[1]
    raise AssertionError("".join(seen))


def sent_by_force(store: Path, heard: Collector) -> list[tuple[str, Any]]:
    """(question, response) of what a store has to send, from the collector that got it."""
    with Client(SURVEY, heard.url, store, strict=True) as client:
        client.flush(force=True)
    return [(name, response) for _, name, response in heard.reports]


@pytest.mark.parametrize("name", REFUSED)
def test_the_guide_explains_every_refusal(name: str) -> None:
    assert f"`{name}`" in GUIDE.read_text(encoding="utf-8")


# --- the web


@pytest.mark.parametrize(
    ("package", "target"),
    [("flask", "flask_app:create_app()"), ("django", "django_app:application")],
)
def test_a_site_under_gunicorn_reports_once_what_its_workers_were_asked(
    package: str, target: str, environment: dict[str, str], store: Path, heard: Collector
) -> None:
    pytest.importorskip(package)
    options = ["--preload", "--workers", "2", "--bind", "127.0.0.1:0"]
    with running("-m", "gunicorn", *options, target, environment=environment) as process:
        url = await_line(process, r"Listening at: (\S+)")
        with requests.Session() as browser:
            assert browser.get(f"{url}/export/pdf", timeout=20).text == "exported"
            page = browser.get(f"{url}/privacy", timeout=20).text
            assert "Reports: local" in page
            forged = browser.post(f"{url}/privacy", data={"answer": "yes"}, timeout=20)
            assert forged.status_code == 403
            answer = {**dict(TOKEN.findall(page)), "answer": "yes"}
            page = browser.post(f"{url}/privacy", data=answer, timeout=20).text
            assert "Reports: on, decided on" in page
        for _ in range(20):  # each over a connection of its own, so that both workers have some
            assert requests.get(f"{url}/export/html", timeout=20).text == "exported"
        assert requests.get(f"{url}/export/exe", timeout=20).status_code == 404
    assert [name for name, _ in sent_by_force(store, heard)] == ["export"]


def test_the_flask_app_is_tested_with_the_client_in_memory() -> None:
    with MemoryClient(SURVEY) as telemetry:
        browser = example("flask_app").create_app(telemetry).test_client()
        page = browser.get("/privacy").text
        assert "&#34;acme-notes&#34;" in page or '"acme-notes"' in page  # the report that it shows
        browser.get("/export/pdf")
        assert telemetry.recorded == [("export", "pdf")]
        refused = {**dict(TOKEN.findall(page)), "answer": "no"}
        assert browser.post("/privacy", data={**refused, "token": "é"}).status_code == 403
        assert browser.post("/privacy", data=refused).status_code == 303
        assert telemetry.status().state == "off"


def test_django_is_asked_by_its_own_server(environment: dict[str, str], store: Path) -> None:
    pytest.importorskip("django")
    command = ("django_app.py", "runserver", "--noreload", "127.0.0.1:0")
    with running("-u", *command, environment=environment) as process:
        url = await_line(process, r"server at (http://\S+\d)")
        with requests.Session() as browser:
            page = browser.get(f"{url}/privacy", timeout=20).text
            refused = {**dict(TOKEN.findall(page)), "answer": "no"}
            forged = {**refused, "csrfmiddlewaretoken": "é"}
            assert browser.post(f"{url}/privacy", data=forged, timeout=20).status_code == 403
            assert "Reports: off" in browser.post(f"{url}/privacy", data=refused, timeout=20).text
            assert browser.get(f"{url}/export/pdf", timeout=20).text == "exported"
    with Client(SURVEY, "http://127.0.0.1:9", store) as client:
        assert (client.status().state, client.sent()) == ("off", [])


# --- the command line


def tool(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-P", "cli_tool.py", *arguments],
        cwd=APPS,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


def on_a_terminal(environment: dict[str, str], typed: bytes, *arguments: str) -> str:
    """What the tool prints on a terminal whose person types something."""
    mine, its = pty.openpty()
    os.write(mine, typed)
    command = [sys.executable, "-P", "cli_tool.py", *arguments]
    with subprocess.Popen(
        command, cwd=APPS, env=environment, stdin=its, stdout=its, stderr=its
    ) as process:
        os.close(its)
        shown = b""
        while select.select([mine], [], [], 60)[0]:
            try:
                shown += os.read(mine, 65536)
            except OSError:  # the tool has ended
                break
        assert process.wait(timeout=20) == 0
    os.close(mine)
    return shown.decode()


@pytest.mark.parametrize(
    ("typed", "state"), [(b"yes\n", "on"), (b"n\n", "off"), (b"\n", "off")], ids=["yes", "no", "-"]
)
def test_the_tool_asks_once_and_on_a_terminal_only(
    environment: dict[str, str], typed: bytes, state: str
) -> None:
    assert "exported" in tool(environment, "export", "a.md", "pdf")  # nobody there to be asked
    assert "Send randomized reports?" in on_a_terminal(environment, typed, "export", "a.md", "pdf")
    assert "Send" not in on_a_terminal(environment, b"", "export", "a.md", "html")
    assert f"reports: {state}" in tool(environment, "privacy")


def test_an_end_of_input_is_no_answer(environment: dict[str, str]) -> None:
    shown = on_a_terminal(environment, b"\x04", "export", "a.md", "pdf")
    assert "Traceback" not in shown
    assert "a.md is exported as pdf" in shown
    assert "reports: local" in tool(environment, "privacy")
    assert "Send randomized reports?" in on_a_terminal(environment, b"n\n", "export", "b.md", "pdf")


def test_the_tool_takes_a_decision_as_a_command(
    environment: dict[str, str], store: Path, heard: Collector
) -> None:
    assert "reports: on" in tool(environment, "privacy", "yes")
    tool(environment, "export", "a.md", "pdf")
    assert "1 wait" in tool(environment, "privacy")
    assert [name for name, _ in sent_by_force(store, heard)] == ["export"]
    assert "1 were sent" in tool(environment, "privacy")
    assert "reports: off" in tool(environment, "privacy", "no")


def test_the_tool_asks_nobody_who_said_no_to_all_apps(
    environment: dict[str, str], store: Path
) -> None:
    environment["DO_NOT_TRACK"] = "1"
    assert "Send" not in on_a_terminal(environment, b"", "export", "a.md", "pdf")
    assert "reports: off (DO_NOT_TRACK" in tool(environment, "privacy")
    assert not store.exists()


# --- asyncio


def test_the_loop_goes_on_while_another_process_holds_the_store(tmp_path: Path) -> None:
    """A real lock is held for as long as the loop takes for a thousand turns and a request."""
    path = tmp_path / "notes.db"
    app = example("asyncio_app")

    async def held(telemetry: Client) -> str:
        turns = 0
        reply = await app.Notes(telemetry).obey(["export", "pdf"])
        while turns < 1000:
            await asyncio.sleep(0)
            turns += 1
        return f"{reply} after {turns} turns"

    with Client(SURVEY, "http://127.0.0.1:9", path, consent="on", strict=True) as telemetry:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            assert asyncio.run(held(telemetry)) == "exported after 1000 turns"
            assert threading.active_count() > 1  # the one that waits for the store
            other.execute("ROLLBACK")
        assert telemetry.status().queued == 1


def test_the_server_takes_commands_and_ends_when_told(
    environment: dict[str, str], store: Path, heard: Collector
) -> None:
    environment["PORT"] = "0"

    async def ask(port: int, *commands: str) -> list[str]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write("".join(f"{command}\n" for command in commands).encode())
        writer.write_eof()
        answers = (await reader.read()).decode().splitlines()
        writer.close()
        await writer.wait_closed()
        return answers

    with running("asyncio_app.py", environment=environment) as process:
        port = int(await_line(process, r"serving on port (\d+)"))
        assert asyncio.run(ask(port, "privacy", "x" * 200_000, "privacy")) == ["local"]
        asked = asyncio.run(
            ask(port, "privacy", "export pdf", "privacy yes", "export html", "privacy", "?")
        )
    assert process.returncode == 0
    assert asked == ["local", "exported", "stored", "exported", "on", "unknown command"]
    assert [name for name, _ in sent_by_force(store, heard)] == ["export"]


def test_the_server_ends_without_a_word_while_somebody_is_connected(
    environment: dict[str, str],
) -> None:
    environment["PORT"] = "0"
    with running("asyncio_app.py", environment=environment) as process:
        port = int(await_line(process, r"serving on port (\d+)"))
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(b"privacy\n")
            assert connection.recv(100) == b"local\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=20) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""


# --- the desktop


@pytest.fixture(scope="module")
def display(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A screen to draw on: the one there is, or one in memory."""
    if os.environ.get("DISPLAY") or sys.platform in ("win32", "darwin"):
        yield
        return
    server = shutil.which("Xvfb")
    if server is None:
        pytest.skip("there is no display, and no Xvfb to make one")
    reading, writing = os.pipe()
    command = [server, "-displayfd", str(writing), "-screen", "0", "640x480x24"]
    with subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL) as process:
        os.close(writing)
        with os.fdopen(reading) as numbers, pytest.MonkeyPatch.context() as patch:
            number = numbers.readline().strip()
            if not number:
                pytest.skip("Xvfb does not start here")
            patch.setenv("DISPLAY", f":{number}")
            yield
        process.terminate()


@pytest.fixture
def tk_app() -> ModuleType:
    pytest.importorskip("tkinter")
    return example("tk_app")


def test_the_dialog_shows_what_would_be_sent(tk_app: ModuleType) -> None:
    with MemoryClient(SURVEY) as telemetry:
        assert '"response"' in tk_app.question(telemetry)
        assert telemetry.status().queued == 0


@pytest.mark.parametrize(("answer", "state"), [(True, "on"), (False, "off"), (None, "local")])
def test_the_window_asks_at_its_first_start(
    display: None,
    tk_app: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    answer: bool | None,
    state: str,
) -> None:
    asked: list[str] = []

    def dialog(title: str, text: str, **options: object) -> bool | None:
        asked.append(text)
        return answer

    monkeypatch.setattr(tk_app.messagebox, "askyesnocancel", dialog)
    with MemoryClient(SURVEY) as telemetry:
        window = tk_app.Notes(telemetry)
        window.update()
        window.theme.invoke()
        window.destroy()
        assert len(asked) == 1
        assert telemetry.status().state == state
        assert telemetry.recorded == ([] if state == "off" else [("dark_mode", True)])


def test_the_window_asks_nobody_who_has_decided(
    display: None, tk_app: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(tk_app.messagebox, "askyesnocancel", lambda *a, **k: asked.append(a))
    with MemoryClient(SURVEY) as telemetry:
        telemetry.opt_out()
        window = tk_app.Notes(telemetry)
        window.update()
        window.destroy()
    assert asked == []
