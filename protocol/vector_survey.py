"""The survey of the known answers: nearly every case that a compiled survey can hold.

What must never change: a question in it. A new case is a new question.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

from .survey import Survey, parse_survey

_LATIN = {"alphabet": "abcdefghijklmnopqrstuvwxyz", "max_length": 12, "fold": True}
_EXACT = {"alphabet": "aAé日", "max_length": 5, "fold": False}
_PARTS = {"theme": ["dunkel", "hell"], "plan": ["free", "pro", "team"]}

_QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "coin": {},
    "coin_twice": {"epsilon": "2.5", "epsilon_first": "1.25", "default": False, "grace": 7},
    "plan": {"choices": ["free", "personal", "team"], "mechanism": "grr", "version": 3},
    "mood": {
        "ask": "Comment ça va ? 元気ですか 😀",
        "choices": ["très bon", "mauvais", "日本語", "😀", 'a "quoted" \\ one', "\ufb03"],
        "mechanism": "grr",
        "epsilon": "0.1",
        "epsilon_first": "0.05",
        "period": "week",
        "default": "日本語",
    },
    "bits": {
        "choices": [f"side {n}" for n in range(9)],
        "mechanism": "oue",
        "epsilon": "1.5",
        "period": "month",
    },
    "bits_twice": {
        "choices": [f"item {n}" for n in range(70)],
        "mechanism": "oue",
        "epsilon": "3",
        "epsilon_first": "1.000000000000000001",
        "period": "once",
    },
    "prime": {
        "choices": [f"p{n}" for n in range(10)],
        "mechanism": {"name": "olh", "g": 3},
    },
    "prime_twice": {
        "choices": [f"p{n}" for n in range(30)],
        "mechanism": {"name": "olh", "g": 5},
        "epsilon_first": "0.5",
        "period": "week",
    },
    "power": {
        "choices": [f"q{n}" for n in range(17)],
        "mechanism": {"name": "olh", "g": 4},
    },
    "power_twice": {
        "choices": [f"q{n}" for n in range(82)],
        "mechanism": {"name": "olh", "g": 9},
        "epsilon": "4",
        "epsilon_first": "2",
        "period": "month",
    },
    "one_row": {"choices": ["a", "b", "c", "d", "e"], "mechanism": {"name": "olh", "g": 5}},
    "number": {
        "range": {"low": "-1.5", "high": "2.25", "steps": 15},
        "default": "0.25",
    },
    "tools": {
        "type": "set",
        "choices": ["brush", "crayon", "é", "gum", "ink", "日本"],
        "max_items": 3,
        "epsilon": "1",
        "default": ["gum", "brush"],
        "period": "week",
    },
    "tools_wide": {
        "type": "set",
        "choices": [f"t{n}" for n in range(100)],
        "max_items": 4,
        "mechanism": {"name": "privset", "weight": 20},
        "epsilon": "0.5",
    },
    "one_tool": {"type": "set", "choices": ["a", "b", "c"], "max_items": 1},
    "page": {"type": "text", "text": _LATIN, "mechanism": "cms", "epsilon": "1"},
    "page_twice": {
        "type": "text",
        "text": _EXACT,
        "mechanism": {"name": "cms", "rows": 7, "width": 20},
        "epsilon": "1.5",
        "epsilon_first": "0.5",
        "period": "month",
        "default": "日é",
    },
    "term": {"type": "text", "text": _LATIN, "mechanism": "hcms", "epsilon": "0.5"},
    "term_twice": {
        "type": "text",
        "text": _EXACT,
        "mechanism": {"name": "hcms", "rows": 3, "width": 16},
        "epsilon": "1",
        "epsilon_first": "0.25",
        "period": "week",
    },
    "word": {"type": "text", "text": _LATIN, "mechanism": "pem"},
    "word_twice": {
        "type": "text",
        "text": _EXACT,
        "mechanism": {"name": "pem", "first": 1, "step": 2, "last": 30, "rows": 9, "g": 5},
        "epsilon": "1.5",
        "epsilon_first": "1",
        "period": "once",
    },
    "both": {
        "type": "joint",
        "parts": _PARTS,
        "mechanism": "grr",
        "epsilon": "1",
        "default": ["hell", "team"],
    },
    "both_twice": {
        "type": "joint",
        "parts": _PARTS,
        "mechanism": "oue",
        "epsilon": "1",
        "epsilon_first": "0.5",
        "period": "month",
    },
    "changing": {
        "horizon": {"start": "2026-11-30", "periods": 12, "changes": 2},
        "epsilon": "1",
    },
    "changing_long": {
        "horizon": {"start": "2026-06-30", "periods": 365, "changes": 20},
        "epsilon": "0.5",
    },
    "rising": {
        "range": {"low": "0", "high": "10", "steps": 20},
        "horizon": {"start": "2026-12-01", "periods": 6},
        "period": "month",
        "epsilon": "0.5",
    },
}


@cache
def survey() -> Survey:
    """Return the survey of the vectors: every case that a compiled survey can hold, nearly."""
    head = {
        "format": 1,
        "id": "vectors",
        "max_epsilon": Decimal("40.50"),
        "segments": ["stable", "bêta"],
        "linkable": True,
    }
    tables = {name: _table(name, changes) for name, changes in _QUESTIONS.items()}
    return parse_survey({"survey": head, "questions": tables})


def _table(name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    kind = "choice" if "choices" in changes else "number" if "range" in changes else "boolean"
    table = {"ask": f"What of {name}?", "type": kind, "epsilon": "2.0", "period": "day"}
    return {"version": 1, "expires": date(2027, 6, 30), **table, **changes}
