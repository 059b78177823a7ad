"""From an answer to a report: what is refused, what is spent, what waits.

What must never change: a true value is a local variable here and nothing else. It reaches no
store, no log, no exception and no attribute; only what the mechanism made of it is kept.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

from deniable.protocol.derivation import instantaneous_response, permanent_response
from deniable.protocol.errors import ParameterError
from deniable.protocol.exact import total
from deniable.protocol.limits import EPSILON_MAX, EPSILON_MIN, MAX_K, MAX_RESPONSE_BYTES
from deniable.protocol.periods import ONCE, Period, midnight, period_at
from deniable.protocol.question import Question
from deniable.protocol.response import Response, Wire
from deniable.protocol.survey import Survey

from .database import Database
from .pacing import SPREAD, departure, due_defaults, plausible
from .pending import Queue, Queued
from .sealing import Sealer
from .store import Device, Store

Outcome = Literal[
    "queued",
    "answered",
    "off",
    "expired",
    "ceiling",
    "changed",
    "erased",
    "limits",
    "clock",
    "cannot_seal",
]
"""What became of an answer. "answered": the period has its answer, the first one counts. "off": the
person said no. The others are names of :data:`~deniable.client.reasons.REFUSED`."""


class UnknownQuestion(ParameterError):
    """The survey has no question of this name."""


class Recorder:
    """Turns answers into reports, once for each question and period."""

    def __init__(
        self,
        survey: Survey,
        segment: str | None,
        db: Database,
        store: Store,
        queue: Queue,
        sealer: Sealer,
    ) -> None:
        self._survey = survey
        self._segment = segment
        self._db = db
        self._store = store
        self._queue = queue
        self._sealer = sealer
        self._settled: dict[str, tuple[datetime, datetime, Outcome]] = {}
        self._defaults = [q for q in survey.questions.values() if q.default is not None]
        self.next_defaults: datetime | None = None

    def record(self, name: object, value: object, now: datetime) -> Outcome:
        """Randomize and enqueue one answer, durably; the second in a period is ignored.

        Raises
        ------
        UnknownQuestion
            If the survey has no such question.
        ParameterError
            If the value is no answer to it.
        StoreError
            If the store cannot be used.
        """
        question = self._survey.questions.get(name) if isinstance(name, str) else None
        if question is None:
            known = ", ".join(self._survey.questions)
            raise UnknownQuestion(f"question: the survey has no such question; use one of {known}")
        symbol = question.encode(value)
        settled = self._settled.get(question.id)
        if settled is not None and settled[0] <= now < settled[1]:
            return "answered" if settled[2] == "queued" else settled[2]
        if not plausible(now):
            return "clock"
        period = period_at(question.period, now)
        if expired(question, now):
            outcome: Outcome = "expired"
        elif not self._sendable(question):
            outcome = "cannot_seal"
        else:
            with self._db.transaction():
                outcome = self._answer(question, period, symbol, now)
        if outcome != "off":
            self._settled[question.id] = (period.start, period.end, outcome)
        return outcome

    def decide_defaults(self, now: datetime) -> bool:
        """Answer with its default each question that was left unanswered in a past period.

        Does nothing until another period has ended. Returns whether a report was added.
        """
        early = self.next_defaults is not None and now < self.next_defaults
        if early or not self._defaults or not plausible(now):
            return False
        since = self._store.see(self._defaults, now)
        due = [
            (question, period)
            for question in self._defaults
            for period in due_defaults(question, since[question.id], now)
            if not self._store.answered(question, period.key) and self._sendable(question)
        ]
        outcomes: list[Outcome] = []
        if due:
            with self._db.transaction():
                for question, period in due:
                    symbol = question.encode(question.default)
                    outcomes.append(self._answer(question, period, symbol, now))
        self.next_defaults = min(period_at(q.period, now).end for q in self._defaults)
        return "queued" in outcomes

    def _answer(self, question: Question, period: Period, symbol: int, now: datetime) -> Outcome:
        """Do all there is to do about one answer, inside a transaction."""
        device = self._store.device()
        if device.consent == "off" or device.secret is None:
            return "off"
        if self._store.answered(question, period.key):
            return "answered"
        refusal = self._spend(question, device)
        if refusal is not None:
            return refusal
        permanent = permanent_response(device.secret, question, symbol)
        self._store.mark_answered(question, period.key)
        if permanent is not None:
            alone = question.period == "once" or self._survey.batch == "question"
            report = Queued(
                period.key,
                question.id,
                question.version,
                alone,
                self._segment,
                question.wire_hash,
                self._wire(question, period, instantaneous_response(question, permanent)),
            )
            shared = None if alone else self._queue.departure(period.key)
            leaves = shared or departure(period, now, self._window(question, now))
            self._queue.add(report, leaves, question.closes(period))
        return "queued"

    def _sendable(self, question: Question) -> bool:
        """Return whether a response to the question could be made what the collector takes."""
        return not question.sealed or self._sealer.ready()

    def _wire(self, question: Question, period: Period, response: Response) -> Wire:
        """Return the form in which a response is kept and travels, sealed if it must be."""
        if not question.sealed:
            return question.mechanism.shape.pack(response)
        key, wire = self._sealer.seal(question, period.key, self._segment, response)
        self._store.note_sealed(question, key)
        return wire

    def _window(self, question: Question, now: datetime) -> timedelta:
        """Return over how long the departure of a report, or of its group, is drawn."""
        if question.period == "once":
            return min(SPREAD, question.closes(ONCE) - now)
        together = (q.grace for q in self._survey.questions.values() if q.period == question.period)
        return min(SPREAD, timedelta(days=min(together)) / 2)

    def _spend(self, question: Question, device: Device) -> Outcome | None:
        """Enter a question version in the ledger, or say why it is refused."""
        spent = Decimal(0)
        for line in self._store.ledger():
            if (line.survey, line.question, line.version) == (
                question.survey,
                question.id,
                question.version,
            ):
                if line.hash != question.hash:
                    return "changed"
                return "erased" if line.erased else None
            spent = total((spent, line.epsilon))
        if not within_limits(question):
            return "limits"
        if total((spent, question.epsilon)) > min(device.ceiling, self._survey.max_epsilon):
            return "ceiling"
        self._store.spend(question)
        return None


def expired(question: Question, now: datetime) -> bool:
    """Return whether the last day on which the question is asked is over."""
    return now >= midnight(question.expires + timedelta(days=1))


def within_limits(question: Question) -> bool:
    """Return whether a device may answer, whatever the survey says."""
    mechanism = question.mechanism
    return (
        mechanism.k <= MAX_K
        and mechanism.shape.size <= MAX_RESPONSE_BYTES
        and EPSILON_MIN <= question.epsilon <= EPSILON_MAX
    )
