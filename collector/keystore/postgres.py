"""Keys in a PostgreSQL database of their own: never the store's, nor in its backups.

A deletion rewrites the table without the key, in one transaction, so that no dead row of it is
left in the table's file. What a server keeps beside that is beyond a client: the write-ahead log
holds each key until its segments are recycled and overwritten (``wal_recycle = off`` removes them
at a checkpoint instead), and archives, replicas and base backups for as long as they exist. A
directory or Valkey keeps less; this place is for who has neither. What must never change: the
table's name and columns, and that the key's column has no statistics, which would be copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from deniable.protocol.errors import StoreError

from ..places import connection_fields, without_password
from .checks import KEY_BYTES, check_key, check_name, valid_name

_CONNECT_SECONDS = 2
"""For each address of the host, of which there may be two."""

_WAIT_SECONDS = 3
_LOCK_SECONDS = 2
_SCHEMA_LOCK = 0x64656E69  # "deni"

_CREATE = (
    "CREATE SCHEMA IF NOT EXISTS deniable_keys",
    "CREATE TABLE IF NOT EXISTS deniable_keys.keys (name text PRIMARY KEY, key bytea NOT NULL)",
    "ALTER TABLE deniable_keys.keys ALTER COLUMN key SET STATISTICS 0",
)
# As the store's: a log tells no parameters, if this role may forbid it.
_QUIET = """
SELECT set_config(name, '0', false)
FROM unnest(ARRAY['log_parameter_max_length', 'log_parameter_max_length_on_error']) AS given (name)
WHERE name = 'log_parameter_max_length_on_error' OR has_parameter_privilege(name, 'SET')
"""
_REWRITE = "ALTER TABLE deniable_keys.keys ALTER COLUMN key TYPE bytea USING key || ''::bytea"


class PostgresKeys:
    """Keys in ``deniable_keys.keys``; see :class:`~deniable.collector.keystore.base.KeyStore`.

    Every call has a connection of its own: keys are asked for seldom, and a server that was
    restarted is found again without more ado.
    """

    def __init__(self, location: str) -> None:
        connection_fields(location)
        self._url = location
        self._made = False

    @property
    def location(self) -> str:
        """Its URL without a password."""
        return without_password(self._url)

    def get(self, name: str) -> bytes | None:
        """Read a key."""
        check_name(name)
        with self._connected() as connection:
            return self._read(connection, name)

    def put_if_absent(self, name: str, key: bytes) -> bytes:
        """Insert a key unless the name has one; the primary key decides."""
        check_name(name)
        check_key(key)
        with self._connected() as connection:
            kept = None
            while kept is None:  # a second round only if the other's was deleted in between
                if _inserted(connection, name, key):
                    return key
                kept = self._read(connection, name)
            return kept

    def delete(self, name: str) -> None:
        """Delete a key and write the table anew without it."""
        check_name(name)
        with self._connected() as connection, connection.transaction():
            connection.execute("LOCK TABLE deniable_keys.keys IN ACCESS EXCLUSIVE MODE")
            delete = "DELETE FROM deniable_keys.keys WHERE name = %s"
            if connection.execute(delete, (name,)).rowcount:
                connection.execute(_REWRITE)

    def names(self) -> set[str]:
        """List the keys' names."""
        with self._connected() as connection:
            rows = connection.execute("SELECT name FROM deniable_keys.keys").fetchall()
        return {name for (name,) in rows if valid_name(name)}

    def close(self) -> None:
        """Nothing is held."""

    def _read(self, connection: psycopg.Connection, name: str) -> bytes | None:
        select = "SELECT key FROM deniable_keys.keys WHERE name = %s"
        row = connection.execute(select, (name,)).fetchone()
        if row is None:
            return None
        key = bytes(row[0])
        if len(key) != KEY_BYTES:
            raise StoreError(f"{self.location}: key {name} must hold {KEY_BYTES} bytes")
        return key

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection]:
        try:
            with psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=_CONNECT_SECONDS,
                tcp_user_timeout=_WAIT_SECONDS * 1000,
                application_name="deniable-collector keys",
            ) as connection:
                connection.execute(_QUIET)
                connection.execute(f"SET statement_timeout = '{_WAIT_SECONDS}s'")
                connection.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'")
                # Whatever the database's default is: a key is durable before it is used.
                connection.execute("SET synchronous_commit = on")
                self._make(connection)
                yield connection
        except psycopg.Error as exc:
            raise StoreError(f"{self.location}: cannot be used ({_reason(exc)})") from exc

    def _make(self, connection: psycopg.Connection) -> None:
        """Make the table, unless it is there: an operator may have made it for this role."""
        if self._made:
            return
        found = connection.execute("SELECT to_regclass('deniable_keys.keys')").fetchone()
        if found is None or found[0] is None:
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
                for statement in _CREATE:
                    connection.execute(sql.SQL(statement))
        self._made = True


def _inserted(connection: psycopg.Connection, name: str, key: bytes) -> bool:
    """Insert a key by way of COPY: a server may log the values of statements, but never its data.

    Binary, for a line of text that fails would be told.
    """
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE given (name text, key bytea) ON COMMIT DROP")
        with cursor.copy("COPY pg_temp.given FROM STDIN (FORMAT BINARY)") as copy:
            copy.set_types(["text", "bytea"])
            copy.write_row((name, key))
        cursor.execute(
            "INSERT INTO deniable_keys.keys (name, key) SELECT name, key FROM pg_temp.given"
            " ON CONFLICT (name) DO NOTHING"
        )
        return cursor.rowcount == 1


def _reason(exc: psycopg.Error) -> str:
    lines = str(exc).splitlines()
    return lines[0] if lines else type(exc).__name__
