"""A client that works: its parts, put together, and what the person's decision does to them.

Raises whatever goes wrong; :class:`~deniable.client.Client` is what keeps that from the app.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Literal
from weakref import WeakMethod

from deniable.protocol.errors import ParameterError, StoreError

from . import endings, forks
from .answers import Answer, Outcome, UnknownQuestion
from .database import Database
from .faults import PASSING, ClonedStore
from .foresight import foresee
from .machine import machine_id
from .outbox import Outbox
from .pairs import pairs_of
from .pending import Queue
from .reasons import REFUSED
from .recorder import Recorder
from .refusals import Refusals
from .sealing import Sealer
from .setting import Setting
from .standing import reasons
from .status import Flushed, Preview, Sent, Status
from .store import Consent, Device, Store
from .transport import Carrier
from .uploader import Uploader
from .writer import Writer

_JOIN_SECONDS = 0.3
_END_SECONDS = 0.5
_SAVE_SECONDS = 0.2
_GRACE_SECONDS = 0.1
_STATES: dict[str, Literal["on", "local", "off"]] = {"on": "on", "ask": "local", "off": "off"}


class Engine:
    """One survey, one store, one collector.

    With a store in memory it starts no thread: ``wait`` is as if it were true, and only a flush
    sends. When the client that it works for is dropped without having been closed, its threads
    end by themselves; so they hold no reference to that.
    """

    def __init__(
        self,
        setting: Setting,
        transport: Carrier,
        db: Database,
        on_fault: Callable[[Exception], None],
    ) -> None:
        survey, clock = setting.survey, setting.clock
        self._survey = survey
        self._segment = setting.segment
        self._clock = clock
        self._transport = transport
        self._db = db
        self._process = os.getpid()
        self._refused = Refusals()
        self._no_unsaved = False
        self._sealer = Sealer(survey)
        self._store = Store(db, setting.consent)
        self._queue = Queue(db, survey.id)
        if db.path is not None and not self._store.on_this_machine(machine_id()):
            raise ClonedStore(
                "the store was made on another machine, and a copy of it would answer as one "
                "device with it; delete the copy, or if this is the same machine, say so with "
                "`deniable-device on`"
            )
        device = self._store.greet(setting.consent, survey.max_epsilon, clock())
        self._consent, self._begun = device.consent, device.begun
        self._recorder = Recorder(
            survey, setting.segment, db, self._store, self._queue, self._sealer
        )
        self._outbox = Outbox(survey.id, db, self._store, self._queue, transport, clock)
        self._uploader = Uploader(
            self._outbox,
            self._recorder,
            self._store,
            self._queue,
            clock,
            on_fault=self._fail,
            on_drop=self.close,
        )
        drop = self._uploader.drop
        self._owner = WeakMethod(on_fault, lambda _: drop())
        self._writer = Writer(self._write_later)
        self._ended = False
        self._closing = threading.Lock()
        if db.path is None:
            self._uploader.end()
            self._writer.end()
        self._watched = True
        forks.watch(self)
        endings.watch(self)
        self._recorder.decide_defaults(clock())
        self._next_step()

    def record(self, name: str, value: object, *, wait: bool) -> None:
        """Answer a question, if the person has not said no; store it now, or in the background.

        When the process ends, always now: a thread might never run any more.
        """
        self._here()
        if self._consent == "off":
            return
        answer = self._read(name, value)
        known = self._recorder.known(answer) if self._consent == "on" else None
        if known is not None and not self._recorder.news(answer.now):
            self._note([known])
            return
        if wait or not self._writer.put(replace(answer, begun=self._begun)):
            self._record([answer])

    def record_many(self, answers: object) -> None:
        """Answer questions in one transaction; raise the first mistake when all others are kept."""
        self._here()
        if self._consent == "off":
            return
        good: list[Answer] = []
        mistake: ParameterError | None = None
        for pair in pairs_of(answers):
            try:
                if isinstance(pair, ParameterError):
                    self.refuse("wrong_value")
                    raise pair
                good.append(self._read(*pair))
            except ParameterError as exc:
                mistake = mistake or exc
        if good:
            self._record(good)
        if mistake is not None:
            raise mistake

    def _record(self, answers: list[Answer]) -> None:
        """Store answers that were given now, after those that wait: the first answer wins."""
        until = time.monotonic() + self._db.patience
        with self._db.within(self._db.patience, turn=False):
            begun = self._store.device().begun
            if not self._db.mine:
                self._writer.drain(until - time.monotonic())
        with self._db.within(until - time.monotonic(), turn=False):
            self._note(self._write([replace(answer, begun=begun) for answer in answers]))

    @property
    def off(self) -> bool:
        """Whether the answer was no when it was last looked at."""
        return self._consent == "off"

    @property
    def no_unsaved(self) -> bool:
        """Whether a no that was said here could not be stored yet."""
        return self._no_unsaved

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count answers that went nowhere."""
        self._refused.add(reason, count)

    def preview(self, name: str, value: object) -> Preview:
        """Return what would be sent if this were recorded now."""
        with self._call():
            answer = self._recorder.read(name, value, self._clock())
            return foresee(self._recorder, answer, self._store.device(), self._segment)

    def sent(self) -> list[Sent]:
        """Return the journal, of all surveys of the store, oldest period first."""
        with self._call():
            lines = {line.number: line for line in self._store.ledger.lines()}
            entries = self._store.journal.entries()
        return [
            Sent(
                line.survey,
                line.question,
                line.version,
                entry.period,
                line.epsilon,
                entry.state or "waiting",
                entry.response,
            )
            for entry in entries
            if (line := lines.get(entry.number)) is not None
        ]

    def flush(self, *, force: bool, timeout: float | None) -> Flushed:
        """Send what is due, or everything, now; nothing any more while the process ends."""
        until = math.inf if timeout is None else time.monotonic() + timeout
        with self._call(None if timeout is None else timeout + _GRACE_SECONDS):
            self._writer.drain(min(_JOIN_SECONDS, until - time.monotonic()))
            if self._follow().consent == "off":
                return Flushed()
            self._recorder.decide_defaults(self._clock())
            self._save_counts()
            if self._consent != "on" or self._ended:
                dropped = self._outbox.drop_closed()
                return Flushed(kept=self._queue.waiting(), dropped=dropped)
        with self._db.within(until + _GRACE_SECONDS - time.monotonic()):
            left = None if timeout is None else until - time.monotonic()
            return self._outbox.flush(force=force, timeout=left)

    def opt_in(self) -> bool:
        """Store the person's yes and begin to send what is recorded from now on."""
        with self._call():
            self._writer.drain(_JOIN_SECONDS)
            self._save_no()
            self._store.decide("on", self._clock())
            self._begun = self._store.device().begun
            self._obey("on")
        return True

    def opt_out(self) -> bool:
        """End the threads, erase what waits, and store the person's no."""
        with self._call():
            self._no_unsaved = True
            self._obey("off")
            self._save_no()
        self._transport.abandon()  # what got leave to travel before the no was stored
        return True

    def status(self) -> Status:
        """Return the state as the store knows it, whichever process wrote it."""
        with self._call():
            self._writer.drain(_JOIN_SECONDS)
            return self._describe(self._follow())

    def close(self) -> Status:
        """Store what waits for that, end the threads, close the store; wait for no network.

        The calls of other threads give up, so that none is waited for. Returns the last state.

        Raises
        ------
        StoreError
            If another thread is closing it, or has closed it.
        """
        self._here()
        if not self._closing.acquire(blocking=False):
            raise StoreError("the store is closed")
        forks.unwatch(self)
        endings.unwatch(self)
        try:
            self._end(closing=True)
            return self._describe(self._store.device())
        finally:
            self._db.close()

    def settle(self) -> None:
        """Store what waits for that, end the threads: the process ends, and nothing waits for it.

        What is still recorded is stored at once, and nothing is sent.
        """
        self._here()
        self._ended = True
        self._end(closing=False)

    def _end(self, *, closing: bool) -> None:
        self._transport.close()
        self._uploader.end()
        self._writer.end()
        if closing:
            self._db.only(threading.get_ident(), self._writer.ident)
        until = time.monotonic() + _END_SECONDS
        self._writer.finish(until - time.monotonic())
        self._uploader.join(until - time.monotonic())
        self._db.hurry()
        with self._db.within(until + _SAVE_SECONDS - time.monotonic()):
            self._save_no()
            if self._store.device().consent != "off":
                self._save_counts()

    def _read(self, name: object, value: object) -> Answer:
        try:
            return self._recorder.read(name, value, self._clock())
        except ParameterError as exc:
            unknown = isinstance(exc, UnknownQuestion)
            self.refuse("no_such_question" if unknown else "wrong_value")
            raise

    def _write(self, answers: list[Answer]) -> list[Outcome]:
        """Store answers, and what has to follow from it."""
        outcomes = self._recorder.record(answers)
        if "full" in outcomes and self._outbox.drop_closed():
            again = iter(self._recorder.record([answers[i] for i in _full(outcomes)]))
            outcomes = [next(again) if outcome == "full" else outcome for outcome in outcomes]
        added = self._recorder.decide_defaults(self._clock())  # after answers of the past period
        self._follow()
        if added or "queued" in outcomes:
            self._next_step()
        return outcomes

    def _write_later(self, answers: list[Answer]) -> None:
        """Store answers in the writer's thread, which has nobody to raise to."""
        try:
            if self._consent != "off":
                self._note(self._write(answers), quietly=True)
        except PASSING:
            self.refuse("busy", len(answers))
        except Exception as exc:
            self._fail(exc)

    def _fail(self, exc: Exception) -> None:
        """Tell the client what went wrong in a thread; if nobody has it any more, close.

        A thread has nobody to raise to, and what it raises would be printed.
        """
        tell = self._owner()
        if tell is not None:
            tell(exc)
            return
        with suppress(Exception):
            self.close()

    def _note(self, outcomes: Iterable[Outcome], *, quietly: bool = False) -> None:
        """Count refusals; obey a no."""
        for outcome in outcomes:
            if outcome in REFUSED:
                self.refuse(outcome)
            elif outcome == "off":
                self._obey("off")
            if outcome == "cannot_seal" and self._sealer.fault is not None and not quietly:
                raise self._sealer.fault

    def _describe(self, device: Device) -> Status:
        now = self._clock()
        believed = self._store.believes(now)
        counts = Counter(self._store.counters())
        counts.update(self._refused.sums())
        sent = counts.pop("sent", 0)
        return Status(
            state=_STATES[device.consent],
            reason="; ".join(
                reasons(device, self._survey, self._outbox, self._sealer, believed, now)
            ),
            queued=self._queue.waiting(),
            sent=sent,
            dropped=dict(counts),
            epsilon_spent=self._store.ledger.spent(),
            epsilon_ceiling=min(device.ceiling, self._survey.max_epsilon),
            decided_on=device.decided_on,
        )

    def before_fork(self) -> None:
        """Come to rest between two transactions."""
        self._db.rest()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._db.go_on()

    def after_fork_in_child(self) -> None:
        """Start anew with the next call; the parent's connection, lock and threads are its own."""
        self._process = os.getpid()
        self._watched = False
        self._db.after_fork()
        self._outbox.after_fork()
        self._uploader.after_fork()
        self._writer.after_fork()
        self._refused = Refusals()

    @contextmanager
    def _call(self, seconds: float | None = None) -> Iterator[None]:
        """Wait for the store so long at most, all in all; usually for as long as patience lasts."""
        self._here()
        with self._db.within(self._db.patience if seconds is None else seconds):
            yield

    def _here(self) -> None:
        """Notice a child, also of a fork of which Python was not told, such as a C library's."""
        if os.getpid() != self._process:
            self.after_fork_in_child()
        if not self._watched:
            self._watched = True
            endings.watch(self)

    def _follow(self) -> Device:
        """Obey a decision that was made elsewhere, such as by `deniable-device`."""
        self._save_no()
        device = self._store.device()
        self._begun = device.begun
        if device.consent != self._consent:
            self._obey(device.consent)
        return device

    def _obey(self, consent: Consent) -> None:
        self._consent = consent
        self._recorder.forget()
        if consent == "on":
            self._uploader.resume()
            self._next_step()
        else:
            self._transport.abandon()
            self._uploader.stop(_JOIN_SECONDS)
            self._writer.clear(_JOIN_SECONDS)

    def _next_step(self) -> None:
        """Let what waits be sent, or without consent, throw away what no longer counts."""
        if self._consent == "on":
            expected = self._recorder.next_defaults is not None or self._queue.waiting() > 0
            if expected:
                self._uploader.wake()
        else:
            self._outbox.drop_closed()

    def _save_no(self) -> None:
        """Store a no that could not be stored when it was said."""
        if self._no_unsaved:
            self._store.decide("off", self._clock())
            self._no_unsaved = False

    def _save_counts(self) -> None:
        counts = self._refused.take()
        if not counts:
            return
        try:
            with self._db.transaction():
                self._store.count(counts)
        except BaseException:
            for reason, count in counts.items():
                self.refuse(reason, count)
            raise


def _full(outcomes: list[Outcome]) -> list[int]:
    return [index for index, outcome in enumerate(outcomes) if outcome == "full"]
