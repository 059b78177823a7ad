"""One answer on its way to the store, and what may become of it.

What must never change: the symbol is in no representation of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from deniable.protocol.errors import ParameterError
from deniable.protocol.periods import Period, period_at
from deniable.protocol.question import Question

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
]
"""What became of an answer. "answered": the period has its answer, the first one counts. "off": the
person said no. The others are names of :data:`~deniable.client.reasons.REFUSED`."""

LASTING: frozenset[Outcome] = frozenset({"queued", "answered", "expired", "ceiling", "changed"})
LASTING |= {"erased", "limits", "cannot_seal"}
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
