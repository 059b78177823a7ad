"""Sealed questions on the device: nothing plain is kept, and nothing else needs the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from client_kit import DAY, Clock, Collector, bytes_of, responses, rows, run
from sealed_kit import PERIOD, SUITES, key, public, sealed_question, sealing_survey

from deniable.analysis.unsealing.private_keys import PrivateKey
from deniable.client.device import main
from deniable.protocol.errors import MissingExtraError, ParameterError
from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.sealing import (
    SealedResponse,
    SealingKey,
    seal_info,
    sealed_size,
    unpack_plain,
    unpack_sealed,
)
from deniable.protocol.survey import Survey, compile_survey

SIDES = [f"side {number}" for number in range(256)]


def asked(*keys: SealingKey) -> Survey:
    """A sealed question of 256 bits, whose plain response would be seen anywhere; and a plain."""
    return sealing_survey(
        *keys,
        head={"linkable": True},
        sides=sealed_question(type="choice", choices=SIDES, mechanism="oue"),
        plain=sealed_question(sealed=False),
    )


def opened(
    private: PrivateKey, question: Question, wire: Any, segment: str | None = None
) -> Response:
    sealed = unpack_sealed(wire, question, [public(private)])
    info = seal_info(question, PERIOD, segment, sealed.key_id)
    plaintext = private.opener()(sealed.ciphertext, info)
    assert plaintext is not None
    return unpack_plain(question, plaintext)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("segment", [None, "beta"])
def test_what_waits_is_sealed_for_the_active_key(
    start: Any, store: Path, suite: str, segment: str | None
) -> None:
    private = key("new", suite)
    survey = asked(public(key(), "pending"), public(private), public(key("k0"), "expired"))
    question = survey.questions["sides"]
    client = start(survey, segment=segment)
    client.record("sides", SIDES[7])
    client.record("plain", True)
    ((name, text),) = responses(store, "sides")
    assert name == "new"
    response = opened(private, question, [name, text], segment)
    packed = response.out.to_bytes(32, "little")
    kept = bytes_of(store.parent)
    assert packed not in kept
    assert str(question.mechanism.shape.pack(response)).encode() not in kept
    assert responses(store, "plain") in ([0], [1])


@pytest.mark.parametrize("suite", SUITES)
def test_every_answer_has_one_size(start: Any, tmp_path: Path, suite: str) -> None:
    survey = asked(public(key("s", suite)))
    sizes = set()
    for number in (0, 7, 255):
        place = tmp_path / f"{number}.db"
        start(survey, store=place).record("sides", SIDES[number])
        sizes |= {len(text) for _, text in responses(place, "sides")}
    assert sizes == {(sealed_size(survey.questions["sides"], suite) * 8 + 5) // 6}


def test_two_reports_of_one_answer_share_nothing(start: Any, store: Path, clock: Clock) -> None:
    client = start(asked())
    for _ in range(3):
        client.record("sides", SIDES[7])
        clock.advance(DAY)
    texts = [text for _, text in responses(store, "sides")]
    assert len({text[:43] for text in texts}) == len({text[43:] for text in texts}) == 3


def test_a_sealed_report_is_sent_as_it_waits(start: Any, store: Path, heard: Collector) -> None:
    client = start(asked(), heard.url, consent="on")
    client._engine._uploader.stop(5)
    client.record("sides", SIDES[7])
    waiting = responses(store, "sides")
    client.flush(force=True)
    assert heard.reports == [(PERIOD, "sides", waiting[0])]
    assert responses(store, "sides") == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("period", "2026-12-01"),
        ("segment", "stable"),
        ("key_id", "k2"),
        ("version", 2),
        ("id", "other"),
        ("survey", "other"),
        ("ask", "Or not?"),
    ],
)
def test_a_report_opens_nowhere_else(start: Any, store: Path, field: str, value: Any) -> None:
    """RFC 9180: `info` enters the key schedule, so the smallest change of it opens nothing."""
    from dataclasses import replace

    survey = asked()
    question = survey.questions["sides"]
    start(survey, segment="beta").record("sides", SIDES[7])
    ((name, text),) = responses(store, "sides")
    sealed = unpack_sealed([name, text], question, survey.sealing_keys)
    where: dict[str, Any] = {"period": PERIOD, "segment": "beta", "key_id": name}
    assert key().opener()(sealed.ciphertext, seal_info(question, **where)) is not None
    if field in where:
        where[field] = value
    else:
        question = replace(question, **{field: value})
    assert key().opener()(sealed.ciphertext, seal_info(question, **where)) is None


def test_a_default_is_sealed_too(start: Any, store: Path, clock: Clock) -> None:
    survey = sealing_survey(well=sealed_question(default=False))
    client = start(survey)
    clock.advance(DAY)
    client.flush()
    ((name, text),) = responses(store, "well")
    assert opened(key(), survey.questions["well"], [name, text]).out in (0, 1)


WITHOUT = """
import sys
{blocked}
from pathlib import Path
from deniable.client import Client
from deniable.protocol.errors import MissingExtraError
survey, store, strict = sys.argv[1:]
client = Client(survey, "http://127.0.0.1:9", store, strict=bool(strict))
for name, answer in (("sides", "side 7"), ("plain", True)):
    try:
        client.record(name, answer)
    except MissingExtraError as exc:
        print("raised:", exc)
