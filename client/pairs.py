"""What an app hands to ``record_many``: pairs of a question and its value, one by one.

What must never change: what is wrong with one of them, or goes wrong in the app's own iterator, is
a mistake of the app's, and costs none of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from deniable.protocol.errors import ParameterError
from deniable.protocol.survey import Survey

from .answers import read
from .foreign import interrupts

_FORM = "record_many takes a mapping of values by question, or pairs of a question and its value"

Pair = tuple[object, object]


def pairs_of(answers: Any) -> list[Pair | ParameterError]:
    """Return the pairs of a call, and in the place of whatever is none, the mistake."""
    found: list[Pair | ParameterError] = []
    try:
        for pair in answers.items() if isinstance(answers, Mapping) else answers:
            found.append(_pair(pair))
    except Exception as exc:
        if interrupts(exc):
            raise
        found.append(ParameterError(_FORM))
    return found


def check(survey: Survey, answers: object, now: datetime) -> None:
    """Read answers that nobody keeps.

    Raises
    ------
    ParameterError
        The first mistake among them.
    """
    for pair in pairs_of(answers):
        if isinstance(pair, ParameterError):
            raise pair
        read(survey, *pair, now)


def _pair(pair: Any) -> Pair | ParameterError:
    try:
        name, value = pair
    except Exception as exc:
        if interrupts(exc):
            raise
        return ParameterError(_FORM)
    return name, value
