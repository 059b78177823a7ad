"""Tallies: readable without the survey, and refused where they do not fit themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from survey_documents import boolean_table, choice_table, make_question, make_survey

from deniable.protocol.errors import DocumentError
from deniable.protocol.question import Question
from deniable.protocol.response import Response
from deniable.protocol.tally import Tally, parse_tally

GRR = make_survey().questions["dark_mode"]
OUE = make_question(choice_table(mechanism="oue", period="week"))
ONCE = make_survey().questions["health"]

SYMBOLS = Tally(GRR, "2026-11-30", "beta", 7, (5, 2))
BITS = Tally(OUE, "2026-W49", None, 9, (9, 0, 3, 4, 9))
BATCH = Tally(ONCE, "once", None, 4, (1, 1, 1, 1), "2026-W49")


def sent(tally: Tally) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(tally.document()))
    return document


@pytest.mark.parametrize("tally", [SYMBOLS, BITS, BATCH], ids=["symbols", "bits", "batch"])
def test_round_trip(tally: Tally) -> None:
    assert parse_tally(sent(tally)) == tally
    assert sent(parse_tally(sent(tally))) == sent(tally)


def test_the_document_is_frozen() -> None:
    document = sent(BATCH)
    question = document.pop("question")
    assert document == {
        "format": 1,
        "survey": "acme-editor",
        "period": "once",
        "batch": "2026-W49",
        "segment": None,
        "n": 4,
        "cells": [1, 1, 1, 1],
    }
    assert question == ONCE.document()


@given(st.lists(st.integers(0, 15), max_size=20))
def test_folded_reports_are_a_tally(masks: list[int]) -> None:
    shape = OUE.mechanism.shape
    cells = [0] * shape.cells
    for mask in masks:
        shape.fold(cells, Response(mask))
    tally = Tally(OUE, "2026-W49", None, len(masks), tuple(cells))
    assert parse_tally(sent(tally)) == tally


FIELDS = "exactly the fields batch, cells, format, n, period, question, segment, survey"
CELLS = "cells must be"

TAMPERING: list[tuple[Tally, dict[str, Any], str]] = [
    (SYMBOLS, {"more": 1}, FIELDS),
    (SYMBOLS, {"format": 2}, "unknown format; upgrade deniable to read it"),
    (SYMBOLS, {"format": True}, "unknown format"),
    (SYMBOLS, {"format": 1.0}, "unknown format"),
    (SYMBOLS, {"format": "1"}, "unknown format"),
    (SYMBOLS, {"survey": None}, "survey and period must be text"),
    (SYMBOLS, {"survey": "acme-viewer"}, "question.hash: does not match the question"),
    (SYMBOLS, {"survey": "\ud800"}, "question.survey: must be like acme-editor"),
    (SYMBOLS, {"period": 20261130}, "survey and period must be text"),
    (SYMBOLS, {"period": "2026-11-31"}, "period must be like"),
    (SYMBOLS, {"period": "2026-W49"}, "of another kind than its question asks by"),
    (SYMBOLS, {"period": "once"}, "of another kind than its question asks by"),
    (SYMBOLS, {"batch": "2026-W49"}, "batch must be a week for a once question, null for others"),
    (BATCH, {"batch": "2026-11"}, "batch must be a week for a once question, null for others"),
    (BATCH, {"batch": None}, "batch must be a week for a once question, null for others"),
    (SYMBOLS, {"segment": "a\nb"}, "segment must be one line of text"),
    (SYMBOLS, {"segment": "\ud800"}, "segment must be one line of text"),
    (BATCH, {"batch": "soon"}, "period must be like"),
    (BATCH, {"batch": 49}, "segment and batch must be text or null"),
    (SYMBOLS, {"segment": 1}, "segment and batch must be text or null"),
    (SYMBOLS, {"n": 8}, "n must be the number of reports in its cells"),
    (SYMBOLS, {"n": 7.0}, "n must be the number"),
    (SYMBOLS, {"n": "7"}, "n must be the number"),
    (Tally(GRR, "2026-11-30", None, 1, (1, 0)), {"n": True}, "n must be the number"),
    (BITS, {"n": 25}, "n must be the number"),
    (SYMBOLS, {"cells": [7]}, f"{CELLS} a list of 2 integers"),
    (SYMBOLS, {"cells": [5, 2, 0]}, f"{CELLS} a list of 2 integers"),
    (SYMBOLS, {"cells": None}, f"{CELLS} a list of 2 integers"),
    (SYMBOLS, {"cells": {"0": 5, "1": 2}}, f"{CELLS} a list of 2 integers"),
    (SYMBOLS, {"cells": [8, -1]}, f"{CELLS} integers, not negative, below 2^63"),
    (SYMBOLS, {"cells": [5, 2.0]}, f"{CELLS} integers, not negative, below 2^63"),
    (SYMBOLS, {"cells": [6, True]}, f"{CELLS} integers, not negative, below 2^63"),
    (SYMBOLS, {"cells": [2**63, 0], "n": 2**63}, f"{CELLS} integers, not negative, below 2^63"),
    (BITS, {"cells": [9, 0, 3, 10, 9]}, "a bit is set in more reports than its row holds"),
    (BITS, {"cells": [9, 0, 3, 4]}, f"{CELLS} a list of 5 integers"),
    (SYMBOLS, {"question": None}, "question: must be a table"),
    (SYMBOLS, {"question": {}}, "question: its name must be like dark_mode"),
    (SYMBOLS, {"question": OUE.document()}, "of another kind than its question asks by"),
]


@pytest.mark.parametrize(
    ("tally", "changes", "message"),
    TAMPERING,
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_a_tally_that_does_not_fit_itself_is_refused(
    tally: Tally, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DocumentError, match=r"^tally: ") as refusal:
        parse_tally({**sent(tally), **changes})
    assert message in str(refusal.value)


@pytest.mark.parametrize("document", [None, [], "tally", 1, {}, {"format": 1}], ids=repr)
def test_what_is_no_tally_is_refused(document: object) -> None:
    with pytest.raises(DocumentError, match=FIELDS):
        parse_tally(document)


@pytest.mark.parametrize("field", sent(SYMBOLS))
def test_every_field_is_needed(field: str) -> None:
    document = sent(SYMBOLS)
    del document[field]
    with pytest.raises(DocumentError, match=FIELDS):
        parse_tally(document)


ALTERED: dict[str, Any] = {
    "id": "light_mode",
    "version": 2,
    "hash": "0" * 64,
    "ask": "Is the light theme on?",
    "type": "choice",
    "choices": ["no", "yes"],
    "mechanism": OUE.document()["mechanism"],
    "epsilon": "3",
    "epsilon_first": "1.5",
    "period": "week",
    "default": True,
}


@pytest.mark.parametrize("field", ALTERED)
@pytest.mark.parametrize("forgotten", [False, True], ids=["hash kept", "hash left out"])
def test_the_question_may_not_be_altered(field: str, forgotten: bool) -> None:
    """Without its hash a question would vouch for itself, whatever it says."""
    question = {**sent(SYMBOLS)["question"], field: ALTERED[field]}
    if forgotten:
        question.pop("hash")
    with pytest.raises(DocumentError, match=r"^tally: question"):
        parse_tally({**sent(SYMBOLS), "question": question})


def test_what_reveals_nothing_may_be_altered() -> None:
    question = {**sent(SYMBOLS)["question"], "min_crowd": 9, "owner": "me", "grace": 1}
    tally = parse_tally({**sent(SYMBOLS), "question": question})
    assert tally.question.hash == GRR.hash
    assert isinstance(tally.question, Question)


def test_a_threshold_may_not_be_altered() -> None:
    question = sent(SYMBOLS)["question"]
    question["mechanism"]["thresholds"]["keep"] = "9223372036854775809"
    with pytest.raises(DocumentError, match=r"question\.mechanism: does not match the epsilons"):
        parse_tally({**sent(SYMBOLS), "question": question})


def test_a_tally_keeps_a_question_that_a_survey_would_refuse_as_linkable() -> None:
    wide = make_question(choice_table(choices=[f"c{n}" for n in range(64)], mechanism="oue"))
    tally = Tally(wide, "once", None, 0, (0,) * 65, "2026-W49")
    assert wide.mechanism.fingerprint_bits > 10
    assert parse_tally(sent(tally)) == tally


def test_an_empty_period_is_a_tally_too() -> None:
    tally = Tally(make_question(boolean_table()), "2026-11-30", None, 0, (0, 0))
    assert parse_tally(sent(tally)) == tally


def test_a_set_has_as_many_bits_as_its_weight() -> None:
    asked = make_question(choice_table(mechanism={"name": "ss", "weight": 2}, period="week"))
    assert parse_tally(sent(Tally(asked, "2026-W49", None, 9, (9, 0, 5, 4, 9)))).n == 9
    for cells in ((9, 9, 9, 9, 9), (0, 0, 0, 0, 9)):
        with pytest.raises(DocumentError, match="each report has exactly 2 bits set"):
            parse_tally(sent(Tally(asked, "2026-W49", None, 9, cells)))


def test_more_devices_than_floats_count_are_refused() -> None:
    with pytest.raises(DocumentError, match="n must be at most 1000000000000000"):
        parse_tally(sent(Tally(GRR, "2026-11-30", None, 10**15 + 1, (10**15, 1))))
