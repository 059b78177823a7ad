"""The audited environment may do anything; who audits it gets an answer or one line."""

from __future__ import annotations

import errno
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from client_kit import choice, python, question, run, survey, survey_file

from deniable.analysis.auditing.derivation import permanent_response
from deniable.analysis.auditing.devices import Devices
from deniable.analysis.auditing.findings import surprise, surprise_of
from deniable.analysis.auditing.linking import audit_links
from deniable.analysis.auditing.memo import audit_memo
from deniable.analysis.auditing.observed import Day, Life
from deniable.analysis.auditing.plans import turn
from deniable.analysis.auditing.requests import check_requests
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
    with (
        pytest.raises(AuditError, match="cannot be started"),
        Devices(saved(tmp_path, survey()), python=str(tmp_path / "none")),
    ):
        pass


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
        (device,) = audited.lives([[dict.fromkeys(asked.questions, True)] * 3])
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
    assert [(f.check, f.kept) for f in findings][:3] == [
        ("pseudonyms", True),
        ("pseudonyms", True),
        ("alone", True),
    ]
    assert {finding.question for finding in findings if finding.check == "content"} == {"a", "b"}


@pytest.mark.parametrize("last", [date(2015, 1, 1), date(2020, 2, 29)])
def test_what_expired_long_ago_accuses_nobody(last: date, tmp_path: Path) -> None:
    asked = survey(o=question(period="once"), m=question(period="month", expires=last))
    with Devices(saved(tmp_path, asked), workers=2) as audited:
        assert [each.askable for each in audited.describe().questions] == [True, False]
        findings = [*audit_memo(audited, asked, count=60, lives=1)]
        findings += [*check_requests(audited, asked), *audit_links(audited, asked, count=2)]
    assert {finding.kept for finding in findings} == {True, None}
    (about_m,) = [f for f in findings if f.question == "m" and f.check == "derivation"]
    assert about_m.kept is None
    assert not [finding for finding in findings if finding.check == "independence"]


def test_nothing_that_can_be_asked_is_nothing_to_look_at(tmp_path: Path) -> None:
    asked = survey(o=question(expires=date(2015, 1, 1)))
    with Devices(saved(tmp_path, asked), workers=1) as audited:
        assert [*check_requests(audited, asked), *audit_links(audited, asked)] == []
        with pytest.raises(AuditError, match="every question expired"):
            audited.live([Day({"o": True})])


def test_requests_of_defaults_and_of_questions_that_travel_alone_are_made_again(
    tmp_path: Path,
) -> None:
    """One survey with questions of every kind, in which a default is due between the days."""
    asked = survey(
        daily=question(grace=3, default=True),
        weekly=choice("a", "b", "c", period="week", mechanism="oue", epsilon_first=1, epsilon=2),
        once=question(period="once"),
        alone=question(period="month"),
    )
    with Devices(saved(tmp_path, asked), workers=2) as audited:
        (finding,) = check_requests(audited, asked, count=3)
        only = replace(asked, questions={"alone": asked.questions["alone"]})
        (part,) = check_requests(audited, only, count=2)
    assert (finding.check, finding.kept) == (part.check, part.kept) == ("requests", True)


class Delayed(Devices):
    """Devices whose first request arrives a day late, and once more on the day after."""

    twice_at_once = False

    def courses(self, plans: Sequence[Sequence[Day]]) -> list[Life]:
        late = []
        for life in super().courses(plans):
            first, *others = life.everything
            again = replace(first, day=first.day + (0 if self.twice_at_once else 2), due=False)
            first = replace(first, day=first.day + (0 if self.twice_at_once else 1), due=False)
            late.append(replace(life, everything=(first, again, *others)))
        return late


def test_what_is_sent_late_or_again_is_no_violation_but_twice_at_once_is(tmp_path: Path) -> None:
    asked = survey(dark=question(), font=choice("a", "b", "c"))
    with Delayed(saved(tmp_path, asked), workers=1) as audited:
        (late,) = check_requests(audited, asked, count=2)
        audited.twice_at_once = True
        (twice,) = check_requests(audited, asked, count=2)
    assert late.kept is True
    assert twice.kept is False
    assert "was reported 2 times in one period" in twice.line


def test_every_value_has_its_turn() -> None:
    for k, devices in ((2, 60), (3, 60), (16, 60), (100, 60), (180, 60), (1000, 60), (2, 1)):
        turns = [turn(k, device, devices) for device in range(devices)]
        counts = Counter(symbol for each in turns for symbol in each)
        assert len(counts) == min(k, 3 * devices)
        assert all(0 <= symbol < k for symbol in counts)
        assert max(counts.values()) - min(counts.values()) <= devices * (k == 2) + 3
        assert all(first != second for first, second, _ in turns)
        assert [each[0] for each in turns][: min(k, devices)] == sorted({e[0] for e in turns})


def test_a_folder_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(place: Path) -> Path:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("deniable.analysis.auditing.stores._writable", full)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "full"))
    with (
        pytest.raises(AuditError, match=r"full: .* \(No space left on device\); set TMPDIR"),
        Devices(saved(tmp_path, survey()), workers=1),
    ):
        pass


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


def test_surprise_of_different_chances_is_that_of_their_sum() -> None:
    for same in range(11):
        assert surprise_of(same, [0.3] * 10) == pytest.approx(surprise(same, 10, 0.3))
    assert surprise_of(2, [0.5, 0.25]) == pytest.approx(2 / 8)
    assert surprise_of(0, []) == 1


def test_surprise_is_twice_the_smaller_tail() -> None:
    assert surprise(0, 10, 0.5) == pytest.approx(2 / 1024)
    assert surprise(9, 10, 0.5) == pytest.approx(22 / 1024)
    assert surprise(5, 10, 0.5) == 1
    assert surprise(10, 10, 1.0) == 1
    assert surprise(9, 10, 1.0) == 0
    assert surprise(600_000, 1_000_000, 0.5) == 0
