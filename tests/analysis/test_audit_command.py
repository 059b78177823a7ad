"""``deniable audit`` as a person runs it, on the installed client and on broken copies of it."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from client_kit import question, survey, survey_file
from sealed_kit import sealing_survey

import deniable.client
import deniable.protocol
from deniable.analysis import audit
from deniable.analysis.auditing.bounds import ceiling, epsilon_lower
from deniable.analysis.auditing.devices import Devices
from deniable.analysis.auditing.memo import audit_memo
from deniable.analysis.auditing.trials import Trials
from deniable.analysis.cli import main
from deniable.analysis.reading import NO_GUARANTEE
from deniable.analysis.render import as_table
from deniable.protocol.errors import ParameterError

PROGRAM = "import sys; from deniable.analysis.cli import main; main(prog_name='deniable')"
ASKED = survey({"linkable": True}, dark=question(epsilon=1, mechanism="oue"))

# A sound client is accused with odds of 1e-6 in each audit.
CERTAIN = ("--confidence", "0.999999")
ALPHA = 1e-6 / 2

NEVER_CLEARED = (
    "if keyed.chance(self.true_bit if symbol == value else self.other_bit):",
    "if symbol == value or keyed.chance(self.other_bit):",
)
SHARED_WORDS = (
    "if keyed.chance(self.true_bit if symbol == value else self.other_bit):",
    "word = word if symbol % 2 else keyed._word()\n"
    "            if word < (self.true_bit if symbol == value else self.other_bit):",
)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return survey_file(tmp_path_factory.mktemp("asked") / "survey.json", ASKED)


def broken_copy(folder: Path, fault: tuple[str, str]) -> str:
    """An interpreter whose client has one line of its unary encoding replaced."""
    for package in (deniable.protocol, deniable.client):
        source = Path(package.__file__ or "").parent
        shutil.copytree(source, folder / "deniable" / source.name)
    module = folder / "deniable/protocol/mechanisms/unary.py"
    code = module.read_text(encoding="utf-8")
    assert code.count(fault[0]) == 1
    module.write_text(code.replace(*fault), encoding="utf-8")
    wrapper = folder / "python"
    wrapper.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}" exec "{sys.executable}" "$@"\n')
    wrapper.chmod(0o700)
    return str(wrapper)


def start(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-P", "-c", PROGRAM, "audit", *map(str, arguments)]
    return subprocess.run(line, text=True, check=False, timeout=120, capture_output=True, **options)


@pytest.fixture
def few_memos(monkeypatch: pytest.MonkeyPatch) -> None:
    """What devices remember is checked on a few: it has tests of its own, and takes seconds."""
    few = partial(audit_memo, count=20, lives=1)
    monkeypatch.setattr("deniable.analysis.auditing.audit.audit_memo", few)


def test_the_installed_client_passes(asked: Path) -> None:
    done = start("--survey", asked, "--trials", 1000, *CERTAIN, "--seed", 7, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout, parse_constant=pytest.fail)
    assert document["violation"] is False
    assert (document["trials"], document["seed"]) == (1000, 7)
    assert {each["kept"] for each in document["checks"]} <= {True, None}
    (dark,) = document["questions"]
    assert set(dark) >= {"question", "declared", "exact", "lower_bound", "null_control",
                         "positive_control", "ceiling", "verdict"}  # fmt: skip
    assert (dark["question"], dark["declared"], dark["exact"]) == ("dark", 1, pytest.approx(1))
    assert dark["exact"] <= 1
    assert dark["null_control"] == 0
    assert 0 <= dark["lower_bound"] <= 1 < dark["positive_control"] <= dark["ceiling"]
    assert dark["ceiling"] == pytest.approx(ceiling(500, ALPHA))
    assert dark["verdict"].startswith("no violation found, could have seen ≥ ")
    assert dark["longitudinal"]["stays_within"] is True
    assert "certif" not in done.stdout


@pytest.mark.usefixtures("few_memos")
def test_a_set_bit_that_is_never_cleared_is_a_violation(asked: Path, tmp_path: Path) -> None:
    python = broken_copy(tmp_path, NEVER_CLEARED)
    line = ["audit", "--survey", str(asked), "--trials", "300", *CERTAIN, "--python", python]
    done = CliRunner().invoke(main, line)
    assert (done.exit_code, done.stderr) == (1, "")
    assert "Epsilon of one report, by question of acme" in done.stdout
    assert str(tmp_path / "deniable/client") in "".join(done.stdout.split("\n  "))
    assert "violation: one report reveals the answer for sure" in done.stdout
    row = next(line for line in done.stdout.splitlines() if line.startswith("dark"))
    _, declared, exact, lower_bound = row.replace("no bound", "unbounded").split()[:4]
    assert (declared, exact) == ("1", "unbounded")
    # (1, 0) has probability 0.73 and 0: 75 of 150, 6 deviations under the mean, still refute 1.
    assert epsilon_lower(75, 0, 150, ALPHA) > 1
    assert float(lower_bound) > 1


def test_bits_that_share_randomness_are_caught_by_the_trials(asked: Path, tmp_path: Path) -> None:
    with Devices(asked, python=broken_copy(tmp_path, SHARED_WORDS)) as devices:
        trials = Trials(
            devices,
            list(ASKED.questions.values()),
            half=360,
            alpha=1e-3,
            seed=1,
            progress=lambda done: None,
        )
        dark = trials.run()["dark"]
    # (1, 0) has probability 0.23 and 0: 37 of 360 still refute 1, and fewer have odds of 1e-10.
    assert epsilon_lower(37, 0, 360, 1e-3) > 1
    assert dark.lower_bound > 1
    assert dark.misses == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--trials", "10"), "trials must be a whole number in 100..100000000: 10"),
        (("--confidence", "1"), "confidence must be above 0 and below 1: 1"),
        (
            ("--confidence", "0.9999999999999999999"),
            "confidence must be at most 0.999999999999999, for 0.9999999999999999999 rounds to 1",
        ),
        (("--question", "light"), "question: the survey asks no 'light'; use one of dark"),
        (("--seed", "-1"), "seed must be a whole number in"),
        (("--python", "/nowhere/python"), "/nowhere/python: cannot be started"),
        (("--python", "/bin/true"), "/bin/true: ended before it answered"),
    ],
)
def test_what_cannot_be_audited_is_one_line(
    asked: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = CliRunner().invoke(main, ["audit", "--survey", str(asked), *arguments])
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {says}")
    assert len(done.stderr.splitlines()) == 1


def test_the_help_says_what_status_1_means() -> None:
    told = " ".join(CliRunner().invoke(main, ["audit", "--help"]).output.split())
    assert "The exit status is 1 if a violation was found." in told
    assert "The exit status is 1 as well if the audit could not be run" in told
    assert 'In JSON, "violation" tells.' in told


def test_a_wrong_call_is_usage() -> None:
    assert CliRunner().invoke(main, ["audit"]).exit_code == 2
    assert CliRunner().invoke(main, ["audit", "--survey", "x", "--trials", "many"]).exit_code == 2


def test_too_few_trials_say_so_and_progress_is_told(
    asked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deniable.analysis.auditing.audit.audit_memo", lambda *_: [])
    monkeypatch.setattr("deniable.analysis.auditing.audit.audit_links", lambda *_: [])
    told: list[tuple[int, int]] = []
    found = audit(
        asked,
        trials=100,
        confidence="0.999999999",
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert not found.violation
    assert ceiling(50, 1e-9 / 2) < 1
    assert found.questions[0].verdict.text.startswith("inconclusive: 50 tests a side can show")
    assert tuple(found.records()[0]) == found.columns
    table = as_table(found)
    assert "Epsilon of one report" in table
    assert "no bound from 2 reports on" in table
    assert NO_GUARANTEE not in table
    (dark,) = found.questions
    large = replace(dark, promise=replace(dark.promise, permanent=Decimal(12)))
    assert f"reports about one answer is {NO_GUARANTEE}" in " ".join(
        as_table(replace(found, questions=(large,))).split()
    )
    assert large.document()["epsilon_verdict"] == NO_GUARANTEE
    assert dark.document()["epsilon_verdict"] == ""
    with pytest.raises(ParameterError, match="trials must be a whole number"):
        audit(asked, trials=99)


@pytest.mark.usefixtures("few_memos")
def test_a_question_that_expired_is_not_audited_and_accuses_nobody(tmp_path: Path) -> None:
    expired = question(period="month", expires=date(2020, 2, 29))
    path = survey_file(tmp_path / "survey.json", survey(o=question(period="once"), m=expired))
    found = audit(path, trials=100)
    assert not found.violation
    once, month = found.questions
    assert not once.verdict.text.startswith("inconclusive: not audited")
    assert month.verdict.text == (
        "inconclusive: not audited: expired on 2020-02-29, so no device answers it any more"
    )
    assert (month.measured.tests, month.promise.exact_report is None) == (0, False)
    assert "could have seen: a true epsilon" in as_table(found)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes there")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything(asked: Path, number: signal.Signals, tmp_path: Path) -> None:
    marker = f"audited-{os.getpid()}-{number}"
    survey_path = tmp_path / f"{marker}.json"
    shutil.copy(asked, survey_path)
    line = [sys.executable, "-P", "-c", PROGRAM, "audit", "--survey", str(survey_path)]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL) as run:
        while not (folders := stores_of(marker)):
            assert run.poll() is None
            time.sleep(0.05)
        run.send_signal(number)
    assert run.returncode == -number
    assert stores_of(marker) == set()
    assert not any(folder.exists() for folder in folders)


def stores_of(marker: str) -> set[Path]:
    """Return the folders of the probes that audit a survey of this name."""
    found = set()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            words = process.read_bytes().decode(errors="replace").split("\0")
            if "deniable.client.probe" in words and marker in words[-3]:
                found.add(Path(words[-2]).parent)
    return found


def test_a_terminal_gets_a_bar_and_an_interrupt_ends_everything(asked: Path) -> None:
    ours, theirs = pty.openpty()
    line = [sys.executable, "-P", "-c", PROGRAM, "audit", "--survey", str(asked)]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=theirs) as run:
        os.close(theirs)
        try:
            shown = os.read(ours, 1000)
        finally:
            run.send_signal(signal.SIGINT)
        while b"interrupted" not in shown:
            shown += os.read(ours, 1000)
    os.close(ours)
    assert b"devices" in shown
    assert run.returncode == 1


def test_a_sealed_question_is_refused_with_what_to_do(tmp_path: Path) -> None:
    path = survey_file(tmp_path / "sealed.json", sealing_survey())
    with pytest.raises(ParameterError, match="well is sealed, and no audit can read"):
        audit(path, trials=100)
