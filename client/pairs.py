"""What an app hands to ``record_many``: pairs of a question and its value, one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deniable.protocol.errors import ParameterError

from .foreign import interrupts

_FORM = "record_many takes a mapping of values by question, or pairs of a question and its value"


def every(answers: Iterable[object]) -> list[object]:
    """Return all answers of a call; what goes wrong in the app's own iterator is its mistake."""
    try:
        return list(answers)
    except Exception as exc:
        if interrupts(exc):
            raise
        raise ParameterError(_FORM) from None


def pair_of(pair: Any) -> tuple[str, object]:
    """Return one question and its value."""
    try:
        name, value = pair
    except (TypeError, ValueError):
        raise ParameterError(_FORM) from None
    return name, value
