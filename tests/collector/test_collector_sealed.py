"""Sealed reports: limited, counted, mixed and released by a collector that cannot read them."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from collector_kit import InProcess, make_survey, new_device, period_keys
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from scipy.stats import kendalltau

from deniable.client.sealing import Sealer
from deniable.collector.batches import batch_parts, pack, unpack
from deniable.collector.scope_key import Place, ScopeKey, UnreadableError
from deniable.collector.store.base import PendingKey, Scope, Settled
from deniable.protocol.report import report_document, request_document
from deniable.protocol.response import Response
from deniable.protocol.sealed_batch import SealedBatch, parse_sealed_batch
from deniable.protocol.sealing import (
    SealedResponse,
    SealingKey,
    encode_base64url,
    seal_info,
    sealed_size,
    unpack_plain,
)
from deniable.protocol.survey import Survey

Start = Callable[..., InProcess]

DAY = "2026-11-30"
PRIVATE = X25519PrivateKey.generate()
SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


def survey_with(*keys: SealingKey, version: int = 1, min_crowd: int = 10) -> Survey:
    sealed = {"sealed": True, "epsilon_first": 1, "min_crowd": min_crowd, "version": version}
    return make_survey(
        {"secret": sealed, "open": {}, "ever": sealed | {"period": "once"}},
        segments=["a"],
        sealing_keys=[key.document() for key in keys],
    )


def key(name: str = "first", state: Any = "active") -> SealingKey:
    private = PRIVATE if name == "first" else X25519PrivateKey.generate()
    return SealingKey(name, "x25519", private.public_key().public_bytes_raw(), state)


SURVEY = survey_with(key())


def sealed_report(survey: Survey, name: str, out: int, period: str, segment: str | None) -> Any:
    question = survey.questions[name]
    sealer = Sealer(survey)
    assert sealer.ready()
    _, wire = sealer.seal(question, period, segment, Response(out))
    return report_document(question.id, question.version, question.wire_hash, wire)


def send(
    collector: InProcess,
    survey: Survey = SURVEY,
    *,
    name: str = "secret",
    out: int = 1,
    device: str | None = None,
    period: str = DAY,
    segment: str | None = None,
) -> tuple[Any, Any]:
    """Send one sealed report; return the report and the reply."""
    report = sealed_report(survey, name, out, period, segment)
    body = request_document(survey.id, period, segment, device or new_device(), [report])
    return report, collector.post(body).json


def parts(collector: InProcess, name: str = "secret") -> list[SealedBatch]:
    with collector.collector.store.read() as reader:
        found = [reader.batch("test", name, entry.id) for entry in reader.batches("test", name)]
    return [parse_sealed_batch(json.loads(text or "")) for text in found]


def opened(batch: SealedBatch) -> list[int]:
    """What the analyst reads."""
    values = []
    for report in batch.reports:
        info = seal_info(batch.question, batch.period, batch.segment, report.key_id)
        plain = SUITE.decrypt(report.ciphertext, PRIVATE, info)
        values.append(unpack_plain(batch.question, plain).out)
    return values


def test_a_batch_comes_out_as_it_went_in(start: Start) -> None:
    collector = start(SURVEY)
    answers = [n % 3 == 0 for n in range(25)]
    for answer in answers:
        assert send(collector, out=int(answer))[1]["accepted"] == 1
    assert parts(collector) == []
    collector.release(days=4)
    (batch,) = parts(collector)
    assert (batch.n, batch.period, batch.segment, batch.batch) == (25, DAY, None, None)
    assert sum(opened(batch)) == sum(answers)
    assert collector.documents("test", "secret") == []
    assert collector.states() == {(DAY, None): "released"}
    with closing(sqlite3.connect(collector.collector.config.store)) as connection:
        assert connection.execute("SELECT count(*) FROM sealed").fetchone() == (0,)


def test_each_device_counts_once(start: Start) -> None:
    collector = start(SURVEY)
    device = new_device()
    assert send(collector, device=device)[1]["accepted"] == 1
    assert send(collector, device=device)[1]["duplicate"] == 1
    for _ in range(9):
        send(collector)
    collector.release(days=4)
    assert [batch.n for batch in parts(collector)] == [10]


def test_a_small_crowd_is_destroyed_unread(start: Start) -> None:
    collector = start(SURVEY)
    for _ in range(9):
        send(collector)
    for _ in range(10):
        send(collector, segment="a")
    collector.release(days=4)
    assert collector.states() == {(DAY, None): "destroyed", (DAY, "a"): "released"}
    assert [(batch.segment, batch.n) for batch in parts(collector)] == [("a", 10)]


def test_a_once_question_leaves_in_weekly_batches(start: Start) -> None:
    collector = start(SURVEY)
    for days in (7, 7):
        for _ in range(12):
            assert send(collector, name="ever", period="once")[1]["accepted"] == 1
        collector.release(days=days)
    batches = parts(collector, "ever")
    assert [(batch.batch, batch.n) for batch in batches] == [("2026-W49", 12), ("2026-W50", 12)]
    first, second = ({report.ciphertext for report in batch.reports} for batch in batches)
    assert not first & second


def test_large_batches_come_in_parts(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.collector.batches.MAX_PART", 10)
    monkeypatch.setattr("deniable.protocol.sealed_batch.MAX_PART", 10)
    collector = start(SURVEY)
    for _ in range(25):
        send(collector)
    collector.release(days=4)
    batches = parts(collector)
    assert [(batch.part, batch.parts, len(batch.reports)) for batch in batches] == [
        (0, 3, 10),
        (1, 3, 10),
        (2, 3, 5),
    ]
    ciphertexts = [report.ciphertext for batch in batches for report in batch.reports]
    assert ciphertexts == sorted(ciphertexts)
    assert len(set(ciphertexts)) == 25


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (1, "bad_response"),
        (["first", "AAAA"], "bad_response"),
        (["first", "A" * 1000], "bad_response"),
        (["other", "AAAA"], "sealing_key"),
        (["first"], "bad_response"),
        ([None, None], "bad_response"),
        ({"key": "first"}, "bad_response"),
    ],
)
def test_what_is_not_sealed_is_refused(start: Start, response: object, code: str) -> None:
    collector = start(SURVEY)
    question = SURVEY.questions["secret"]
    report: Any = report_document(question.id, 1, question.wire_hash, 0) | {"response": response}
    good = sealed_report(SURVEY, "ever", 1, "once", None)
    body = request_document("test", DAY, None, new_device(), [report, good])
    outcome = collector.post(body).json
    assert [rejection["code"] for rejection in outcome["rejected"]] == [code, "wrong_period"]


def test_the_newest_edition_says_which_keys_are_taken(start: Start) -> None:
    older = SURVEY
    second, third = key("second"), key("third", "pending")
    rotated = survey_with(key("first", "expired"), second, third)
    collector = start(older)
    assert send(collector, older)[1]["accepted"] == 1
    collector.collector.load([rotated])
    assert [r["code"] for r in send(collector, older)[1]["rejected"]] == ["sealing_key"]
    assert send(collector, rotated)[1]["accepted"] == 1
    next_one = survey_with(replace(second, state="expired"), replace(third, state="active"))
    assert send(collector, next_one)[1]["accepted"] == 1


@pytest.fixture
def mid_period(start: Start) -> tuple[InProcess, list[bytes]]:
    """A collector with 200 reports in the order of their arrival, answers 0 and 1 in turn."""
    collector = start(SURVEY)
    arrived = []
    for number in range(200):
        report, outcome = send(collector, out=number % 2)
        assert outcome["accepted"] == 1
        arrived.append(report["response"][1])
    return collector, [text.encode() for text in arrived]


def test_a_seized_file_opens_with_no_analysts_key(
    mid_period: tuple[InProcess, list[bytes]],
) -> None:
    collector, arrived = mid_period
    store = Path(collector.collector.config.store)
    files = [path for path in store.parent.glob("collector.db*") if path.is_file()]
    content = b"".join(path.read_bytes() for path in files)
    assert not [text for text in arrived if text in content or text[40:60] in content]
    size = sealed_size(SURVEY.questions["secret"], "x25519")
    question = SURVEY.questions["secret"]
    info = seal_info(question, DAY, None, "first")
    with closing(sqlite3.connect(store)) as connection:
        rows = [report for (report,) in connection.execute("SELECT report FROM sealed")]
    assert len(rows) == 200
    assert len({len(row) for row in rows}) == 1
    for row in rows:
        for start_at in range(len(row) - size + 1):
            with pytest.raises(InvalidTag):
                SUITE.decrypt(row[start_at : start_at + size], PRIVATE, info)


def test_no_order_tells_who_came_when(mid_period: tuple[InProcess, list[bytes]]) -> None:
    """Kendall's tau, before and after the release; 6.2 standard deviations have odds < 1e-9."""
    collector, arrived = mid_period
    n = len(arrived)
    limit = 6.2 * (2 * (2 * n + 5) / (9 * n * (n - 1))) ** 0.5
    opener = collector.collector.keys.of(Scope("test", DAY)).report_opener(
        Place(SURVEY.questions["secret"].hash, DAY, None)
    )
    number = collector.collector.catalogue.questions["test"]["secret"][1].id
    with collector.collector.store.transaction() as tx:
        waiting = [opener(row) for row in tx.sealed(PendingKey(number, DAY, None))]
    collector.release(days=4)
    (batch,) = parts(collector)
    released = [encode_base64url(report.ciphertext).encode() for report in batch.reports]
    stored = [encode_base64url(unpack(row).ciphertext).encode() for row in waiting]
    for place in (stored, released):
        assert sorted(place) == sorted(arrived)
        tau = kendalltau(range(n), [place.index(text) for text in arrived]).statistic
        assert abs(tau) < limit
    assert abs(kendalltau(range(n), [released.index(text) for text in stored]).statistic) < limit


