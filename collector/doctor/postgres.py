"""The PostgreSQL server: does it keep what it acknowledges, and what does it keep beside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg import Connection

from deniable.protocol.errors import StoreError

from ..config import utc_now
from ..store.base import Reader
from ..store.postgres_errors import wrapped
from ..store.postgres_pool import Connections
from ..store.postgres_reading import Reading
from ..store.postgres_schema import STEPS
from .findings import Findings, fault, ok, warning

_APART = timedelta(seconds=60)

_SETTINGS = (
    "fsync", "full_page_writes", "synchronous_commit", "archive_mode", "log_statement",
    "log_min_duration_statement", "log_min_duration_sample", "log_transaction_sample_rate",
    "log_parameter_max_length", "log_parameter_max_length_on_error",
    "auto_explain.log_min_duration", "auto_explain.log_parameter_max_length",
    "pgaudit.log", "pgaudit.log_parameter",
)  # fmt: skip
_OFF = {"", "-1", "none", "off", "0"}


@dataclass(frozen=True, slots=True)
class Server:
    """What the server says, on a connection that is set up as the collector's are."""

    location: str
    settings: dict[str, str]
    superuser: bool
    moment: datetime
    asked: datetime
    encrypted: bool
    local: bool
    step: int

    def on(self, name: str) -> bool:
        """Return whether a setting is anything but off."""
        return self.settings.get(name, "off") not in _OFF

    def logs_values(self, name: str) -> bool:
        """Return whether a setting lets values into the log: -1, its default, all of them."""
        return self.settings.get(name, "-1") != "0"


def ask_server(url: str) -> Server:
    """Ask the server of a store, and write nothing.

    Raises
    ------
    StoreError
    """
    connections = Connections(url)
    try:
        with closing(connections.connect()) as connection:
            connection.execute("SET default_transaction_read_only = on")
            return _asked(connections.location, connection)
    except psycopg.Error as exc:
        raise wrapped(connections.location, exc) from None
    finally:
        connections.close()


def _asked(location: str, connection: Connection) -> Server:
    query = "SELECT name, setting FROM pg_settings WHERE name = ANY(%s)"
    settings: dict[str, str] = dict(connection.execute(query, (list(_SETTINGS),)).fetchall())
    asked = utc_now()
    row = _one(connection, "SELECT rolsuper, clock_timestamp() FROM pg_roles"
               " WHERE rolname = current_user")  # fmt: skip
    host = connection.info.host
    local = host.startswith("/") or host in ("localhost", "127.0.0.1", "::1")
    encrypted = bool(connection.pgconn.ssl_in_use)
    return Server(location, settings, row[0], row[1], asked, encrypted, local, _step(connection))


def _one(connection: Connection, query: str) -> tuple[Any, ...]:
    row = connection.execute(query).fetchone()
    if row is None:
        raise StoreError("the server answered nothing")
    return row


def _step(connection: Connection) -> int:
    """Return the last step of the schema that was applied; 0 if there is none."""
    if _one(connection, "SELECT to_regclass('deniable.migrations') IS NULL")[0]:
        return 0
    return int(_one(connection, "SELECT coalesce(max(step), 0) FROM deniable.migrations")[0])


@contextmanager
def reader(url: str) -> Iterator[Reader]:
    """Open what is committed, and nothing else.

    Raises
    ------
    StoreError
    """
    connections = Connections(url)
    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    try:
        with connections.lend(lambda connection: connection.execute(begin)) as (lent, _):
            yield Reading(lent)
    finally:
        connections.close()


def schema(server: Server) -> Findings:
    """The schema is that of this version."""
    if server.step > len(STEPS):
        yield fault("schema", "was written by a newer deniable", "upgrade this one")
    elif server.step == 0:
        yield fault("schema", f"{server.location}: there is no such store", "check --store")
    elif server.step < len(STEPS):
        detail = f"is at step {server.step} of {len(STEPS)}"
        yield warning("schema", detail, "back up; the next start of serve brings it up to date")
    else:
        yield ok("schema", f"is at step {server.step}, the newest")


def durability(server: Server) -> Findings:
    """What was acknowledged survives a power cut."""
    for name, why in (
        ("fsync", "a power cut loses acknowledged reports"),
        ("full_page_writes", "a power cut may tear pages"),
        ("synchronous_commit", "a crash loses acknowledged reports"),
    ):
        if not server.on(name):
            fix = f"ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf()"
            yield fault("durability", f"{name} is off: {why}", fix)
            return
    yield ok("durability", "fsync, full_page_writes and synchronous_commit are on")


def server_log(server: Server) -> Findings:
    """The server's log does not tell whose ledger row was written when."""
    statements = server.settings["log_statement"] in ("mod", "all")
    timed = any(
        server.settings[name] != "-1"
        for name in ("log_min_duration_statement", "log_min_duration_sample")
    )
    sampled = server.on("log_transaction_sample_rate")
    values = server.logs_values("log_parameter_max_length")
    explained = server.settings.get("auto_explain.log_min_duration", "-1") != "-1"
    loud = []
    if (statements or timed or sampled) and values:
        loud.append("log_statement or log_min_duration_statement")
    if explained and server.logs_values("auto_explain.log_parameter_max_length"):
        loud.append("auto_explain")
    if server.on("pgaudit.log") and server.on("pgaudit.log_parameter"):
        loud.append("pgaudit")
    if loud:
        yield fault(
            "server log",
            f"{' and '.join(loud)}: the values of statements are logged, with the time",
            "as a superuser: ALTER SYSTEM SET log_parameter_max_length = 0 (and that of"
            " auto_explain, and pgaudit.log_parameter = off); SELECT pg_reload_conf()",
        )
    else:
        yield ok("server log", "no values of statements are logged")


def archive(server: Server) -> Findings:
    """No archive keeps what the store deletes; or it is known for how long it does."""
    if server.on("archive_mode"):
        detail = "archive_mode is on: archives keep ledger rows, in the order they came, after"
        detail += " the store has deleted them (their keys are elsewhere)"
        fix = "let archives expire within the grace of the surveys; never archive the keys' place"
        yield warning("archives", detail, fix)
    else:
        yield ok("archives", "archive_mode is off; replicas and snapshots are not seen from here")


def role(server: Server) -> Findings:
    """The collector can do no more than it must."""
    if server.superuser:
        detail = "the collector connects as a superuser"
        fix = "CREATE ROLE deniable LOGIN, make it the owner of the database, and connect as it"
        yield warning("role", detail, fix)
    else:
        yield ok("role", "the collector is no superuser")


def server_clock(server: Server) -> Findings:
    """The server's clock is near this machine's."""
    apart = abs(server.moment - server.asked)
    if apart > _APART:
        detail = f"the server's clock and this machine's are {apart.total_seconds():,.0f} s apart"
        yield warning("server clock", detail, "keep both by NTP: timedatectl")
    else:
        yield ok("server clock", "is near this machine's")


def link(server: Server) -> Findings:
    """The way to the server is encrypted, or within the machine."""
    if server.local or server.encrypted:
        yield ok("server link", "is local" if server.local else "is encrypted")
    else:
        fix = "add sslmode=verify-full to the URL, and TLS to the server"
        yield warning("server link", "is not encrypted", fix)


SERVER_CHECKS = (schema, durability, server_log, archive, role, server_clock, link)
