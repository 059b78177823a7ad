"""The document in which sealed reports are released: what it says and what is refused."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from survey_documents import boolean_table, make_question, spoiled

from deniable.protocol.errors import DocumentError
from deniable.protocol.sealed_batch import MAX_PART, SealedBatch, parse_sealed_batch
from deniable.protocol.sealing import SealedResponse, encode_base64url

WELL = replace(make_question(boolean_table()), sealed=True)
REPORTS = tuple(SealedResponse("k1", bytes([i]) * 53) for i in (1, 2, 2, 3))
BATCH = SealedBatch(WELL, "2026-11-30", "beta", 4, REPORTS)
DOCUMENT: dict[str, Any] = json.loads(json.dumps(BATCH.document()))


def test_a_document_is_frozen() -> None:
    assert list(DOCUMENT) == [
        "format", "survey", "period", "batch", "segment", "n", "part", "parts", "reports",
        "question",
    ]  # fmt: skip
    assert DOCUMENT["reports"][0] == ["k1", encode_base64url(bytes([1]) * 53)]
    assert DOCUMENT["question"] == WELL.document()
    assert [DOCUMENT[name] for name in ("format", "n", "part", "parts")] == [1, 4, 0, 1]


def test_a_document_comes_back() -> None:
    assert parse_sealed_batch(DOCUMENT) == BATCH
    both = (REPORTS[0], SealedResponse("k2", bytes([9]) * 1141))
    mixed = SealedBatch(WELL, "2026-11-30", None, 2, both)
    assert parse_sealed_batch(json.loads(json.dumps(mixed.document()))) == mixed


def test_parts_come_back() -> None:
    report = SealedResponse("k1", bytes(53))
    full = SealedBatch(WELL, "2026-11-30", None, MAX_PART + 1, (report,) * MAX_PART, 0, 2)
    rest = SealedBatch(WELL, "2026-11-30", None, MAX_PART + 1, (report,), 1, 2)
    for part in (full, rest):
        assert parse_sealed_batch(part.document()) == part


PLAIN = make_question(boolean_table())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": 2}, "unknown format"),
        ({"extra": 1}, "exactly the fields"),
        ({"question": PLAIN.document()}, "not sealed"),
        ({"question": {**WELL.document(), "ask": "What?"}}, "hash"),
        ({"period": "2026-W49"}, "another kind"),
        ({"batch": "2026-W49"}, "batch must be"),
        ({"segment": ""}, "segment must be"),
        ({"n": True}, "n must be"),
        ({"n": 0}, "go together"),
        ({"n": 3}, "as many as n"),
        ({"n": 5}, "as many as n"),
        ({"part": 1}, "go together"),
        ({"part": -1}, "part must be"),
        ({"parts": 2}, "go together"),
        ({"parts": 1.0}, "parts must be"),
        ({"reports": {}}, "must be a list"),
        ({"reports": DOCUMENT["reports"][::-1]}, "sorted"),
        ({"reports": [["k1", DOCUMENT["reports"][0][1] + "="]] * 4}, "base64url"),
        ({"reports": [["K!", DOCUMENT["reports"][0][1]]] * 4}, "no id"),
        ({"reports": [["k1", "AAAA"]] * 4}, "size"),
        ({"reports": [["k1"]] * 4}, "must be \\[key id"),
        ({"reports": [1] * 4}, "must be \\[key id"),
    ],
)
def test_every_mistake_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DocumentError, match=words) as refusal:
        parse_sealed_batch({**DOCUMENT, **changes})
    assert str(refusal.value).startswith("sealed batch: ")


@given(st.data())
def test_anything_else_is_refused_by_name(data: st.DataObject) -> None:
    document = data.draw(spoiled(copy.deepcopy(DOCUMENT)))
    try:
        batch = parse_sealed_batch(document)
    except DocumentError:
        pass
    else:
        assert parse_sealed_batch(json.loads(json.dumps(batch.document()))) == batch
