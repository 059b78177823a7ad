"""From released tallies to estimates: which are taken, how they add up, and what is said."""

from __future__ import annotations

import math
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from survey_documents import boolean_table, choice_table, make_survey
from tally_places import TOKEN, Server, State, serving, state, tally, write_store

from deniable.analysis import Estimates, debias, estimate, estimate_tallies, open_source, periods
from deniable.analysis.pooling import pool_mean
from deniable.analysis.sources import SqliteSource, parse_json
from deniable.protocol.errors import DeniableError, DocumentError, ParameterError, SourceError
from deniable.protocol.mechanisms import build
from deniable.protocol.question import Question
from deniable.protocol.tally import Tally

CHOICES = ["poor", "fair", "good", "très bon"]


def question(name: str = "dark_mode", survey: str = "acme-editor", **changes: object) -> Question:
    table = boolean_table(**changes)
    return make_survey({name: table}, id=survey, max_epsilon=16, linkable=True).questions[name]


def choice(**changes: object) -> Question:
    table = choice_table(choices=CHOICES, period="week", **changes)
    return make_survey({"health": table}, max_epsilon=16, linkable=True).questions["health"]


DARK = question()
NEWER = question(version=2)
HEALTH = choice()
ONCE = question("wish", period="once", grace=0, default=None)

DARK_ONCE = build("grr", 2, Decimal(2))

Reader = Any


@pytest.fixture(params=["sqlite", "http"])
def read(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Reader]:
    """estimate() over both kinds of places, holding the same."""
    with serving() as server:

        def reading(
            tallies: list[Tally],
            states: list[State] | None = None,
            name: str = "dark_mode",
            **kw: Any,
        ) -> Any:
            if request.param == "sqlite":
                store = tmp_path / "collector.db"
                store.unlink(missing_ok=True)
                place: str = str(write_store(store, tallies, states or []))
            else:
                server.hold(tallies, states or [])
                place = server.url
            return estimate(name, place, token=TOKEN, **kw)

        yield reading


def test_a_yes_no_question_has_one_estimate(read: Reader) -> None:
    result = read([tally(DARK, [700, 300])])
    assert len(result) == 1
    assert not result.listed
    (only,) = result[0].estimates
    assert only.value is True
    by_hand = debias([700, 300], mechanism="grr", epsilon=2, epsilon_first=1).estimates[1]
    assert replace(only, value=1) == by_hand
    assert result[0].question == "dark_mode"
    assert (result[0].version, result[0].period, result[0].segment) == (1, "2026-11-30", None)
    assert (result[0].n, result[0].mechanism) == (1000, "grr")


@pytest.mark.parametrize("mechanism", ["sue", "oue"])
def test_a_unary_yes_no_question_reads_the_bit_of_true(mechanism: str, read: Reader) -> None:
    asked = question(mechanism=mechanism)
    result = read([tally(asked, [600, 450, 1000])])
    by_hand = debias([600, 450], mechanism=mechanism, epsilon=2, epsilon_first=1, n=1000)
    assert replace(result[0].estimates[0], value=1) == by_hand.estimates[1]
    projected = read([tally(asked, [600, 450, 1000])], post_process="norm-sub")
    again = debias(
        [600, 450], mechanism=mechanism, epsilon=2, epsilon_first=1, n=1000, post_process="norm-sub"
    )
    assert projected[0].estimates[0].frequency == again.estimates[1].frequency


def test_choices_are_named(read: Reader) -> None:
    result = read([tally(HEALTH, [10, 20, 30, 40], "2026-W49")], name="health")
    assert [one.value for one in result[0].estimates] == CHOICES
    assert result.records()[3]["value"] == "très bon"


