"""Group commit: one thread, one transaction at a time, one fsync for all who wait.

Requests queue up while a transaction is being made durable and go into the next one together.
What must never change: a request hears of success only after the commit that holds it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar, cast

from deniable.protocol.errors import DeniableError, StoreError

from .config import Config
from .metrics import Metrics
from .outages import Outages
from .problems import where
from .shuffler import Submission, count_group
from .store.base import ConflictError, Store, Transaction
from .tickets import Ticket

_HEADROOM_SECONDS = 1.0
_LINGER = 0.5
_MAX_LINGER = 0.02
"""For what share of the last commit's time the next one waits for company; seconds at most."""

_ATTEMPTS = 50
"""How often a group is counted again because another process was in its way."""

T = TypeVar("T")


class QueueFullError(StoreError):
    """More requests wait for their commit than may."""


class Writer:
    """The only thread of a collector that writes to its store.

    Attributes
    ----------
    watermark : datetime
        As the last transaction read it.
    """

    def __init__(self, store: Store, config: Config, metrics: Metrics) -> None:
        self._store = store
        self._config = config
        self._metrics = metrics
        self._outages = Outages()
        self._queue: SimpleQueue[Ticket | None] = SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._headroom_until = 0.0
        self._took, self._answered = 0.0, 0
        with store.read() as reader:
            self.watermark = reader.watermark()
        self._thread = threading.Thread(target=self._run, name="collector-writer", daemon=True)
        self._thread.start()

    def submit(self, submission: Submission) -> Ticket:
        """Have a request counted; it is when the ticket's wait returns.

        A request whose commit lasts too long may still count; sent again it is a duplicate.

        Raises
        ------
        StoreError
            If the queue is full, or the collector is stopping.
        """
        if self._queue.qsize() >= self._config.queue_bound:
            raise QueueFullError("too many requests wait for their commit")
        return self._enqueue(Ticket(submission, None, self._config.commit_timeout))

    def run(self, job: Callable[[Transaction], T]) -> T:
        """Run a job in an exclusive transaction of its own, and return when that is durable.

        Raises
        ------
        StoreError
            If the collector is stopping, or the commit failed or lasts too long.
        DeniableError
            Whatever the job raises, which undoes all that it did.
        """
        ticket = self._enqueue(Ticket(None, job, self._config.commit_timeout))
        ticket.wait()
        return cast("T", ticket.result)

    def waiting(self) -> int:
        """Return how many requests wait."""
        return self._queue.qsize()

    def close(self) -> None:
        """Commit what was taken in, then stop."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _enqueue(self, ticket: Ticket) -> Ticket:
        with self._gate:
            if self._closed:
                raise StoreError("the collector is stopping")
            self._queue.put(ticket)
        if not self._thread.is_alive() and not self._closed:
            raise StoreError(
                "this process was forked from the one that made the collector; make the"
                " application in each worker (gunicorn without --preload)"
            )
        return ticket

    def _run(self) -> None:
        running = True
        while running:
            tickets = self._gather()
            group = [ticket for ticket in tickets if ticket is not None]
            running = len(group) == len(tickets)
            self._commit([ticket for ticket in group if ticket.submission is not None])
            for ticket in group:
                if ticket.job is not None:
                    self._commit([ticket])

    def _gather(self) -> list[Ticket | None]:
        """Return who goes into the next transaction: the first who comes and whoever waits.

        After a crowded one it waits a little for those whom it answered, who come back if they have
        more to send: the slower the disk, the more are to go in at once.
        """
        tickets = [self._queue.get()]
        self._take(tickets)
        if len(tickets) < self._answered and None not in tickets:
            time.sleep(min(self._took * _LINGER, _MAX_LINGER))
            self._take(tickets)
        return tickets

    def _take(self, tickets: list[Ticket | None]) -> None:
        """Add whoever waits."""
        try:
            while len(tickets) < self._config.max_group:
                tickets.append(self._queue.get_nowait())
        except Empty:
            pass

    def _commit(self, tickets: list[Ticket]) -> None:
        """Commit one transaction and tell those who wait for it."""
        if not tickets:
            return
        started = time.perf_counter()
        submitted = tickets[0].submission is not None
        error = (self._lack_of_room() if submitted else None) or self._attempt(tickets)
        if submitted:
            self._took, self._answered = time.perf_counter() - started, len(tickets)
            self._metrics.commit_seconds.observe(self._took)
            self._metrics.group_size.observe(len(tickets))
        for ticket in tickets:
            ticket.settle(error)

    def _attempt(self, tickets: list[Ticket]) -> DeniableError | None:
        """Run one transaction; return what was in its way."""
        error: DeniableError | None = None
        reason = None
        try:
            self._transact(tickets)
        except StoreError as exc:
            error, reason = exc, str(exc)
        except DeniableError as exc:
            error = exc  # of a job, which was refused what it wanted
        except Exception as exc:
            error, reason = StoreError("the commit failed"), where(exc)
        self._outages.tell("commit", reason)
        return error

    def _transact(self, tickets: list[Ticket]) -> None:
        """Run one transaction, again while other processes count the same devices."""
        job = tickets[0].job
        if job is not None:
            with self._store.transaction() as tx:
                tickets[0].result = job(tx)
                self.watermark = tx.watermark()
            return
        submissions = [t.submission for t in tickets if t.submission is not None]
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                with self._store.counting() as tx:
                    count_group(tx, submissions, self._config.max_devices_per_period)
                    self.watermark = tx.watermark()
            except ConflictError:
                if attempt == _ATTEMPTS:
                    raise
            else:
                return

    def _lack_of_room(self) -> StoreError | None:
        """Return why the disk takes no reports; a job may run, for a release makes room."""
        now = time.monotonic()
        if now < self._headroom_until:
            return None
        reason = None
        try:
            free = self._store.free_bytes()
            if free is not None and free < self._config.min_free_bytes:
                reason = "the disk is almost full"
        except StoreError as exc:
            reason = str(exc)
        self._outages.tell("taking in reports", reason)
        if reason is not None:
            return StoreError(reason)
        self._headroom_until = now + _HEADROOM_SECONDS
        return None