def test_reports_of_a_period_without_its_key_do_not_open(start: Start) -> None:
    collector = start(SURVEY)
    for _ in range(10):
        send(collector)
    collector.collector.close()
    (file,) = period_keys(collector.collector.store.keys)
    kept = file.read_bytes()
    file.write_bytes(os.urandom(32))
    collector = start(SURVEY)
    collector.release(days=4)
    assert parts(collector) == []
    file.write_bytes(kept)
    collector.release()
    assert [batch.n for batch in parts(collector)] == [10]


def test_a_report_moved_to_another_tally_does_not_open() -> None:
    scope = ScopeKey(Scope("test", DAY), bytes(32))
    (row,) = scope.seal_reports(Place("a" * 64, DAY, None), [b"report"])
    with pytest.raises(UnreadableError):
        scope.report_opener(Place("a" * 64, DAY, "a"))(row)


# What a batch costs


HYBRID_BYTES = 1141


def some_reports(count: int) -> list[SealedResponse]:
    """Reports for two keys, of two sizes, of which some stand twice, and one begins another."""
    rng = random.Random(20261130)
    keys = {"old": 53, "new": HYBRID_BYTES}
    reports = [SealedResponse(name, rng.randbytes(keys[name])) for name in [*keys] * (count // 2)]
    reports += [reports[1], SealedResponse("old", reports[1].ciphertext[:53])]
    reports += [SealedResponse("new", reports[0].ciphertext)]
    return rng.sample(reports, len(reports))


def test_the_parts_of_a_batch_are_sorted_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deniable.collector.batches.MAX_PART", 100)
    reports = some_reports(250)
    packed = [pack(one, HYBRID_BYTES + 10) for one in reports]
    parts = list(batch_parts(SURVEY.questions["secret"], Settled(1, DAY, None, "a"), packed))
    documents = [json.loads(part.document) for part in parts]
    assert [(one["n"], one["part"], one["parts"]) for one in documents] == [
        (253, part, 3) for part in range(3)
    ]
    released = [tuple(report) for one in documents for report in one["reports"]]
    wires = [(one.ciphertext, tuple(one.pack())) for one in reports]
    assert released == [wire for _, wire in sorted(wires)]
    assert [len(one["reports"]) for one in documents] == [100, 100, 53]


def test_a_batch_is_in_memory_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a report takes is its bytes, and a part's documents are gone before the next."""
    monkeypatch.setattr("deniable.collector.batches.MAX_PART", 100)
    tracemalloc.start()
    try:
        packed = [pack(one, HYBRID_BYTES + 10) for one in some_reports(8_000)]
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        parts = batch_parts(SURVEY.questions["secret"], Settled(1, DAY, None, None), packed)
        assert sum(part.n > 0 for part in parts) == 81
        assert tracemalloc.get_traced_memory()[1] < 1.2 * held
    finally:
        tracemalloc.stop()
    assert packed == []