state = client.status()
print(state.state, state.queued, dict(state.dropped), str(state.epsilon_spent))
print(state.reason)
"""
ABSENT = "sys.modules['cryptography'] = None"
OLD = "sys.modules['cryptography.hazmat.primitives.hpke'] = None"
NEEDED = "cryptography is not installed, or too old; pip install 'deniable[sealed]'"


@pytest.mark.parametrize("blocked", [ABSENT, OLD])
@pytest.mark.parametrize("strict", ["", "strict"])
def test_without_the_library_other_questions_work(
    tmp_path: Path, blocked: str, strict: str
) -> None:
    survey = tmp_path / "survey.json"
    survey.write_text(compile_survey(asked()), "utf-8")
    store = tmp_path / "acme.db"
    told = run(WITHOUT.format(blocked=blocked), survey, store, strict).splitlines()
    if strict:
        assert told.pop(0) == f"raised: {NEEDED}"
    assert told == [
        "local 1 {'cannot_seal': 1} 2",
        f"nobody has said yes yet; sealed questions are not answered ({NEEDED})",
    ]
    assert responses(store, "sides") == []
    assert rows(store, "SELECT question FROM answered JOIN ledger USING (number)") == [("plain",)]


def test_a_survey_that_seals_nothing_never_loads_the_library(tmp_path: Path) -> None:
    survey = tmp_path / "survey.json"
    survey.write_text(compile_survey(sealing_survey(plain=sealed_question(sealed=False))), "utf-8")
    program = """
import sys
from deniable.client import Client
client = Client(sys.argv[1], "http://127.0.0.1:9", sys.argv[2], strict=True)
client.record("plain", True)
print("cryptography" in sys.modules, client.status().queued)
"""
    assert run(program, survey, tmp_path / "acme.db").split() == ["False", "1"]


def test_a_key_that_is_none_is_said_and_spends_nothing(start: Any, store: Path) -> None:
    low = SealingKey("low", "x25519", bytes(32), "active")
    client = start(asked(low))
    with pytest.raises(ParameterError, match="sealing_keys: low is no public key of x25519"):
        client.record("sides", SIDES[7])
    client.record("plain", True)
    assert client.status().queued == 1
    assert rows(store, "SELECT question FROM ledger") == [("plain",)]
    assert "low is no public key" in client.status().reason


def test_show_says_for_whom_answers_are_sealed(
    start: Any, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with start(asked()) as client:
        client.record("sides", SIDES[7])
        client.record("plain", True)
    assert main(["show", "--store", str(store), "--format", "json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert {q["question"]: q["sealed_for"] for q in told["questions"]} == {
        "sides": "k1",
        "plain": None,
    }
    assert main(["show", "--store", str(store)]) == 0
    line = "  sealed: answers to acme/sides v1, for the analyst's key k1; the collector cannot"
    assert [text for text in capsys.readouterr().out.splitlines() if text.startswith(line)]


def test_only_sealed_questions_have_a_key(start: Any, store: Path) -> None:
    with start(asked()) as client:
        client.record("plain", True)
    assert rows(store, "SELECT * FROM sealed") == []
    start(asked()).record("sides", SIDES[7])
    assert rows(store, "SELECT question, key FROM sealed JOIN ledger USING (number)") == [
        ("sides", "k1")
    ]


def test_nothing_is_sealed_before_the_client_is_ready() -> None:
    from deniable.client.sealing import Sealer

    survey = asked()
    with pytest.raises(MissingExtraError):
        Sealer(survey).seal(survey.questions["sides"], PERIOD, None, Response(0))


def test_a_sealed_response_is_never_shown() -> None:
    assert "secret" not in repr(key())
    assert SealedResponse("k1", b"x").pack() == ["k1", "eA"]
