"""Keys in Valkey or Redis (7 or newer), which replicas share.

What the server's settings make of them:

==========================  ======================================================================
memory only, ``save ""``    nothing is left of a deleted key; a restart loses every key, and what
and ``appendonly no``       is open counts on only if a running collector still has its keys
``appendonly yes``,         a restart loses nothing; a deleted key stays in the log until that is
``appendfsync always``      rewritten, which is asked for after each deletion (recommended)
``appendfsync everysec``    a power cut may lose the keys of the last second
``save`` points             a deleted key stays in the dump until the next one, asked for as well
==========================  ======================================================================

The keys need ``maxmemory-policy noeviction``: any other may throw them away. A replica that is
promoted may lack the newest keys; then their periods take no reports until a collector puts them
back. What must never change: the prefix, and that one command decides whose key stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from deniable.protocol.errors import ParameterError, StoreError

from ..places import without_password
from .checks import KEY_BYTES, check_key, check_name, valid_name

LOG = logging.getLogger("deniable.collector")

PREFIX = "deniable:key:"
TIMEOUT_SECONDS = 3.0

_PAGE = 100
T = TypeVar("T")


class ValkeyKeys:
    """Keys on a Valkey server; see :class:`~deniable.collector.keystore.base.KeyStore`."""

    def __init__(self, location: str, url: str) -> None:
        self._location = without_password(location)
        self._forgetting_owed = False
        self._warned = False
        try:
            self._client = redis.Redis.from_url(
                url,
                socket_timeout=TIMEOUT_SECONDS,
                socket_connect_timeout=TIMEOUT_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
        except (ValueError, TypeError):
            text = "write it like redis://USER:PASSWORD@HOST:6379/0, with % escapes"
            raise ParameterError(f"keys: the URL cannot be read; {text}") from None

    @property
    def location(self) -> str:
        """Its URL without a password."""
        return self._location

    def get(self, name: str) -> bytes | None:
        """Read a key."""
        check_name(name)
        return self._checked(name, self._run(lambda: self._client.get(PREFIX + name)))

    def put_if_absent(self, name: str, key: bytes) -> bytes:
        """Set a key unless the name has one, in one command that tells which."""
        check_name(name)
        check_key(key)
        kept = self._run(lambda: self._client.set(PREFIX + name, key, nx=True, get=True))
        return self._checked(name, kept) or key

    def delete(self, name: str) -> None:
        """Overwrite and delete a key, then have the server write its files anew."""
        check_name(name)
        if self._run(lambda: self._take_away(PREFIX + name)):
            self._forgetting_owed = True
        self._forget()

    def names(self) -> set[str]:
        """Scan for keys."""
        self._forget()
        pattern = f"{PREFIX}*"
        found = self._run(lambda: list(self._client.scan_iter(match=pattern, count=_PAGE)))
        names = (key.removeprefix(PREFIX.encode()).decode("utf-8", "replace") for key in found)
        return {name for name in names if valid_name(name)}

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _take_away(self, key: str) -> bool:
        steps = self._client.pipeline(transaction=True)
        steps.set(key, bytes(KEY_BYTES), xx=True)
        steps.delete(key)
        return bool(steps.execute()[1])

    def _forget(self) -> None:
        """Ask for new files without what was deleted; what is refused is asked for again later."""
        if not self._forgetting_owed:
            return
        try:
            _write_anew(self._client)
        except redis.RedisError as exc:
            # One that is under way began before the deletion, and another has to follow it.
            if not self._warned and "in progress" not in str(exc):
                self._warned = True
                text = "%s: deleted keys may be in its files until those are written anew (%s)"
                LOG.warning(text, self._location, _reason(exc))
        else:
            self._forgetting_owed = self._warned = False

    def _checked(self, name: str, key: Any) -> bytes | None:
        if key is None or (isinstance(key, bytes) and len(key) == KEY_BYTES):
            return key
        raise StoreError(f"{self._location}: {PREFIX}{name} must hold {KEY_BYTES} bytes")

    def _run(self, command: Callable[[], T]) -> T:
        """Run a command, a second time if the connection was lost: all of them may be repeated."""
        try:
            try:
                return command()
            except redis.ConnectionError:
                return command()
        except redis.RedisError as exc:
            # Without its cause, whose text a traceback would show.
            raise StoreError(f"{self._location}: cannot be used ({_reason(exc)})") from None


def _write_anew(client: Any) -> None:
    """Start to write the append-only log and the dump anew, those that the server keeps."""
    settings = client.config_get("appendonly", "save")
    if settings.get("appendonly") == "yes":
        client.bgrewriteaof()
    if settings.get("save"):
        client.bgsave(schedule=True)


def _reason(exc: redis.RedisError) -> str:
    """Say what went wrong without a server's words, which may quote a command and so a key."""
    lines = str(exc).splitlines()
    if lines and isinstance(exc, redis.ConnectionError | redis.TimeoutError):
        return lines[0]
    return type(exc).__name__
