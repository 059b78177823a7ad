"""The audit of sets, texts, pairs and answers that change: sound devices pass, a broken one not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from client_kit import question, survey, survey_file
from kinds_kit import CHANGING, PARTS, TEXT

from deniable.analysis.auditing.derivation import permanent_response
from deniable.analysis.auditing.devices import Devices
from deniable.analysis.auditing.linking import audit_links
from deniable.analysis.auditing.longitudinal import longitudinal
from deniable.analysis.auditing.memo import audit_memo
from deniable.analysis.auditing.promise import within
from deniable.analysis.auditing.requests import check_requests
from deniable.analysis.auditing.samples import Sample
from deniable.analysis.auditing.trials import Trials
from deniable.protocol import derivation
from deniable.protocol.mechanisms import FrequencyOracle
from deniable.protocol.mechanisms.privset import PrivSet
from deniable.protocol.specimens import specimens
from deniable.protocol.survey import Survey

KINDS = {
    "tools": question(type="set", choices=list("abcd"), max_items=2, period="week", default=["b"]),
    "home": question(
        **TEXT, mechanism={"name": "cms", "rows": 5, "width": 8}, epsilon_first=1, period="week"
    ),
    "word": question(**TEXT, mechanism={"name": "hcms", "rows": 4, "width": 8}, period="week"),
    "found": question(**TEXT, mechanism={"name": "pem", "rows": 9, "g": 6}, period="week"),
    "both": question(type="joint", parts=PARTS, period="week"),
}
HORIZONS = {name: question(**CHANGING[name]) for name in CHANGING}
ASKED = survey({"linkable": True, "max_epsilon": 40}, **KINDS, **HORIZONS)
EACH = list(ASKED.questions.values())
SINGLE = [each for each in EACH if each.horizon is None]


def _asked() -> Survey:
    return replace(ASKED, questions={each.id: each for each in SINGLE})


@pytest.fixture(scope="module")
def devices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devices]:
    path = survey_file(tmp_path_factory.mktemp("kinds") / "survey.json", ASKED)
    with Devices(path, workers=2) as audited:
        yield audited


def test_every_specimen_is_an_answer_and_no_two_are_alike() -> None:
    for each in EACH:
        symbols = [each.encode(value) for value in specimens(each)]
        assert len(set(symbols)) == len(symbols) > 1
    tools = specimens(ASKED.questions["tools"])
    assert {len(chosen) for chosen in tools if isinstance(chosen, tuple)} == {0, 1, 2, 3, 4}
    *fitting, other = specimens(ASKED.questions["home"])
    assert ASKED.questions["home"].encode(other) == 0
    assert all(ASKED.questions["home"].encode(text) for text in fitting)


def test_devices_can_be_asked_all_but_what_has_days_of_its_own(devices: Devices) -> None:
    described = devices.describe()
    assert {each.id for each in described.questions if each.askable} == set(KINDS)
    for each in described.questions:
        assert each.values == specimens(ASKED.questions[each.id])


@pytest.mark.parametrize("name", ASKED.questions)
def test_their_code_keeps_its_promise_to_the_last_digit(devices: Devices, name: str) -> None:
    """Within a billionth of it: of all reports of a horizon together, which one alone is not."""
    found, asked = devices.leakage(name), ASKED.questions[name]
    assert found.permanent is not None
    assert found.report is not None
    assert within(found.permanent, asked.epsilon)
    assert not within(found.permanent, asked.epsilon * (10**9 - 1) / 10**9)
    assert within(found.report, asked.epsilon_first or asked.epsilon)
    assert ("for all histories of 4 periods together" in found.by) == (name in HORIZONS)


def test_what_devices_send_is_what_their_secrets_give(devices: Devices) -> None:
    findings = [
        *audit_memo(devices, _asked(), count=10, lives=1),
        *check_requests(devices, _asked(), count=2),
        *audit_links(devices, _asked(), count=2),
    ]
    assert [each for each in findings if each.kept is False] == []
    told = {(each.check, each.question) for each in findings if each.kept}
    assert told >= {("derivation", name) for name in KINDS}
    assert told >= {("restart", name) for name in ("tools", "word", "found", "both")}
    assert told >= {("setup", name) for name in ("home", "word", "found")}


def test_sound_devices_are_not_accused(devices: Devices) -> None:
    """With odds of 1e-9 in each of ten tests."""
    trials = Trials(devices, SINGLE, half=60, alpha=1e-9, seed=1, progress=lambda done: None)
    for name, measured in trials.run().items():
        assert measured.lower_bound <= float(ASKED.questions[name].epsilon)
        assert measured.null_control == 0
    assert list(trials.oddities()) == []


def test_broken_devices_tell_their_answers(devices: Devices) -> None:
    """So that the positive control can fail: every response then speaks for its answer."""
    told = {"tools": ("a", "c"), "home": "fade", "word": "cab", "found": "bead",
            "both": ("light", "pro")}  # fmt: skip
    for name, wires in devices.sample(40, told, broken=True).items():
        mechanism, symbol = (
            ASKED.questions[name].mechanism,
            ASKED.questions[name].encode(told[name]),
        )
        found = [response for response in Sample(mechanism, wires).responses if response]
        assert len(found) == 40
        assert isinstance(mechanism, FrequencyOracle)
        if isinstance(mechanism, PrivSet):
            assert all(each.out & mechanism.padded(symbol) for each in found)
        else:
            assert all(mechanism.supports(symbol, y) for y in found if mechanism.covers(symbol, y))


@pytest.mark.parametrize("name", KINDS)
def test_an_answer_that_stays_reveals_no_more_over_time(name: str) -> None:
    mechanism = ASKED.questions[name].mechanism
    found = longitudinal(mechanism)
    assert found is not None
    assert found.stays_within
    assert len(found.unchanging) == 3
    assert found.unchanging[-1][1] is not None
    assert not within(found.unchanging[-1][1], mechanism.epsilon / 2)
    assert found.changed_days is not None


def test_a_stream_is_derived_as_devices_do() -> None:
    """Of all mechanisms but those of trajectories the stream is the memo key itself."""
    secret = bytes(range(32))
    for each in EACH:
        symbol = each.encode(specimens(each)[0])
        assert permanent_response(secret, each, symbol) == derivation.permanent_response(
            secret, each, symbol
        )
