"""One question of every kind there is, as a table of a survey, and what devices answer to it."""

from __future__ import annotations

from typing import Any

TEXT: dict[str, Any] = {
    "type": "text",
    "text": {"alphabet": "abcdef", "max_length": 4, "fold": True},
}
PARTS = {"theme": ["dark", "light"], "plan": ["free", "pro", "team"]}
HORIZON = {"start": "2026-11-30", "periods": 8}

SINGLE: dict[str, dict[str, Any]] = {
    "tools": {"type": "set", "choices": list("abcdef"), "max_items": 2, "default": ["a"]},
    "home": {**TEXT, "mechanism": "cms"},
    "word": {**TEXT, "mechanism": "hcms"},
    "found": {**TEXT, "mechanism": "pem", "default": "fade"},
    "both": {"type": "joint", "parts": PARTS},
}
"""Questions whose reports are each about one period."""

CHANGING: dict[str, dict[str, Any]] = {
    "dark": {"horizon": {**HORIZON, "changes": 2}},
    "launches": {"type": "number", "range": {"low": 0, "high": 10}, "horizon": HORIZON},
}
"""Questions with one epsilon for all periods."""

SEALED: dict[str, dict[str, Any]] = {
    name: {**table, "mechanism": mechanism, "sealed": True, "epsilon_first": 1}
    for name, table, mechanism in [
        ("home", TEXT, "cms"),
        ("word", TEXT, "hcms"),
        ("found", TEXT, "pem"),
        ("both", {"type": "joint", "parts": PARTS}, "grr"),
        ("both-bits", {"type": "joint", "parts": PARTS}, "oue"),
    ]
}
"""Those that have a second round, and so may be sealed."""

TOOLS: list[list[str]] = [[], ["a"], ["b", "a", "b"], ["a", "b", "c", "d"]]
WORDS = ["abc", " ABC ", "cafe\u0301", "x" * 1000, "", "\u202eabcde\0"]


def answers(number: int) -> dict[str, Any]:
    """What a device is told in every period; each seventh is not told what has a default."""
    word = WORDS[number % len(WORDS)]
    given: dict[str, Any] = {
        "tools": TOOLS[number % len(TOOLS)],
        "home": word,
        "word": word,
        "found": word,
        "both": {"plan": "pro", "theme": "dark"} if number % 2 else ("light", "team"),
    }
    if number % 7 == 0:
        del given["tools"], given["found"]
    return given