def test_the_latest_period_of_the_newest_version_by_default(read: Reader) -> None:
    tallies = [
        tally(NEWER, [60, 40], "2026-12-02"),
        tally(DARK, [50, 50], "2026-12-09"),
        tally(NEWER, [70, 30], "2026-12-10"),
        tally(NEWER, [80, 20], "2026-12-01"),
    ]
    assert (read(tallies)[0].version, read(tallies)[0].period) == (2, "2026-12-10")
    assert [one.period for one in read(tallies, last=2)] == ["2026-12-02", "2026-12-10"]
    assert [one.period for one in read(tallies, last=9)] == [
        "2026-12-01", "2026-12-02", "2026-12-10",
    ]  # fmt: skip
    assert [one.n for one in read(tallies, every=True)] == [100, 100, 100]
    assert read(tallies, period="2026-12-01")[0].period == "2026-12-01"
    assert read(tallies, version=1)[0].period == "2026-12-09"


def test_weeks_are_in_the_order_of_time(read: Reader) -> None:
    tallies = [tally(HEALTH, [1, 2, 3, 4], week) for week in ("2027-W01", "2026-W09", "2026-W10")]
    result = read(tallies, name="health", every=True)
    assert [one.period for one in result] == ["2026-W09", "2026-W10", "2027-W01"]


def test_json_is_one_object_or_an_array(read: Reader) -> None:
    tallies = [tally(DARK, [70, 30], day) for day in ("2026-11-29", "2026-11-30")]
    assert isinstance(read(tallies).document(), dict)
    assert isinstance(read(tallies, last=1).document(), dict)
    assert isinstance(read(tallies, period="2026-11-29").document(), dict)
    assert len(read(tallies, last=2).document()) == 2
    assert len(read(tallies, last=5).document()) == 2
    assert len(read(tallies[:1], every=True).document()) == 1


def test_segments_add_up(read: Reader) -> None:
    tallies = [
        tally(DARK, [700, 300], segment="stable"),
        tally(DARK, [60, 40], segment="beta"),
        tally(DARK, [5, 5]),
    ]
    whole = read(tallies)[0]
    together = debias([765, 345], mechanism="grr", epsilon=2, epsilon_first=1).estimates[1]
    assert replace(whole.estimates[0], value=1) == together
    assert (whole.n, whole.segment) == (1110, None)
    assert whole.document()["segments"] == ["beta", "stable", None]
    beta = read(tallies, segment="beta")[0]
    assert (beta.n, beta.segment, beta.segments) == (100, "beta", ())
    assert "segments" not in beta.document()


def test_a_destroyed_segment_is_named(read: Reader) -> None:
    gone = state(DARK, "2026-11-30", "destroyed", "fewer than 1000", segment="beta")
    other = state(DARK, "2026-11-29", "destroyed", "fewer than 1000", segment="beta")
    tallies = [tally(DARK, [700, 300], segment="stable")]
    whole = read(tallies, [gone, other])[0]
    assert whole.segment == "stable"
    assert whole.notes == ("Not in it: segment beta destroyed (fewer than 1000 devices).",)
    assert read(tallies, [gone, other], segment="stable")[0].notes == ()


def test_batches_of_a_once_question_add_up(read: Reader) -> None:
    tallies = [
        tally(ONCE, [70, 30], "once", batch="2026-W49"),
        tally(ONCE, [40, 60], "once", batch="2026-W50"),
    ]
    pending = [state(ONCE, "once", "pending", "10-99")]
    result = read(tallies, pending, name="wish")[0]
    assert result.n == 200
    assert result.document()["batches"] == ["2026-W49", "2026-W50"]
    assert result.notes == ("Adds up 2 batches.", "Not in it: pending (10-99 devices).")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"name": "dark"}, "nobody has reported dark yet; there are reports of dark_mode, health"),
        ({"survey": "other"}, "nobody has reported dark_mode in survey other yet"),
        ({"segment": "gamma"}, "there is no segment gamma; there are beta, stable"),
        ({"version": 7}, "there is no version 7; there are 1"),
        ({"period": "2026-11-01"}, "2026-11-01 is not released, but 2026-11-30"),
        (
            {"period": "2026-12-01"},
            r"dark_mode: 2026-12-01 is not released; pending 2026-12-01 \(100-999 devices\); the "
            r"earliest closes when its grace after 2026-12-02 has passed",
        ),
        (
            {"version": 2},
            r"nothing is released of version 2; destroyed 2026-11-20 \(fewer than 50 devices\)",
        ),
    ],
)
def test_what_is_not_there_is_explained(asked: dict[str, Any], message: str, read: Reader) -> None:
    tallies = [
        tally(DARK, [70, 30], segment="stable"),
        tally(DARK, [70, 30], segment="beta"),
        tally(HEALTH, [1, 2, 3, 4], "2026-W49"),
    ]
    states = [
        state(DARK, "2026-12-01", "pending", "100-999"),
        state(NEWER, "2026-11-20", "destroyed", "fewer than 50"),
    ]
    if asked.get("survey") == "other":
        states.append(state(question("else", "other"), "2026-12-01", "pending", "0-9"))
    with pytest.raises(SourceError, match=f"{message}$" if "survey" not in asked else message) as e:
        read(tallies, states, **asked)
    assert "\n" not in str(e.value)


