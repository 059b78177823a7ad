"""Servers by URL: their names without passwords, and whether two URLs are one database.

What must never change: nothing that :func:`without_password` returns holds a password, however
badly the URL is written.
"""

from __future__ import annotations

from deniable.protocol.errors import MissingExtraError, ParameterError

POSTGRESQL = ("postgresql", "postgres")

_REDIS = {"redis": "redis", "rediss": "rediss", "valkey": "redis", "valkeys": "rediss"}
_HERE = {"", "localhost", "127.0.0.1", "::1"}


def scheme_of(location: str) -> str:
    """Return what stands before ``://``, or nothing for a path."""
    scheme, separator, _ = location.partition("://")
    return scheme if separator else ""


def without_password(location: str) -> str:
    """Return a path as it is, and of a URL what is fit for a log: no password and no query."""
    scheme, separator, rest = location.partition("://")
    if not separator:
        return location
    place, _, query = rest.replace("#", "?").partition("?")
    if "@" in query:  # a password with a question mark in it, or one in the query
        return f"{scheme}://"
    user, at, server = place.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{server}"


def redis_url(location: str) -> str | None:
    """Return a Redis or Valkey URL as the ``redis`` client spells it; None for any other."""
    scheme = _REDIS.get(scheme_of(location))
    return None if scheme is None else f"{scheme}://{location.partition('://')[2]}"


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
        fields = conninfo_to_dict(location)
    except psycopg.Error:
        text = "write it like postgresql://USER@HOST/DATABASE, with % escapes in a password"
        raise ParameterError(f"{scheme_of(location)}:// URL cannot be read; {text}") from None
    return {name: str(value) for name, value in fields.items()}


def _database(location: str) -> tuple[set[str], str, str]:
    """Return the hosts, port and name of a database, with libpq's defaults."""
    fields = connection_fields(location)
    hosts = (fields.get("host") or fields.get("hostaddr") or "").lower().split(",")
    named = {"localhost" if host in _HERE else host for host in hosts}
    ports = fields.get("port", "").split(",")
    return named, ports[0] or "5432", fields.get("dbname") or fields.get("user", "")
