"""Tables of questions for a set, a text or a pair of choices, and of those with a horizon."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from survey_documents import ABSENT, Document, boolean_table


def _table(changes: dict[str, object], **own: object) -> Document:
    plain = {"epsilon_first": ABSENT, "default": ABSENT, **own}
    return boolean_table(**{**plain, **changes})


def set_table(**changes: object) -> Document:
    """A valid set question, with changes."""
    choices = ["search", "export", "print", "déjà vu"]
    return _table(changes, type="set", choices=choices, max_items=2, default=["print"])


def text_table(**changes: object) -> Document:
    """A valid text question, with changes."""
    form = {"alphabet": "abcdefghijklmnopqrstuvwxyz", "max_length": 8, "fold": True}
    return _table(changes, type="text", text=form, mechanism="pem", default="home")


def joint_table(**changes: object) -> Document:
    """A valid joint question, with changes."""
    parts = {"theme": ["dark", "light"], "plan": ["free", "pro", "team"]}
    return _table(changes, type="joint", parts=parts, default=["dark", "pro"])


def changing_table(**changes: object) -> Document:
    """A valid yes/no question with a horizon, with changes."""
    horizon = {"start": date(2026, 11, 30), "periods": 8, "changes": 2}
    return _table(changes, type="boolean", horizon=horizon)


def rising_table(**changes: object) -> Document:
    """A valid number question with a horizon, with changes."""
    horizon = {"start": date(2026, 11, 30), "periods": 8}
    ends = {"low": 0, "high": Decimal("12.5"), "steps": 5}
    return _table(changes, type="number", range=ends, horizon=horizon)


TABLES = {
    "set": set_table,
    "text": text_table,
    "joint": joint_table,
    "changing": changing_table,
    "rising": rising_table,
}
"""Each by a name of its own."""