def test_nothing_released_yet(read: Reader) -> None:
    states = [
        state(DARK, "2026-11-30", "pending", "100-999"),
        state(DARK, "2026-12-01", "pending", "0-9", segment="beta"),
        state(DARK, "2026-11-01", "destroyed", "fewer than 1000"),
    ]
    with pytest.raises(SourceError) as refusal:
        read([], states)
    assert str(refusal.value) == (
        "dark_mode: nothing is released yet; pending 2026-11-30 (100-999 devices), 2026-12-01 "
        "segment beta (0-9 devices); the earliest closes when its grace after 2026-12-01 has "
        "passed; destroyed 2026-11-01 (fewer than 1000 devices)"
    )
    with pytest.raises(SourceError, match="a once question is released in weekly batches"):
        read([], [state(ONCE, "once", "pending", "10-99")], name="wish")
    with pytest.raises(SourceError, match=r"^nobody has reported dark_mode yet$"):
        read([], [])


def test_a_question_of_several_surveys(read: Reader) -> None:
    tallies = [tally(DARK, [70, 30]), tally(question(survey="acme-phone"), [60, 40])]
    with pytest.raises(SourceError, match="asked in acme-editor, acme-phone; say which with"):
        read(tallies)
    assert (
        read(tallies, survey="acme-phone")[0].estimates
        != read(tallies, survey="acme-editor")[0].estimates
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"last": 0}, "last must be at least 1: 0"),
        ({"last": 2, "every": True}, "one period, for the last of them or for all"),
        ({"last": 2, "period": "2026-11-30"}, "one period, for the last of them or for all"),
        ({"period": "yesterday"}, "period must be like 2026-11-30"),
        ({"confidence": "1.5"}, "confidence must be above 0"),
        ({"post_process": "magic"}, "post_process must be one of"),
    ],
)
def test_options_out_of_range(asked: dict[str, Any], message: str, read: Reader) -> None:
    with pytest.raises(ParameterError, match=message):
        read([tally(DARK, [70, 30])], **asked)


def test_periods_are_pooled_only_by_name(read: Reader) -> None:
    tallies = [
        tally(DARK, [700, 300], "2026-11-29"),
        tally(DARK, [1200, 800], "2026-11-30"),
        tally(DARK, [2, 1], "2026-12-01"),
    ]
    one, two, three = (period.estimates[0] for period in read(tallies, every=True))
    series = read(tallies, every=True, pool="mean")
    (mean,) = series[0].estimates
    assert mean.frequency == pytest.approx((one.frequency + two.frequency + three.frequency) / 3)
    errors = (one.standard_error, two.standard_error, three.standard_error)
    assert mean.standard_error == pytest.approx(sum(errors) / 3)
    assert mean.low == pytest.approx((one.low + two.low + three.low) / 3)
    assert mean.high == pytest.approx((one.high + two.high + three.high) / 3)
    document = series.document()
    assert document["period"] == "2026-11-29/2026-12-01"
    assert document["periods"] == ["2026-11-29", "2026-11-30", "2026-12-01"]
    assert (document["n"], document["notes"][0][:17]) == (1001, "Mean of 3 periods")
    assert mean.count == mean.frequency * 1001
    with pytest.raises(ParameterError, match="pool takes raw frequencies"):
        read(tallies, every=True, pool="mean", post_process="clip")
    with pytest.raises(ParameterError, match="pool must be one of mean: sum"):
        read(tallies, every=True, pool="sum")


