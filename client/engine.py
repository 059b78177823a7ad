"""A client that works: its parts, put together, and what the person's decision does to them.

Raises whatever goes wrong; :class:`~deniable.client.Client` is what keeps that from the app.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Literal

from deniable.protocol.errors import ParameterError, StoreError
from deniable.protocol.exact import canonical, total
from deniable.protocol.survey import Survey

from . import forks
from .aside import silence, stores_aside
from .database import Database
from .outbox import Outbox
from .pacing import Clock
from .pending import Queue
from .reasons import REFUSED
from .recorder import Recorder, UnknownQuestion, expired
from .schema import create
from .sealing import Sealer
from .status import Flushed, Status
from .store import Consent, Device, Store
from .transport import Transport
from .uploader import Uploader

_JOIN_SECONDS = 0.3
_STATES: dict[str, Literal["on", "local", "off"]] = {"on": "on", "ask": "local", "off": "off"}


class Engine:
    """One survey, one store, one collector."""

    def __init__(
        self,
        survey: Survey,
        collector_url: str,
        path: Path,
        consent: Literal["ask", "on"],
        segment: str | None,
        clock: Clock,
        on_fault: Callable[[Exception], None],
        app_key: str | None = None,
    ) -> None:
        if consent not in ("ask", "on"):
            raise ParameterError('consent must be "ask" or "on"')
        if segment is not None and segment not in survey.segments:
            known = ", ".join(survey.segments) or "none"
            raise ParameterError(f"segment must be one of the survey's ({known})")
        self._survey = survey
        self._clock = clock
        self._refused: Counter[str] = Counter()
        self._no_unsaved = False
        self._sealer = Sealer(survey)
        self._transport = Transport(collector_url, app_key)
        self._db = _open(path, consent, survey.max_epsilon)
        try:
            self._store = Store(self._db)
            self._queue = Queue(self._db, survey.id)
            self._consent = self._store.greet(consent, survey.max_epsilon).consent
            self._store.forget_before(clock().year - 1)
            self._recorder = Recorder(
                survey, segment, self._db, self._store, self._queue, self._sealer
            )
            self._outbox = Outbox(
                survey.id, self._db, self._store, self._queue, self._transport, clock
            )
            self._uploader = Uploader(self._outbox, self._recorder, self._queue, clock, on_fault)
            if self._consent != "off":
                self._recorder.decide_defaults(clock())
            self._next_step()
        except BaseException:
            self._db.close()
            raise
        forks.watch(self)

    def record(self, name: str, value: object) -> None:
        """Answer a question, if the person has not said no."""
        if self._consent == "off":
            return
        now = self._clock()
        added = self._recorder.decide_defaults(now)
        try:
            outcome = self._recorder.record(name, value, now)
        except ParameterError as exc:
            unknown = isinstance(exc, UnknownQuestion)
            self.refuse("no_such_question" if unknown else "wrong_value")
            raise
        if outcome in REFUSED:
            self.refuse(outcome)
        elif outcome == "off":
            self._obey("off")
        if added or outcome == "queued":
            self._next_step()
        if outcome == "cannot_seal" and self._sealer.fault is not None:
            raise self._sealer.fault

    def refuse(self, reason: str) -> None:
        """Count an answer that went nowhere."""
        self._refused[reason] += 1

    def flush(self, *, force: bool) -> Flushed:
        """Send what is due, or everything, now."""
        if self._follow().consent == "off":
            return Flushed()
        self._recorder.decide_defaults(self._clock())
        self._save_counts()
        if self._consent != "on":
            dropped = self._outbox.drop_closed()
            return Flushed(kept=self._queue.waiting(), dropped=dropped)
        return self._outbox.flush(force=force)

    def opt_in(self) -> bool:
        """Store the person's yes and begin to send."""
        self._store.decide("on", self._clock())
        self._no_unsaved = False
        self._obey("on")
        return True

    def opt_out(self) -> bool:
        """End the thread, erase what waits, and store the person's no."""
        self._no_unsaved = True
        self._obey("off")
        self._save_no()
        return True

    def status(self) -> Status:
        """Return the state as the store knows it, whichever process wrote it."""
        return self._describe(self._follow())

    def close(self) -> Status:
        """End the thread and close the store; wait for no network. Return the last state."""
        forks.unwatch(self)
        self._transport.close()
        self._uploader.stop(_JOIN_SECONDS)
        try:
            self._db.hurry()
            self._save_no()
            self._save_counts()
            return self._describe(self._store.device())
        finally:
            self._db.close()

    def _describe(self, device: Device) -> Status:
        counts = Counter(self._store.counters())
        counts.update(self._refused)
        sent = counts.pop("sent", 0)
        return Status(
            state=_STATES[device.consent],
            reason="; ".join(self._reasons(device)),
            queued=self._queue.waiting(),
            sent=sent,
            dropped=dict(counts),
            epsilon_spent=total(line.epsilon for line in self._store.ledger()),
            epsilon_ceiling=min(device.ceiling, self._survey.max_epsilon),
        )

    def _reasons(self, device: Device) -> Iterator[str]:
        """Yield why nothing, or less than the app may expect, is recorded or sent."""
        if device.consent == "off":
            yield f"the answer was no, on {device.decided_on}"
            return
        if device.consent == "ask":
            yield "nobody has said yes yet"
        elif self._outbox.paused:
            yield "the collector wants no reports (401 or 403); tried again at the next start"
        elif self._outbox.trouble:
            yield f"the last exchange with the collector failed ({self._outbox.trouble})"
        if self._sealer.fault is not None:
            yield f"sealed questions are not answered ({self._sealer.fault})"
        now = self._clock()
        if all(expired(question, now) for question in self._survey.questions.values()):
            yield "every question has expired"

    def before_fork(self) -> None:
        """Come to rest between two transactions."""
        self._db.lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._db.lock.release()

    def after_fork_in_child(self) -> None:
        """Start anew with the next call; the parent's connection, lock and thread are its own."""
        self._db.after_fork()
        self._outbox.after_fork()
        self._uploader.after_fork()
        self._refused.clear()

    def _follow(self) -> Device:
        """Obey a decision that was made elsewhere, such as by `deniable-device`."""
        self._save_no()
        device = self._store.device()
        if device.consent != self._consent:
            self._obey(device.consent)
        return device

    def _obey(self, consent: Consent) -> None:
        self._consent = consent
        if consent == "on":
            self._uploader.resume()
            self._next_step()
        else:
            self._transport.abandon()
            self._uploader.stop(_JOIN_SECONDS)

    def _next_step(self) -> None:
        """Let what waits be sent, or without consent, throw away what no longer counts."""
        if self._consent == "on":
            if self._queue.waiting():
                self._uploader.wake()
        else:
            self._outbox.drop_closed()

    def _save_no(self) -> None:
        """Store a no that could not be stored when it was said."""
        if self._no_unsaved:
            self._store.decide("off", self._clock())
            self._no_unsaved = False

    def _save_counts(self) -> None:
        counts = self._refused.copy()
        if counts:
            with self._db.transaction():
                self._store.count(counts)
            self._refused.subtract(counts)
            self._refused = +self._refused


def _open(path: Path, mode: str, max_epsilon: Decimal) -> Database:
    """Open the store, or make one where there never was one."""
    try:
        if not path.exists():
            if aside := stores_aside(path):
                raise StoreError(silence(aside))
            create(path, mode, canonical(max_epsilon))
        return Database(path)
    except OSError as exc:
        raise StoreError(f"the store cannot be opened: {exc.strerror}; check its path") from exc
