"""From the queue to the collector: which reports share a request, and what the reply does to them.

What must never change: a request holds reports of one period and one pseudonym; each pseudonym
has a connection of its own; a report leaves the queue only when the collector has accounted for
it, or it can never count again.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime

from deniable.protocol.draws import FreshDraws

from .bodies import Group, bodies, device_of, grouped
from .database import Database
from .lock import StoreLock
from .pacing import Clock, backoff, later
from .pending import Queue, Queued
from .replies import Verdict, judge, trouble
from .schema import PATIENCE
from .status import Flushed
from .store import Store
from .transport import DEADLINE, Carrier

_COUNT_SECONDS = 0.5
"""How long it may take to count what is left, when everything else is done."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """The due reports of one pseudonym, and the leave to send them, void after a no.

    ``ticket`` tells of a no that this process heard, ``begun`` of one that another stored.
    """

    group: Group
    device: str
    reports: tuple[Queued, ...]
    ticket: int
    begun: int


@dataclass(slots=True)
class Delivery:
    """What became of parcels: ``held`` says that some reports must be sent again later."""

    sent: int = 0
    dropped: int = 0
    held: bool = False
    failed: bool = False


class Outbox:
    """Sends what is due to one collector, while no other thread or process does."""

    def __init__(
        self,
        survey: str,
        db: Database,
        store: Store,
        queue: Queue,
        transport: Carrier,
        clock: Clock,
    ) -> None:
        self.paused = False
        self.trouble = ""
        self._survey = survey
        self._db = db
        self._store = store
        self._queue = queue
        self._transport = transport
        self._clock = clock
        self._thread_turn = threading.Lock()
        self._sender: int | None = None
        self._process_turn = StoreLock(db.path)

    def flush(self, *, force: bool, timeout: float | None = None) -> Flushed:
        """Send every parcel that is due, or all that waits, until the collector stops answering.

        Parameters
        ----------
        timeout : float or None
            Seconds it may take in all; None for as long as the exchanges take.
        """
        patience = math.inf if timeout is None else max(0.0, timeout)
        until = time.monotonic() + patience
        total, tried = Delivery(), set[Group]()
        with self._turn(min(patience, 2 * DEADLINE)) as mine:
            if mine and self._may_try(force=force):
                total.dropped += self.drop_closed()
                while not total.failed and (parcel := self._next(force, tried)):
                    if time.monotonic() >= until:
                        break
                    tried.add(parcel.group)
                    self._deliver(parcel, total, until)
        with self._db.within(_COUNT_SECONDS):
            return Flushed(total.sent, self._queue.waiting(), total.dropped)

    def send_one(self) -> Delivery | None:
        """Send one parcel that is due, any of them; None if someone else is sending."""
        delivery = Delivery()
        with self._turn(2 * DEADLINE) as mine:
            if not mine:
                return None
            self.drop_closed()
            if self._may_try(force=False) and (parcel := self._next(force=False, tried=set())):
                self._deliver(parcel, delivery, math.inf)
        return delivery

    @property
    def lock_fault(self) -> str:
        """Why no process can send: the lock that only one may hold can be had by none."""
        return self._process_turn.fault

    def earliest(self, now: datetime) -> datetime:
        """Return the earliest next attempt, whichever process made the last one."""
        _, resume = self._store.uploads()
        return now if resume is None else max(now, resume)

    def drop_closed(self) -> int:
        """Erase the reports that can never count any more; return how many.

        And the answers that were kept for reports like that.
        """
        now = self._clock()
        over = self._store.memories.over(now)
        if not (over or self._queue.closed(now)) or not self._store.believes(now):
            return 0
        with self._db.transaction():
            self._store.memories.blank_over(now)
            dropped = self._queue.remove_closed(now)
            if dropped:
                self._store.count({"period_closed": dropped})
        self._store.journal.trim(now)
        return dropped

    def after_fork(self) -> None:
        """In the child: nobody is sending."""
        self._thread_turn = threading.Lock()
        self._sender = None
        self._process_turn.after_fork()
        self._transport.after_fork()

    @contextmanager
    def _turn(self, patience: float) -> Iterator[bool]:
        """Wait so long for this process's other thread, but not for another process.

        Nor for the call of the same thread that a handler of a signal has interrupted.
        """
        me = threading.get_ident()
        if self._sender == me or not self._thread_turn.acquire(timeout=patience):
            yield False
            return
        try:
            self._sender = me
            mine = self._process_turn.acquire()
            try:
                yield mine
            finally:
                self._process_turn.release()
        finally:
            self._sender = None
            self._thread_turn.release()

    def _may_try(self, *, force: bool) -> bool:
        now = self._clock()
        if not self._store.believes(now):
            return False
        return force or (not self.paused and self.earliest(now) <= now)

    def _next(self, force: bool, tried: set[Group]) -> Parcel | None:
        """Return one of the parcels that are due, at random; none unless the person said yes."""
        ticket = self._transport.ticket()  # before the decision is read
        device = self._store.device()
        reports = self._queue.due(None if force else self._clock())
        if device.consent != "on" or device.secret is None:
            return None
        groups = grouped(reports)
        waiting = [group for group in groups if group not in tried]
        if not waiting:
            return None
        group = waiting[FreshDraws().below(len(waiting))]
        name = device_of(device.secret, self._survey, group)
        return Parcel(group, name, tuple(groups[group]), ticket, device.begun)

    def _deliver(self, parcel: Parcel, total: Delivery, until: float) -> None:
        with closing(self._transport.connection()) as connection:
            period = parcel.group[0]
            for reports, body in bodies(self._survey, period, parcel.device, parcel.reports):
                if time.monotonic() >= until or not self._may_leave(parcel):
                    return
                seconds = min(DEADLINE, until - time.monotonic())
                reply = self._transport.post(
                    connection, body, parcel.ticket, seconds, lambda: self._may_begin(parcel)
                )
                verdict = judge(reply, len(reports), self._clock())
                self.trouble = trouble(reply, verdict)
                with self._db.within(PATIENCE):  # whatever time the exchange took
                    self._apply(verdict, reports, total)
                if total.failed:
                    return

    def _may_leave(self, parcel: Parcel) -> bool:
        """Return whether nobody has said no since a parcel was made."""
        device = self._store.device()
        return device.consent == "on" and device.begun == parcel.begun

    def _may_begin(self, parcel: Parcel) -> bool:
        """Return the same when a body is about to leave, in the exchange's thread; no if unknown.

        Meanwhile a connection was made, which takes long enough for a no.
        """
        try:
            with self._db.within(PATIENCE):
                return self._may_leave(parcel)
        except Exception:
            return False

    def _apply(self, verdict: Verdict, reports: Sequence[Queued], total: Delivery) -> None:
        """Do to the queue what the verdict says."""
        if verdict.action in ("keep", "pause"):
            total.held = total.failed = True
            self.paused = self.paused or verdict.action == "pause"
            self._pause(1, self._asked_for(verdict, reports[0].period))
            return
        self.paused = False
        states = {
            index: verdict.refused.get(index, verdict.reason or "sent")
            for index in range(len(reports))
            if index not in verdict.later
        }
        with self._db.transaction():
            for index, state in states.items():
                self._queue.remove(reports[index], state)
            self._store.count(Counter(states.values()))
        self._store.journal.trim(self._clock())
        self._pause(1 if verdict.later else 0)
        sent = sum(state == "sent" for state in states.values())
        total.held = total.held or bool(verdict.later)
        total.sent += sent
        total.dropped += len(states) - sent

    def _asked_for(self, verdict: Verdict, period: str) -> datetime | None:
        """Return when to send again, if the collector named a time before which it hears none."""
        closes = self._queue.last_close(period)
        if verdict.not_before is None or closes is None:
            return None
        return later(verdict.not_before, self._clock(), closes)

    def _pause(self, failures: int, asked: datetime | None = None) -> None:
        """Let no process try again too soon after a failure; a success ends that."""
        before, _ = self._store.uploads()
        if failures:
            resume = self._clock() + backoff(before + failures)
            self._store.note_uploads(before + failures, max(resume, asked or resume))
        elif before:
            self._store.note_uploads(0, None)