def test_a_pooled_interval_holds_for_memoized_noise() -> None:
    """The same 400 devices on 28 days with memoized answers: the mean covers as one day does.

    95 % of 1000 surveys have a standard error of 0.007, 6 of which are allowed. Taking the days
    as independent would cover 28 %.
    """
    rng = np.random.default_rng(28)
    p, q = float(DARK_ONCE.p), float(DARK_ONCE.q)
    held = alone = 0
    for _ in range(1000):
        truth = 0.3
        holders = rng.binomial(400, truth)
        yes = int(rng.binomial(holders, p) + rng.binomial(400 - holders, q))
        day = debias([400 - yes, yes], mechanism="grr", epsilon=2)
        (_, mean) = pool_mean([day] * 28).estimates
        held += mean.low <= truth <= mean.high
        alone += abs(mean.frequency - truth) <= 1.96 * mean.standard_error / math.sqrt(28)
    assert 0.95 - 6 * 0.007 < held / 1000 <= 1
    assert alone / 1000 < 0.5


def spoil(document: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**document, **changes}


GOOD = tally(DARK, [70, 30]).document()


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        spoil(GOOD, n=101),
        spoil(GOOD, cells=[70, -30]),
        spoil(GOOD, cells=[70, 30, 0]),
        spoil(GOOD, period="2026-11-31"),
        spoil(GOOD, question={}),
        spoil(GOOD, question={**GOOD["question"], "epsilon": "9"}),
        spoil(GOOD, survey="other"),
        spoil(GOOD, segment="\x1b[2J"),
        tally(HEALTH, [1, 2, 3, 4], "2026-W49").document(),
    ],
)
def test_a_tally_that_cannot_be_trusted_is_refused(document: Any) -> None:
    with serving() as server:
        server.hold([tally(DARK, [70, 30])])
        server.put("/v1/tallies/acme-editor/dark_mode", {"tallies": [GOOD, document]})
        with pytest.raises(DocumentError):
            estimate("dark_mode", server.url, token=TOKEN)


def test_tallies_of_the_same_devices_do_not_add_up(read: Reader) -> None:
    with pytest.raises(DocumentError, match="two tallies of the same devices"):
        read([tally(DARK, [70, 30]), tally(DARK, [60, 40])])
    with pytest.raises(DocumentError, match="different definitions"):
        read(
            [
                tally(DARK, [70, 30], segment="beta"),
                tally(question(ask="Is it dark?"), [70, 30], segment="stable"),
            ]
        )


def test_estimate_tallies_checks_what_it_is_given() -> None:
    with pytest.raises(ParameterError, match="at least one"):
        estimate_tallies([])
    with pytest.raises(ParameterError, match="one question, version and period"):
        estimate_tallies([tally(DARK, [1, 2]), tally(NEWER, [1, 2])])
    with pytest.raises(ParameterError, match="different segments or batches"):
        estimate_tallies([tally(DARK, [1, 2]), tally(DARK, [1, 2])])
    with pytest.raises(ParameterError, match="count no device"):
        estimate_tallies([tally(DARK, [0, 0])])


def test_an_opened_source_is_read_again(tmp_path: Path) -> None:
    store = write_store(tmp_path / "a b#c?.db", [tally(DARK, [70, 30])])
    source = open_source(str(store))
    first: Estimates = estimate("dark_mode", source)[0]
    assert estimate("dark_mode", store)[0] == first
    assert [one.state for one in periods(source).states] == ["released"]


def test_periods_are_in_the_order_of_time(read: Reader, tmp_path: Path) -> None:
    states = [
        state(HEALTH, "2027-W01", "pending", "0-9"),
        state(HEALTH, "2026-W50", "destroyed", "fewer than 1000"),
        state(DARK, "2026-12-01", "pending", "100-999", segment="beta"),
    ]
    store = write_store(tmp_path / "s.db", [tally(DARK, [70, 30])], states)
    found = periods(store)
    assert [(one.period, one.state) for one in found.states] == [
        ("2026-11-30", "released"),
        ("2026-12-01", "pending"),
        ("2026-W50", "destroyed"),
        ("2027-W01", "pending"),
    ]
    assert found.document()["periods"] == found.records()
    assert found.records()[0]["crowd"] == "100"
    assert periods(store, survey="none").states == ()


