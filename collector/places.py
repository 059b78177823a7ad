"""Servers by URL: their names without passwords, and whether two URLs are one database.

What must never change: nothing that :func:`without_password` returns holds a password, however
badly the URL is written.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from deniable.protocol.errors import MissingExtraError, ParameterError

POSTGRESQL = ("postgresql", "postgres")
DATABASE = "postgresql://USER@HOST/DATABASE"
"""How the URL of a PostgreSQL database is written."""

_GIVE = f"give the path of an SQLite file, or {DATABASE}"
_NO_FILE = re.compile(r"(postgres(ql)?|rediss?|valkeys?|sqlite|file|https?)?:", re.IGNORECASE)
"""How a path begins that was meant to be something else."""

_REDIS = {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss"}
_HERE = {"", "localhost", "127.0.0.1", "::1"}


def scheme_of(location: str) -> str:
    """Return what stands before ``://``, or nothing for a path."""
    scheme, separator, _ = location.partition("://")
    return scheme if separator else ""


def sqlite_path(location: str) -> Path | None:
    """Return the path of an SQLite store, given as it is or as ``sqlite:///PATH``; None of a URL.

    Raises
    ------
    ParameterError
        If it is no path that could be meant.
    """
    scheme, separator, rest = location.partition("://")
    if separator and scheme != "sqlite":
        return None
    path = rest.removeprefix("/") if separator else location
    if not path or (separator and not rest.startswith("/")):
        raise ParameterError(f"store: names no file; {_GIVE}")
    if not separator and _NO_FILE.match(path):
        begin = path.partition(":")[0]
        raise ParameterError(f"store: what begins with {begin}: is neither file nor URL; {_GIVE}")
    return Path(path)


def without_password(location: str) -> str:
    """Return a path as it is, and of a URL what is fit for a log: no password and no query."""
    scheme, separator, rest = location.partition("://")
    if not separator:
        return location
    place, _, query = rest.replace("#", "?").partition("?")
    if "@" in query:  # a password with a question mark in it, or one in the query
        return f"{scheme}://"
    user, at, server = place.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{server}{_socket(query)}"


def _socket(query: str) -> str:
    """Return the folder of a server's socket as the query it was given by, and nothing else."""
    hosts = parse_qs(query).get("host", [""])
    return f"?host={hosts[0]}" if hosts[0].startswith("/") else ""


def redis_url(location: str) -> str | None:
    """Return a Redis or Valkey URL as the ``redis`` client spells it; None for any other.

    Raises
    ------
    ParameterError
        If its database is no number, which the client would take for 0.
    """
    scheme = _REDIS.get(scheme_of(location))
    if scheme is None:
        return None
    url = f"{scheme}://{location.partition('://')[2]}"
    try:
        database = urlsplit(url).path.strip("/")
    except ValueError:
        database = "?"
    if not re.fullmatch("[0-9]*", database):
        text = f"write it like {scheme}://USER:PASSWORD@HOST:6379/0: the database is a number"
        raise ParameterError(f"{scheme}:// URL cannot be read; {text}, a password has % escapes")
    return url


def same_place(store_location: str, keys_location: str) -> bool:
    """Return whether two PostgreSQL URLs lead to one database.

    A socket and a loopback address with the same port count as one server: keys beside the
    counts they protect would be a mistake that nobody notices.

    Raises
    ------
    ParameterError
        If a URL cannot be read.
    MissingExtraError
    """
    return _same_database(store_location, keys_location, any_name=False)


def same_server(store_location: str, keys_location: str) -> bool:
    """Return whether two PostgreSQL URLs lead to databases of one server, as far as they tell.

    Such share a write-ahead log, base backups and snapshots.

    Raises
    ------
    ParameterError
        If a URL cannot be read.
    MissingExtraError
    """
    return _same_database(store_location, keys_location, any_name=True)


def _same_database(one: str, another: str, *, any_name: bool) -> bool:
    if any(scheme_of(location) not in POSTGRESQL for location in (one, another)):
        return False
    (hosts, port, name), (others, other_port, other_name) = _database(one), _database(another)
    if port != other_port or (name != other_name and not any_name):
        return False
    either = hosts | others
    here = "localhost" in either and all(h == "localhost" or h[:1] == "/" for h in either)
    return here or bool(hosts & others)


def connection_fields(location: str) -> dict[str, str]:
    """Return the parts of a PostgreSQL URL.

    Raises
    ------
    ParameterError
        If it cannot be read; the message quotes nothing of it.
    MissingExtraError
    """
    try:
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as exc:
        text = "psycopg is not installed; pip install 'deniable[postgres]'"
        raise MissingExtraError(text) from exc
    try:
        fields = {name: str(value) for name, value in conninfo_to_dict(location).items()}
    except psycopg.Error:
        fields = {"port": "?"}
    if not all(map(_is_port, fields.get("port", "").split(","))):
        text = f"write it like {DATABASE} or HOST:5432, with % escapes in a password"
        raise ParameterError(f"{scheme_of(location)}:// URL cannot be read; {text}")
    return fields


def _is_port(text: str) -> bool:
    """Return whether a text is a port, or empty: libpq's own."""
    return not text or (re.fullmatch("[0-9]{1,5}", text) is not None and 0 < int(text) < 2**16)


def _database(location: str) -> tuple[set[str], str, str]:
    """Return the hosts, port and name of a database, with libpq's defaults."""
    fields = connection_fields(location)
    hosts = (fields.get("host") or fields.get("hostaddr") or "").lower().split(",")
    named = {"localhost" if host in _HERE else host for host in hosts}
    ports = fields.get("port", "").split(",")
    return named, ports[0] or "5432", fields.get("dbname") or fields.get("user", "")
