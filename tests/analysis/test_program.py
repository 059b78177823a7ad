"""The command ``deniable`` as it is started: what must be shown, and how it fails."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from survey_documents import choice_table, make_survey
from tally_places import TOKEN, serving, state, tally, write_store

from deniable.analysis.cli import COMMANDS, main

PROGRAM = "import sys; from deniable.analysis.cli import main; main(prog_name='deniable')"
SURVEY = make_survey({"health": choice_table(period="week"), "mood": choice_table(period="day")},
                     max_epsilon=16, linkable=True)  # fmt: skip
HEALTH, MOOD = SURVEY.questions.values()


def start(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-c", PROGRAM, *arguments]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(command, text=True, check=False, timeout=60, **options)


def shown(*arguments: str, **options: Any) -> Any:
    done = start(*arguments, "--format", "json", **options)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout, parse_constant=pytest.fail)


def test_debias_as_in_the_textbook() -> None:
    document = shown(
        "debias", "--mechanism", "grr", "--epsilon", "1.0986122886681098", "--counts", "240,160"
    )
    assert set(document) >= {"question", "period", "segment", "n", "mechanism", "epsilon"}
    yes = document["estimates"][1]
    assert set(yes) == {"value", "count", "frequency", "standard_error", "low", "high"}
    assert yes["value"] == 1
    assert yes["count"] == pytest.approx(120, abs=1e-9)
    assert round(yes["standard_error"], 3) == 0.049
    assert round(yes["standard_error"] * 400, 1) == 19.6


def test_users_needed_as_in_the_textbook() -> None:
    document = shown("users-needed", "--epsilon", "2", "--margin", "0.001", "--sigmas", "2")
    assert document["users"] == 1724062
    assert document["variance_per_user"] == pytest.approx(0.43101541, abs=1e-8)
    assert "2 standard errors" in document["assumption"]


def test_total_epsilon_of_a_year() -> None:
    document = shown("total-epsilon", "--epsilon", "2", "--days", "365")
    one, same, values, day, whole = document["rows"]
    assert (same["fresh"], same["memoized"]) == (730, 2)
    assert day["memoized"] is whole["memoized"] is None
    assert (one["memoized"], values["memoized"]) == (2, 4)
    assert all("memoized_second_round" not in row for row in document["rows"])
    assert all({"protects", "memoized", "fresh", "unit"} <= set(row) for row in document["rows"])
    second = shown(
        "total-epsilon", "--epsilon", "2", "--epsilon-first", "1", "--days", "365",
        "--values", "16", "--mechanism", "oue",
    )  # fmt: skip
    assert second["rows"][3]["memoized_second_round"] == pytest.approx(22.52, abs=5e-3)


def test_planning_starts_fast_and_loads_nothing_heavy() -> None:
    arguments = ["users-needed", "--epsilon", "2", "--margin", "0.001"]
    listing = "import atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    program = PROGRAM.replace("main(prog", listing + "main(prog")
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, *arguments],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "click" in loaded
    assert loaded & {"numpy", "scipy", "requests", "matplotlib", "cryptography"} == set()

    def processor_seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert start(*arguments).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(processor_seconds() for _ in range(3)) < 0.3


@pytest.fixture
def store(tmp_path: Path) -> Path:
    tallies = [tally(HEALTH, [10, 20, 30, 40], week) for week in ("2026-W48", "2026-W49")]
    return write_store(tmp_path / "c.db", tallies, [state(MOOD, "2026-12-01", "pending", "10-99")])


def test_estimate_from_a_store(store: Path) -> None:
    document = shown("estimate", "health", "--from", str(store))
    assert (document["question"], document["period"], document["n"]) == ("health", "2026-W49", 100)
    assert [one["value"] for one in document["estimates"]] == list(HEALTH.choices)
    assert len(shown("estimate", "health", "--from", str(store), "--all")) == 2
    table = start("estimate", "health", "--from", str(store)).stdout
    assert "très bon" in table
    assert "raw (unbiased, may be below 0 or above 1); 95 % intervals, each by itself" in table
    assert "epsilon 3 of one device, from all its reports about one unchanging answer" in table


def test_estimate_from_an_address(store: Path) -> None:
    with serving() as server:
        server.hold([tally(HEALTH, [10, 20, 30, 40], "2026-W49")])
        environment = {**os.environ, "DENIABLE_TOKEN": TOKEN}
        document = shown("estimate", "health", "--from", server.url, env=environment)
        assert document == shown("estimate", "health", "--from", str(store))
        refused = start("periods", "--from", server.url, env={**environment, "DENIABLE_TOKEN": "x"})
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "token is not accepted" in refused.stderr


def test_periods_for_people_and_programs(store: Path) -> None:
    (released, _, pending) = shown("periods", "--from", str(store))["periods"]
    assert (released["state"], released["crowd"]) == ("released", "100")
    assert (pending["state"], pending["crowd"]) == ("pending", "10-99")
    assert "10-99" in start("periods", "--from", str(store)).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["debias", "--mechanism", "oue", "--epsilon", "1", "--counts", "3,4,5", "--n", "9"],
        ["users-needed", "--epsilon", "1", "--margin", "0.1"],
        ["total-epsilon", "--epsilon", "2", "--epsilon-first", "1", "--days", "9"],
    ],
)
def test_rows_say_what_json_says(arguments: list[str]) -> None:
    done = start(*arguments, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    document = shown(*arguments)
    listed = document.get("estimates") or document.get("rows") or [document]
    assert len(rows) == len(listed)
    for row, entry in zip(rows, listed, strict=True):
        for name, value in entry.items():
            if name in row:
                assert row[name] == ("" if value is None else str(value))


def test_rows_write_truth_as_json_does(tmp_path: Path) -> None:
    asked = make_survey().questions["dark_mode"]
    store = write_store(tmp_path / "c.db", [tally(asked, [60, 40])])
    done = start("estimate", "dark_mode", "--from", str(store), "--simultaneous", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert (row["value"], row["simultaneous"], row["segment"]) == ("true", "true", "")


def test_output_that_nobody_reads() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = start("debias", "--help", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_does_not_fit() -> None:
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = start("total-epsilon", "--epsilon", "2", "--days", "9", stdout=full)
    assert done.returncode == 1
    assert done.stderr == "Error: the output cannot be written (No space left on device)\n"


def test_output_that_cannot_show_everything(store: Path) -> None:
    greek = "iso8859-7"
    environment = {**os.environ, "PYTHONIOENCODING": greek}
    done = start("estimate", "health", "--from", str(store), env=environment, encoding=greek)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tr\\xe8s bon" in done.stdout


def test_an_interrupt_is_one_line(store: Path) -> None:
    """The program waits for a server that does not answer; then comes Ctrl-C."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, "periods", "--from", url],
            env={**os.environ, "DENIABLE_TOKEN": TOKEN},
            stderr=subprocess.PIPE,
            text=True,
        )
        connection, _ = silent.accept()
        with connection:
            connection.recv(10_000)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors.strip()) == (1, "Error: interrupted")