def test_the_store_is_only_read(tmp_path: Path) -> None:
    store = write_store(tmp_path / "collector.db", [tally(DARK, [70, 30])])
    store.chmod(0o444)
    before = store.read_bytes()
    with pytest.raises(SourceError, match="attempt to write a readonly database"):
        SqliteSource(store)._rows("DELETE FROM t")
    estimate("dark_mode", store)
    assert store.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["collector.db"]


def test_a_store_that_is_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.analysis.sources._BUSY_SECONDS", 0.05)
    store = write_store(tmp_path / "collector.db", [tally(DARK, [70, 30])])
    with closing(sqlite3.connect(store, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SourceError, match="somebody is writing to it; try again"):
            estimate("dark_mode", store)


def test_a_store_whose_collector_was_killed(tmp_path: Path) -> None:
    """A journal to roll back: whoever only reads cannot, and must not read past it."""
    store = write_store(tmp_path / "collector.db", [tally(DARK, [70, 30])])
    die = """
import os, sqlite3, sys
writer = sqlite3.connect(sys.argv[1], isolation_level=None)
writer.execute("PRAGMA cache_size = 1")
writer.execute("BEGIN")
writer.execute("CREATE TABLE more (x)")
for _ in range(500):
    writer.execute("INSERT INTO more VALUES (zeroblob(1000))")
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", die, str(store)], check=False)
    with pytest.raises(SourceError, match="deniable-collector status repairs it"):
        estimate("dark_mode", store)
    with closing(sqlite3.connect(store)) as collector:
        collector.execute("SELECT * FROM t").fetchall()
    assert estimate("dark_mode", store)[0].n == 100


def test_a_survey_that_is_not_there(tmp_path: Path) -> None:
    store = write_store(tmp_path / "collector.db", [tally(DARK, [70, 30])])
    with pytest.raises(SourceError, match=r"^nobody has reported dark_mode in survey typo yet$"):
        estimate("dark_mode", store, survey="typo")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file"),
        (b"", "is it a collector's store"),
        (b"not a database, but long enough to have a header of some kind" * 9, "no collector's"),
    ],
)
def test_a_file_that_is_no_store(content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SourceError, match=message):
        estimate("dark_mode", path)


@pytest.mark.parametrize("path", ["", ".", "\0", "x" * 5000])
def test_a_path_that_is_no_file(path: str) -> None:
    with pytest.raises(SourceError):
        estimate("dark_mode", path)


def test_large_tallies_take_little_time_and_stay_finite() -> None:
    many = choice_table(choices=[f"c{i}" for i in range(4096)], mechanism="grr", period="week")
    asked = make_survey({"q": many}, max_epsilon=16, linkable=True).questions["q"]
    cells = [2**37 - i for i in range(4096)]
    result = estimate_tallies([tally(asked, cells, "2026-W49")], simultaneous=True)
    assert len(result.estimates) == 4096
    assert all(math.isfinite(one.low + one.high) for one in result.estimates)


def test_expired_questions_are_still_decoded(read: Reader) -> None:
    old = question(expires=date(2020, 1, 31))
    assert read([tally(old, [70, 30], "2020-01-31")])[0].n == 100


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "[-Infinity]", "", None, b"[]", "[" * 10**5])
def test_only_json_is_json(text: object) -> None:
    with pytest.raises(DocumentError, match="valid JSON"):
        parse_json(text)


def test_every_fault_is_ours(tmp_path: Path) -> None:
    with serving() as server:
        _strange(server)


def _strange(server: Server) -> None:
    for body in (b"", b"[]", b"{", b"null", b'{"periods": {}}', b'{"periods": [1]}',
                 b'{"periods": [{}]}', b"[" * 100_000, b'{"periods": [NaN]}', b"\xff",
                 b'{"periods": ' + b"9" * 5000 + b"}"):  # fmt: skip
        server.put("/v1/periods", body)
        with pytest.raises(DeniableError):
            periods(server.url, token=TOKEN)
