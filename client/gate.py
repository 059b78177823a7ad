"""Which answers become reports: the rules, in order, none of which writes to the store.

What must never change: an answer that would pass the ceiling, or spend an epsilon twice, is none.
"""

from __future__ import annotations

from deniable.protocol.exact import total
from deniable.protocol.periods import Period
from deniable.protocol.question import Question
from deniable.protocol.survey import Survey

from . import changing
from .answers import Answer, Outcome
from .bounds import expired, size, within_limits
from .pending import Queue
from .sealing import Sealer
from .store import Device, Store


class Gate:
    """Says why no report comes of an answer."""

    def __init__(self, survey: Survey, store: Store, queue: Queue, sealer: Sealer) -> None:
        self._survey = survey
        self._store = store
        self._queue = queue
        self._sealer = sealer

    def unasked(self, answer: Answer) -> Outcome | None:
        """Return why an answer is refused before anything is looked up about it, or None."""
        question = answer.question
        if not self._store.believes(answer.now):
            return "clock"
        if expired(question, answer.now):
            return "expired"
        if question.horizon is not None and not changing.index(question, answer.period):
            return "not_asked"
        return None if self.sendable(question) else "cannot_seal"

    def sendable(self, question: Question) -> bool:
        """Return whether a response to the question could be made what the collector takes."""
        return not question.sealed or self._sealer.ready()

    def refusal(
        self, question: Question, period: Period, device: Device, begun: int | None
    ) -> Outcome | None:
        """Return why no report comes of an answer in a period, or None."""
        if device.consent == "off" or device.secret is None:
            return "off"
        if begun not in (None, device.begun):
            return "before_consent"
        if self._store.journal.answered(question, period):
            return "answered"
        if question.horizon is not None and (known := self._behind(question, period)):
            return known
        if not self._queue.has_room(size(question)):
            return "full"
        line = self._store.ledger.line(question)
        if line is not None:
            digits, erased = line
            return "changed" if digits != question.hash else "erased" if erased else None
        return self._too_much(question, device)

    def _behind(self, question: Question, period: Period) -> Outcome | None:
        """Return why a question with a horizon has had its answer of a period, or None."""
        if self._store.memories.blanked(question):
            return "forgotten"
        memory = self._store.memories.of(question)
        had = memory is not None and changing.index(question, period) <= memory.seen
        return "answered" if had else None

    def _too_much(self, question: Question, device: Device) -> Outcome | None:
        """Return why a question is not begun, or None."""
        if not within_limits(question):
            return "limits"
        ceiling = min(device.ceiling, self._survey.max_epsilon)
        spent = total((self._store.ledger.spent(), question.epsilon))
        return "ceiling" if spent > ceiling else None
