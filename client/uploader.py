"""The thread that sends reports when their time has come, and otherwise sleeps.

It starts with the first report there is to send, or the first period whose default it has to
decide, never before the person said yes, and never keeps a process alive. What must never
change: it alone decides nothing about what is sent; that is the outbox's, for a thread and for
``flush()`` alike.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from .bell import Bell
from .faults import BusyStore
from .outbox import Outbox
from .pacing import Clock, backoff, uniform
from .pending import Queue
from .recorder import Recorder
from .solo import Solo
from .store import Store

BETWEEN = timedelta(seconds=30)
"""Longest pause between two requests, drawn anew each time, so that they do not leave as one."""

_NAP = timedelta(minutes=15)
"""Longest sleep, after which the clock is read again: it may have been set, or have slept."""


class Uploader(Solo):
    """Sends one parcel at a time in the background."""

    def __init__(
        self,
        outbox: Outbox,
        recorder: Recorder,
        store: Store,
        queue: Queue,
        clock: Clock,
        on_fault: Callable[[Exception], None],
        on_drop: Callable[[], object],
    ) -> None:
        super().__init__()
        self.bell = Bell()
        self.dropped = False
        self._on_drop = on_drop
        self._outbox = outbox
        self._recorder = recorder
        self._store = store
        self._queue = queue
        self._clock = clock
        self._on_fault = on_fault
        self._changing = threading.RLock()
        self._stopped = False
        self._ended = False
        self._resume: datetime | None = None

    def wake(self) -> None:
        """Look again at what is due, in a thread that is started if there is none."""
        with self._changing:
            if self._stopped or self._ended or self._outbox.paused:
                return
            self.bell.ring()
            self._start("deniable-uploader")

    def stop(self, seconds: float) -> None:
        """End the thread; wait for it so long at most."""
        self._stopped = True
        self.bell.ring()
        self.join(seconds)

    def resume(self) -> None:
        """Let the thread be started again."""
        self._stopped = False

    def end(self) -> None:
        """Tell the thread to end, and never start another."""
        self._ended = True
        self.bell.ring()

    def drop(self) -> None:
        """Let the thread close the store, and end, since nobody will; callable from anywhere."""
        self.dropped = True
        self.bell.ring()

    def after_fork(self) -> None:
        """In the child: there is no thread."""
        self._changing = threading.RLock()
        self._thread = None

    def _run(self) -> None:
        try:
            while self._goes_on():
                self._sleep(self._round())
            if self.dropped:
                self._on_drop()
        except Exception as exc:
            if self._is_mine():
                self._thread = None
            if not self._stopped and not self._ended:
                self._on_fault(exc)
        finally:
            self.bell.ring()  # it may have heard what was meant for another

    def _goes_on(self) -> bool:
        """Return whether the thread has something to do; if not, the next wake starts another."""
        allowed = self._allowed()
        with self._changing:
            if not self._is_mine():
                return False
            barred = self._stopped or self._ended or self.dropped or self._outbox.paused
            if not barred and (allowed or self.bell.rung):
                return True
            self._thread = None
            return False

    def _allowed(self) -> bool:
        """Return whether the person's answer is yes, which another process may have changed."""
        try:
            return self._store.device().consent == "on"
        except BusyStore:
            return True

    def _sleep(self, until: datetime | None) -> None:
        """Wait until a moment of the clock, or for ever, or until there is news."""
        seconds = None
        if until is not None:
            seconds = min(until - self._clock(), _NAP).total_seconds()
        self.bell.wait(seconds)

    def _round(self) -> datetime | None:
        """Do what is due now; return when to look again, None if only news can change that."""
        now = self._clock()
        try:
            if not self._store.believes(now):
                return now + _NAP
            self._recorder.decide_defaults(now)
            due = self._queue.next_departure()
            if due is not None:
                due = max(due, self._earliest(now))
                if due <= now:
                    self._attempt(now)
                    due = self._earliest(now)
        except BusyStore:
            return now + backoff(4)
        moments = [moment for moment in (due, self._recorder.next_defaults) if moment is not None]
        return min(moments, default=None)

    def _attempt(self, now: datetime) -> None:
        delivery = self._outbox.send_one()
        self._resume = now + (backoff(1) if delivery is None else uniform(BETWEEN))

    def _earliest(self, now: datetime) -> datetime:
        """Return the earliest next attempt; a clock that was set back does not postpone it."""
        mine = now if self._resume is None else min(self._resume, now + BETWEEN)
        return max(mine, self._outbox.earliest(now))