@pytest.mark.parametrize("missing", ["numpy", "scipy", "requests", "tabulate", "click"])
def test_what_is_not_installed_is_named(missing: str, store: Path) -> None:
    """Each is absent in turn; what does not need it works, what does says what to install."""
    block = f"import sys; sys.modules[{missing!r}] = None; "
    needs: dict[str, list[str]] = {
        "scipy": ["debias", "--mechanism", "grr", "--epsilon", "1", "--counts", "3,1"],
        "requests": ["periods", "--from", "http://127.0.0.1:1"],
        "tabulate": ["periods", "--from", str(store)],
        "click": [],
    }
    free = ["users-needed", "--epsilon", "2", "--margin", "0.1", "--format", "json"]

    def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-c", block + PROGRAM, *arguments],
            env={**os.environ, "DENIABLE_TOKEN": TOKEN},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    if missing in needs:
        done = run(needs[missing])
        assert done.returncode == 1
        assert done.stderr == (
            f"Error: {missing} is not installed; pip install 'deniable[analysis]'\n"
        )
    if missing != "click":
        assert run(free).returncode == 0


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, prog_name="deniable")


def assert_one_line(done: Result) -> None:
    """A failure that was meant: one line on standard error, and no other exception."""
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code in (1, 2)
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1


NOT_NUMBERS = [
    "nan", "NaN", "inf", "-inf", "Infinity", "", " ", "\u0661", "\uff11\uff12", "1_000", "0x10",
    "1,5", "two", "--", "1e", "\ud800", "9" * 5000, "1e99999", "+-1",
]  # fmt: skip
OUT_OF_RANGE = ["-1", "0", "1e400", "1e-400", "99999999999999999999", "-0.5"]

VALID = {
    "debias": {"--mechanism": "grr", "--epsilon": "1", "--counts": "240,160", "--n": "400",
               "--confidence": "0.9"},
    "users-needed": {"--epsilon": "1", "--margin": "0.1", "--values": "4"},
    "total-epsilon": {"--epsilon": "1", "--days": "9", "--values": "4", "--changes": "3",
                      "--delta": "1e-6", "--devices-per-person": "2", "--devices": "1000"},
    "explain": {"--epsilon": "1", "--prior": "0.1", "--delta": "1e-6"},
}  # fmt: skip


