"""One answer on its way to the store, and what may become of it.

What must never change: the symbol is in no representation of an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Literal

from deniable.protocol.errors import ParameterError
from deniable.protocol.periods import Period, period_at
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey

from .faults import PASSING
from .foreign import interrupts

Value = bool | str | float | Decimal | Iterable[str] | Mapping[str, str]
"""An answer as an app gives it; see :meth:`~deniable.client.Client.record`."""

Outcome = Literal[
    "queued",
    "answered",
    "off",
    "before_consent",
    "expired",
    "ceiling",
    "changed",
    "erased",
    "limits",
    "clock",
    "full",
    "cannot_seal",
    "not_asked",
    "forgotten",
]
"""What became of an answer. "answered": the period has its answer, the first one counts. "off": the
person said no. The others are names of :data:`~deniable.client.reasons.REFUSED`."""

LASTING: frozenset[Outcome] = frozenset({"queued", "answered", "expired", "ceiling", "changed"})
LASTING |= {"erased", "limits", "cannot_seal", "not_asked", "forgotten"}
"""Outcomes that stay what they are until the period ends or the person decides otherwise."""


class UnknownQuestion(ParameterError):
    """The survey has no question of this name."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to be randomized, and the moment at which it was given.

    Attributes
    ----------
    begun : int or None
        How often sending had begun when it was given, if it waited for the disk since.
    """

    question: Question
    symbol: int = field(repr=False)
    now: datetime
    begun: int | None = None

    @property
    def period(self) -> Period:
        """The period it belongs to."""
        return period_at(self.question.period, self.now)


def read(survey: Survey, name: object, value: object, now: datetime) -> Answer:
    """Return an answer to be recorded; nothing is kept yet.

    Raises
    ------
    UnknownQuestion
        If the survey has no such question.
    ParameterError
        If the value is no answer to it, or fails when it is looked at, as stand-ins for other
        objects do.
    """
    try:
        question = survey.questions.get(name) if isinstance(name, str) else None
        if question is not None:
            return Answer(question, question.encode(value), now)
    except ParameterError:
        raise
    except Exception as exc:
        if isinstance(exc, PASSING) or interrupts(exc):
            raise
        raise ParameterError("the question or its value cannot be read; pass plain ones") from None
    known = ", ".join(survey.questions)
    raise UnknownQuestion(f"question: the survey has no such question; use one of {known}")
