"""The audited environment may do anything; who audits it gets an answer or one line."""

from __future__ import annotations

import sys
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from client_kit import choice, python, question, run, survey, survey_file

from deniable.analysis.auditing.derivation import permanent_response
from deniable.analysis.auditing.devices import Devices
from deniable.analysis.auditing.findings import surprise
from deniable.analysis.auditing.linking import audit_links
from deniable.analysis.auditing.memo import audit_memo
from deniable.analysis.auditing.observed import Day
from deniable.analysis.auditing.workers import AuditError, Worker
from deniable.protocol.survey import Survey

NUMBERS = question(
    type="number", range={"low": 0, "high": 1, "steps": 3}, period="week", mechanism="1bitmean"
)


def saved(folder: Path, asked: Survey) -> Path:
    return survey_file(folder / "survey.json", asked)


def wrapper(folder: Path, script: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return str(path)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo hello", "answered 'describe' with nonsense"),
        ("echo '[1]'", "answered 'describe' with nonsense"),
        ("echo oops >&2; exit 3", "ended before it answered 'describe': oops"),
        ("exec sleep 60", "no answer to 'describe' in 0.3 s"),
        ("printf '\\377\\n'", "ended before it answered"),
        ("""echo '{"error": "it rains"}'""", ": it rains"),
    ],
)
def test_whatever_a_probe_does_is_one_line(script: str, says: str, tmp_path: Path) -> None:
    worker = Worker(wrapper(tmp_path, script), saved(tmp_path, survey()), tmp_path / "folder")
    try:
        with pytest.raises(AuditError) as caught:
            worker.ask("describe", 0.3 if "sleep" in script else 20)
    finally:
        worker.close()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_answer_that_lacks_something_is_one_line(tmp_path: Path) -> None:
    fake = wrapper(tmp_path, "echo '{}'; sleep 60")
    path = saved(tmp_path, survey())
    with (
        Devices(path, python=fake, workers=1) as audited,
        pytest.raises(AuditError, match="not as agreed"),
    ):
        audited.describe()


def test_an_interpreter_that_is_none_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="cannot be started"):
        Devices(saved(tmp_path, survey()), python=str(tmp_path / "none"))


def test_a_survey_that_is_none_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "survey.toml"
    path.write_text("[survey]\n")
    with Devices(path, workers=1) as audited, pytest.raises(AuditError, match="format"):
        audited.describe()


def test_what_cannot_be_answered_is_one_line_and_the_next_order_is_obeyed(tmp_path: Path) -> None:
    with Devices(saved(tmp_path, survey()), workers=1) as audited:
        with pytest.raises(AuditError, match="no such question: nope"):
            audited.sample(1, {"nope": True})
        with pytest.raises(AuditError, match="the value must be True or False"):
            audited.sample(1, {"dark": "yes"})
        with pytest.raises(AuditError, match="events must be of"):
            audited.live([Day({"dark": True}, ("fire",))])
        assert audited.describe().questions[0].values == (False, True)


def test_processes_and_stores_are_gone_afterwards(tmp_path: Path) -> None:
    with Devices(saved(tmp_path, survey()), workers=2) as audited:
        audited.sample(3, {"dark": True})
        folder, workers = audited._folder, audited._workers
    assert not folder.exists()
    assert all(worker._process.poll() is not None for worker in workers)


def test_a_description_says_what_was_resolved(tmp_path: Path) -> None:
    asked = survey(number=NUMBERS, font=choice("a", "b", "c", mechanism="oue", epsilon_first=1))
    with Devices(saved(tmp_path, asked), workers=1) as audited:
        described = audited.describe()
    number, font = described.questions
    assert described.python == ".".join(map(str, sys.version_info[:3]))
    assert (number.k, number.rounds, number.period) == (4, 1, "week")
    assert number.values == (0, Fraction(1, 3), Fraction(2, 3), 1)
    assert (font.values, font.rounds, font.epsilon_first) == (("a", "b", "c"), 2, Decimal(1))
    assert font.hash == asked.questions["font"].hash


def test_days_lie_in_periods_of_their_own_before_anything_expires(tmp_path: Path) -> None:
    """Daily, monthly and once in one survey that expired long ago, one with a default."""
    asked = survey(
        daily=question(expires=date(2021, 3, 1), grace=1, default=False),
        monthly=question(period="month", expires=date(2021, 5, 1)),
        single=question(period="once", expires=date(2021, 4, 1)),
    )
    with Devices(saved(tmp_path, asked), workers=1) as audited:
        (device,) = audited.lives(1, [dict.fromkeys(asked.questions, True)] * 3)
        (life,) = audited.live([Day(dict.fromkeys(asked.questions, True))] * 3)
    for name, each in asked.questions.items():
        must = permanent_response(device.secret, each, 1)
        assert must is not None
        expected = [must.out] * 3 if name != "single" else [must.out, None, None]
        assert list(device.reports[name]) == expected
    periods = [request.period for request in life.requests]
    assert sorted(periods[:3]) == ["2020-12", "2020-12-29", "once"]
    assert periods.count("once") == 1
    assert len(set(periods)) == len(periods) == 7


def test_reports_that_travel_alone_are_looked_at(tmp_path: Path) -> None:
    asked = survey({"batch": "question"}, a=question(), b=question(), c=question(period="once"))
    with Devices(saved(tmp_path, asked), workers=1) as audited:
        findings = audit_links(audited, asked, count=5)
    assert [(f.check, f.kept) for f in findings][:2] == [("pseudonyms", True), ("alone", True)]
    assert {finding.question for finding in findings if finding.check == "content"} == {"a", "b"}


def test_another_reading_of_the_survey_is_found(tmp_path: Path) -> None:
    asked, other = survey(dark=question()), survey(dark=question(epsilon=Decimal(3)))
    with Devices(saved(tmp_path, asked), workers=1) as audited:
        findings = audit_memo(audited, other, count=1, lives=1)
    assert [finding.check for finding in findings if finding.kept is False] == ["hash"]


def test_an_app_never_loads_the_probe(tmp_path: Path) -> None:
    program = """
import sys
from deniable.client import Client
with Client(*sys.argv[1:], strict=True) as client:
    client.record("dark", True)
unwanted = "probe", "rehearsal", "lifetime"
print([name for name in sys.modules if name.rpartition(".")[2] in unwanted])
"""
    path = saved(tmp_path, survey())
    assert run(program, path, "http://127.0.0.1:9", tmp_path / "store.db").strip() == "[]"


def test_the_probe_never_shows_a_traceback(tmp_path: Path) -> None:
    program = (
        "from deniable.client.probe.__main__ import main; import sys; sys.exit(main(sys.argv[1:]))"
    )
    with python(program, saved(tmp_path, survey()), tmp_path) as process:
        orders = 'nonsense\n[]\n{"do": "dance"}\n{"do": "sample", "count": "many"}\n'
        out, error = process.communicate(orders, timeout=30)
    assert error == ""
    assert [line.startswith('{"error": ') for line in out.splitlines()] == [True] * 4


def test_surprise_is_twice_the_smaller_tail() -> None:
    assert surprise(0, 10, 0.5) == pytest.approx(2 / 1024)
    assert surprise(9, 10, 0.5) == pytest.approx(22 / 1024)
    assert surprise(5, 10, 0.5) == 1
    assert surprise(10, 10, 1.0) == 1
    assert surprise(9, 10, 1.0) == 0
    assert surprise(600_000, 1_000_000, 0.5) == 0
