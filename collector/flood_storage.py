"""Where floods are counted: this process's memory, or a Valkey or Redis that replicas share.

What must never change: no request waits a second for a server that does not answer, and a server
that comes back is used again without hands.
"""

from __future__ import annotations

import logging
from contextlib import closing
from typing import Any

from flask import Flask
from flask_limiter import Limiter
from limits.errors import ConfigurationError, StorageError

from deniable.protocol.errors import MissingExtraError, ParameterError, StoreError

from .places import redis_url, without_password

MEMORY = "memory://"

_TIMEOUT_SECONDS = 0.4
"""To connect, and again to be answered: one request waits for both."""

_WRONG = (
    "flood_storage must be memory://, or redis://HOST/0, rediss://, valkey:// or valkeys://,"
    " with a number for the database and % escapes in a password"
)
_MISSING = "redis is not installed; pip install 'deniable[redis]'"


def open_limiter(location: str) -> Limiter:
    """Return flask-limiter over a storage; its counting is used, its hooks are not.

    Raises
    ------
    ParameterError
        If the location is of no known kind or cannot be read.
    MissingExtraError
    """
    shared = location != MEMORY
    url = _redis_url(location) if shared else f"deniable+{MEMORY}"
    options = _redis_options() if shared else {}
    limiter = Limiter(
        _no_key,
        storage_uri=url,
        storage_options={"wrap_exceptions": True} | options,
        strategy="fixed-window",
    )
    logging.getLogger("flask-limiter").disabled = True
    try:
        # An app of its own: the hooks it gets are for limits on whole routes, and here the
        # pseudonym is known only after the body was read.
        limiter.init_app(Flask(__name__))
        if shared:
            _check_options(url)
    except (ConfigurationError, StorageError, ValueError, TypeError):
        raise ParameterError(_WRONG) from None
    return limiter


def _check_options(url: str) -> None:
    """Refuse what stands after a ? and is no option; the client would at each request."""
    import redis

    with closing(redis.Redis.from_url(url)) as client:
        client.connection_pool.make_connection()


def flood_storage_persists(location: str) -> bool | None:
    """Return whether the counts are written to a disk; None if the server does not say.

    They should not be: with them, and the key of the day, it can be told who sent when.

    Raises
    ------
    ParameterError
        If the location is of no known kind or cannot be read.
    StoreError
        If the server cannot be reached.
    MissingExtraError
    """
    if location == MEMORY:
        return False
    url = _redis_url(location)
    options = _redis_options()
    import redis

    try:
        client = redis.Redis.from_url(url, **options)
    except (ValueError, TypeError):
        raise ParameterError(_WRONG) from None
    with closing(client):
        try:
            client.ping()
            settings: Any = client.config_get("save", "appendonly")
        except redis.AuthenticationError as exc:
            text = "refuses the password; check the URL"
            raise StoreError(f"{without_password(location)}: {text}") from exc
        except redis.ResponseError:  # CONFIG is not permitted, or renamed
            return None
        except redis.RedisError as exc:
            text = "cannot be reached; start it, or check the URL"
            raise StoreError(f"{without_password(location)}: {text}") from exc
    if not {"save", "appendonly"} <= set(settings):
        return None
    return bool(settings["save"]) or settings["appendonly"] != "no"


def _redis_url(location: str) -> str:
    try:
        url = redis_url(location)
    except ParameterError:
        url = None
    if url is None:
        raise ParameterError(_WRONG)
    return url


def _redis_options() -> dict[str, Any]:
    """Return how a client waits and retries: a lost connection is made anew, once, at once."""
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as exc:
        raise MissingExtraError(_MISSING) from exc
    return {
        "socket_timeout": _TIMEOUT_SECONDS,
        "socket_connect_timeout": _TIMEOUT_SECONDS,
        "retry": Retry(NoBackoff(), 1, (redis.ConnectionError,)),
    }


def _no_key() -> str:
    return ""
