"""The PostgreSQL store: one database, any number of collectors.

Counting transactions run beside each other, each on a shard of its own; the ledger's primary key
decides between two that count one device. What must never change: a release waits for every one
of them and keeps new ones out, and no tally's row is written by two at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from select import select

from psycopg import Connection, Cursor

from deniable.protocol.errors import StoreError

from ..places import same_place
from . import postgres_locks as locks
from .base import BEGINNING, Reader, Scope, ScopeRow, Transaction
from .postgres_counting import Begun
from .postgres_pool import Connections
from .postgres_reading import Reading, Row
from .postgres_schema import migrate
from .postgres_writing import Writing


class PostgresStore:
    """One database; see :class:`~deniable.collector.store.base.Store`."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._shard = 0
        self._attending: Connection | None = None
        self._presence = threading.Lock()
        self._attends = False

    @classmethod
    def open(cls, url: str, *, create: bool) -> PostgresStore:
        """Connect, and bring the schema up to date."""
        connections = Connections(url)
        try:
            with connections.lend(lambda connection: None) as (connection, _):
                migrate(connection, connections.location, create=create)
        except BaseException:
            connections.close()
            raise
        return cls(connections)

    @property
    def location(self) -> str:
        """The URL, without user and password."""
        return self._connections.location

    @property
    def keys(self) -> None:
        """Nowhere: several processes need them, and this database must not have them."""
        return None

    def is_at(self, location: str) -> bool:
        """Return whether a URL leads to this database."""
        return same_place(self._connections.url, location)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Run one transaction with the gate closed behind it."""
        return self._transaction(locks.begin_alone)

    @contextmanager
    def counting(self) -> Iterator[Transaction]:
        """Run one transaction on a shard that nobody else is using."""
        if self._attends:
            self._be_present()
        with self._transaction(lambda: locks.begin_counting(self._shard)) as tx:
            yield tx

    @contextmanager
    def _transaction(self, begin: Callable[[], str]) -> Iterator[Writing]:
        with self._connections.lend(lambda connection: _begin(connection, begin())) as lent:
            connection, begun = lent
            self._shard = begun.shard
            yield Writing(connection, begun)
            done = connection.execute("COMMIT")
            if done.statusmessage != "COMMIT":
                raise StoreError(f"{self.location}: the transaction had failed")

    @contextmanager
    def read(self) -> Iterator[Reader]:
        """Read what was committed when the view was opened."""
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        with self._connections.lend(lambda connection: connection.execute(begin)) as (lent, _):
            yield Reading(lent)

    @contextmanager
    def attend(self) -> Iterator[None]:
        """Share the store with others that count, on a connection that says so."""
        self._be_present()
        self._attends = True
        try:
            yield
        finally:
            self._attends = False
            with self._presence:
                self._be_absent()

    def _be_present(self) -> None:
        """Say that this process counts, again if the connection that said so is gone."""
        with self._presence:
            if self._attending is not None and not _is_gone(self._attending):
                return
            self._be_absent()
            text = "is held by a command of another process; wait until that has ended"
            self._attending = self._held(shared=True, refusal=text)

    def _be_absent(self) -> None:
        if self._attending is not None:
            self._attending.close()
        self._attending = None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep out every process that counts, on a connection that says so."""
        text = "is in use by a running collector; stop it first"
        connection = self._held(shared=False, refusal=text)
        try:
            yield
        finally:
            connection.close()

    def _held(self, *, shared: bool, refusal: str) -> Connection:
        return self._connections.connect(
            lambda connection: locks.hold(
                connection, shared=shared, refusal=f"{self.location}: {refusal}"
            )
        )

    def free_bytes(self) -> None:
        """Return None: the server's disk is the server's."""
        return

    def close(self) -> None:
        """Close every connection."""
        self._connections.close()


def _begin(connection: Connection, statements: str) -> Begun:
    """Send the statements at once and read the clock, the open scopes and the shard."""
    cursor = connection.execute(statements, prepare=False, binary=False)
    _next_rows(cursor)
    ((watermark, edition),) = _next_rows(cursor)
    scopes = {
        Scope(*place): ScopeRow(number, devices, closed, check)
        for *place, number, closed, check, devices in _next_rows(cursor)
    }
    shards = _next_rows(cursor)
    shard = shards[0][0] if shards else locks.wait_for_first(connection)
    return Begun(watermark or BEGINNING, edition, scopes, shard)


def _next_rows(cursor: Cursor[Row]) -> list[Row]:
    cursor.nextset()
    return cursor.fetchall()


def _is_gone(connection: Connection) -> bool:
    """Return whether the server has let go of an idle connection."""
    return connection.closed or bool(select([connection.fileno()], [], [], 0)[0])
