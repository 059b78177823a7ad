"""A few connections to one PostgreSQL server, lent one transaction at a time.

A connection that the server left is replaced when it is next wanted, so that nothing has to be
done after an outage, and the reason of a refusal is known to who asks. What must never change:
the settings below, which make a commit durable and keep what is written out of the server's log.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import Connection
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus

from deniable.protocol.errors import ParameterError, StoreError

from ..places import connection_fields
from .postgres_errors import refused, wrapped

_SECONDS = 5
"""How long a server may be silent, about, before it counts as lost."""
_AT_ONCE = 8
_OLDEST = 15
"""The oldest major version of PostgreSQL that has what is asked of it below."""
_LINK: dict[str, Any] = {
    "application_name": "deniable-collector",
    "connect_timeout": _SECONDS,
    "keepalives": 1,
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": _SECONDS * 1000,
}
_SETTINGS = {
    "search_path": "deniable, pg_temp",
    "timezone": "UTC",
    "synchronous_commit": "on",
    "statement_timeout": "60s",
    "lock_timeout": "25s",
    "idle_in_transaction_session_timeout": "60s",
    "idle_session_timeout": "0",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "log_parameter_max_length_on_error": "0",
    "log_parameter_max_length": "0",
    # Every statement finds its rows by a key, however old the table's statistics are.
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}
# Only some roles may set the first of the exceptions; the second is better left as it is.
_CONFIGURE = """
SELECT set_config(name, value, false) FROM unnest(%s::text[], %s::text[]) AS given (name, value)
WHERE CASE name
    WHEN 'log_parameter_max_length' THEN has_parameter_privilege(name, 'SET')
    WHEN 'synchronous_commit' THEN current_setting(name) <> 'remote_apply'
    ELSE true END
"""

T = TypeVar("T")

# The driver's own warnings quote the server, which may quote a row.
logging.getLogger("psycopg").setLevel(logging.CRITICAL)


def _nothing(connection: Connection) -> None:
    """Leave a connection as it is."""


class Connections:
    """Connects to one database, and keeps what is not in use for the next who asks.

    Attributes
    ----------
    url : str
        The database's, as given; it may hold a password.
    location : str
        The same, without user and password.
    """

    def __init__(self, url: str) -> None:
        try:
            given = connection_fields(url)
        except ParameterError as exc:
            raise StoreError(f"store: the {exc}") from None
        self.url = url
        self.location = _location(given)
        self._conninfo = make_conninfo(**{**_LINK, **given})
        self._idle: list[Connection] = []
        self._room = threading.BoundedSemaphore(_AT_ONCE)
        self._open = True

    @contextmanager
    def lend(self, begin: Callable[[Connection], T]) -> Iterator[tuple[Connection, T]]:
        """Lend a connection on which ``begin`` was run; what is not committed is undone.

        Raises
        ------
        StoreError
            For any error of the driver.
        ConflictError
            If the transaction must be run again.
        """
        if not self._room.acquire(timeout=_SECONDS):
            raise StoreError(f"{self.location}: every connection is in use")
        try:
            connection, begun = self._begun(begin)
            try:
                yield connection, begun
            finally:
                self._take_back(connection)
        except psycopg.Error as exc:
            raise wrapped(self.location, exc) from None
        finally:
            self._room.release()

    def connect(self, then: Callable[[Connection], None] = _nothing) -> Connection:
        """Return a connection of one's own, on which ``then`` was run.

        Raises
        ------
        StoreError
            If there is none to be had.
        """
        try:
            connection = psycopg.connect(self._conninfo, autocommit=True)
        except psycopg.Error as exc:
            raise refused(self.location, exc) from None
        try:
            self._configure(connection)
            then(connection)
        except BaseException as exc:
            connection.close()
            if isinstance(exc, psycopg.Error):
                raise wrapped(self.location, exc) from None
            raise
        return connection

    def _configure(self, connection: Connection) -> None:
        major = connection.info.server_version // 10_000
        if major < _OLDEST:
            text = f"is PostgreSQL {major}; deniable needs {_OLDEST} or newer"
            raise StoreError(f"{self.location}: {text}")
        connection.execute(_CONFIGURE, ([*_SETTINGS], [*_SETTINGS.values()]))

    def close(self) -> None:
        """Close what is not lent, and the rest when it comes back."""
        self._open = False
        while self._idle:
            self._idle.pop().close()

    def _begun(self, begin: Callable[[Connection], T]) -> tuple[Connection, T]:
        """Begin on an idle connection, on the next if the server left it, at last on a new one."""
        while True:
            try:
                connection, fresh = self._idle.pop(), False
            except IndexError:
                connection, fresh = self.connect(), True
            try:
                return connection, begin(connection)
            except BaseException:
                lost = connection.closed
                self._take_back(connection)
                if fresh or not lost:
                    raise

    def _take_back(self, connection: Connection) -> None:
        if not _is_idle(connection):
            with suppress(psycopg.Error):
                connection.rollback()
        if self._open and _is_idle(connection):
            self._idle.append(connection)
        else:
            connection.close()


def _is_idle(connection: Connection) -> bool:
    return connection.info.transaction_status == TransactionStatus.IDLE


def _location(given: dict[str, Any]) -> str:
    host = str(given.get("host") or given.get("hostaddr") or "")
    port = f":{given['port']}" if given.get("port") else ""
    name = str(given.get("dbname") or "")
    if host.startswith(("/", "@")):
        return f"postgresql:///{name}?host={host}"
    return f"postgresql://{host}{port}/{name}"