def spoiled() -> Iterator[tuple[str, str, str]]:
    for command, options in VALID.items():
        for option in options:
            if option != "--mechanism":
                for bad in NOT_NUMBERS + OUT_OF_RANGE:
                    if (option, bad) not in {("--changes", "0"), ("--confidence", "1e-400")}:
                        yield command, option, bad


def line(command: str, options: dict[str, str]) -> list[str]:
    return [command, *(f"{name}={value}" for name, value in options.items())]


@pytest.mark.parametrize("odd", ["a\nb", "a\rb\x1b[31m", "a\u2028b"])
@pytest.mark.parametrize(
    "command",
    ["estimate q --from", "periods --from", "survey check", "survey compile", "survey diff x"],
)
def test_a_name_with_line_ends_is_one_line(command: str, odd: str) -> None:
    for name in (odd, "https://" + odd):
        done = call(*command.split(), name)
        assert_one_line(done)
        assert done.stderr[:-1].isprintable()


def test_no_zero_has_a_sign() -> None:
    done = call("debias", "--mechanism=oue", "--epsilon=44", "--counts=0,9", "--n=9")
    assert "-0" not in done.stdout.replace("-0.5", "")


def test_a_delta_that_is_a_probability_of_the_losses() -> None:
    shown("total-epsilon", "--epsilon=44", "--mechanism=oue", "--days=1", "--delta=0.5")


def test_the_command_lines_to_spoil_are_valid() -> None:
    for command, options in VALID.items():
        assert call(*line(command, options)).exit_code == 0


@pytest.mark.parametrize(("command", "option", "bad"), list(spoiled()))
def test_odd_numbers_are_one_line(command: str, option: str, bad: str) -> None:
    assert_one_line(call(*line(command, {**VALID[command], option: bad})))


@given(st.text(max_size=30) | st.lists(st.integers(-5, 10**25), max_size=5).map(
    lambda numbers: ",".join(map(str, numbers))
))  # fmt: skip
@settings(max_examples=300)
def test_any_counts_are_read_or_refused_in_one_line(text: str) -> None:
    done = call(*line("debias", {**VALID["debias"], "--counts": text, "--n": "400"}))
    if done.exit_code == 0:
        assert sum(int(part) for part in text.split(",")) == 400
    else:
        assert_one_line(done)


@given(
    command=st.sampled_from(sorted(VALID)),
    text=st.text(max_size=12) | st.floats().map(repr) | st.decimals().map(str),
    data=st.data(),
)
@settings(max_examples=300)
def test_any_number_is_read_or_refused_in_one_line(
    command: str, text: str, data: st.DataObject
) -> None:
    option = data.draw(st.sampled_from([name for name in VALID[command] if name != "--mechanism"]))
    done = call(*line(command, {**VALID[command], option: text}), "--format=json")
    if done.exit_code == 0:
        json.loads(done.stdout, parse_constant=pytest.fail)
        assert text.isascii()
        assert all(math.isfinite(float(part)) for part in text.split(","))
    else:
        assert_one_line(done)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["debias"],
        ["debias", "--mechanism", "rappor", "--epsilon", "1", "--counts", "1,2"],
        ["debias", "--unknown"],
        ["estimate", "--from", "x"],
        ["estimate", "health", "--from", "x.db", "--plot", "a.jpg"],
        ["trend", "health", "--from", "nowhere.db"],
        ["difference", "health", "--from", "nowhere.db", "--periods", "2026-W48", "2026-W49"],
        ["estimate", "health", "--from", "nowhere.db"],
        ["estimate", "health", "--from", "http://127.0.0.1:1"],
        ["estimate", "health", "--from", "x.db", "--last", "0"],
        ["estimate", "health", "--from", "x.db", "--last", "1", "--all"],
        ["users-needed", "--epsilon", "1", "--margin", ".1", "--sigmas", "2", "--confidence", ".9"],
        ["survey", "nonsense"],
    ],
)
def test_wrong_calls_are_one_line(arguments: list[str]) -> None:
    assert_one_line(call(*arguments))


def test_statuses() -> None:
    assert call("nonsense").exit_code == 2
    assert call("debias", "--epsilon", "x").exit_code == 2
    assert call("debias", *line("", VALID["debias"])[1:], "--epsilon", "-1").exit_code == 1
    assert call("estimate", "health", "--from", "nowhere.db").exit_code == 1


def test_no_command_shows_the_help() -> None:
    done = call()
    assert done.exit_code == 2
    assert "Commands:" in done.stderr
    assert [word for word in COMMANDS if f"  {word} " not in done.stderr] == []
    assert call("--help").exit_code == 0
    assert call("survey").exit_code == 2


def test_inside_another_program_it_does_not_exit() -> None:
    made = main.main(["debias", "--help"], standalone_mode=False)
    assert made == 0
