"""From an answer to a report: what is refused, what is spent, what waits.

What must never change: a true value is a local variable here, or the symbol of an :class:`Answer`
on its way to the store, and nothing else. It reaches no log, no exception and no representation,
and only what the mechanism made of it is kept; but of a question whose answer may change, the last
yes/no is (:mod:`.memories`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from deniable.protocol.derivation import instantaneous_response, permanent_response
from deniable.protocol.periods import ONCE, Period, period_at
from deniable.protocol.question import Question
from deniable.protocol.response import Response, Wire
from deniable.protocol.survey import Survey

from . import changing
from .answers import LASTING, Answer, Outcome, read
from .bounds import size
from .database import Database
from .gate import Gate
from .pacing import SPREAD, departure, due_defaults
from .pending import Queue, Queued
from .sealing import Sealer
from .store import Device, Store


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
        self._gate = Gate(survey, store, queue, sealer)
        self._settled: dict[str, tuple[Period, Outcome]] = {}
        asked = survey.questions.values()
        self._defaults = [q for q in asked if q.default is not None or q.horizon is not None]
        self.next_defaults: datetime | None = None
        self._decided_at: datetime | None = None

    def read(self, name: object, value: object, now: datetime) -> Answer:
        """Return an answer to be recorded, as :func:`~deniable.client.answers.read`."""
        return read(self._survey, name, value, now)

    def known(self, answer: Answer) -> Outcome | None:
        """Return what is known to become of an answer without a look at the store, or None."""
        settled = self._settled.get(answer.question.id)
        if settled is not None and settled[0].start <= answer.now < settled[0].end:
            return "answered" if settled[1] == "queued" else settled[1]
        return None

    def record(self, answers: Iterable[Answer]) -> list[Outcome]:
        """Randomize and enqueue answers in one durable transaction; return what became of each.

        Raises
        ------
        StoreError
            If the store cannot be used.
        """
        wanted = list(answers)
        early = [self._gate.unasked(answer) for answer in wanted]
        outcomes: list[Outcome] = []
        if all(early):
            outcomes = [outcome for outcome in early if outcome]
        else:
            with self._db.transaction():
                for answer, outcome in zip(wanted, early, strict=True):
                    outcomes.append(outcome or self._answer(answer))
        for answer, outcome in zip(wanted, outcomes, strict=True):
            if outcome in LASTING:
                self._settled[answer.question.id] = (answer.period, outcome)
        return outcomes

    def news(self, now: datetime) -> bool:
        """Return whether defaults may have to be decided: later, or by a clock that went back."""
        if self.next_defaults is None or self._decided_at is None:
            return bool(self._defaults)
        return not self._decided_at <= now < self.next_defaults

    def forget(self) -> None:
        """Look into the store again for every question: the person decided something."""
        self._settled.clear()

    def foresee(self, answer: Answer) -> Outcome:
        """Return what would become of an answer; nothing is kept."""
        refusal = self._gate.unasked(answer) or self._gate.refusal(
            answer.question, answer.period, self._store.device(), answer.begun
        )
        return refusal or "queued"

    def foreseen(self, secret: bytes, answer: Answer, outcome: Outcome) -> Response | None:
        """Return the permanent response that would be reported of an answer; nothing is kept.

        Of a question whose answer may change, only if its outcome is that it would.
        """
        question = answer.question
        if question.horizon is None:
            return permanent_response(secret, question, answer.symbol)
        if outcome not in ("queued", "off"):
            return None
        memory = self._store.memories.of(question)
        return changing.foreseen(secret, question, memory, answer.symbol, answer.now)

    def decide_defaults(self, now: datetime) -> bool:
        """Answer with its default each question that was left unanswered in a past period.

        Does nothing until another period has ended. Returns whether a report was added.
        """
        if not self.news(now) or self._store.device().consent == "off":
            return False
        if not self._store.believes(now):
            return False
        due = list(self._due(now))
        outcomes: list[Outcome] = []
        if due:
            with self._db.transaction():
                for question, symbol, period in due:
                    outcomes.append(self._settle(question, symbol, period, now))
                self._store.count({name: outcomes.count(name) for name in {*outcomes} & {"full"}})
        self.next_defaults = min(period_at(q.period, now).end for q in self._defaults)
        self._decided_at = now
        return "queued" in outcomes

    def _due(self, now: datetime) -> Iterator[tuple[Question, int | None, Period]]:
        """Yield each ended period in which nothing was recorded, and the symbol it is to have.

        None if it goes on with the answer before.
        """
        since = self._store.see([q for q in self._defaults if q.horizon is None], now)
        for question in self._defaults:
            if question.horizon is not None:
                yield from ((question, None, period) for period in self._gone_on(question, now))
            elif self._gate.sendable(question):
                symbol = question.encode(question.default)
                for period in due_defaults(question, since[question.id], now):
                    if not self._store.journal.answered(question, period):
                        yield question, symbol, period

    def _gone_on(self, question: Question, now: datetime) -> list[Period]:
        """Return the ended periods that are due a report of the answer before."""
        secret = self._store.device().secret
        memory = self._store.memories.of(question)
        if secret is None or memory is None:
            return []
        return [period for period, _ in changing.gone_on(secret, question, memory, now)]

    def _answer(self, answer: Answer) -> Outcome:
        """Do all there is to do about one answer, inside a transaction."""
        question, now = answer.question, answer.now
        if question.horizon is not None:
            for period in self._gone_on(question, now):
                self._settle(question, None, period, now, answer.begun)
        return self._settle(question, answer.symbol, answer.period, now, answer.begun)

    def _settle(
        self,
        question: Question,
        symbol: int | None,
        period: Period,
        now: datetime,
        begun: int | None = None,
    ) -> Outcome:
        """Let a question have its one answer in a period, the one before if there is no symbol."""
        device = self._store.device()
        refusal = self._gate.refusal(question, period, device, begun)
        if refusal is not None or device.secret is None:
            return refusal or "off"
        if self._store.ledger.line(question) is None:
            self._store.ledger.spend(question)
        permanent = self._permanent(device.secret, question, symbol, period, device.consent)
        self._store.journal.mark(question, period, waits=permanent is not None)
        if permanent is not None:
            wire, key = self.sent_form(question, period, permanent)
            if key is not None:
                self._store.ledger.note_sealed(question, key)
            report = Queued(
                period.key,
                question.id,
                question.version,
                self.alone(question),
                device.consent != "on",
                self._segment,
                question.wire_hash,
                wire,
            )
            leaves = self._departure(report, question, period, now, device)
            self._queue.add(report, size(question), leaves, question.closes(period))
        return "queued"

    def _permanent(
        self, secret: bytes, question: Question, symbol: int | None, period: Period, consent: str
    ) -> Response | None:
        """Return what is remembered for ever of a period's answer; None if nothing is reported."""
        if question.horizon is None and symbol is not None:
            return permanent_response(secret, question, symbol)
        memories, local = self._store.memories, consent != "on"
        return changing.report(secret, question, memories, symbol, period, local=local)

    def _departure(
        self, report: Queued, question: Question, period: Period, now: datetime, device: Device
    ) -> datetime:
        """Return the moment from which a report may leave: that of its group, or one drawn now.

        None leaves on the day its store was made: the secret of a device that lives for hours
        would be drawn anew each time.
        """
        shared = None if report.alone else self._queue.departure(period.key)
        if shared is not None:
            return shared
        since = max(now, device.born + timedelta(days=1))
        return departure(period, since, self.window(question, since))

    def alone(self, question: Question) -> bool:
        """Return whether a question's reports travel by themselves."""
        return question.period == "once" or self._survey.batch == "question"

    def sent_form(
        self, question: Question, period: Period, permanent: Response
    ) -> tuple[Wire, str | None]:
        """Return the form in which a response is kept and travels, and for whom it is sealed."""
        response = instantaneous_response(question, permanent)
        if not question.sealed:
            return question.mechanism.shape.pack(response), None
        key, wire = self._sealer.seal(question, period.key, self._segment, response)
        return wire, key

    def window(self, question: Question, now: datetime) -> timedelta:
        """Return over how long the departure of a report, or of its group, is drawn."""
        if question.period == "once":
            return min(SPREAD, question.closes(ONCE) - now)
        together = (q.grace for q in self._survey.questions.values() if q.period == question.period)
        return min(SPREAD, timedelta(days=min(together)) / 2)
