"""Survey documents to start from, as tomllib would read them, and values to spoil them with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import strategies as st

from deniable.protocol.errors import SurveyError
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey, parse_survey

Document = dict[str, Any]


class Absent:
    """As a change: leave the field out."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


def boolean_table(**changes: object) -> Document:
    """A valid boolean question, with changes."""
    table = {
        "version": 1,
        "ask": "Is the dark theme on?",
        "type": "boolean",
        "epsilon": Decimal("2.0"),
        "epsilon_first": Decimal("1.0"),
        "period": "day",
        "grace": 3,
        "min_crowd": 1000,
        "default": False,
        "owner": "ux@acme.example",
        "expires": date(2027, 6, 30),
    }
    return _changed(table, changes)


def choice_table(**changes: object) -> Document:
    """A valid choice question, with changes."""
    table = {
        "version": 2,
        "ask": "How do you rate your health?",
        "type": "choice",
        "choices": ["poor", "fair", "good", "très bon"],
        "epsilon": 3,
        "period": "once",
        "expires": date(2027, 6, 30),
    }
    return _changed(table, changes)


def survey_tables(questions: Mapping[str, object] | None = None, /, **changes: object) -> Document:
    """A valid survey of those two questions, or of others, with changes to its head."""
    head = {
        "format": 1,
        "id": "acme-editor",
        "max_epsilon": Decimal("8.0"),
        "segments": ["stable", "beta"],
    }
    if questions is None:
        questions = {"dark_mode": boolean_table(), "health": choice_table()}
    return {"survey": _changed(head, changes), "questions": dict(questions)}


def make_survey(questions: Mapping[str, object] | None = None, /, **changes: object) -> Survey:
    """The checked survey of :func:`survey_tables`."""
    return parse_survey(survey_tables(questions, **changes))


def make_question(table: Mapping[str, object]) -> Question:
    """One question alone in a survey that can afford it."""
    return make_survey({"asked": table}, max_epsilon=16, linkable=True).questions["asked"]


def _changed(table: Mapping[str, object], changes: Mapping[str, object]) -> Document:
    return {key: value for key, value in {**table, **changes}.items() if value is not ABSENT}


def told(parse: Callable[[], object]) -> list[tuple[str, str, str]]:
    """The problems of a document that must be refused."""
    with pytest.raises(SurveyError) as refusal:
        parse()
    assert all(p.key and p.problem and p.fix for p in refusal.value.problems)
    lines = [f"{p.key}: {p.problem}; {p.fix}" for p in refusal.value.problems]
    assert str(refusal.value) == "\n".join(lines)
    return [(p.key, p.problem, p.fix) for p in refusal.value.problems]


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from((0, 1, 2, 2**63, 10**30, -(10**400)))
    | st.floats()
    | st.decimals(allow_nan=False)
    | st.just(Decimal("NaN"))
    | st.text(max_size=20)
    | st.sampled_from(("", "auto", "grr", "oue", "1e2", "2", "once", "\ud800", "\x1b[2J", "\u0958"))
    | st.dates()
    | st.datetimes()
    | st.just(datetime(2027, 6, 30, tzinfo=UTC))
)

values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.sampled_from(("id", "name", "k")), inner)
    ),
    max_leaves=8,
)
"""Anything that a TOML or JSON parser may hand over."""


@st.composite
def spoiled(draw: st.DrawFn, document: object) -> object:
    """A copy of a valid document in which one to three places hold something else, or nothing."""
    for _ in range(draw(st.integers(1, 3))):
        document = _spoil(draw, document)
    return document


def _spoil(draw: st.DrawFn, document: object) -> object:
    if not isinstance(document, dict | list) or not document or draw(st.integers(0, 5)) == 0:
        return draw(values)
    keys: list[Any] = list(document) if isinstance(document, dict) else list(range(len(document)))
    key = draw(st.sampled_from(keys))
    copy: Any = document.copy()
    if draw(st.integers(0, 7)) == 0:
        del copy[key]
    elif isinstance(copy, dict) and draw(st.integers(0, 7)) == 0:
        copy[draw(st.text(max_size=8))] = copy.pop(key)
    else:
        copy[key] = _spoil(draw, copy[key])
    return copy
